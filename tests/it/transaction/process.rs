//! With processes of their own: the lock between two of them, the umask, folders that may not be written
//! to, and a real SIGKILL at every effect.
#![expect(clippy::print_stdout, reason = "the child tells its parent the result")]

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use specdev_migrate::apply::{Disk, Effect, Effects, Outcome, Stop, apply, interrupted, lock};
use specdev_migrate::error::Kind;

use super::{CONFIG, EVIDENCE, Repo, changes, old_and_new, target_of};

/// What this test binary does when a test below starts it again: apply the changes to a repository.
#[test]
#[ignore = "run by other tests"]
fn child() {
    let root = std::env::var_os("ROOT").map(std::path::PathBuf::from).unwrap();
    let target = target_of(&root);
    let kill_at = std::env::var("KILL_AT").ok().map(|number| number.parse().unwrap());
    let result = lock(&target).and_then(|lock| {
        apply(&target, &lock, &changes(), &[], &Stop::new(), &Mortal { count: Cell::new(0), kill_at })
    });
    println!("\nresult {result:?}");
    if std::env::var_os("HOLD").is_some() {
        let _lock = lock(&target).unwrap();
        println!("\nholding");
        io::stdin().read_line(&mut String::new()).unwrap();
    }
}

/// The disk itself, until the process is killed.
struct Mortal {
    count: Cell<usize>,
    kill_at: Option<usize>,
}

impl Effects for Mortal {
    fn perform(&self, effect: &Effect<'_>) -> io::Result<()> {
        if self.kill_at == Some(self.count.replace(self.count.get() + 1)) {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
        Disk.perform(effect)
    }
}

fn child_of(repo: &Repo, shell: &str) -> Command {
    let mut command = Command::new("sh");
    let program = std::env::current_exe().unwrap();
    command.args(["-c", shell]).arg(program).args(["transaction::process::child", "--exact", "--ignored"]);
    command.args(["--nocapture", "--test-threads=1"]).env("ROOT", &repo.root);
    command
}

fn result_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().find_map(|line| line.strip_prefix("result ")).unwrap_or("none").to_owned()
}

#[test]
fn umask_of_the_process() {
    for (mask, file, folder) in [("027", 0o640, 0o750), ("000", 0o666, 0o777), ("077", 0o600, 0o700)] {
        let repo = Repo::new();
        let output = child_of(&repo, &format!("umask {mask}; exec \"$0\" \"$@\"")).output().unwrap();
        assert!(result_of(&output).starts_with("Ok("), "{output:?}");
        let mode = |path: &str| repo.path(path).metadata().unwrap().mode() & 0o7777;
        assert_eq!(mode(EVIDENCE), file);
        assert_eq!(mode("specdev/changes/x/evidence"), folder);
        assert_eq!((mode(CONFIG), mode("specdev/status.json")), (0o644, 0o664));
    }
}

#[test]
fn killed_for_real_then_recover() {
    let (old, new) = old_and_new();
    for k in 0..28 {
        let repo = Repo::new();
        let output = child_of(&repo, "exec \"$0\" \"$@\"").env("KILL_AT", k.to_string()).output().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(9));
        // The lock of the dead process is in nobody's way.
        let was_found = interrupted(&repo.target()).unwrap().is_some();
        let recovered = repo.recover(&Disk).unwrap();
        assert_eq!(was_found, recovered.outcome != Outcome::Nothing);
        let expected = if k < 17 { &old } else { &new };
        assert_eq!(repo.snapshot(), *expected, "{k} {recovered:?}");
    }
}

#[test]
fn lock_held_by_another_process() {
    let (_, new) = old_and_new();
    let repo = Repo::new();
    let mut command = child_of(&repo, "exec \"$0\" \"$@\"");
    let mut child = command.env("HOLD", "1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim() != "holding" {
        line.clear();
        assert_ne!(io::BufRead::read_line(&mut output, &mut line).unwrap(), 0);
    }
    let error = lock(&repo.target()).unwrap_err();
    assert_eq!(error.kind, Kind::Locked);
    let owner = format!("another run holds the lock: process {} (", child.id());
    assert!(error.message.starts_with(&owner), "{error}");
    assert!(error.message.contains("transaction::process::child"), "{error}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    drop(lock(&repo.target()).unwrap());
    assert_eq!(repo.snapshot(), new);
}

#[test]
fn lock_held_by_another_handle() {
    let (old, _) = old_and_new();
    let repo = Repo::new();
    let held = lock(&repo.target()).unwrap();
    assert_eq!(lock(&repo.target()).unwrap_err().kind, Kind::Locked);
    // A lock that was refused takes nothing away.
    assert_eq!(lock(&repo.target()).unwrap_err().kind, Kind::Locked);
    drop(held);
    drop(lock(&repo.target()).unwrap());
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn lock_taken_in_turns_by_many() {
    let repo = Repo::new();
    let (holders, most) = (std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut turns = 0;
                while turns < 50 {
                    let Ok(_held) = lock(&repo.target()) else { continue };
                    let now = holders.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
                    most.fetch_max(now, std::sync::atomic::Ordering::SeqCst);
                    std::thread::yield_now();
                    holders.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    turns += 1;
                }
            });
        }
    });
    assert_eq!(most.into_inner(), 1);
    assert!(!repo.path(".git/specdev-migrate").exists());
}

#[test]
fn lock_that_is_only_being_looked_at() {
    let (old, _) = old_and_new();
    let repo = Repo::new();
    // Left by a run that was killed, so that others look whether one is still under way.
    fs::create_dir(repo.path(".git/specdev-migrate")).unwrap();
    repo.write(".git/specdev-migrate/lock", "specdev-migrate lock\npid 1\ncommand x\n", 0o644);
    let looked = fs::File::open(repo.path(".git/specdev-migrate/lock")).unwrap();
    looked.lock_shared().unwrap();
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| lock(&repo.target()).map(drop));
        std::thread::sleep(std::time::Duration::from_millis(20));
        looked.unlock().unwrap();
        taker.join().unwrap().unwrap();
    });
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn lock_file_of_a_dead_process() {
    let (old, _) = old_and_new();
    let repo = Repo::new();
    fs::create_dir(repo.path(".git/specdev-migrate")).unwrap();
    repo.write(".git/specdev-migrate/lock", "specdev-migrate lock\npid 1\ncommand x\n", 0o644);
    drop(lock(&repo.target()).unwrap());
    assert_eq!(repo.snapshot(), old);
}

#[test]
fn lock_file_deleted_and_taken_by_another() {
    let repo = Repo::new();
    let first = lock(&repo.target()).unwrap();
    fs::remove_file(repo.path(".git/specdev-migrate/lock")).unwrap();
    let second = lock(&repo.target()).unwrap();
    drop(first);
    assert_eq!(lock(&repo.target()).unwrap_err().kind, Kind::Locked);
    drop(second);
    assert!(!repo.path(".git/specdev-migrate").exists());
}

#[test]
fn lock_file_of_the_user() {
    let repo = Repo::new();
    fs::create_dir(repo.path(".git/specdev-migrate")).unwrap();
    repo.write(".git/specdev-migrate/lock", "mine\n", 0o644);
    let before = repo.snapshot();
    assert_eq!(lock(&repo.target()).unwrap_err().kind, Kind::Failed);
    assert_eq!(repo.snapshot(), before);
}

#[test]
fn lock_folder_that_is_a_link() {
    let repo = Repo::new();
    fs::create_dir(repo.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", repo.path(".git/specdev-migrate")).unwrap();
    let before = repo.snapshot();
    assert_eq!(lock(&repo.target()).unwrap_err().kind, Kind::Failed);
    assert_eq!(repo.snapshot(), before);
}

/// Run as somebody whom permissions bind, on a repository of their own.
fn as_nobody(repo: &Repo, prepare: &str) -> Option<Output> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let chown = Command::new("chown").args(["-R", "65534:65534"]).arg(repo.root.parent().unwrap()).status();
    assert!(chown.unwrap().success());
    let prepared = Command::new("sh").args(["-c", prepare]).current_dir(&repo.root).status();
    assert!(prepared.unwrap().success());
    // The test binary may lie where nobody may read. Not copied by this process: a child that another
    // test starts meanwhile would hold the copy open for writing, and then it cannot be executed.
    let program = repo.root.with_file_name("program");
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.args(["transaction::process::child", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("ROOT", &repo.root).uid(65534).gid(65534);
    Some(command.output().unwrap())
}

#[test]
fn folder_that_may_not_be_written_to() {
    let repo = Repo::on_disk();
    let before = repo.snapshot();
    let Some(output) = as_nobody(&repo, "chmod 555 specdev/changes/x") else { return };
    let result = result_of(&output);
    assert!(result.starts_with("Err(Error { kind: Failed"), "{output:?}");
    assert!(result.contains("specdev/changes/x"), "{result}");
    let mut expected = before;
    expected.get_mut("specdev/changes/x").unwrap().0 = "40555".into();
    assert_eq!(repo.snapshot(), expected);
}

#[test]
fn read_only_file_in_a_folder_that_may_be_written_to() {
    let (_, new) = old_and_new();
    let repo = Repo::on_disk();
    let Some(output) = as_nobody(&repo, "chmod 444 specdev/config.json") else { return };
    assert!(result_of(&output).starts_with("Ok("), "{output:?}");
    let mut expected = new;
    expected.get_mut(CONFIG).unwrap().0 = "100444".into();
    assert_eq!(repo.snapshot(), expected);
}

#[test]
fn file_of_a_group_that_cannot_be_kept() {
    let repo = Repo::on_disk();
    let before = repo.snapshot();
    let Some(output) = as_nobody(&repo, "chown 0:0 specdev/status.json") else { return };
    assert!(result_of(&output).starts_with("Err(Error { kind: Failed"), "{output:?}");
    assert_eq!(repo.snapshot(), before);
}

#[test]
fn file_of_another_owner_in_a_group_of_ours() {
    let (_, new) = old_and_new();
    let repo = Repo::on_disk();
    let Some(output) = as_nobody(&repo, "chown 0:65534 specdev/status.json") else { return };
    assert!(result_of(&output).starts_with("Ok("), "{output:?}");
    assert_eq!(repo.snapshot(), new);
}

#[test]
fn file_that_cannot_be_changed() {
    let repo = Repo::on_disk();
    let chattr = |flag: &str| {
        let status = Command::new("chattr").arg(flag).arg(repo.path("specdev/status.json")).status();
        status.is_ok_and(|status| status.success())
    };
    for (set, clear) in [("+i", "-i"), ("+a", "-a")] {
        if !chattr(set) {
            continue;
        }
        let before = repo.snapshot();
        let result = repo.apply(&Disk);
        let after = repo.snapshot();
        assert!(chattr(clear));
        assert_eq!(result.unwrap_err().kind, Kind::Failed);
        assert_eq!(after, before);
    }
}
