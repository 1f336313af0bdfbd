//! Writing the history of one run into its hosts (contract.md §4).

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;
use rayon::prelude::*;

use super::entry::Entry;
use super::run::{self, Run, RunFile};
use super::section::History;
use super::{TITLE, portable_sha256};
use crate::doc::Fault;
use crate::doc::content::Content;

/// The files of the state itself, or of one change, that a run writes.
#[derive(Debug, Default, Clone)]
pub struct Unit {
    /// `HISTORY.md` or `changes/<change>/HISTORY.md`.
    pub host: String,
    /// By path below `specdev/`: before and after, history aside.
    pub files: BTreeMap<String, FileBytes>,
    /// The entries of the run and the host each belongs to, in order.
    pub entries: Vec<(String, Entry)>,
    /// The hosts as they are on disk, where they exist and are not in `files`.
    pub hosts: BTreeMap<String, Content>,
}

/// A file before and after.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FileBytes {
    /// `None`: created.
    pub before: Option<Content>,
    /// What it will be.
    pub after: Content,
}

/// Why history cannot be written: the host and the fault in it.
#[derive(Debug)]
pub struct HostFault {
    /// The host's path below `specdev/`.
    pub path: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// A unit whose history is written but for what the run line says.
#[derive(Debug, Default)]
pub struct Draft {
    /// By path below `specdev/`: before and after; those of hosts are complete after [`write()`].
    pub files: BTreeMap<String, FileBytes>,
    host: String,
    hosts: Vec<Host>,
    /// What the run lines say of the files, in the order of their paths.
    lines: Vec<RunFile>,
}

/// Write the run lines into the hosts of all units. `seq` is the run's number, `index` says whether
/// `status.json` is among the files.
pub fn write(drafts: &mut [Draft], seq: u64, release: &str, index: bool) {
    let id = run::id(drafts.iter().flat_map(|d| &d.lines));
    drafts.par_iter_mut().for_each(|draft| {
        for host in draft.hosts.drain(..) {
            let is_own = host.path == draft.host;
            let run = Run {
                run: id.clone(),
                seq,
                release: release.into(),
                index: is_own && host.path.contains('/') && index,
                files: draft.lines.iter().filter(|f| is_own || f.path == host.path).cloned().collect(),
                entries: host.entries.clone(),
            };
            let bytes = host.with_line(&run.line());
            if let Some(file) = draft.files.get_mut(&host.path) {
                file.after = bytes.into();
            }
        }
    });
}

fn run_file(path: &str, file: &FileBytes, hosts: &[Host]) -> RunFile {
    let after = match hosts.iter().find(|h| h.path == path) {
        Some(host) => host.after.clone(),
        None => portable_sha256(&file.after),
    };
    RunFile {
        path: path.into(),
        before: file.before.as_deref().map(portable_sha256),
        length: path.ends_with(".md").then(|| file.before.as_ref().map_or(0, |b| b.len())),
        after,
    }
}

/// A host while its run line is still unknown.
#[derive(Debug)]
struct Host {
    path: String,
    before: Option<Content>,
    /// Edited, but without the history of this run.
    base: Content,
    /// Where the history of this run goes.
    at: usize,
    /// The history, and where in it the run line will stand.
    inserted: Vec<u8>,
    line: Range<usize>,
    /// Portable digest without run lines.
    after: String,
    /// Ids of all entries of this host.
    entries: Vec<String>,
}

impl Unit {
    /// Place the entries in their hosts.
    pub fn draft(mut self) -> Result<Draft, HostFault> {
        let mut by_host: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        by_host.insert(&self.host, Vec::new());
        for (host, entry) in &self.entries {
            by_host.entry(host).or_default().push(entry);
        }
        let host_of = |(path, entries): (&str, Vec<&Entry>)| {
            self.host_of(path, &entries).map_err(|fault| HostFault { path: path.into(), fault })
        };
        let hosts: Vec<Host> = by_host.into_iter().map(host_of).collect::<Result<_, _>>()?;
        // Hosts that the run only adds history to become files of the unit.
        for host in &hosts {
            let file = FileBytes { before: host.before.clone(), after: host.base.clone() };
            self.files.insert(host.path.clone(), file);
        }
        let lines = self.files.iter().map(|(path, f)| run_file(path, f, &hosts)).collect();
        // A draft waits for all the others; what was read out of its files need not.
        for file in self.files.values_mut() {
            *file = FileBytes { before: file.before.as_ref().map(Content::apart), after: file.after.apart() };
        }
        Ok(Draft { files: self.files, host: self.host, hosts, lines })
    }

    fn host_of(&self, path: &str, entries: &[&Entry]) -> Result<Host, Fault> {
        let edited = self.files.get(path);
        let before = match edited {
            Some(file) => file.before.clone(),
            None => self.hosts.get(path).cloned(),
        };
        let base = edited
            .map(|f| f.after.clone())
            .or_else(|| before.clone())
            .unwrap_or_else(|| heading(path).into());
        let known = History::read(&base)?;
        // An entry that somebody's editor damaged proves nothing; its bytes are written once more.
        let is_there = |e: &Entry| {
            known.entries.iter().any(|k| k.meta.id == e.meta.id && k.bytes(&base).is_ok_and(|b| b == e.bytes))
        };
        let mut block = format!("{STAND_IN}\n");
        for entry in entries.iter().filter(|e| !is_there(e)) {
            block.push('\n');
            entry.write_to(&mut block);
        }
        let (at, inserted) = insertion(&base, &known, &block)?;
        // No text of ours stands in front of the line, and behind it at least its line end.
        let line = memmem::find(&inserted, STAND_IN.as_bytes()).unwrap_or(inserted.len());
        let line = line..(line + STAND_IN.len()).min(inserted.len());
        let next = memchr::memchr(b'\n', &inserted[line.end..]).map_or(inserted.len(), |n| line.end + n + 1);
        let after = known.portable_sha256_with(&base, at, &[&inserted[..line.start], &inserted[next..]]);
        let entries = entries.iter().map(|e| e.meta.id.clone()).collect();
        let (before, base) = (before.map(|b| b.apart()), base.apart());
        Ok(Host { path: path.into(), before, base, at, inserted, line, after, entries })
    }
}

/// Stands for the run line while its content is unknown: to Markdown one comment is like another.
const STAND_IN: &str = "<!-- specdev-run -->";

/// Where and what to insert so that `block` stands at the end of the history section.
fn insertion(base: &Content, known: &History, block: &str) -> Result<(usize, Vec<u8>), Fault> {
    match &known.section {
        Some(section) => base.outline().append_to(base, section, block),
        None => base.outline().append(base, &format!("## {TITLE}\n\n{block}")),
    }
}

impl Host {
    fn with_line(&self, line: &str) -> Vec<u8> {
        let (before, after) = self.base.split_at(self.at);
        let (front, behind) = (&self.inserted[..self.line.start], &self.inserted[self.line.end..]);
        [before, front, line.as_bytes(), behind, after].concat()
    }
}

/// How a new `HISTORY.md` begins.
fn heading(path: &str) -> Vec<u8> {
    match path.strip_prefix("changes/").and_then(|p| p.split_once('/')) {
        Some((change, _)) => format!("# History of {change}\n").into_bytes(),
        None => b"# History\n".to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "HISTORY.md";

    fn written(host: Option<&[u8]>, seq: u64) -> Vec<u8> {
        let old = b"{\"a\": 1}\n";
        let mut unit = Unit { host: HOST.into(), ..Unit::default() };
        let entry = Entry::new("config v3".into(), &["s"], "config.json", "", old, (0, old.len()));
        unit.entries.push((HOST.into(), entry));
        let config = FileBytes { before: Some(old.to_vec().into()), after: b"{}\n".to_vec().into() };
        unit.files.insert("config.json".into(), config);
        unit.hosts.extend(host.map(|b| (HOST.into(), b.into())));
        let mut drafts = [unit.draft().unwrap()];
        write(&mut drafts, seq, "2.0.6", false);
        drafts[0].files[HOST].after.to_vec()
    }

    /// What stands in the entries of a host.
    fn entries(host: &[u8]) -> Vec<Option<Vec<u8>>> {
        History::read(&host.into()).unwrap().entries.iter().map(|e| e.bytes(host).ok()).collect()
    }

    #[test]
    fn known_entry_is_not_written_twice() {
        let once = written(None, 1);
        assert_eq!(entries(&written(Some(&once), 2)), [Some(b"{\"a\": 1}\n".to_vec())]);
    }

    #[test]
    fn damaged_entry_is_written_once_more() {
        let text = String::from_utf8(written(None, 1)).unwrap();
        let damaged = text.replace("{\"a\": 1}", "{ \"a\": 1 }");
        assert_eq!(entries(damaged.as_bytes()), [None]);
        let after = written(Some(damaged.as_bytes()), 2);
        assert_eq!(entries(&after), [None, Some(b"{\"a\": 1}\n".to_vec())]);
    }
}
