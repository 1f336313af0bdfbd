//! Many changes in one run: all of them or none, and with `--partial` all but the broken ones.

use std::fs;

use super::{Nobody, Project, can_be_others, different, status};

const BROKEN: usize = 17;

fn name(n: usize) -> String {
    format!("2026-03-01-change-{n}")
}

/// Thirty changes, listed in the index, each with a goal plan.
fn thirty() -> Project {
    let project = Project::bare("repo", "");
    project.write("config.json", super::CONFIG);
    let entry =
        |n| format!("{{\"change\": \"{}\", \"current_work\": \"specdev/w{n}\", \"works_run\": []}}", name(n));
    let entries: Vec<String> = (1..=30).map(entry).collect();
    let index = format!(
        "{{\n  \"schema_version\": 4,\n  \"workflow\": \"specdev\",\n  \"active\": [\n    {}\n  ],\n  \"archived\": []\n}}\n",
        entries.join(",\n    ")
    );
    project.write("status.json", index);
    for n in 1..=30 {
        project.write(&format!("changes/{}/.status.json", name(n)), status(&name(n)));
        project.write(&format!("changes/{}/goal-plan.md", name(n)), super::plan(&name(n)));
    }
    project
}

/// Thirty of which one has a header that does not end.
fn one_broken() -> Project {
    let project = thirty();
    let plan = super::plan(&name(BROKEN)).replace("---\n\n", "\n");
    project.write(&format!("changes/{}/goal-plan.md", name(BROKEN)), plan);
    project.commit();
    project
}

#[test]
fn one_broken_stops_all() {
    let project = one_broken();
    let place = format!("speculo/.speculo/specdev/changes/{}/goal-plan.md:1:1", name(BROKEN));
    let ran = project.refused(&[], 6, &["invalid-frontmatter", &place, "specdev-migrate --partial"]);
    assert!(ran.stderr.contains("nothing was written: 1 error"), "{ran}");
    project.refused_in_all_modes(6, &["invalid-frontmatter", &place]);
}

#[test]
fn all_that_are_broken_are_told_not_only_the_first() {
    let project = one_broken();
    project.write(&format!("changes/{}/.status.json", name(3)), "{");
    project.write(&format!("changes/{}/.status.json", name(30)), status(&name(30)).replace("3,", "\"3\","));
    project.edit("config.json", "\"planning\"", "\"mine\": 1, \"planning\"");
    project.commit();
    project.refused_in_all_modes(
        6,
        &[
            "invalid-frontmatter",
            "invalid-json",
            "unsupported-version",
            "unmapped-field",
            &name(3),
            &name(30),
        ],
    );
}

#[test]
fn partial_does_the_others_and_a_later_run_the_rest() {
    let project = one_broken();
    let broken = format!("changes/{}", name(BROKEN));
    let files = [".status.json", "goal-plan.md"].map(|f| format!("{broken}/{f}"));
    let before = (files.each_ref().map(|f| project.bytes(f)), project.snapshot());
    let old_index = project.text("status.json");

    let ran = project.run(&["--partial"]);
    assert_eq!(ran.code, Some(6), "{ran}");
    assert!(ran.stderr.contains(&format!("left as they are: {}", name(BROKEN))), "{ran}");
    assert_eq!(files.each_ref().map(|f| project.bytes(f)), before.0);
    assert!(!project.path(&format!("{broken}/HISTORY.md")).exists());
    for n in (1..=30).filter(|n| *n != BROKEN) {
        let value = project.json(&format!("changes/{}/.status.json", name(n)));
        assert_eq!(
            (&value["schema_version"], &value["current_work"]),
            (&5.into(), &format!("specdev/w{n}").into())
        );
        assert!(project.text(&format!("changes/{}/goal-plan.md", name(n))).contains("schema_version: 8\n"));
    }
    assert_eq!(project.json("config.json")["schema_version"], 4);
    // 29 changes of three files, config, index and their history.
    let changed = different(&before.1, &project.snapshot());
    assert_eq!(changed.len(), 29 * 3 + 3, "{changed:?}");
    assert!(ran.stderr.contains("wrote 90 files (30 of them new)"), "{ran}");

    // The index keeps its number, and the broken change's entry every byte.
    let index = project.json("status.json");
    assert_eq!(index["schema_version"], 4);
    let line =
        |text: &str| text.lines().find(|l| l.contains(&format!("\"{}\"", name(BROKEN)))).unwrap().to_owned();
    assert_eq!(line(&project.text("status.json")), line(&old_index));
    for entry in index["active"].as_array().unwrap().iter().filter(|e| e["change"] != name(BROKEN)) {
        assert_eq!(
            (&entry["current_work"], &entry["works_run"]),
            (&serde_json::Value::Null, &serde_json::json!([]))
        );
    }

    // Once more: still only the broken one is left.
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "most of it"]);
    let again = project.snapshot();
    let ran = project.run(&["--partial"]);
    assert_eq!(ran.code, Some(6), "{ran}");
    super::assert_same(&again, &project.snapshot());

    // Repaired, the last run finishes.
    project.write(&files[1], super::plan(&name(BROKEN)));
    project.git(&["commit", "-q", "-a", "-m", "repaired"]);
    project.done(&[]);
    assert_eq!(project.json("status.json")["schema_version"], 5);
    assert_eq!(project.json(&files[0])["current_work"], format!("specdev/w{BROKEN}"));
    assert_eq!(project.run(&["--check"]).code, Some(0));
}

#[test]
fn partial_does_nothing_when_the_state_itself_is_broken() {
    for (path, text, code) in [
        ("config.json", "{", 6),
        ("status.json", "{", 6),
        ("config.json", "{\"schema_version\": 99}", 0),
        ("status.json", "{\"schema_version\": 99}", 5),
    ] {
        let project = thirty();
        project.write(path, text);
        project.commit();
        let before = project.snapshot();
        let ran = project.run(&["--partial"]);
        assert_eq!(ran.code, Some(code), "{ran}");
        if code != 0 {
            super::assert_same(&before, &project.snapshot());
            assert!(!ran.stderr.contains("the clean changes alone"), "{ran}");
        }
    }
}

#[test]
fn partial_with_every_change_broken() {
    let project = thirty();
    for n in 1..=30 {
        project.write(&format!("changes/{}/.status.json", name(n)), "{");
    }
    project.commit();
    let ran = project.run(&["--partial"]);
    assert_eq!(ran.code, Some(6), "{ran}");
    assert_eq!(project.json("config.json")["schema_version"], 4);
    assert_eq!(project.json("status.json")["schema_version"], 4);
    for n in 1..=30 {
        assert_eq!(project.text(&format!("changes/{}/.status.json", name(n))), "{");
    }
}

#[test]
fn newer_change_wins_over_other_codes() {
    let project = thirty();
    let edit = |n, text: String| project.write(&format!("changes/{}/.status.json", name(n)), text);
    edit(4, status(&name(4)).replace("\"schema_version\": 3", "\"schema_version\": 99"));
    edit(5, "{".into());
    edit(6, status(&name(6)).replace("\"artifact\"", "\"mine\": 1, \"artifact\""));
    project.commit();
    project.refused_in_all_modes(5, &["newer-version", "invalid-json", "unmapped-field", "upgrade"]);
    let ran = project.run(&["--partial"]);
    assert_eq!(ran.code, Some(5), "{ran}");
    assert_eq!(project.json(&format!("changes/{}/.status.json", name(7)))["schema_version"], 5);
}

#[test]
fn unwritable_folder_of_the_last_change() {
    if !can_be_others() {
        return;
    }
    let project = thirty();
    project.commit();
    let nobody = Nobody::takes(&project);
    project.set_mode(&format!("changes/{}", name(30)), 0o555);
    let before = project.snapshot();
    let ran = nobody.run(&[]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains(&name(30)), "{ran}");
    super::assert_same(&before, &project.snapshot());
}

/// Markdown in which reading would have to begin anew too often: what is appended stands in an HTML block.
fn worn_out() -> String {
    format!("# History\n\n{}", "<script>\n</style>\n\n".repeat(70))
}

#[test]
fn partial_leaves_a_change_in_which_history_cannot_be_placed() {
    let project = thirty();
    let host = format!("changes/{}/HISTORY.md", name(3));
    project.write(&host, worn_out());
    project.commit();
    let before = project.snapshot();
    let told = ["ambiguous-section", &host, "text inserted here", "next:  end the HTML"];
    project.refused(&[], 4, &told);
    super::assert_same(&before, &project.snapshot());

    let ran = project.run(&["--partial"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(ran.stderr.contains(&format!("left as they are: {}", name(3))), "{ran}");
    assert_eq!(project.text(&host), worn_out());
    assert_eq!(project.text(&format!("changes/{}/.status.json", name(3))), status(&name(3)));
    assert_eq!(project.json(&format!("changes/{}/.status.json", name(4)))["schema_version"], 5);
}

#[test]
fn number_of_a_run_that_only_a_folder_without_status_remembers() {
    let project = thirty();
    project.commit();
    project.done(&[]);
    // The state's own history and all but one change are as before; that one lost its status.
    let kept = format!("changes/{}", name(5));
    fs::remove_file(project.path("HISTORY.md")).unwrap();
    fs::remove_file(project.path(&format!("{kept}/.status.json"))).unwrap();
    for n in (1..=30).filter(|n| *n != 5) {
        fs::remove_file(project.path(&format!("changes/{}/HISTORY.md", name(n)))).unwrap();
        project.write(&format!("changes/{}/.status.json", name(n)), status(&name(n)));
        project.write(&format!("changes/{}/goal-plan.md", name(n)), super::plan(&name(n)));
    }
    let before = project.state();
    project.done(&["--allow-dirty"]);
    assert!(project.text(&format!("changes/{}/HISTORY.md", name(4))).contains("\"seq\":2,"));
    project.done(&["restore"]);
    super::assert_same(&before, &project.state());
}

#[test]
fn restore_of_a_partial_run() {
    let project = one_broken();
    let before = project.snapshot();
    project.run(&["--partial"]);
    project.done(&["restore"]);
    super::assert_same(&before, &project.snapshot());
}

#[test]
fn restore_of_the_run_that_finished_a_partial_one_and_then_of_that() {
    let project = one_broken();
    let first = project.snapshot();
    project.run(&["--partial"]);
    project.write(&format!("changes/{}/goal-plan.md", name(BROKEN)), super::plan(&name(BROKEN)));
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "most of it"]);
    let second = project.state();
    project.done(&[]);
    project.done(&["restore"]);
    super::assert_same(&second, &project.state());
    project.done(&["restore"]);
    project.git(&["reset", "-q", "--soft", "HEAD~1"]);
    let mut now = project.snapshot();
    let mut then = first;
    for all in [&mut now, &mut then] {
        all.retain(|path, _| {
            path.starts_with("repo/speculo") && !path.ends_with(&format!("{}/goal-plan.md", name(BROKEN)))
        });
    }
    super::assert_same(&then, &now);
    let _ = fs::metadata(project.path("status.json")).unwrap();
}
