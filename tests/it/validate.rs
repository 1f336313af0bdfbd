//! Validation: every rule against a tree that keeps it and one that breaks it, and what is rendered.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use specdev_migrate::decisions::Decisions;
use specdev_migrate::facts::Facts;
use specdev_migrate::finding::{Code, Place};
use specdev_migrate::git::{Git, Program};
use specdev_migrate::migrations;
use specdev_migrate::plan::{Request, plan, records};
use specdev_migrate::state::layout::{Discovery, Layout};
use specdev_migrate::state::papers::Papers;
use specdev_migrate::state::tree::Tree;
use specdev_migrate::validate::{self, Class, Look, Options, RULES, Rule, SourceLine, Stage, Violation};

// The table.

#[test]
fn every_rule_has_fixtures_and_every_fixture_a_rule() {
    let rules: BTreeSet<String> = RULES.iter().map(|r| r.id.to_string()).collect();
    assert_eq!(rules.len(), RULES.len(), "an id stands twice");
    let folders: BTreeSet<String> = names(&fixtures());
    assert_eq!(rules, folders);
    for rule in &rules {
        let parts = names(&fixtures().join(rule));
        assert_eq!(parts, ["expected.txt", "fail", "pass"].map(String::from).into(), "{rule}");
    }
}

#[test]
fn every_rule_is_described_and_of_known_releases() {
    for rule in RULES {
        let is_kebab = rule.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(is_kebab, "{}", rule.id);
        assert!(!rule.releases.is_empty(), "{}", rule.id);
        for name in rule.releases {
            assert!(migrations::release(name).is_some(), "{}: {name}", rule.id);
        }
        for text in [rule.guards, rule.advice] {
            assert!(!text.is_empty() && !text.contains('\n') && !text.ends_with('.'), "{}", rule.id);
        }
    }
}

#[test]
fn no_rule_is_broken_by_its_passing_fixture() {
    for_every_rule_and_release(|rule, release| {
        let found = judge(&fixtures().join(rule.id).join("pass"), release, rule.stage);
        // The papers are of the first release the rule belongs to.
        let found: Vec<_> =
            found.into_iter().filter(|v| v.rule == rule.id || release == rule.releases[0]).collect();
        assert!(found.is_empty(), "{} {release}:\n{}", rule.id, shown(&found));
    });
}

#[test]
fn every_rule_is_broken_by_its_failing_fixture_alone_and_at_the_expected_places() {
    for_every_rule_and_release(|rule, release| {
        let root = fixtures().join(rule.id).join("fail");
        let mut found = judge(&root, release, rule.stage);
        if release != rule.releases[0] {
            found.retain(|v| v.rule == rule.id);
        }
        for violation in &found {
            assert_eq!(violation.rule, rule.id, "{release}:\n{}", shown(&found));
            assert_eq!(violation.class, rule.class, "{}", rule.id);
            assert_eq!(violation.advice, rule.advice.replace("{release}", release), "{}", rule.id);
        }
        let mut places: Vec<_> = found.iter().map(|v| place(&v.place)).collect();
        places.sort();
        let expected = expected(rule);
        let wanted: Vec<_> = expected.iter().map(|e| (e.file.clone(), e.pointer.clone())).collect();
        assert_eq!(places, wanted, "{} {release}:\n{}", rule.id, shown(&found));
        for want in &expected {
            let violation =
                found.iter().find(|v| place(&v.place) == (want.file.clone(), want.pointer.clone()));
            assert_stands(&root, &violation.unwrap().place, want, rule.id);
        }
    });
}

#[test]
fn stage_rules_wait_for_their_stage() {
    for rule in RULES.iter().filter(|r| r.stage.is_some()) {
        let root = fixtures().join(rule.id).join("fail");
        let other = if rule.stage == Some(Stage::Implement) { Stage::Complete } else { Stage::Implement };
        for release in rule.releases {
            for stage in [None, Some(other)] {
                let found = judge(&root, release, stage);
                assert!(found.iter().all(|v| v.rule != rule.id), "{}", rule.id);
            }
        }
    }
}

#[test]
fn the_schema_is_silent_where_a_rule_speaks_of_the_same_value() {
    let root = fixtures().join("plan-ready-status/fail");
    let found = judge(&root, "0.7.3", None);
    assert_eq!(found.iter().map(|v| v.rule).collect::<Vec<_>>(), ["plan-ready-status"]);
}

// Whole trees.

#[test]
fn the_default_release_is_the_newest_when_a_plan_or_a_context_is_of_it() {
    for (fixture, release) in [
        ("plan-lead/pass", "0.7.3"),
        ("serial-limit/pass", "2.0.6"),
        ("plan-older-body/pass", "2.0.6"),
        ("record-kinds/pass", "2.0.6"),
        ("section-once/fail", "2.0.6"),
        ("config-schema/pass", "0.7.3"),
    ] {
        assert_eq!(validate::default_release(&tree(&fixtures().join(fixture))).name, release, "{fixture}");
    }
}

#[test]
fn an_upgraded_tree_is_clean_for_its_release_but_for_what_older_templates_left() {
    let folder = tempfile::tempdir().unwrap();
    older_state(folder.path());
    for release in &migrations::RELEASES {
        let tree = tree(folder.path());
        let papers = Papers::read(&tree).unwrap();
        let options = Options { release, stage: None };
        let before = validate::validate(&tree, &papers, &options);
        assert!(before.iter().all(|v| v.rule == "version-behind"), "{}", shown(&before));
        let decisions = Decisions::default();
        let plan = plan(Request {
            tree: &tree,
            release,
            decisions: &decisions,
            partial: false,
            facts: None,
            account: false,
        })
        .unwrap();
        assert!(!plan.files.is_empty(), "{:#?}", plan.findings);
        let after = tree.with(plan.files.iter().map(|f| (f.path.as_str(), f.after.as_slice())));
        let found = validate::validate(&after, &papers, &options);
        assert_eq!(validate::counted(&found, false), 0, "{}: {}", release.name, shown(&found));
        let left: BTreeSet<_> = found.iter().map(|v| v.rule).collect();
        let mut expected = BTreeSet::from(["done-in-history", "done-older-evidence", "plan-replan"]);
        if !release.has_contexts() {
            expected.extend(["evidence-older-template", "ticket-older-template"]);
        }
        assert_eq!(left, expected, "{}", release.name);
        assert_eq!(validate::counted(&found, true), found.len());
    }
}

#[test]
fn a_folder_with_nothing_managed_in_it_is_clean() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "changes/2026-08-01-notes/notes.md", "# Notes\n");
    for release in ["0.7.3", "2.0.6"] {
        assert_eq!(judge(folder.path(), release, None), []);
    }
}

#[test]
fn a_value_of_a_wrong_type_is_a_violation_and_no_reason_to_stop() {
    let root = fixtures().join("integration-result/pass");
    let tree = tree(&root);
    let path = "changes/2026-08-01-login/.status.json";
    let value: Value = serde_json::from_slice(&tree.file(path).unwrap().bytes).unwrap();
    let mut pointers = Vec::new();
    walk(&value, String::new(), &mut pointers);
    assert!(pointers.len() > 100);
    for pointer in pointers {
        for wrong in [Value::from(0.5), serde_json::json!({}), serde_json::json!([[]])] {
            let mut broken = value.clone();
            *broken.pointer_mut(&pointer).unwrap() = wrong.clone();
            let bytes = broken.to_string().into_bytes();
            let tree = tree.with([(path, bytes.as_slice())]);
            for release in &migrations::RELEASES {
                let options = Options { release, stage: Some(Stage::Implement) };
                let found = validate::validate(&tree, &Papers::default(), &options);
                let is_seen = !found.is_empty() || !validate::unreadable(&tree).is_empty();
                assert!(is_seen, "{pointer}: {wrong}");
            }
        }
    }
}

// What cannot be read.

#[test]
fn unreadable_texts_and_versions_are_findings_with_exit_5_or_6_and_no_violations() {
    const NAME: &str = "changes/2026-08-01-login";
    let status = "{\"schema_version\": 5, \"artifact\": \"change-status\"}";
    let context = |json: &str| format!("# R\n\n## Execution Context\n\n```json\n{json}\n```\n");
    let record = |json: &str| format!("# E\n\n## Workspace Execution Record\n\n```json\n{json}\n```\n");
    let cases = [
        ("config.json", "{\"schema_version\": 4,}".to_string(), Code::InvalidJson, (1, 21)),
        ("config.json", "[]".into(), Code::InvalidJson, (1, 1)),
        ("config.json", "{\"schema_version\": \"4\"}".into(), Code::UnsupportedVersion, (1, 20)),
        ("status.json", "{\"schema_version\": 6}".into(), Code::NewerVersion, (1, 20)),
        (
            "status.json",
            "{\n \"schema_version\": 5,\n \"schema_version\": 5\n}".into(),
            Code::DuplicateKey,
            (3, 2),
        ),
        (".status.json", "{\"schema_version\": 2}".into(), Code::UnsupportedVersion, (1, 20)),
        (".status.json", "{\"schema_version\": 7}".into(), Code::NewerVersion, (1, 20)),
        ("goal-plan.md", "# no header\n".into(), Code::InvalidFrontmatter, (1, 1)),
        ("goal-plan.md", "---\nschema_version: 9\n---\n".into(), Code::NewerVersion, (2, 17)),
        ("goal-plan.md", "---\nschema_version: 018\n---\n".into(), Code::UnsupportedVersion, (2, 17)),
        ("README.md", context("{\"schema_version\": 2}"), Code::NewerVersion, (6, 20)),
        ("README.md", context("{\n  \"schema_version\": 1,\n}"), Code::InvalidJson, (7, 22)),
        ("evidence/T-01.md", record("[1]"), Code::InvalidJson, (6, 1)),
        ("evidence/T-01.md", record("{\"schema_version\": 0}"), Code::UnsupportedVersion, (6, 20)),
    ];
    for (file, text, code, at) in cases {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), &format!("{NAME}/.status.json"), status);
        let path = if file.ends_with("g.json") || file == "status.json" {
            file.into()
        } else {
            format!("{NAME}/{file}")
        };
        put(folder.path(), &path, &text);
        let found = validate::unreadable(&tree(folder.path()));
        let seen: Vec<_> = found.iter().map(|f| (f.code, f.place.clone().unwrap())).collect();
        assert_eq!(seen.len(), 1, "{text}: {found:#?}");
        assert_eq!(seen[0].0, code, "{text}");
        assert_eq!(seen[0].1.file, format!("specdev/{path}"), "{text}");
        assert_eq!((seen[0].1.line, seen[0].1.column), (Some(at.0), Some(at.1)), "{text}");
        assert!([5, 6].contains(&code.exit()));
        let place = format!("specdev/{path}");
        for release in ["0.7.3", "2.0.6"] {
            let violations = judge(folder.path(), release, None);
            assert!(violations.iter().all(|v| v.place.file != place), "{text}: {}", shown(&violations));
        }
    }
}

#[test]
fn a_link_in_the_place_of_a_file_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "changes/2026-08-01-login/.status.json", "{\"schema_version\": 5}");
    std::os::unix::fs::symlink("/dev/null", folder.path().join("specdev/config.json")).unwrap();
    let found = validate::unreadable(&tree(folder.path()));
    assert_eq!(found.iter().map(|f| f.code).collect::<Vec<_>>(), [Code::Symlink]);
}

// Rendering.

fn sample() -> Vec<Violation> {
    let violation = |rule, class, file: &str, at: Option<(usize, usize)>, pointer: Option<&str>| Violation {
        rule,
        class,
        place: Place {
            file: file.into(),
            line: at.map(|a| a.0),
            column: at.map(|a| a.1),
            pointer: pointer.map(str::to_string),
        },
        message: "`attempts` must be 100% right, not 0".into(),
        advice: "write how often it was tried".into(),
        source_line: at.map(|_| SourceLine { text: "\t\"作\": 0,".into(), before: 6, width: 1 }),
    };
    vec![
        violation("done-in-history", Class::Legacy, "a,b.md", None, None),
        violation(
            "integration-attempts",
            Class::Current,
            "d/.status.json",
            Some((12, 7)),
            Some("/worktrees/0"),
        ),
    ]
}

#[test]
fn human_text_counts_what_counts_and_shows_the_rest_last() {
    let text = validate::human(&sample(), Look::default());
    assert_eq!(
        text,
        "current[integration-attempts]: `attempts` must be 100% right, not 0\n  \
         --> d/.status.json:12:7 (/worktrees/0)\n  \
         = write how often it was tried\n\n\
         legacy[done-in-history]: `attempts` must be 100% right, not 0\n  \
         --> a,b.md\n  \
         = write how often it was tried\n\n\
         1 violation; 1 more left by older templates (counted with --strict)\n"
    );
}

#[test]
fn human_text_with_carets_below_the_value_whatever_stands_before_it() {
    let text = validate::human(&sample()[1..], Look { carets: true, ..Look::default() });
    assert_eq!(
        text,
        "current[integration-attempts]: `attempts` must be 100% right, not 0\n  \
         --> d/.status.json:12:7 (/worktrees/0)\n\
         12 | \t\"作\": 0,\n   \
         | \t      ^\n  \
         = write how often it was tried\n\n\
         1 violation\n"
    );
}

#[test]
fn human_text_that_is_strict_counts_all_in_their_order() {
    let text = validate::human(&sample(), Look { strict: true, ..Look::default() });
    assert!(text.starts_with("legacy[done-in-history]"), "{text}");
    assert!(text.ends_with("\n\n2 violations\n"), "{text}");
}

#[test]
fn human_text_of_legacy_alone_says_that_nothing_is_violated() {
    let text = validate::human(&sample()[..1], Look::default());
    assert!(
        text.ends_with("\n\nno violation; 1 left by older templates (counted with --strict)\n"),
        "{text}"
    );
}

#[test]
fn human_text_has_escape_codes_only_when_asked() {
    assert!(!validate::human(&sample(), Look { carets: true, ..Look::default() }).contains('\u{1b}'));
    let text = validate::human(&sample()[1..], Look { color: true, ..Look::default() });
    assert!(
        text.starts_with("\u{1b}[1m\u{1b}[31mcurrent[integration-attempts]\u{1b}[0m\u{1b}[1m: "),
        "{text:?}"
    );
}

#[test]
fn human_text_does_not_pass_on_control_characters_of_files() {
    let mut violations = sample();
    violations[1].message = "T-\u{1b}[31m".into();
    violations[1].place.file = "a\nb\u{9b}".into();
    let text = validate::human(&violations[1..], Look::default());
    assert!(
        text.starts_with("current[integration-attempts]: T-\u{fffd}[31m\n  --> a\u{fffd}b\u{fffd}:12:7"),
        "{text:?}"
    );
}

#[test]
fn human_text_and_annotations_of_nothing_are_empty() {
    assert_eq!(validate::human(&[], Look::default()), "");
    assert_eq!(validate::github(&[], true), "");
}

#[test]
fn annotations_are_escaped_and_warn_about_what_does_not_count() {
    assert_eq!(
        validate::github(&sample(), false),
        "::warning file=a%2Cb.md,title=done-in-history::`attempts` must be 100%25 right, not 0; write how often it was tried\n\
         ::error file=d/.status.json,line=12,col=7,title=integration-attempts::`attempts` must be 100%25 right, not 0; write how often it was tried\n"
    );
    assert!(validate::github(&sample(), true).starts_with("::error file=a%2Cb.md,"));
}

#[test]
fn a_violation_reads_as_a_whole() {
    let found = judge(&fixtures().join("worktree-locator/fail"), "0.7.3", None);
    let text = validate::human(&found[..1], Look { carets: true, ..Look::default() });
    assert_eq!(
        text,
        "current[worktree-locator]: T-01: `workspace_ref` must be \"specdev-worktree/2026-08-01-login/T-01\", not \"specdev-worktree/T-01\"\n  \
         --> specdev/changes/2026-08-01-login/.status.json:52:24 (/worktrees/0/workspace_ref)\n\
         52 |       \"workspace_ref\": \"specdev-worktree/T-01\",\n   \
         |                        ^^^^^^^^^^^^^^^^^^^^^^^\n  \
         = write the locator; move the worktree with `git worktree move` if it lies elsewhere\n\n\
         1 violation\n"
    );
}

// Trees made elsewhere.

/// Reads `VALIDATE_TREE` and judges it by `VALIDATE_RELEASE`, as it is or upgraded to it in memory.
#[test]
#[ignore = "for trees made elsewhere: VALIDATE_TREE=DIR [VALIDATE_RELEASE=0.7.3] [VALIDATE_UPGRADED=1]"]
#[expect(clippy::disallowed_methods, reason = "the tree to look at is named from outside")]
fn tree_named_by_the_environment() {
    let var = |name: &str| std::env::var(name).ok();
    let Some(root) = var("VALIDATE_TREE") else { return };
    let Discovery::Found(layout) = Layout::discover(Path::new(&root), None).unwrap() else {
        panic!("refused")
    };
    let mut tree = Tree::read(&layout).unwrap();
    let papers = Papers::read(&tree).unwrap();
    let release = var("VALIDATE_RELEASE").and_then(|r| migrations::release(&r));
    let release = release.unwrap_or_else(|| validate::default_release(&tree));
    if var("VALIDATE_UPGRADED").is_some() {
        let decisions = Decisions::default();
        let git = Git::open(&layout.project_root, &Program::default()).unwrap();
        let records = records(&tree);
        let facts =
            git.map(|git| Facts::collect(&git, &layout.project_root, &records, Some("main"), &decisions));
        let facts = facts.transpose().unwrap();
        let request = Request {
            tree: &tree,
            release,
            decisions: &decisions,
            partial: false,
            facts: facts.as_ref(),
            account: true,
        };
        let plan = plan(request).unwrap();
        assert!(!plan.is_stopped(), "{:#?}", plan.findings);
        tree = tree.with(plan.files.iter().map(|f| (f.path.as_str(), f.after.as_slice())));
    }
    assert_eq!(validate::unreadable(&tree), []);
    let found = validate::validate(&tree, &papers, &Options { release, stage: None });
    let look = Look { carets: true, ..Look::default() };
    let counted = validate::counted(&found, false);
    assert!(counted == 0, "{}", validate::human(&found, look));
    let legacy: BTreeSet<_> = found.iter().map(|v| v.rule).collect();
    panic!("clean; {} legacy: {legacy:?}", found.len());
}

// Helpers.

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/validate")
}

fn names(folder: &Path) -> BTreeSet<String> {
    read_dir(folder)
        .into_iter()
        .map(|p| p.file_name().expect("a name").to_string_lossy().into_owned())
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "fixtures are listed here")]
fn read_dir(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect()
}

#[expect(clippy::disallowed_methods, reason = "fixtures are read here")]
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[expect(clippy::disallowed_methods, reason = "trees are made here")]
fn put(root: &Path, path: &str, text: &str) {
    let full = root.join("specdev").join(path);
    fs::create_dir_all(full.parent().expect("a folder")).expect("a new folder");
    fs::write(full, text).expect("a new file");
}

fn for_every_rule_and_release(check: impl Fn(&'static Rule, &'static str)) {
    for rule in RULES {
        rule.releases.iter().for_each(|release| check(rule, release));
    }
}

/// A state root without a project around it, so that places are the same everywhere.
fn tree(state_root: &Path) -> Tree {
    let (project_root, state_root) = (state_root.to_path_buf(), state_root.to_path_buf());
    Tree::read(&Layout { project_root, state_root, git_top: None }).expect("a readable tree")
}

fn judge(state_root: &Path, release: &str, stage: Option<Stage>) -> Vec<Violation> {
    let tree = tree(state_root);
    let papers = Papers::read(&tree).expect("readable tickets");
    let release = migrations::release(release).expect("a known release");
    validate::validate(&tree, &papers, &Options { release, stage })
}

fn shown(found: &[Violation]) -> String {
    validate::human(found, Look { carets: true, ..Look::default() })
}

/// A line of `expected.txt`: file, pointer, and the text that stands at the place, as JSON.
struct Expected {
    file: String,
    pointer: Option<String>,
    text: Option<String>,
}

fn expected(rule: &Rule) -> Vec<Expected> {
    let text = read(&fixtures().join(rule.id).join("expected.txt"));
    let mut lines: Vec<Expected> = text
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), 3, "{}: {line}", rule.id);
            let pointer = Some(cells[1]).filter(|p| *p != "-").map(|p| if p == "/" { "" } else { p });
            let text =
                Some(cells[2]).filter(|t| *t != "-").map(|t| serde_json::from_str(t).expect("a JSON string"));
            Expected { file: cells[0].into(), pointer: pointer.map(String::from), text }
        })
        .collect();
    lines.sort_by(|a, b| (&a.file, &a.pointer).cmp(&(&b.file, &b.pointer)));
    lines
}

fn place(place: &Place) -> (String, Option<String>) {
    (place.file.clone(), place.pointer.clone())
}

/// The expected text begins at the line and column of the place.
fn assert_stands(root: &Path, place: &Place, expected: &Expected, rule: &str) {
    let Some(wanted) = &expected.text else {
        assert_eq!((place.line, place.column), (None, None), "{rule}");
        return;
    };
    let text = read(&root.join(&place.file));
    let lines: Vec<&str> = text.split_inclusive('\n').skip(place.line.expect("a line") - 1).collect();
    let rest: String = lines.concat().chars().skip(place.column.expect("a column") - 1).collect();
    assert!(
        rest.starts_with(wanted.as_str()),
        "{rule}: {wanted:?} expected at {place}, found {:?}",
        rest.lines().next()
    );
}

/// The pointers of all values of an object or array that are not its whole.
fn walk(value: &Value, at: String, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    for (token, child) in children {
        let at = format!("{at}/{token}");
        walk(child, at.clone(), pointers);
        pointers.push(at);
    }
}

/// A state of version 3 that has been worked on, and lacks what newer templates ask for.
fn older_state(root: &Path) {
    let name = "2026-08-01-login";
    let home = |file: &str| format!("changes/{name}/{file}");
    let record = |ticket: &str, status: &str| -> Value {
        serde_json::json!({
            "ticket_id": ticket, "owner": "Worker", "provider": "git", "base_sha": "b29c9ff3",
            "branch": format!("speculo/{name}/{ticket}"), "workspace_ref": format!("specdev-worktree/{ticket}"),
            "status": status, "updated_at": "2026-08-02T00:00:00Z",
        })
    };
    let status = serde_json::json!({
        "schema_version": 3, "artifact": "change-status", "change": name, "change_status": "active",
        "current_work": null, "created_at": "t", "updated_at": "t", "completed_at": null, "archived": false,
        "archive_path": null, "blockers": [], "deviations": [],
        "worktrees": [record("T-01", "integrated"), record("T-02", "removed")],
    });
    put(root, &home(".status.json"), &format!("{status:#}\n"));
    let plan = format!(
        "---\nschema_version: 3\nartifact: goal-plan\nchange: {name}\nstatus: in_progress\n\
         modes: [coordination, migration]\nready_for_execution: true\n---\n\n# Goal Plan\n"
    );
    put(root, &home("goal-plan.md"), &plan);
    for (file, id) in [("01-a", "T-01"), ("02-b", "T-02"), ("03-c", "T-03")] {
        let ticket =
            format!("---\nid: {id}\nstatus: done\nready: true\nwritable_paths: []\n---\n\n# Ticket\n");
        put(root, &home(&format!("ticket/{file}.md")), &ticket);
    }
    put(root, &home("evidence/T-01.md"), "# Evidence\n\n## 2. 修改范围\n");
    put(
        root,
        "status.json",
        &format!(
            "{:#}\n",
            serde_json::json!({
                "schema_version": 4, "workflow": "specdev", "active": [{"change": name, "current_work": null, "works_run": []}], "archived": [],
            })
        ),
    );
}
