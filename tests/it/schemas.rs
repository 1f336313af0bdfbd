//! The schema files as schemas, and what the check says about good and bad documents of each version.

use serde_json::{Value, json};
use specdev_migrate::schema::{self, Violation};
use specdev_migrate::state::artifact::Artifact;

use Artifact::{ChangeStatus, Config, ExecutionContext, ExecutionRecord, GoalPlan, Status};

const ARTIFACTS: [Artifact; 6] = [Config, Status, ChangeStatus, GoalPlan, ExecutionContext, ExecutionRecord];

// The files.

#[test]
fn every_schema_on_disk_is_listed_and_every_listed_one_is_on_disk() {
    let mut listed: Vec<String> = ARTIFACTS
        .iter()
        .flat_map(|&a| schema::versions(a).iter().map(move |v| format!("{a}.v{v}.json")))
        .collect();
    listed.sort();
    let on_disk: Vec<String> = files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(listed, on_disk);
    assert_eq!(listed.len(), 18);
}

#[test]
fn every_schema_is_valid_2020_12_and_says_which_it_is() {
    for (name, schema) in files() {
        if let Err(error) = jsonschema::meta::validate(&schema) {
            panic!("{name}: {error}");
        }
        let stem = name.trim_end_matches(".json").replace(".v", ":v");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert_eq!(schema["$id"], format!("urn:specdev-migrate:{stem}"), "{name}");
        assert!(schema["title"].is_string(), "{name}");
        let version: u64 = stem.rsplit(":v").next().unwrap().parse().unwrap();
        assert_eq!(schema["properties"]["schema_version"], json!({ "const": version }), "{name}");
    }
}

#[test]
fn every_reference_stays_in_its_file_and_every_definition_is_used() {
    for (name, schema) in files() {
        let text = schema.to_string();
        for definition in schema["$defs"].as_object().unwrap().keys() {
            let reference = format!("\"$ref\":\"#/$defs/{definition}\"");
            assert!(text.contains(&reference), "{name}: {definition} is unused");
        }
        walk(&schema, &mut |node| {
            if let Some(target) = node.get("$ref").and_then(Value::as_str) {
                let pointer = target.strip_prefix('#').unwrap();
                assert!(schema.pointer(pointer).is_some(), "{name}: {target} leads nowhere");
            }
        });
    }
}

#[test]
fn every_pattern_and_every_exclusion_is_described_for_the_message() {
    for (name, schema) in files() {
        walk(&schema, &mut |node| {
            let described = node.get("pattern").is_none_or(|_| node.get("description").is_some());
            let excluded = node.get("not").is_none_or(|not| not.get("description").is_some());
            assert!(described && excluded, "{name}: {node}");
        });
    }
}

#[test]
fn every_name_in_required_is_described() {
    for artifact in ARTIFACTS {
        for &version in schema::versions(artifact) {
            let properties = schema::properties(artifact, version);
            let order = schema::order(artifact, version);
            assert!(!order.is_empty());
            assert!(order.iter().all(|name| properties.contains(name)), "{artifact} {version}");
        }
    }
}

// Names and order.

#[test]
fn only_listed_versions_are_known() {
    assert!(schema::known(Config, 5) && schema::known(GoalPlan, 8) && schema::known(ExecutionRecord, 1));
    assert!(!schema::known(Config, 2) && !schema::known(Config, 6) && !schema::known(Status, 6));
    assert_eq!(schema::versions(ChangeStatus), [3, 4, 5, 6]);
    assert_eq!(schema::versions(GoalPlan), [3, 4, 5, 6, 7, 8]);
    assert_eq!(schema::versions(ExecutionContext), [1]);
}

#[test]
fn an_unknown_version_is_a_violation_and_not_a_pass() {
    let said = says(Status, 6, &json!({ "schema_version": 6 }));
    assert_eq!(said, [" has version 6, for which there is no status schema"]);
    assert!(schema::order(Status, 6).is_empty() && schema::properties(Status, 6).is_empty());
}

#[test]
fn order_of_change_status_5() {
    let expected = "schema_version artifact change change_status current_work works_run \
                    claimed_investigations execution_authorization leadership created_at updated_at \
                    completed_at archived archive_path blockers deviations worktrees";
    assert_eq!(schema::order(ChangeStatus, 5), words(expected));
    assert_eq!(schema::properties(ChangeStatus, 5), words(expected));
}

#[test]
fn order_of_goal_plan_8() {
    let expected = "schema_version artifact change status modes orchestration lead \
                    integration_attempt_limit ready_for_execution ticket_execution";
    assert_eq!(schema::order(GoalPlan, 8), words(expected));
    let optional = ["concurrent_implementation_limit", "max_parallel_tickets"];
    let properties = schema::properties(GoalPlan, 8);
    assert!(optional.iter().all(|name| properties.contains(&(*name).to_owned())));
    assert_eq!(properties.len(), 12);
}

#[test]
fn order_of_goal_plan_5_6_and_7_differs_in_the_limits() {
    let head = "schema_version artifact change status modes orchestration lead";
    let tail = "ticket_workspace_policy integration_gate ready_for_execution";
    let five = format!("{head} implementation_agent_limit {tail}");
    let six = format!("{head} implementation_agent_limit integration_attempt_limit {tail}");
    let seven = format!("{head} concurrent_implementation_limit integration_attempt_limit {tail}");
    assert_eq!(schema::order(GoalPlan, 5), words(&five));
    assert_eq!(schema::order(GoalPlan, 6), words(&six));
    assert_eq!(schema::order(GoalPlan, 7), words(&seven));
}

#[test]
fn order_below_the_root_follows_members_items_and_references() {
    assert_eq!(
        schema::order_at(Config, 3, &["git"]),
        words("auto_commit default_branch worktree_for_parallel")
    );
    let execution = "max_implementation_agents deep_ticket_human_approval shared_path_owner";
    assert_eq!(schema::order_at(Config, 4, &["execution"]), words(execution));
    let leadership = "current epoch assigned_at history";
    assert_eq!(schema::order_at(ChangeStatus, 5, &["leadership"]), words(leadership));
    let claim = "id owner session claimed_at";
    assert_eq!(schema::order_at(ChangeStatus, 5, &["claimed_investigations", "7"]), words(claim));
    let suite = "required status reason evidence";
    assert_eq!(schema::order_at(ChangeStatus, 6, &["worktrees", "0", "integration", "e2e"]), words(suite));
    assert!(schema::order_at(Config, 4, &["verification"]).is_empty());
    assert!(schema::order_at(Config, 4, &["nowhere", "at", "all"]).is_empty());
    assert!(schema::order_at(ChangeStatus, 5, &["worktrees", "first"]).is_empty());
}

// Good documents, and what is wrong with changed ones.

#[test]
fn one_good_document_per_version_passes() {
    for artifact in ARTIFACTS {
        for &version in schema::versions(artifact) {
            assert_eq!(says(artifact, version, &good(artifact, version)), [""; 0], "{artifact} {version}");
        }
    }
}

#[test]
fn a_document_of_one_version_is_not_of_its_neighbour() {
    for artifact in ARTIFACTS {
        for pair in schema::versions(artifact).windows(2) {
            assert!(!says(artifact, pair[1], &good(artifact, pair[0])).is_empty(), "{artifact} {pair:?}");
            assert!(!says(artifact, pair[0], &good(artifact, pair[1])).is_empty(), "{artifact} {pair:?}");
        }
    }
}

#[test]
fn config() {
    cases(Config);
}

#[test]
fn status() {
    cases(Status);
}

#[test]
fn change_status() {
    cases(ChangeStatus);
}

#[test]
fn goal_plan() {
    cases(GoalPlan);
}

#[test]
fn execution_context() {
    cases(ExecutionContext);
}

#[test]
fn execution_record() {
    cases(ExecutionRecord);
}

#[test]
fn readiness_agrees_with_the_status_from_version_5_on() {
    let table =
        [("draft", false), ("ready", true), ("in_progress", true), ("completed", false), ("blocked", false)];
    for version in 3..=8 {
        for (status, ready) in table {
            let plan = set(&good(GoalPlan, version), "/status", json!(status));
            accepts(GoalPlan, version, status, &set(&plan, "/ready_for_execution", json!(ready)));
            let disagreeing = set(&plan, "/ready_for_execution", json!(!ready));
            if version < 5 {
                accepts(GoalPlan, version, status, &disagreeing);
                continue;
            }
            let group = if ready {
                "\"ready\" or \"in_progress\""
            } else {
                "\"draft\", \"blocked\" or \"completed\""
            };
            let expected =
                format!("/ready_for_execution must be {ready}, not {}, where `status` is {group}", !ready);
            refuses(GoalPlan, version, status, &disagreeing, &[&expected]);
        }
    }
}

// Spelling of integers.

#[test]
fn an_integer_is_spelled_as_one() {
    let limit = "/integration_attempt_limit";
    let plan = good(GoalPlan, 8);
    for (spelling, expected) in [
        ("2.0", "must be spelled as an integer"),
        ("1e0", "must be spelled as an integer"),
        ("0.0", "must be spelled as an integer"),
        ("-0.0", "must be spelled as an integer"),
        ("2.5", "must be an integer, not 2.5"),
        ("true", "must be an integer, not true"),
        ("\"4\"", "must be an integer, not \"4\""),
        ("null", "must be an integer, not null"),
        ("100000000000000000000", "must be an integer of at most 64 bits"),
    ] {
        let value: Value = serde_json::from_str(spelling).unwrap();
        refuses(GoalPlan, 8, spelling, &set(&plan, limit, value), &[&format!("{limit} {expected}")]);
    }
    accepts(GoalPlan, 8, "the largest", &set(&plan, limit, json!(u64::MAX)));
}

#[test]
fn a_version_is_spelled_as_an_integer() {
    for (spelling, expected) in [
        ("5.0", "must be spelled as an integer"),
        ("5e0", "must be spelled as an integer"),
        ("4.0", "must be 5, not 4.0"),
        ("\"5\"", "must be 5, not \"5\""),
        ("true", "must be 5, not true"),
        ("6", "must be 5, not 6"),
        ("[5]", "must be 5, not an array"),
    ] {
        let value: Value = serde_json::from_str(spelling).unwrap();
        let status = set(&good(Status, 5), "/schema_version", value);
        refuses(Status, 5, spelling, &status, &[&format!("/schema_version {expected}")]);
    }
}

#[test]
fn other_fields_say_the_same_about_a_whole_float_as_about_any_number() {
    let v4 = good(Config, 4);
    accepts(Config, 4, "where anything goes", &set(&v4, "/planning/weight", json!(2.0)));
    refuses(
        Config,
        4,
        "text",
        &set(&v4, "/artifact_language", json!(2.0)),
        &["/artifact_language must be a string, not 2.0"],
    );
    refuses(
        Config,
        4,
        "one of two",
        &set(&v4, "/execution/max_implementation_agents", json!(9.0)),
        &["/execution/max_implementation_agents must be spelled as an integer"],
    );
    let epoch = set(&good(ChangeStatus, 5), "/leadership/epoch", json!(1.0));
    refuses(ChangeStatus, 5, "nested", &epoch, &["/leadership/epoch must be spelled as an integer"]);
    let status = set(&good(GoalPlan, 8), "/status", json!(1.0));
    refuses(
        GoalPlan,
        8,
        "an enumeration",
        &status,
        &[
            "/status must be one of \"draft\", \"ready\", \"in_progress\", \"completed\", \"blocked\", not 1.0",
        ],
    );
}

// The violations themselves.

#[test]
fn violations_are_sorted_and_carry_the_member() {
    let bad = json!({ "schema_version": 5, "workflow": "specdev", "zeta": 1, "alpha": 2, "archived": [] });
    let member = |pointer: &str, message: &str, member: &str| Violation {
        pointer: pointer.into(),
        message: message.into(),
        member: Some(member.into()),
    };
    let expected = [
        member("", "missing member `active`", "active"),
        member("/alpha", "unexpected member `alpha`", "alpha"),
        member("/zeta", "unexpected member `zeta`", "zeta"),
    ];
    assert_eq!(schema::check(Status, 5, &bad), expected);
}

#[test]
fn long_text_is_cut_in_the_message() {
    let bad = set(&good(Status, 5), "/archived/0", json!("é".repeat(61)));
    let expected = format!(
        "/archived/0 must be a change name such as \"2026-08-01-login\", not \"{}…\"",
        "é".repeat(60)
    );
    refuses(Status, 5, "long", &bad, &[&expected]);
}

// Helpers.

/// `(file name, schema)`, by name.
fn files() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/schemas");
    let entries = walkdir::WalkDir::new(folder).min_depth(1).sort_by_file_name();
    let read = |entry: walkdir::DirEntry| {
        #[expect(clippy::disallowed_methods, reason = "the test compares the list with the disk")]
        let text = std::fs::read(entry.path()).expect("a readable schema");
        let schema = serde_json::from_slice(&text).expect("a schema is JSON");
        (entry.file_name().to_string_lossy().into_owned(), schema)
    };
    entries.into_iter().map(|entry| read(entry.expect("a readable folder"))).collect()
}

fn walk(node: &Value, visit: &mut impl FnMut(&Value)) {
    visit(node);
    match node {
        Value::Array(items) => items.iter().for_each(|n| walk(n, visit)),
        Value::Object(members) => members.values().for_each(|n| walk(n, visit)),
        _ => {}
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The violations as `pointer message`.
fn says(artifact: Artifact, version: u64, value: &Value) -> Vec<String> {
    let found = schema::check(artifact, version, value);
    found.into_iter().map(|v| format!("{} {}", v.pointer, v.message)).collect()
}

/// Run every case of the artifact; a version that none of them refuses is a fault, too.
#[track_caller]
fn cases(artifact: Artifact) {
    let mut outcomes = Vec::new();
    for block in CASES.trim().split("\n\n") {
        let (heading, lines) = block.split_once('\n').expect("a case has a heading");
        let (name, case) = heading.split_once(": ").expect("a heading has a name");
        let (name, versions) = name.split_once(' ').expect("a heading has versions");
        if name != artifact.as_str() {
            continue;
        }
        for version in versions.split(' ').map(|v| v.parse().expect("a version is a number")) {
            let mut document = good(artifact, version);
            let mut expected = Vec::new();
            for line in lines.lines() {
                let (what, rest) = line.trim_start().split_at(2);
                match what {
                    "= " => {
                        let (pointer, value) = rest.split_once(' ').expect("a pointer and a value");
                        document = set(&document, pointer, serde_json::from_str(value).expect(line));
                    }
                    "- " => document = drop(&document, rest),
                    "! " if rest.starts_with('/') => expected.push(rest.to_owned()),
                    "! " => expected.push(format!(" {rest}")),
                    _ => panic!("{heading}: {line}"),
                }
            }
            outcomes.push((version, expected.is_empty()));
            assert_eq!(says(artifact, version, &document), expected, "{artifact} {version}: {case}");
        }
    }
    for &version in schema::versions(artifact) {
        assert!(outcomes.contains(&(version, false)), "no case that {artifact} {version} refuses");
    }
}

#[track_caller]
fn accepts(artifact: Artifact, version: u64, case: &str, value: &Value) {
    assert_eq!(says(artifact, version, value), [""; 0], "{artifact} {version}: {case}");
}

#[track_caller]
fn refuses(artifact: Artifact, version: u64, case: &str, value: &Value, expected: &[&str]) {
    assert_eq!(says(artifact, version, value), expected, "{artifact} {version}: {case}");
}

/// The document with one value replaced or added; in an array the items behind it go.
fn set(document: &Value, pointer: &str, value: Value) -> Value {
    let mut document = document.clone();
    let Some((parent, last)) = pointer.rsplit_once('/') else { return value };
    match document.pointer_mut(parent).expect(pointer) {
        Value::Array(items) => {
            let index: usize = last.parse().expect("an index");
            items.truncate(index);
            items.push(value);
        }
        object => object[last.replace("~1", "/")] = value,
    }
    document
}

/// The document without one member, which must be there.
fn drop(document: &Value, pointer: &str) -> Value {
    let mut document = document.clone();
    let (parent, last) = pointer.rsplit_once('/').expect("a member");
    let object = document.pointer_mut(parent).and_then(Value::as_object_mut).expect(pointer);
    object.shift_remove(last).expect(pointer);
    document
}

/// A valid document with every member its version knows.
fn good(artifact: Artifact, version: u64) -> Value {
    match artifact {
        Config => good_config(version),
        Status => good_status(version),
        ChangeStatus => good_change_status(version),
        GoalPlan => good_goal_plan(version),
        ExecutionContext => json!({
            "schema_version": 1, "change": "2026-08-01-login", "workspace_policy": "current",
            "workspace_ref": "current", "branch": "main",
            "base_sha": "0123456789abcdef0123456789abcdef01234567", "owner": "codex:/root",
            "ticket_execution": "auto"
        }),
        ExecutionRecord => json!({
            "schema_version": 1, "ticket_id": "T-01", "workspace_context": "README.md#execution-context",
            "implementation_owners": ["codex:/root"], "status": "review", "checkpoint": null,
            "verification": {
                "status": "pending", "evidence": null,
                "e2e": { "required": false, "status": "not-required", "reason": "no surface", "evidence": null }
            },
            "attempts": 0
        }),
    }
}

fn good_config(version: u64) -> Value {
    let mut config = json!({
        "schema_version": version, "interaction_language": "en", "artifact_language": "zh-CN",
        "git": { "default_branch": null },
        "execution": { "deep_ticket_human_approval": true, "shared_path_owner": "explicit" },
        "verification": { "test": "make test", "typecheck": null, "lint": null, "build": null, "smoke": null },
        "planning": { "default_depth": "standard", "require_ready_gate": true, "require_evidence": true }
    });
    if version == 3 {
        config["git"] =
            json!({ "auto_commit": false, "default_branch": "main", "worktree_for_parallel": true });
        config["execution"]["max_parallel"] = json!(6);
    } else {
        config["execution"]["max_implementation_agents"] = json!(3);
    }
    if version == 5 {
        config["execution"]["max_integration_attempts"] = json!(3);
        config["planning"]["ui_prototype_default_variants"] = json!(3);
        config["planning"]["ui_prototype_max_variants"] = json!(4);
    }
    config
}

fn good_status(version: u64) -> Value {
    let mut status = json!({
        "schema_version": version, "workflow": "specdev",
        "active": [{ "change": "2026-08-01-login" }]
    });
    if version < 5 {
        status["active"][0] = json!({
            "change": "2026-08-01-login", "current_work": "specdev/I-implement", "works_run": ["specdev/S-spec"],
            "claimed_investigations": [{ "id": "INV-01", "owner": "a", "claimed_at": "2026-08-01T00:00:00Z" }]
        });
    }
    if version == 3 {
        status["active"][0]["result"] = json!(null);
        status["work_history"] = json!([{
            "change": "2026-08-01-login", "work_id": "specdev/S-spec", "started_at": "2026-08-01T00:00:00Z",
            "completed_at": null, "result": null
        }]);
        status["completed"] = json!([{
            "change": "2026-06-01-old", "archived_at": "2026-06-02T00:00:00Z",
            "archive_path": "<Path>{roots.state}/specdev/archive/2026-06/2026-06-01-old</Path>"
        }]);
    } else {
        status["archived"] = json!(["2026-06-01-old"]);
    }
    status
}

fn good_change_status(version: u64) -> Value {
    let mut status = json!({
        "schema_version": version, "artifact": "change-status", "change": "2026-08-01-login",
        "change_status": "active", "current_work": null, "created_at": "2026-08-01T00:00:00Z",
        "updated_at": "2026-08-01T00:00:00+08:00", "completed_at": null, "archived": false,
        "archive_path": null, "blockers": ["waiting"], "deviations": [], "worktrees": [record(version)]
    });
    if version > 4 {
        let no = |scope: &str| json!({ "status": "not-authorized", "source": null, "granted_at": null, "scope": scope });
        status["works_run"] = json!(["specdev/S-spec", "specdev/T-tickets"]);
        status["claimed_investigations"] =
            json!([{ "id": "INV-01", "owner": "a", "session": null, "claimed_at": "2026-08-01T00:00:00Z" }]);
        status["execution_authorization"] = json!({
            "implementation_commit": no("commits"), "local_candidate_integration": no("integration"),
            "source_cleanup": no("cleanup")
        });
        status["leadership"] = json!({ "current": "unassigned", "epoch": 1, "assigned_at": "2026-08-01T00:00:00Z", "history": [] });
    }
    status
}

fn record(version: u64) -> Value {
    if version == 3 {
        return json!({
            "ticket_id": "T-01", "owner": "Worker-T-01 / Lead", "provider": "git", "base_sha": "b29c9ff3",
            "branch": "speculo/2026-08-01-login/T-01", "workspace_ref": "specdev-worktree/T-01",
            "status": "removed", "updated_at": "2026-08-01T09:15:00Z"
        });
    }
    let mut record = json!({
        "ticket_id": "T-01", "owner": "lead-7", "implementation_owner": "lead-7", "integration_owner": "lead-7",
        "provider": "git", "base_sha": "b29c9ff3", "parent_branch": "main",
        "branch": "speculo/2026-08-01-login/T-01", "workspace_ref": "specdev-worktree/2026-08-01-login/T-01",
        "source_checkpoint": "1a",
        "integration": {
            "status": "passed", "parent_ref": "refs/heads/main", "parent_before_sha": "b29c9ff3", "source_sha": "1a",
            "candidate_sha": "1a", "candidate_tree_sha": "2b",
            "candidate_branch": "speculo/integration/2026-08-01-login/T-01",
            "candidate_workspace_ref": "specdev-worktree/.integration/2026-08-01-login/T-01", "result_sha": "1a",
            "method": "fast-forward", "conflict_paths": [], "verification": "passed",
            "full_suite": { "required": true, "status": "passed", "reason": null, "evidence": "make test" },
            "e2e": { "required": false, "status": "not-required", "reason": "no surface", "evidence": null },
            "evidence": "<Path>{roots.state}/specdev/changes/2026-08-01-login/evidence/T-01.md</Path>",
            "attempts": 1, "promotion_status": "applied"
        },
        "status": "integrated", "updated_at": "2026-08-01T09:15:00Z"
    });
    if version == 4 {
        for member in ["parent_ref", "candidate_tree_sha", "full_suite", "promotion_status", "e2e/reason"] {
            record = drop(&record, &format!("/integration/{member}"));
        }
    }
    record
}

fn good_goal_plan(version: u64) -> Value {
    let mut plan = json!({
        "schema_version": version, "artifact": "goal-plan", "change": "2026-08-01-login", "status": "ready",
        "modes": ["migration", "high-assurance"], "ready_for_execution": true
    });
    if version == 3 {
        plan["modes"] = json!(["coordination", "migration"]);
        return plan;
    }
    plan["orchestration"] = json!("lead-directed");
    plan["lead"] = json!("codex:/root");
    if version < 8 {
        let limit =
            if version == 7 { "concurrent_implementation_limit" } else { "implementation_agent_limit" };
        plan[limit] = json!(3);
        plan["ticket_workspace_policy"] = json!("required");
        plan["integration_gate"] = json!("candidate-merge");
    } else {
        plan["ticket_execution"] = json!("auto");
    }
    if version > 5 {
        plan["integration_attempt_limit"] = json!(3);
    }
    plan
}

/// `artifact versions: what it is`, then `=` values set, `-` members dropped in the good document, and `!`
/// the violations; none: it is accepted.
const CASES: &str = r##"
config 3: without a branch
  - /git/default_branch
  ! /git missing member `default_branch`

config 3: no agents at all
  = /execution/max_parallel 0
  ! /execution/max_parallel must be at least 1, not 0

config 3: flag as text
  = /git/auto_commit "no"
  ! /git/auto_commit must be true or false, not "no"

config 3: empty language
  = /artifact_language ""
  ! /artifact_language must not be empty

config 3: a list
  =  []
  ! must be an object, not an array

config 3: keys of its own everywhere
  = /github {}
  = /git/sign true

config 3: empty verification and planning
  = /verification {}
  = /planning {}

config 4: four agents
  = /execution/max_implementation_agents 4
  ! /execution/max_implementation_agents must be at most 3, not 4

config 4: a retired key
  = /git/auto_commit false
  ! /git/auto_commit unexpected member `auto_commit`

config 4: a key of its own
  = /a~1b 1
  ! /a~1b unexpected member `a/b`

config 4: a command as a list
  = /verification/test ["make"]
  ! /verification/test must be a string or null, not an array

config 4: more planning and verification
  = /planning/ui 3
  = /verification/e2e {}

config 5: more than three agents
  = /execution/max_implementation_agents 7

config 5: no limit of attempts
  - /execution/max_integration_attempts

config 5: without variants
  - /planning/ui_prototype_max_variants
  ! /planning missing member `ui_prototype_max_variants`

config 5: no attempts
  = /execution/max_integration_attempts 0
  ! /execution/max_integration_attempts must be at least 1, not 0

status 3: entry without result
  - /active/0/result
  ! /active/0 missing member `result`

status 3: history outside the workflow
  = /work_history/0/work_id "ops/x"
  ! /work_history/0/work_id must be a work id such as "specdev/I-implement", not "ops/x"

status 3: claim without owner
  - /active/0/claimed_investigations/0/owner
  ! /active/0/claimed_investigations/0 missing member `owner`

status 3: an older archive path
  = /completed/0/archive_path "specdev/archive/2026-06/2026-06-01-old/"

status 3: keys of its own
  = /active/0/mood "good"

status 4: no change name
  = /archived/0 "old"
  ! /archived/0 must be a change name such as "2026-08-01-login", not "old"

status 4: a work run twice
  = /active/0/works_run ["specdev/a", "specdev/b", "specdev/a"]
  ! /active/0/works_run must not repeat an item: items 0 and 2 are equal

status 4: a result
  = /active/0/result null
  ! /active/0/result unexpected member `result`

status 4: another workflow
  = /workflow "ops"
  ! /workflow must be "specdev", not "ops"

status 4: an emptied entry
  = /active/0 { "change": "2026-08-01-login", "current_work": null, "works_run": [] }

status 5: a value of a change
  = /active/0/current_work null
  ! /active/0/current_work unexpected member `current_work`

status 5: one change twice
  = /active [{ "change": "2026-08-01-login" }, { "change": "2026-08-01-login" }]
  ! /active must not repeat an item: items 0 and 1 are equal

status 5: no archive list
  - /archived
  ! missing member `archived`

change-status 3: without worktrees
  - /worktrees

change-status 3: keys of its own
  = /archived_at "2026-08-01"

change-status 3: an older archive path
  = /archive_path "specdev/archive/2026-08/2026-08-01-login/"

change-status 3: an archive elsewhere
  = /archive_path "/tmp/x"
  ! /archive_path must be "<Path>{roots.state}/specdev/archive/…</Path>" or the older "specdev/archive/…/", not "/tmp/x"

change-status 3: an object as deviation
  = /deviations [{ "id": "D-1" }]
  ! /deviations/0 must be a string, not an object

change-status 3: another artifact
  = /artifact "spec"
  ! /artifact must be "change-status", not "spec"

change-status 4: a member of version 5
  = /works_run []
  ! /works_run unexpected member `works_run`

change-status 4: no worktrees
  - /worktrees
  ! missing member `worktrees`

change-status 5 6: opaque stamps and owners
  = /updated_at "2026-08-01T09:15:00.1234567+0800"
  = /leadership/current "Worker-T-18 / Lead平台验收"

change-status 5: archived in name only
  = /change_status "archived"
  ! /archive_path must be a string, not null, where `change_status` is "archived"
  ! /archived must be true, not false, where `change_status` is "archived"

change-status 5: an unknown status
  = /change_status "done"
  ! /change_status must be one of "active", "blocked", "completed", "archived", not "done"

change-status 5: a name with a line end
  = /change "2026-08-01-login\n"
  ! /change must be a change name such as "2026-08-01-login", not "2026-08-01-login\n"

change-status 5: a name that climbs
  = /change "../../outside"
  ! /change must be a change name such as "2026-08-01-login", not "../../outside"

change-status 5: work of another workflow
  = /current_work "ops/x"
  ! /current_work must be a work id such as "specdev/I-implement", or null, not "ops/x"

change-status 5: allowed instead of authorized
  = /execution_authorization/source_cleanup/status "allowed"
  ! /execution_authorization/source_cleanup/status must be one of "authorized", "not-authorized", "revoked", not "allowed"

change-status 5: authorized by nobody
  = /execution_authorization/source_cleanup/status "authorized"
  ! /execution_authorization/source_cleanup/granted_at must be a string, not null, where `status` is "authorized"
  ! /execution_authorization/source_cleanup/source must be a string, not null, where `status` is "authorized"

change-status 5: an authorization of its own
  = /execution_authorization/push {}
  ! /execution_authorization/push unexpected member `push`

change-status 5: a claim without session
  - /claimed_investigations/0/session
  ! /claimed_investigations/0 missing member `session`

change-status 5: foreign leadership history
  = /leadership/history [{ "owner": "a", "epoch": 0, "assigned_at": "x" }]
  ! /leadership/history/0 missing member `ended_at`
  ! /leadership/history/0/epoch must be at least 1, not 0

change-status 6: a key of its own
  = /phase null
  ! /phase unexpected member `phase`

change-status 3: parent branch and terminal action
  = /worktrees/1 { "ticket_id": "T-02", "owner": "lead-7", "integration_owner": "lead-7", "provider": "git", "base_sha": "b29c9ff3", "parent_branch": "main", "branch": "speculo/2026-08-01-login/T-02", "workspace_ref": "specdev-worktree/T-02", "terminal_action": "integrate", "source_checkpoint": null, "integration": { "status": "pending", "method": null, "attempts": 0 }, "status": "integrating", "updated_at": "2026-08-01T09:15:00Z" }

change-status 3: a foreign provider
  = /worktrees/0/provider "native"
  = /worktrees/0/workspace_ref "session:12"

change-status 3: an extra member
  = /worktrees/0/integrated_sha "b29c9ff3"

change-status 3: git elsewhere
  = /worktrees/0/workspace_ref "elsewhere/T-01"
  ! /worktrees/0/workspace_ref must be "specdev-worktree/T-NN", not "elsewhere/T-01", where `provider` is "git"

change-status 3: the absolute path /srv…
  = /worktrees/0/provider "native"
  = /worktrees/0/workspace_ref "/srv/T-01"
  ! /worktrees/0/workspace_ref must not be an absolute path

change-status 3: the absolute path C:\\…
  = /worktrees/0/provider "native"
  = /worktrees/0/workspace_ref "C:\\work\\T-01"
  ! /worktrees/0/workspace_ref must not be an absolute path

change-status 3: the absolute path d:/T…
  = /worktrees/0/provider "native"
  = /worktrees/0/workspace_ref "d:/T-01"
  ! /worktrees/0/workspace_ref must not be an absolute path

change-status 3: a ticket of one digit
  = /worktrees/0/ticket_id "T-1"
  ! /worktrees/0/ticket_id must be a ticket id such as "T-01", not "T-1"

change-status 3: no owner
  = /worktrees/0/owner ""
  ! /worktrees/0/owner must not be empty

change-status 4: parent_ref
  = /worktrees/0/integration/parent_ref null
  ! /worktrees/0/integration/parent_ref unexpected member `parent_ref`

change-status 5 6: no parent_ref
  - /worktrees/0/integration/parent_ref
  ! /worktrees/0/integration missing member `parent_ref`

change-status 4: candidate_tree_sha
  = /worktrees/0/integration/candidate_tree_sha null
  ! /worktrees/0/integration/candidate_tree_sha unexpected member `candidate_tree_sha`

change-status 5 6: no candidate_tree_sha
  - /worktrees/0/integration/candidate_tree_sha
  ! /worktrees/0/integration missing member `candidate_tree_sha`

change-status 4: full_suite
  = /worktrees/0/integration/full_suite null
  ! /worktrees/0/integration/full_suite unexpected member `full_suite`

change-status 5 6: no full_suite
  - /worktrees/0/integration/full_suite
  ! /worktrees/0/integration missing member `full_suite`

change-status 4: promotion_status
  = /worktrees/0/integration/promotion_status null
  ! /worktrees/0/integration/promotion_status unexpected member `promotion_status`

change-status 5 6: no promotion_status
  - /worktrees/0/integration/promotion_status
  ! /worktrees/0/integration missing member `promotion_status`

change-status 4: a reason
  = /worktrees/0/integration/e2e/reason "x"
  ! /worktrees/0/integration/e2e/reason unexpected member `reason`

change-status 4: the older path
  = /worktrees/0/workspace_ref "specdev-worktree/T-01"

change-status 5: composite checkpoints
  = /worktrees/0/source_checkpoint "backend:1a;frontend:2b"

change-status 5: a branch with a suffix
  = /worktrees/0/branch "speculo/2026-08-01-login/T-01-v2"

change-status 5: terminal action
  = /worktrees/0/terminal_action "integrate"
  ! /worktrees/0/terminal_action unexpected member `terminal_action`

change-status 5: the older path
  = /worktrees/0/workspace_ref "specdev-worktree/T-01"
  ! /worktrees/0/workspace_ref must be "specdev-worktree/<change>/T-NN", not "specdev-worktree/T-01"

change-status 5: the current checkout
  = /worktrees/0/workspace_ref "current"
  ! /worktrees/0/workspace_ref must be "specdev-worktree/<change>/T-NN", not "current"

change-status 5: a candidate elsewhere
  = /worktrees/0/integration/candidate_workspace_ref "x"
  ! /worktrees/0/integration/candidate_workspace_ref must be "specdev-worktree/.integration/<change>/T-NN" or null, not "x"

change-status 5: a direct parent
  = /worktrees/0/integration/method "direct-parent"
  ! /worktrees/0/integration/method must be one of null, "fast-forward", "merge-commit", not "direct-parent"

change-status 5: evidence in the archive
  = /worktrees/0/integration/evidence "x"
  ! /worktrees/0/integration/evidence must be "<Path>{roots.state}/specdev/changes/<change>/evidence/T-NN.md</Path>", not "x"

change-status 5: not required, without reason
  = /worktrees/0/integration/e2e/reason null
  ! /worktrees/0/integration/e2e/reason must be a string, not null, where `required` is false

change-status 5: not required, but passed
  = /worktrees/0/integration/e2e/status "passed"
  ! /worktrees/0/integration/e2e/status must be "not-required", not "passed", where `required` is false

change-status 5: another provider
  = /worktrees/0/provider "native"
  ! /worktrees/0/provider must be "git", not "native"

change-status 5: text for a record
  = /worktrees/0 "T-01"
  ! /worktrees/0 must be an object, not "T-01"

change-status 6: the current checkout
  = /worktrees/0/branch "main"
  = /worktrees/0/workspace_ref "current"
  = /worktrees/0/integration/method "direct-parent"
  = /worktrees/0/integration/candidate_sha null
  = /worktrees/0/integration/candidate_tree_sha null
  = /worktrees/0/integration/candidate_branch null
  = /worktrees/0/integration/candidate_workspace_ref null

change-status 6: the current checkout before its integration
  = /worktrees/0/branch "main"
  = /worktrees/0/workspace_ref "current"
  = /worktrees/0/integration/method "direct-parent"
  = /worktrees/0/integration/candidate_sha null
  = /worktrees/0/integration/candidate_tree_sha null
  = /worktrees/0/integration/candidate_branch null
  = /worktrees/0/integration/candidate_workspace_ref null
  = /worktrees/0/integration/method null

change-status 6: a candidate beside the current checkout
  = /worktrees/0/branch "main"
  = /worktrees/0/workspace_ref "current"
  = /worktrees/0/integration/method "direct-parent"
  = /worktrees/0/integration/candidate_sha null
  = /worktrees/0/integration/candidate_tree_sha null
  = /worktrees/0/integration/candidate_branch null
  = /worktrees/0/integration/candidate_workspace_ref null
  = /worktrees/0/integration/candidate_sha "1a"
  ! /worktrees/0/integration/candidate_sha must be null, not "1a", where `workspace_ref` is "current"

change-status 6: a merge into the current checkout
  = /worktrees/0/branch "main"
  = /worktrees/0/workspace_ref "current"
  = /worktrees/0/integration/method "direct-parent"
  = /worktrees/0/integration/candidate_sha null
  = /worktrees/0/integration/candidate_tree_sha null
  = /worktrees/0/integration/candidate_branch null
  = /worktrees/0/integration/candidate_workspace_ref null
  = /worktrees/0/integration/method "merge-commit"
  ! /worktrees/0/integration/method must be one of null, "direct-parent", not "merge-commit", where `workspace_ref` is "current"

change-status 6: a direct parent of a worktree
  = /worktrees/0/integration/method "direct-parent"
  ! /worktrees/0/integration/method must be one of null, "fast-forward", "merge-commit", not "direct-parent", where the record has a worktree of its own

change-status 6: neither
  = /worktrees/0/workspace_ref "currently"
  ! /worktrees/0/workspace_ref must be "current" or "specdev-worktree/<change>/T-NN", not "currently"

goal-plan 3: keys of its own
  = /coordination_mode "single-session"

goal-plan 3: completed and ready
  = /status "completed"
  = /ready_for_execution true

goal-plan 3: no mode
  = /modes []
  ! /modes must not be empty

goal-plan 3: no readiness
  - /ready_for_execution
  ! missing member `ready_for_execution`

goal-plan 4 5: no mode
  = /modes []

goal-plan 4 5 6 7 8: a retired mode
  = /modes ["coordination"]
  ! /modes/0 must be one of "migration", "high-assurance", "reference-conformance", "release-coordination", not "coordination"

goal-plan 4 5: four agents
  = /implementation_agent_limit 4
  ! /implementation_agent_limit must be at most 3, not 4

goal-plan 6: four agents
  = /implementation_agent_limit 4

goal-plan 4 5: the current checkout
  = /ticket_workspace_policy "current"
  ! /ticket_workspace_policy must be "required", not "current"

goal-plan 4 5 6 7 8: no lead
  - /lead
  ! missing member `lead`

goal-plan 4: ready, but a draft
  = /status "draft"

goal-plan 6: no limit of attempts
  = /integration_attempt_limit null

goal-plan 6: no attempts
  = /integration_attempt_limit 0
  ! /integration_attempt_limit must be at least 1, not 0

goal-plan 6: attempts in words
  = /integration_attempt_limit "three"
  ! /integration_attempt_limit must be an integer or null, not "three"

goal-plan 7: seven at once
  = /concurrent_implementation_limit 7

goal-plan 7: no limit of attempts
  = /integration_attempt_limit null
  ! /integration_attempt_limit must be an integer, not null

goal-plan 6 7: the current checkout
  = /ticket_workspace_policy "current"
  = /integration_gate "direct-parent"

goal-plan 6 7: the gate of the other policy
  = /ticket_workspace_policy "current"
  ! /integration_gate must be "direct-parent", not "candidate-merge", where `ticket_workspace_policy` is "current"

goal-plan 6 7: the policy of the other gate
  = /integration_gate "direct-parent"
  ! /integration_gate must be "candidate-merge", not "direct-parent", where `ticket_workspace_policy` is "required"

goal-plan 8: optional limits
  = /concurrent_implementation_limit 5
  = /max_parallel_tickets 1

goal-plan 8: a retired gate
  = /integration_gate "candidate-merge"
  ! /integration_gate unexpected member `integration_gate`

goal-plan 8: no order of tickets
  - /ticket_execution
  ! missing member `ticket_execution`

goal-plan 8: an unknown order of tickets
  = /ticket_execution "random"
  ! /ticket_execution must be one of "auto", "serial", "parallel", not "random"

goal-plan 8: no parallel ticket
  = /max_parallel_tickets 0
  ! /max_parallel_tickets must be at least 1, not 0

execution-context 1: a SHA-256
  = /base_sha "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

execution-context 1: max_parallel_tickets
  = /max_parallel_tickets 1

execution-context 1: max_parallel_tickets of nothing
  = /max_parallel_tickets 0
  ! /max_parallel_tickets must be at least 1, not 0

execution-context 1: concurrent_implementation_limit
  = /concurrent_implementation_limit 1

execution-context 1: concurrent_implementation_limit of nothing
  = /concurrent_implementation_limit 0
  ! /concurrent_implementation_limit must be at least 1, not 0

execution-context 1: integration_attempt_limit
  = /integration_attempt_limit 1

execution-context 1: integration_attempt_limit of nothing
  = /integration_attempt_limit 0
  ! /integration_attempt_limit must be at least 1, not 0

execution-context 1: a short SHA
  = /base_sha "b29c9ff3"
  ! /base_sha must be a full SHA of 40 or 64 lower-case hex digits, not "b29c9ff3"

execution-context 1: a SHA in capitals
  = /base_sha "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
  ! /base_sha must be a full SHA of 40 or 64 lower-case hex digits, not "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

execution-context 1: a SHA of 41 digits
  = /base_sha "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  ! /base_sha must be a full SHA of 40 or 64 lower-case hex digits, not "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

execution-context 1: an older policy
  = /workspace_policy "required"
  ! /workspace_policy must be one of "current", "worktree", not "required"

execution-context 1: no owner
  - /owner
  ! missing member `owner`

execution-context 1: a key of its own
  = /note "x"
  ! /note unexpected member `note`

execution-record 1: a Direct Spec
  - /ticket_id
  = /purpose "direct-spec"
  = /change "2026-08-01-login"

execution-record 1: a cancelled Direct Spec
  - /ticket_id
  = /purpose "direct-spec"
  = /change "2026-08-01-login"
  = /status "cancelled"

execution-record 1: neither ticket nor Direct Spec
  - /ticket_id
  ! missing member `change`, where `ticket_id` is absent
  ! missing member `purpose`, where `ticket_id` is absent

execution-record 1: both
  - /ticket_id
  = /purpose "direct-spec"
  = /change "2026-08-01-login"
  = /ticket_id "T-01"
  ! /change must not stand beside `ticket_id`
  ! /purpose must not stand beside `ticket_id`

execution-record 1: nobody
  = /implementation_owners []
  ! /implementation_owners must not be empty

execution-record 1: one owner twice
  = /implementation_owners ["a", "a"]
  ! /implementation_owners must not repeat an item: items 0 and 1 are equal

execution-record 1: an older status
  = /status "integrated"
  ! /status must be one of "active", "review", "verified", "blocked", "cancelled", not "integrated"

execution-record 1: another context
  = /workspace_context "README.md"
  ! /workspace_context must be "README.md#execution-context", not "README.md"

execution-record 1: negative attempts
  = /attempts -1
  ! /attempts must be at least 0, not -1

execution-record 1: no E2E disposition
  - /verification/e2e
  ! /verification missing member `e2e`
"##;
