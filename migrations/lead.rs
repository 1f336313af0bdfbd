//! Who leads a change (contract.md §2, the search order of L).

use serde_json::Value;

use super::UNASSIGNED;
use crate::decisions::Decisions;
use crate::doc::contains;
use crate::doc::markdown::Outline;
use crate::state::change::Change;

/// The lead of a change: the first that is named, in the contract's order; nobody is invented.
pub fn find(change: &Change, decisions: &Decisions) -> Option<String> {
    let decided = decisions.change(&change.name).and_then(|c| c.lead.clone());
    decided
        .or_else(|| in_plan(change))
        .or_else(|| in_readme(change))
        .or_else(|| in_status(change))
        .or_else(|| in_body(change))
        .or_else(|| decisions.lead.clone())
}

/// The goal plan's `lead`.
pub fn in_plan(change: &Change) -> Option<String> {
    let header = change.plan.as_ref()?.bytes.header().ok()?;
    named(header.value().get("lead")?.as_str()?)
}

/// The README's `Owner:` line in `## Ownership`; list marks, bold and backticks do not count.
pub fn in_readme(change: &Change) -> Option<String> {
    let bytes = &change.readme.as_ref()?.bytes;
    let outline = bytes.outline();
    let section = outline.section(2, "Ownership").ok()??;
    lines_outside_fences(bytes, outline, section.body).find_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '+', ' ', '\t']);
        let line = line.replace("**", "").replace("__", "").replace('`', "");
        named(line.trim().strip_prefix("Owner:")?)
    })
}

/// `leadership.current` of a version that has leadership.
pub fn in_status(change: &Change) -> Option<String> {
    let value = change.status_doc()?.value();
    value.get("schema_version").and_then(Value::as_u64).filter(|v| *v >= 5)?;
    named(value.pointer("/leadership/current")?.as_str()?)
}

/// The table row `Lead / Provider` in the goal plan's body.
fn in_body(change: &Change) -> Option<String> {
    let bytes = &change.plan.as_ref()?.bytes;
    let from = bytes.header().ok()?.range.end;
    if !contains(&bytes[from..], LABEL.as_bytes()) {
        return None;
    }
    let outline = bytes.outline();
    lines_outside_fences(bytes, outline, from..bytes.len()).find_map(|line| {
        let mut cells = line.trim().strip_prefix('|')?.split('|').map(str::trim);
        if cells.next()? != LABEL {
            return None;
        }
        let cell = cells.next()?;
        let name = cell.split(" / ").next()?.replace('`', "");
        named(&name).filter(|n| !n.starts_with('<'))
    })
}

const LABEL: &str = "Lead / Provider";

fn named(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text != UNASSIGNED).then(|| text.to_string())
}

/// The lines of a range that do not lie in a top-level fence, as text.
fn lines_outside_fences<'a>(
    bytes: &'a [u8],
    outline: &Outline,
    range: std::ops::Range<usize>,
) -> impl Iterator<Item = String> + 'a {
    let fences = outline.fences(&range);
    let mut at = range.start;
    bytes[range.clone()].split_inclusive(|b| *b == b'\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let fenced = fences.iter().any(|f| f.range.contains(&start));
        (!fenced).then(|| String::from_utf8_lossy(line).trim_end().to_string())
    })
}
