//! What most commands begin with: find the state, read it, ask git, read the decisions.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use crate::apply::{self, Target, Worktree};
use crate::cli::{Goal, Place};
use crate::decisions::Decisions;
use crate::error::{Error, Kind, Result};
use crate::facts::{self, Facts};
use crate::finding::{Finding, Severity};
use crate::git::{self, Git, GitFault, Opening, Program};
use crate::history::short_sha256;
use crate::migrations::{self, NEWEST, RELEASES};
use crate::plan::{self, Plan, Request};
use crate::render::Seen;
use crate::state::artifact::Artifact;
use crate::state::change::JsonFile;
use crate::state::layout::{Discovery, Layout, SPECDEV, posix_below};
use crate::state::record::Records;
use crate::state::tree::{Top, Tree};
use crate::step::Release;

/// A state that was found and read.
#[derive(Debug)]
pub struct Session {
    /// The state.
    pub tree: Tree,
    /// The goal.
    pub release: &'static Release,
    /// Whether the goal was named.
    pub names_release: bool,
    /// The owner's answers.
    pub decisions: Decisions,
    /// The repository, when there is one and it may be asked.
    pub git: Option<Git>,
    /// What it shows.
    pub facts: Option<Facts>,
    /// Whether plans keep the account of every value.
    pub account: bool,
    /// What stops everything before a plan can be made.
    pub refused: Vec<Finding>,
    /// The plan, where it was found without git that there is nothing to do.
    settled: Option<Plan>,
}

/// A state, or what forbids to look further.
#[derive(Debug)]
pub enum Found {
    /// The places.
    Layout(Layout),
    /// Links, special files, paths out of the project.
    Refused(Vec<Finding>),
}

/// Find the state. Fails when a run over it is under way or was interrupted: what lies there then is
/// neither old nor new.
pub fn find(place: &Place) -> Result<Found> {
    let found = find_unsettled(place)?;
    if let Found::Layout(layout) = &found {
        settled(layout)?;
    }
    Ok(found)
}

/// Find the state, also one that an interrupted run left.
pub fn find_unsettled(place: &Place) -> Result<Found> {
    Ok(match Layout::discover(&place.path, place.state.as_deref())? {
        Discovery::Found(layout) => Found::Layout(layout),
        Discovery::Refused(findings) => Found::Refused(findings),
    })
}

/// The places, or the first refusal as a failure.
pub fn layout(found: Found) -> Result<Layout> {
    match found {
        Found::Layout(layout) => Ok(layout),
        Found::Refused(findings) => Err(refusal(&findings)),
    }
}

/// A refusal as a failure, for commands that have no report of findings.
pub fn refusal(findings: &[Finding]) -> Error {
    let Some(first) = findings.first() else { return Error::internal("a refusal without a reason") };
    let place = first.place.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
    let kind = if first.code.exit() == 6 { Kind::Invalid } else { Kind::Blocked };
    let mut error = Error::new(kind, format!("{place}{} ({})", first.message, first.code));
    first.next.iter().for_each(|n| error = error.clone().hint(n));
    error
}

/// Find the release by name.
pub fn release(name: Option<&str>) -> Result<&'static Release> {
    let Some(name) = name else { return Ok(NEWEST) };
    migrations::release(name).ok_or_else(|| {
        let known: Vec<&str> = RELEASES.iter().map(|r| r.name).collect();
        Error::new(Kind::Usage, format!("unknown release {name:?}; this tool knows {}", known.join(" and ")))
            .hint(format!("specdev-migrate --to {}", NEWEST.name))
    })
}

impl Session {
    /// Read everything a plan is made from. With `shows_facts` all that git shows is asked for, also where
    /// nothing depends on it.
    pub fn open(
        place: &Place,
        goal: &Goal,
        shows_facts: bool,
    ) -> Result<std::result::Result<Session, Vec<Finding>>> {
        let release = release(goal.to.as_deref())?;
        let decisions = match &goal.decisions {
            Some(path) => read_decisions(path)?,
            None => Decisions::default(),
        };
        let layout = match find(place)? {
            Found::Layout(layout) => layout,
            Found::Refused(findings) => return Ok(Err(findings)),
        };
        let root = &layout.project_root;
        let top = Top::read(&layout)?;
        // Where all speaks for a state that needs nothing, git is asked only whether it works.
        let may_settle = !shows_facts && goal.decisions.is_none();
        let asks_all = !may_settle || !is_current(&top, release) || !git::is_quiet(root);
        let begin = if asks_all { Git::begin } else { Git::begin_open };
        let git = if goal.no_git { None } else { begin(root, &Program::default()) };
        let tree = top.with_changes()?;
        references(&tree, &decisions)?;
        let mut session = Session {
            tree,
            release,
            names_release: goal.to.is_some(),
            decisions,
            git: None,
            facts: None,
            account: false,
            refused: Vec::new(),
            settled: None,
        };
        if let Some(git) = git {
            // Before anybody waits for git.
            let records = records_of(&session.tree);
            if !asks_all {
                session.settled = session.settle(&records)?;
            }
            if let Err(fault) = session.ask_git(git, root, records) {
                session.refused.push(fault.finding());
            }
        }
        Ok(Ok(session))
    }

    /// The plan, when there is nothing to do and nothing in git could change that.
    fn settle(&self, records: &[Records]) -> Result<Option<Plan>> {
        if records.iter().any(|r| !r.list.is_empty() || !r.faults.is_empty()) {
            return Ok(None);
        }
        let plan = plan::plan(self.request(false))?;
        let is_settled = plan.files.is_empty() && !plan.is_pending && !plan.is_stopped();
        Ok(is_settled.then_some(plan))
    }

    /// Collect the facts; `records` are those of all changes, without what stands in history.
    fn ask_git(
        &mut self,
        git: Opening,
        root: &Path,
        mut records: Vec<Records>,
    ) -> std::result::Result<(), GitFault> {
        if self.settled.is_some() {
            self.git = Some(git.open()?);
            return Ok(());
        }
        let (git, survey) = git.finish()?;
        let git = self.git.insert(git);
        // Only where history can own something it is read for that.
        if facts::shows_items(&survey, root) {
            records = plan::records(&self.tree);
        }
        let config = self.tree.config.as_ref().and_then(|f| f.doc().ok());
        let branch = config.and_then(|d| d.value().pointer("/git/default_branch")?.as_str());
        self.facts = Some(Facts::from_survey(git, survey, root, &records, branch, &self.decisions)?);
        // Of many changes they take a while to let go, for which nobody has to wait.
        rayon::spawn(move || drop(records));
        Ok(())
    }

    /// What was seen of the repository; `None` where it was not asked, or did not answer.
    pub fn seen(&self) -> Option<Seen> {
        match (&self.facts, &self.git) {
            (Some(facts), _) => Some(Seen::of(facts)),
            // It was settled because there is nothing else.
            (None, Some(git)) if self.settled.is_some() => {
                Some(Seen { worktrees: 1, branches: 0, is_shallow: git.is_shallow() })
            }
            _ => None,
        }
    }

    /// What a plan is made from.
    pub fn request(&self, partial: bool) -> Request<'_> {
        Request {
            tree: &self.tree,
            release: self.release,
            decisions: &self.decisions,
            partial,
            facts: self.facts.as_ref(),
            account: self.account,
        }
    }

    /// Make the plan; what git refused to say stops all of it.
    pub fn plan(&self, partial: bool) -> Result<Plan> {
        let mut plan = match &self.settled {
            Some(plan) => Plan { partial, ..plan.clone() },
            None => plan::plan(self.request(partial))?,
        };
        if !self.refused.is_empty() {
            plan.files.clear();
            plan.findings.splice(0..0, self.refused.iter().cloned());
        }
        Ok(plan)
    }
}

/// Whether the files that are read first have the versions of the release, or above.
fn is_current(top: &Top<'_>, release: &Release) -> bool {
    let version =
        |file: &Option<JsonFile>| file.as_ref()?.doc().ok()?.value().get("schema_version")?.as_u64();
    [(&top.config, Artifact::Config), (&top.index, Artifact::Status)].into_iter().all(|(file, artifact)| {
        version(file).is_some_and(|v| release.target(artifact).is_some_and(|t| v >= t))
    })
}

/// The records of all changes, without what stands in history. The history beside them is read as Markdown,
/// as every plan does: git is still at work.
fn records_of(tree: &Tree) -> Vec<Records> {
    let records = tree.changes.par_iter().map(|(_, change)| {
        if let Some(file) = &change.history {
            file.bytes.outline();
        }
        // Their values are not kept for all changes.
        Records::read(&change.apart())
    });
    records.collect()
}

/// The exit code the findings ask for: the first of 5, 6, 4; 0 when nothing stops.
pub fn exit_of(findings: &[Finding]) -> u8 {
    let codes: Vec<u8> = findings.iter().filter(|f| f.stops()).map(|f| f.code.exit()).collect();
    [5, 6, 4].into_iter().find(|c| codes.contains(c)).unwrap_or(0)
}

/// Whether any finding is of a severity that stops.
pub fn is_stopped(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.stops() && matches!(f.code.severity(), Severity::Error | Severity::Blocker))
}

/// Where a run over this state writes. The root is what reports are relative to, so that failures name
/// files as everything else does; a run gives it [`Layout::shown`] paths.
pub fn target(layout: &Layout) -> Result<Target> {
    let root = layout.shown_root();
    let specdev = layout.specdev();
    let below_root = |path: &Path| posix_below(root, path).unwrap_or_default();
    let (project, state) = (below_root(&layout.project_root), below_root(&specdev));
    let worktree = layout.git_top.as_deref().and_then(Worktree::at);
    let journal_dir = match &worktree {
        // One folder for each project of a repository, the same in all of its worktrees.
        Some(worktree) => {
            let below = posix_below(&layout.project_root, &specdev).unwrap_or_else(|| SPECDEV.to_owned());
            let name = short_sha256(format!("{project}\0{below}").as_bytes());
            worktree.common.join(format!("specdev-migrate-{name}"))
        }
        None => layout.project_root.join(".specdev-migrate"),
    };
    Ok(Target { root: root.to_path_buf(), project, state, worktree, journal_dir, dir_is_ours: true })
}

/// No run is under way (exit 7), and none was interrupted (exit 9).
pub fn settled(layout: &Layout) -> Result<()> {
    match apply::interrupted(&target(layout)?)? {
        Some(run) => Err(run.error()),
        None => Ok(()),
    }
}

#[expect(clippy::disallowed_methods, reason = "the decisions file is an argument, read once")]
fn read_decisions(path: &Path) -> Result<Decisions> {
    let bytes = fs::read(path).map_err(|e| {
        Error::new(Kind::Usage, format!("cannot read decisions file {}: {e}", path.display()))
    })?;
    Decisions::parse(&path.display().to_string(), &bytes)
}

/// Every `reference` is an existing file below its change.
fn references(tree: &Tree, decisions: &Decisions) -> Result<()> {
    // What is decided about changes that are not there is told by the plan.
    for (name, decided) in decisions.changes.iter().filter(|(name, _)| tree.changes.contains_key(*name)) {
        let folder = tree.layout.specdev().join("changes").join(name);
        for (ticket, t) in &decided.tickets {
            let below = Path::new(&t.reference);
            let is_plain = |c| matches!(c, std::path::Component::Normal(_) | std::path::Component::CurDir);
            if !below.components().all(is_plain) || t.reference.is_empty() || !folder.join(below).is_file() {
                let text =
                    format!("{name} {ticket}: reference {:?} is no file below the change", t.reference);
                let at = ["changes", name, "tickets", ticket, "reference"];
                return Err(decisions.error(decisions.fault(&at, text)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io;

    use super::*;
    use crate::apply::{Disk, Effect, Effects, FileChange, Stop};

    /// Asks before every effect whether everything is settled; may fail the one of this number.
    struct Asking<'a> {
        layout: &'a Layout,
        fails_at: Option<usize>,
        answers: RefCell<Vec<Option<Kind>>>,
    }

    impl Effects for Asking<'_> {
        fn perform(&self, effect: &Effect<'_>) -> io::Result<()> {
            let mut answers = self.answers.borrow_mut();
            answers.push(settled(self.layout).err().map(|e| e.kind));
            if self.fails_at.is_some_and(|n| answers.len() >= n) {
                return Err(io::Error::other("no disk any more"));
            }
            Disk.perform(effect)
        }
    }

    fn run(fails_at: Option<usize>) -> (Vec<Option<Kind>>, Option<Kind>) {
        let root = tempfile::tempdir().unwrap();
        Disk.perform(&Effect::MakeFolder(&root.path().join(SPECDEV))).unwrap();
        let layout =
            Layout { project_root: root.path().into(), state_root: root.path().into(), git_top: None };
        let target = target(&layout).unwrap();
        let lock = apply::lock(&target).unwrap();
        let after = Some(std::sync::Arc::new(b"new".to_vec()));
        let change = FileChange { path: "specdev/a".into(), before: None, after };
        let fx = Asking { layout: &layout, fails_at, answers: RefCell::default() };
        let result = apply::apply(&target, &lock, &[change], &[], &Stop::new(), &fx);
        drop(lock);
        assert_eq!(result.is_err(), fails_at.is_some());
        (fx.answers.take(), settled(&layout).err().map(|e| e.kind))
    }

    #[test]
    fn settled_while_a_run_is_under_way() {
        let (answers, after) = run(None);
        assert!(answers.contains(&Some(Kind::Locked)), "{answers:?}");
        assert!(!answers.contains(&Some(Kind::Recovery)), "{answers:?}");
        assert_eq!(after, None);
    }

    #[test]
    fn settled_after_a_run_that_could_not_go_on() {
        let (_, after) = run(Some(6));
        assert_eq!(after, Some(Kind::Recovery));
    }
}
