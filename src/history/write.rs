//! Writing the history of one run into its hosts (contract.md §4).

use std::collections::BTreeMap;

use super::entry::Entry;
use super::run::{self, Run, RunFile};
use super::section::{History, body_start};
use super::{TITLE, portable_sha256};
use crate::doc::Fault;
use crate::doc::content::Content;
use crate::doc::markdown::Outline;

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

/// Add run lines and entries to the files of all units. `seq` is the run's number, `index` says whether
/// `status.json` is among the files.
pub fn write(units: &mut [Unit], seq: u64, release: &str, index: bool) -> Result<(), HostFault> {
    let mut hosts: Vec<Vec<Host>> = Vec::new();
    let mut all: Vec<RunFile> = Vec::new();
    for unit in units.iter_mut() {
        let these = unit.hosts_of_entries()?;
        for host in &these {
            unit.files.insert(
                host.path.clone(),
                FileBytes { before: host.before.clone(), after: host.draft.clone() },
            );
        }
        all.extend(unit.files.iter().map(|(path, f)| run_file(path, f, &these)));
        hosts.push(these);
    }
    let id = run::id(&all);
    let by_path: BTreeMap<&str, &RunFile> = all.iter().map(|f| (f.path.as_str(), f)).collect();
    for (unit, hosts) in units.iter_mut().zip(hosts) {
        for host in hosts {
            let of_change = host.path == unit.host && host.path.contains('/');
            let paths: Vec<&str> = if host.path == unit.host {
                unit.files.keys().map(String::as_str).collect()
            } else {
                vec![&host.path]
            };
            let run = Run {
                run: id.clone(),
                seq,
                release: release.into(),
                index: of_change && index,
                files: paths.iter().filter_map(|p| by_path.get(p)).map(|f| (*f).clone()).collect(),
                entries: host.entries.clone(),
            };
            let bytes = host.with_line(&run.line())?;
            if let Some(file) = unit.files.get_mut(&host.path) {
                file.after = bytes.into();
            }
        }
    }
    Ok(())
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
struct Host {
    path: String,
    before: Option<Content>,
    /// Edited, but without the history of this run.
    base: Content,
    /// With a placeholder for the run line.
    draft: Content,
    /// Portable digest without run lines.
    after: String,
    /// Ids of all entries of this host.
    entries: Vec<String>,
    /// Text of the entries that are not there yet.
    text: String,
}

impl Unit {
    fn hosts_of_entries(&self) -> Result<Vec<Host>, HostFault> {
        let mut by_host: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        by_host.insert(&self.host, Vec::new());
        for (host, entry) in &self.entries {
            by_host.entry(host).or_default().push(entry);
        }
        by_host.into_iter().map(|(path, entries)| self.host_of(path, &entries)).collect()
    }

    fn host_of(&self, path: &str, entries: &[&Entry]) -> Result<Host, HostFault> {
        let edited = self.files.get(path);
        let before = match edited {
            Some(file) => file.before.clone(),
            None => self.hosts.get(path).cloned(),
        };
        let base = edited
            .map(|f| f.after.clone())
            .or_else(|| before.clone())
            .unwrap_or_else(|| heading(path).into());
        let fault = |fault| HostFault { path: path.into(), fault };
        let known = History::read(&base).map_err(fault)?;
        // An entry that somebody's editor damaged proves nothing; its bytes are written once more.
        let is_there = |e: &Entry| {
            known.entries.iter().any(|k| k.meta.id == e.meta.id && k.bytes(&base).is_ok_and(|b| b == e.bytes))
        };
        let new = entries.iter().filter(|e| !is_there(e));
        let text: String = new.map(|e| format!("\n{}", e.text())).collect();
        let mut host = Host {
            path: path.into(),
            before,
            base,
            draft: Content::default(),
            after: String::new(),
            entries: entries.iter().map(|e| e.meta.id.clone()).collect(),
            text,
        };
        let placeholder = Run {
            run: String::new(),
            seq: 0,
            release: String::new(),
            index: false,
            files: vec![],
            entries: vec![],
        };
        host.draft = host.with_line(&placeholder.line())?.into();
        let read = History::read(&host.draft).map_err(fault)?;
        host.after = portable_sha256(&read.without_runs(&host.draft));
        Ok(host)
    }
}

impl Host {
    fn with_line(&self, line: &str) -> Result<Vec<u8>, HostFault> {
        let fault = |fault| HostFault { path: self.path.clone(), fault };
        let outline = Outline::read(&self.base, body_start(&self.base));
        let block = format!("{line}\n{}", self.text);
        let (at, bytes) = match outline.section(2, TITLE).map_err(fault)? {
            Some(section) => outline.append_to(&self.base, &section, &block).map_err(fault)?,
            None => outline.append(&self.base, &format!("## {TITLE}\n\n{block}")).map_err(fault)?,
        };
        let mut out = Vec::with_capacity(self.base.len() + bytes.len());
        out.extend_from_slice(&self.base[..at]);
        out.extend_from_slice(&bytes);
        out.extend_from_slice(&self.base[at..]);
        Ok(out)
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
        let mut units = [unit];
        write(&mut units, seq, "2.0.6", false).unwrap();
        units[0].files[HOST].after.to_vec()
    }

    /// What stands in the entries of a host.
    fn entries(host: &[u8]) -> Vec<Option<Vec<u8>>> {
        History::read(host).unwrap().entries.iter().map(|e| e.bytes(host).ok()).collect()
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
