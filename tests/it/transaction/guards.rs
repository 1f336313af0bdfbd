//! What is refused before anything is done: other kinds of files, foreign and damaged journals, requests
//! to stop.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::atomic::Ordering;

use specdev_migrate::apply::{
    Disk, FileChange, Outcome, Stop, Target, Unchanged, apply, interrupted, lock, recover,
};
use specdev_migrate::error::Kind;

use super::{CHANGE, CONFIG, EVIDENCE, Repo, STATUS, Script, change, changes, old_and_new};

/// Refused with this kind and message, nothing touched.
fn check_refused(repo: &Repo, changes: &[FileChange], also: &[Unchanged], kind: Kind, message: &str) {
    let before = repo.snapshot();
    let script = Script::new(false);
    let error = repo.apply_changes(changes, also, &Stop::new(), &script).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (kind, message));
    assert_eq!((script.count(), repo.snapshot()), (0, before));
}

#[test]
fn link_instead_of_a_file() {
    for target in ["../shared.json", "/nowhere/outside.json", "config.json", "changes"] {
        let repo = Repo::new();
        repo.write("shared.json", "old config\n", 0o644);
        fs::remove_file(repo.path(CONFIG)).unwrap();
        symlink(target, repo.path(CONFIG)).unwrap();
        let message =
            "changed since the plan was made: specdev/config.json (a symbolic link); nothing was changed";
        check_refused(&repo, &changes(), &[], Kind::Changed, message);
    }
}

#[test]
fn link_where_a_file_is_to_be_created() {
    let repo = Repo::new();
    fs::create_dir(repo.path("specdev/changes/x/evidence")).unwrap();
    symlink("nowhere", repo.path(EVIDENCE)).unwrap();
    let message = "changed since the plan was made: specdev/changes/x/evidence/T-01.md (a symbolic link); \
                   nothing was changed";
    check_refused(&repo, &changes(), &[], Kind::Changed, message);
}

#[test]
fn link_instead_of_a_folder() {
    let repo = Repo::new();
    fs::rename(repo.path("specdev/changes/x"), repo.path("elsewhere")).unwrap();
    symlink("../../elsewhere", repo.path("specdev/changes/x")).unwrap();
    let message = "changed since the plan was made: specdev/changes/x/.status.json (a path through a symbolic \
                   link), specdev/changes/x/evidence/T-01.md (a path through a symbolic link); nothing was changed";
    check_refused(&repo, &changes(), &[], Kind::Changed, message);
}

#[test]
fn file_instead_of_a_folder() {
    let repo = Repo::new();
    repo.write("specdev/changes/x/evidence", "a file\n", 0o644);
    let message = "changed since the plan was made: specdev/changes/x/evidence/T-01.md (a path through a file); \
                   nothing was changed";
    check_refused(&repo, &changes(), &[], Kind::Changed, message);
}

#[test]
fn pipe_instead_of_a_file() {
    let repo = Repo::new();
    fs::remove_file(repo.path(CONFIG)).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, repo.path(CONFIG), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let script = Script::new(false);
    let error = repo.apply(&script).unwrap_err();
    assert_eq!((error.kind, script.count()), (Kind::Changed, 0));
    assert!(error.message.contains("specdev/config.json (a special file)"), "{error}");
}

#[test]
fn file_with_two_names() {
    let repo = Repo::new();
    fs::hard_link(repo.path(CONFIG), repo.path("other-name")).unwrap();
    let message = "specdev/config.json is one of 2 names of one file, which replacing it would part; \
                   nothing was changed";
    check_refused(&repo, &changes(), &[], Kind::Failed, message);
}

#[test]
fn compared_file_that_differs() {
    let repo = Repo::new();
    let neighbour = |bytes: Option<&str>| [Unchanged::new("specdev/neighbour.txt", bytes.map(str::as_bytes))];
    let message =
        "changed since the plan was made: specdev/neighbour.txt (its content differs); nothing was changed";
    check_refused(&repo, &changes(), &neighbour(Some("other\n")), Kind::Changed, message);
    let message = "changed since the plan was made: specdev/neighbour.txt (appeared); nothing was changed";
    check_refused(&repo, &changes(), &neighbour(None), Kind::Changed, message);
    let absent = [Unchanged::new("specdev/absent", Some(b""))];
    let message = "changed since the plan was made: specdev/absent (is gone); nothing was changed";
    check_refused(&repo, &changes(), &absent, Kind::Changed, message);
    let right = [neighbour(Some("not ours\n")), [Unchanged::new("specdev/absent", None)]].concat();
    repo.apply_changes(&changes(), &right, &Stop::new(), &Disk).unwrap();
}

#[test]
fn compared_file_that_changes_while_staging() {
    let (mut old, _) = old_and_new();
    let repo = Repo::new();
    let act = || fs::write(repo.path("specdev/neighbour.txt"), "edited\n").unwrap();
    let script = Script { at: Some((8, &act)), ..Script::new(false) };
    let also = [Unchanged::new("specdev/neighbour.txt", Some(b"not ours\n"))];
    let error = repo.apply_changes(&changes(), &also, &Stop::new(), &script).unwrap_err();
    assert_eq!(error.kind, Kind::Changed);
    old.get_mut("specdev/neighbour.txt").unwrap().1 = "edited\n".into();
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn path_out_of_the_root() {
    for path in ["../x", "/etc/x", "a/../../x", "a//b", "./a", "", "a/", "a\0b"] {
        let repo = Repo::new();
        let before = repo.snapshot();
        let changes = [change(path, None, Some("new\n"))];
        let error = repo.apply_changes(&changes, &[], &Stop::new(), &Disk).unwrap_err();
        assert_eq!(error.kind, Kind::Failed, "{path:?}");
        assert!(error.message.starts_with("internal error: a change of the path"), "{error}");
        assert_eq!(repo.snapshot(), before);
    }
}

#[test]
fn one_path_twice() {
    let repo = Repo::new();
    let changes = [change("a", None, Some("1")), change("a", None, Some("2"))];
    let error = repo.apply_changes(&changes, &[], &Stop::new(), &Disk).unwrap_err();
    assert!(error.message.starts_with("internal error"), "{error}");
}

#[test]
fn lock_of_another_folder() {
    let (here, there) = (Repo::new(), Repo::new());
    let lock = lock(&there.target()).unwrap();
    let target = here.target();
    let stop = Stop::new();
    let error = apply(&target, &lock, &changes(), &[], &stop, &Disk).unwrap_err();
    assert!(error.message.starts_with("internal error"), "{error}");
    assert!(recover(&target, &lock, &Disk).unwrap_err().message.starts_with("internal error"));
}

#[test]
fn stop_at_each_effect() {
    let (old, new) = old_and_new();
    for (signal, kind) in [(2, Kind::Interrupted), (15, Kind::Terminated), (1, Kind::Terminated)] {
        for k in 0..28 {
            let repo = Repo::new();
            let stop = Stop::new();
            let act = || stop.flag().store(signal, Ordering::SeqCst);
            let script = Script { at: Some((k, &act)), ..Script::new(false) };
            let result = repo.apply_changes(&changes(), &[], &stop, &script);
            // The effects up to the last sync of what was staged.
            if k <= 9 {
                let error = result.unwrap_err();
                assert_eq!(error.kind, kind, "{k}");
                assert_eq!(error.message, "stopped by a signal; nothing was changed");
                assert_eq!(repo.snapshot(), old, "{k}");
            } else {
                assert_eq!(result.unwrap().stopped, Some(kind), "{k}");
                assert_eq!(repo.snapshot(), new, "{k}");
            }
        }
    }
}

#[test]
fn stop_before_anything() {
    let repo = Repo::new();
    let before = repo.snapshot();
    let stop = Stop::new();
    stop.flag().store(2, Ordering::SeqCst);
    let script = Script::new(false);
    let error = repo.apply_changes(&changes(), &[], &stop, &script).unwrap_err();
    assert_eq!((error.kind, script.count(), repo.snapshot()), (Kind::Interrupted, 0, before));
}

/// A repository whose run was killed when the second file had traded places, and its journal.
pub(super) fn killed() -> (Repo, String) {
    let repo = Repo::new();
    let script = Script::killing(false, 14);
    repo.apply(&script).unwrap_err();
    assert!(script.was_killed());
    (repo, ".git/specdev-migrate/journal-swapping".to_owned())
}

/// Both `recover` and a new run refuse, and touch nothing.
fn check_journal_refused(repo: &Repo, reason: &str) {
    let before = repo.snapshot();
    let script = Script::new(false);
    for error in [repo.recover(&script).unwrap_err(), repo.apply(&script).unwrap_err()] {
        assert_eq!(error.kind, Kind::Recovery, "{error}");
        assert!(error.message.contains(reason), "{error}");
        assert!(error.message.ends_with("; nothing was touched"), "{error}");
    }
    assert_eq!(interrupted(&repo.target()).unwrap_err().kind, Kind::Recovery);
    assert_eq!((script.count(), repo.snapshot()), (0, before));
}

#[test]
fn journal_damaged_anywhere() {
    let (repo, journal) = killed();
    let bytes = fs::read(repo.path(&journal)).unwrap();
    for at in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        fs::write(repo.path(&journal), &damaged).unwrap();
        check_journal_refused(&repo, &journal);
    }
    fs::write(repo.path(&journal), &bytes).unwrap();
    assert_eq!(repo.recover(&Disk).unwrap().outcome, Outcome::Undone);
}

#[test]
fn journal_truncated_anywhere() {
    let (repo, journal) = killed();
    let bytes = fs::read(repo.path(&journal)).unwrap();
    for length in (0..bytes.len()).step_by(11).chain([bytes.len() - 1]) {
        fs::write(repo.path(&journal), &bytes[..length]).unwrap();
        check_journal_refused(&repo, &journal);
    }
    fs::write(repo.path(&journal), [bytes.as_slice(), b"x"].concat()).unwrap();
    check_journal_refused(&repo, "is truncated or was added to");
}

#[test]
fn journal_of_another_format() {
    let (repo, journal) = killed();
    let bytes = fs::read(repo.path(&journal)).unwrap();
    for (format, reason) in [("3", "upgrade the tool"), ("1", "recover with the one that wrote it")] {
        let head = format!("specdev-migrate-journal {format}");
        fs::write(repo.path(&journal), [head.as_bytes(), &bytes[head.len()..]].concat()).unwrap();
        let reason = format!("has format {format}, this specdev-migrate knows 2; {reason}");
        check_journal_refused(&repo, &reason);
    }
}

#[test]
fn journal_that_is_no_file() {
    let (repo, journal) = killed();
    fs::rename(repo.path(&journal), repo.path("elsewhere")).unwrap();
    symlink("../../elsewhere", repo.path(&journal)).unwrap();
    check_journal_refused(&repo, "is a symbolic link");
}

#[test]
fn two_journals() {
    let (repo, journal) = killed();
    fs::copy(repo.path(&journal), repo.path(".git/specdev-migrate/journal-done")).unwrap();
    check_journal_refused(&repo, "is a second one");
}

#[test]
fn journal_draft_of_a_killed_run() {
    let (old, _) = old_and_new();
    for halfway in [false, true] {
        let repo = Repo::new();
        let script = Script { halfway, ..Script::killing(false, usize::from(!halfway)) };
        repo.apply(&script).unwrap_err();
        assert_eq!(interrupted(&repo.target()).unwrap(), None);
        drop(lock(&repo.target()).unwrap());
        assert_eq!(repo.snapshot(), old);
    }
}

#[test]
fn journal_folder_with_a_file_of_the_user() {
    let (_, mut new) = old_and_new();
    let repo = Repo::new();
    fs::create_dir(repo.path(".git/specdev-migrate")).unwrap();
    repo.write(".git/specdev-migrate/journal-draft", "mine\n", 0o644);
    let error = repo.apply(&Disk).unwrap_err();
    assert_eq!(error.kind, Kind::Failed);
    assert_eq!(repo.text(".git/specdev-migrate/journal-draft"), "mine\n");
    fs::rename(repo.path(".git/specdev-migrate/journal-draft"), repo.path(".git/specdev-migrate/notes"))
        .unwrap();
    repo.apply(&Disk).unwrap();
    let folder = repo.snapshot().remove(".git/specdev-migrate").unwrap();
    new.insert(".git/specdev-migrate".into(), folder);
    new.insert(".git/specdev-migrate/notes".into(), ("100644".into(), "mine\n".into()));
    assert_eq!(repo.snapshot(), new);
}

#[test]
fn journal_folder_that_is_not_ours() {
    let repo = Repo::new();
    let target = Target { journal_dir: repo.path(".git"), dir_is_ours: false, ..repo.target() };
    let held = lock(&target).unwrap();
    apply(&target, &held, &changes(), &[], &Stop::new(), &Disk).unwrap();
    drop(held);
    assert_eq!(repo.snapshot(), old_and_new().1);
    fs::remove_dir(repo.path(".git")).unwrap();
    assert_eq!(lock(&target).unwrap_err().kind, Kind::Failed);
}

#[test]
fn journal_holds_private_bytes_privately() {
    let (repo, journal) = killed();
    assert_eq!(repo.path(&journal).metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn temporary_files_are_never_more_open_than_their_targets() {
    let seen = RefCell::new(Vec::new());
    let repo = Repo::new();
    let act = || {
        for entry in fs::read_dir(repo.path("specdev/changes/x")).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_string_lossy().starts_with(".sdm-") {
                seen.borrow_mut().push(entry.metadata().unwrap().mode() & 0o777);
            }
        }
    };
    repo.apply(&Script { at: Some((12, &act)), ..Script::new(false) }).unwrap();
    assert_eq!(*seen.borrow(), [0o600]);
    assert_eq!(repo.text(STATUS), "new status\n");
    assert_eq!(repo.text(CHANGE), "new change\n");
}
