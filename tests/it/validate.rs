//! Validation: every rule against a tree that keeps it and one that breaks it, and what is rendered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use specdev_migrate::decisions::Decisions;
use specdev_migrate::doc::yaml::Frontmatter;
use specdev_migrate::migrations;
use specdev_migrate::plan::{Request, plan};
use specdev_migrate::state::layout::{Discovery, Layout};
use specdev_migrate::state::papers::Papers;
use specdev_migrate::state::tree::Tree;
use specdev_migrate::validate::{self, Class, Look, Options, RULES, Rule, Stage, Violation};

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
        let request = Request { tree: &tree, release, decisions: &decisions, partial: false, facts: None };
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
