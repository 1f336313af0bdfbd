//! Markdown of the plain form, read line by line: headings of hashes, fences, one-line comments,
//! paragraphs, quotes and lists that begin at the margin.
//!
//! Most files are of that form, and reading them so takes a fraction of the time. Whatever a line could
//! mean beyond it (other HTML, link definitions, underlines, indents, lines that go on lazily) is left to
//! the parser: the answer is the same or none.

use memchr::{memchr_iter, memchr3, memmem};

use super::{Outline, atx_level, heading_text, line_end};
use crate::doc::markdown::Heading;

/// What the lines so far have left open at the top level.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    Nothing,
    Paragraph,
    Quote,
    List {
        /// The bullet, or what stands behind the number.
        kind: u8,
        /// How far the content of its last item is indented.
        indent: usize,
        /// Whether the line before was blank.
        is_blank: bool,
    },
}

/// The outline of `bytes[from..]`; `None` when the text is not of the plain form.
pub(super) fn read(bytes: &[u8], from: usize) -> Option<Outline> {
    let text = &bytes[from..];
    let is_odd = memchr3(b'\t', b'\x0B', b'\x0C', text).is_some()
        || !memchr_iter(b'\r', text).all(|i| text.get(i + 1) == Some(&b'\n'));
    if is_odd {
        return None;
    }
    let mut out = Outline { from, end: bytes.len(), ..Outline::default() };
    let mut number = 1 + memchr_iter(b'\n', &bytes[..from]).count();
    let mut open = Open::Nothing;
    let mut at = from;
    while at < bytes.len() {
        let end = line_end(bytes, at + 1);
        let line = without_end(&bytes[at..end]);
        let indent = line.iter().take_while(|b| **b == b' ').count();
        let text = &line[indent..];
        open = match (text.first(), open) {
            (None, Open::List { kind, indent, .. }) => Open::List { kind, indent, is_blank: true },
            (None, _) => Open::Nothing,
            (Some(_), Open::List { kind, indent: content, .. }) if indent >= content => {
                Open::List { kind, indent: content, is_blank: false }
            }
            (Some(first), Open::Paragraph) if indent > 0 => {
                if indent < 4 && may_begin(*first) {
                    return None;
                }
                Open::Paragraph
            }
            // Indented code, or what is easily mistaken for it.
            _ if indent > 0 => return None,
            (Some(b'#'), _) if atx_level(text).is_some() => {
                let range = at..end;
                let text = heading_text(&bytes[range.clone()]);
                let level = u8::try_from(atx_level(line)?).ok()?;
                out.headings.push(Heading { level, text, range, line: number });
                out.begin(at)
            }
            (Some(b'`' | b'~'), _) if is_fence(text) => {
                // Backticks behind them make it code within a line.
                let mut info = text.iter().skip_while(|b| **b == text[0]);
                if text[0] == b'`' && info.any(|b| *b == b'`') {
                    return None;
                }
                out.begin(at);
                out.read_fence(bytes, at);
                let fence = &out.fences.last()?.range;
                number += memchr_iter(b'\n', &bytes[fence.clone()]).count();
                at = fence.end;
                open = Open::Nothing;
                continue;
            }
            (Some(_), open) => out.line(text, open, at)?,
        };
        number += 1;
        at = end;
    }
    // Outlines are kept for as long as their files.
    out.blocks.shrink_to_fit();
    out.headings.shrink_to_fit();
    out.fences.shrink_to_fit();
    Some(out)
}

impl Outline {
    /// A block of the top level.
    fn begin(&mut self, at: usize) -> Open {
        self.blocks.push(at);
        self.closer = None;
        Open::Nothing
    }

    /// What is open after a line that begins at the margin with something else than a heading or a fence.
    fn line(&mut self, text: &[u8], open: Open, at: usize) -> Option<Open> {
        let is_comment = || {
            // The comment ends with its line.
            text.starts_with(b"<!-- ") && memmem::find(&text[5..], b"-->").is_some()
        };
        // Rules, underlines, empty items.
        if matches!(text[0], b'-' | b'*' | b'_' | b'=' | b'+')
            && text.iter().all(|b| *b == text[0] || *b == b' ')
        {
            return None;
        }
        match (text[0], marker(text), open) {
            (_, Marker::Odd, _) => None,
            (_, Marker::Item { kind, indent, .. }, Open::List { kind: known, .. }) if kind == known => {
                Some(Open::List { kind, indent, is_blank: false })
            }
            // A number interrupts nothing, or only when it is 1.
            (
                b'0'..=b'9',
                Marker::Item { .. },
                Open::Paragraph | Open::Quote | Open::List { is_blank: false, .. },
            ) => None,
            (_, Marker::Item { kind, indent }, _) => {
                self.begin(at);
                Some(Open::List { kind, indent, is_blank: false })
            }
            (b'>', _, Open::Quote) => Some(Open::Quote),
            (b'>', _, _) => {
                self.begin(at);
                Some(Open::Quote)
            }
            (b'<', _, Open::Nothing | Open::Paragraph | Open::List { is_blank: true, .. })
                if is_comment() =>
            {
                Some(self.begin(at))
            }
            (b'<', ..) => None,
            (_, _, Open::Paragraph) => Some(Open::Paragraph),
            // The line may go on with what stands inside.
            (_, _, Open::Quote | Open::List { is_blank: false, .. }) => None,
            (b'[', ..) => None,
            (_, _, Open::Nothing | Open::List { .. }) => {
                self.begin(at);
                Some(Open::Paragraph)
            }
        }
    }
}

/// How a line begins that may be an item of a list.
enum Marker {
    /// It begins in another way.
    None,
    /// With a bullet or a number, one blank, and content.
    Item {
        /// The bullet, or what stands behind the number.
        kind: u8,
        /// How far its content is indented.
        indent: usize,
    },
    /// In a way that has further rules.
    Odd,
}

fn marker(text: &[u8]) -> Marker {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let kind = match (digits, text.get(digits)) {
        (0, Some(b'-' | b'*' | b'+')) | (1..=9, Some(b'.' | b')')) => text[digits],
        _ => return Marker::None,
    };
    match &text[digits + 1..] {
        [b' ', content, ..] if *content != b' ' => Marker::Item { kind, indent: digits + 2 },
        [] | [b' ', ..] => Marker::Odd,
        _ => Marker::None,
    }
}

/// Whether a block other than a paragraph may begin with this character.
fn may_begin(first: u8) -> bool {
    !first.is_ascii_alphabetic() && first < 0x80
}

fn is_fence(text: &[u8]) -> bool {
    text.starts_with(b"```") || text.starts_with(b"~~~")
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").map_or(line, |l| l.strip_suffix(b"\r").unwrap_or(l));
    let end = line.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    &line[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINES: &[&str] = &[
        "# A",
        "## B ##",
        "### ",
        "#",
        "#no",
        "####### no",
        "```",
        "````",
        "~~~",
        "```text",
        "``` a`b",
        "~~~ a`b",
        "  ```",
        "    ```",
        "`code` x",
        "<!-- a -->",
        "<!-- a",
        "-->",
        "<!---->",
        "<!-- a --> b",
        "<!-- specdev-run {\"a\": 1} -->",
        "<div>",
        "<pre>",
        "</pre>",
        "<Path>x</Path>",
        "<b>x</b> y",
        "text",
        "text",
        "text",
        "more text.  ",
        "  text",
        "   é",
        "    code",
        "     - x",
        "- item",
        "- item",
        "* item",
        "+ item",
        "-item",
        "- ",
        "-",
        "-   x",
        "- - x",
        "- # x",
        "- > x",
        "- ```",
        "- ~~~",
        "- <!-- a",
        "- <div>",
        "- [ ] x",
        "- [a]: b",
        "- `x`",
        "- **x**",
        "- * * *",
        "1. one",
        "2. two",
        "2) two",
        "10. ten",
        "1.",
        "1.x",
        "1. - x",
        "  - nested",
        "  more",
        "   more",
        "  ```",
        "  ~~~",
        "  <!-- a",
        "  # x",
        "> quote",
        ">",
        "> ```",
        "> - x",
        "> <!-- a",
        ">> x",
        "[a]: b",
        "[a",
        "[a]: b 'c",
        "---",
        "***",
        "- - -",
        "* * *",
        "___",
        "===",
        "=",
        "--",
        "**b** x",
        "*e* x",
        "_e_ x",
        "+x",
        "= x",
        "|a|b|",
        "\\",
        "\u{a0}",
        "\u{2003}x",
        "é",
        "\u{0}",
        "&amp;",
        "a\\",
        "1986\\. x",
        "",
        "",
        "",
        "",
        "",
        " ",
        "    ",
        "-\u{a0}x",
        "#\u{a0}x",
        "1234567890. x",
        "123456789. x",
    ];

    fn slow(bytes: &[u8]) -> Outline {
        Outline::parse(bytes, 0)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn plain_reading_is_that_of_the_parser(
            lines in proptest::collection::vec((proptest::sample::select(LINES), proptest::bool::weighted(0.05)), 0..12),
            ended in any::<bool>(),
            plain in any::<bool>(),
        ) {
            let mut text = String::new();
            for (line, crlf) in &lines {
                // Most soups hold a line that no plain text has; half of them are made of the others.
                if plain && read(line.as_bytes(), 0).is_none() && !line.starts_with("  ") {
                    continue;
                }
                text += line;
                text += if *crlf { "\r\n" } else { "\n" };
            }
            if !ended {
                text.pop();
            }
            if let Some(outline) = read(text.as_bytes(), 0) {
                prop_assert_eq!(outline, slow(text.as_bytes()), "{:?}", text);
            }
        }
    }

    #[test]
    fn usual_texts_are_of_the_plain_form() {
        let text = "# Evidence: T-01\n\nResult: passed\nin two lines\n\n- one\n- [x] two\n  goes on\n\n  - inner\n\n1. first\n2. second\n\n\
                    > quoted\n> more\n\n```sh\nmake # no heading\n```\n## Migration History\n\n<!-- specdev-run {} -->\n\n### status v3\n\n\
                    <!-- specdev-history {} -->\n\n````text\n```\n````\n";
        for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("{text}```\nopen")] {
            let outline = read(text.as_bytes(), 0).unwrap();
            assert_eq!(outline, slow(text.as_bytes()));
            assert_eq!(outline.headings.len(), 3);
        }
    }

    #[test]
    fn lines_count_from_the_start_of_the_file() {
        let text = b"---\na: b\n---\n\n# A\n";
        assert_eq!(read(text, 13).unwrap(), Outline::parse(text, 13));
        assert_eq!(read(text, 13).unwrap().headings[0].line, 5);
    }
}
