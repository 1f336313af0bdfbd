//! The whole road from bytes to a verified plan: findings or a plan whose promises hold, never an internal
//! error.
//!
//! Input: an archive. What stands before the first line `-- PATH --` are words (`release=0.7.3`, `partial`,
//! `git=N`, `fresh`), each section is a file below `specdev/`, or `decisions.yaml`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use specdev_migrate::decisions::Decisions;
use specdev_migrate::error::Kind;
use specdev_migrate::facts::Facts;
use specdev_migrate::git::{Git, Program};
use specdev_migrate::history::sha256;
use specdev_migrate::migrations::{self, NEWEST};
use specdev_migrate::plan::{self, Plan, Request, proposals};
use specdev_migrate::render::diff::{FileDiff, unified};
use specdev_migrate::render::{Ended, Mode, Report, Seen, human, json};
use specdev_migrate::state::change::SourceFile;
use specdev_migrate::state::files::Memory;
use specdev_migrate::state::layout::Layout;
use specdev_migrate::state::papers::{Papers, TicketFile};
use specdev_migrate::state::record::Records;
use specdev_migrate::state::tree::Tree;
use specdev_migrate::validate::{self, Look, Options, Stage};
use specdev_migrate::verify::verify;

pub fn check(data: &[u8]) {
    let (options, files) = archive(data);
    let option = |word: &str| options.iter().find_map(|o| o.strip_prefix(word));
    let release = option("release=").and_then(migrations::release).unwrap_or(NEWEST);
    let root = match option("git=") {
        Some(n) => repository(n != "0"),
        None => Path::new("/nowhere/project"),
    };
    let (tree, papers) = tree(root, &files);
    let decided = files.iter().find(|(path, _)| *path == "decisions.yaml");
    let mut decisions =
        decided.and_then(|(_, b)| Decisions::parse("decisions.yaml", b).ok()).unwrap_or_default();
    let facts = option("git=").and_then(|_| facts(&tree, &decisions));
    if option("fresh").is_some() {
        freshen(&mut decisions, &tree, facts.as_ref());
    }
    let partial = option("partial").is_some();
    let request = Request {
        tree: &tree,
        release,
        decisions: &decisions,
        partial,
        facts: facts.as_ref(),
        account: true,
    };
    planned(request);
    let _ = proposals(request, &tree.changes.keys().cloned().collect::<BTreeSet<_>>());
    let _ = validate::unreadable(&tree);
    let stage = [None, Some(Stage::Implement), Some(Stage::Complete)][data.len() % 3];
    let found = validate::validate(&tree, &papers, &Options { release, stage });
    let _ = (validate::human(&found, Look::default()), validate::github(&found, true));
}

fn planned(request: Request<'_>) {
    let made = match plan::plan(request) {
        Ok(made) => made,
        Err(error) => {
            assert_eq!(error.kind, Kind::Usage, "{error}");
            return;
        }
    };
    consistent(request, &made);
    let verified = match verify(request, made) {
        Ok(verified) => verified,
        Err(error) => panic!("{error}"),
    };
    let layout = &request.tree.layout;
    for file in verified.files() {
        let path = layout.shown(&file.path);
        let before = file.before.as_deref();
        let patch = unified(&FileDiff { path: &path, old: before, new: Some(&file.after), mode: 0o100644 });
        assert!(patch.starts_with(b"diff --git "), "{path}");
    }
    let report = Report {
        mode: Mode::DryRun,
        ended: Ended::of(Mode::DryRun, verified.plan()),
        plan: verified.plan(),
        layout,
        archived: &request.tree.archived,
        facts: request.facts,
        seen: request.facts.map(Seen::of),
        decisions: request.decisions,
        guards: &[],
        code: 0,
        place: "",
    };
    let _ = human::report(&report, false, true);
    let text = json::report(&report);
    assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok());
}

fn consistent(request: Request<'_>, made: &Plan) {
    if made.is_stopped() && !request.partial {
        assert!(made.files.is_empty(), "a stopped plan writes");
    }
    for file in &made.files {
        let known = request.tree.file(&file.path).map(|f| f.bytes.as_slice());
        assert_eq!(known, file.before.as_deref(), "{}", file.path);
        assert_ne!(known, Some(file.after.as_slice()), "{} is written as it is", file.path);
        let change = file.path.strip_prefix("changes/").and_then(|p| p.split_once('/'));
        assert!(!change.is_some_and(|(name, _)| made.stopped.contains(name)), "{}", file.path);
    }
}

/// The words in front, and the files.
pub fn archive(data: &[u8]) -> (Vec<String>, Vec<(&str, &[u8])>) {
    let mut files: Vec<(&str, usize, usize)> = Vec::new();
    let mut front = data.len();
    let mut at = 0;
    for line in data.split_inclusive(|b| *b == b'\n') {
        if let Some(path) = header(line) {
            match files.last_mut() {
                Some(last) => last.2 = at,
                None => front = at,
            }
            files.push((path, at + line.len(), data.len()));
        }
        at += line.len();
    }
    let options = String::from_utf8_lossy(&data[..front]);
    let options = options.split_whitespace().map(str::to_owned).collect();
    (options, files.into_iter().map(|(path, start, end)| (path, &data[start..end])).collect())
}

fn header(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let path = line.strip_prefix("-- ")?.strip_suffix(" --")?;
    path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-./".contains(&b)).then_some(path)
}

/// What the tool would have read from disk.
fn tree(root: &Path, files: &[(&str, &[u8])]) -> (Tree, Papers) {
    let state_root = root.join("speculo/.speculo");
    let specdev = state_root.join("specdev");
    let layout = Layout { state_root, project_root: root.into(), git_top: None };
    let mut memory = Memory::new().with(specdev.join("archive/2026-07-01-old/README.md"), "# Old\n");
    let mut papers = Papers::default();
    for (path, bytes) in files {
        let odd = path.split('/').any(|part| matches!(part, "" | "." | "..")) || *path == "decisions.yaml";
        if odd || files.iter().any(|(other, _)| other.starts_with(&format!("{path}/"))) {
            continue;
        }
        memory = memory.with(specdev.join(path), *bytes);
        if let Some((change, rest)) = path.strip_prefix("changes/").and_then(|p| p.split_once('/'))
            && rest.starts_with("ticket/")
        {
            let file = SourceFile { path: (*path).into(), bytes: (*bytes).into(), mode: 0o644 };
            papers.tickets.entry(change.into()).or_default().push(TicketFile::new(file));
        }
    }
    let tree = Tree::read_from(&layout, &memory).expect("memory can be read");
    (tree, papers)
}

/// A repository with the commits that the seeds name; with `many`, branches of tickets, merged and not, and
/// a worktree with a file that nobody committed.
fn repository(many: bool) -> &'static Path {
    static ROOTS: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    ROOTS[usize::from(many)].get_or_init(|| {
        let root = std::env::temp_dir().join(format!("specdev-migrate-fuzz-{}-{many}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).expect("a temporary folder");
        let git = |line: &str| {
            let mut command = Command::new("git");
            command.current_dir(&root).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
            for who in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{who}_NAME"), "dev");
                command.env(format!("GIT_{who}_EMAIL"), "dev@example.invalid");
                command.env(format!("GIT_{who}_DATE"), "1785000000 +0000");
            }
            assert!(command.args(line.split(' ')).status().expect("git is there").success(), "git {line}");
        };
        git("init -q -b main");
        git("commit -q --allow-empty -m start");
        git("commit -q --allow-empty -m T-01");
        git("commit -q --allow-empty -m T-02");
        if many {
            git("branch speculo/2026-08-01-login/T-01");
            git("worktree add -q -b speculo/2026-08-01-login/T-02 specdev-worktree/2026-08-01-login/T-02");
            git("-C specdev-worktree/2026-08-01-login/T-02 commit -q --allow-empty -m aside");
            git("worktree add -q -b speculo/2026-08-01-login/T-03 specdev-worktree/2026-08-01-login/T-03");
            fs::write(root.join("specdev-worktree/2026-08-01-login/T-03/new"), "x").expect("a file");
        }
        // As the tool sees it.
        root.canonicalize().expect("the folder just made")
    })
}

fn facts(tree: &Tree, decisions: &Decisions) -> Option<Facts> {
    let root = &tree.layout.project_root;
    let git = Git::open(root, &Program::default()).ok()??;
    let config = tree.config.as_ref().and_then(|f| f.doc().ok());
    let branch = config.and_then(|d| d.value().pointer("/git/default_branch")?.as_str());
    Facts::collect(&git, root, &plan::records(tree), branch, decisions).ok()
}

/// Decisions about the records as they are: nobody guesses a digest.
fn freshen(decisions: &mut Decisions, tree: &Tree, facts: Option<&Facts>) {
    for (name, decision) in &mut decisions.changes {
        let Some(change) = tree.changes.get(name) else { continue };
        for record in Records::read(change).list {
            if let Some(ticket) = decision.tickets.get_mut(&record.ticket) {
                ticket.record_sha256 = sha256(&record.bytes);
                ticket.seen = facts.map_or("000000000000".into(), |f| f.seen(&record));
            }
        }
    }
}
