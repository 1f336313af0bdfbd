//! Markdown by byte offsets: find sections and fenced blocks of the top level, and append new ones
//! (contract.md §1, "Text rules").
//!
//! What a heading, a fence or a comment is, a CommonMark parser decides (no extensions); this module
//! maps its reading to whole lines of the original bytes. Texts of a plain form are read without it, to
//! the same outline (`plain.rs`). Nothing is ever rendered again: the only
//! edits are insertions, and each is read once more before it is handed out. An insertion that would
//! not become top-level Markdown, or would change how other lines read, is refused, and so is a
//! section that stands twice where one is needed.
//!
//! Files may hold any bytes. Only LF and CRLF end a line here; a bare CR is content.

mod plain;

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3, memrchr};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::{BOM, Fault, line_end_before};
use crate::finding::Code;

/// The top level of a Markdown file: what has the document itself as its parent. Content of quotes,
/// lists, code and HTML is not part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// The headings, in the order of the file.
    pub headings: Vec<Heading>,
    fences: Vec<Fence>,
    /// Line starts of all top-level blocks.
    blocks: Vec<usize>,
    /// Where the Markdown begins.
    from: usize,
    /// Length of the whole file.
    end: usize,
    /// The line that closes what the file leaves open at its end.
    closer: Option<String>,
    /// Reading began anew as often as it may; see [`MAX_RESTARTS`].
    is_worn_out: bool,
}

/// A top-level heading, ATX or setext.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// The raw inline text without the heading's own markers and the blanks around it. Invalid bytes
    /// read as U+FFFD.
    pub text: String,
    /// Its line or lines, the line end included.
    pub range: Range<usize>,
    /// 1-based number of its first line.
    pub line: usize,
}

/// A heading and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The line or lines of the heading.
    pub heading: Range<usize>,
    /// Everything up to the next top-level heading of the same or a higher rank, or to the end of the file.
    pub body: Range<usize>,
    /// Level of the heading.
    pub level: u8,
}

/// A top-level fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The info string as it is written, without the blanks around it.
    pub info: String,
    /// All its lines, the fence lines included.
    pub range: Range<usize>,
    /// The lines between the fence lines.
    pub content: Range<usize>,
}

impl Outline {
    /// Read `bytes[from..]`; `from` is the end of the frontmatter, or 0, and a BOM at 0 is stepped over.
    /// All offsets and lines count from the start of the file.
    pub fn read(bytes: &[u8], from: usize) -> Outline {
        Outline::read_from(
            bytes,
            match from {
                0 if bytes.starts_with(BOM) => BOM.len(),
                _ => from.min(bytes.len()),
            },
        )
    }

    fn read_from(bytes: &[u8], from: usize) -> Outline {
        plain::read(bytes, from).unwrap_or_else(|| Outline::parse(bytes, from))
    }

    /// What the parser makes of `bytes[from..]`.
    fn parse(bytes: &[u8], from: usize) -> Outline {
        let text = parseable(&bytes[from..]);
        let mut outline = Outline { from, end: bytes.len(), ..Outline::default() };
        let mut lines = LineCounter { bytes, offset: 0, line: 1 };
        let (mut start, mut restarts) = (from, MAX_RESTARTS);
        while let Some(next) =
            outline.read_blocks(bytes, &text[start - from..], start, &mut lines, restarts > 0)
        {
            start = next;
            restarts -= 1;
        }
        outline.is_worn_out = restarts == 0;
        // Outlines are kept for as long as their files.
        outline.blocks.shrink_to_fit();
        outline.headings.shrink_to_fit();
        outline.fences.shrink_to_fit();
        outline
    }

    /// The one section with this heading; `None` when there is none, and a fault when there are several.
    pub fn section(&self, level: u8, title: &str) -> Result<Option<Section>, Fault> {
        let mut found = self.matching(level, title);
        let (Some((_, first)), second) = (found.next(), found.next()) else { return Ok(None) };
        let Some((_, second)) = second else { return Ok(self.sections(level, title).pop()) };
        let marker = "#".repeat(usize::from(level));
        Err(Fault::new(
            Code::AmbiguousSection,
            second.range.start,
            format!("section `{marker} {title}` stands twice, in lines {} and {}", first.line, second.line),
        ))
    }

    /// All sections with this heading, in the order of the file.
    pub fn sections(&self, level: u8, title: &str) -> Vec<Section> {
        self.matching(level, title)
            .map(|(i, heading)| {
                let next = self.headings[i + 1..].iter().find(|h| h.level <= level);
                let end = next.map_or(self.end, |h| h.range.start);
                Section { heading: heading.range.clone(), body: heading.range.end..end, level }
            })
            .collect()
    }

    /// The fenced code blocks that lie within `within`.
    pub fn fences(&self, within: &Range<usize>) -> Vec<Fence> {
        let inside = |f: &&Fence| within.start <= f.range.start && f.range.end <= within.end;
        self.fences.iter().filter(inside).cloned().collect()
    }

    /// Where and what to insert so that `block` (LF lines, the last one ended) becomes top-level Markdown
    /// at the end of the file: after the missing line end of the last line, a closing line for a fence,
    /// comment or other HTML block that is still open, and one blank line. Inserted lines end like the
    /// last line of the file. A fault (`ambiguous-section`) when the result would read otherwise.
    pub fn append(&self, bytes: &[u8], block: &str) -> Result<(usize, Vec<u8>), Fault> {
        let eol = line_end_before(bytes, bytes.len());
        let mut insert = Vec::new();
        let mut last = last_line(bytes);
        if !last.is_empty() && !last.ends_with(b"\n") {
            // An LF behind a bare CR at the end of the file would make one line end of the two.
            insert.extend(if last.ends_with(b"\r") { b"\r\n" } else { eol.as_bytes() });
        }
        if let Some(closer) = &self.closer {
            last = closer.as_bytes();
            insert.extend(closer.bytes());
            insert.extend(eol.bytes());
        }
        if !is_blank(last) {
            insert.extend(eol.bytes());
        }
        let start = insert.len();
        insert.extend_from_slice(with_line_ends(block, eol).as_bytes());
        let block = start..insert.len();
        self.verify(bytes, bytes.len(), &insert, block)?;
        Ok((bytes.len(), insert))
    }

    /// Where and what to insert so that `block` becomes top-level Markdown at the end of `section`, a
    /// section of this outline, wherever it stands: [`Outline::append`] when it is the last one, else
    /// `block` between two blank lines before the next heading.
    pub fn append_to(&self, bytes: &[u8], section: &Section, block: &str) -> Result<(usize, Vec<u8>), Fault> {
        let at = section.body.end;
        if at >= bytes.len() {
            return self.append(bytes, block);
        }
        let eol = line_end_before(bytes, at);
        let mut insert = Vec::new();
        if !is_blank(last_line(&bytes[..at])) {
            insert.extend(eol.bytes());
        }
        let start = insert.len();
        insert.extend_from_slice(with_line_ends(block, eol).as_bytes());
        let block = start..insert.len();
        if !is_blank(last_line(&insert)) {
            insert.extend(eol.bytes());
        }
        self.verify(bytes, at, &insert, block)?;
        Ok((at, insert))
    }

    fn matching(&self, level: u8, title: &str) -> impl Iterator<Item = (usize, &Heading)> {
        self.headings.iter().enumerate().filter(move |(_, h)| h.level == level && h.text == title)
    }

    /// Read the blocks of `text`, which stands for `bytes[base..]`. An offset is returned when the parser
    /// ran over the end of an HTML block (see [`html_end`]) and must begin anew there.
    fn read_blocks(
        &mut self,
        bytes: &[u8],
        text: &str,
        base: usize,
        lines: &mut LineCounter<'_>,
        may_restart: bool,
    ) -> Option<usize> {
        let mut depth = 0_usize;
        for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
            let top = depth == 0;
            match &event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            if !top {
                continue;
            }
            let span = line_start(bytes, base + range.start).max(base)..line_end(bytes, base + range.end);
            self.blocks.push(span.start);
            self.closer = None;
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let text = heading_text(&bytes[span.clone()]);
                    let line = lines.line_of(span.start);
                    self.headings.push(Heading { level: level as u8, text, range: span, line });
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => self.read_fence(bytes, span.start),
                Event::Start(Tag::HtmlBlock) => match html_end(&text[span.start - base..span.end - base]) {
                    HtmlEnd::Missing(closer) => self.closer = Some(closer.to_owned()),
                    HtmlEnd::After(len) if span.start + len < span.end && may_restart => {
                        return Some(span.start + len);
                    }
                    HtmlEnd::After(_) | HtmlEnd::Unmarked => {}
                },
                _ => {}
            }
        }
        None
    }

    /// The fence that opens in the line at `start`; it ends at its closing line or with the file.
    fn read_fence(&mut self, bytes: &[u8], start: usize) {
        let first = line_end(bytes, start + 1);
        let opener = trim_blanks(&bytes[start..first]);
        let marker = opener.first().copied().unwrap_or(b'`');
        let length = opener.iter().take_while(|b| **b == marker).count();
        let info = String::from_utf8_lossy(trim_blanks(&opener[length..])).into_owned();
        let mut at = first;
        while at < bytes.len() {
            let next = line_end(bytes, at + 1);
            if closes_fence(&bytes[at..next], marker, length) {
                self.fences.push(Fence { info, range: start..next, content: first..at });
                return;
            }
            at = next;
        }
        self.closer = Some(char::from(marker).to_string().repeat(length));
        self.fences.push(Fence { info, range: start..at, content: first..at });
    }

    /// Read the result of an insertion: everything must be there as before, and in between exactly what
    /// the inserted block (at `block` within `insert`) holds when it stands alone.
    ///
    /// A heading of the top level closes whatever is open, and nothing in front of it is read with regard
    /// to what follows; so reading begins at the last heading before the insertion, and it ends at the
    /// first line of the block when that is one and nothing but the block follows.
    fn verify(&self, bytes: &[u8], at: usize, insert: &[u8], block: Range<usize>) -> Result<(), Fault> {
        let start = self.last_heading(bytes, at);
        let first_line = block.start..line_end(insert, block.start + 1);
        let only_first = at == bytes.len() && is_atx(&insert[first_line.clone()]);
        let block = if only_first { first_line } else { block };
        let insert = if only_first { &insert[..block.end] } else { insert };
        let result = [&bytes[start..at], insert, &bytes[at..]].concat();
        let found = Outline::read_from(&result, 0);
        let alone = Outline::read(&insert[block.clone()], 0);
        let moved = |offset: usize| if offset < at { offset - start } else { offset - start + insert.len() };
        let placed = |offset: usize| at - start + block.start + offset;

        let from = self.blocks.partition_point(|b| *b < start);
        let (before, after) = self.blocks.split_at(self.blocks.partition_point(|b| *b < at));
        let blocks = before[from..]
            .iter()
            .map(|b| moved(*b))
            .chain(alone.blocks.iter().map(|b| placed(*b)))
            .chain(after.iter().map(|b| moved(*b)));
        let old_headings = self.headings.iter().filter(|h| h.range.start >= start);
        let old_headings = old_headings.map(|h| (moved(h.range.start), h.level, h.text.as_str()));
        let mut headings: Vec<_> = old_headings
            .chain(alone.headings.iter().map(|h| (placed(h.range.start), h.level, h.text.as_str())))
            .collect();
        let old_fences = self.fences.iter().filter(|f| f.range.start >= start);
        let old_fences = old_fences.map(|f| (moved(f.range.start), f.info.as_str()));
        let mut fences: Vec<_> =
            old_fences.chain(alone.fences.iter().map(|f| (placed(f.range.start), f.info.as_str()))).collect();
        headings.sort_unstable();
        fences.sort_unstable();

        let same = blocks.eq(found.blocks.iter().copied())
            && headings
                .into_iter()
                .eq(found.headings.iter().map(|h| (h.range.start, h.level, h.text.as_str())))
            && fences.into_iter().eq(found.fences.iter().map(|f| (f.range.start, f.info.as_str())));
        if same {
            return Ok(());
        }
        Err(Fault::new(
            Code::AmbiguousSection,
            at,
            "text inserted here would not be read as Markdown of the top level",
        ))
    }

    /// Where reading may begin for what happens at `at`: the last heading before it, or else the start.
    fn last_heading(&self, bytes: &[u8], at: usize) -> usize {
        let before = self.headings.iter().rev().filter(|h| h.range.end <= at && !self.is_worn_out);
        before.map(|h| h.range.start).find(|h| is_atx(&bytes[*h..])).unwrap_or(self.from)
    }
}

/// A backtick fence for `content`: at least three, and longer than any run of backticks inside.
pub fn fence_for(content: &[u8]) -> String {
    let (mut longest, mut run, mut next) = (0, 0, 0);
    for at in memchr::memchr_iter(b'`', content) {
        run = if at == next { run + 1 } else { 1 };
        (longest, next) = (longest.max(run), at + 1);
    }
    "`".repeat((longest + 1).max(3))
}

/// `bytes` as text for the parser, byte for byte of the same length and with the same lines.
///
/// What the parser and CommonMark (or this project) read differently is replaced: invalid UTF-8 and
/// bare CR, form feed and vertical tab (none of them is a line end or a blank) by a mark without
/// meaning, tabs at the end of a line (the parser takes only spaces after a closing fence) by spaces.
fn parseable(bytes: &[u8]) -> Cow<'_, str> {
    if is_parseable(bytes)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        out.resize(out.len() + chunk.invalid().len(), PLACEHOLDER);
    }
    let mut at = 0;
    while let Some(n) = memchr3(b'\r', b'\x0B', b'\x0C', &out[at..]) {
        at += n;
        if out[at] != b'\r' || out.get(at + 1) != Some(&b'\n') {
            out[at] = PLACEHOLDER;
        }
        at += 1;
    }
    for line in out.split_inclusive_mut(|b| *b == b'\n') {
        for b in line.iter_mut().rev().take_while(|b| is_blank_byte(**b)) {
            if *b == b'\t' {
                *b = b' ';
            }
        }
        limit_nesting(line);
    }
    // Only whole invalid sequences and ASCII bytes were replaced, so nothing is lost here.
    Cow::Owned(String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Whether valid text needs no replacement: it has none of the odd characters, and no line that begins
/// with too many markers.
fn is_parseable(bytes: &[u8]) -> bool {
    let mut start = 0;
    let may_nest = memchr_iter(b'\n', bytes).chain([bytes.len()]).any(|end| {
        let line = &bytes[start..end];
        start = end + 1;
        line.get(..MAX_MARKERS).is_some_and(|front| front.iter().all(|b| is_part_of_marker(*b)))
    });
    !may_nest
        && memchr3(b'\t', b'\x0B', b'\x0C', bytes).is_none()
        && memchr_iter(b'\r', bytes).all(|i| bytes.get(i + 1) == Some(&b'\n'))
}

/// Whether a line that nests containers may hold this byte in front of its text.
fn is_part_of_marker(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'0'..=b'9' | b'>' | b'-' | b'+' | b'*' | b'.' | b')')
}

/// Make text of what follows the first [`MAX_MARKERS`] quote and list markers of a line: the parser
/// takes time for each open container in each later line.
fn limit_nesting(line: &mut [u8]) {
    let Some(first) = line.iter().copied().find(|b| !is_blank_byte(*b)) else { return };
    if matches!(first, b'-' | b'*' | b'_') && line.iter().all(|b| *b == first || is_blank_byte(*b)) {
        return; // A thematic break nests nothing, however long it is.
    }
    let mut markers = 0;
    for i in 0..line.len() {
        match line[i] {
            b' ' | b'\t' | b'0'..=b'9' => continue,
            b'>' => {}
            b'-' | b'+' | b'*' | b'.' | b')' if line.get(i + 1).is_none_or(|b| is_blank_byte(*b)) => {}
            _ => return,
        }
        markers += 1;
        if markers > MAX_MARKERS {
            line[i] = PLACEHOLDER;
            return;
        }
    }
}

/// Where an HTML block ends.
enum HtmlEnd {
    /// At a blank line.
    Unmarked,
    /// After so many bytes, the end of the line that holds the marker.
    After(usize),
    /// Nowhere: the marker is missing.
    Missing(&'static str),
}

/// The end of an HTML block by the end conditions of CommonMark. The parser takes of the four end tags
/// only the one that repeats the opening tag, in lower case, and so may run on beyond the end.
fn html_end(html: &str) -> HtmlEnd {
    const TAGS: [(&str, &str); 4] =
        [("<pre", "</pre>"), ("<script", "</script>"), ("<style", "</style>"), ("<textarea", "</textarea>")];
    let start = html.trim_start_matches([' ', '\t']);
    let opens = |tag: &str| {
        start.as_bytes().get(..tag.len()).is_some_and(|s| s.eq_ignore_ascii_case(tag.as_bytes()))
            && start[tag.len()..].chars().next().is_none_or(|c| matches!(c, ' ' | '\t' | '\r' | '\n' | '>'))
    };
    let (closer, found) = if let Some((_, closer)) = TAGS.iter().find(|(tag, _)| opens(tag)) {
        let lower = html.to_ascii_lowercase();
        (*closer, TAGS.iter().filter_map(|(_, end)| lower.find(end)).min())
    } else {
        let closer = match start {
            s if s.starts_with("<!--") => "-->",
            s if s.starts_with("<?") => "?>",
            s if s.starts_with("<![CDATA[") => "]]>",
            s if s.starts_with("<!") => ">",
            _ => return HtmlEnd::Unmarked,
        };
        (closer, html.find(closer))
    };
    match found {
        Some(at) => HtmlEnd::After(line_end(html.as_bytes(), at + 1)),
        None => HtmlEnd::Missing(closer),
    }
}

/// How many hashes open the heading in this line; `None` when they open none.
fn atx_level(line: &[u8]) -> Option<usize> {
    let level = line.iter().take_while(|b| **b == b'#').count();
    let ends = matches!(&line[level..], [] | [b' ' | b'\t' | b'\n', ..] | [b'\r', b'\n', ..]);
    ((1..=6).contains(&level) && ends).then_some(level)
}

/// Whether text that begins at the start of a line begins with a heading of hashes.
fn is_atx(text: &[u8]) -> bool {
    let indent = text.iter().take_while(|b| **b == b' ').count();
    indent <= 3 && atx_level(&text[indent..]).is_some()
}

/// The raw text of a heading, given its lines.
fn heading_text(lines: &[u8]) -> String {
    let text = trim_blanks(lines);
    let raw = if let Some(level) = atx_level(text) {
        let inner = &text[level..];
        let closing = inner.iter().rev().take_while(|b| **b == b'#').count();
        let head = &inner[..inner.len() - closing];
        // Hashes close a heading only behind a blank.
        if head.last().is_none_or(|b| matches!(b, b' ' | b'\t')) { head } else { inner }
    } else {
        // Setext: the last line is the underline.
        text.iter().rposition(|b| *b == b'\n').map_or(text, |end| &text[..=end])
    };
    String::from_utf8_lossy(trim_blanks(raw)).into_owned()
}

fn closes_fence(line: &[u8], marker: u8, length: usize) -> bool {
    let indent = line.iter().take_while(|b| **b == b' ').count();
    let run = line[indent..].iter().take_while(|b| **b == marker).count();
    indent <= 3 && run >= length && is_blank(&line[indent + run..])
}

/// Counts lines up to offsets that only grow.
struct LineCounter<'a> {
    bytes: &'a [u8],
    offset: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn line_of(&mut self, offset: usize) -> usize {
        self.line += memchr_iter(b'\n', &self.bytes[self.offset..offset]).count();
        self.offset = offset;
        self.line
    }
}

fn line_start(bytes: &[u8], offset: usize) -> usize {
    memrchr(b'\n', &bytes[..offset]).map_or(0, |i| i + 1)
}

/// The end of the line that the byte before `offset` belongs to, its line end included.
fn line_end(bytes: &[u8], offset: usize) -> usize {
    let at = offset.saturating_sub(1).min(bytes.len());
    memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |i| at + i + 1)
}

/// The last line with its line end; what follows the last line end when that is not nothing.
fn last_line(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    &bytes[line_start(bytes, bytes.len().saturating_sub(1))..]
}

/// Nothing but blanks, and a line end perhaps.
fn is_blank(line: &[u8]) -> bool {
    trim_blanks(line).is_empty()
}

/// A line, or lines, without the last line end and the blanks around.
fn trim_blanks(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").map_or(line, |l| l.strip_suffix(b"\r").unwrap_or(l));
    let Some(start) = line.iter().position(|b| !matches!(b, b' ' | b'\t')) else { return &[] };
    let end = line.iter().rposition(|b| !matches!(b, b' ' | b'\t')).map_or(start, |i| i + 1);
    &line[start..end]
}

/// Blank or part of a line end, in a line without bare CR.
fn is_blank_byte(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

fn with_line_ends<'a>(block: &'a str, eol: &str) -> Cow<'a, str> {
    if eol == "\n" { block.into() } else { block.replace('\n', eol).into() }
}

/// Not a letter, digit or blank, and without a meaning in Markdown.
const PLACEHOLDER: u8 = b'%';

/// Quotes and lists that one line may open inside each other; what is deeper reads as text.
const MAX_MARKERS: usize = 256;

/// How often reading may begin anew; more HTML blocks with a foreign end tag run on to their own.
const MAX_RESTARTS: usize = 64;
