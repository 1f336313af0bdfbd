//! The upgrade itself: `--dry-run`, `--check`, or the real run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::thread;

use super::recover::edited_text;
use super::session::{Session, exit_of, target};
use super::{Outcome, Surroundings};
use crate::apply::{self, Applied, Disk, FileChange, Unchanged};
use crate::cli::{Format, Upgrade, word};
use crate::doc::content::Content;
use crate::error::{Error, Kind, Result};
use crate::finding::{Code, Finding, Place, Scope};
use crate::git::{FileState, GitFault};
use crate::plan::Plan;
use crate::render::patch::{Patch, PatchedFile};
use crate::render::{Ended, Mode, Report, aimed, human, json};
use crate::state::artifact::Artifact;
use crate::state::layout::{Layout, quoted};
use crate::verify::{VerifiedPlan, verify};

/// Upgrade the state.
pub fn run(args: &Upgrade, around: &Surroundings) -> Result<Outcome> {
    let mode = match (args.dry_run, args.check) {
        (true, _) => Mode::DryRun,
        (_, true) => Mode::Check,
        _ => Mode::Upgrade,
    };
    // In one of the threads that do the work, so that nobody stands by; writing is the caller's thread's.
    let prepared = match rayon::scope(|_| prepare(args))? {
        Ok(prepared) => prepared,
        Err(findings) => return Ok(refused(args, around, mode, findings)),
    };
    let Prepared { session, verified, states } = prepared;
    let layout = &session.tree.layout;
    if let Some(path) = &args.patch {
        check_is_no_other(path, layout)?;
        write_patch(path, &patch(layout, verified.plan()))?;
    }
    let guards = guards(&session, verified.plan(), args, states)?;
    let stopped = exit_of(&verified.plan().findings);
    let mut ended = Ended::of(mode, verified.plan());
    let mut code = stopped;
    let (mut edited, mut changed) = (Vec::new(), false);
    let mut found = verified.plan().findings.clone();
    match mode {
        Mode::DryRun => found.extend(guards.iter().filter(|g| !g.code.is_guard()).cloned()),
        Mode::Check => {
            found.extend(guards.iter().filter(|g| !g.code.is_guard()).cloned());
            if code == 0 && verified.plan().is_pending {
                code = Kind::Pending.exit();
            }
        }
        Mode::Upgrade => {
            // What stops the run comes first.
            let (stopping, notes): (Vec<&Finding>, Vec<&Finding>) =
                guards.iter().partition(|g| g.code.is_guard());
            found.splice(0..0, stopping.into_iter().cloned());
            found.extend(notes.into_iter().cloned());
            if verified.files().is_empty() {
                // Nothing to write: guards have nothing to guard.
                found.retain(|f| !f.code.is_guard());
            } else if guards.iter().any(|g| g.code.is_guard()) {
                ended = Ended::Guarded;
                code = if code == 0 { Kind::Blocked.exit() } else { code };
            } else {
                let applied = write(&session, &verified, around)?;
                (edited, changed) = (applied.edited, true);
                // Also when the request came after the last file: whoever sent it waits for its code.
                code = around.stop.requested().map_or(code, Kind::exit);
            }
        }
    }
    let place = args.place.words();
    let is_here = Path::new(".").canonicalize().is_ok_and(|here| here == layout.project_root);
    for line in found.iter_mut().flat_map(|finding| &mut finding.next) {
        *line = aimed(line, &place);
        if !is_here && line.starts_with("git ") {
            // What these lines name is relative to the project root.
            let git = format!("git -C {} ", word(&layout.project_root.to_string_lossy()));
            *line = line.replacen("git ", &git, 1).replace("&& git ", &format!("&& {git}"));
        }
    }
    let mut plan = verified.into_plan();
    plan.findings = found;
    let document = Report {
        mode,
        ended,
        plan: &plan,
        layout,
        archived: &session.tree.archived,
        facts: session.facts.as_ref(),
        seen: session.seen(),
        decisions: &session.decisions,
        guards: &guards,
        code,
        place: &place,
    };
    let mut stderr = human::report(&document, args.report.quiet, around.color_err);
    for edited in &edited {
        stderr += &format!("kept: {}\n", human::plain(&edited_text(edited)));
    }
    let stdout = match args.report.format {
        Format::Json => json::report(&document),
        Format::Human => Vec::new(),
    };
    let prints_patch = mode == Mode::DryRun && args.report.format == Format::Human;
    let patch = if prints_patch { patch(layout, &plan) } else { Patch::default() };
    Ok(Outcome { stdout, patch, stderr: stderr.into_bytes(), code, changed })
}

/// A plan that is proven, and what it was made from.
struct Prepared {
    session: Session,
    verified: VerifiedPlan,
    /// How the files to write stand to git.
    states: Option<std::result::Result<States, GitFault>>,
}

/// Everything before the first effect; or what discovery refused.
fn prepare(args: &Upgrade) -> Result<std::result::Result<Prepared, Vec<Finding>>> {
    let is_json = args.report.format == Format::Json;
    let mut session = match Session::open(&args.place, &args.goal, is_json)? {
        Ok(session) => session,
        Err(findings) => return Ok(Err(findings)),
    };
    session.account = is_json;
    let plan = session.plan(args.partial)?;
    if plan.files.is_empty() {
        let verified = verify(session.request(args.partial), plan)?;
        return Ok(Ok(Prepared { session, verified, states: None }));
    }
    let paths: Vec<String> = plan.files.iter().map(|f| session.tree.layout.shown(&f.path)).collect();
    // git compares the files while the plan is proven.
    let (verified, states) = thread::scope(|scope| {
        let asked = scope.spawn(|| states(&session, &paths));
        (verify(session.request(args.partial), plan), asked.join())
    });
    let states = states.map_err(|_| Error::internal("asking git ended in a panic"))?;
    let verified = verified?;
    Ok(Ok(Prepared { session, verified, states }))
}

/// Discovery itself was refused.
fn refused(args: &Upgrade, around: &Surroundings, mode: Mode, mut findings: Vec<Finding>) -> Outcome {
    let code = exit_of(&findings);
    let place = args.place.words();
    for line in findings.iter_mut().flat_map(|finding| &mut finding.next) {
        *line = aimed(line, &place);
    }
    let stderr = human::refusal(&findings, around.color_err).into_bytes();
    let stdout = match args.report.format {
        Format::Json => json::refusal(mode, &findings, code),
        Format::Human => Vec::new(),
    };
    Outcome { stdout, stderr, code, ..Outcome::default() }
}

/// The patch of everything the run writes.
fn patch(layout: &Layout, plan: &Plan) -> Patch {
    Patch { files: plan.files.iter().map(|f| PatchedFile::of(layout, f)).collect() }
}

/// What is in the way of a patch is overwritten when it is a patch, or empty, and no part of the state.
#[expect(clippy::disallowed_methods, reason = "the patch file is an argument, outside the transaction")]
fn check_is_no_other(path: &Path, layout: &Layout) -> Result<()> {
    let refuse = |why: &str| {
        let text = format!("no patch was written: {} {why}; nothing was changed", path.display());
        Err(Error::new(Kind::Usage, text).hint("name a file that is not there yet"))
    };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_in = |folder: &Path| layout.specdev().canonicalize().is_ok_and(|s| folder.starts_with(s));
    if folder.canonicalize().is_ok_and(|f| is_in(&f)) || path.canonicalize().is_ok_and(|p| is_in(&p)) {
        return refuse("lies in the state itself");
    }
    if !path.is_file() {
        return Ok(());
    }
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|f| f.take(PATCH.len() as u64).read_to_end(&mut start));
    match read {
        Ok(_) if start.is_empty() || start == PATCH => Ok(()),
        Ok(_) => refuse("is there and holds something else than a patch"),
        // Writing to it will say what is wrong with it.
        Err(_) => Ok(()),
    }
}

/// How every patch begins.
const PATCH: &[u8] = b"diff --git ";

#[expect(clippy::disallowed_methods, reason = "the patch file is an argument, outside the transaction")]
fn write_patch(path: &Path, patch: &Patch) -> Result<()> {
    let mut pieces = patch.pieces();
    let written =
        fs::File::create(path).and_then(|mut file| pieces.try_for_each(|piece| file.write_all(&piece)));
    written.map_err(|e| {
        Error::new(
            Kind::Failed,
            format!("cannot write the patch to {}: {e}; nothing was changed", path.display()),
        )
    })
}

/// Carry the plan out.
fn write(session: &Session, verified: &VerifiedPlan, around: &Surroundings) -> Result<Applied> {
    let layout = &session.tree.layout;
    let target = target(layout)?;
    around.stop.hold();
    let lock = apply::lock(&target)?;
    let changes: Vec<FileChange> = verified
        .files()
        .iter()
        .map(|f| FileChange {
            path: layout.shown(&f.path),
            before: f.before.as_ref().map(Content::shared),
            after: Some(f.after.shared()),
        })
        .collect();
    let planned: BTreeSet<&str> = verified.files().iter().map(|f| f.path.as_str()).collect();
    // What the plan looked at beside the files it writes, for the state and for every change it writes.
    let is_near = |path: &str| match path.strip_prefix("changes/").and_then(|p| p.split_once('/')) {
        Some((name, _)) => planned.contains(format!("changes/{name}/HISTORY.md").as_str()),
        None => true,
    };
    let also: Vec<Unchanged> = session
        .tree
        .files()
        .filter(|f| !planned.contains(f.path.as_str()) && is_near(&f.path))
        .map(|f| Unchanged::new(layout.shown(&f.path), Some(&f.bytes)))
        .collect();
    apply::apply(&target, &lock, &changes, &also, &around.stop, &Disk)
}

/// How the files to write stand to git; `None` where there is none to ask.
fn states(session: &Session, paths: &[String]) -> Option<std::result::Result<States, GitFault>> {
    let git = session.git.as_ref().filter(|_| session.facts.is_some() && !paths.is_empty())?;
    Some(git.changes(paths))
}

type States = BTreeMap<String, FileState>;

/// Reasons not to write although the plan is good, and notes about files git does not keep.
fn guards(
    session: &Session,
    plan: &Plan,
    args: &Upgrade,
    states: Option<std::result::Result<States, GitFault>>,
) -> Result<Vec<Finding>> {
    let mut out = Vec::new();
    if plan.files.is_empty() {
        return Ok(out);
    }
    runtime(session, plan, &mut out);
    let (Some(facts), Some(states)) = (&session.facts, states) else { return Ok(out) };
    if let Some(operation) = facts.survey.operation {
        let text = format!("a {} is in progress in this worktree", operation.as_str());
        out.push(
            Finding::new(Code::OperationInProgress, Scope::Repository, None, text)
                .next("git status   # finish or abort it, then run again"),
        );
    }
    let states = states.map_err(|fault| Error::new(Kind::Blocked, fault.message))?;
    let of = |wanted: &[FileState]| -> Vec<&String> {
        states.iter().filter(|(_, s)| wanted.contains(s)).map(|(p, _)| p).collect()
    };
    let dirty = of(&[FileState::Changed, FileState::Untracked]);
    if let Some(first) = dirty.first().filter(|_| !args.allow_dirty) {
        let text = format!(
            "{} of the files to write {} from HEAD or {} untracked ({first}{})",
            dirty.len(),
            if dirty.len() > 1 { "differ" } else { "differs" },
            if dirty.len() > 1 { "are" } else { "is" },
            if dirty.len() > 1 { ", …" } else { "" }
        );
        out.push(
            Finding::new(
                Code::UncommittedChanges,
                Scope::Repository,
                Some(Place::file(first.as_str())),
                text,
            )
            .next("git add -A && git commit -m 'Before the upgrade'")
            .next("specdev-migrate --allow-dirty   # or write all the same"),
        );
    }
    for path in of(&[FileState::Ignored]) {
        let text = "git ignores this file: it is upgraded, but only this copy's history keeps the old bytes";
        out.push(Finding::new(
            Code::NotUnderVersionControl,
            Scope::Repository,
            Some(Place::file(path.as_str())),
            text,
        ));
    }
    Ok(out)
}

/// What the installed workflow says.
fn runtime(session: &Session, plan: &Plan, out: &mut Vec<Finding>) {
    let tree = &session.tree;
    let major = tree
        .installed
        .as_deref()
        .and_then(|v| v.trim_start_matches('v').split('.').next()?.parse::<u64>().ok());
    let is_newer = plan.release.target(Artifact::GoalPlan).is_some_and(|version| version >= 8);
    if let Some(major) = major.filter(|m| *m < 2 && !session.names_release && is_newer) {
        let version = tree.installed.as_deref().unwrap_or_default();
        let text = format!(
            "install.json says version {version}; a workflow of version {major} cannot read goal-plan 8"
        );
        out.push(
            Finding::new(Code::ReaderTooOld, Scope::Repository, None, text)
                .next("specdev-migrate --to 0.7.3   # what that workflow reads")
                .next("specdev-migrate --to 2.0.6   # when you upgrade the workflow as well"),
        );
    }
    if tree.migration_pending {
        let text = "the workflow's own migration is pending (migration.json); the old state lies in back/state/specdev";
        let shown = tree.layout.shown("");
        let root = shown.strip_suffix("specdev/").unwrap_or_default();
        let old = quoted(&format!("{root}back/state"));
        out.push(
            Finding::new(Code::PendingRuntimeMigration, Scope::Repository, None, text)
                .next(format!("specdev-migrate --dry-run --state {old}   # preview the old state"))
                .next("finish the workflow's migration, then run again"),
        );
    }
}
