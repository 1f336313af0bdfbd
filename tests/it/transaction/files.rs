//! What a replaced file hands on, what a created one gets, and names.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::fs::XattrFlags;
use specdev_migrate::apply::{Disk, Stop};
use specdev_migrate::error::Kind;

use super::{CHANGE, CONFIG, EVIDENCE, PATHS, Repo, Script, change, old_and_new, umask};

fn mode(repo: &Repo, path: &str) -> u32 {
    repo.path(path).symlink_metadata().unwrap().mode() & 0o7777
}

#[test]
fn modes_kept() {
    for bits in [0o644, 0o664, 0o600, 0o755, 0o444, 0o400, 0o4755, 0o2644, 0o666] {
        let repo = Repo::new();
        fs::set_permissions(repo.path(CONFIG), fs::Permissions::from_mode(bits)).unwrap();
        repo.apply(&Disk).unwrap();
        assert_eq!(mode(&repo, CONFIG), bits, "{bits:o}");
        assert_eq!(repo.text(CONFIG), "new config, longer than the old one\n");
        assert_eq!(mode(&repo, EVIDENCE), 0o666 & !umask());
    }
}

#[test]
fn modes_kept_then_rollback() {
    for is_plain in [false, true] {
        for bits in [0o644, 0o664, 0o600, 0o755, 0o444] {
            let repo = Repo::new();
            fs::set_permissions(repo.path(CONFIG), fs::Permissions::from_mode(bits)).unwrap();
            let before = repo.snapshot();
            // The second file to trade places.
            let error = repo.apply(&Script::failing(is_plain, &[13])).unwrap_err();
            assert_eq!(error.kind, Kind::Failed);
            assert_eq!(repo.snapshot(), before, "{bits:o}");
        }
    }
}

#[test]
fn rollback_puts_back_the_very_file() {
    let repo = Repo::new();
    let before = repo.path(CONFIG).metadata().unwrap();
    repo.apply(&Script::failing(false, &[15])).unwrap_err();
    let after = repo.path(CONFIG).metadata().unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
}

#[test]
fn neighbours_and_compared_files_untouched() {
    let repo = Repo::new();
    let stamp = |path: &str| {
        let metadata = repo.path(path).metadata().unwrap();
        (metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.ctime_nsec(), metadata.mode())
    };
    let (neighbour, status) = (stamp("specdev/neighbour.txt"), stamp("specdev/status.json"));
    let same = "old status, longer than the new one\n";
    let changes = [
        change("specdev/status.json", Some(same), Some(same)),
        change(CONFIG, Some("old config\n"), Some("new\n")),
    ];
    let applied = repo.apply_changes(&changes, &[], &Stop::new(), &Disk).unwrap();
    assert_eq!(applied.files, 1);
    assert_eq!((neighbour, status), (stamp("specdev/neighbour.txt"), stamp("specdev/status.json")));
}

#[test]
fn nothing_to_do_then_no_effect() {
    let repo = Repo::new();
    let before = repo.snapshot();
    let script = Script::new(false);
    let same = change(CONFIG, Some("old config\n"), Some("old config\n"));
    for changes in [vec![], vec![same]] {
        assert_eq!(repo.apply_changes(&changes, &[], &Stop::new(), &script).unwrap().files, 0);
    }
    assert_eq!((script.count(), repo.snapshot()), (0, before));
}

#[test]
fn owner_and_group_kept() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let repo = Repo::new();
    for path in [CONFIG, CHANGE] {
        std::os::unix::fs::chown(repo.path(path), Some(1234), Some(2345)).unwrap();
    }
    fs::set_permissions(repo.path(CONFIG), fs::Permissions::from_mode(0o2750)).unwrap();
    repo.apply(&Disk).unwrap();
    let metadata = repo.path(CONFIG).metadata().unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (1234, 2345, 0o2750));
}

#[test]
fn attributes_kept() {
    let repo = Repo::on_disk();
    if rustix::fs::setxattr(repo.path(CONFIG), "user.note", b"mine", XattrFlags::empty()).is_err() {
        return;
    }
    let note = |repo: &Repo| {
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(repo.path(CONFIG), "user.note", &mut value[..]).unwrap();
        value[..length].to_vec()
    };
    repo.apply(&Script::failing(true, &[15])).unwrap_err();
    assert_eq!((repo.text(CONFIG).as_str(), note(&repo).as_slice()), ("old config\n", &b"mine"[..]));
    repo.apply(&Disk).unwrap();
    assert_eq!(note(&repo), b"mine");
}

#[test]
fn access_list_of_the_folder_not_taken_over() {
    let repo = Repo::on_disk();
    // Version 2; user rwx, user 1234 rwx, group r-x, mask rwx, other none.
    let entry = |tag: u16, bits: u16, id: u32| {
        [tag.to_le_bytes(), bits.to_le_bytes()]
            .concat()
            .into_iter()
            .chain(id.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let nobody = u32::MAX;
    let entries = [
        entry(1, 7, nobody),
        entry(2, 7, 1234),
        entry(4, 5, nobody),
        entry(16, 7, nobody),
        entry(32, 0, nobody),
    ];
    let list = [2u32.to_le_bytes().to_vec(), entries.concat()].concat();
    let (folder, access) = ("system.posix_acl_default", "system.posix_acl_access");
    if rustix::fs::setxattr(repo.path("specdev"), folder, &list, XattrFlags::empty()).is_err() {
        return;
    }
    rustix::fs::setxattr(repo.path("specdev/status.json"), access, &list, XattrFlags::empty()).unwrap();
    let before = mode(&repo, "specdev/status.json");
    repo.apply(&Disk).unwrap();
    assert!(rustix::fs::getxattr(repo.path(CONFIG), access, &mut [0; 128][..]).is_err());
    assert_eq!(mode(&repo, CONFIG), 0o644);
    let mut value = [0; 128];
    let length = rustix::fs::getxattr(repo.path("specdev/status.json"), access, &mut value[..]).unwrap();
    assert_eq!((&value[..length], mode(&repo, "specdev/status.json")), (&list[..], before));
}

#[test]
fn setgid_folder() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let repo = Repo::new();
    let folder = repo.path("specdev/changes/x");
    std::os::unix::fs::chown(&folder, None, Some(2345)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o2775)).unwrap();
    repo.apply(&Disk).unwrap();
    let evidence = repo.path(EVIDENCE).metadata().unwrap();
    assert_eq!((evidence.gid(), evidence.mode() & 0o7777), (2345, 0o666 & !umask()));
    assert_eq!(repo.path("specdev/changes/x/evidence").metadata().unwrap().gid(), 2345);
    assert_ne!(mode(&repo, "specdev/changes/x/evidence") & 0o2000, 0);
    // The replaced file keeps its own group, not the folder's.
    assert_eq!(repo.path(CHANGE).metadata().unwrap().gid(), rustix::process::getegid().as_raw());
    assert_eq!(folder.metadata().unwrap().mode() & 0o7777, 0o2775);
}

#[test]
fn name_of_255_bytes() {
    let repo = Repo::new();
    let name = format!("specdev/{}", "é".repeat(127) + "x");
    repo.write(&name, "old\n", 0o644);
    let changes = [change(&name, Some("old\n"), Some("new\n"))];
    repo.apply_changes(&changes, &[], &Stop::new(), &Disk).unwrap();
    assert_eq!(repo.text(&name), "new\n");
}

#[test]
fn name_of_255_bytes_edited_then_recover() {
    let repo = Repo::new();
    let name = format!("specdev/{}", "é".repeat(127) + "x");
    repo.write(&name, "old\n", 0o644);
    let changes =
        [change(&name, Some("old\n"), Some("new\n")), change(CONFIG, Some("old config\n"), Some("new\n"))];
    let script = Script::killing(false, 10);
    repo.apply_changes(&changes, &[], &Stop::new(), &script).unwrap_err();
    assert!(script.was_killed());
    assert_eq!(repo.text(&name), "new\n");
    fs::write(repo.path(&name), "edited\n").unwrap();
    let recovered = repo.recover(&Disk).unwrap();
    assert_eq!(repo.text(&name), "edited\n");
    // Cut between two characters.
    let saved = format!("specdev/{}.specdev-old", "é".repeat(121));
    assert_eq!(recovered.edited[0].saved.as_ref(), Some(&saved));
    assert_eq!(repo.text(&saved), "old\n");
}

#[test]
fn name_with_odd_characters() {
    let repo = Repo::new();
    let names =
        ["specdev/a b", "specdev/tab\there", "specdev/line\nend", "specdev/-rf", "specdev/quote'\"\\"];
    let changes: Vec<_> = names.iter().map(|name| change(name, None, Some("new\n"))).collect();
    repo.apply_changes(&changes, &[], &Stop::new(), &Disk).unwrap();
    for name in names {
        assert_eq!(repo.text(name), "new\n");
    }
}

#[test]
fn files_of_the_user_named_like_ours() {
    let (old, new) = old_and_new();
    // The names that the run takes when it is free to choose.
    let names = {
        let repo = Repo::new();
        repo.apply(&Script::killing(false, 12)).unwrap_err();
        let names: Vec<String> = repo.snapshot().into_keys().filter(|name| name.contains(".sdm-")).collect();
        repo.recover(&Disk).unwrap();
        names
    };
    assert_eq!(names.len(), 4);
    let others =
        ["specdev/config.json.bak", "specdev/config.json.tmp", ".specdev-migrate.lock", "specdev/x~"];
    for k in [99, 12, 15, 18, 20] {
        let repo = Repo::new();
        let mut expected = if k < 18 { old.clone() } else { new.clone() };
        for name in names.iter().map(String::as_str).chain(others) {
            if name.contains("evidence") {
                continue;
            }
            repo.write(name, "the user's own\n", 0o640);
            expected.insert(name.into(), ("100640".into(), "the user's own\n".into()));
        }
        let _ = repo.apply(&Script::killing(false, k));
        let recovered = repo.recover(&Disk).unwrap();
        assert_eq!(repo.snapshot(), expected, "{k}");
        assert!(recovered.left.is_empty());
    }
}

#[test]
fn file_of_the_user_under_a_temporary_name_meanwhile() {
    let (mut old, _) = old_and_new();
    let repo = Repo::new();
    let name = {
        let repo = Repo::new();
        repo.apply(&Script::killing(false, 12)).unwrap_err();
        repo.snapshot().into_keys().find(|name| name.starts_with("specdev/.sdm-")).unwrap()
    };
    let act = || repo.write(&name, "mine\n", 0o640);
    let error = repo.apply(&Script { at: Some((1, &act)), ..Script::new(false) }).unwrap_err();
    assert_eq!(error.kind, Kind::Failed);
    old.insert(name, ("100640".into(), "mine\n".into()));
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn folder_of_the_user_meanwhile() {
    let (mut old, _) = old_and_new();
    let repo = Repo::new();
    let folder = "specdev/changes/x/evidence";
    let act = || fs::create_dir(repo.path(folder)).unwrap();
    let error = repo.apply(&Script { at: Some((4, &act)), ..Script::new(false) }).unwrap_err();
    assert_eq!(error.kind, Kind::Changed);
    old.insert(folder.into(), (format!("{:o}", 0o40_777 & !umask()), String::new()));
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn contents_of_all_sizes() {
    let repo = Repo::new();
    let large = "0123456789abcdef\r\n".repeat(100_000);
    let texts = ["", "x", "\0\u{7f}\r", &large];
    for (number, (before, after)) in texts.iter().flat_map(|a| texts.iter().map(move |b| (a, b))).enumerate()
    {
        let name = format!("specdev/{number}");
        repo.write(&name, before, 0o644);
        let changes = [change(&name, Some(before), Some(after))];
        let applied = repo.apply_changes(&changes, &[], &Stop::new(), &Script::new(false)).unwrap();
        assert_eq!((applied.files, repo.text(&name).as_str()), (usize::from(before != after), *after));
        for k in 4..9 {
            let back = [change(&name, Some(after), Some(before))];
            let script = Script { halfway: true, ..Script::killing(false, k) };
            let _ = repo.apply_changes(&back, &[], &Stop::new(), &script);
            repo.recover(&Disk).unwrap();
            assert_eq!(repo.text(&name), **after, "{k}");
        }
    }
}

#[test]
fn root_given_through_a_link() {
    let (_, new) = old_and_new();
    let mut repo = Repo::new();
    let link = repo.root.with_file_name("link");
    std::os::unix::fs::symlink("repo", &link).unwrap();
    let _ = repo.apply(&Script::killing(false, 15));
    let root = std::mem::replace(&mut repo.root, link);
    repo.recover(&Disk).unwrap();
    repo.apply(&Disk).unwrap();
    repo.root = root;
    assert_eq!(repo.snapshot(), new);
    assert_eq!(PATHS.len(), 5);
}
