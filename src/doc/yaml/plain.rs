//! Headers as they are nearly always written: one `key: value` to a line, the value a word, a number or
//! a short list of words on the same line.
//!
//! Such a header reads the same for every YAML library, so it is read here, in a fraction of the time.
//! Whatever is not exactly of this form (a comment, an indent, an escape, a word that might be a number)
//! is left to the libraries.

use std::ops::Range;

use serde_json::Value;

use super::node::{Item, Kind, Node, Pair};
use super::scalar;

/// The tree of a header of the plain form; `None` for any other.
pub(super) fn read(header: &str, inner: Range<usize>) -> Option<Node> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut at = inner.start;
    for line in header[inner].split_inclusive('\n') {
        let text = line.strip_suffix('\n')?;
        let pair = pair(text.strip_suffix('\r').unwrap_or(text), at)?;
        if pairs.iter().any(|p| p.key.content == pair.key.content) {
            return None;
        }
        pairs.push(pair);
        at += line.len();
    }
    let start = pairs.first()?.key.range.start;
    Some(Node::collection(Kind::Mapping { flow: false, pairs }, start, None, None))
}

fn pair(line: &str, start: usize) -> Option<Pair> {
    let colon = line.find(':')?;
    let (name, rest) = (&line[..colon], &line[colon + 1..]);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        && name.len() <= MAX_KEY
        && scalar::resolve(name).is_string();
    if !is_name {
        return None;
    }
    let key = word(name, start);
    let after_colon = start + colon + 1;
    let text = rest.trim_start_matches(' ');
    let begin = after_colon + rest.len() - text.len();
    let value = match text {
        "" if rest.is_empty() => Node::new(Kind::Empty, after_colon..after_colon, None),
        "" => return None,
        _ if !rest.starts_with(' ') => return None,
        text => value(text, begin)?,
    };
    Some(Pair { key, value, after_colon: Some(after_colon), key_fault: None })
}

fn value(text: &str, start: usize) -> Option<Node> {
    match text.as_bytes() {
        [b'[', inner @ .., b']'] => {
            let mut items = Vec::new();
            let mut at = start + 1;
            if !inner.is_empty() {
                for part in text[1..text.len() - 1].split(',') {
                    let item = part.trim_start_matches(' ');
                    if items.is_empty() != (item.len() == part.len()) {
                        return None;
                    }
                    let begin = at + part.len() - item.len();
                    items.push(Item { dash: begin, node: scalar(item, begin, true)? });
                    at += part.len() + 1;
                }
            }
            let close = start + text.len();
            Some(Node::collection(Kind::Sequence { flow: true, items }, start, Some(close), None))
        }
        _ => scalar(text, start, false),
    }
}

fn scalar(text: &str, start: usize, in_flow: bool) -> Option<Node> {
    if let [b'"', inner @ .., b'"'] = text.as_bytes() {
        let is_printable = |b: &u8| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\' | b',');
        let content = text.get(1..text.len() - 1).filter(|_| inner.iter().all(is_printable))?;
        let range = start..start + text.len();
        return Some(Node { content: content.into(), ..Node::new(Kind::DoubleQuoted, range, None) });
    }
    (is_plain(text, in_flow) && is_settled(text)).then(|| word(text, start))
}

fn word(text: &str, start: usize) -> Node {
    Node { content: text.into(), ..Node::new(Kind::Plain, start..start + text.len(), None) }
}

/// Whether nothing in the text could mean anything to YAML.
fn is_plain(text: &str, in_flow: bool) -> bool {
    let is_letter =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '@' | '+' | '-' | '一'..='鿿');
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let fits = match c {
            ' ' | ':' => {
                !in_flow && before.is_some_and(is_letter) && chars.peek().is_some_and(|c| is_letter(*c))
            }
            c => is_letter(c),
        };
        if !fits {
            return false;
        }
        before = Some(c);
    }
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '一'..='鿿'))
}

/// Whether every library takes the text for the same kind of value: a short decimal integer, a name in
/// lower case, or a string that no reading makes a number of.
fn is_settled(text: &str) -> bool {
    let bytes = text.as_bytes();
    match scalar::resolve(text) {
        Value::Number(_) => {
            bytes.len() <= MAX_DIGITS
                && bytes.iter().all(u8::is_ascii_digit)
                && (text == "0" || bytes[0] != b'0')
        }
        Value::String(_) => {
            // A date, or a name that begins with one.
            let has_inner_dash = bytes.windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1] == b'-');
            !bytes[0].is_ascii_digit() || has_inner_dash
        }
        Value::Bool(_) | Value::Null => bytes.iter().all(u8::is_ascii_lowercase),
        _ => false,
    }
}

/// Libraries look so far for the colon behind a key, and farther.
const MAX_KEY: usize = 100;
/// Integers of so many digits are exact everywhere.
const MAX_DIGITS: usize = 15;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{check, delimit, tree};
    use super::*;

    /// The plain reading, when there is one, is that of the libraries.
    fn agrees(inner: &str) -> Result<bool, String> {
        let header = format!("---\n{inner}---\n");
        let inner = 4..4 + inner.len();
        let Some(plain) = read(&header, inner.clone()) else { return Ok(false) };
        delimit::check_text(&header, inner.clone()).map_err(|f| f.message)?;
        let full = tree::read(&header, inner.clone()).map_err(|f| f.message)?;
        let full = full.ok_or("no node")?;
        delimit::check_indented(&header, inner.clone(), &full).map_err(|f| f.message)?;
        super::super::refuse_top_level(&header, &full).map_err(|f| f.message)?;
        check::same_reading(&header, inner, &full).map_err(|f| f.message)?;
        match format!("{plain:?}") == format!("{full:?}") {
            true => Ok(true),
            false => Err(format!("{plain:?}\n{full:?}")),
        }
    }

    #[test]
    fn headers_of_the_plain_form() {
        for inner in [
            "a: b\n",
            "schema_version: 6\nchange: 2026-01-08-sync-cache-00085\nmodes: [release-coordination]\nlead: codex:/root\n",
            "ready: true\nlist: []\npaths: [\"<Path>src/T-01/**</Path>\", b, 3]\nid: T-01\nempty:\nlast: x\n",
            "title: 搜索 cache\nnone: null\nzero: 0\nquoted: \"a: b # c\"\n",
            "a:   b\r\nc: d\r\n",
        ] {
            assert_eq!(agrees(inner), Ok(true), "{inner}");
        }
    }

    #[test]
    fn other_headers_are_left_to_the_libraries() {
        for inner in [
            "",
            "a: b",
            "a: b \n",
            "a: \n",
            "a:b\n",
            " a: b\n",
            "a: b # c\n",
            "# c\n",
            "a: 'b'\n",
            "a: 00\n",
            "a: 1e5\n",
            "a: 0x1f\n",
            "a: True\n",
            "a: 1.5\n",
            "a: [b, c,]\n",
            "a: [b,c]\n",
            "a: [ b]\n",
            "a: [b ]\n",
            "a: [[b]]\n",
            "a: {}\n",
            "a: \"\\n\"\n",
            "a: b\na: c\n",
            "null: a\n",
            "a: -\n",
            "a: b:\n",
            "a: b: c\n",
            "a: - b\n",
            "a: ~\n",
            "a: 12345678901234567890\n",
            "a: 0b1\n",
            "a: &b\n",
            "a: *b\n",
            "- a\n",
            "a:\n  b: c\n",
            "<<: a\n",
            "1: a\n",
            "a: !b c\n",
            "a: [\"b, c\"]\n",
        ] {
            assert_eq!(agrees(inner), Ok(false), "{inner:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn plain_reading_is_that_of_the_libraries(
            lines in proptest::collection::vec(
                ("[a-z_]{1,3}", "(: |:|:  )", "[-a-zA-Z0-9_./@+:一鿿 \"\\[\\],~#]{0,8}|true|null|\\[[a-z0-9:-]{1,4}(, [a-z0-9\"-]{1,4}){0,3}\\]|[0-9]{1,17}|[0-9][-0-9a-fxob._]{0,6}"),
                1..4,
            ),
            end in "(\n|\r\n)",
        ) {
            let inner: String = lines.iter().map(|(k, colon, v)| format!("{k}{colon}{v}{end}")).collect();
            if let Err(why) = agrees(&inner) {
                return Err(TestCaseError::fail(format!("{inner:?}: {why}")));
            }
        }
    }
}
