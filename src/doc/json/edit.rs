//! The road over the text: a resolved change as byte spans.
//!
//! A removal takes one comma and, where the member has lines of its own, exactly those lines; blank
//! lines and the line ends of other lines stay. An insertion goes directly behind the member it follows,
//! so that a line end stays with the line it ended.

use std::cell::OnceCell;
use std::ops::{Deref, Range};

use serde_json::Value;

use super::layout::{Style, Writer, bare, colon, last_line, line_indent, space_after, space_before};
use super::ops::{Change, Slot};
use super::{Document, Kind, Member, Node};
use crate::doc::edit::{Edits, Overlap};
use crate::doc::line_end_before;
use crate::doc::pointer::Pointer;

/// The spans that make `change` on the text of `document`.
pub(super) fn edits(document: &Document, change: &Change) -> Result<Edits, String> {
    let style = LazyStyle { document, style: OnceCell::new() };
    let around = Around { has_lines: false, colon: None };
    let mut editor = Editor { bytes: document.bytes(), style: &style, edits: Edits::new() };
    editor.change(document.root(), change, around, &Pointer::root())?;
    Ok(editor.edits)
}

/// The whole document is looked at for it, which removals and bare values need not wait for.
struct LazyStyle<'a> {
    document: &'a Document,
    style: OnceCell<Style>,
}

impl Deref for LazyStyle<'_> {
    type Target = Style;

    fn deref(&self) -> &Style {
        self.style.get_or_init(|| Style::of(self.document))
    }
}

struct Editor<'a> {
    bytes: &'a [u8],
    style: &'a LazyStyle<'a>,
    edits: Edits,
}

/// What a value stands in.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// Whether the object or array it stands in gives its parts lines of their own.
    has_lines: bool,
    /// The text between the value and its key.
    colon: Option<&'a str>,
}

/// An object or array with its parts: members or items.
struct Container<'a> {
    /// What lies between the brackets.
    inner: Range<usize>,
    parts: Vec<Range<usize>>,
    members: &'a [Member],
}

type New<'a> = (&'a str, &'a Value);

impl<'a> Editor<'a> {
    fn change(&mut self, node: &Node, change: &Change, around: Around, at: &Pointer) -> Result<(), String> {
        if let Some(value) = change.replace {
            return self.replace(node, value, around).map_err(text);
        }
        let Some(container) = Container::of(node) else { return Ok(()) };
        let has_lines = container.indent(self.bytes).is_some();
        let slots = match &node.kind {
            Kind::Object(members) => change.members(at, members.iter().map(|m| &*m.key)).map_err(text)?,
            _ => change.items(container.parts.len()),
        };
        match &node.kind {
            Kind::Object(members) => {
                for member in members {
                    let Some(below) = change.below.get(&*member.key) else { continue };
                    if let Some(key) = below.rename {
                        self.edits.replace(member.key_range.clone(), self.style.string(key)).map_err(text)?;
                    }
                    let around = Around { has_lines, colon: colon(self.bytes, member) };
                    self.change(&member.value, below, around, &at.join(&member.key))?;
                }
            }
            Kind::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    if let Some(below) = change.below.get(i.to_string().as_str()) {
                        self.change(item, below, Around { has_lines, colon: None }, &at.join(i))?;
                    }
                }
            }
            _ => {}
        }
        self.arrange(&container, &slots, around).map_err(text)
    }

    /// A value in the place of another: on lines of its own when the old one had them or, if that was
    /// short, when its neighbours have.
    fn replace(&mut self, node: &Node, value: &Value, around: Around) -> Result<(), Overlap> {
        if let Some(text) = bare(value) {
            return self.edits.replace(node.range.clone(), text);
        }
        let old = Container::of(node).filter(|c| !c.parts.is_empty());
        let has_lines = old.as_ref().map_or(around.has_lines, |c| c.indent(self.bytes).is_some());
        let colon = old.and_then(|c| c.members.iter().find_map(|m| colon(self.bytes, m))).or(around.colon);
        let writer = Writer {
            style: self.style,
            colon: colon.unwrap_or(&self.style.colon),
            // A document on one line is not searched for each of its values.
            eol: if has_lines { line_end_before(self.bytes, node.range.start) } else { "\n" },
        };
        let indent = has_lines.then(|| line_indent(self.bytes, node.range.start));
        self.edits.replace(node.range.clone(), writer.value(value, indent))
    }

    /// Removals and insertions among the parts of one object or array.
    fn arrange(&mut self, container: &Container, slots: &[Slot], around: Around) -> Result<(), Overlap> {
        let mut removed = vec![false; container.parts.len()];
        let mut pending = Vec::new();
        let mut before = None;
        for slot in slots {
            match *slot {
                Slot::New { key, value } => pending.push((key, value)),
                Slot::Old { index, removed: true } => removed[index] = true,
                Slot::Old { index, .. } => {
                    self.insert(container, before, index, &std::mem::take(&mut pending), around)?;
                    before = Some(index);
                }
            }
        }
        match before {
            Some(last) => self.insert(container, Some(last), last, &pending, around)?,
            None if pending.is_empty() => {}
            None => return self.fill(container, &pending, around),
        }
        let mut from = 0;
        while let Some(start) = (from..removed.len()).find(|i| removed[*i]) {
            let end = (start..removed.len()).find(|i| !removed[*i]).unwrap_or(removed.len());
            self.remove(container, start..end)?;
            from = end;
        }
        Ok(())
    }

    /// New members behind the member `before`, or in front of `after`.
    fn insert(
        &mut self,
        container: &Container,
        before: Option<usize>,
        after: usize,
        new: &[New],
        around: Around,
    ) -> Result<(), Overlap> {
        if new.is_empty() {
            return Ok(());
        }
        let anchor = before.unwrap_or(after);
        let part = &container.parts[anchor];
        let eol = match before {
            Some(_) => container.line_end_behind(self.bytes, anchor),
            None => line_end_before(self.bytes, part.start),
        };
        let indent = container.indent_at(self.bytes, anchor);
        let separator = match indent {
            Some(indent) => format!("{eol}{indent}"),
            None => container.comma_at(self.bytes, anchor).unwrap_or(self.style.object_comma()).to_owned(),
        };
        let writer = self.writer(container, Some(anchor), around, eol);
        let members = new.iter().map(|(key, value)| writer.member(key, value, indent));
        match before {
            Some(_) => {
                let text: String = members.map(|m| format!(",{separator}{m}")).collect();
                self.edits.insert(part.end, text)
            }
            None => {
                let text: String = members.map(|m| format!("{m},{separator}")).collect();
                self.edits.insert(part.start, text)
            }
        }
    }

    /// New members in an object that is empty, or becomes so.
    fn fill(&mut self, container: &Container, new: &[New], around: Around) -> Result<(), Overlap> {
        let inner = &container.inner;
        let join = |writer: &Writer, indent: Option<&str>, separator: &str| {
            let members: Vec<_> = new.iter().map(|(key, value)| writer.member(key, value, indent)).collect();
            members.join(&format!(",{separator}"))
        };
        if let (Some(first), Some(last)) = (container.parts.first(), container.parts.last()) {
            let eol = line_end_before(self.bytes, first.start);
            let indent = container.indent(self.bytes);
            let separator = match indent {
                Some(indent) => format!("{eol}{indent}"),
                None => container.comma_at(self.bytes, 0).unwrap_or(self.style.object_comma()).to_owned(),
            };
            let text = join(&self.writer(container, Some(0), around, eol), indent, &separator);
            return self.edits.replace(first.start..last.end, text);
        }
        let space = space_after(self.bytes, inner.start);
        if let Some(closing) = last_line(space) {
            let eol = first_line_end(space).unwrap_or("\n");
            let indent = self.style.deeper(closing);
            let text =
                join(&self.writer(container, None, around, eol), Some(&indent), &format!("{eol}{indent}"));
            return self.edits.insert(inner.start, format!("{eol}{indent}{text}"));
        }
        // `{}` and `{ }` are one-line objects and stay so; the second shows its own padding.
        let text = join(&self.writer(container, None, around, "\n"), None, self.style.object_comma());
        match space {
            "" => self.edits.insert(inner.end, format!("{0}{text}{0}", self.style.object_pad())),
            pad => self.edits.insert(inner.end, format!("{text}{pad}")),
        }
    }

    fn writer<'s>(
        &'s self,
        container: &Container<'s>,
        near: Option<usize>,
        around: Around<'s>,
        eol: &'s str,
    ) -> Writer<'s> {
        let neighbour = near.and_then(|i| colon(self.bytes, container.members.get(i)?));
        Writer { style: self.style, colon: neighbour.or(around.colon).unwrap_or(&self.style.colon), eol }
    }

    /// A run of parts goes, with as many commas.
    fn remove(&mut self, container: &Container, run: Range<usize>) -> Result<(), Overlap> {
        let parts = &container.parts;
        let (first, last) = (&parts[run.start], &parts[run.end - 1]);
        let lead = space_before(self.bytes, first.start);
        // Where the line of the first removed part begins, when it begins one.
        let line = last_line(lead).map(|indent| first.start - indent.len());
        let previous = run.start.checked_sub(1).map(|i| &parts[i]);

        if let Some(next) = parts.get(run.end) {
            let space = space_before(self.bytes, next.start);
            let behind_comma = next.start - space.len();
            let gone = match (line, space.find('\n')) {
                (Some(line), Some(end)) => line..behind_comma + end + 1,
                (None, Some(_)) => first.start - lead.len()..behind_comma,
                (_, None) => first.start..next.start,
            };
            return self.cut(gone);
        }
        let trail = space_after(self.bytes, last.end);
        match (previous, line.zip(trail.find('\n'))) {
            (Some(previous), Some((line, end))) => {
                self.cut(previous.end..first.start - lead.len())?;
                self.cut(line..last.end + end + 1)
            }
            (Some(previous), None) => self.cut(previous.end..last.end),
            (None, Some((line, end))) => self.cut(line..last.end + end + 1),
            (None, None) => self.cut(container.inner.clone()),
        }
    }

    fn cut(&mut self, range: Range<usize>) -> Result<(), Overlap> {
        self.edits.replace(range, "")
    }
}

impl<'a> Container<'a> {
    fn of(node: &'a Node) -> Option<Container<'a>> {
        let (parts, members) = match &node.kind {
            Kind::Array(items) => (items.iter().map(|n| n.range.clone()).collect(), &[][..]),
            Kind::Object(members) => (members.iter().map(Member::range).collect(), &**members),
            _ => return None,
        };
        Some(Container { inner: node.range.start + 1..node.range.end - 1, parts, members })
    }

    /// The indent of the first part that begins a line; `None` when all stand on one line.
    fn indent<'b>(&self, bytes: &'b [u8]) -> Option<&'b str> {
        self.parts.iter().find_map(|p| last_line(space_before(bytes, p.start)))
    }

    /// The indent for a new neighbour of part `i`.
    fn indent_at<'b>(&self, bytes: &'b [u8], i: usize) -> Option<&'b str> {
        last_line(space_before(bytes, self.parts[i].start)).or_else(|| self.indent(bytes))
    }

    /// The white space behind the comma next to part `i`.
    fn comma_at<'b>(&self, bytes: &'b [u8], i: usize) -> Option<&'b str> {
        let behind = self.parts.get(i + 1).or_else(|| (i > 0).then(|| &self.parts[i]))?;
        Some(space_before(bytes, behind.start))
    }

    /// The line end of the line part `i` ends on.
    fn line_end_behind(&self, bytes: &[u8], i: usize) -> &'static str {
        let end = self.parts[i].end;
        let gap = end..self.parts.get(i + 1).map_or(self.inner.end, |next| next.start);
        let gap = std::str::from_utf8(&bytes[gap]).unwrap_or_default();
        first_line_end(gap).unwrap_or_else(|| line_end_before(bytes, end))
    }
}

fn first_line_end(text: &str) -> Option<&'static str> {
    let at = text.find('\n')?;
    Some(if text[..at].ends_with('\r') { "\r\n" } else { "\n" })
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
