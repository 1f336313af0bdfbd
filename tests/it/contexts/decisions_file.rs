//! The decisions file: printed, filled in, and wrong in every way (contract.md §6).

use serde_json::json;

use super::lab::*;

/// One open record of version 5 with work in its worktree.
fn open() -> Lab {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")]).evidence(&["T-01"]).led_by(LEAD)]);
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.side(&lab.m(1), "work"));
    lab
}

// ---- printed ----------------------------------------------------------------------------------------

#[test]
fn printed_file_is_pre_filled_and_leaves_the_owner_s_parts_open() {
    let lab = open();
    let text = lab.decisions(&[]);
    let record = lab.read(&in_change(".status.json"));
    let at = record.find("\"worktrees\": [").unwrap();
    let record = &record[at + record[at..].find('{').unwrap()..];
    let record = &record[..record.find("\n  ]").unwrap()];
    let want = format!(
        "schema_version: 1
changes:
  {CHANGE}:
    workspace: {{policy: worktree, ref: \"{path}\", branch: \"{branch}\", base_sha: \"{base}\"}}
    tickets:
      # its status is active
      # owners: {WORKER}, {OWNER}, {LEAD}
      T-01:
        action:
        writers:
        confirmed_by:
        reference: \"LOG.md\"
        record_sha256: \"{pin}\"
        seen: \"",
        path = path_of("T-01"),
        branch = branch_of("T-01"),
        base = lab.m(0),
        pin = sha256(record),
    );
    let body = &text[text.find("schema_version:").unwrap()..];
    assert!(body.starts_with(&want), "{body}\n--- instead of\n{want}");
    let seen = body[want.len()..].trim_end();
    assert!(seen.len() == 13 && seen.ends_with('"'), "{seen}");
    assert!(text.starts_with("# Decisions for specdev-migrate."));
}

#[test]
fn printed_file_is_the_same_every_time() {
    let lab = open();
    let first = lab.decisions(&[]);
    assert_eq!(first, lab.decisions(&[]));
    // Also from a folder inside, and in another place of the world.
    let inside = lab.root.join("speculo/.speculo/specdev/changes");
    let again =
        run(lab.tool(&inside).env("TZ", "Pacific/Auckland").env("LC_ALL", "de_DE.UTF-8").args(["decisions"]));
    assert_eq!(first, again.stdout);
}

#[test]
fn printed_file_can_be_compared_line_by_line() {
    let lab = open();
    let first = lab.decisions(&[]);
    lab.git_in(&path_of("T-01"), &["commit", "-q", "--allow-empty", "-m", "more"]);
    let second = lab.decisions(&[]);
    let differs: Vec<(&str, &str)> = first.lines().zip(second.lines()).filter(|(a, b)| a != b).collect();
    assert_eq!(first.lines().count(), second.lines().count());
    assert_eq!(differs.len(), 1, "{differs:?}");
    assert!(differs[0].0.starts_with("        seen: "));
}

#[test]
fn printed_file_that_is_not_filled_in_names_everything_that_is_open() {
    let lab = open();
    let text = lab.decisions(&[]);
    let line = text.lines().position(|l| l == "        action:").unwrap() + 1;
    let run = lab.check(&["--decisions", &lab.decided(&text)]);
    assert_eq!(run.code, 2, "{}", run.text);
    let want = format!(
        "line {line} column 9: {CHANGE} T-01: action is left open (continue or retire); \
         line {} column 9: {CHANGE} T-01: writers is left open (stopped or handed-over); \
         line {} column 9: {CHANGE} T-01: confirmed_by is left open (an owner of the record)",
        line + 1,
        line + 2
    );
    assert!(run.error().ends_with(&want), "{}", run.text);
}

#[test]
fn printed_file_filled_in_works() {
    for action in ["continue", "retire"] {
        let lab = open();
        let file = lab.decide(action);
        lab.upgrade(&["--decisions", &file]).assert_done();
    }
}

#[test]
fn printed_file_without_anything_to_decide() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    let text = lab.decisions(&[]);
    assert!(text.ends_with("schema_version: 1\nchanges: {}\n"), "{text}");
    lab.upgrade(&["--decisions", &lab.decided(&text)]).assert_done();
}

#[test]
fn printed_file_asks_for_a_lead_where_nobody_is_named() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")]).leadership("unassigned")]);
    let text = lab.decisions(&[]);
    assert!(text.contains("\n    lead:  "), "{text}");
    // Left open it is no fault, but nothing can go on without an owner.
    let run = lab.check(&["--decisions", &lab.decided(&filled(&text, "continue"))]);
    assert_eq!(run.code, 2, "{}", run.text);
    assert!(run.error().contains("nobody is named as owner of the workspace; add `lead:`"), "{}", run.text);
    let named = filled(&text, "continue").replace("    lead:  ", "    lead: somebody  ");
    lab.upgrade(&["--decisions", &lab.decided(&named)]).assert_done();
    assert_eq!(lab.context()["owner"], "somebody");
}

#[test]
fn printed_file_offers_a_lead_where_two_are_named() {
    let lab = Lab::new();
    let change = Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"]);
    lab.state(&[change.leadership("somebody").led_by("planner")]);
    let text = lab.decisions(&[]);
    assert!(
        text.contains(
            "    # lead: \"planner\"   # the goal plan is led by planner, the change-status by somebody"
        ),
        "{text}"
    );
    let text = text.replace("    # lead:", "    lead:");
    lab.upgrade(&["--decisions", &lab.decided(&text)]).assert_done();
}

#[test]
fn printed_file_says_why_it_offers_no_workspace() {
    let lab = Lab::new();
    let record = with(v5(&lab, "T-01", "active"), &[("/base_sha", json!("deadbeef"))]);
    lab.state(&[Change::v5(vec![record])]);
    let text = lab.decisions(&[]);
    assert!(text.contains("    # workspace: "), "{text}");
    assert!(text.contains("# base_sha \"deadbeef\" of T-01 is no commit of this repository"), "{text}");
}

#[test]
fn printed_file_offers_the_current_checkout_where_all_work_is_merged() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "review")]).evidence(&["T-01"])]);
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    let want = format!(
        "    workspace: {{policy: current, ref: \"current\", branch: \"main\", base_sha: \"{}\"}}\n",
        lab.m(0)
    );
    let text = lab.decisions(&[]);
    assert!(text.contains(&want), "{text}");
}

#[test]
fn printed_file_shows_how_to_decide_about_e2e_where_the_record_does_not() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "active")]).led_by(LEAD)]);
    let text = lab.decisions(&[]);
    assert!(
        text.contains("        # e2e: {required: true, status: pending, reason: null, evidence: null}"),
        "{text}"
    );
    assert!(!open().decisions(&[]).contains("e2e:"));
}

#[test]
fn printed_file_leaves_the_reference_open_where_there_is_no_usual_one() {
    let lab = Lab::new();
    let source = Lab::new();
    let mut change = Change::v5(vec![v5(&source, "T-01", "active")]);
    change.forget("LOG.md");
    lab.state(&[change]);
    let text = filled(&lab.decisions(&[]), "retire");
    assert!(text.contains("        reference: \n"), "{text}");
    let run = lab.check(&["--decisions", &lab.decided(&text)]);
    assert_eq!(run.code, 2);
    assert!(
        run.error().contains("reference is left open (an existing file below the change)"),
        "{}",
        run.text
    );
}

#[test]
fn printed_file_of_an_earlier_release() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "active")])]);
    let text = lab.decisions(&["--to", "0.7.3"]);
    assert!(text.contains("#   specdev-migrate --decisions FILE --dry-run --to 0.7.3\n"), "{text}");
}

#[test]
fn printed_file_is_not_printed_where_git_does_not_answer() {
    let lab = open();
    std::fs::write(lab.top.join(".git/HEAD"), "nonsense\n").unwrap();
    let run = lab.run(&["decisions"]);
    assert_eq!((run.code, run.stdout.as_str()), (4, ""), "{}", run.text);
}

// ---- pins -------------------------------------------------------------------------------------------

#[test]
fn record_that_changed_makes_the_decision_stale() {
    let lab = open();
    let file = lab.decide("retire");
    let path = in_change(".status.json");
    // One space is enough.
    let text = lab.read(&path).replace("\"owner\": \"lead-7\"", "\"owner\":  \"lead-7\"");
    lab.write(&spec(&path), text);
    lab.commit();
    let run = lab.check(&["--decisions", &file]);
    run.assert_blocked("stale-decision");
    assert_eq!(
        run.message("stale-decision"),
        "the decision about T-01 is about other facts: the record (record_sha256) changed since"
    );
    assert_eq!(run.one("stale-decision")["next"], json!(["specdev-migrate decisions > decisions.new.yaml"]));
}

#[test]
fn each_git_fact_that_changed_makes_the_decision_stale() {
    let seen = "the decision about T-01 is about other facts: what git shows (seen) changed since";
    type Change = fn(&Lab);
    let changes: [(&str, Change); 7] = [
        ("branch tip", |lab| {
            drop(lab.git_in(&path_of("T-01"), &["commit", "-q", "--allow-empty", "-m", "more"]))
        }),
        ("untracked file", |lab| lab.write(&format!("{}/new.txt", path_of("T-01")), "x")),
        ("another untracked file", |lab| {
            lab.write(&format!("{}/code.txt", path_of("T-01")), "x");
        }),
        ("worktree removed", |lab| drop(lab.git(&["worktree", "remove", &path_of("T-01")]))),
        ("folder gone", |lab| std::fs::remove_dir_all(lab.root.join(path_of("T-01"))).unwrap()),
        ("worktree moved", |lab| {
            drop(lab.git(&["worktree", "move", &path_of("T-01"), "specdev-worktree/other"]))
        }),
        ("branch left", |lab| drop(lab.git_in(&path_of("T-01"), &["checkout", "-q", "--detach"]))),
    ];
    for (what, change) in changes {
        let lab = open();
        let file = lab.decide("retire");
        change(&lab);
        let run = lab.check(&["--decisions", &file]);
        assert_eq!(run.code, 4, "{what}: {}", run.text);
        assert_eq!(run.message("stale-decision"), seen, "{what}");
    }
}

#[test]
fn both_that_changed_are_named() {
    let lab = open();
    let text = filled(&lab.decisions(&[]), "retire");
    let text = replace_value(&text, "record_sha256", &"0".repeat(64));
    let text = replace_value(&text, "seen", &"0".repeat(12));
    let run = lab.check(&["--decisions", &lab.decided(&text)]);
    let message = run.message("stale-decision");
    assert!(
        message.ends_with(": the record (record_sha256) and what git shows (seen) changed since"),
        "{message}"
    );
}

#[test]
fn what_has_nothing_to_do_with_the_record_does_not_make_it_stale() {
    let lab = open();
    let file = lab.decide("retire");
    lab.git(&["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    lab.branch("feature/x", "main");
    lab.write("code.txt", "edited\n");
    lab.write(&format!("{}/specdev-worktree/ignored.txt", path_of("T-01")), "x");
    lab.check(&["--decisions", &file]).assert_done();
}

#[test]
fn commit_on_the_parent_does_not_make_a_record_of_the_current_checkout_stale() {
    let lab = Lab::new();
    lab.state(&[Change::of(6, vec![current(&lab, "T-01", "active")]).evidence(&["T-01"])]);
    let file = lab.decide("retire");
    lab.git(&["commit", "-q", "--allow-empty", "-m", "the decision"]);
    lab.check(&["--decisions", &file]).assert_done();
}

#[test]
fn decision_made_with_git_does_not_hold_without() {
    let lab = open();
    let file = lab.decide("retire");
    lab.check(&["--no-git", "--decisions", &file]).assert_blocked("stale-decision");
    let file = lab.decided(&filled(&lab.decisions(&["--no-git"]), "retire"));
    lab.upgrade(&["--no-git", "--decisions", &file]).assert_done();
}

#[test]
fn decision_about_a_finished_record_is_a_note_and_a_stale_one_is_stale() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
    let dirty = lab.decided(&filled(&lab.decisions(&[]), "retire"));
    std::fs::remove_file(lab.root.join(path_of("T-01")).join("new.txt")).unwrap();
    lab.check(&["--decisions", &dirty]).assert_blocked("stale-decision");
    // The pins of today, found out by trying.
    let text = std::fs::read_to_string(&dirty).unwrap();
    let clean = lab.seen_of_open_copy();
    let run = lab.check(&["--decisions", &lab.decided(&replace_value(&text, "seen", &clean))]);
    run.assert_done();
    assert_eq!(
        run.message("already-current"),
        "the decision about T-01 was not needed: its record is finished"
    );
}

// ---- who may decide ---------------------------------------------------------------------------------

#[test]
fn every_owner_of_the_record_and_the_lead_may_confirm() {
    for name in [WORKER, OWNER, LEAD] {
        let lab = open();
        let text = filled(&lab.decisions(&[]), "retire")
            .replace(&format!("confirmed_by: {OWNER}"), &format!("confirmed_by: {name}"));
        lab.check(&["--decisions", &lab.decided(&text)]).assert_done();
    }
}

#[test]
fn lead_that_a_decision_names_may_confirm() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")]).leadership("unassigned")]);
    let text = filled(&lab.decisions(&[]), "retire").replace(OWNER, "somebody");
    let file = lab.decided(&text.replace("schema_version: 1\n", "schema_version: 1\nlead: somebody\n"));
    let run = lab.check(&["--decisions", &file]);
    assert_eq!(run.code, 0, "{}", run.text);
}

#[test]
fn anybody_else_needs_somebody_to_speak_for() {
    let lab = open();
    let text = filled(&lab.decisions(&[]), "retire")
        .replace(&format!("confirmed_by: {OWNER}"), "confirmed_by: passer-by");
    let at = |text: &str, what: &str| {
        let line = text.lines().position(|l| l.contains(what)).unwrap();
        (line + 1, text.lines().nth(line).unwrap().find(':').unwrap() + 3)
    };
    let (line, column) = at(&text, "confirmed_by: passer-by");
    let run = lab.check(&["--decisions", &lab.decided(&text)]);
    assert_eq!(run.code, 2, "{}", run.text);
    let want = format!(
        "line {line} column {column}: {CHANGE} T-01: confirmed_by \"passer-by\" is no owner; add on_behalf_of \
         (owners: {WORKER}, {OWNER}, {LEAD})"
    );
    assert!(run.error().ends_with(&want), "{}", run.text);

    let wrong =
        text.replace("confirmed_by: passer-by", "confirmed_by: passer-by\n        on_behalf_of: nobody");
    let (line, column) = at(&wrong, "on_behalf_of: nobody");
    let run = lab.check(&["--decisions", &lab.decided(&wrong)]);
    assert_eq!(run.code, 2);
    let want = format!("line {line} column {column}: {CHANGE} T-01: on_behalf_of \"nobody\" is no owner");
    assert!(run.error().contains(&want), "{}", run.text);

    let right = text.replace(
        "confirmed_by: passer-by",
        &format!("confirmed_by: passer-by\n        on_behalf_of: {WORKER}"),
    );
    lab.upgrade(&["--decisions", &lab.decided(&right)]).assert_done();
    let decision = &lab.record_entries("evidence/T-01.md")[0].0["decision"];
    assert_eq!((&decision["confirmed_by"], &decision["on_behalf_of"]), (&json!("passer-by"), &json!(WORKER)));
}

// ---- the reference ----------------------------------------------------------------------------------

#[test]
fn reference_must_be_a_file_below_the_change() {
    let lab = open();
    let text = filled(&lab.decisions(&[]), "retire");
    for wrong in ["NOWHERE.md", "../2026-08-01-login/LOG.md", "/etc/passwd", "evidence", "."] {
        let text = replace_value(&text, "reference", wrong);
        let line = text.lines().position(|l| l.contains("reference:")).unwrap() + 1;
        let run = lab.check(&["--decisions", &lab.decided(&text)]);
        assert_eq!(run.code, 2, "{wrong}: {}", run.text);
        let want =
            format!("line {line} column 20: {CHANGE} T-01: reference {wrong:?} is no file below the change");
        assert!(run.error().ends_with(&want), "{}", run.text);
    }
    for right in ["evidence/T-01.md", "./LOG.md", ".status.json"] {
        let file = lab.decided(&replace_value(&text, "reference", right));
        lab.check(&["--decisions", &file]).assert_done();
    }
}

// ---- faults of the file -----------------------------------------------------------------------------

/// The fault that a decisions file has, and where.
#[track_caller]
fn assert_fault(lab: &Lab, text: &str, want: &str) {
    let run = lab.check(&["--decisions", &lab.decided(text)]);
    assert_eq!(run.code, 2, "{text}\n{}", run.text);
    assert!(run.error().contains(want), "{text}\n{}", run.text);
    assert!(run.error().contains("decisions.yaml: line "), "{}", run.text);
}

#[test]
fn faults_of_the_file_name_line_and_column() {
    let lab = open();
    for (text, want) in [
        ("schema_version: 2\n", "line 1 column 17: schema_version is 2, this tool reads 1"),
        ("lead: x\n", "line 1 column 1: missing field `schema_version`"),
        ("schema_version: 1\nleed: x\n", "line 2 column 1: unknown field `leed`"),
        (
            "schema_version: 1\nlead: a\nlead: b\n",
            "line 3 column 1: the key \"lead\" stands twice, first at line 2 column 1",
        ),
        ("schema_version: 1\nlead: unassigned\n", "line 2 column 7: lead must name somebody"),
        ("schema_version: [\n", "line 2 column 1"),
        ("schema_version: 1\nlead:\tx: y\n", "line 2 column"),
        (
            "schema_version: 1\naccept_unmapped: [config.json]\n",
            "line 2 column 19: accept_unmapped \"config.json\" must look like",
        ),
        ("schema_version: 1\nchanges:\n  login: {}\n", "line 3 column 3: \"login\" is no change name"),
        (
            "schema_version: 1\nchanges:\n  2026-08-01-login: {lead: \" \"}\n",
            "line 3 column 28: the lead of 2026-08-01-login must name",
        ),
        (
            "schema_version: 1\nchanges:\n  2026-08-01-login:\n    workspase: x\n",
            "line 4 column 5: changes.2026-08-01-login: unknown field `workspase`",
        ),
        (
            "schema_version: 1\nchanges:\n  2026-08-01-login:\n    tickets: {T-1: {}}\n",
            "line 4 column 20: changes.2026-08-01-login.tickets.T-1: missing field `action`",
        ),
        ("schema_version: 1\n? {a: b}\n: c\n", "line 2 column 3: a key must be a plain name"),
        ("\u{feff}schema_version: 1\nlead: [a]\n", "line 2 column 7"),
    ] {
        assert_fault(&lab, text, want);
    }
}

#[test]
fn file_that_is_no_text() {
    let lab = open();
    let path = lab.beside("decisions.yaml");
    std::fs::write(&path, b"schema_version: 1\nlead: \xff\n").unwrap();
    let run = lab.check(&["--decisions", path.to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(run.error().contains("line 2 column 7: no UTF-8"), "{}", run.text);
}

#[test]
fn file_that_is_not_there_or_a_folder() {
    let lab = open();
    for path in [lab.beside("nothing.yaml"), lab.root.clone()] {
        let run = lab.check(&["--decisions", path.to_str().unwrap()]);
        assert_eq!(run.code, 2, "{}", run.text);
    }
}

#[test]
fn alias_bomb_is_refused_at_once() {
    let mut text = String::from("schema_version: 1\na0: &a0 [x]\n");
    for n in 1..10 {
        text += &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "));
    }
    let lab = open();
    let start = std::time::Instant::now();
    assert_eq!(lab.check(&["--decisions", &lab.decided(&text)]).code, 2);
    let deep = format!("schema_version: 1\nlead: {}\n", "[".repeat(100_000));
    assert_eq!(lab.check(&["--decisions", &lab.decided(&deep)]).code, 2);
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn values_of_a_ticket_that_are_wrong() {
    let lab = open();
    let text = filled(&lab.decisions(&[]), "retire");
    for (from, to, want) in [
        ("action: retire", "action: stop", "unknown variant `stop`, expected `continue` or `retire`"),
        ("writers: stopped", "writers: gone", "unknown variant `gone`, expected `stopped` or `handed-over`"),
        ("confirmed_by: lead-7", "confirmed_by: \"\"", "column 23: T-01: confirmed_by must name somebody"),
        ("      T-01:", "      T1:", "column 7: \"T1\" is no ticket id (T-NN or direct-spec)"),
        ("        seen:", "        sean:", "unknown field `sean`"),
    ] {
        assert!(text.contains(from), "{from}");
        let wrong = text.replace(from, to);
        let line = wrong.lines().position(|l| l.contains(to.trim())).unwrap() + 1;
        assert_fault(&lab, &wrong, &format!("line {line} "));
        assert_fault(&lab, &wrong, want);
    }
    for (key, value, want) in [
        ("record_sha256", "abc", "column 24: T-01: record_sha256 must be 64 hex digits"),
        ("seen", "0123456789", "column 15: T-01: seen must be 12 hex digits"),
    ] {
        assert_fault(&lab, &replace_value(&text, key, value), want);
    }
}

#[test]
fn e2e_of_a_ticket_that_is_wrong() {
    let lab = open();
    let text = filled(&lab.decisions(&[]), "continue");
    for (e2e, want) in [
        (
            "{required: true, status: done}",
            "column 39: T-01: e2e.status must be pending, passed, failed or not-required",
        ),
        ("{status: pending}", "missing field `required`"),
        ("{required: maybe, status: pending}", "invalid type: string \"maybe\", expected a boolean"),
    ] {
        assert_fault(&lab, &format!("{text}        e2e: {e2e}\n"), want);
    }
}

#[test]
fn texts_that_look_like_numbers_are_texts() {
    // One in a few hundred digests is all digits but for one `e`.
    let lab = open();
    let text = filled(&lab.decisions(&[]), "retire");
    for (seen, pin) in [("123456789012", "1".repeat(64)), ("12e456789012", format!("1e{}", "1".repeat(62)))] {
        let text = text.lines().map(|l| match l.trim_start().split(':').next() {
            Some("seen") => format!("        seen: {seen}\n"),
            Some("record_sha256") => format!("        record_sha256: {pin}\n"),
            Some("confirmed_by") => "        confirmed_by: 007\n".to_string(),
            Some("writers") => format!("        writers: stopped\n        on_behalf_of: {OWNER}\n"),
            _ => format!("{l}\n"),
        });
        let text: String = text.collect();
        lab.check(&["--decisions", &lab.decided(&text)]).assert_blocked("stale-decision");
    }
    // A column behind such a text on the same line is still the right one.
    let line = "      T-02: {seen: 123456789012, record_sha256: 12, action: stop}\n";
    let run = lab.check(&["--decisions", &lab.decided(&format!("{text}{line}"))]);
    let column = line.find("stop").unwrap() + 1;
    assert!(run.error().contains(&format!(" column {column}: ")), "{column}: {}", run.text);
}

#[test]
fn decision_about_a_change_that_is_not_there() {
    let lab = open();
    assert_fault(
        &lab,
        "schema_version: 1\nchanges:\n  2026-09-09-gone: {lead: x}\n",
        "line 3 column 3: 2026-09-09-gone is no change of this state",
    );
}

#[test]
fn decision_about_an_archived_change_is_a_note() {
    let lab = open();
    lab.write(&spec("archive/2026-07/2026-07-01-gone/.status.json"), "{}");
    let pins = format!("record_sha256: \"{}\", seen: \"{}\"", "0".repeat(64), "0".repeat(12));
    let ticket = format!("{{action: retire, writers: stopped, confirmed_by: x, reference: LOG.md, {pins}}}");
    let text = format!("schema_version: 1\nchanges:\n  2026-07-01-gone: {{tickets: {{T-01: {ticket}}}}}\n");
    let run = lab.check(&["--decisions", &lab.decided(&text)]);
    run.assert_blocked("active-worktree");
    assert!(run.message("already-current").contains("the change is archived"), "{}", run.text);
}

#[test]
fn decision_about_a_ticket_without_a_record() {
    let lab = open();
    let text = filled(&lab.decisions(&[]), "retire").replace("      T-01:", "      T-02:");
    let line = text.lines().position(|l| l == "      T-02:").unwrap() + 1;
    assert_fault(
        &lab,
        &text,
        &format!("line {line} column 7: {CHANGE} T-02: there is no record of this ticket"),
    );
}

#[test]
fn decision_about_a_change_that_is_migrated_is_a_note() {
    for action in ["continue", "retire"] {
        let lab = open();
        let file = lab.decide(action);
        lab.upgrade(&["--decisions", &file]).assert_done();
        lab.commit();
        let run = lab.check(&["--decisions", &file]);
        run.assert_done();
        assert_eq!(run.writes(), Vec::<&str>::new());
        let told: Vec<_> = run.all("already-current").iter().map(|f| f["message"].clone()).collect();
        assert!(
            told.contains(&json!(
                "the decision about T-01 is settled: its old record stands in history already"
            )),
            "{told:?}"
        );
    }
}

fn replace_value(text: &str, key: &str, value: &str) -> String {
    let lines = text.lines().map(|l| match l.trim_start().split(':').next() {
        Some(k) if k == key => format!("        {key}: \"{value}\"\n"),
        _ => format!("{l}\n"),
    });
    lines.collect()
}

fn sha256(text: &str) -> String {
    specdev_migrate::history::sha256(text.as_bytes())
}

impl Lab {
    /// What `seen` is today, asked of a copy of the record that is open.
    fn seen_of_open_copy(&self) -> String {
        let path = in_change(".status.json");
        let kept = self.read(&path);
        self.write(&spec(&path), kept.replace("\"status\": \"integrated\"", "\"status\": \"review\""));
        let text = self.decisions(&[]);
        self.write(&spec(&path), kept);
        let line = text.lines().find(|l| l.trim_start().starts_with("seen:")).unwrap();
        line.split('"').nth(1).unwrap().to_string()
    }
}
