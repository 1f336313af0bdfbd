//! Undoing a run from the repository alone (contract.md §4, restore). Pure.
//!
//! Every file is rebuilt from history and checked against the run line; a change is put back as a
//! whole or left alone as a whole.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::doc::Fault;
use crate::doc::content::Content;
use crate::error::{Error, Kind, Result};
use crate::history::entry::Meta;
use crate::history::portable_sha256;
use crate::history::rebuild::rebuild;
use crate::history::run::{self, Run, RunFile};
use crate::history::section::{History, HostOfChange};
use crate::state::change::{Change, SourceFile};
use crate::state::layout::Layout;
use crate::state::tree::Tree;

/// What restoring a run means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    /// The run's id.
    pub run: String,
    /// Its number.
    pub seq: u64,
    /// The files to put back, by path.
    pub files: Vec<RestoredFile>,
    /// What is left alone, and why.
    pub left: Vec<Left>,
    /// Whether the run lines that are still there name every file of the run. A change that was moved,
    /// deleted or restored before took its line with it.
    pub is_whole: bool,
}

/// A file as it is and as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFile {
    /// Path below `specdev/`.
    pub path: String,
    /// The bytes on disk.
    pub current: Content,
    /// The bytes before the run; `None`: the run created the file.
    pub old: Option<Vec<u8>>,
    /// Permission bits on disk.
    pub mode: u32,
}

/// A file for whose sake a change, or everything, is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The change; `None`: config, status and their history.
    pub change: Option<String>,
    /// Path below `specdev/`.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// A host file and its history.
struct Host<'a> {
    file: &'a SourceFile,
    /// Of a host with a fault only what runs it seems to speak of.
    history: Cow<'a, History>,
    /// Why its history cannot be read.
    fault: Option<String>,
}

/// All hosts of a state, or of one of its changes, by path.
struct Hosts<'a> {
    layout: &'a Layout,
    files: Files<'a>,
    by_path: BTreeMap<&'a str, Host<'a>>,
}

/// Where files are looked for.
enum Files<'a> {
    State(&'a Tree),
    Change(&'a Change),
}

/// What undoing the newest run, or the named one, would do; `None` when no run is left to undo.
pub fn restore(tree: &Tree, run: Option<&str>) -> Result<Option<Restore>> {
    let hosts = Hosts::of_state(tree);
    let Some((id, seq)) = hosts.choose(run)? else { return Ok(None) };
    hosts.refuse_if_newer(&id, seq)?;
    let is_whole = hosts.know_all(&id, seq);
    let mut out = Restore { run: id, seq, files: Vec::new(), left: Vec::new(), is_whole };
    let needs_index = hosts.put_back(&mut out);
    let state_has_line = hosts.by_path.get("HISTORY.md").is_some_and(|h| h.run(&out.run, seq).is_some());
    let state_is_left = !state_has_line || out.left.iter().any(|l| l.change.is_none());
    if needs_index && state_is_left {
        // Values that moved out of the index would be lost with the changes.
        out.files.clear();
        if !out.left.iter().any(|l| l.change.is_none()) {
            let reason =
                "its run line is not there, so the index cannot be restored, and without it nothing is";
            out.left.push(Left { change: None, file: "HISTORY.md".into(), reason: reason.into() });
        }
    }
    out.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Some(out))
}

/// What undoing the newest run that wrote one change would do to its files, whatever stands in the rest
/// of the state; `None` when no run is left to undo. `hosts` are those of the change.
pub fn restore_change(
    layout: &Layout,
    change: &Change,
    hosts: &[HostOfChange<'_>],
) -> Result<Option<Restore>> {
    let read = hosts.iter().map(|h| (h.file, h.history.as_ref().map(Cow::Borrowed).map_err(Clone::clone)));
    let hosts = Hosts::read(layout, Files::Change(change), read);
    let Some((id, seq)) = hosts.choose(None)? else { return Ok(None) };
    let mut out = Restore { run: id, seq, files: Vec::new(), left: Vec::new(), is_whole: false };
    hosts.put_back(&mut out);
    Ok(Some(out))
}

impl Host<'_> {
    fn run(&self, id: &str, seq: u64) -> Option<&Run> {
        self.history.runs.iter().map(|r| &r.value).find(|r| r.run == id && r.seq == seq)
    }
}

impl<'a> Hosts<'a> {
    fn of_state(tree: &'a Tree) -> Hosts<'a> {
        let is_host = |f: &&SourceFile| f.path.ends_with("HISTORY.md") || f.path.contains("/evidence/");
        let files = tree.files().chain(tree.orphans.values()).filter(is_host);
        let read = files.map(|f| (f, History::read(&f.bytes).map(Cow::Owned)));
        Hosts::read(&tree.layout, Files::State(tree), read)
    }

    fn read(
        layout: &'a Layout,
        files: Files<'a>,
        hosts: impl Iterator<Item = (&'a SourceFile, std::result::Result<Cow<'a, History>, Fault>)>,
    ) -> Hosts<'a> {
        let mut by_path = BTreeMap::new();
        for (file, history) in hosts {
            let (history, fault) = match history {
                Ok(history) => (history, None),
                Err(fault) => (Cow::Owned(History::anywhere(&file.bytes)), Some(fault.message)),
            };
            if !history.runs.is_empty() {
                by_path.insert(file.path.as_str(), Host { file, history, fault });
            }
        }
        Hosts { layout, files, by_path }
    }

    fn runs(&self) -> impl Iterator<Item = (&str, &Run)> {
        self.by_path.iter().flat_map(|(path, h)| h.history.runs.iter().map(|r| (*path, &r.value)))
    }

    /// The run to undo: the named one, else the one with the highest number.
    fn choose(&self, run: Option<&str>) -> Result<Option<(String, u64)>> {
        let keys: BTreeSet<(u64, &str)> = self.runs().map(|(_, r)| (r.seq, r.run.as_str())).collect();
        let list = || "specdev-migrate history list".to_string();
        match run {
            Some(id) => match keys.iter().rev().find(|(_, r)| *r == id) {
                Some((seq, id)) => Ok(Some((id.to_string(), *seq))),
                None => {
                    Err(Error::new(Kind::Usage, format!("there is no run {id:?} in this state")).hint(list()))
                }
            },
            None => {
                let Some((seq, id)) = keys.last() else { return Ok(None) };
                let same: Vec<&str> = keys.iter().filter(|(s, _)| s == seq).map(|(_, r)| *r).collect();
                if same.len() > 1 {
                    let text =
                        format!("several runs have number {seq}: {}; nothing was restored", same.join(", "));
                    return Err(
                        Error::new(Kind::Blocked, text).hint(format!("specdev-migrate restore --run {id}"))
                    );
                }
                Ok(Some((id.to_string(), *seq)))
            }
        }
    }

    /// Whether the lines of a run name every file of it, by which it got its id.
    fn know_all(&self, id: &str, seq: u64) -> bool {
        let lines = self.runs().filter(|(_, r)| r.run == id && r.seq == seq);
        let files: BTreeMap<&str, &RunFile> =
            lines.flat_map(|(_, r)| &r.files).map(|f| (f.path.as_str(), f)).collect();
        run::id(files.into_values()) == id
    }

    fn refuse_if_newer(&self, id: &str, seq: u64) -> Result<()> {
        let own: BTreeSet<&str> = self
            .runs()
            .filter(|(_, r)| r.run == id && r.seq == seq)
            .flat_map(|(_, r)| r.files.iter())
            .map(|f| f.path.as_str())
            .collect();
        for (_, newer) in self.runs().filter(|(_, r)| r.seq > seq) {
            if let Some(file) = newer.files.iter().find(|f| own.contains(f.path.as_str())) {
                let text = format!(
                    "run {} (number {}) is newer and wrote {} again; nothing was restored",
                    newer.run,
                    newer.seq,
                    self.layout.shown(&file.path)
                );
                return Err(Error::new(Kind::Blocked, text)
                    .hint(format!("specdev-migrate restore --run {}", newer.run)));
            }
        }
        Ok(())
    }

    /// Put back, or leave, the files of every unit the run wrote. Whether any needs the index as it was.
    fn put_back(&self, out: &mut Restore) -> bool {
        let (id, seq) = (out.run.as_str(), out.seq);
        let mut needs_index = false;
        for host in self.units(id, seq) {
            let line = self.by_path.get(host.as_str()).and_then(|h| h.run(id, seq));
            match self.unit(&host, line, id, seq) {
                Ok(files) => out.files.extend(files),
                Err((file, reason)) => out.left.push(Left { change: change_of(&host), file, reason }),
            }
            needs_index |= line.is_some_and(|r| r.index);
        }
        needs_index
    }

    /// The hosts that answer for the run's files: `HISTORY.md` of the state and of every change that a
    /// run line of it stands in.
    fn units(&self, id: &str, seq: u64) -> BTreeSet<String> {
        let with_line = self.by_path.iter().filter(|(_, h)| h.run(id, seq).is_some());
        with_line
            .map(|(path, _)| match path.strip_prefix("changes/").and_then(|p| p.split_once('/')) {
                Some((change, _)) => format!("changes/{change}/HISTORY.md"),
                None => "HISTORY.md".to_string(),
            })
            .collect()
    }

    /// The files of one unit as they were, or the file that stops it.
    fn unit(
        &self,
        host: &str,
        line: Option<&Run>,
        id: &str,
        seq: u64,
    ) -> std::result::Result<Vec<RestoredFile>, (String, String)> {
        let fault = |path: &str| {
            let fault = self.by_path.get(path)?.fault.as_ref()?;
            Some((path.to_string(), format!("its history cannot be read: {fault}")))
        };
        if let Some(fault) = fault(host) {
            return Err(fault);
        }
        let Some(line) = line else {
            let reason = "an Evidence file has a run line that the change's HISTORY.md lacks".to_string();
            return Err((host.to_string(), reason));
        };
        let folder = host.strip_suffix("HISTORY.md").unwrap_or_default();
        let listed: BTreeSet<&str> = line.files.iter().map(|f| f.path.as_str()).collect();
        let evidence = format!("{folder}evidence/");
        for (path, other) in
            self.by_path.range::<str, _>((Bound::Included(evidence.as_str()), Bound::Unbounded))
        {
            if !path.starts_with(&evidence) {
                break;
            }
            if other.run(id, seq).is_some() && !listed.contains(path) {
                return Err((path.to_string(), "its run line has no twin in the change's HISTORY.md".into()));
            }
        }
        line.files
            .iter()
            .map(|f| {
                let fail = |reason: &str| (f.path.clone(), reason.to_string());
                let current = self.file(&f.path).ok_or_else(|| fail("was moved or deleted since the run"))?;
                if let Some(fault) = fault(&f.path) {
                    return Err(fault);
                }
                let history = self.by_path.get(f.path.as_str()).map(|h| &h.history);
                let is = history
                    .map_or_else(|| portable_sha256(&current.bytes), |h| h.portable_sha256(&current.bytes));
                if is != f.after {
                    return Err(fail("was edited since the run"));
                }
                let preserved = self.preserved(host, line, &f.path, id, seq);
                let old = rebuild(f, &current.bytes, &preserved, (id, seq)).map_err(|why| fail(&why))?;
                Ok(RestoredFile {
                    path: f.path.clone(),
                    current: current.bytes.clone(),
                    old,
                    mode: current.mode,
                })
            })
            .collect()
    }

    fn file(&self, path: &str) -> Option<&'a SourceFile> {
        match self.files {
            Files::State(tree) => tree.file(path).or_else(|| tree.orphans.values().find(|f| f.path == path)),
            Files::Change(change) => change.files().find(|f| f.path == path),
        }
    }

    /// The entries of the run whose source is a file: those in the unit's host and in the file itself.
    fn preserved(&self, host: &str, line: &Run, source: &str, id: &str, seq: u64) -> Vec<(&Meta, Vec<u8>)> {
        let own = self.by_path.get(source).and_then(|h| h.run(id, seq).map(|r| (source, r)));
        let mut out = Vec::new();
        for (path, run) in [Some((host, line)), own].into_iter().flatten() {
            let Some(host) = self.by_path.get(path) else { continue };
            for entry in host
                .history
                .entries
                .iter()
                .filter(|e| e.meta.source == source && run.entries.contains(&e.meta.id))
            {
                if let Ok(bytes) = entry.bytes(&host.file.bytes) {
                    out.push((&entry.meta, bytes));
                }
            }
        }
        out
    }
}

fn change_of(host: &str) -> Option<String> {
    host.strip_prefix("changes/")?.split_once('/').map(|(name, _)| name.to_string())
}
