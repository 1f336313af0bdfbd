//! The section finder and the history it is made for.
//!
//! Input: a Markdown file, and behind the last NUL byte the choices.

use pulldown_cmark::{Event, Options, Parser, Tag};
use specdev_migrate::doc::content::Content;
use specdev_migrate::doc::line_end_before;
use specdev_migrate::doc::markdown::{Outline, Section};
use specdev_migrate::history::entry::Entry;
use specdev_migrate::history::rebuild::rebuild;
use specdev_migrate::history::section::History;
use specdev_migrate::history::write::{FileBytes, Unit, write};
use specdev_migrate::history::{to_crlf, to_lf};

use crate::tape::Tape;
use crate::{in_time, spliced};

pub fn check(data: &[u8]) {
    let (bytes, mut tape) = Tape::split(data);
    if tape.below(64) == 63 {
        in_time(b"# a\n", tape.piece(bytes), b"\n## b\n", |bytes| {
            let outline = Outline::read(bytes, 0);
            let _ = outline.append(bytes, BLOCK);
        });
        return;
    }
    let from = Content::from(bytes).body_start();
    let outline = Outline::read(bytes, from);
    places(bytes, from, &outline);
    same_headings(&bytes[from..], from, &outline);
    appended(bytes, from, &outline);
    if let Some(heading) = tape.pick(&outline.headings) {
        let all = outline.sections(heading.level, &heading.text);
        let section = all.iter().find(|s| s.heading == heading.range).expect("the section of a heading");
        appended_to(bytes, from, &outline, section);
    }
    history(bytes, &mut tape);
}

fn places(bytes: &[u8], from: usize, outline: &Outline) {
    let starts_line = |at: usize| at == from || bytes[at - 1] == b'\n';
    let ends_line = |at: usize| at == bytes.len() || bytes[at - 1] == b'\n';
    let mut at = from;
    for heading in &outline.headings {
        let range = &heading.range;
        assert!(at <= range.start && range.start < range.end && range.end <= bytes.len(), "{heading:?}");
        assert!(starts_line(range.start) && ends_line(range.end), "{heading:?}");
        assert_eq!(heading.line, bytes[..range.start].iter().filter(|b| **b == b'\n').count() + 1);
        at = range.end;
    }
    let mut at = from;
    for fence in outline.fences(&(0..bytes.len())) {
        assert!(at <= fence.range.start && fence.range.end <= bytes.len(), "{fence:?}");
        assert!(fence.range.start < fence.content.start && fence.content.end <= fence.range.end, "{fence:?}");
        assert!(starts_line(fence.range.start) && ends_line(fence.range.end), "{fence:?}");
        let inside = |h: &&specdev_migrate::doc::markdown::Heading| fence.range.contains(&h.range.start);
        assert!(!outline.headings.iter().any(|h| inside(&h)), "{fence:?}");
        at = fence.range.end;
    }
}

/// The headings are those of the parser, where the text holds nothing that the module reads its own way.
fn same_headings(body: &[u8], from: usize, outline: &Outline) {
    let Ok(text) = std::str::from_utf8(body) else { return };
    let lower = text.to_ascii_lowercase();
    let own_way = ["\u{b}", "\u{c}", "\t\n", "\t\r", "\t ", "<pre", "<script", "<style", "<textarea"];
    let bare_cr = text.matches('\r').count() != text.matches("\r\n").count();
    let markers = text.lines().any(|l| l.bytes().filter(|b| b">-+*.)".contains(b)).count() > 200);
    if bare_cr || markers || text.ends_with('\t') || own_way.iter().any(|o| lower.contains(o)) {
        return;
    }
    let mut depth = 0;
    let mut theirs = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if let (0, Tag::Heading { level, .. }) = (depth, tag) {
                    let line = text[..range.start].rfind('\n').map_or(0, |i| i + 1);
                    theirs.push((level as u8, from + line));
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    let ours: Vec<_> = outline.headings.iter().map(|h| (h.level, h.range.start)).collect();
    assert_eq!(ours, theirs);
}

fn appended(bytes: &[u8], from: usize, outline: &Outline) {
    let (at, insert) = outline.append(bytes, BLOCK).expect("text that can be appended");
    assert_eq!(at, bytes.len());
    let after = spliced(bytes, at, &insert);
    let result = Outline::read(&after, from);
    let old = outline.sections(2, TITLE);
    let new = result.sections(2, TITLE);
    assert_eq!(new.len(), old.len() + 1);
    let last = &new[old.len()];
    assert_eq!(last.body.end, after.len());
    let eol = line_end_before(bytes, bytes.len());
    assert_eq!(String::from_utf8_lossy(&after[last.heading.start..]), BLOCK.replace('\n', eol));
    assert_eq!(result.fences(&last.body).len(), 1);
    if old.is_empty() {
        assert_eq!(result.section(2, TITLE), Ok(Some(last.clone())));
    }
    grown(bytes, outline, &after, &result, at, insert.len());
    // A second one finds its place behind the first.
    let (at, insert) = result.append(&after, "## Second\n").expect("text that can be appended");
    let twice = spliced(&after, at, &insert);
    let second = Outline::read(&twice, from);
    assert_eq!(second.headings.len(), result.headings.len() + 1);
    assert_eq!(second.sections(2, TITLE).last().map(|s| s.heading.clone()), Some(last.heading.clone()));
}

fn appended_to(bytes: &[u8], from: usize, outline: &Outline, section: &Section) {
    const NEW: &str = "###### New one\n\n```text\n# x\n```\n";
    let (at, insert) = outline.append_to(bytes, section, NEW).expect("text that can be appended");
    assert_eq!(at, section.body.end);
    let after = spliced(bytes, at, &insert);
    let result = Outline::read(&after, from);
    grown(bytes, outline, &after, &result, at, insert.len());
    let new: Vec<_> =
        result.headings.iter().filter(|h| at <= h.range.start && h.range.start < at + insert.len()).collect();
    assert_eq!(new.iter().map(|h| h.text.as_str()).collect::<Vec<_>>(), ["New one"]);
    let (_, level, text) = heading_at(outline, section.heading.start);
    let same = result.sections(level, &text).into_iter().find(|s| s.heading.start == section.heading.start);
    let same = same.expect("the section is still there");
    if section.level < 6 {
        assert!(same.body.start <= new[0].range.start && new[0].range.end <= same.body.end);
        assert_eq!(same.body.end, at + insert.len());
    } else {
        // A heading of the same rank is the end of the section it was put into.
        assert_eq!(same.body.end, new[0].range.start);
    }
}

/// Old headings and fences stand where they stood, or behind the insertion.
fn grown(bytes: &[u8], outline: &Outline, after: &[u8], result: &Outline, at: usize, length: usize) {
    let moved = |offset: usize| if offset < at { offset } else { offset + length };
    for heading in &outline.headings {
        let new = heading_at(result, moved(heading.range.start));
        assert_eq!(new, (moved(heading.range.start), heading.level, heading.text.clone()));
    }
    let fences = result.fences(&(0..after.len()));
    for fence in outline.fences(&(0..bytes.len())) {
        let start = moved(fence.range.start);
        let new = fences.iter().find(|f| f.range.start == start).expect("an old fence");
        assert_eq!(new.info, fence.info);
        // The last line of an open fence may have got its missing line end.
        let content = after[new.content.clone()].strip_prefix(&bytes[fence.content.clone()]);
        assert!(content.is_some_and(|rest| matches!(rest, b"" | b"\n" | b"\r\n")), "{fence:?} {new:?}");
    }
}

fn heading_at(outline: &Outline, at: usize) -> (usize, u8, String) {
    let heading = outline.headings.iter().find(|h| h.range.start == at).expect("a heading");
    (at, heading.level, heading.text.clone())
}

/// A run with some entries into any host: everything reads back, and the host as it was.
fn history(bytes: &[u8], tape: &mut Tape) {
    let Ok(known) = History::read(&bytes.into()) else { return };
    let file = source(bytes, tape);
    let entries: Vec<Entry> = (0..1 + tape.below(3))
        .map(|n| {
            let range = tape.piece(&file);
            let start = range.as_ptr() as usize - file.as_ptr() as usize;
            let title = format!("worktree record T-{n:02}");
            Entry::new(title, &["a_step"], SOURCE, &tape.text(bytes), &file, (start, start + range.len()))
        })
        .collect();
    let mut unit = Unit { host: HOST.into(), ..Unit::default() };
    let before = (!bytes.is_empty() || tape.byte() % 2 == 0).then(|| bytes.to_vec());
    unit.hosts.extend(before.clone().map(|b| (HOST.to_owned(), b.into())));
    unit.files.insert(SOURCE.into(), FileBytes { before: Some(file.into()), after: b"{}\n".to_vec().into() });
    unit.entries.extend(entries.iter().map(|e| (HOST.to_owned(), e.clone())));
    let mut drafts = [unit.draft().expect("a host with one history takes another run")];
    let seq = known.last_seq().saturating_add(1);
    write(&mut drafts, seq, "2.0.6", false);
    let after = &drafts[0].files[HOST].after;
    if before.is_some() {
        pure_insertion(bytes, after);
    }
    let read = History::read(after).expect("the history just written");
    assert_eq!(read.runs.len(), known.runs.len() + 1);
    for entry in &entries {
        assert!(holds(&read, after, entry), "{:?}", entry.meta);
    }
    for old in &known.entries {
        let was = old.bytes(bytes);
        let mut now = read.entries.iter().filter(|e| e.meta == old.meta).map(|e| e.bytes(after));
        // A damaged entry in a fence that reached to the end of the file is damaged in another way when its
        // last line has been ended.
        assert!(now.any(|now| now == was || (now.is_err() && was.is_err())), "{:?}", old.meta);
    }
    let run = read.runs.iter().find(|r| r.value.seq == seq && r.value.entries.len() == entries.len());
    let run = &run.expect("the run line just written").value;
    let host = run.files.iter().find(|f| f.path == HOST).expect("a host is a file of its run");
    assert_eq!(rebuild(host, after, &[], (&run.run, seq)), Ok(before));
    // A checkout with CRLF loses nothing.
    if !after.contains(&b'\r') {
        let crlf = Content::from(to_crlf(after));
        let read = History::read(&crlf).expect("the same history with CRLF");
        for entry in &entries {
            assert!(holds(&read, &crlf, entry), "with CRLF: {:?}", entry.meta);
        }
    }
}

/// Whether an entry stands in a host, intact; a damaged one with its id may stand above.
fn holds(history: &History, host: &[u8], entry: &Entry) -> bool {
    let same = history.entries.iter().filter(|e| e.meta.id == entry.meta.id);
    same.map(|e| e.bytes(host)).any(|bytes| bytes.as_deref() == Ok(entry.bytes.as_slice()))
}

/// Old bytes: of the host, or something odd.
fn source(bytes: &[u8], tape: &mut Tape) -> Vec<u8> {
    let piece = tape.piece(bytes);
    match tape.below(8) {
        0 => to_crlf(&to_lf(piece)),
        1 => to_lf(piece).into_owned(),
        2 => [piece, b"\r\n", piece, b"\n"].concat(),
        3 => [piece, b"\0"].concat(),
        4 => [b"\xEF\xBB\xBF", piece].concat(),
        5 => piece.repeat(5),
        6 => [piece, b"\n```\n~~~~\n<!-- specdev-history {} -->\n## Migration History\n"].concat(),
        _ => piece.to_vec(),
    }
}

fn pure_insertion(old: &[u8], new: &[u8]) {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    assert!(old.len() < new.len() && prefix + suffix >= old.len());
}

const TITLE: &str = "Migration History";
const BLOCK: &str = "## Migration History\n\n### Entry\n\n<!-- a -->\n\n````text\n```\n# no heading\n````\n";
const HOST: &str = "changes/2026-08-01-login/HISTORY.md";
const SOURCE: &str = "changes/2026-08-01-login/.status.json";
