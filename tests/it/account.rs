//! The value account under attack: what a step loses, changes or forgets to book stops the run.
//!
//! Every step drafts its edits on its own fixtures. The books close; then one booking is left out, one
//! value of the result is altered, one is dropped, and they must not close any more.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use specdev_migrate::account::{Account, Booking, Fate, LeafMap, Location};
use specdev_migrate::commands::session::Session;
use specdev_migrate::doc::json::{Document, Op};
use specdev_migrate::doc::markdown::Outline;
use specdev_migrate::doc::pointer::Pointer;
use specdev_migrate::doc::yaml::Frontmatter;
use specdev_migrate::error::{Error, Kind};
use specdev_migrate::migrations::{CHAIN, lead};
use specdev_migrate::plan::Plan;
use specdev_migrate::state::artifact::Artifact;
use specdev_migrate::state::change::Change;
use specdev_migrate::state::index::{Index, VALUES};
use specdev_migrate::state::record::Records;
use specdev_migrate::step::{
    Cx, JsonDraft, Limits, Notes, PlanDraft, RecordsDraft, Release, Run, Settled, Step,
};
use specdev_migrate::verify::verify;

use crate::steps::step_of;
use crate::support::{Checked, Fixture, Project, check_all, fixtures, is_filtered};

/// One step on one file: what stood there, what stands there, and what the step says of it.
struct Drafted {
    file: String,
    before: LeafMap,
    after: LeafMap,
    /// The same, where they stand in JSON.
    json: Option<(Document, Document)>,
    bookings: Vec<Booking>,
}

impl Drafted {
    fn closes(&self, after: &LeafMap, bookings: &[Booking]) -> Result<Account<LeafMap>, String> {
        let mut account = Account::open(&self.file, self.before.clone());
        let closed = account.book(&self.before, after, bookings).map_err(|e| e.to_string());
        if let Some((old, new)) = self.json.as_ref().filter(|_| *after == self.after) {
            // The books over spans say what those over plain leaves say.
            let mut spans = Account::open(&self.file, old.clone());
            assert_eq!(spans.book(old, new, bookings).map_err(|e| e.to_string()), closed, "{}", self.file);
            if closed.is_ok() {
                assert_eq!(spans.changes(), account.changes(), "{}", self.file);
                assert_eq!(spans.kept(), account.kept(), "{}", self.file);
                for at in after.0.keys().flat_map(|at| (0..=at.depth()).map(|n| at.up_to(n))) {
                    assert_eq!(spans.origin(&at), account.origin(&at), "{}: {at}", self.file);
                }
            }
        }
        closed.map(|()| account)
    }
}

#[test]
fn booking_left_out() {
    attack(|d, whole| {
        for left_out in 0..d.bookings.len() {
            let mut bookings = d.bookings.clone();
            let gone = bookings.remove(left_out);
            // A value may be covered by what is said of the container above it: then its fate is another.
            if let Ok(account) = d.closes(&d.after, &bookings) {
                let same = account.changes() == whole.changes();
                let is_told_above = bookings.iter().any(|b| b.from.contains(&gone.from));
                if same && !is_repetition(d, &gone) {
                    return Err(format!("{}: nobody misses the booking of {}", d.file, gone.from));
                }
                if !is_told_above && !is_repetition(d, &gone) {
                    return Err(format!("{}: {} went unbooked", d.file, gone.from));
                }
            }
        }
        Ok(())
    });
}

/// A booking that changes nothing: no value stands there, or it stays what and where it was.
fn is_repetition(d: &Drafted, booking: &Booking) -> bool {
    let (before, after) = (&d.before.0, &d.after.0);
    before.keys().filter(|p| booking.from.contains(p)).all(|p| after.get(p) == before.get(p))
}

#[test]
fn value_altered_or_dropped() {
    attack(|d, whole| {
        let moved: BTreeMap<Pointer, Fate> =
            whole.changes().into_iter().map(|(at, fate)| (at.pointer, fate)).collect();
        for origin in d.before.0.keys() {
            let (target, is_exact) = match moved.get(origin) {
                None => (origin.clone(), true),
                Some(Fate::Moved(to)) if *to.file == *d.file => (to.pointer.clone(), true),
                Some(Fate::Converted { to, .. }) if *to.file == *d.file => (to.pointer.clone(), false),
                Some(_) => continue,
            };
            let below: Vec<&Pointer> = d.after.0.keys().filter(|p| target.contains(p)).collect();
            let mut dropped = d.after.clone();
            below.iter().for_each(|p| drop(dropped.0.remove(*p)));
            if d.closes(&dropped, &d.bookings).is_ok() {
                return Err(format!("{}: {origin} was dropped and nobody noticed", d.file));
            }
            let mut altered = d.after.clone();
            altered.0.insert(target.clone(), "\"altered\"".into());
            if is_exact && d.closes(&altered, &d.bookings).is_ok() {
                return Err(format!("{}: {origin} was altered and nobody noticed", d.file));
            }
        }
        Ok(())
    });
}

/// Run an attack on every step's own fixtures; every step must have been met.
fn attack(check: impl Fn(&Drafted, &Account<LeafMap>) -> Checked + Sync) {
    let met = std::sync::Mutex::new(BTreeSet::new());
    check_all(&fixtures("steps"), |fixture| {
        let project = fixture.lay_out();
        let session = project.session(&fixture.options())?;
        for step in CHAIN.iter().filter(|s| s.name == step_of(fixture)) {
            for drafted in drafts(fixture, &session, step) {
                let account = drafted.closes(&drafted.after, &drafted.bookings)?;
                if !drafted.bookings.is_empty() {
                    met.lock().map_err(|e| e.to_string())?.insert(step.name);
                }
                check(&drafted, &account)?;
            }
        }
        Ok(())
    });
    let all: BTreeSet<&str> = CHAIN.iter().map(|s| s.name).collect();
    assert!(is_filtered() || *met.lock().expect("no check panicked") == all, "a step was never attacked");
}

/// What a step drafts for every file of the state that it applies to.
fn drafts(fixture: &Fixture, session: &Session, step: &Step) -> Vec<Drafted> {
    let tree = &session.tree;
    let index = tree.index.as_ref().and_then(|f| f.doc().ok()).map(|d| Index::read(d.value()));
    let index = index.unwrap_or_default();
    let settled = settled(fixture);
    let mut out = Vec::new();
    let mut json = |file: &str, doc: &Document, cx: &Cx<'_>| {
        let Run::Json(draft_of) = step.run else { return };
        if !step.from.contains(&doc.value()["schema_version"].as_u64().unwrap_or_default()) {
            return;
        }
        let mut draft = JsonDraft::new(cx, doc, file);
        draft_of(&mut draft);
        out.push(edited(file, doc, &draft.ops, draft.notes.bookings));
    };
    let state = Surroundings { session, index: &index, settled: &settled };
    for (artifact, file) in [(Artifact::Config, &tree.config), (Artifact::Status, &tree.index)] {
        if let (true, Some(file)) = (step.artifact == artifact, file) {
            let doc = file.doc().expect("fixtures of steps can be read");
            json(&file.file.path, doc, &state.cx(None));
        }
    }
    for change in tree.changes.values() {
        let doc = change.status_doc().expect("fixtures of steps can be read");
        if step.artifact == Artifact::ChangeStatus {
            json(&change.status.file.path, doc, &state.cx(Some(change)));
        }
    }
    for change in tree.changes.values() {
        out.extend(match step.run {
            Run::Json(_) => None,
            Run::Plan(draft_of) => plan(&state, step, change, draft_of),
            Run::Records(draft_of) => records(&state, change, draft_of),
        });
    }
    out
}

struct Surroundings<'a> {
    session: &'a Session,
    index: &'a Index,
    settled: &'a BTreeMap<String, Settled>,
}

impl<'a> Surroundings<'a> {
    fn cx(&self, change: Option<&'a Change>) -> Cx<'a> {
        Cx {
            release: self.session.release,
            limits: Limits::default(),
            decisions: &self.session.decisions,
            change,
            lead: change.and_then(|c| lead::find(c, &self.session.decisions)),
            entry: change.and_then(|c| self.index.entry(&c.name)),
            entry_id: &|_| "0".repeat(12),
            settled: self.settled,
            archived: &self.session.tree.archived,
        }
    }
}

fn edited(file: &str, doc: &Document, ops: &[Op], bookings: Vec<Booking>) -> Drafted {
    let edits = doc.edit(ops).expect("a step drafts what can be edited");
    let after = Document::parse(&edits.apply(doc.bytes())).expect("an edit leaves JSON");
    let (before, leaves) = (doc.into(), LeafMap::from(&after));
    Drafted { file: file.into(), before, after: leaves, json: Some((doc.clone(), after)), bookings }
}

fn plan(
    state: &Surroundings<'_>,
    step: &Step,
    change: &Change,
    draft_of: fn(&mut PlanDraft<'_>),
) -> Option<Drafted> {
    let file = change.plan.as_ref()?;
    let header = Frontmatter::parse(&file.bytes).expect("fixtures of steps can be read");
    let version = header.value()["schema_version"].as_u64().filter(|v| step.from.contains(v))?;
    let outline = Outline::read(&file.bytes, header.range.end);
    let cx = state.cx(Some(change));
    let mut draft = PlanDraft {
        cx: &cx,
        bytes: &file.bytes,
        header: &header,
        outline: &outline,
        file: &file.path,
        version_on_disk: version,
        ops: Vec::new(),
        moved: Vec::new(),
        appended: None,
        notes: Notes::default(),
    };
    draft_of(&mut draft);
    let edits = header.edit(&draft.ops).expect("a step drafts what can be edited");
    let after = Frontmatter::parse(&edits.apply(&file.bytes)).expect("an edit leaves a header");
    Some(Drafted {
        file: file.path.clone(),
        before: LeafMap::of(header.value()),
        after: LeafMap::of(after.value()),
        json: None,
        bookings: draft.notes.bookings,
    })
}

fn records(
    state: &Surroundings<'_>,
    change: &Change,
    draft_of: fn(&mut RecordsDraft<'_>),
) -> Option<Drafted> {
    let records = Records::read(change);
    let doc = change.status_doc()?;
    let cx = state.cx(Some(change));
    let mut draft = RecordsDraft {
        cx: &cx,
        change,
        records: &records,
        past: &[],
        facts: state.session.facts.as_ref(),
        default_branch: None,
        ticket_execution: None,
        version: doc.value()["schema_version"].as_u64()?,
        kept: Vec::new(),
        clears_worktrees: false,
        evidence: BTreeMap::new(),
        context: None,
        notes: Notes::default(),
        inventory: Vec::new(),
        usage: Vec::new(),
    };
    draft_of(&mut draft);
    let clear = Op::Replace { at: Pointer::new(["worktrees"]), value: json!([]) };
    let ops = if draft.clears_worktrees { vec![clear] } else { Vec::new() };
    Some(edited(&change.status.file.path, doc, &ops, draft.notes.bookings))
}

/// What became of the changes, as the fixture says.
fn settled(fixture: &Fixture) -> BTreeMap<String, Settled> {
    let mut out = BTreeMap::new();
    for (name, bytes) in fixture.after() {
        let parts: Vec<&str> = name.rsplit('/').collect();
        let [".status.json", change, "changes", ..] = parts.as_slice() else { continue };
        let status: Option<Value> = Document::parse(&bytes).ok().map(|d| d.value().clone());
        let taken = VALUES.into_iter().collect();
        out.insert(change.to_string(), Settled { status, taken, held: false, newer: false });
    }
    out
}

type Act = fn(&mut JsonDraft<'_>);

const NOWHERE: Release = Release { name: "rigged", targets: &[(Artifact::Config, 4)] };

/// Run a step as the engine does: edit, read again, book; an account that does not close is an internal
/// error.
fn rigged(run: Act) -> Result<Value, Error> {
    let doc = Document::parse(br#"{"schema_version": 3, "git": {"a": 1, "b": [1, 2]}}"#).expect("JSON");
    let decisions = Default::default();
    let (settled, archived) = (BTreeMap::new(), BTreeSet::new());
    let cx = Cx {
        release: &NOWHERE,
        limits: Limits::default(),
        decisions: &decisions,
        change: None,
        lead: None,
        entry: None,
        entry_id: &|_| String::new(),
        settled: &settled,
        archived: &archived,
    };
    let mut draft = JsonDraft::new(&cx, &doc, "config.json");
    run(&mut draft);
    let edits = doc.edit(&draft.ops).map_err(|f| Error::internal(f.message))?;
    let after = Document::parse(&edits.apply(doc.bytes())).map_err(|f| Error::internal(f.message))?;
    let mut account = Account::open("config.json", doc.clone());
    account.book(&doc, &after, &draft.notes.bookings).map_err(Error::internal)?;
    Ok(after.value().clone())
}

fn at(text: &str) -> Pointer {
    Pointer::parse(text).expect("a pointer")
}

#[test]
fn rigged_step() {
    let honest: Act = |d| {
        d.renumber(4);
        d.retire(&at("/git/a"), "gone");
    };
    assert_eq!(rigged(honest).map_err(|e| e.message), Ok(json!({"schema_version": 4, "git": {"b": [1, 2]}})));
    let steps: [(&str, Act); 8] = [
        ("removes in silence", |d| d.ops.push(Op::Remove { at: at("/git/a") })),
        ("removes an item in silence", |d| d.ops.push(Op::Remove { at: at("/git/b/0") })),
        ("removes a container in silence", |d| d.ops.push(Op::Remove { at: at("/git") })),
        ("replaces in silence", |d| d.ops.push(Op::Replace { at: at("/git/a"), value: json!(2) })),
        ("spells another number", |d| d.ops.push(Op::Replace { at: at("/git/a"), value: json!(1.0) })),
        ("renames in silence", |d| d.ops.push(Op::Rename { at: at("/git/a"), key: "c".into() })),
        ("books a move elsewhere", |d| {
            d.ops.push(Op::Rename { at: at("/git/a"), key: "c".into() });
            let to = Location { file: d.file.into(), pointer: at("/git/d") };
            d.book(at("/git/a"), Fate::Moved(to));
        }),
        ("books a conversion to nowhere", |d| {
            d.ops.push(Op::Remove { at: at("/git/a") });
            let to = Location { file: d.file.into(), pointer: at("/git/d") };
            d.book(at("/git/a"), Fate::Converted { to, rule: "none" });
        }),
    ];
    for (name, step) in steps {
        let error = rigged(step).expect_err(name);
        assert_eq!(error.kind, Kind::Failed, "{name}");
        assert!(
            error.message.starts_with("internal error: the value account does not close: config.json#/git")
        );
        assert!(error.message.ends_with("; nothing was written"), "{name}: {}", error.message);
    }
}

/// A plan whose bytes are not what its history and its account say is not verified.
#[test]
fn plan_that_was_tampered_with() {
    let all: Vec<Fixture> =
        fixtures("chain").into_iter().filter(|f| f.name.contains("whole-state")).collect();
    check_all(&all, |fixture| {
        let project = fixture.lay_out();
        let options = fixture.options();
        let made = project.plan(&options)?;
        expect_verdict(&project, &options, made.clone(), "as it is", true)?;
        for n in 0..made.files.len() {
            let file = made.files[n].path.clone();
            let mut altered = made.clone();
            let at = altered.files[n].after.iter().rposition(|b| b.is_ascii_alphabetic()).unwrap_or_default();
            let mut after = altered.files[n].after.to_vec();
            after[at] ^= 0x20;
            altered.files[n].after = after.into();
            expect_verdict(&project, &options, altered, &format!("{file} altered"), false)?;
            let mut left_out = made.clone();
            left_out.files.remove(n);
            expect_verdict(&project, &options, left_out, &format!("{file} left out"), false)?;
            let mut other = made.clone();
            if let Some(before) = &mut other.files[n].before {
                *before = [before.as_slice(), b"\n"].concat().into();
                expect_verdict(&project, &options, other, &format!("{file} was other before"), false)?;
            }
        }
        for n in 0..made.account.len() {
            if let (from, Fate::Moved(to)) = &made.account[n]
                && from.file != to.file
            {
                let mut other = made.clone();
                let to = Location { file: to.file.clone(), pointer: to.pointer.join("elsewhere") };
                other.account[n].1 = Fate::Moved(to);
                expect_verdict(&project, &options, other, &format!("{from} booked elsewhere"), false)?;
            }
        }
        Ok(())
    });
}

fn expect_verdict(project: &Project, options: &[String], plan: Plan, what: &str, is_good: bool) -> Checked {
    let session = project.session(options)?;
    match verify(session.request(false), plan) {
        Ok(_) if is_good => Ok(()),
        Ok(_) => Err(format!("{what}: verified all the same")),
        Err(e) if is_good => Err(format!("{what}: {e}")),
        Err(e) if e.kind == Kind::Failed && e.message.starts_with("internal error: ") => Ok(()),
        Err(e) => Err(format!("{what}: stopped as {:?}: {e}", e.kind)),
    }
}
