//! What earlier runs kept: listed, shown to the byte, checked against its digests.

use std::fs;

use super::{ALPHA, CONFIG, INDEX, Project, SPECDEV};

fn upgraded() -> Project {
    let project = Project::new();
    project.done(&[]);
    project
}

/// Run, number and entries as `source#pointer`, newest first.
fn listed(project: &Project) -> Vec<(u64, Vec<String>)> {
    let value = project.done(&["history", "list", "--format", "json"]).json();
    let runs = value["runs"].as_array().unwrap().iter();
    runs.map(|run| {
        let entry = |e: &serde_json::Value| {
            format!("{}#{}", e["source"].as_str().unwrap(), e["pointer"].as_str().unwrap())
        };
        (run["seq"].as_u64().unwrap(), run["entries"].as_array().unwrap().iter().map(entry).collect())
    })
    .collect()
}

fn id_of(project: &Project, source: &str) -> String {
    let value = project.done(&["history", "list", "--format", "json"]).json();
    let runs = value["runs"].as_array().unwrap().clone();
    let entries = runs.iter().flat_map(|run| run["entries"].as_array().unwrap());
    let entry = entries.into_iter().find(|entry| entry["source"] == source).unwrap();
    entry["id"].as_str().unwrap().to_owned()
}

/// The configuration as most tools would write it.
fn pretty() -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(CONFIG).unwrap()).unwrap()
}

#[test]
fn list_before_and_after_runs() {
    let project = Project::new();
    assert_eq!(project.done(&["history", "list"]).text(), "no runs\n");
    project.done(&["--to", "0.7.3"]);
    project.commit();
    project.done(&[]);
    let runs = listed(&project);
    assert_eq!(runs.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(runs[0].1, [format!("changes/{ALPHA}/goal-plan.md#frontmatter")]);
    assert_eq!(runs[1].1.len(), 5);
    let text = project.done(&["history", "list"]);
    assert!(text.text().contains("release 0.7.3") && text.text().contains("release 2.0.6"), "{text}");
}

#[test]
fn show_gives_the_old_bytes() {
    let project = upgraded();
    for (source, old) in [
        ("config.json", CONFIG.to_owned()),
        ("status.json", INDEX.to_owned()),
        (&format!("changes/{ALPHA}/.status.json"), super::status(ALPHA)),
    ] {
        let ran = project.done(&["history", "show", &id_of(&project, source)]);
        assert_eq!(ran.text(), old, "{source}");
        assert!(ran.stderr.is_empty(), "{ran}");
    }
    project.refused(&["history", "show", "000000000000"], 2, &["no history entry", "history list"]);
}

#[test]
fn show_of_bytes_that_are_no_text() {
    let project = Project::new();
    let old =
        [b"\xef\xbb\xbf".as_slice(), CONFIG.trim_end().replace('\n', "\r\n").as_bytes(), b"\n"].concat();
    project.write("config.json", &old);
    project.commit();
    project.done(&[]);
    let ran = project.done(&["history", "show", &id_of(&project, "config.json")]);
    assert_eq!(ran.stdout, old);
}

#[test]
fn trace_of_one_value() {
    let project = upgraded();
    let ran = project.done(&["history", "show", "--trace", "config.json#/execution/max_parallel"]);
    assert!(ran.text().contains("max_implementation_agents"), "{ran}");
}

#[test]
fn verify_tells_damage_apart() {
    let project = Project::new();
    project.write("config.json", pretty() + "\n");
    project.commit();
    project.done(&[]);
    assert!(project.done(&["history", "verify"]).text().contains("5 entries intact, 0 damaged"));
    let host = project.text("HISTORY.md");
    let damages: [(fn(String) -> String, &str); 3] = [
        (|text| text.replace("\"max_parallel\": 3", "\"max_parallel\": 9"), "changed"),
        (|text| text.replace(&pretty(), &pretty().replace("  ", "    ")), "reformatted"),
        (|text| text.replacen("```text", "text", 1).replacen("\n```\n", "\n", 1), "no readable fence"),
    ];
    for (damage, said) in damages {
        project.write("HISTORY.md", damage(host.clone()));
        let before = project.snapshot();
        let ran = project.run(&["history", "verify"]);
        assert_eq!(ran.code, Some(6), "{ran}");
        assert!(
            ran.text().contains("speculo/.speculo/specdev/HISTORY.md: entry ") && ran.text().contains(said),
            "{ran}"
        );
        super::assert_same(&before, &project.snapshot());
        // What is damaged is not restored, and the rest depends on the index.
        assert_eq!(project.run(&["restore"]).code, Some(4));
        super::assert_same(&before, &project.snapshot());
    }
}

#[test]
fn verify_when_only_line_ends_differ() {
    let project = Project::new();
    // Line ends of both kinds, which only base64 keeps; and CRs alone, which a formatter might turn.
    project.write("config.json", CONFIG.replace('\n', "\r\n"));
    project.commit();
    project.done(&[]);
    let host = project.text("HISTORY.md");
    assert!(host.contains("\"eol\":\"crlf\""), "{host}");
    // A host that was checked out with other line ends is as good as before.
    project.write("HISTORY.md", host.replace('\n', "\r\n"));
    assert_eq!(project.done(&["history", "verify"]).code, Some(0));
    project.write("HISTORY.md", host.replace(",\"eol\":\"crlf\"", ""));
    let ran = project.run(&["history", "verify"]);
    assert_eq!(ran.code, Some(6), "{ran}");
    assert!(ran.text().contains("only line ends differ"), "{ran}");
}

#[test]
fn entry_that_a_run_line_names_and_nobody_holds() {
    let project = upgraded();
    let host = project.text("HISTORY.md");
    let start = host.find("### config v3").unwrap();
    let end = host.find("### status v4").unwrap();
    project.write("HISTORY.md", format!("{}{}", &host[..start], &host[end..]));
    let ran = project.run(&["history", "verify"]);
    assert_eq!(ran.code, Some(6), "{ran}");
    assert!(ran.text().contains("missing"), "{ran}");
}

#[test]
fn host_that_cannot_be_read_is_named_and_the_others_are_listed() {
    let project = upgraded();
    let listed = project.done(&["history", "list"]).text().to_owned();
    let evidence = format!("changes/{ALPHA}/evidence/T-09.md");
    project.write(&evidence, "# E\n\n## Migration History\n\n## Migration History\n");
    let shown =
        format!("{SPECDEV}/{evidence}: section `## Migration History` stands twice, in lines 3 and 5");
    let ran = project.run(&["history", "list"]);
    assert_eq!((ran.code, ran.text()), (Some(4), &*format!("{listed}not listed: {shown}\n")));
    let ran = project.run(&["history", "list", "--format", "json"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert_eq!(ran.json()["not_listed"][0]["host"], format!("{SPECDEV}/{evidence}"));
    let ran = project.run(&["history", "verify"]);
    assert_eq!(ran.code, Some(6), "{ran}");
    assert!(
        ran.text().starts_with(&format!("{shown}\n")) && ran.text().contains(" intact, 1 damaged"),
        "{ran}"
    );
    // An entry elsewhere is shown all the same; of one that is nowhere nobody can say that there is none.
    let id = listed.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    project.done(&["history", "show", &id]);
    project.refused(&["history", "show", "000000000000"], 4, &["was not found", &evidence]);
}

#[test]
fn history_of_a_change_whose_status_is_gone_is_still_listed() {
    let project = upgraded();
    fs::remove_file(project.path(&format!("changes/{ALPHA}/.status.json"))).unwrap();
    let ran = project.done(&["history", "show", &id_of(&project, &format!("changes/{ALPHA}/.status.json"))]);
    assert_eq!(ran.text(), super::status(ALPHA));
}
