//! The registry proves itself: what stands in `CHAIN` stands on disk, is documented, proven and joined.
#![expect(clippy::disallowed_methods, reason = "the registry is compared with the disk")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use specdev_migrate::migrations::{CHAIN, NEWEST, RELEASES, release, steps};
use specdev_migrate::schema;
use specdev_migrate::state::artifact::Artifact;
use specdev_migrate::step::Run;

use crate::steps::step_of;
use crate::support::fixtures;

const ARTIFACTS: [Artifact; 6] = [
    Artifact::Config,
    Artifact::Status,
    Artifact::ChangeStatus,
    Artifact::GoalPlan,
    Artifact::ExecutionContext,
    Artifact::ExecutionRecord,
];

fn names() -> BTreeSet<String> {
    CHAIN.iter().map(|s| s.name.to_string()).collect()
}

fn migrations() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"))
}

#[test]
fn folders_are_the_chain() {
    let mut folders: BTreeSet<String> = fs::read_dir(migrations())
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    assert!(folders.remove("schemas"));
    assert_eq!(folders, names());
}

#[test]
fn names_are_unique() {
    assert_eq!(names().len(), CHAIN.len());
}

#[test]
fn step_has_a_page_and_a_summary() {
    for step in CHAIN {
        let page = fs::read_to_string(migrations().join(step.name).join("README.md")).unwrap();
        assert_eq!(step.page, page, "{}: the page is not the README beside it", step.name);
        assert!(page.starts_with("# ") && page.contains("**Why.**"), "{}", step.name);
        assert!(!step.summary.is_empty() && !step.summary.contains('\n'), "{}", step.name);
    }
}

#[test]
fn step_has_a_fixture() {
    let fixtures = fixtures("steps");
    let proven: BTreeSet<String> = fixtures.iter().map(|f| step_of(f).to_string()).collect();
    assert_eq!(proven, names());
}

#[test]
fn steps_of_an_artifact_are_joined_end_to_end() {
    for artifact in ARTIFACTS {
        let numbered: Vec<_> = steps(artifact).filter(|s| s.to.is_some()).collect();
        for pair in numbered.windows(2) {
            let (first, then) = (pair[0], pair[1]);
            assert!(
                then.from.contains(&first.to.unwrap()),
                "{} does not begin where {} ends",
                then.name,
                first.name
            );
            assert!(then.to > first.to, "{} does not go up", then.name);
        }
        for step in numbered {
            assert!(step.from.iter().all(|v| Some(*v) < step.to), "{} accepts what it writes", step.name);
        }
    }
}

/// Every version a step reads or writes has a schema; records before version 1 have none.
#[test]
fn versions_of_steps_have_schemas() {
    for step in CHAIN {
        for version in step.from.iter().copied().chain(step.to).filter(|v| *v > 0) {
            assert!(schema::known(step.artifact, version), "{}: {} {version}", step.name, step.artifact);
        }
    }
}

#[test]
fn every_version_from_3_on_leads_to_the_newest_target() {
    for artifact in ARTIFACTS {
        let Some(target) = NEWEST.target(artifact) else { continue };
        for start in schema::versions(artifact).iter().copied().filter(|v| *v < target) {
            let mut at = start;
            for step in steps(artifact) {
                if let Some(to) = step.to.filter(|to| *to > at && step.from.contains(&at)) {
                    at = to;
                }
            }
            assert_eq!(at, target, "{artifact} {start}");
        }
    }
}

#[test]
fn run_is_of_the_kind_of_the_artifact() {
    for step in CHAIN {
        let fits = match step.run {
            Run::Json(_) => {
                matches!(step.artifact, Artifact::Config | Artifact::Status | Artifact::ChangeStatus)
            }
            Run::Plan(_) => step.artifact == Artifact::GoalPlan,
            Run::Records(_) => step.artifact == Artifact::ExecutionRecord,
        };
        assert!(fits, "{}", step.name);
    }
}

#[test]
fn targets_of_releases_have_schemas_and_only_grow() {
    for release in &RELEASES {
        for (artifact, version) in release.targets {
            assert!(schema::known(*artifact, *version), "{} {artifact} {version}", release.name);
        }
    }
    for pair in RELEASES.windows(2) {
        for (artifact, version) in pair[0].targets {
            assert!(pair[1].target(*artifact) >= Some(*version), "{} {artifact}", pair[1].name);
        }
    }
    assert_eq!(release(NEWEST.name).map(|r| r.name), Some("2.0.6"));
    assert_eq!(release("0.7.2").map(|r| r.name), None);
}
