//! The whole road from bytes to a verified plan: findings or a plan whose promises hold, never an internal
//! error.
//!
//! Input: an archive. What stands before the first line `-- PATH --` are words (`release=0.7.3`, `partial`,
//! `git=N`, `fresh`), each section is a file below `specdev/`, or `decisions.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use specdev_migrate::decisions::Decisions;
use specdev_migrate::error::Kind;
use specdev_migrate::facts::Facts;
use specdev_migrate::git::{Commits, Head, Survey, Worktree};
use specdev_migrate::history::sha256;
use specdev_migrate::migrations::{self, NEWEST};
use specdev_migrate::plan::{Plan, Request, plan, proposals};
use specdev_migrate::render::diff::{FileDiff, unified};
use specdev_migrate::render::{Ended, Mode, Report, human, json};
use specdev_migrate::state::change::{Change, JsonFile, SourceFile, is_change_name, is_ticket_id};
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
    let (tree, papers) = tree(&files);
    let facts = option("git=").and_then(|n| n.parse().ok()).map(facts);
    let decided = files.iter().find(|(path, _)| *path == "decisions.yaml");
    let mut decisions =
        decided.and_then(|(_, b)| Decisions::parse("decisions.yaml", b).ok()).unwrap_or_default();
    if option("fresh").is_some() {
        freshen(&mut decisions, &tree, facts.as_ref());
    }
    let partial = option("partial").is_some();
    let request = Request { tree: &tree, release, decisions: &decisions, partial, facts: facts.as_ref() };
    planned(request);
    let _ = proposals(request, &tree.changes.keys().cloned().collect::<BTreeSet<_>>());
    let _ = validate::unreadable(&tree);
    let stage = [None, Some(Stage::Implement), Some(Stage::Complete)][data.len() % 3];
    let found = validate::validate(&tree, &papers, &Options { release, stage });
    let _ = (validate::human(&found, Look::default()), validate::github(&found, true));
}

fn planned(request: Request<'_>) {
    let made = match plan(request) {
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
    let mut patch = Vec::new();
    for file in verified.files() {
        let path = layout.shown(&file.path);
        let before = file.before.as_deref();
        patch.extend(unified(&FileDiff { path: &path, old: before, new: Some(&file.after), mode: 0o100644 }));
    }
    let report = Report {
        mode: Mode::DryRun,
        ended: Ended::of(Mode::DryRun, verified.plan()),
        plan: verified.plan(),
        layout,
        archived: &request.tree.archived,
        facts: request.facts,
        decisions: request.decisions,
        patch: &patch,
        guards: &[],
        code: 0,
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
fn tree(files: &[(&str, &[u8])]) -> (Tree, Papers) {
    let by_path: BTreeMap<&str, &[u8]> = files.iter().copied().collect();
    let file = |path: &str| {
        by_path.get(path).map(|b| SourceFile { path: path.into(), bytes: b.to_vec(), mode: 0o644 })
    };
    let root = PathBuf::from("/nowhere/project");
    let layout = Layout { state_root: root.join("speculo/.speculo"), project_root: root, git_top: None };
    let mut changes = BTreeMap::new();
    let mut papers = Papers::default();
    for path in by_path.keys() {
        let name = path.strip_prefix("changes/").and_then(|p| p.strip_suffix("/.status.json"));
        let Some(name) = name.filter(|n| is_change_name(n)) else { continue };
        let Some(status) = file(path).map(JsonFile::new) else { continue };
        let below = |name: &str, rest: &str| file(&format!("changes/{name}/{rest}"));
        let in_folder = |folder: &str| {
            let folder = format!("changes/{name}/{folder}/");
            let stem = move |path: &&str| Some(path.strip_prefix(&folder)?.strip_suffix(".md")?.to_owned());
            by_path.keys().filter_map(stem).collect::<Vec<_>>()
        };
        let evidence = in_folder("evidence").into_iter().filter(|s| is_ticket_id(s) || s == "direct-spec");
        let evidence = evidence.filter_map(|s| Some((s.clone(), below(name, &format!("evidence/{s}.md"))?)));
        let sheets: Vec<TicketFile> = in_folder("ticket")
            .into_iter()
            .filter(|s| s.starts_with(|c: char| c.is_ascii_digit()))
            .filter_map(|s| Some(TicketFile::new(below(name, &format!("ticket/{s}.md"))?)))
            .collect();
        let tickets = sheets.iter().filter_map(|t| Some((t.text("id")?.into(), t.text("status")?.into())));
        let change = Change {
            name: name.into(),
            status,
            plan: below(name, "goal-plan.md"),
            readme: below(name, "README.md"),
            history: below(name, "HISTORY.md"),
            evidence: evidence.collect(),
            tickets: tickets.collect(),
            parent_plan: false,
        };
        papers.tickets.insert(name.into(), sheets);
        changes.insert(name.to_owned(), change);
    }
    let tree = Tree {
        layout,
        config: file("config.json").map(JsonFile::new),
        index: file("status.json").map(JsonFile::new),
        history: file("HISTORY.md"),
        changes,
        orphans: BTreeMap::new(),
        archived: ["2026-07-01-old".to_owned()].into(),
        findings: Vec::new(),
        installed: None,
        migration_pending: false,
    };
    (tree, papers)
}

/// A repository: `main` with three commits, and by the bits of `n` a branch or worktree of a ticket here
/// and there, merged or not.
fn facts(n: u8) -> Facts {
    const COMMITS: [&str; 4] = [
        "65aa13d2136019fb01336e605ee8286ca6565734",
        "c745ef21e711c32e8602e03b20b01cf28f313ac8",
        "5314f2b044a842de3af8821a4465ca1577a06d6b",
        "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
    ];
    let [base, first, second, aside] = COMMITS.map(str::to_owned);
    let ticket = |n: u8| format!("speculo/2026-08-01-login/T-{n:02}");
    let mut branches = BTreeMap::from([("main".to_owned(), second.clone())]);
    let set = |bit: u8| n >> bit & 1 == 1;
    if set(0) {
        branches.insert(ticket(1), first.clone());
    }
    if set(1) {
        branches.insert(ticket(2), aside.clone());
    }
    let root = Path::new("/nowhere/project");
    let mut main = Worktree::at(root);
    (main.main, main.exists, main.branch, main.head) =
        (true, true, Some("main".into()), Some(second.clone()));
    let mut survey = Survey {
        top: root.into(),
        head: Head::Branch,
        head_branch: Some("main".into()),
        shallow: set(6),
        worktrees: vec![main],
        branches: branches.clone(),
        ..Survey::default()
    };
    let mut dirty = BTreeMap::new();
    if set(2) {
        let place = root.join("specdev-worktree/2026-08-01-login/T-02");
        let mut worktree = Worktree::at(&place);
        (worktree.exists, worktree.branch, worktree.head) = (true, Some(ticket(2)), Some(aside.clone()));
        if set(3) {
            dirty.insert(worktree.resolved.clone(), vec!["src/a.rs".to_owned()]);
        }
        if set(4) {
            (worktree.branch, worktree.detached) = (None, true);
        }
        survey.worktrees.push(worktree);
    }
    let lines = format!("{aside} {base}\n{second} {first}\n{first} {base}\n{base}\n");
    let known = [&base, &first, &second].into_iter().map(|id| (id.clone(), id.clone()));
    let commits = Commits::new(branches, known.collect(), lines.as_bytes(), set(6)).expect("a graph");
    let folders = BTreeSet::from_iter(set(5).then(|| "specdev-worktree/2026-08-01-login/T-03".to_owned()));
    Facts { root: root.into(), survey, commits, dirty, folders }
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
