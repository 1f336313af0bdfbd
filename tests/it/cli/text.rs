//! Bytes that nobody asked to change stay, through the whole command: formatting, line ends, near misses of
//! JSON, doubled keys and versions that are no plain numbers.

use super::{ALPHA, BETA, Project, different};

/// The configuration alone, before and after, to the byte.
#[track_caller]
fn config(before: &[u8], after: &[u8]) {
    let project = Project::new();
    project.write("config.json", before);
    project.commit();
    project.done(&[]);
    assert_eq!(
        String::from_utf8_lossy(&project.bytes("config.json")),
        String::from_utf8_lossy(after),
        "{}",
        String::from_utf8_lossy(before)
    );
    project.done(&["restore"]);
    assert_eq!(project.bytes("config.json"), before);
}

#[test]
fn formatting_of_json_stays() {
    let before = "{\n\t\"schema_version\" : 3,\n\t\"interaction_language\":\"caf\\u00e9 — é\",\n\t\"artifact_language\": \"en\",\n\t\"git\": {\"auto_commit\":false , \"default_branch\" : \"main\",\"worktree_for_parallel\": true },\n\t\"execution\": {\"max_parallel\" : 3, \"deep_ticket_human_approval\": true,   \"shared_path_owner\": \",\\\"}\"},\n\t\"verification\": {},\n\t\"planning\": {\"list\": [1,2,   3]}}";
    let after = "{\n\t\"schema_version\" : 4,\n\t\"interaction_language\":\"caf\\u00e9 — é\",\n\t\"artifact_language\": \"en\",\n\t\"git\": {\"default_branch\" : \"main\" },\n\t\"execution\": {\"max_implementation_agents\" : 3, \"deep_ticket_human_approval\": true,   \"shared_path_owner\": \",\\\"}\"},\n\t\"verification\": {},\n\t\"planning\": {\"list\": [1,2,   3]}}";
    config(before.as_bytes(), after.as_bytes());
    config(before.replace('\n', "\r\n").as_bytes(), after.replace('\n', "\r\n").as_bytes());
    let bom = |text: &str| [b"\xef\xbb\xbf", text.as_bytes()].concat();
    config(&bom(before), &bom(after));
    for indent in [" ", "   ", "    ", "        "] {
        config(before.replace('\t', indent).as_bytes(), after.replace('\t', indent).as_bytes());
    }
    let minified = |text: &str| text.replace(['\n', '\t'], "");
    config(minified(before).as_bytes(), minified(after).as_bytes());
}

#[test]
fn goal_plan_with_other_line_ends_and_comments() {
    let before = "---\r\n# owner: keep\r\nschema_version: 3   # bump me\r\n\r\nartifact: goal-plan\r\nchange: 2026-01-02-alpha\r\nstatus: 'draft'\r\nmodes: [ coordination,migration ]\r\n# ready?\r\nready_for_execution: false\r\n\r\n---\r\nbody  \n\n\n\nmore\r\n";
    let project = Project::new();
    let path = format!("changes/{ALPHA}/goal-plan.md");
    project.write(&path, before);
    project.commit();
    project.done(&["--to", "0.7.3"]);
    let after = "---\r\n# owner: keep\r\nschema_version: 5   # bump me\r\n\r\nartifact: goal-plan\r\nchange: 2026-01-02-alpha\r\nstatus: 'draft'\r\nmodes: [ migration ]\r\norchestration: lead-directed\r\nlead: unassigned\r\nimplementation_agent_limit: 3\r\nticket_workspace_policy: required\r\nintegration_gate: candidate-merge\r\n# ready?\r\nready_for_execution: false\r\n\r\n---\r\nbody  \n\n\n\nmore\r\n";
    assert_eq!(project.text(&path), after);
}

#[test]
fn doubled_keys() {
    let cases: [(&str, &str, &str); 5] = [
        ("config.json", "\"schema_version\": 3,", "\"schema_version\": 3, \"schema_version\": 4,"),
        ("config.json", "\"max_parallel\": 3,", "\"max_parallel\": 3, \"max\\u005fparallel\": 9,"),
        ("config.json", "\"test\": null", "\"test\": {\"deep\": [{\"a\": 1, \"a\": 2}]}"),
        ("changes/2026-01-02-alpha/goal-plan.md", "status: draft\n", "status: draft\nstatus: ready\n"),
        (
            "changes/2026-01-02-alpha/.status.json",
            "\"deviations\": []",
            "\"deviations\": [], \"worktrees\": [{\"ticket_id\": \"T-01\", \"ticket_id\": \"T-02\"}]",
        ),
    ];
    for (path, from, to) in cases {
        let project = Project::new();
        project.edit(path, from, to);
        project.commit();
        let place = format!("speculo/.speculo/specdev/{path}:");
        project.refused_in_all_modes(6, &["duplicate-key", &place, "stands twice"]);
    }
}

#[test]
fn near_misses_of_json() {
    for (text, code, needle) in [
        ("// mine\n{}", "invalid-json", "comment"),
        ("{\"schema_version\": 3,}", "invalid-json", "comma"),
        ("{\"schema_version\": NaN}", "invalid-json", "NaN"),
        ("", "invalid-json", "empty"),
        (" \n\t\n", "invalid-json", "empty"),
        ("null", "schema-violation", "object"),
        ("[]", "schema-violation", "object"),
    ] {
        for path in ["config.json", "status.json", "changes/2026-01-02-alpha/.status.json"] {
            let project = Project::new();
            project.write(path, text);
            project.commit();
            let before = project.snapshot();
            let ran = project.run(&[]);
            assert_eq!(ran.code, Some(6), "{path} {text:?} {ran}");
            let place = format!("speculo/.speculo/specdev/{path}");
            assert!(ran.stderr.contains(&place), "{path} {text:?} {ran}");
            let said = ran.stderr.contains(needle) || ran.stderr.contains("unsupported-version");
            assert!(said, "{code} {needle} {path} {text:?} {ran}");
            super::assert_same(&before, &project.snapshot());
        }
    }
}

#[test]
fn versions_that_are_no_plain_numbers() {
    for version in ["\"4\"", "4.0", "4.5", "-1", "0", "2", "null", "true", "[3]", "3e0"] {
        for path in ["config.json", "status.json", "changes/2026-01-02-alpha/.status.json"] {
            let project = Project::new();
            let number = if path == "status.json" { 4 } else { 3 };
            project.edit(
                path,
                &format!("\"schema_version\": {number}"),
                &format!("\"schema_version\": {version}"),
            );
            project.commit();
            project.refused(
                &[],
                6,
                &["unsupported-version", &format!("specdev/{path}:2:"), "schema_version"],
            );
        }
    }
    for version in ["\"3\"", "018", "0o5", "3.0", "", "true"] {
        let project = Project::new();
        project.edit(
            &format!("changes/{ALPHA}/goal-plan.md"),
            "schema_version: 3",
            &format!("schema_version: {version}"),
        );
        project.commit();
        project.refused(&[], 6, &["goal-plan.md:2:1", "schema_version"]);
    }
}

#[test]
fn versions_that_are_missing_or_newer() {
    for path in ["status.json", "changes/2026-01-02-alpha/.status.json"] {
        let project = Project::new();
        let text = project.text(path);
        let line = text.lines().find(|line| line.contains("schema_version")).unwrap();
        project.write(path, text.replace(&format!("{line}\n"), ""));
        project.commit();
        project.refused_in_all_modes(6, &["unsupported-version", path]);
        project.write(path, text.replace(line, "  \"schema_version\": 99,"));
        project.commit();
        project.refused_in_all_modes(5, &["newer-version", path, "newer"]);
    }
}

#[test]
fn only_what_is_old_is_changed() {
    let project = Project::new();
    project.done(&[]);
    project.commit();
    let old = super::status(BETA);
    project.write(&format!("changes/{BETA}/.status.json"), &old);
    project.commit();
    let before = project.snapshot();
    project.done(&[]);
    let prefix = format!("repo/speculo/.speculo/specdev/changes/{BETA}");
    assert_eq!(
        different(&before, &project.snapshot()),
        [format!("{prefix}/.status.json"), format!("{prefix}/HISTORY.md")]
    );
}
