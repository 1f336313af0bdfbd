//! Sections, fences and appended blocks, against CommonMark's own reading.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use specdev_migrate::doc::markdown::{Fence, Heading, Outline, Section, fence_for};
use specdev_migrate::finding::Code;

const BLOCK: &str = "## Migration History\n\nentry\n";

fn headings(text: impl AsRef<[u8]>) -> Vec<String> {
    Outline::read(text.as_ref(), 0).headings.iter().map(shown).collect()
}

fn shown(h: &Heading) -> String {
    format!("{} {}", "#".repeat(usize::from(h.level)), h.text)
}

/// Offset of the only heading `## History`.
#[track_caller]
fn only_history(text: &str) -> usize {
    let outline = Outline::read(text.as_bytes(), 0);
    let found = outline.section(2, "History").expect("unambiguous").expect("one section");
    found.heading.start
}

fn spliced(bytes: &[u8], at: usize, insert: &[u8]) -> Vec<u8> {
    [&bytes[..at], insert, &bytes[at..]].concat()
}

#[track_caller]
fn appended(bytes: impl AsRef<[u8]>, block: &str) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let (at, insert) = Outline::read(bytes, 0).append(bytes, block).expect("appended");
    assert_eq!(at, bytes.len());
    spliced(bytes, at, &insert)
}

#[track_caller]
fn appended_to(bytes: impl AsRef<[u8]>, title: &str, block: &str) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let outline = Outline::read(bytes, 0);
    let section = outline.section(2, title).expect("unambiguous").expect("one section");
    let (at, insert) = outline.append_to(bytes, &section, block).expect("appended");
    assert_eq!(at, section.body.end);
    spliced(bytes, at, &insert)
}

#[track_caller]
fn is(actual: Vec<u8>, expected: impl AsRef<[u8]>) {
    let expected = expected.as_ref();
    assert_eq!(actual, expected, "{:?}", String::from_utf8_lossy(&actual));
}

// Headings inside fenced code taken for real headings.

#[test]
fn fence_with_an_inner_pair_hides_its_headings() {
    let text = "````md\n## History\n```\n## History\n```\n````\n\n## History\nreal\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn tilde_fence_hides_its_headings() {
    let text = "~~~~md\n## History\n~~~\n## History\n~~~\n~~~~\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn tilde_fence_is_not_closed_by_backticks() {
    let text = "~~~\n```\n## History\n```\n## History\n~~~\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn opener_indented_three_is_a_fence() {
    let text = "   ```\n## History\n   ```\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn opener_indented_four_is_none() {
    let text = "    ```\n## History\n    ```\n";
    assert_eq!(only_history(text), text.find("## History").unwrap());
}

#[test]
fn closer_with_trailing_text_is_none() {
    let text = "```\n``` end\n## History\n```\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn closer_with_trailing_blanks_and_tabs_is_one() {
    assert_eq!(only_history("```\nx\n``` \t\n## History\n"), 12);
    assert_eq!(only_history("```\r\nx\r\n```\t\r\n## History\r\n"), 14);
}

#[test]
fn closer_with_form_feed_is_none() {
    let text = "```\n```\x0C\n## History\n```\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn closer_longer_than_the_opener_is_one() {
    assert_eq!(only_history("```\nx\n``````\n## History\n"), 13);
}

#[test]
fn closer_shorter_than_the_opener_is_none() {
    let text = "````\n```\n## History\n````\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn closer_indented_four_is_none() {
    let text = "```\n    ```\n## History\n```\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn opener_with_backtick_in_its_info_is_none() {
    assert_eq!(only_history("``` a`b\n## History\n"), 8);
}

#[test]
fn fence_in_a_list_item_hides_its_headings() {
    let text = "- ```\n  ## History\n  ```\n\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn fence_in_a_quote_hides_its_headings() {
    let text = "> ```\n> ## History\n> ```\n\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn open_fence_in_a_quote_ends_with_the_quote() {
    assert_eq!(only_history("> ```\n## History\n"), 6);
}

#[test]
fn heading_in_indented_code_is_none() {
    let text = "p\n\n    ## History\n\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn heading_in_a_list_or_quote_is_not_of_the_top_level() {
    let text = "- ## History\n> ## History\n\n1. a\n\n   ## History\n\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn heading_in_a_comment_is_none() {
    let text = "<!--\n\n## History\n\n-->\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn heading_in_other_html_is_none() {
    for (open, close) in [
        ("<pre>", "</pre>"),
        ("<script>", "x </script> y"),
        ("<STYLE type=a>", "</style>"),
        ("<textarea", "</textarea>"),
        ("<?php", "?>"),
        ("<!DOCTYPE", ">"),
        ("<![CDATA[", "]]>"),
    ] {
        let text = format!("{open}\n\n## History\n{close}\n## History\n");
        assert_eq!(only_history(&text), text.rfind("## History").unwrap(), "{open}");
    }
    let text = "<div>\n## History\n</div>\n\n## History\n";
    assert_eq!(only_history(text), text.rfind("## History").unwrap());
}

#[test]
fn end_tag_counts_in_any_case_and_of_any_of_the_four() {
    for text in [
        "<pre>\n</PRE>\n## History\n",
        "<script>\n</style>\n## History\n</script>\n",
        "<pre></textarea>\n## History\n\n<pre>\n</Script>\n# B\n",
    ] {
        assert_eq!(only_history(text), text.find("## History").unwrap(), "{text:?}");
    }
    assert_eq!(headings("<pre></style>\n# A\n<pre></style>\n# B\n"), ["# A", "# B"]);
}

// Headings and sections.

#[test]
fn atx_texts_are_raw_without_markers() {
    assert_eq!(
        headings(
            "# a **b** `c` \\#\n##  d  ##\n### e#\n#### f \\##\n   ##### g ##### \t\n###### ######\n#\n#h\n"
        ),
        ["# a **b** `c` \\#", "## d", "### e#", "#### f \\##", "##### g", "###### ", "# "]
    );
    assert_eq!(headings("## a\t##\t\n##\tb\n"), ["## a", "## b"]);
    assert_eq!(headings("####### seven\n"), [""; 0]);
    assert_eq!(headings("## Goal Plan：é\u{a0}\r\n"), ["## Goal Plan：é\u{a0}"]);
}

#[test]
fn setext_headings_take_all_their_lines() {
    let text = "p\n\nHistory\n---\nbody\n\n  Two\nlines  \n===\n";
    let outline = Outline::read(text.as_bytes(), 0);
    assert_eq!(outline.headings.iter().map(shown).collect::<Vec<_>>(), ["## History", "# Two\nlines"]);
    assert_eq!(&text[outline.headings[0].range.clone()], "History\n---\n");
    assert_eq!(&text[outline.headings[1].range.clone()], "  Two\nlines  \n===\n");
    assert_eq!(headings("## History\r\n\r\nA\r\n=\r\n"), ["## History", "# A"]);
    assert_eq!(headings("####### a\n---\n#b\n===\n"), ["## ####### a", "# #b"]);
}

#[test]
fn underline_after_a_lazy_line_is_no_heading() {
    assert_eq!(headings("> a\nb\n===\n"), [""; 0]);
}

#[test]
fn section_ends_at_the_next_heading_of_its_rank() {
    let text = "# T\n## A\na\n### Sub\ns\n```\n## C\n```\n## B\nb\n# U\n";
    let outline = Outline::read(text.as_bytes(), 0);
    let body = |level, title| {
        let s = outline.section(level, title).unwrap().expect(title);
        text[s.body].to_owned()
    };
    assert_eq!(body(2, "A"), "a\n### Sub\ns\n```\n## C\n```\n");
    assert_eq!(body(3, "Sub"), "s\n```\n## C\n```\n");
    assert_eq!(body(2, "B"), "b\n");
    assert_eq!(body(1, "U"), "");
    assert_eq!(body(1, "T"), &text[4..text.len() - 4]);
    assert_eq!(outline.section(2, "C"), Ok(None));
    assert_eq!(outline.section(3, "A"), Ok(None));
    assert_eq!(outline.section(2, "a"), Ok(None));
}

#[test]
fn section_that_stands_twice_is_refused_with_both_lines() {
    let text = "---\na: 1\n---\n## History\n\nHistory\n---\n";
    let fault = Outline::read(text.as_bytes(), 13).section(2, "History").unwrap_err();
    assert_eq!(fault.code, Code::AmbiguousSection);
    assert_eq!(fault.message, "section `## History` stands twice, in lines 4 and 6");
    assert_eq!(fault.offset, 25);
}

#[test]
fn sections_of_one_name_are_all_listed() {
    let text = "## A\n1\n## B\n## A\n2\n";
    let all = Outline::read(text.as_bytes(), 0).sections(2, "A");
    assert_eq!(
        all,
        [
            Section { heading: 0..5, body: 5..7, level: 2 },
            Section { heading: 12..17, body: 17..19, level: 2 }
        ]
    );
}

#[test]
fn reading_starts_behind_the_frontmatter() {
    let text = "---\ntitle: x\n---\n# A\n";
    let outline = Outline::read(text.as_bytes(), 17);
    assert_eq!(outline.headings, [Heading { level: 1, text: "A".into(), range: 17..21, line: 4 }]);
}

#[test]
fn bom_is_no_part_of_the_first_line() {
    let text = "\u{feff}## History\nx\n";
    let section = Outline::read(text.as_bytes(), 0).section(2, "History").unwrap().expect("found");
    assert_eq!((section.heading, section.body), (3..14, 14..16));
}

#[test]
fn empty_file_has_nothing() {
    let outline = Outline::read(b"", 0);
    assert!(outline.headings.is_empty());
    assert_eq!(outline.section(2, "History"), Ok(None));
    assert!(outline.fences(&(0..0)).is_empty());
}

// Any bytes.

#[test]
fn invalid_bytes_move_no_offset() {
    let bytes = b"\xff\xfe \xe2\x82\n\n## A\xff\n\xf0\n## History\n\xff";
    let outline = Outline::read(bytes, 0);
    assert_eq!(outline.headings.iter().map(shown).collect::<Vec<_>>(), ["## A\u{fffd}", "## History"]);
    let section = outline.section(2, "History").unwrap().expect("found");
    assert_eq!(&bytes[section.heading], b"## History\n");
    assert_eq!(&bytes[section.body], b"\xff");
}

#[test]
fn invalid_byte_in_a_title_is_not_the_title() {
    assert_eq!(Outline::read(b"## History\xff\n", 0).section(2, "History"), Ok(None));
    assert_eq!(Outline::read(b"## Histor\xff\n", 0).section(2, "Histor%"), Ok(None));
}

#[test]
fn bare_cr_ends_no_line() {
    assert_eq!(headings("a\r## History\r\n"), [""; 0]);
    assert_eq!(headings("## A\rB\r\n"), ["## A\rB"]);
    assert_eq!(headings("## History\r"), ["## History\r"]);
    assert_eq!(headings("```\n```\r\r\n## No\n"), [""; 0]);
    // A line of nothing but a bare CR is not blank: HTML that ends at a blank line goes on.
    assert_eq!(headings("<div>\n\r\r\n## No\n"), [""; 0]);
}

#[test]
fn form_feed_is_no_blank() {
    assert_eq!(headings("<div>\n\x0C\n## No\n"), [""; 0]);
    assert_eq!(headings("##\x0CNo\n## A\x0C\n"), ["## A\x0C"]);
}

#[test]
fn crlf_lines_read_as_lf_lines() {
    let text = "## A\r\n\r\n```json\r\n{}\r\n```\r\n## B ##\r\nx";
    let outline = Outline::read(text.as_bytes(), 0);
    assert_eq!(outline.headings.iter().map(shown).collect::<Vec<_>>(), ["## A", "## B"]);
    assert_eq!(
        outline.fences(&(0..text.len())),
        [Fence { info: "json".into(), range: 8..26, content: 17..21 }]
    );
}

// Fences.

#[test]
fn fences_know_their_content() {
    let text = "```json\n{}\n```\n- ```\n  x\n  ```\np\n\n   ~~~~  text a b \n~~~\n~~~~~\n````\n````\n```rust\nopen\n## no\n";
    let outline = Outline::read(text.as_bytes(), 0);
    let all: Vec<_> = outline
        .fences(&(0..text.len()))
        .into_iter()
        .map(|f| (f.info, &text[f.range], &text[f.content]))
        .collect();
    assert_eq!(
        all,
        [
            ("json".to_owned(), "```json\n{}\n```\n", "{}\n"),
            ("text a b".to_owned(), "   ~~~~  text a b \n~~~\n~~~~~\n", "~~~\n"),
            (String::new(), "````\n````\n", ""),
            ("rust".to_owned(), "```rust\nopen\n## no\n", "open\n## no\n"),
        ]
    );
}

#[test]
fn fences_are_those_within_the_section() {
    let text = "```\na\n```\n## A\n```\nb\n```\n## B\n```\nc";
    let outline = Outline::read(text.as_bytes(), 0);
    let of = |title| {
        let section = outline.section(2, title).unwrap().expect(title);
        outline.fences(&section.body).into_iter().map(|f| &text[f.content]).collect::<Vec<_>>()
    };
    assert_eq!(of("A"), ["b\n"]);
    assert_eq!(of("B"), ["c"]);
}

#[test]
fn fence_is_longer_than_any_run_inside() {
    assert_eq!(fence_for(b""), "```");
    assert_eq!(fence_for(b"a `b` ``c``"), "```");
    assert_eq!(fence_for(b"```\nx\n```"), "````");
    assert_eq!(fence_for(b"`````"), "``````");
}

// Append at the end of the file.

#[test]
fn append_to_an_empty_file_is_the_block() {
    is(appended("", BLOCK), BLOCK);
    is(appended("\u{feff}", BLOCK), format!("\u{feff}{BLOCK}"));
}

#[test]
fn append_puts_one_blank_line_before() {
    is(appended("text\n", "## A\n"), "text\n\n## A\n");
    is(appended("text\n\n", "## A\n"), "text\n\n## A\n");
    is(appended("text\n\n\n\n", "## A\n"), "text\n\n\n\n## A\n");
    is(appended("text\n \t\n", "## A\n"), "text\n \t\n## A\n");
    is(appended("\n", "## A\n"), "\n## A\n");
}

#[test]
fn append_ends_the_last_line() {
    is(appended("text", "## A\n"), "text\n\n## A\n");
    is(appended("a\r\ntext", "## A\nb\n"), "a\r\ntext\r\n\r\n## A\r\nb\r\n");
    is(appended("a\n  ", "## A\n"), "a\n  \n## A\n");
}

#[test]
fn append_follows_the_line_end_of_the_last_line() {
    is(appended("a\r\n", "## A\n\nb\n"), "a\r\n\r\n## A\r\n\r\nb\r\n");
    is(appended("a\r\nb\n", "## A\n"), "a\r\nb\n\n## A\n");
    is(appended("a\nb\r\n", "## A\n"), "a\nb\r\n\r\n## A\r\n");
}

#[test]
fn append_keeps_a_bare_cr_at_the_end_bare() {
    is(appended("a\nb\r", "## A\n"), "a\nb\r\r\n\n## A\n");
    // With an LF it would close the fence, and the closing line would open another.
    is(appended("```\n```\r", "## A\n"), "```\n```\r\r\n```\n\n## A\n");
}

#[test]
fn append_keeps_every_byte_of_the_text_before() {
    let kept = b"a  \n\t\n\n\n\n\n   \n---\n\x0C\n\xc2\xa0\n\xff\r\r\n\n\n\n";
    is(appended(kept, "## A\n"), [&kept[..], b"## A\n"].concat());
}

#[test]
fn append_behind_frontmatter_alone() {
    let text = "---\na: 1\n---";
    let (at, insert) = Outline::read(text.as_bytes(), text.len()).append(text.as_bytes(), BLOCK).unwrap();
    is(spliced(text.as_bytes(), at, &insert), format!("---\na: 1\n---\n\n{BLOCK}"));
}

#[test]
fn append_closes_an_open_fence_with_its_own_marker() {
    is(appended("```\ncode\n", "## A\n"), "```\ncode\n```\n\n## A\n");
    is(appended("  ~~~~~ md\n~~~\n", "## A\n"), "  ~~~~~ md\n~~~\n~~~~~\n\n## A\n");
    is(appended("````\r\n```\r\ncode", "## A\n"), "````\r\n```\r\ncode\r\n````\r\n\r\n## A\r\n");
    is(appended("```\n\n", "## A\n"), "```\n\n```\n\n## A\n");
    is(appended("```", "## A\n"), "```\n```\n\n## A\n");
}

#[test]
fn append_closes_open_html_that_only_a_marker_ends() {
    for (open, closer) in [
        ("<!-- a", "-->"),
        ("<!--", "-->"),
        ("<pre>", "</pre>"),
        ("<Script async>", "</script>"),
        ("<style", "</style>"),
        ("<textarea >", "</textarea>"),
        ("<?xml", "?>"),
        ("<!DOCTYPE html", ">"),
        ("<![CDATA[ > ", "]]>"),
    ] {
        let text = format!("p\n\n{open}\n\n## Migration History\n");
        is(appended(&text, BLOCK), format!("{text}{closer}\n\n{BLOCK}"));
        is(appended(format!("p\n\n  {open}"), BLOCK), format!("p\n\n  {open}\n{closer}\n\n{BLOCK}"));
    }
}

#[test]
fn append_adds_no_closer_where_a_blank_line_is_enough() {
    for text in [
        "<div>\n",
        "<!-- done -->\n",
        "<!-->\n",
        "<pre>\n</PRE>\n",
        "p <!-- inline\n",
        "- ```\n  code\n",
        "> ```\n> code\n",
        "- <!--\n  x\n",
        "1. > ~~~\n",
        "    ```\n",
        "lazy\n",
        "> quote\n",
        "- item\n",
        "-\n",
        "[a]: b\n",
        "[a]:\n",
        "```\n```\n",
    ] {
        is(appended(text, BLOCK), format!("{text}\n{BLOCK}"));
    }
}

#[test]
fn append_twice_gives_two_blocks() {
    let once = appended("```\nopen", "## A\n\n```text\n## A\n```\n");
    let twice = appended(&once, "## B\n");
    is(twice, "```\nopen\n```\n\n## A\n\n```text\n## A\n```\n\n## B\n");
}

#[test]
fn append_refuses_a_block_that_would_be_read_otherwise() {
    let text = b"- a\n";
    let fault = Outline::read(text, 0).append(text, "- b\n").unwrap_err();
    assert_eq!((fault.code, fault.offset), (Code::AmbiguousSection, 4));
    let text = b"- a\n";
    assert!(Outline::read(text, 0).append(text, "  ## A\n").is_err());
    assert!(Outline::read(text, 0).append(text, " ## A\n").is_ok());
}

// Append to a section.

#[test]
fn append_to_a_section_in_the_middle() {
    let text = "## A\na\n## B\nb\n";
    is(appended_to(text, "A", "### x\n"), "## A\na\n\n### x\n\n## B\nb\n");
    is(appended_to("## A\na\n\n\n## B\n", "A", "### x\n"), "## A\na\n\n\n### x\n\n## B\n");
    is(appended_to("## A\na\n\nB\n---\n", "A", "x\n"), "## A\na\n\nx\n\nB\n---\n");
}

#[test]
fn append_to_a_section_without_a_body() {
    is(appended_to("## A\n## B\n", "A", "x\n"), "## A\n\nx\n\n## B\n");
    is(appended_to("## A\n# B\n", "A", "x\n\n"), "## A\n\nx\n\n# B\n");
    is(appended_to("## A", "A", "x\n"), "## A\n\nx\n");
}

#[test]
fn append_to_the_last_section_is_append() {
    for text in ["## A\n", "## A\n\n```\n", "## A\r\n<!--\r\n", "## A\n- ```\n  a"] {
        is(appended_to(text, "A", "### x\n"), appended(text, "### x\n"));
    }
}

#[test]
fn append_to_follows_the_line_before() {
    is(appended_to("## A\r\na\r\n## B\n", "A", "x\ny\n"), "## A\r\na\r\n\r\nx\r\ny\r\n\r\n## B\n");
    is(appended_to("## A\na\n## B\r\n", "A", "x\n"), "## A\na\n\nx\n\n## B\r\n");
}

#[test]
fn append_to_behind_open_containers() {
    for body in ["- ```\n  code\n", "> quote\n", "> ```\n", "1. a\n   <!--\n", "text\n", "    code\n"] {
        let text = format!("## A\n{body}## B\n");
        is(appended_to(&text, "A", BLOCK), format!("## A\n{body}\n{BLOCK}\n## B\n"));
    }
}

#[test]
fn append_to_refuses_a_block_that_swallows_what_follows() {
    let text = b"## A\n## B\n";
    let outline = Outline::read(text, 0);
    let section = outline.section(2, "A").unwrap().expect("found");
    for block in ["```\n", "<!--\n", "~~~ text\nx\n", "<pre>\n"] {
        assert_eq!(outline.append_to(text, &section, block).unwrap_err().offset, 5, "{block:?}");
    }
}

// Size.

#[test]
fn nesting_beyond_measure_is_read_in_time() {
    let n = 50_000;
    for text in [
        "- ".repeat(n) + "a\n" + &"b\n".repeat(n),
        "> ".repeat(n) + "a\n" + &"b\n".repeat(n),
        "1. ".repeat(n) + "a\n" + &"b\n".repeat(n),
        "+ > ".repeat(n) + "\n" + &"\n".repeat(n),
        "[".repeat(n) + &"](".repeat(n),
        "<pre></style>\n".repeat(n / 10) + "</pre>\n",
    ] {
        let text = text + "\n\n## History\n";
        let start = Instant::now();
        assert_eq!(only_history(&text), text.len() - 11);
        // Milliseconds, or a quarter of a minute when each line costs time for each open container.
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

#[test]
fn long_thematic_break_stays_one() {
    assert_eq!(headings("- ".repeat(1000) + "\ntext\n===\n"), ["# text"]);
    assert_eq!(headings("- ".repeat(1000) + "a\ntext\n===\n"), [""; 0]);
}

// Random Markdown.

fn soup(line_end: &'static str) -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("```"),
        Just("````"),
        Just("~~~"),
        Just("~~~~~"),
        Just("  ```"),
        Just("    ```"),
        Just("``` x"),
        Just("```a`"),
        Just("- ```"),
        Just("> ```"),
        Just("  > ~~~"),
        Just("<!--"),
        Just("-->"),
        Just("a -->"),
        Just("<!-- a -->"),
        Just("- <!--"),
        Just("<pre>"),
        Just("</pre>"),
        Just("<div>"),
        Just("</div>"),
        Just("<?"),
        Just("?>"),
        Just("<!A"),
        Just(">"),
        Just("<![CDATA["),
        Just("]]>"),
        Just("> q"),
        Just("> > q"),
        Just("- i"),
        Just("-"),
        Just("1. i"),
        Just("2) i"),
        Just("  - i"),
        Just("   i"),
        Just("    code"),
        Just("\tcode"),
        Just("## Migration History"),
        Just("# A #"),
        Just("### B"),
        Just("- ## C"),
        Just("> # D"),
        Just("   ## E"),
        Just("==="),
        Just("---"),
        Just("* * *"),
        Just("text"),
        Just("text"),
        Just("[a]: b"),
        Just("[a]:"),
        Just("[a"),
        Just(""),
        Just(""),
        Just(""),
        Just(" "),
        Just("é  "),
        Just("\\"),
        Just("`"),
        Just("|a|"),
    ];
    let end = prop_oneof![9 => Just(line_end), 1 => Just("\r\n")];
    (prop::collection::vec((line, end), 0..14), any::<bool>()).prop_map(|(lines, ended)| {
        let mut text: String = lines.iter().flat_map(|(l, e)| [*l, *e]).collect();
        if !ended {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        text
    })
}

/// Level and line number of the headings whose parent is the document, as the parser says.
fn parsed_headings(text: &str) -> Vec<(u8, usize)> {
    let mut depth = 0;
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if let (0, Tag::Heading { level, .. }) = (depth, tag) {
                    found.push((level as u8, text[..range.start].matches('\n').count() + 1));
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    found
}

/// What was added; a refusal is an answer too (a heading over lines that a reference definition begins,
/// say), but a rare one: too many of them fail the test.
fn added(
    made: Result<(usize, Vec<u8>), specdev_migrate::doc::Fault>,
) -> Result<(usize, Vec<u8>), TestCaseError> {
    made.map_err(|fault| TestCaseError::reject(fault.message))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_global_rejects: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn headings_are_those_of_the_parser(text in prop_oneof![soup("\n"), soup("\r\n")]) {
        let outline = Outline::read(text.as_bytes(), 0);
        let ours: Vec<_> = outline.headings.iter().map(|h| (h.level, h.line)).collect();
        prop_assert_eq!(ours, parsed_headings(&text));
        for h in &outline.headings {
            let lines = &text[h.range.clone()];
            prop_assert!(h.range.start == 0 || text.as_bytes()[h.range.start - 1] == b'\n');
            prop_assert!(lines.ends_with('\n') || h.range.end == text.len());
            prop_assert!(lines.contains(&h.text));
        }
    }

    #[test]
    fn reading_may_begin_at_any_heading_of_hashes(text in prop_oneof![soup("\n"), soup("\r\n")]) {
        let all = Outline::read(text.as_bytes(), 0);
        for heading in all.headings.iter().filter(|h| text[h.range.start..].trim_start().starts_with('#')) {
            let start = heading.range.start;
            let rest = Outline::read(text.as_bytes(), start);
            let there: Vec<&Heading> = all.headings.iter().filter(|h| h.range.start >= start).collect();
            prop_assert_eq!(rest.headings.iter().collect::<Vec<_>>(), there);
            prop_assert_eq!(rest.fences(&(start..text.len())), all.fences(&(start..text.len())));
        }
    }

    #[test]
    fn append_inserts_one_top_level_section(text in prop_oneof![soup("\n"), soup("\r\n")]) {
        let before = Outline::read(text.as_bytes(), 0);
        let (at, insert) = added(before.append(text.as_bytes(), BLOCK))?;
        prop_assert_eq!(at, text.len());
        let once = spliced(text.as_bytes(), at, &insert);
        let outline = Outline::read(&once, 0);
        let sections = outline.sections(2, "Migration History");
        prop_assert_eq!(sections.len(), before.sections(2, "Migration History").len() + 1);
        let last = sections.last().unwrap();
        prop_assert_eq!(last.body.end, once.len());
        let block = String::from_utf8_lossy(&once[last.heading.start..]).replace("\r\n", "\n");
        prop_assert_eq!(block, BLOCK);

        let (at, insert) = outline.append(&once, "## Second\n").unwrap();
        let twice = spliced(&once, at, &insert);
        prop_assert!(twice.starts_with(&once));
        let outline = Outline::read(&twice, 0);
        let first = outline.sections(2, "Migration History").pop().map(|s| s.heading);
        prop_assert_eq!(first.as_ref(), Some(&last.heading));
        prop_assert_eq!(outline.sections(2, "Second").len(), 1);
    }

    #[test]
    fn append_to_any_section_stays_inside_it(text in prop_oneof![soup("\n"), soup("\r\n")], pick in any::<prop::sample::Index>()) {
        let text = format!("# T\n{text}");
        let before = Outline::read(text.as_bytes(), 0);
        let heading = pick.get(&before.headings);
        let sections = before.sections(heading.level, &heading.text);
        let section = sections.iter().find(|s| s.heading.start == heading.range.start).unwrap();
        let (at, insert) = added(before.append_to(text.as_bytes(), section, "###### New\n\n```text\nx\n```\n"))?;
        prop_assert_eq!(at, section.body.end);
        let after = spliced(text.as_bytes(), at, &insert);
        let outline = Outline::read(&after, 0);
        prop_assert_eq!(outline.headings.len(), before.headings.len() + 1);
        let grown = outline.sections(heading.level, &heading.text).into_iter().find(|s| s.heading.start == heading.range.start).unwrap();
        let new = outline.headings.iter().find(|h| h.text == "New").unwrap();
        prop_assert!(grown.body.start <= new.range.start && new.range.end <= grown.body.end);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'#'), Just(b' '), Just(b'`'), Just(b'>'), any::<u8>()], 0..60)) {
        let outline = Outline::read(&bytes, 0);
        if let Ok((at, insert)) = outline.append(&bytes, BLOCK) {
            let after = spliced(&bytes, at, &insert);
            prop_assert!(!Outline::read(&after, 0).sections(2, "Migration History").is_empty());
        } else {
            prop_assert!(false, "not appended");
        }
    }
}
