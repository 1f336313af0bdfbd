//! Failing and dying at each effect.

use specdev_migrate::apply::{Disk, Outcome, interrupted};
use specdev_migrate::error::Kind;

use super::{Repo, Script, old_and_new};

#[test]
fn apply_then_all_new() {
    let (_, new) = old_and_new();
    for is_plain in [false, true] {
        let repo = Repo::new();
        let applied = repo.apply(&Script::new(is_plain)).unwrap();
        assert_eq!((applied.files, applied.stopped, applied.edited.len()), (5, None, 0));
        assert_eq!(repo.snapshot(), new, "plain: {is_plain}");
    }
}

#[test]
fn apply_on_the_disk_itself() {
    let (_, new) = old_and_new();
    let repo = Repo::on_disk();
    repo.apply(&Disk).unwrap();
    assert_eq!(repo.snapshot(), new);
}

#[test]
fn recover_without_a_journal() {
    let (old, _) = old_and_new();
    let repo = Repo::new();
    assert_eq!(repo.recover(&Disk).unwrap().outcome, Outcome::Nothing);
    assert_eq!(repo.snapshot(), old);
}

/// The order is the promise: journal first, nothing touched before what is staged is on the disk, nothing
/// removed before the mark.
#[test]
fn effects_in_their_order() {
    let repo = Repo::new();
    let script = Script::new(false);
    repo.apply(&script).unwrap();
    let expected = [
        "write and sync journal-draft",
        "replace journal-draft journal-staging",
        "sync specdev-migrate",
        "sync ..",
        "mkdir evidence",
        "write tmp-0.tmp",
        "write tmp-0.tmp",
        "write tmp-0.tmp",
        "write tmp-0.tmp",
        "sync file system",
        "replace journal-staging journal-swapping",
        "sync specdev-migrate",
        "exchange tmp-0.tmp config.json",
        "exchange tmp-0.tmp status.json",
        "exchange tmp-0.tmp .status.json",
        "rename tmp-0.tmp T-01.md",
        "rename HISTORY.md tmp-0.tmp",
        "sync file system",
        "replace journal-swapping journal-done",
        "sync specdev-migrate",
        "unlink tmp-0.tmp",
        "unlink tmp-0.tmp",
        "unlink tmp-0.tmp",
        "unlink tmp-0.tmp",
        "rmdir done",
        "rmdir specdev",
        "unlink journal-done",
        "sync specdev-migrate",
    ];
    assert_eq!(*script.log.borrow(), expected);
}

#[test]
fn effects_in_their_order_without_syncfs() {
    let repo = Repo::new();
    let script = Script { lacks_syncfs: true, ..Script::new(false) };
    repo.apply(&script).unwrap();
    let log = script.log.borrow();
    let first = log.iter().position(|line| line.starts_with("exchange")).unwrap();
    let staged = [
        "sync tmp-0.tmp",
        "sync config.json",
        "sync evidence",
        "sync x",
        "sync done",
        "sync specdev",
        "sync repo",
    ];
    for line in staged {
        assert!(
            log[..first].iter().any(|l| l == line),
            "{line} is missing before the first exchange: {log:#?}"
        );
    }
    assert_eq!(log.iter().filter(|line| *line == "sync tmp-0.tmp").count(), 4 + 4);
}

#[test]
fn effect_fails() {
    let (old, new) = old_and_new();
    for is_plain in [false, true] {
        let (mut rolled_back, mut done) = (0, 0);
        for k in 0.. {
            let repo = Repo::new();
            let script = Script::failing(is_plain, &[k]);
            let result = repo.apply(&script);
            let place = format!("effect {k} of {:#?} (plain: {is_plain})", script.log.borrow());
            if script.count() <= k {
                break;
            }
            match result {
                Ok(_) => {
                    assert_eq!(repo.snapshot(), new, "{place}");
                    done += 1;
                }
                Err(error) if error.kind == Kind::Failed => {
                    assert!(error.message.ends_with("; nothing was changed"), "{error}");
                    assert_eq!(repo.snapshot(), old, "{place}: {error}");
                    assert_eq!(done, 0, "{place}");
                    rolled_back += 1;
                }
                Err(error) => {
                    // Only the clean-up may leave work to do.
                    assert_eq!(error.kind, Kind::Recovery, "{place}");
                    assert_eq!(error.hints, ["specdev-migrate recover"]);
                    assert!(error.message.starts_with("all files are written"), "{error}");
                    assert!(interrupted(&repo.target()).unwrap().is_some());
                    assert_eq!(repo.recover(&Disk).unwrap().outcome, Outcome::Finished);
                    assert_eq!(repo.snapshot(), new, "{place}: {error}");
                    done += 1;
                }
            }
        }
        // The sync after the mark is the first whose failure changes nothing.
        assert_eq!((rolled_back, done), if is_plain { (21, 6) } else { (19, 9) });
    }
}

#[test]
fn effect_fails_and_so_does_the_rollback_then_recover() {
    let (old, new) = old_and_new();
    let mut stuck = 0;
    for is_plain in [false, true] {
        for k in 0..40 {
            for j in k + 1.. {
                let repo = Repo::new();
                let script = Script::failing(is_plain, &[k, j]);
                let result = repo.apply(&script);
                if script.count() <= j {
                    break;
                }
                let place = format!("effects {k} and {j} of {:#?} (plain: {is_plain})", script.log.borrow());
                match result {
                    Ok(_) => assert_eq!(repo.snapshot(), new, "{place}"),
                    Err(error) if error.kind == Kind::Failed => assert_eq!(repo.snapshot(), old, "{place}"),
                    Err(error) => {
                        assert_eq!(error.kind, Kind::Recovery, "{place}");
                        assert_eq!(error.hints, ["specdev-migrate recover"]);
                        let recovered = repo.recover(&Script::new(is_plain)).unwrap();
                        let is_written = error.message.starts_with("all files are written");
                        assert_eq!(
                            recovered.outcome == Outcome::Undone,
                            !is_written && k > 1,
                            "{place}: {error}"
                        );
                        assert_eq!(
                            &repo.snapshot(),
                            if is_written { &new } else { &old },
                            "{place}: {error}"
                        );
                        stuck += 1;
                    }
                }
            }
        }
    }
    assert!(stuck > 100, "{stuck}");
}

#[test]
fn killed_then_recover() {
    let (old, new) = old_and_new();
    for is_plain in [false, true] {
        for halfway in [false, true] {
            let mut outcomes = Vec::new();
            for k in 0.. {
                let repo = Repo::new();
                let script = Script { halfway, ..Script::killing(is_plain, k) };
                let result = repo.apply(&script);
                if !script.was_killed() {
                    result.unwrap();
                    break;
                }
                let was_found = interrupted(&repo.target()).unwrap();
                let recovered = repo.recover(&Script::new(is_plain)).unwrap();
                assert_eq!(was_found.is_some(), recovered.outcome != Outcome::Nothing);
                assert_eq!((recovered.edited.len(), recovered.left.len()), (0, 0));
                let expected = if recovered.outcome == Outcome::Undone { &old } else { &new };
                let expected = if k < 2 { &old } else { expected };
                assert_eq!(repo.snapshot(), *expected, "effect {k} of {:#?}", script.log.borrow());
                assert_eq!(interrupted(&repo.target()).unwrap(), None);
                outcomes.push(recovered.outcome);
            }
            // Nothing, then undone, then finished: no way back once the last file has its place.
            let undone = outcomes.iter().filter(|outcome| **outcome == Outcome::Undone).count();
            let finished = outcomes.iter().filter(|outcome| **outcome == Outcome::Finished).count();
            let expected = [
                vec![Outcome::Nothing; 2],
                vec![Outcome::Undone; undone],
                vec![Outcome::Finished; finished],
                vec![Outcome::Nothing; 1],
            ];
            assert_eq!(outcomes, expected.concat());
            assert!(undone >= 15 && finished >= 7, "{undone} {finished}");
        }
    }
}

#[test]
fn killed_then_recover_killed_then_recover() {
    let (old, new) = old_and_new();
    let mut runs = 0;
    for is_plain in [false, true] {
        for k in 2..40 {
            for j in 0.. {
                let repo = Repo::new();
                let script = Script::killing(is_plain, k);
                let _ = repo.apply(&script);
                let second = Script { halfway: j % 2 == 0, ..Script::killing(is_plain, j) };
                let result = repo.recover(&second);
                if !second.was_killed() {
                    result.unwrap();
                    break;
                }
                let recovered = repo.recover(&Script::new(is_plain)).unwrap();
                assert_eq!((recovered.edited.len(), recovered.left.len()), (0, 0));
                let place = format!("{:#?}, then {:#?}", script.log.borrow(), second.log.borrow());
                let snapshot = repo.snapshot();
                let is_right = match recovered.outcome {
                    Outcome::Undone => snapshot == old,
                    Outcome::Finished => snapshot == new,
                    Outcome::Nothing => snapshot == old || snapshot == new,
                };
                assert!(is_right, "{place}: {recovered:?} {snapshot:#?}");
                runs += 1;
            }
        }
    }
    assert!(runs > 300, "{runs}");
}

#[test]
fn killed_in_the_rollback_then_recover() {
    let (old, new) = old_and_new();
    for is_plain in [false, true] {
        for k in 2..40 {
            for j in k + 1.. {
                let repo = Repo::new();
                let script = Script { fail_at: vec![k], ..Script::killing(is_plain, j) };
                let result = repo.apply(&script);
                if !script.was_killed() {
                    assert!(result.is_ok() || script.count() <= j);
                    break;
                }
                let recovered = repo.recover(&Script::new(is_plain)).unwrap();
                let snapshot = repo.snapshot();
                assert!(
                    if recovered.outcome == Outcome::Undone {
                        snapshot == old
                    } else {
                        [&old, &new].contains(&&snapshot)
                    },
                    "{:#?}: {recovered:?} {snapshot:#?}",
                    script.log.borrow()
                );
            }
        }
    }
}

#[test]
fn killed_then_a_second_run_is_refused_until_recover() {
    let (_, new) = old_and_new();
    let repo = Repo::new();
    let _ = repo.apply(&Script::killing(false, 14));
    let before = repo.snapshot();
    let error = repo.apply(&Disk).unwrap_err();
    assert_eq!(
        (error.kind, error.hints.as_slice()),
        (Kind::Recovery, &["specdev-migrate recover".to_owned()][..])
    );
    assert_eq!(repo.snapshot(), before);
    let found = interrupted(&repo.target()).unwrap().unwrap();
    assert_eq!(found.refusal, None);
    assert_eq!(found.files, super::PATHS);
    assert_eq!(repo.recover(&Disk).unwrap().outcome, Outcome::Undone);
    repo.apply(&Disk).unwrap();
    assert_eq!(repo.snapshot(), new);
}

#[test]
fn panic_then_all_old() {
    let (old, _) = old_and_new();
    for k in 0..19 {
        let repo = Repo::new();
        let panic = || panic!("in the middle of it");
        let script = Script { at: Some((k, &panic)), ..Script::new(false) };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| repo.apply(&script)));
        assert!(result.is_err());
        assert_eq!(repo.snapshot(), old, "effect {k}");
    }
}

#[test]
fn file_system_without_links_killed_then_recover() {
    let (old, new) = old_and_new();
    for k in 2.. {
        let repo = Repo::new();
        let script = Script { lacks_links: true, ..Script::killing(true, k) };
        let result = repo.apply(&script);
        if !script.was_killed() {
            result.unwrap();
            assert_eq!(repo.snapshot(), new);
            break;
        }
        let recovered = repo.recover(&Script { lacks_links: true, ..Script::new(true) }).unwrap();
        let is_old = recovered.outcome == Outcome::Undone;
        assert_eq!(is_old, k < 17, "{:#?}", script.log.borrow());
        assert_eq!(&repo.snapshot(), if is_old { &old } else { &new }, "{:#?}", script.log.borrow());
    }
}

#[test]
fn file_system_without_links_effect_fails() {
    let (old, _) = old_and_new();
    for k in 0..19 {
        let repo = Repo::new();
        let script = Script { lacks_links: true, ..Script::failing(true, &[k]) };
        assert_eq!(repo.apply(&script).unwrap_err().kind, Kind::Failed);
        assert_eq!(repo.snapshot(), old, "{:#?}", script.log.borrow());
    }
}
