//! Whole states of an era, upgraded to a release; and two ways that lead to one version.

use std::collections::{BTreeMap, BTreeSet};

use specdev_migrate::doc::content::Content;
use specdev_migrate::doc::json::Document;
use specdev_migrate::doc::yaml::Frontmatter;
use specdev_migrate::history::TITLE;
use specdev_migrate::migrations::{NEWEST, RELEASES};
use specdev_migrate::schema;
use specdev_migrate::state::artifact::Artifact;
use specdev_migrate::step::Release;

use crate::steps::check_upgrade;
use crate::support::{Checked, Fixture, Project, check_all, fixtures, same};

/// Releases whose state lies on disk somewhere, oldest first.
const ERAS: [&str; 6] = ["0.6", "0.7.1", "0.7.2", "0.7.3", "0.7.6", "2.0"];

#[test]
fn fixture_of_chain() {
    check_all(&fixtures("chain"), |fixture| check_upgrade(fixture).map(drop));
}

/// Era × release: every cell has a fixture, except where there is nothing to do.
#[test]
fn every_era_goes_to_every_release() {
    let wanted: BTreeSet<(&str, &str)> = ERAS
        .into_iter()
        .flat_map(|era| RELEASES.iter().map(move |r| (era, r.name)))
        // Plans of version 7 are above what 0.7.3 writes.
        .filter(|cell| *cell != ("2.0", "0.7.3"))
        .collect();
    let all = fixtures("chain");
    let found: BTreeSet<(&str, &str)> = all.iter().map(|f| (era_of(f), release_of(f).name)).collect();
    assert_eq!(found, wanted);
}

/// `chain/<era>_<case>`
fn era_of(fixture: &Fixture) -> &str {
    fixture.name.split(['/', '_']).nth(1).unwrap_or_default()
}

fn release_of(fixture: &Fixture) -> &'static Release {
    let options = fixture.options();
    let named = options.iter().position(|o| o == "--to").map(|i| options[i + 1].clone());
    RELEASES.iter().find(|r| Some(r.name) == named.as_deref()).unwrap_or(NEWEST)
}

/// What came of a run is of the release's versions, or was above them before, and satisfies its schemas.
#[test]
fn result_is_of_the_release() {
    let all: Vec<Fixture> = fixtures("chain").into_iter().chain(fixtures("steps")).collect();
    check_all(&all, |fixture| {
        if fixture.options().iter().any(|o| o == "--partial") {
            return Ok(());
        }
        let project = fixture.lay_out();
        let before = artifacts(&project);
        project.run(fixture.options());
        for (file, (artifact, value)) in artifacts(&project) {
            let version = value["schema_version"].as_u64().unwrap_or_default();
            let was = before.get(&file).and_then(|(_, v)| v["schema_version"].as_u64()).unwrap_or(version);
            let target = release_of(fixture).target(artifact).unwrap_or_default();
            if version != was.max(target) {
                return Err(format!("{file} was version {was} and is {version}; the target is {target}"));
            }
            let faults = schema::check(artifact, version, &value);
            if was < version && !faults.is_empty() {
                return Err(format!("{file} version {version}: {faults:?}"));
            }
        }
        Ok(())
    });
}

/// Direct or stepwise: the artifacts are equal. (With git facts they need not be: 0.7.3 has no execution
/// contexts, and records it could not carry stand in history when 2.0.6 comes.)
#[test]
fn stepwise_is_direct() {
    let all: Vec<Fixture> = fixtures("chain").into_iter().chain(fixtures("steps")).collect();
    let plain = |f: &Fixture| !f.has("setup") && !f.options().iter().any(|o| o == "--to" || o == "--partial");
    let all: Vec<Fixture> = all.into_iter().filter(plain).collect();
    check_all(&all, |fixture| {
        let (direct, stepwise) = (fixture.lay_out(), fixture.lay_out());
        let with = |more: &[&str]| -> Vec<String> {
            fixture.options().into_iter().chain(more.iter().map(ToString::to_string)).collect()
        };
        expect_done(&direct, &with(&[]))?;
        expect_done(&stepwise, &with(&["--to", "0.7.3"]))?;
        expect_done(&stepwise, &with(&[]))?;
        same_state(&direct, &stepwise)
    });
}

/// Every plan of version 3 and 4, in every style, goes to version 8 in one run as in two.
#[test]
fn plans_of_the_first_step_go_on_to_the_newest() {
    let all: Vec<Fixture> =
        fixtures("steps").into_iter().filter(|f| f.name.starts_with("steps/goal_plan_v3_v5/")).collect();
    check_all(&all, |fixture| {
        let (direct, stepwise) = (fixture.lay_out(), fixture.lay_out());
        let before = direct.snapshot();
        let first = fixture.options();
        let mut last = first.clone();
        last.drain(..2);
        expect_done(&stepwise, &first)?;
        expect_done(&stepwise, &last)?;
        expect_done(&direct, &last)?;
        same_state(&direct, &stepwise)?;
        for (file, node) in direct.files().iter().filter(|(name, _)| name.ends_with("goal-plan.md")) {
            let header = Frontmatter::parse(&node.bytes).map_err(|f| format!("{file}: {f:?}"))?;
            if header.value()["schema_version"] != 8 {
                return Err(format!("{file}: {}", header.value()));
            }
        }
        expect_done(&direct, &["restore".to_string()])?;
        before.lasting().check("restore of the direct run left", &direct.snapshot().lasting())?;
        // Two runs are undone one by one.
        expect_done(&stepwise, &["restore".to_string()])?;
        expect_done(&stepwise, &["restore".to_string()])?;
        before.lasting().check("two restores left", &stepwise.snapshot().lasting())
    });
}

fn expect_done(project: &Project, options: &[String]) -> Checked {
    let ran = project.run(options);
    if ran.code == 0 { Ok(()) } else { Err(format!("{options:?}: exit {}\n{}", ran.code, ran.stderr)) }
}

/// Everything but history is equal; the line of a plan that names its history entry aside.
fn same_state(a: &Project, b: &Project) -> Checked {
    let (a, b) = (without_history(a), without_history(b));
    let names = |m: &BTreeMap<String, Vec<u8>>| m.keys().cloned().collect::<Vec<_>>().join("\n");
    same("files of both ways", names(&a).as_bytes(), names(&b).as_bytes())?;
    a.iter().try_for_each(|(name, bytes)| same(name, bytes, &b[name]))
}

fn without_history(project: &Project) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    for (name, node) in project.files() {
        if name.ends_with("/HISTORY.md") {
            continue;
        }
        let mut bytes = node.bytes;
        if name.contains("/evidence/") {
            let content = Content::from(bytes.clone());
            if let Ok(Some(section)) = content.outline().section(2, TITLE) {
                bytes.drain(section.heading.start..section.body.end);
            }
        }
        if name.ends_with("goal-plan.md") {
            let line = b" is kept in `HISTORY.md`, entry `";
            if let Some(at) = bytes.windows(line.len()).rposition(|w| w == line) {
                bytes.drain(at + line.len()..at + line.len() + 12);
            }
        }
        out.insert(name, bytes);
    }
    out
}

/// The values of config, index, change-status and goal plans, by path.
fn artifacts(project: &Project) -> BTreeMap<String, (Artifact, serde_json::Value)> {
    let mut out = BTreeMap::new();
    for (name, node) in project.files() {
        let Some((_, below)) = name.split_once("/specdev/").filter(|(root, _)| !root.contains("back")) else {
            continue;
        };
        let parts: Vec<&str> = below.split('/').collect();
        let artifact = match parts.as_slice() {
            ["config.json"] => Artifact::Config,
            ["status.json"] => Artifact::Status,
            ["changes", _, ".status.json"] => Artifact::ChangeStatus,
            ["changes", _, "goal-plan.md"] => Artifact::GoalPlan,
            _ => continue,
        };
        let value = match artifact {
            Artifact::GoalPlan => Frontmatter::parse(&node.bytes).map(|h| h.value().clone()).ok(),
            _ => Document::parse(&node.bytes).map(|d| d.value().clone()).ok(),
        };
        if let Some(value) = value {
            out.insert(name, (artifact, value));
        }
    }
    out
}
