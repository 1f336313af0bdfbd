//! Old bytes from new files and history alone (contract.md §4): the proof before writing, and restore.
//!
//! Candidates are tried against the digest and the length in the run line; what does not match
//! exactly is not the old file. Files that git checked out with CRLF are tried with LF as well.

use std::borrow::Cow;
use std::ops::Range;

use super::entry::Meta;
use super::portable_sha256;
use super::run::RunFile;
use super::section::History;
use super::to_lf;
use crate::doc::content::Content;

/// Preserved bytes of one source.
pub type Preserved<'a> = &'a [(&'a Meta, Vec<u8>)];

/// The bytes a file had before a run, or why they cannot be had. `current` is the file as it is,
/// `preserved` the entries whose source it is, `key` the run's id and number.
pub fn rebuild(
    file: &RunFile,
    current: &Content,
    preserved: Preserved<'_>,
    key: (&str, u64),
) -> Result<Option<Vec<u8>>, String> {
    let Some(before) = &file.before else { return Ok(None) };
    let wanted =
        |bytes: &[u8]| file.length.is_none_or(|n| n == bytes.len()) && portable_sha256(bytes) == *before;
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let found = if file.length.is_none() {
        preserved.iter().find(|(m, b)| m.pointer.is_empty() && wanted(b)).map(|(_, b)| b.clone())
    } else {
        let lf = match to_lf(current) {
            Cow::Owned(lf) if lf != **current => Some(Content::from(lf)),
            _ => None,
        };
        let length = file.length.unwrap_or_default();
        [Some(current), lf.as_ref()].into_iter().flatten().find_map(|view| match name {
            "goal-plan.md" => plan(view, length, preserved).filter(|b| wanted(b)),
            "README.md" => view.get(..length).map(<[u8]>::to_vec).filter(|b| wanted(b)),
            _ => host(view, length, preserved, key, &wanted),
        })
    };
    found.map(Some).ok_or_else(|| "the old bytes cannot be rebuilt from history".to_string())
}

/// A goal plan: the old header, and the body with its moved sections back in place.
fn plan(view: &Content, length: usize, preserved: Preserved<'_>) -> Option<Vec<u8>> {
    let mut parts: Vec<&(&Meta, Vec<u8>)> = preserved
        .iter()
        .filter(|(m, _)| m.pointer == "frontmatter" || m.pointer.starts_with("section:"))
        .collect();
    parts.sort_by_key(|(m, _)| m.range.0);
    let mut body = &view[view.header().ok()?.range.end..];
    // The length stands in a file that anybody may have edited: no memory is taken on its word.
    let mut out = Vec::new();
    for (meta, bytes) in parts {
        let gap = meta.range.0.checked_sub(out.len())?;
        out.extend_from_slice(body.get(..gap)?);
        body = &body[gap..];
        out.extend_from_slice(bytes);
    }
    out.extend_from_slice(body.get(..length.checked_sub(out.len())?)?);
    Some(out)
}

/// A file that holds history: without what the run appended, and with the record it replaced.
fn host(
    view: &Content,
    length: usize,
    preserved: Preserved<'_>,
    key: (&str, u64),
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let mut bases = vec![view.clone()];
    if let Some((meta, bytes)) = preserved.iter().find(|(m, _)| m.pointer == "record") {
        bases.insert(0, with_old_record(view, meta.range.0, bytes)?.into());
    }
    bases.into_iter().find_map(|base| {
        // Everything was appended at the end.
        if let Some(prefix) = base.get(..length).filter(|b| wanted(b)) {
            return Some(prefix.to_vec());
        }
        let mut tails = vec![base.len()];
        // Of several sections none was replaced by a run, so nothing of a run stands around them.
        tails.extend(record_section(&base).map(|s| cuts(s.start)).unwrap_or_default());
        tails.into_iter().find_map(|tail| {
            let base = if tail == base.len() { base.clone() } else { base[..tail].into() };
            without_block(&base, length, key, wanted)
        })
    })
}

/// The file without the run's block, which stands in the middle.
fn without_block(
    base: &Content,
    length: usize,
    key: (&str, u64),
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let history = History::read(base).ok()?;
    let run = history.runs.iter().find(|r| (r.value.run.as_str(), r.value.seq) == key)?;
    let removed = base.len().checked_sub(length)?;
    cuts(run.line.start).into_iter().find_map(|start| {
        let rest = base.get(start + removed..)?;
        let out = [&base[..start], rest].concat();
        wanted(&out).then_some(out)
    })
}

/// Offsets at which an insertion that ends in front of `at` may have begun, nearest first: what an
/// insertion puts before its block is blank lines, a heading and a closing line.
fn cuts(at: usize) -> Vec<usize> {
    const WINDOW: usize = 160;
    (at.saturating_sub(WINDOW)..=at).rev().collect()
}

/// The old section back in the place of the new one.
fn with_old_record(view: &Content, start: usize, old: &[u8]) -> Option<Vec<u8>> {
    let section = record_section(view)?;
    (section.start == start).then(|| [&view[..start], old, &view[section.end..]].concat())
}

fn record_section(view: &Content) -> Option<Range<usize>> {
    match view.outline().section(2, crate::state::record::SECTION).ok()? {
        Some(section) => Some(section.heading.start..section.body.end),
        None => Some(view.len()..view.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::write::{FileBytes, Unit, write};

    const HOST: &str = "changes/2026-08-01-login/HISTORY.md";

    /// The host after a run that wrote one other file.
    fn written(host: &[u8]) -> Vec<u8> {
        let status = FileBytes { before: Some(b"{}\n".to_vec().into()), after: b"{ }\n".to_vec().into() };
        let mut unit = Unit { host: HOST.into(), ..Unit::default() };
        unit.files.insert("changes/2026-08-01-login/.status.json".into(), status);
        unit.hosts.insert(HOST.into(), host.into());
        let mut drafts = [unit.draft().unwrap()];
        write(&mut drafts, 1, "2.0.6", false);
        drafts[0].files[HOST].after.to_vec()
    }

    fn rebuilt(after: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let after = &after.into();
        let history = History::read(after).unwrap();
        let run = &history.runs[0].value;
        let file = run.files.iter().find(|f| f.path == HOST).unwrap();
        rebuild(file, after, &[], (&run.run, run.seq))
    }

    #[test]
    fn host_with_history_in_the_middle_is_rebuilt() {
        for tail in ["## Other\n", "## Workspace Execution Record\n\n## Workspace Execution Record\n"] {
            let host = format!("# H\n\n## Migration History\n\n{tail}").into_bytes();
            assert_eq!(rebuilt(&written(&host)), Ok(Some(host)), "{tail}");
        }
    }
    #[test]
    fn length_that_no_file_has_takes_no_memory() {
        let file = RunFile {
            path: "changes/2026-08-01-login/goal-plan.md".into(),
            before: Some(String::new()),
            length: Some(usize::MAX),
            after: String::new(),
        };
        assert!(rebuild(&file, &b"---\na: b\n---\n"[..].into(), &[], ("a", 1)).is_err());
    }
}
