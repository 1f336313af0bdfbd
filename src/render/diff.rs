//! Unified diffs that `git apply` takes at the git top level and that give the exact bytes
//! (contract.md §7, `--dry-run`).
//!
//! Lines end at LF only; a bare CR, a CR before LF, NUL and bytes that are no UTF-8 are content and stand
//! in the hunks as they are, which `git apply` accepts. There is never a colour, a clock or a setting in
//! the output: the same two texts always give the same patch.

use std::ops::Range;

use hashbrown::HashMap;
use memchr::{memchr_iter, memrchr};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// One file before and after.
#[derive(Debug, Clone, Copy)]
pub struct FileDiff<'a> {
    /// Relative to the git top level, with `/` between the parts.
    pub path: &'a str,
    /// The bytes before; `None` when the file is created.
    pub old: Option<&'a [u8]>,
    /// The bytes after; `None` when the file is deleted.
    pub new: Option<&'a [u8]>,
    /// The mode git gives a created or deleted file: `0o100644` or `0o100755`.
    pub mode: u32,
}

/// Above this many lines, counted on both sides between the first and the last difference, the diff
/// replaces them as one block instead of searching for common lines among them. The search takes more
/// than linear time beyond that, and has no clock to stop it.
pub const MAX_SEARCHED_LINES: usize = 1 << 16;

/// The patch of one file, beginning with `diff --git`; empty when nothing changes.
pub fn unified(file: &FileDiff<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    write_unified(&mut out, file);
    out
}

/// Add the patch of one file to those before it.
pub(super) fn write_unified(out: &mut Vec<u8>, file: &FileDiff<'_>) {
    if file.old == file.new {
        return;
    }
    let (a, b) = (quoted("a/", file.path), quoted("b/", file.path));
    out.extend(format!("diff --git {a} {b}\n").bytes());
    match (file.old, file.new) {
        (None, _) => out.extend(format!("new file mode {:06o}\n", file.mode).bytes()),
        (_, None) => out.extend(format!("deleted file mode {:06o}\n", file.mode).bytes()),
        _ => {}
    }
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    let start = before_first_change(old, new);
    let first = memchr_iter(b'\n', &old[..start]).count();
    let (old, new) = (lines(&old[start..]), lines(&new[start..]));
    let changes = changes(&old, &new);
    if changes.is_empty() {
        return; // An empty file comes or goes.
    }
    // A tab ends a name with a space in it, which otherwise might end at the space.
    let tab = if file.path.contains(' ') { "\t" } else { "" };
    let side = |name: &str, there: bool| if there { format!("{name}{tab}") } else { "/dev/null".to_owned() };
    let (from, to) = (side(&a, file.old.is_some()), side(&b, file.new.is_some()));
    out.extend(format!("--- {from}\n+++ {to}\n").bytes());
    for hunk in changes.chunk_by(|a, b| b.old.start - a.old.end <= 2 * CONTEXT) {
        write_hunk(out, first, &old, &new, hunk);
    }
}

/// Where the lines begin that a hunk can show: what stands in front of them is equal on both sides, and
/// at least as many equal lines follow as stand around a change.
fn before_first_change(old: &[u8], new: &[u8]) -> usize {
    let pieces = old.chunks(64).zip(new.chunks(64)).take_while(|(a, b)| a == b).count() * 64;
    let mut at = pieces.min(old.len()).min(new.len());
    // The line of the first difference, and the lines of context in front of it.
    for _ in 0..=CONTEXT {
        at = memrchr(b'\n', &old[..at.saturating_sub(1)]).map_or(0, |n| n + 1);
    }
    at
}

/// Lines `old` become lines `new`; one of them may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// The changes in order; at least one unchanged line stands between two of them.
fn changes(old: &[&[u8]], new: &[&[u8]]) -> Vec<Change> {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - suffix], &new[..new.len() - suffix]);

    let mut changes: Vec<Change> = Vec::new();
    let mut push = |old: Range<usize>, new: Range<usize>| {
        let (old, new) = (prefix + old.start..prefix + old.end, prefix + new.start..prefix + new.end);
        match changes.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                last.old.end = old.end;
                last.new.end = new.end;
            }
            _ => changes.push(Change { old, new }),
        }
    };
    if old.is_empty() && new.is_empty() {
        return changes;
    }
    if old.is_empty() || new.is_empty() || old.len() + new.len() > MAX_SEARCHED_LINES {
        push(0..old.len(), 0..new.len());
        return changes;
    }
    let [in_old, in_new] = common(old, new);
    let numbers = |lines: &[Common]| -> Vec<usize> { lines.iter().map(|line| line.number).collect() };
    let (mut at_old, mut at_new) = (0, 0);
    for op in capture_diff_slices(Algorithm::Myers, &numbers(&in_old), &numbers(&in_new)) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for n in 0..len {
                let (i, j) = (in_old[old_index + n].at, in_new[new_index + n].at);
                if i > at_old || j > at_new {
                    push(at_old..i, at_new..j);
                }
                (at_old, at_new) = (i + 1, j + 1);
            }
        }
    }
    if at_old < old.len() || at_new < new.len() {
        push(at_old..old.len(), at_new..new.len());
    }
    changes
}

/// A line that stands on both sides: where, and a number that equal lines share. Numbers compare faster
/// than long lines do.
#[derive(Clone, Copy)]
struct Common {
    at: usize,
    number: usize,
}

/// Of each side, the lines that the other has too. The others are most of what would be searched.
fn common(old: &[&[u8]], new: &[&[u8]]) -> [Vec<Common>; 2] {
    let mut known: HashMap<&[u8], usize> = HashMap::with_capacity(old.len());
    let mut number = |line| {
        let next = known.len();
        *known.entry(line).or_insert(next)
    };
    let mut in_old: Vec<Common> =
        old.iter().enumerate().map(|(at, line)| Common { at, number: number(*line) }).collect();
    let mut is_in_new = vec![false; known.len()];
    let mut in_new = Vec::new();
    for (at, line) in new.iter().enumerate() {
        if let Some(number) = known.get(*line) {
            is_in_new[*number] = true;
            in_new.push(Common { at, number: *number });
        }
    }
    in_old.retain(|line| is_in_new[line.number]);
    [in_old, in_new]
}

/// `first` is how many lines stand in front of those given.
fn write_hunk(out: &mut Vec<u8>, first: usize, old: &[&[u8]], new: &[&[u8]], changes: &[Change]) {
    let (Some(start), Some(last)) = (changes.first(), changes.last()) else { return };
    let before = start.old.start.min(CONTEXT);
    let after = (old.len() - last.old.end).min(CONTEXT);
    let header = format!(
        "@@ -{} +{} @@\n",
        line_range(first + start.old.start - before..first + last.old.end + after),
        line_range(first + start.new.start - before..first + last.new.end + after)
    );
    out.extend(header.bytes());
    let mut at = start.old.start - before;
    for change in changes {
        write_lines(out, b' ', &old[at..change.old.start]);
        write_lines(out, b'-', &old[change.old.clone()]);
        write_lines(out, b'+', &new[change.new.clone()]);
        at = change.old.end;
    }
    write_lines(out, b' ', &old[at..at + after]);
}

/// Lines by number from 1 and count, a count of 1 left out; no lines stand behind the line named.
fn line_range(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn write_lines(out: &mut Vec<u8>, mark: u8, lines: &[&[u8]]) {
    for line in lines {
        out.push(mark);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// The lines with their LF; the last may have none.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let ends = memchr_iter(b'\n', bytes).map(|at| at + 1);
    let mut lines = Vec::with_capacity(bytes.len() / 32 + 1);
    let mut start = 0;
    for end in ends.chain((!bytes.ends_with(b"\n")).then_some(bytes.len())) {
        if end > start {
            lines.push(&bytes[start..end]);
        }
        start = end;
    }
    lines
}

/// `prefix` and `path`, in quotes and with C escapes when git needs them: for control bytes, quote and
/// backslash. Letters beyond ASCII stay as they are.
fn quoted(prefix: &str, path: &str) -> String {
    if !path.chars().any(|c| c.is_ascii_control() || matches!(c, '"' | '\\')) {
        return format!("{prefix}{path}");
    }
    let mut out = format!("\"{prefix}");
    for c in path.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\x0B' => out.push_str("\\v"),
            '\x0C' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
