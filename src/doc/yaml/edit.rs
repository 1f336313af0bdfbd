//! Operations as byte spans over the header.

use std::ops::Range;

use serde_json::Value;

use super::node::{Item, Kind};
use super::scalar::{self, Style, render, render_string};
use super::{Entry, Frontmatter, Op, edit_value, fault_at, gap};
use crate::doc::edit::{Edits, Overlap};
use crate::doc::{Fault, line_end_before, pointer::Pointer};
use crate::finding::Code;

/// See [`Frontmatter::edit`].
pub(super) fn edit(header: &Frontmatter, ops: &[Op]) -> Result<(Edits, Frontmatter), Fault> {
    let expected = edit_value(&header.value, ops).map_err(|e| header.refuse(header.inner.start, &e))?;
    let mut editor = Editor { header, text: &header.header, edits: Edits::new() };
    for op in ops {
        editor.value_op(op)?;
    }
    if header.braces.is_some() {
        editor.flow_members(ops)?;
    } else {
        editor.block_members(ops)?;
    }
    let after = prove(header, &editor.edits, &expected)?;
    Ok((editor.edits, after))
}

/// The edited text, read again, must say what the values say, in the same order.
fn prove(header: &Frontmatter, edits: &Edits, expected: &Value) -> Result<Frontmatter, Fault> {
    let differs = |why: &str| header.refuse(header.inner.start, &format!("an edit of this header ({why})"));
    let after =
        Frontmatter::parse(&edits.apply(header.header.as_bytes())).map_err(|f| differs(&f.message))?;
    let keys = |value: &Value| value.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>());
    if after.value != *expected || keys(&after.value) != keys(expected) {
        return Err(differs("the result would not read as intended"));
    }
    Ok(after)
}

struct Editor<'h> {
    header: &'h Frontmatter,
    text: &'h str,
    edits: Edits,
}

impl Editor<'_> {
    /// Replace, rename and take out items: the edits inside one entry.
    fn value_op(&mut self, op: &Op) -> Result<(), Fault> {
        let key = match op {
            Op::Replace { key, .. }
            | Op::Rename { key, .. }
            | Op::Remove { key }
            | Op::RemoveItems { key, .. } => key,
            Op::Insert { .. } => return Ok(()),
        };
        let Some(entry) = self.header.entry(key) else {
            return Err(self
                .header
                .refuse(self.header.inner.start, &format!("there is no key `{key}` to edit")));
        };
        if let Some(fault) = &entry.unsupported {
            return Err(fault.clone());
        }
        match op {
            Op::Replace { value, .. } if entry.value != *value => self.replace_value(entry, value),
            Op::Rename { to, .. } if to != key => {
                let style = match entry.key_node.kind {
                    Kind::SingleQuoted => Style::Single,
                    Kind::DoubleQuoted => Style::Double,
                    _ => Style::Plain,
                };
                let name = render_string(to, style, self.header.braces.is_some());
                self.put(entry.key_range.clone(), name)
            }
            Op::RemoveItems { items, .. } => self.remove_items(entry, items),
            _ => Ok(()),
        }
    }

    fn replace_value(&mut self, entry: &Entry, value: &Value) -> Result<(), Fault> {
        let style = match (&entry.node.kind, value) {
            (Kind::SingleQuoted, Value::String(_)) => Style::Single,
            (Kind::DoubleQuoted, Value::String(_)) => Style::Double,
            (Kind::Plain | Kind::BlockScalar, Value::String(_)) if entry.value.is_string() => Style::Plain,
            _ => self.header.string_style(),
        };
        let new = self.rendered(entry, &entry.key, value, style)?;
        match &entry.node.kind {
            Kind::Plain | Kind::SingleQuoted | Kind::DoubleQuoted => self.put(entry.value_range.clone(), new),
            Kind::Empty | Kind::Sequence { flow: false, .. } => {
                if let Kind::Sequence { items, .. } = &entry.node.kind {
                    self.remove_lines(entry, items.iter())?;
                }
                let (at, colon) = match entry.after_colon {
                    Some(at) => (at, ""),
                    None => (entry.key_range.end, ":"),
                };
                self.put(at..at, format!("{colon} {new}"))
            }
            Kind::Sequence { flow: true, .. } | Kind::Mapping { flow: true, .. } => {
                self.refuse_comments(entry, entry.value_range.clone())?;
                self.put(entry.value_range.clone(), new)
            }
            Kind::BlockScalar => {
                let start = entry.value_range.start;
                let indicator =
                    self.text[start..].find([' ', '\t', '\r', '\n']).map_or(entry.text.len(), |n| n);
                self.put(start..start + indicator, new)?;
                let below = gap::next_line(self.text, start);
                self.put(below..entry.lines.end.max(below), "")
            }
            Kind::Alias | Kind::Mapping { flow: false, .. } => {
                Err(self.refuse(entry, &format!("replacing the nested mapping `{}`", entry.key)))
            }
        }
    }

    fn remove_items(&mut self, entry: &Entry, unwanted: &[String]) -> Result<(), Fault> {
        let Kind::Sequence { flow, items } = &entry.node.kind else {
            return Err(self.refuse(entry, &format!("`{}` as no list", entry.key)));
        };
        let goes = |item: &Item| {
            let text = item.node.value(self.text);
            text.as_str().is_some_and(|text| unwanted.iter().any(|u| u == text))
        };
        if !items.iter().any(goes) {
            return Ok(());
        }
        let empty = items.iter().all(goes);
        if *flow {
            let members: Vec<_> = items.iter().map(|i| (i.node.range.clone(), goes(i))).collect();
            let inside = entry.value_range.start + 1..entry.value_range.end - 1;
            for range in if empty { vec![inside] } else { gone(&members) } {
                self.refuse_comments(entry, range.clone())?;
                self.put(range, "")?;
            }
            return Ok(());
        }
        self.remove_lines(entry, items.iter().filter(|i| goes(i)))?;
        match entry.after_colon {
            Some(at) if empty => self.put(at..at, " []"),
            _ => Ok(()),
        }
    }

    /// Take whole lines of a block list away; comment lines and blank lines between them stay.
    fn remove_lines<'i>(
        &mut self,
        entry: &Entry,
        items: impl Iterator<Item = &'i Item>,
    ) -> Result<(), Fault> {
        for item in items {
            let lines = gap::own_lines(self.text, item.dash, &item.node)
                .ok_or_else(|| self.refuse(entry, &format!("the lines of an item of `{}`", entry.key)))?;
            self.put(lines, "")?;
        }
        Ok(())
    }

    /// Remove and insert whole lines of a block mapping.
    fn block_members(&mut self, ops: &[Op]) -> Result<(), Fault> {
        let indent = match self.header.entries.first() {
            Some(first) => &self.text[first.lines.start..first.key_range.start],
            None => "",
        };
        for op in ops {
            match op {
                Op::Remove { key } => {
                    if let Some(entry) = self.header.entry(key) {
                        self.put(entry.lines.clone(), "")?;
                    }
                }
                Op::Insert { key, value, before } => {
                    let at = self.insertion_point(before);
                    let member = self.member(key, value)?;
                    let end = line_end_before(self.text.as_bytes(), at);
                    self.put(at..at, format!("{indent}{member}{end}"))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Where a new line before `before` stands: above the comment lines directly above that entry, or
    /// after the last line that is not blank.
    fn insertion_point(&self, before: &str) -> usize {
        let entries = &self.header.entries;
        let index = entries.iter().position(|e| e.key == before);
        let floor = match index.unwrap_or(entries.len()).checked_sub(1) {
            Some(previous) => entries[previous].lines.end,
            None => self.header.inner.start,
        };
        let mut at = index.map_or(self.header.inner.end, |i| entries[i].lines.start);
        while at > floor {
            let start = gap::line_start(self.text, at - 1);
            let line = &self.text[start..at];
            let passes = if index.is_some() { gap::is_comment(line) } else { gap::is_blank(line) };
            if !passes {
                break;
            }
            at = start;
        }
        at.max(floor)
    }

    /// Remove and insert members of a flow mapping, each with its one comma.
    fn flow_members(&mut self, ops: &[Op]) -> Result<(), Fault> {
        let entries = &self.header.entries;
        let goes = |entry: &Entry| ops.iter().any(|op| matches!(op, Op::Remove { key } if *key == entry.key));
        let members: Vec<_> = entries.iter().map(|e| (e.lines.clone(), goes(e))).collect();
        let scalars: Vec<_> =
            entries.iter().flat_map(|e| [e.key_node.scalars(), e.node.scalars()]).flatten().collect();
        for range in gone(&members) {
            if gap::has_comment(self.text, &scalars, range.clone()) {
                return Err(self.header.refuse(range.start, "a comment between members that are removed"));
            }
            self.put(range, "")?;
        }
        // Where members go, several insertions meet at one offset: they must arrive in their final order.
        let mut insertions = Vec::new();
        for op in ops {
            if let Op::Insert { key, value, before } = op {
                let index = entries.iter().position(|e| e.key == *before).unwrap_or(entries.len());
                insertions.push((index, self.member(key, value)?));
            }
        }
        insertions.sort_by_key(|(index, _)| *index);
        for (nth, (index, member)) in insertions.into_iter().enumerate() {
            let follower = members[index..].iter().find(|(_, goes)| !goes);
            let leader = members[..index].iter().rfind(|(_, goes)| !goes);
            let (at, text) = match (follower, leader, members.first()) {
                (Some((next, _)), _, _) => (next.start, format!("{member}, ")),
                (None, Some((last, _)), _) => (last.end, format!(", {member}")),
                (None, None, Some((first, _))) if nth == 0 => (first.start, member),
                (None, None, Some((first, _))) => (first.start, format!(", {member}")),
                (None, None, None) => continue,
            };
            self.put(at..at, text)?;
        }
        Ok(())
    }

    /// `key: value` in the style of the header.
    fn member(&self, key: &str, value: &Value) -> Result<String, Fault> {
        let quoted = self.header.entries.iter().all(|e| matches!(e.key_node.kind, Kind::DoubleQuoted));
        let style = if quoted { Style::Double } else { Style::Plain };
        let in_flow = self.header.braces.is_some();
        let value = render(value, self.header.string_style(), in_flow).ok_or_else(|| {
            self.header.refuse(
                self.header.inner.start,
                &format!("a value of `{key}` that is neither scalar nor list"),
            )
        })?;
        Ok(format!("{}: {value}", render_string(key, style, in_flow)))
    }

    fn rendered(&self, entry: &Entry, key: &str, value: &Value, style: Style) -> Result<String, Fault> {
        render(value, style, self.header.braces.is_some())
            .ok_or_else(|| self.refuse(entry, &format!("a value of `{key}` that is neither scalar nor list")))
    }

    fn refuse_comments(&self, entry: &Entry, range: Range<usize>) -> Result<(), Fault> {
        if gap::has_comment(self.text, &entry.node.scalars(), range) {
            return Err(self.refuse(entry, &format!("a comment inside what is edited of `{}`", entry.key)));
        }
        Ok(())
    }

    fn put(&mut self, range: Range<usize>, text: impl Into<Vec<u8>>) -> Result<(), Fault> {
        let start = range.start;
        self.edits.replace(range, text).map_err(|e: Overlap| self.header.refuse(start, &e.to_string()))
    }

    fn refuse(&self, entry: &Entry, what: &str) -> Fault {
        let fault = self.header.refuse(entry.key_range.start, what);
        Fault { pointer: Some(Pointer::new([&entry.key]).to_string()), ..fault }
    }
}

/// The spans that take the marked members out of a comma-separated list: each run with the comma behind
/// it, the last run with the comma before it, all members with the commas between them only.
fn gone(members: &[(Range<usize>, bool)]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut index = 0;
    while index < members.len() {
        if !members[index].1 {
            index += 1;
            continue;
        }
        let run = index;
        while index < members.len() && members[index].1 {
            index += 1;
        }
        ranges.push(match (members.get(index), run.checked_sub(1)) {
            (Some((next, _)), _) => members[run].0.start..next.start,
            (None, Some(previous)) => members[previous].0.end..members[index - 1].0.end,
            (None, None) => members[run].0.start..members[index - 1].0.end,
        });
    }
    ranges
}

impl Frontmatter {
    /// New strings are JSON-quoted when all others are.
    fn string_style(&self) -> Style {
        let mut strings = Vec::new();
        for entry in &self.entries {
            match &entry.node.kind {
                Kind::Sequence { items, .. } => strings.extend(items.iter().map(|i| &i.node)),
                _ => strings.push(&entry.node),
            }
        }
        strings.retain(|node| match node.kind {
            Kind::Plain => scalar::resolve(&node.content).is_string(),
            Kind::SingleQuoted | Kind::DoubleQuoted | Kind::BlockScalar => true,
            _ => false,
        });
        let quoted = !strings.is_empty() && strings.iter().all(|n| matches!(n.kind, Kind::DoubleQuoted));
        if quoted { Style::Double } else { Style::Plain }
    }

    fn refuse(&self, offset: usize, what: &str) -> Fault {
        fault_at(self.header.as_bytes(), Code::UnsupportedYaml, offset, what)
    }
}
