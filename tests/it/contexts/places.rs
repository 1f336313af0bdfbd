//! The same facts from wherever the project lies and the tool is started.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::lab::*;
use super::open::run_next_in;

/// One finished record with a worktree, one open one with a worktree and a dirty file, one stray.
fn fill(lab: &Lab) {
    let records = vec![v5(lab, "T-01", "integrated"), v5(lab, "T-02", "active")];
    lab.state(&[Change::v5(records).evidence(&["T-01", "T-02"]).tickets("done", &["T-01"])]);
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    lab.worktree(&path_of("T-02"), &branch_of("T-02"), &lab.side(&lab.m(1), "work"));
    lab.write(&format!("{}/new.txt", path_of("T-02")), "x");
    lab.branch(&branch_of("T-09"), &lab.m(1));
}

#[track_caller]
fn assert_seen(run: &Run) {
    run.assert_blocked("active-worktree");
    let message = run.message("active-worktree");
    let want = format!(
        "its status is active; {path} holds 1 uncommitted file (new.txt); {path}: registered worktree, 1 uncommitted file",
        path = path_of("T-02")
    );
    assert!(message.contains(&want), "{message}");
}

#[test]
fn project_in_a_subfolder_of_the_repository() {
    let lab = Lab::in_subfolder("apps/shop");
    lab.write(".gitignore", "specdev-worktree/\n");
    fill(&lab);
    let run = lab.check(&[]);
    assert_seen(&run);
    assert_eq!(run.one("active-worktree")["file"], format!("apps/shop/{}", spec(&in_change(".status.json"))));
    let file = lab.decide("continue");
    let run = lab.upgrade(&["--decisions", &file]);
    run.assert_done();
    assert_eq!(run.notes(), "leftover-branch");
    // The context calls the worktree as the records did: below the project root.
    assert_eq!(lab.context()["workspace_ref"], path_of("T-02"));
    assert_eq!(lab.record("T-01")["status"], "verified");
}

#[test]
fn worktrees_of_a_project_in_a_subfolder_lie_below_the_project_not_the_repository() {
    let lab = Lab::in_subfolder("apps/shop");
    lab.write(".gitignore", "specdev-worktree/\n");
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    let above = lab.top.join(path_of("T-01"));
    lab.worktree(above.to_str().unwrap(), &branch_of("T-01"), &lab.m(1));
    lab.check(&[]).assert_blocked("worktree-drift");
}

/// The report without the lines to type, which depend on where one is.
fn bare(run: &Run) -> Value {
    let mut json = run.json.clone();
    for finding in json["findings"].as_array_mut().unwrap() {
        finding["next"] = Value::Null;
    }
    json
}

/// The same report from elsewhere, and lines to type that work there.
#[track_caller]
fn assert_same(here: &Run, there: &Run, folder: &Path) {
    assert_eq!(bare(here), bare(there), "{}", folder.display());
    run_next_in(folder, there, 4);
}

#[test]
fn project_named_from_elsewhere() {
    let lab = Lab::new();
    fill(&lab);
    let here = lab.check(&[]);
    assert_seen(&here);
    let away = lab.beside("away from it");
    fs::create_dir(&away).unwrap();
    for place in [lab.root.clone(), lab.root.join("speculo/.speculo"), lab.root.join(spec("changes"))] {
        let out = run(lab.tool(&away).args(["--dry-run", "--format", "json", place.to_str().unwrap()]));
        assert_same(&here, &out, &away);
    }
}

#[test]
fn project_seen_from_a_folder_inside() {
    let lab = Lab::new();
    fill(&lab);
    let inside = lab.root.join(spec("changes"));
    let out = run(lab.tool(&inside).args(["--dry-run", "--format", "json"]));
    assert_same(&lab.check(&[]), &out, &inside);
}

#[test]
fn project_reached_through_a_link() {
    let lab = Lab::new();
    fill(&lab);
    let here = lab.check(&[]);
    let link = lab.beside("link");
    symlink(&lab.root, &link).unwrap();
    let mut command = lab.tool(&link);
    let out = run(command.env("PWD", &link).args(["--dry-run", "--format", "json"]));
    assert_eq!(out.stdout, here.stdout);
    let away = lab.beside("away");
    fs::create_dir(&away).unwrap();
    let out = run(lab.tool(&away).args(["--dry-run", "--format", "json", link.to_str().unwrap()]));
    assert_same(&here, &out, &away);
}

#[test]
fn worktrees_added_through_a_link() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    let link = lab.beside("link");
    symlink(&lab.root, &link).unwrap();
    let path = link.join(path_of("T-01"));
    lab.worktree(path.to_str().unwrap(), &branch_of("T-01"), &lab.m(1));
    let run = lab.check(&[]);
    run.assert_done();
    assert_eq!(run.notes(), "");
}

#[test]
fn run_in_a_linked_worktree() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "integrated")]).led_by(LEAD).evidence(&["T-01"])]);
    let linked = lab.beside("linked");
    lab.worktree(linked.to_str().unwrap(), "feature", &lab.side("main", "on feature"));
    let out = run(lab.tool(&linked).args(["--format", "json"]));
    out.assert_done();
    assert_eq!(out.json["git"]["head_branch"], "feature");
    // The configured branch counts, not the one checked out here.
    let readme = fs::read_to_string(linked.join(spec(&in_change("README.md")))).unwrap();
    assert_eq!(fenced(&readme, "## Execution Context").unwrap()["branch"], "main");
    // The main checkout is another copy of the state.
    assert!(!lab.exists(&in_change("README.md")));
}

#[test]
fn worktrees_below_another_checkout_are_drift_here() {
    let lab = Lab::new();
    fill(&lab);
    let linked = lab.beside("linked");
    lab.worktree(linked.to_str().unwrap(), "feature", "main");
    let out = run(lab.tool(&linked).args(["--dry-run", "--format", "json"]));
    out.assert_blocked("active-worktree worktree-drift");
    // One for each record, and where git has it.
    assert_eq!(out.all("worktree-drift").len(), 2);
    let path = lab.root.join(path_of("T-01"));
    assert!(out.text.contains(&format!("but git has {} on", path.display())), "{}", out.text);
}

#[test]
fn run_in_a_ticket_s_own_worktree() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")]).evidence(&["T-01"])]);
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), "main");
    let out = run(lab.tool(&lab.root.join(path_of("T-01"))).args(["--dry-run", "--format", "json"]));
    assert_eq!(out.code, 4, "{}", out.text);
    assert!(out.stops().contains("active-worktree"));
}

#[test]
fn worktree_on_another_file_of_the_same_name_is_another() {
    // A folder of the recorded name that belongs to another repository.
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    let inner = lab.root.join(path_of("T-01"));
    fs::create_dir_all(&inner).unwrap();
    git(&inner, &["init", "-q", "-b", &branch_of("T-01"), "--template="]);
    fs::write(inner.join("new.txt"), "x").unwrap();
    lab.check(&[]).assert_done();
}

#[test]
fn bare_main_repository_with_linked_worktrees() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")])
        .evidence(&["T-01"])
        .tickets("done", &["T-01"])]);
    let bare = lab.beside("bare.git");
    git(&lab.top, &["clone", "-q", "--bare", lab.top.to_str().unwrap(), bare.to_str().unwrap()]);
    let checkout = lab.beside("checkout");
    git(&bare, &["worktree", "add", "-q", checkout.to_str().unwrap(), "main"]);
    let path = checkout.join(path_of("T-01"));
    git(&bare, &["worktree", "add", "-q", "-b", &branch_of("T-01"), path.to_str().unwrap(), &lab.m(1)]);
    let out = run(lab.tool(&checkout).args(["--dry-run", "--format", "json"]));
    out.assert_done();
    fs::write(path.join("new.txt"), "x").unwrap();
    let out = run(lab.tool(&checkout).args(["--dry-run", "--format", "json"]));
    out.assert_blocked("active-worktree");
}

#[test]
fn unborn_and_detached_heads() {
    let lab = Lab::new();
    let change =
        Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"]).tickets("done", &["T-01"]);
    lab.state(&[change]);
    lab.git(&["checkout", "-q", "--detach"]);
    lab.check(&[]).assert_done();
    lab.git(&["symbolic-ref", "HEAD", "refs/heads/new"]);
    let run = lab.check(&[]);
    run.assert_done();
    assert_eq!(run.json["git"]["head_branch"], json!(null));
    assert!(run.writes().contains(&in_change("README.md").as_str()));
}

#[test]
fn repository_with_sha256_objects() {
    let lab = Lab::without_git();
    let init = git_command(&lab.root)
        .args(["init", "-q", "-b", "main", "--object-format=sha256", "--template="])
        .output()
        .unwrap();
    if !init.status.success() {
        return;
    }
    git(&lab.root, &["commit", "-q", "--allow-empty", "-m", "m0"]);
    let base = git(&lab.root, &["rev-parse", "HEAD"]);
    let source = Lab::new();
    let places = [
        ("/base_sha", json!(base)),
        ("/source_checkpoint", json!(base)),
        ("/integration/result_sha", json!(base)),
        ("/integration/candidate_sha", json!(base)),
    ];
    let record = with(v5(&source, "T-01", "integrated"), &places);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"]).tickets("done", &["T-01"])]);
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["base_sha"].as_str().unwrap().len(), 64);
    assert_eq!(lab.record("T-01")["status"], "verified");
}
