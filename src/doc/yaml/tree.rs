//! The reader: from events to a tree of nodes with exact byte ranges.
//!
//! The library's event spans count characters and may run over trailing blanks and comments, so only the
//! event structure, the scalar contents and the starts are taken from it; every start is checked against
//! the text, every end is found in the text.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};

use super::node::{Item, Kind, Mark, Node, Pair};
use super::{fault_at, gap, scalar};
use crate::doc::{Fault, position};
use crate::finding::Code;

/// Read the text between the delimiters; `None` when it holds no node.
pub(super) fn read(header: &str, inner: Range<usize>) -> Result<Option<Node>, Fault> {
    // A bare CR is no line end here (contract.md §1) but would be one to the library.
    let stand_in = unused_char(&header[inner.clone()]);
    let text = shield_bare_cr(&header[inner.clone()], stand_in);
    let mut offsets: Vec<usize> =
        header[inner.clone()].char_indices().map(|(i, _)| inner.start + i).collect();
    offsets.push(inner.end);
    let mut reader = Reader { header, inner, offsets, stand_in, events: Parser::new_from_str(&text) };
    reader.document()
}

/// A character of the private use area that does not occur in `text`.
pub(super) fn unused_char(text: &str) -> char {
    ('\u{E000}'..='\u{F8FF}').find(|c| !text.contains(*c)).unwrap_or('\u{E000}')
}

/// Every CR that no LF follows, replaced by one other character.
pub(super) fn shield_bare_cr(text: &str, stand_in: char) -> String {
    let mut chars = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        out.push(if c == '\r' && chars.peek() != Some(&'\n') { stand_in } else { c });
    }
    out
}

struct Reader<'t> {
    header: &'t str,
    inner: Range<usize>,
    /// The byte offset of each character of the inner text, and of its end.
    offsets: Vec<usize>,
    stand_in: char,
    events: Parser<'t, StrInput<'t>>,
}

type Spanned<'t> = (Event<'t>, Range<usize>);

impl<'t> Reader<'t> {
    fn document(&mut self) -> Result<Option<Node>, Fault> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::StreamEnd => return Ok(root),
                Event::DocumentStart(_) if root.is_none() => {
                    let first = self.next()?;
                    root = Some(self.node(first, self.inner.start, 0)?);
                }
                _ => {
                    return Err(self.unsupported(span.start, "a second YAML document inside the frontmatter"));
                }
            }
        }
    }

    fn next(&mut self) -> Result<Spanned<'t>, Fault> {
        let offset = |index: usize| self.offsets.get(index).copied().unwrap_or(self.inner.end);
        match self.events.next() {
            Some(Ok((event, span))) => {
                let start = offset(span.start.index());
                Ok((event, start..offset(span.end.index()).max(start)))
            }
            Some(Err(e)) => {
                Err(not_yaml(self.header, self.inner.clone(), offset(e.marker().index()), e.info()))
            }
            None => Ok((Event::StreamEnd, self.inner.end..self.inner.end)),
        }
    }

    /// The node that begins with `event`; `from` is where the text before it ends.
    fn node(&mut self, (event, span): Spanned<'t>, from: usize, depth: usize) -> Result<Node, Fault> {
        if depth > MAX_DEPTH {
            return Err(self.unsupported(span.start, &format!("nesting deeper than {MAX_DEPTH} levels")));
        }
        let start = gap::skip(self.header, from);
        match event {
            Event::Alias(_) => {
                self.expect(start == span.start && self.at(start) == Some(b'*'), start)?;
                let mark = Mark { what: "an alias".into(), offset: start, opaque: true };
                Ok(Node::new(Kind::Alias, span, Some(mark)))
            }
            Event::Scalar(content, style, anchor, tag) => {
                let (props, mark) = self.properties(start, anchor != 0, tag.is_some());
                self.scalar(&content, style, span, start, props, mark)
            }
            Event::SequenceStart(anchor, tag) => {
                let (props, mark) = self.properties(start, anchor != 0, tag.is_some());
                let flow = self.opens(&span, props.content, '[');
                self.sequence(flow, start, props.content, mark, depth)
            }
            Event::MappingStart(anchor, tag) => {
                let (props, mark) = self.properties(start, anchor != 0, tag.is_some());
                let flow = self.opens(&span, props.content, '{');
                self.mapping(flow, start, props.content, mark, depth)
            }
            _ => Err(self.unsupported(span.start, "a structure the editor does not know")),
        }
    }

    fn scalar(
        &mut self,
        content: &str,
        style: ScalarStyle,
        span: Range<usize>,
        start: usize,
        props: Properties,
        mark: Option<Mark>,
    ) -> Result<Node, Fault> {
        let begin = props.content;
        let (kind, range) = match style {
            // Where an empty node stands is known to its parent only.
            ScalarStyle::Plain if content.is_empty() => match mark {
                Some(_) => (Kind::Empty, start..props.end),
                None => (Kind::Empty, span.start..span.start),
            },
            ScalarStyle::Plain => (Kind::Plain, start..span.end),
            ScalarStyle::SingleQuoted => (Kind::SingleQuoted, start..self.closing_quote(begin, b'\'')?),
            ScalarStyle::DoubleQuoted => (Kind::DoubleQuoted, start..self.closing_quote(begin, b'"')?),
            ScalarStyle::Literal | ScalarStyle::Folded => {
                self.expect(matches!(self.at(begin), Some(b'|' | b'>')), begin)?;
                let indicator = self.header[begin..].find([' ', '\t', '\r', '\n']).map_or(0, |n| begin + n);
                let empty = content.bytes().all(|b| b == b'\n');
                let end = if empty { indicator } else { gap::trimmed_end(self.header, span.end) };
                (Kind::BlockScalar, start..end.max(indicator))
            }
        };
        let content = content.replace(self.stand_in, "\r");
        match kind {
            Kind::Plain => {
                let text = &self.header[begin.min(range.end)..range.end];
                self.expect(span.start == start && (text.contains('\n') || text == content), start)?;
            }
            Kind::SingleQuoted | Kind::DoubleQuoted => self.expect(span.start == start, start)?,
            _ => {}
        }
        let kept_lines =
            content.ends_with("\n\n") || (!content.is_empty() && content.bytes().all(|b| b == b'\n'));
        let tail = match kind {
            Kind::BlockScalar if kept_lines => span.end.max(range.end),
            _ => range.end,
        };
        Ok(Node { tail, content, ..Node::new(kind, range, mark) })
    }

    fn sequence(
        &mut self,
        flow: bool,
        start: usize,
        begin: usize,
        own: Option<Mark>,
        depth: usize,
    ) -> Result<Node, Fault> {
        let mut items: Vec<Item> = Vec::new();
        let mut cursor = if flow { begin + 1 } else { begin };
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                let close = if flow { Some(self.closer(span, b']', cursor)?) } else { None };
                return Ok(Node::collection(Kind::Sequence { flow, items }, start, close, own));
            }
            let dash = self.separator(flow, cursor);
            cursor = dash;
            if !flow {
                self.expect(self.at(dash) == Some(b'-'), dash)?;
                cursor += 1;
            }
            let mut node = self.node((event, span), cursor, depth + 1)?;
            node.place_empty(cursor);
            cursor = node.tail;
            items.push(Item { dash, node });
        }
    }

    fn mapping(
        &mut self,
        flow: bool,
        start: usize,
        begin: usize,
        own: Option<Mark>,
        depth: usize,
    ) -> Result<Node, Fault> {
        let mut pairs: Vec<Pair> = Vec::new();
        let mut seen: HashMap<(bool, String), usize> = HashMap::new();
        let mut cursor = if flow { begin + 1 } else { begin };
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                let close = if flow { Some(self.closer(span, b'}', cursor)?) } else { None };
                return Ok(Node::collection(Kind::Mapping { flow, pairs }, start, close, own));
            }
            cursor = self.separator(flow, cursor);
            let explicit = self.explicit_key(cursor);
            if let Some(offset) = explicit {
                cursor = offset + 1;
            }
            let mut key = self.node((event, span), cursor, depth + 1)?;
            key.place_empty(cursor);
            let key_fault = self.key_fault(&key, explicit);
            let name = key.key_text(self.header);
            let first = seen.insert((key_fault.is_none(), name.clone()), key.range.start);
            if let Some(first) = first {
                return Err(self.duplicate(&name, first, key.range.start));
            }
            let colon = gap::skip(self.header, key.tail);
            let after_colon = (self.at(colon) == Some(b':')).then_some(colon + 1);
            self.expect(flow || after_colon.is_some() || key_fault.is_some(), colon)?;
            cursor = after_colon.unwrap_or(key.tail);
            let (event, span) = self.next()?;
            let mut value = self.node((event, span), cursor, depth + 1)?;
            value.place_empty(cursor);
            cursor = value.tail;
            pairs.push(Pair { key, value, after_colon, key_fault });
        }
    }

    /// Past the comma of a flow collection, to where the next item begins.
    fn separator(&self, flow: bool, cursor: usize) -> usize {
        let at = gap::skip(self.header, cursor);
        if flow && self.at(at) == Some(b',') { gap::skip(self.header, at + 1) } else { at }
    }

    fn explicit_key(&self, at: usize) -> Option<usize> {
        let blank = matches!(self.at(at + 1), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
        (self.at(at) == Some(b'?') && blank).then_some(at)
    }

    fn key_fault(&self, key: &Node, explicit: Option<usize>) -> Option<Mark> {
        let what = match &key.kind {
            _ if explicit.is_some() => "a complex key (`? `)",
            Kind::Sequence { .. } | Kind::Mapping { .. } | Kind::BlockScalar => "a complex key",
            Kind::Alias => "an alias as a key",
            Kind::Plain if key.content == "<<" => "a merge key (`<<`)",
            _ if key.own_mark.as_ref().is_some_and(|m| m.opaque) => "a tag on a key",
            Kind::Plain if !scalar::resolve(&key.content).is_string() => "a key that is no string",
            Kind::Empty => "an empty key",
            _ => return None,
        };
        let offset = explicit.unwrap_or(key.range.start);
        Some(Mark { what: what.into(), offset, opaque: true })
    }

    /// Just after the bracket or brace that ends a flow collection.
    fn closer(&self, span: Range<usize>, close: u8, cursor: usize) -> Result<usize, Fault> {
        let at = self.separator(true, cursor);
        self.expect(span.start <= at && self.at(at) == Some(close), at)?;
        Ok(at + 1)
    }

    /// Whether a collection is written in flow style: the start of a block collection covers no text.
    fn opens(&self, span: &Range<usize>, content: usize, open: char) -> bool {
        span.end > content && self.header[content..].starts_with(open)
    }

    /// The anchor and tag in front of a node, as many as its event has.
    fn properties(&self, start: usize, anchor: bool, tag: bool) -> (Properties, Option<Mark>) {
        let mut props = Properties { end: start, content: start };
        for _ in 0..usize::from(anchor) + usize::from(tag) {
            let rest = &self.header[props.content..];
            let length = match rest.starts_with("!<") {
                true => rest.find('>').map_or(rest.len(), |n| n + 1),
                false => rest.find([' ', '\t', '\r', '\n', ',', '[', ']', '{', '}']).unwrap_or(rest.len()),
            };
            props.end = props.content + length;
            props.content = gap::skip(self.header, props.end);
        }
        let what = match (anchor, tag) {
            (false, false) => return (props, None),
            (true, false) => "an anchor",
            (false, true) => "a tag",
            (true, true) => "an anchor and a tag",
        };
        (props, Some(Mark { what: what.into(), offset: start, opaque: tag }))
    }

    /// Just after the quote that closes the scalar opened at `begin`.
    fn closing_quote(&self, begin: usize, quote: u8) -> Result<usize, Fault> {
        self.expect(self.at(begin) == Some(quote), begin)?;
        let mut at = begin + 1;
        while let Some(byte) = self.at(at) {
            match byte {
                b'\\' if quote == b'"' => at += 2,
                b if b == quote && quote == b'\'' && self.at(at + 1) == Some(quote) => at += 2,
                b if b == quote => return Ok(at + 1),
                _ => at += 1,
            }
        }
        Err(self.unsupported(begin, "a quoted scalar the editor cannot place"))
    }

    fn at(&self, offset: usize) -> Option<u8> {
        self.header.as_bytes()[..self.inner.end].get(offset).copied()
    }

    /// The text and the library must agree on where things stand.
    fn expect(&self, agreed: bool, offset: usize) -> Result<(), Fault> {
        if agreed { Ok(()) } else { Err(self.unsupported(offset, "text the editor cannot place exactly")) }
    }

    fn unsupported(&self, offset: usize, what: &str) -> Fault {
        fault_at(self.header.as_bytes(), Code::UnsupportedYaml, offset, what)
    }

    fn duplicate(&self, key: &str, first: usize, second: usize) -> Fault {
        let (line, column) = position(self.header.as_bytes(), first);
        let (line2, column2) = position(self.header.as_bytes(), second);
        let message = format!(
            "the key `{key}` stands twice: line {line}, column {column} and line {line2}, column {column2}"
        );
        Fault::new(Code::DuplicateKey, second, message)
    }
}

struct Properties {
    /// Just after the last anchor or tag.
    end: usize,
    /// Where the node itself begins.
    content: usize,
}

/// The fault of text that is no YAML; a tab in front of the line is named as the usual reason.
pub(super) fn not_yaml(header: &str, inner: Range<usize>, offset: usize, info: &str) -> Fault {
    let offset = offset.clamp(inner.start, inner.end);
    let mut line = gap::line_start(header, offset);
    let tab_in_front = |line: usize| {
        let front = header[line..inner.end].split(|c| c != ' ' && c != '\t').next();
        front.is_some_and(|front| front.contains('\t'))
    };
    if info.contains("tab") && !tab_in_front(line) {
        line = gap::next_line(header, line).min(inner.end);
    }
    let (offset, what) = match tab_in_front(line) {
        true => (line, format!("no YAML: a tab as indentation ({info})")),
        false => (offset, format!("no YAML: {info}")),
    };
    fault_at(header.as_bytes(), Code::InvalidYaml, offset, &what)
}

/// Nesting beyond this is refused; the second reader stops at 128.
const MAX_DEPTH: usize = 64;
