//! Somebody edits a file while a run is under way, or before it is recovered: no edit is ever lost, and
//! the other files are all old or all new.

use std::cell::RefCell;
use std::fs;

use specdev_migrate::apply::{Applied, Disk, Outcome, Recovered};
use specdev_migrate::error::{Kind, Result};

use super::{CHANGE, CONFIG, EVIDENCE, GONE, PATHS, Repo, STATUS, Script, Snapshot, changes, old_and_new};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    /// To the file that is there, or to a new one.
    Append,
    /// By a new file in its place, as many editors do.
    Rewrite,
    Delete,
    ReplaceByFolder,
}

const EDITS: [Edit; 4] = [Edit::Append, Edit::Rewrite, Edit::Delete, Edit::ReplaceByFolder];

/// What the edit found, and what it left; `None` for nothing, a trailing slash for a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trace {
    found: Option<String>,
    left: Option<String>,
}

fn edit(repo: &Repo, path: &str, edit: Edit) -> Trace {
    let found = content(repo, path);
    let file = repo.path(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    match edit {
        Edit::Append => {
            use std::io::Write;
            let mut file = fs::OpenOptions::new().append(true).create(true).open(&file).unwrap();
            file.write_all(b"an edit\n").unwrap();
        }
        Edit::Rewrite => {
            let draft = file.with_file_name("draft-of-an-editor");
            fs::write(&draft, "rewritten\n").unwrap();
            fs::rename(&draft, &file).unwrap();
        }
        Edit::Delete => {
            let _ = fs::remove_file(&file);
        }
        Edit::ReplaceByFolder => {
            let _ = fs::remove_file(&file);
            fs::create_dir(&file).unwrap();
        }
    }
    Trace { found, left: content(repo, path) }
}

fn content(repo: &Repo, path: &str) -> Option<String> {
    let path = repo.path(path);
    if path.is_dir() { Some("/".into()) } else { fs::read_to_string(path).ok() }
}

/// The tree without a path, what is below it, and the folders that come and go with the files.
fn without(snapshot: &Snapshot, path: &str) -> Snapshot {
    let comes_and_goes = ["specdev/changes/x/evidence", "specdev/done"];
    let mut snapshot = snapshot.clone();
    snapshot.retain(|name, _| !name.starts_with(path) && !comes_and_goes.contains(&name.as_str()));
    snapshot
}

/// The other files are all old or all new, and nothing of ours lies about.
fn check_others(repo: &Repo, path: &str, expected: &Snapshot, place: &str) {
    assert_eq!(without(&repo.snapshot(), path), without(expected, path), "{place}");
    for (name, _) in repo.snapshot() {
        assert!(!name.contains(".sdm-") && !name.contains("specdev-migrate"), "{name} was left: {place}");
    }
}

fn old_bytes(path: &str) -> Option<String> {
    let change = changes().into_iter().find(|change| change.path == path).unwrap();
    change.before.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

fn new_bytes(path: &str) -> Option<String> {
    let change = changes().into_iter().find(|change| change.path == path).unwrap();
    change.after.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

fn check_recovered(
    repo: &Repo,
    path: &str,
    trace: &Trace,
    log: &[String],
    recovered: &Recovered,
    place: &str,
) {
    let (old, new) = old_and_new();
    let place = &format!("{place}\n{trace:?}\n{recovered:?}");
    // A file that is gone, be it old or new, is indistinguishable from one that nobody touched.
    let is_gone = trace.left.is_none();
    if !is_gone || !(path == GONE || path == EVIDENCE) {
        assert_eq!(content(repo, path), trace.left, "{place}");
    }
    check_others(repo, path, if recovered.outcome == Outcome::Undone { &old } else { &new }, place);
    assert!(recovered.left.is_empty(), "{place}");
    // Before that mark no target is looked at, so an edit is none of our business.
    let has_begun =
        log.iter().rev().skip(1).any(|effect| effect == "replace journal-staging journal-swapping");
    if recovered.outcome == Outcome::Undone && has_begun && trace.left != old_bytes(path) && !is_gone {
        assert!(recovered.edited.iter().any(|edited| edited.path == path), "{place}");
    }
    // The version that undoing would have put there is beside it.
    let was_new = trace.found == new_bytes(path);
    if recovered.outcome == Outcome::Undone
        && was_new
        && let Some(old) = old_bytes(path)
        && content(repo, path).as_ref() != Some(&old)
    {
        let saved = recovered.edited.iter().find_map(|edited| edited.saved.clone());
        assert_eq!(saved, Some(format!("{path}.specdev-old")), "{place}");
        assert_eq!(content(repo, &saved.unwrap()), Some(old), "{place}");
    }
}

#[test]
fn killed_then_edit_then_recover() {
    for is_plain in [false, true] {
        for k in 2.. {
            let mut was_killed = false;
            for path in PATHS {
                for kind in EDITS {
                    let repo = Repo::new();
                    let script = Script::killing(is_plain, k);
                    let _ = repo.apply(&script);
                    was_killed = script.was_killed();
                    let trace = edit(&repo, path, kind);
                    let recovered = repo.recover(&Script::new(is_plain)).unwrap();
                    if recovered.outcome == Outcome::Nothing {
                        continue;
                    }
                    let place = format!("{kind:?} of {path} after {:#?}", script.log.borrow());
                    check_recovered(&repo, path, &trace, &script.log.borrow(), &recovered, &place);
                }
            }
            if !was_killed {
                break;
            }
        }
    }
}

#[test]
fn killed_then_edit_then_recover_killed_then_recover() {
    let mut runs = 0;
    for is_plain in [false, true] {
        for k in 5..27 {
            for path in PATHS {
                for kind in [Edit::Append, Edit::ReplaceByFolder] {
                    for j in 0.. {
                        let repo = Repo::new();
                        let script = Script::killing(is_plain, k);
                        let _ = repo.apply(&script);
                        let trace = edit(&repo, path, kind);
                        let second = Script { halfway: true, ..Script::killing(is_plain, j) };
                        let _ = repo.recover(&second);
                        if !second.was_killed() {
                            break;
                        }
                        let recovered = repo.recover(&Script::new(is_plain)).unwrap();
                        if recovered.outcome == Outcome::Nothing {
                            continue;
                        }
                        let place = format!(
                            "{kind:?} of {path} after {:#?}, then {:#?}",
                            script.log.borrow(),
                            second.log.borrow()
                        );
                        check_recovered(&repo, path, &trace, &script.log.borrow(), &recovered, &place);
                        runs += 1;
                    }
                }
            }
        }
    }
    assert!(runs > 1000, "{runs}");
}

/// Where files cannot trade places, an edit between the last look and the rename that follows it at once
/// is lost; this is that one place.
fn is_blind(is_plain: bool, log: &[String], k: usize, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap();
    is_plain
        && log.get(k).is_some_and(|effect| {
            *effect == format!("replace tmp-0.tmp {name}") || *effect == format!("unlink {name}")
        })
}

fn apply_with_edit(
    repo: &Repo,
    is_plain: bool,
    k: usize,
    path: &str,
    kind: Edit,
    kill_at: Option<usize>,
) -> (Result<Applied>, Option<Trace>, Vec<String>) {
    let trace = RefCell::new(None);
    let act = || *trace.borrow_mut() = Some(edit(repo, path, kind));
    let script = Script { at: Some((k, &act)), kill_at, ..Script::new(is_plain) };
    let result = repo.apply(&script);
    let log = script.log.borrow().clone();
    (result, trace.borrow().clone(), log)
}

#[test]
fn edit_while_applying() {
    let (old, new) = old_and_new();
    let (mut kept_old, mut kept_new) = (0, 0);
    for is_plain in [false, true] {
        for path in PATHS {
            for kind in EDITS {
                for k in 0.. {
                    let repo = Repo::new();
                    let (result, trace, log) = apply_with_edit(&repo, is_plain, k, path, kind, None);
                    let Some(trace) = trace else { break };
                    let place =
                        format!("{kind:?} of {path} before effect {k} of {log:#?}: {trace:?} {result:?}");
                    if is_blind(is_plain, &log, k, path) {
                        continue;
                    }
                    match result {
                        Ok(_) => {
                            check_others(&repo, path, &new, &place);
                            kept_new += 1;
                        }
                        Err(error) => {
                            assert_eq!(error.kind, Kind::Changed, "{place}");
                            check_others(&repo, path, &old, &place);
                            kept_old += 1;
                        }
                    }
                    // Deleting what is not there is no edit.
                    if trace.left != trace.found {
                        assert_eq!(content(&repo, path), trace.left, "{place}");
                    }
                }
            }
        }
    }
    assert!(kept_old > 500 && kept_new > 250, "{kept_old} {kept_new}");
}

#[test]
fn edit_while_applying_then_killed_then_recover() {
    for is_plain in [false, true] {
        for path in PATHS {
            for kind in [Edit::Append, Edit::Rewrite] {
                for k in 0..30 {
                    for later in 1..4 {
                        let repo = Repo::new();
                        let (_, trace, log) =
                            apply_with_edit(&repo, is_plain, k, path, kind, Some(k + later));
                        let Some(trace) = trace else { break };
                        if is_blind(is_plain, &log, k, path) {
                            continue;
                        }
                        let recovered = repo.recover(&Disk).unwrap();
                        let place =
                            format!("{kind:?} of {path} before effect {k} of {log:#?}: {recovered:?}");
                        check_edit_is_somewhere(&repo, path, &trace, &recovered, &place);
                    }
                }
            }
        }
    }
}

#[test]
fn killed_then_edit_while_recovering() {
    for is_plain in [false, true] {
        for path in PATHS {
            for kind in [Edit::Append, Edit::Rewrite] {
                for k in [5, 8, 12, 14, 15, 16, 17, 19, 22] {
                    for j in 0.. {
                        let repo = Repo::new();
                        let _ = repo.apply(&Script::killing(is_plain, k));
                        let trace = RefCell::new(None);
                        let act = || *trace.borrow_mut() = Some(edit(&repo, path, kind));
                        let script = Script { at: Some((j, &act)), ..Script::new(is_plain) };
                        let recovered =
                            repo.recover(&script).or_else(|_| repo.recover(&Script::new(is_plain)));
                        let recovered = recovered.unwrap();
                        let log = script.log.borrow();
                        let Some(trace) = trace.borrow().clone() else { break };
                        let name = path.rsplit('/').next().unwrap();
                        let is_over = log[j].starts_with("replace tmp") || log[j].starts_with("unlink");
                        if is_plain && is_over && log[j].ends_with(&format!(" {name}")) {
                            continue;
                        }
                        let place =
                            format!("{kind:?} of {path} before effect {j} of {log:#?}: {recovered:?}");
                        check_edit_is_somewhere(&repo, path, &trace, &recovered, &place);
                    }
                }
            }
        }
    }
}

fn check_edit_is_somewhere(repo: &Repo, path: &str, trace: &Trace, recovered: &Recovered, place: &str) {
    let saved = recovered.edited.iter().filter_map(|edited| edited.saved.clone());
    let mut places = saved.chain(recovered.left.clone()).chain([path.to_owned()]);
    assert!(places.any(|path| content(repo, &path) == trace.left), "the edit is lost: {trace:?} {place}");
}

#[test]
fn edit_of_the_last_file_then_nothing_changed() {
    let (old, _) = old_and_new();
    let repo = Repo::new();
    let act = || drop(edit(&repo, CHANGE, Edit::Append));
    let script = Script { at: Some((12, &act)), ..Script::new(false) };
    let error = repo.apply(&script).unwrap_err();
    assert_eq!(error.kind, Kind::Changed);
    assert_eq!(
        error.message,
        "changed since the plan was made: specdev/changes/x/.status.json (edited just now); \
         the edit of specdev/changes/x/.status.json was kept; nothing was changed"
    );
    let mut expected = old;
    expected.get_mut(CHANGE).unwrap().1 = "old change\nan edit\n".into();
    assert_eq!(repo.snapshot(), expected);
}

#[test]
fn edit_before_applying_then_all_differences_are_named() {
    let repo = Repo::new();
    edit(&repo, CONFIG, Edit::Append);
    edit(&repo, STATUS, Edit::Delete);
    edit(&repo, CHANGE, Edit::ReplaceByFolder);
    edit(&repo, EVIDENCE, Edit::Append);
    let before = repo.snapshot();
    let script = Script::new(false);
    let error = repo.apply(&script).unwrap_err();
    assert_eq!(error.kind, Kind::Changed);
    assert_eq!(
        error.message,
        "changed since the plan was made: specdev/config.json (its content differs), specdev/status.json \
         (is gone), specdev/changes/x/.status.json (a folder), specdev/changes/x/evidence/T-01.md (appeared); \
         nothing was changed"
    );
    assert_eq!(repo.snapshot(), before);
    assert_eq!(script.count(), 0);
}

#[test]
fn mode_changed_while_applying() {
    use std::os::unix::fs::PermissionsExt;
    let (mut old, _) = old_and_new();
    let repo = Repo::new();
    let act = || fs::set_permissions(repo.path(CONFIG), fs::Permissions::from_mode(0o600)).unwrap();
    let error = repo.apply(&Script { at: Some((6, &act)), ..Script::new(false) }).unwrap_err();
    assert_eq!(error.kind, Kind::Changed);
    old.get_mut(CONFIG).unwrap().0 = "100600".into();
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn folder_removed_then_recover() {
    let repo = Repo::new();
    let _ = repo.apply(&Script::killing(false, 16));
    fs::remove_dir_all(repo.path("specdev/changes")).unwrap();
    let recovered = repo.recover(&Disk).unwrap();
    assert_eq!(recovered.outcome, Outcome::Undone);
    assert!(!repo.path("specdev/changes").exists());
    assert_eq!(repo.text(CONFIG), "old config\n");
    let saved = recovered.edited.iter().find(|edited| edited.path == CHANGE).unwrap().saved.clone().unwrap();
    assert_eq!(fs::read_to_string(saved).unwrap(), "old change\n");
}

#[test]
fn folder_removed_then_recover_killed_then_recover() {
    for j in 0.. {
        let repo = Repo::new();
        let _ = repo.apply(&Script::killing(false, 16));
        fs::remove_dir_all(repo.path("specdev/changes")).unwrap();
        let script = Script { halfway: true, ..Script::killing(false, j) };
        let result = repo.recover(&script);
        if !script.was_killed() {
            assert!(j > 8, "{result:?}");
            break;
        }
        repo.recover(&Disk).unwrap();
        assert_eq!(repo.text(CONFIG), "old config\n");
        let saved = ".git/specdev-migrate/.status.json.specdev-old";
        assert_eq!(content(&repo, saved).as_deref(), Some("old change\n"), "{:#?}", script.log.borrow());
        let names = repo.snapshot().into_keys().filter(|name| name.starts_with(".git/specdev-migrate/"));
        assert_eq!(names.collect::<Vec<_>>(), [saved], "{:#?}", script.log.borrow());
    }
}

#[test]
fn edit_just_before_the_swap_then_killed_then_recover() {
    let (mut old, _) = old_and_new();
    let repo = Repo::new();
    // All files trade places, and the run is killed before it can look at what came out.
    let (_, trace, _) = apply_with_edit(&repo, false, 12, CONFIG, Edit::Append, Some(17));
    assert_eq!(repo.text(CONFIG), "new config, longer than the old one\n");
    let recovered = repo.recover(&Disk).unwrap();
    assert_eq!(recovered.outcome, Outcome::Undone);
    assert_eq!((recovered.edited[0].path.as_str(), &recovered.edited[0].saved), (CONFIG, &None));
    old.get_mut(CONFIG).unwrap().1 = trace.unwrap().left.unwrap();
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn edit_of_a_new_file_when_all_were_new_then_recover() {
    let (_, mut new) = old_and_new();
    for path in [CONFIG, STATUS, CHANGE] {
        let repo = Repo::new();
        let _ = repo.apply(&Script::killing(false, 17));
        let trace = edit(&repo, path, Edit::Append);
        let recovered = repo.recover(&Disk).unwrap();
        assert_eq!(recovered.outcome, Outcome::Finished);
        assert_eq!((recovered.edited[0].path.as_str(), &recovered.edited[0].saved), (path, &None));
        let before = std::mem::replace(&mut new.get_mut(path).unwrap().1, trace.left.unwrap());
        assert_eq!(repo.snapshot(), new);
        new.get_mut(path).unwrap().1 = before;
    }
}

/// Recover a run killed with all but the last file in place, while somebody edits a file right before the
/// effect that this describes.
fn recover_with_edit(path: &str, effect: &str, kill_at: Option<usize>) -> (Repo, Option<Recovered>) {
    let repo = Repo::new();
    let _ = repo.apply(&Script::killing(false, 16));
    let dry_run = {
        let repo = Repo::new();
        let _ = repo.apply(&Script::killing(false, 16));
        let script = Script::new(false);
        repo.recover(&script).unwrap();
        script.log.into_inner()
    };
    let at = dry_run.iter().position(|line| line == effect).unwrap();
    let act = || drop(edit(&repo, path, Edit::Append));
    let script =
        Script { at: Some((at, &act)), kill_at: kill_at.map(|later| at + later), ..Script::new(false) };
    let recovered = repo.recover(&script).ok();
    (repo, recovered)
}

#[test]
fn edit_of_a_new_file_just_before_it_is_put_back() {
    let (repo, recovered) = recover_with_edit(CONFIG, "exchange tmp-0.tmp config.json", None);
    assert_eq!(repo.text(CONFIG), "new config, longer than the old one\nan edit\n");
    assert_eq!(repo.text("specdev/config.json.specdev-old"), "old config\n");
    assert_eq!(recovered.unwrap().edited.len(), 1);
}

#[test]
fn edit_of_a_created_file_just_before_it_is_taken_back() {
    for kill_at in [None, Some(1)] {
        let (repo, recovered) = recover_with_edit(EVIDENCE, "rename T-01.md tmp-1.tmp", kill_at);
        let recovered = recovered.unwrap_or_else(|| repo.recover(&Disk).unwrap());
        assert_eq!(repo.text(EVIDENCE), "new evidence\nan edit\n");
        assert_eq!(recovered.edited[0].path, EVIDENCE);
        assert!(recovered.left.is_empty());
    }
}

#[test]
fn mode_changed_then_recover() {
    use std::os::unix::fs::PermissionsExt;
    let (mut old, _) = old_and_new();
    let repo = Repo::new();
    let _ = repo.apply(&Script::killing(true, 14));
    fs::set_permissions(repo.path(CONFIG), fs::Permissions::from_mode(0o640)).unwrap();
    repo.recover(&Disk).unwrap();
    old.get_mut(CONFIG).unwrap().0 = "100640".into();
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn something_under_a_temporary_name_then_recover() {
    let name = {
        let repo = Repo::new();
        let _ = repo.apply(&Script::killing(false, 12));
        repo.snapshot().into_keys().find(|name| name.starts_with("specdev/changes/x/.sdm-")).unwrap()
    };
    let long = "something that is longer than the new content\n";
    for is_link in [false, true] {
        let repo = Repo::new();
        // Two of the four are staged.
        let _ = repo.apply(&Script::killing(false, 7));
        if is_link {
            fs::hard_link(repo.path("specdev/neighbour.txt"), repo.path(&name)).unwrap();
        } else {
            fs::write(repo.path(&name), long).unwrap();
        }
        let recovered = repo.recover(&Disk).unwrap();
        assert_eq!(recovered.left, std::slice::from_ref(&name));
        assert_eq!(repo.text(&name), if is_link { "not ours\n" } else { long });
    }
}

#[test]
fn folder_replaced_by_a_link_then_recover() {
    let repo = Repo::new();
    let _ = repo.apply(&Script::killing(false, 16));
    fs::rename(repo.path("specdev/changes"), repo.path("moved")).unwrap();
    std::os::unix::fs::symlink("../moved", repo.path("specdev/changes")).unwrap();
    let recovered = repo.recover(&Disk).unwrap();
    assert_eq!(recovered.outcome, Outcome::Undone);
    assert_eq!(repo.text("moved/x/.status.json"), "new change\n");
    let saved = recovered.edited.iter().find(|edited| edited.path == CHANGE).unwrap().saved.clone().unwrap();
    assert_eq!(fs::read_to_string(saved).unwrap(), "old change\n");
}

#[test]
fn temporary_files_cleaned_by_somebody_then_recover() {
    let (old, new) = old_and_new();
    for k in 5..20 {
        let repo = Repo::new();
        let _ = repo.apply(&Script::killing(false, k));
        for (name, _) in repo.snapshot() {
            if name.contains(".sdm-") {
                fs::remove_file(repo.path(&name)).unwrap();
            }
        }
        let recovered = repo.recover(&Disk).unwrap();
        let expected = if recovered.outcome == Outcome::Undone { &old } else { &new };
        assert_eq!(repo.snapshot(), *expected, "{k} {recovered:?}");
    }
}

#[test]
fn saved_name_is_taken() {
    let repo = Repo::new();
    repo.write("specdev/config.json.specdev-old", "the user's own\n", 0o644);
    let _ = repo.apply(&Script::killing(false, 14));
    edit(&repo, CONFIG, Edit::Append);
    let recovered = repo.recover(&Disk).unwrap();
    assert_eq!(recovered.edited.len(), 1);
    assert_eq!(recovered.edited[0].saved.as_deref(), Some("specdev/config.json.specdev-old-2"));
    assert_eq!(repo.text("specdev/config.json.specdev-old"), "the user's own\n");
    assert_eq!(repo.text("specdev/config.json.specdev-old-2"), "old config\n");
    assert_eq!(repo.text(CONFIG), "new config, longer than the old one\nan edit\n");
}

#[test]
fn old_file_written_to_after_it_was_replaced() {
    use std::io::Write;
    let (mut new, repo) = (old_and_new().1, Repo::new());
    let open = RefCell::new(fs::OpenOptions::new().append(true).open(repo.path(CONFIG)).unwrap());
    let act = || open.borrow_mut().write_all(b"late\n").unwrap();
    // Right after the mark: too late to go back.
    let applied = repo.apply(&Script { at: Some((19, &act)), ..Script::new(false) }).unwrap();
    assert_eq!(applied.edited.len(), 1);
    assert_eq!(applied.edited[0].saved.as_deref(), Some("specdev/config.json.specdev-old"));
    let mode = new[CONFIG].0.clone();
    new.insert("specdev/config.json.specdev-old".into(), (mode, "old config\nlate\n".into()));
    assert_eq!(repo.snapshot(), new);
}
