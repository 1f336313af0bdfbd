//! The frontmatter editor: expected bytes written by hand, then random headers under random edits.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use serde_json::{Value, json};
use specdev_migrate::doc::position;
use specdev_migrate::doc::yaml::{Frontmatter, Op, edit_value};
use specdev_migrate::finding::Code;

fn replace(key: &str, value: Value) -> Op {
    Op::Replace { key: key.into(), value }
}

fn rename(key: &str, to: &str) -> Op {
    Op::Rename { key: key.into(), to: to.into() }
}

fn remove(key: &str) -> Op {
    Op::Remove { key: key.into() }
}

fn remove_items(key: &str, items: &[&str]) -> Op {
    Op::RemoveItems { key: key.into(), items: items.iter().map(|i| (*i).to_owned()).collect() }
}

fn insert(key: &str, value: Value, before: &str) -> Op {
    Op::Insert { key: key.into(), value, before: before.into() }
}

fn edited(text: &str, ops: &[Op]) -> String {
    let header = Frontmatter::parse(text.as_bytes()).unwrap_or_else(|f| panic!("{text:?}: {f:?}"));
    let edits = header.edit(ops).unwrap_or_else(|f| panic!("{text:?}: {f:?}"));
    String::from_utf8(edits.apply(text.as_bytes())).unwrap()
}

/// Each case: name, text before, operations, text after.
fn check(cases: &[(&str, &str, &[Op], &str)]) {
    for (name, before, ops, after) in cases {
        assert_eq!(edited(before, ops), *after, "{name}");
    }
}

/// The code, the line and the message.
fn refused(bytes: impl AsRef<[u8]>) -> (Code, usize, String) {
    let bytes = bytes.as_ref();
    let fault = Frontmatter::parse(bytes).expect_err(&format!("{:?}", String::from_utf8_lossy(bytes)));
    (fault.code, position(bytes, fault.offset).0, fault.message)
}

fn edit_refused(text: &str, ops: &[Op]) -> (Code, usize, String) {
    let header = Frontmatter::parse(text.as_bytes()).unwrap_or_else(|f| panic!("{text:?}: {f:?}"));
    let fault = header.edit(ops).expect_err(text);
    (fault.code, position(text.as_bytes(), fault.offset).0, fault.message)
}

mod replace_ops {
    use super::*;

    #[test]
    fn only_the_scalar_changes() {
        check(&[
            (
                "comment and blanks behind it",
                "---\nschema_version: 3   # bump me\nb: 1\n---\n",
                &[replace("schema_version", json!(8))],
                "---\nschema_version: 8   # bump me\nb: 1\n---\n",
            ),
            ("trailing blanks", "---\na: 3 \t\n---\n", &[replace("a", json!(8))], "---\na: 8 \t\n---\n"),
            (
                "tab before comment",
                "---\na: 3\t# c\n---\n",
                &[replace("a", json!(8))],
                "---\na: 8\t# c\n---\n",
            ),
            ("wide gap after colon", "---\na:    3\n---\n", &[replace("a", json!(8))], "---\na:    8\n---\n"),
            ("blank before colon", "---\na : 3\n---\n", &[replace("a", json!(8))], "---\na : 8\n---\n"),
            ("quoted key", "---\n\"a\": 3\n---\n", &[replace("a", json!(8))], "---\n\"a\": 8\n---\n"),
            (
                "value on its own line",
                "---\na:\n  3 # c\n---\n",
                &[replace("a", json!(8))],
                "---\na:\n  8 # c\n---\n",
            ),
            (
                "equal value",
                "---\na: 0o5\nb: \"x\"\n---\n",
                &[replace("a", json!(5)), replace("b", json!("x"))],
                "---\na: 0o5\nb: \"x\"\n---\n",
            ),
            ("null", "---\na: 3 # c\n---\n", &[replace("a", json!(null))], "---\na: null # c\n---\n"),
            ("boolean", "---\nr: true\n---\n", &[replace("r", json!(false))], "---\nr: false\n---\n"),
            (
                "multi-byte text before it",
                "---\nt: \"é—\" # ü\nr: ready # ü\n---\n",
                &[replace("r", json!("é"))],
                "---\nt: \"é—\" # ü\nr: é # ü\n---\n",
            ),
        ]);
    }

    #[test]
    fn quote_style_stays_where_a_string_replaces_a_string() {
        check(&[
            ("plain", "---\na: x # c\n---\n", &[replace("a", json!("y"))], "---\na: y # c\n---\n"),
            (
                "single",
                "---\na: 'x'  # c\n---\n",
                &[replace("a", json!("it's"))],
                "---\na: 'it''s'  # c\n---\n",
            ),
            (
                "double",
                "---\na: \"x\"  # c\n---\n",
                &[replace("a", json!("y\n"))],
                "---\na: \"y\\n\"  # c\n---\n",
            ),
            (
                "plain that needs quotes",
                "---\na: x\n---\n",
                &[replace("a", json!("y: z"))],
                "---\na: \"y: z\"\n---\n",
            ),
            ("quoted to number", "---\na: 'x'\n---\n", &[replace("a", json!(1))], "---\na: 1\n---\n"),
            (
                "escaped quote inside",
                "---\na: \"x\\\" # no\" # c\n---\n",
                &[replace("a", json!("y"))],
                "---\na: \"y\" # c\n---\n",
            ),
            (
                "doubled quote inside",
                "---\na: 'x'' # no' # c\n---\n",
                &[replace("a", json!("y"))],
                "---\na: 'y' # c\n---\n",
            ),
        ]);
    }

    #[test]
    fn every_kind_of_old_value() {
        check(&[
            (
                "empty",
                "---\na:   # c\nb: 1\n---\n",
                &[replace("a", json!(3))],
                "---\na: 3   # c\nb: 1\n---\n",
            ),
            ("empty at the end", "---\na:\n---\n", &[replace("a", json!("x"))], "---\na: x\n---\n"),
            (
                "flow list",
                "---\na: [x, y] # c\n---\n",
                &[replace("a", json!(["z", 1]))],
                "---\na: [z, 1] # c\n---\n",
            ),
            (
                "flow list over lines",
                "---\na: [x,\n  y] # c\nb: 1\n---\n",
                &[replace("a", json!([]))],
                "---\na: [] # c\nb: 1\n---\n",
            ),
            (
                "block list with comments",
                "---\na: # c\n  # first\n  - x # gone\n  - y\n  # last\nb: 1\n---\n",
                &[replace("a", json!(["z"]))],
                "---\na: [z] # c\n  # first\n  # last\nb: 1\n---\n",
            ),
            (
                "folded scalar",
                "---\na: >-  # c\n  one\n\n  two # text\n# next\nb: 1\n---\n",
                &[replace("a", json!("z"))],
                "---\na: z  # c\n# next\nb: 1\n---\n",
            ),
            (
                "kept blank lines of a literal",
                "---\na: |+\n  one\n\n\n# next\nb: 1\n---\n",
                &[replace("a", json!("z"))],
                "---\na: z\n# next\nb: 1\n---\n",
            ),
            (
                "multi-line plain",
                "---\na: one\n  two # c\nb: 1\n---\n",
                &[replace("a", json!("z"))],
                "---\na: z # c\nb: 1\n---\n",
            ),
            (
                "multi-line quoted",
                "---\na: \"one\n  two\" # c\nb: 1\n---\n",
                &[replace("a", json!("z"))],
                "---\na: \"z\" # c\nb: 1\n---\n",
            ),
            ("flow mapping", "---\na: {x: 1} # c\n---\n", &[replace("a", json!(1))], "---\na: 1 # c\n---\n"),
        ]);
    }

    #[test]
    fn what_would_lose_a_comment_or_structure_is_refused() {
        let (code, line, message) =
            edit_refused("---\na: [x, # why\n  y]\n---\n", &[replace("a", json!([]))]);
        assert_eq!((code, line), (Code::UnsupportedYaml, 2));
        assert!(message.contains("comment"), "{message}");
        let (code, _, message) = edit_refused("---\na:\n  b: 1\n---\n", &[replace("a", json!(1))]);
        assert_eq!(code, Code::UnsupportedYaml);
        assert!(message.contains("nested mapping `a`"), "{message}");
        let (code, _, _) = edit_refused("---\na: 1\n---\n", &[replace("a", json!({"b": 1}))]);
        assert_eq!(code, Code::UnsupportedYaml);
    }
}

mod rename_ops {
    use super::*;

    #[test]
    fn the_key_changes_in_its_place() {
        check(&[
            (
                "next to comments",
                "---\n# above\nold: 3 # beside\n# below\nb: 1\n---\n",
                &[rename("old", "new")],
                "---\n# above\nnew: 3 # beside\n# below\nb: 1\n---\n",
            ),
            ("double-quoted", "---\n\"old\" : 3\n---\n", &[rename("old", "new")], "---\n\"new\" : 3\n---\n"),
            ("single-quoted", "---\n'old': 3\n---\n", &[rename("old", "n'w")], "---\n'n''w': 3\n---\n"),
            ("that needs quotes", "---\nold: 3\n---\n", &[rename("old", "on")], "---\n\"on\": 3\n---\n"),
            (
                "block list",
                "---\nold:\n- a\n- b\nb: 1\n---\n",
                &[rename("old", "new")],
                "---\nnew:\n- a\n- b\nb: 1\n---\n",
            ),
            (
                "folded scalar",
                "---\nold: >\n  a\n  b\n---\n",
                &[rename("old", "new")],
                "---\nnew: >\n  a\n  b\n---\n",
            ),
            (
                "with a new value",
                "---\nold: 3 # c\n---\n",
                &[rename("old", "new"), replace("old", json!(4))],
                "---\nnew: 4 # c\n---\n",
            ),
            (
                "to a removed key",
                "---\na: 1\nb: 2\n---\n",
                &[rename("a", "b"), remove("b")],
                "---\nb: 1\n---\n",
            ),
            ("to itself", "---\na: 1\n---\n", &[rename("a", "a")], "---\na: 1\n---\n"),
            (
                "without space in a list of keys",
                "---\nold:\nb: 1\n---\n",
                &[rename("old", "new")],
                "---\nnew:\nb: 1\n---\n",
            ),
        ]);
    }

    #[test]
    fn to_a_key_that_is_there_is_refused() {
        let (code, _, message) = edit_refused("---\na: 1\nb: 2\n---\n", &[rename("a", "b")]);
        assert_eq!(code, Code::UnsupportedYaml);
        assert!(message.contains("`b` would stand twice"), "{message}");
    }
}

mod remove_ops {
    use super::*;

    #[test]
    fn exactly_its_lines_go() {
        check(&[
            (
                "its trailing comment, no other",
                "---\n# above\na: 1 # own\n# below\nb: 1\n---\n",
                &[remove("a")],
                "---\n# above\n# below\nb: 1\n---\n",
            ),
            ("blank lines stay", "---\n\na: 1\n\nb: 1\n---\n", &[remove("a")], "---\n\n\nb: 1\n---\n"),
            (
                "block list with its comments",
                "---\na: # own\n  # own\n  - x\n  # own\n  - y # own\n  # below\nb: 1\n---\n",
                &[remove("a")],
                "---\n  # below\nb: 1\n---\n",
            ),
            ("list without indent", "---\na:\n- x\n- y\nb: 1\n---\n", &[remove("a")], "---\nb: 1\n---\n"),
            (
                "folded scalar",
                "---\na: >- # own\n  one\n  # text\n\n  two\n\n# below\nb: 1\n---\n",
                &[remove("a")],
                "---\n\n# below\nb: 1\n---\n",
            ),
            (
                "literal with kept lines",
                "---\na: |+\n  one\n\n\nb: 1\n---\n",
                &[remove("a")],
                "---\nb: 1\n---\n",
            ),
            ("empty literal", "---\na: |\n# below\nb: 1\n---\n", &[remove("a")], "---\n# below\nb: 1\n---\n"),
            (
                "nested mapping",
                "---\na:\n  x:\n    y: 1\n  z:\nb: 1\n---\n",
                &[remove("a")],
                "---\nb: 1\n---\n",
            ),
            (
                "flow list over lines",
                "---\na: [x,\n  y\n  ] # own\nb: 1\n---\n",
                &[remove("a")],
                "---\nb: 1\n---\n",
            ),
            ("quoted key", "---\nb: 1\n'a': 1\n---\n", &[remove("a")], "---\nb: 1\n---\n"),
            (
                "at the end of the header",
                "---\nb: 1 # keep\na: |\n  x\n---\nbody\n",
                &[remove("a")],
                "---\nb: 1 # keep\n---\nbody\n",
            ),
            ("empty value", "---\na:\nb: 1\n---\n", &[remove("a")], "---\nb: 1\n---\n"),
            (
                "two neighbours",
                "---\na: 1\nb: 2\nc: 3\n---\n",
                &[remove("b"), remove("a")],
                "---\nc: 3\n---\n",
            ),
        ]);
    }

    #[test]
    fn the_last_key_is_refused() {
        let (code, _, message) = edit_refused("---\na: 1\n---\n", &[remove("a")]);
        assert_eq!(code, Code::UnsupportedYaml);
        assert!(message.contains("no key would be left"), "{message}");
    }
}

mod remove_items_ops {
    use super::*;

    #[test]
    fn from_flow_lists() {
        for (before, after) in [
            ("[coordination, x]", "[x]"),
            ("[x, coordination]", "[x]"),
            ("[x,coordination,y]", "[x,y]"),
            ("[ coordination,x ]", "[ x ]"),
            ("[ x,coordination ]", "[ x ]"),
            ("[coordination]", "[]"),
            ("[ coordination , ]", "[]"),
            ("[coordination, x, coordination]", "[x]"),
            ("[x, coordination, coordination,]", "[x,]"),
            ("[\"coordination\", \"x\"]", "[\"x\"]"),
            ("['coordination' , 'x' ,  \"y\"]", "['x' ,  \"y\"]"),
            ("[coordination-2, Coordination, x]", "[coordination-2, Coordination, x]"),
            ("[]", "[]"),
            ("[\n  coordination,\n  x\n  ]", "[\n  x\n  ]"),
        ] {
            let (before, after) = (
                format!("---\nmodes: {before} # c\nb: 1\n---\n"),
                format!("---\nmodes: {after} # c\nb: 1\n---\n"),
            );
            assert_eq!(edited(&before, &[remove_items("modes", &["coordination"])]), after);
        }
    }

    #[test]
    fn from_block_lists() {
        check(&[
            (
                "first",
                "---\nm: # c\n  - coordination # gone\n  # about x\n  - 'x' # keep\nb: 1\n---\n",
                &[remove_items("m", &["coordination"])],
                "---\nm: # c\n  # about x\n  - 'x' # keep\nb: 1\n---\n",
            ),
            (
                "last",
                "---\nm:\n- x\n- \"coordination\"\nb: 1\n---\n",
                &[remove_items("m", &["coordination"])],
                "---\nm:\n- x\nb: 1\n---\n",
            ),
            (
                "only",
                "---\nm: # c\n  # why\n  - coordination\n\nb: 1\n---\n",
                &[remove_items("m", &["coordination"])],
                "---\nm: [] # c\n  # why\n\nb: 1\n---\n",
            ),
            (
                "several, over lines",
                "---\nm:\n  -\n    a\n  - - b\n  - b\nz: 1\n---\n",
                &[remove_items("m", &["a", "b"])],
                "---\nm:\n  - - b\nz: 1\n---\n",
            ),
            (
                "with a new name",
                "---\nm:\n- x\n- y\n---\n",
                &[rename("m", "n"), remove_items("m", &["y"])],
                "---\nn:\n- x\n---\n",
            ),
        ]);
    }

    #[test]
    fn from_what_is_no_list_or_would_lose_a_comment_is_refused() {
        for text in
            ["---\nm: x\n---\n", "---\nm:\n---\n", "---\nm: {x: 1}\n---\n", "---\nm: [x, # why\n  y]\n---\n"]
        {
            assert_eq!(edit_refused(text, &[remove_items("m", &["x"])]).0, Code::UnsupportedYaml);
        }
    }
}

mod insert_ops {
    use super::*;

    #[test]
    fn before_the_entry_and_its_comment_lines() {
        check(&[
            (
                "plain",
                "---\na: 1\nr: true\n---\n",
                &[insert("n", json!("codex:/root"), "r")],
                "---\na: 1\nn: codex:/root\nr: true\n---\n",
            ),
            (
                "comment lines above",
                "---\na: 1\n# one\n  # two\nr: true\n---\n",
                &[insert("n", json!(1), "r")],
                "---\na: 1\nn: 1\n# one\n  # two\nr: true\n---\n",
            ),
            (
                "a blank line ends the comment lines",
                "---\na: 1\n# one\n\n# two\nr: true\n---\n",
                &[insert("n", json!(1), "r")],
                "---\na: 1\n# one\n\nn: 1\n# two\nr: true\n---\n",
            ),
            (
                "after a literal that ends like a comment",
                "---\na: |\n  x\n  # text\nr: true\n---\n",
                &[insert("n", json!(1), "r")],
                "---\na: |\n  x\n  # text\nn: 1\nr: true\n---\n",
            ),
            (
                "first entry",
                "---\n# c\nr: true\n---\n",
                &[insert("n", json!(1), "r")],
                "---\nn: 1\n# c\nr: true\n---\n",
            ),
            (
                "after a list",
                "---\na:\n  - x\n# c\nr: true\n---\n",
                &[insert("n", json!([]), "r")],
                "---\na:\n  - x\nn: []\n# c\nr: true\n---\n",
            ),
            (
                "several keep their order",
                "---\na: 1\nr: true\n---\n",
                &[insert("n", json!(null), "r"), insert("m", json!(["x", "y"]), "r")],
                "---\na: 1\nn: null\nm: [x, y]\nr: true\n---\n",
            ),
            (
                "before an entry that is renamed and one that goes",
                "---\na: 1\nr: true\n---\n",
                &[rename("r", "s"), insert("n", json!(1), "r"), remove("a"), insert("m", json!(2), "a")],
                "---\nm: 2\nn: 1\ns: true\n---\n",
            ),
            (
                "uniformly indented header",
                "---\n  a: 1\n  r: true\n---\n",
                &[insert("n", json!(1), "r")],
                "---\n  a: 1\n  n: 1\n  r: true\n---\n",
            ),
            (
                "quoted target",
                "---\na: 1\n\"r\": true\n---\n",
                &[insert("n", json!(1), "r")],
                "---\na: 1\nn: 1\n\"r\": true\n---\n",
            ),
        ]);
    }

    #[test]
    fn at_the_end_when_the_entry_is_missing() {
        check(&[
            (
                "end",
                "---\na: 1\n---\nr: true\n",
                &[insert("n", json!(1), "r")],
                "---\na: 1\nn: 1\n---\nr: true\n",
            ),
            (
                "comments at the end",
                "---\na: 1\n# end\n---\n",
                &[insert("n", json!(1), "r")],
                "---\na: 1\n# end\nn: 1\n---\n",
            ),
            (
                "blank lines at the end",
                "---\na: 1\n\n---\n",
                &[insert("n", json!(1), "r")],
                "---\na: 1\nn: 1\n\n---\n",
            ),
            (
                "kept lines at the end",
                "---\na: |+\n  x\n\n---\n",
                &[insert("n", json!(1), "r")],
                "---\na: |+\n  x\n\nn: 1\n---\n",
            ),
            (
                "closed at the end of the file",
                "---\na: 1\n---",
                &[insert("n", json!(1), "r")],
                "---\na: 1\nn: 1\n---",
            ),
            (
                "two",
                "---\na: 1\n---\n",
                &[insert("n", json!(1), "r"), insert("m", json!(2), "r")],
                "---\na: 1\nn: 1\nm: 2\n---\n",
            ),
        ]);
    }

    #[test]
    fn strings_are_quoted_when_all_others_are() {
        check(&[
            (
                "all JSON-quoted",
                "---\nv: 6\na: \"x\"\nm: [\"p\",\"q\"]\nr: true\n---\n",
                &[insert("n", json!("y"), "r"), insert("o", json!(["z"]), "r")],
                "---\nv: 6\na: \"x\"\nm: [\"p\",\"q\"]\nn: \"y\"\no: [\"z\"]\nr: true\n---\n",
            ),
            (
                "one is not",
                "---\na: \"x\"\nm: [p]\n---\n",
                &[insert("n", json!("y"), "r")],
                "---\na: \"x\"\nm: [p]\nn: y\n---\n",
            ),
            (
                "a string for a null",
                "---\na: \"x\"\nb: null\n---\n",
                &[replace("b", json!("y"))],
                "---\na: \"x\"\nb: \"y\"\n---\n",
            ),
            (
                "keys too",
                "---\n\"a\": \"x\"\n\"b\": 1\n---\n",
                &[insert("n", json!("y"), "b")],
                "---\n\"a\": \"x\"\n\"n\": \"y\"\n\"b\": 1\n---\n",
            ),
        ]);
    }

    #[test]
    fn lines_end_like_the_line_before_them() {
        check(&[
            (
                "crlf",
                "---\r\na: 1\r\nr: true\r\n---\r\n",
                &[insert("n", json!(1), "r")],
                "---\r\na: 1\r\nn: 1\r\nr: true\r\n---\r\n",
            ),
            (
                "lf after crlf",
                "---\r\na: 1\nr: true\r\n---\r\n",
                &[insert("n", json!(1), "r")],
                "---\r\na: 1\nn: 1\nr: true\r\n---\r\n",
            ),
            (
                "two after an lf line",
                "---\r\na: 1\nr: true\r\n---\r\n",
                &[insert("n", json!(1), "r"), insert("m", json!(2), "r")],
                "---\r\na: 1\nn: 1\nm: 2\nr: true\r\n---\r\n",
            ),
            (
                "after the opening line",
                "---\r\nr: true\n---\n",
                &[insert("n", json!(1), "r")],
                "---\r\nn: 1\r\nr: true\n---\n",
            ),
        ]);
    }

    #[test]
    fn a_key_that_is_there_is_refused() {
        let (code, _, message) = edit_refused("---\na: 1\n---\n", &[insert("a", json!(1), "a")]);
        assert_eq!(code, Code::UnsupportedYaml);
        assert!(message.contains("`a` would stand twice"), "{message}");
    }
}

mod flow_headers {
    use super::*;

    #[test]
    fn members_take_exactly_one_comma() {
        for (before, op, after) in [
            ("{v: 3, a: x}", replace("v", json!(8)), "{v: 8, a: x}"),
            ("{v: 3, a: x}", replace("a", json!("p, q")), "{v: 3, a: \"p, q\"}"),
            ("{v: 3, a: x}", rename("a", "b"), "{v: 3, b: x}"),
            ("{v: 3, a: x}", remove("v"), "{a: x}"),
            ("{v: 3, a: x}", remove("a"), "{v: 3}"),
            ("{v: 3, m: [a, b], a: x}", remove("m"), "{v: 3, a: x}"),
            ("{ v: 3 , a: x , }", remove("a"), "{ v: 3 , }"),
            ("{v: 3, a: \"},{ # x\", b: 1}", remove("a"), "{v: 3, b: 1}"),
            ("{v: 3, a: x}", insert("n", json!(1), "a"), "{v: 3, n: 1, a: x}"),
            ("{v: 3, a: x}", insert("n", json!(1), "v"), "{n: 1, v: 3, a: x}"),
            ("{v: 3, a: x}", insert("n", json!("y"), "r"), "{v: 3, a: x, n: y}"),
            ("{ v: 3, }", insert("n", json!(1), "r"), "{ v: 3, n: 1, }"),
            ("{\"v\":3,\"a\":\"x\"}", insert("n", json!("y"), "a"), "{\"v\":3,\"n\": \"y\", \"a\":\"x\"}"),
            ("{v: 3, a: [coordination, x]}", remove_items("a", &["coordination"]), "{v: 3, a: [x]}"),
            ("{v: , a: x}", replace("v", json!(3)), "{v: 3 , a: x}"),
            ("{v, a: x}", replace("v", json!(3)), "{v: 3, a: x}"),
        ] {
            let (before, after) =
                (format!("---\n{before} # c\n---\nbody\n"), format!("---\n{after} # c\n---\nbody\n"));
            assert_eq!(edited(&before, &[op]), after);
        }
    }

    #[test]
    fn several_operations_meet() {
        check(&[
            (
                "insert where the rest goes",
                "---\n{a: 1, b: 2, c: 3}\n---\n",
                &[remove("b"), remove("c"), insert("n", json!(1), "b"), insert("m", json!(2), "r")],
                "---\n{a: 1, n: 1, m: 2}\n---\n",
            ),
            (
                "all are exchanged",
                "---\n{a: 1, b: 2}\n---\n",
                &[remove("a"), remove("b"), insert("n", json!(1), "b"), insert("m", json!(2), "r")],
                "---\n{n: 1, m: 2}\n---\n",
            ),
            (
                "over lines",
                "---\n{\n  a: 1,\n  b: 2,\n}\n---\n",
                &[remove("a"), insert("n", json!(1), "b")],
                "---\n{\n  n: 1, b: 2,\n}\n---\n",
            ),
        ]);
    }

    #[test]
    fn a_comment_between_members_is_not_lost() {
        let (code, line, message) = edit_refused("---\n{\n  a: 1, # why\n  b: 2\n}\n---\n", &[remove("a")]);
        assert_eq!((code, line), (Code::UnsupportedYaml, 3));
        assert!(message.contains("comment"), "{message}");
    }
}

mod delimiters {
    use super::*;

    fn inner(text: &str) -> &str {
        let header = Frontmatter::parse(text.as_bytes()).unwrap_or_else(|f| panic!("{text:?}: {f:?}"));
        &text[header.inner]
    }

    #[test]
    fn that_count() {
        for (text, expected) in [
            ("---\na: 1\n---\nbody\n---\n", "a: 1\n"),
            ("\u{FEFF}---\na: 1\n---\n", "a: 1\n"),
            ("--- \t\na: 1\n---\t \nbody", "a: 1\n"),
            ("---\r\na: 1\r\n---\r\n", "a: 1\r\n"),
            ("---\r\na: 1\n--- \r\nbody", "a: 1\n"),
            ("---\na: 1\n---", "a: 1\n"),
            (
                "---\na:\n- ---\nb: \"---\"\nc: --- d\ne: a---\n---\n",
                "a:\n- ---\nb: \"---\"\nc: --- d\ne: a---\n",
            ),
            (
                "---\na: |\n  x\n  ---\n  y\nb: \"x\n  ---\"\n---\n",
                "a: |\n  x\n  ---\n  y\nb: \"x\n  ---\"\n",
            ),
            ("---\n# ---\na: 1\n---\n", "# ---\na: 1\n"),
        ] {
            assert_eq!(inner(text), expected);
        }
    }

    #[test]
    fn the_header_ends_just_after_the_closing_line() {
        for (text, end) in [
            ("---\na: 1\n---\nbody", 13),
            ("---\na: 1\n---\r\nbody", 14),
            ("---\na: 1\n---", 12),
            ("\u{FEFF}---\na: 1\n--- \n", 17),
        ] {
            assert_eq!(Frontmatter::parse(text.as_bytes()).unwrap().range, 0..end, "{text:?}");
        }
    }

    #[test]
    fn dashes_in_a_block_scalar_close_the_header() {
        assert_eq!(inner("---\na: |\n  x\n---\n  y\n---\n"), "a: |\n  x\n");
    }

    #[test]
    fn that_do_not_count_are_named() {
        for (text, line, reason) in [
            ("", 1, "the file is empty"),
            ("\u{FEFF}", 1, "the file is empty"),
            ("# Goal Plan\n", 1, "the first line is not `---`"),
            ("\n---\na: 1\n---\n", 1, "the first line is blank"),
            (" \t\n---\na: 1\n---\n", 1, "the first line is blank"),
            (" ---\na: 1\n---\n", 1, "indented"),
            ("----\na: 1\n---\n", 1, "more than three dashes"),
            ("--- x\na: 1\n---\n", 1, "something follows"),
            ("---\r", 1, "something follows"),
            ("---\ra: 1\r---\r", 1, "something follows"),
            ("---", 1, "no closing line"),
            ("---\n", 1, "no closing line"),
            ("---\na: 1\n", 1, "no closing line"),
            ("---\na: 1\n...\nbody\n", 3, "`...` does not end it"),
            ("---\na: 1\n...\n---\n", 3, "`...` does not end the frontmatter"),
            ("---\na: 1\n ---\nbody\n", 3, "an indented `---` does not end it"),
            ("---\na: 1\n ---\n# body\n---\n", 3, "an indented `---` does not end the frontmatter"),
            ("---\na: 1\n  ---\n# B\n\ntext: here\n- x\n---\n", 3, "does not end the frontmatter"),
            ("---\na: 1\n----\nbody\n", 3, "more than three dashes does not end it"),
            ("---\na: 1\n----\nb: 2\n---\n", 3, "`----` does not end the frontmatter"),
            ("---\na: 1\n---\rbody\n", 3, "bare carriage return"),
            ("---\n---\nbody\n", 2, "empty"),
            ("---\n\n# c\n---\n", 2, "empty"),
            ("---\n{}\n---\n", 2, "empty"),
            ("---\njust text\n---\n", 2, "no mapping"),
            ("---\n- a\n---\n", 2, "no mapping"),
            ("---\n~\n---\n", 2, "no mapping"),
        ] {
            let (code, at, message) = refused(text);
            assert_eq!((code, at), (Code::InvalidFrontmatter, line), "{text:?}: {message}");
            assert!(message.contains(reason), "{text:?}: {message}");
        }
    }
}

mod values {
    use super::*;

    fn value(inner: &str) -> Value {
        let text = format!("---\n{inner}---\n");
        Frontmatter::parse(text.as_bytes()).unwrap_or_else(|f| panic!("{text:?}: {f:?}")).value().clone()
    }

    #[test]
    fn follow_the_core_schema_and_keep_their_spelling() {
        let text = "---\nv: 0o5   # c\nw: 018\nx: \"5\"\ny: yes\nz: 2026-03-16\nt: 10:00\nl: 'it''s' \nn: ~\ne:\nf: .inf\n---\n";
        let header = Frontmatter::parse(text.as_bytes()).unwrap();
        let expected = json!({"v": 5, "w": 18, "x": "5", "y": "yes", "z": "2026-03-16", "t": "10:00", "l": "it's", "n": null, "e": null, "f": ".inf"});
        assert_eq!(*header.value(), expected);
        let keys: Vec<_> = header.entries.iter().map(|e| (e.key.as_str(), e.text.as_str())).collect();
        assert_eq!(
            keys,
            [
                ("v", "0o5"),
                ("w", "018"),
                ("x", "\"5\""),
                ("y", "yes"),
                ("z", "2026-03-16"),
                ("t", "10:00"),
                ("l", "'it''s'"),
                ("n", "~"),
                ("e", ""),
                ("f", ".inf")
            ]
        );
        assert!(header.entries.iter().all(|e| e.unsupported.is_none()));
    }

    #[test]
    fn of_every_construct() {
        assert_eq!(
            value(
                "a: [x, 1, {b: null}]\nc:\n- d\n- e: 1\n  f:\n  - 2\ng: >\n  one\n  two\n\n  three\nh: |-\n  x\n   y\ni: one\n  two\n"
            ),
            json!({"a": ["x", 1, {"b": null}], "c": ["d", {"e": 1, "f": [2]}], "g": "one two\nthree\n", "h": "x\n y", "i": "one two"})
        );
        assert_eq!(
            value("{a: codex:/root, \"b\":1, c: [x: y], d}\n"),
            json!({"a": "codex:/root", "b": 1, "c": [{"x": "y"}], "d": null})
        );
        assert_eq!(
            value("a: \"\\u00e9\\/\\t\"\nb: \"#\"\nc: a#b\nd: a:b\n"),
            json!({"a": "é/\t", "b": "#", "c": "a#b", "d": "a:b"})
        );
    }

    #[test]
    fn have_no_carriage_return_of_a_line_end() {
        assert_eq!(
            value("status: draft\r\na: |\r\n  x\r\n  y\r\nb:\r\nc: [d,\r\n  e]\r\nf: 'g'\r\n"),
            json!({"status": "draft", "a": "x\ny\n", "b": null, "c": ["d", "e"], "f": "g"})
        );
    }

    #[test]
    fn a_bare_carriage_return_and_older_line_ends_are_characters() {
        assert_eq!(
            value("a: x\rb # c\rd: e\nf: \"g\rh\"\ni: j\u{2028}k\u{85}l\n# c\u{2029}m: n\n")
                .as_object()
                .unwrap()
                .get("f"),
            Some(&json!("g\rh"))
        );
        let text = "---\na: 1 # x\ry: 2\nb: p\u{2028}q\n---\n";
        assert_eq!(edited(text, &[replace("a", json!(3))]), "---\na: 3 # x\ry: 2\nb: p\u{2028}q\n---\n");
        assert_eq!(value("a: 1\rb\n"), json!({"a": "1\rb"}));
    }

    #[test]
    fn tabs_on_blank_and_comment_lines_are_harmless() {
        assert_eq!(value("a: 1\n\t\nb: |\n  x\n\t# c\nd: 2\n"), json!({"a": 1, "b": "x\n", "d": 2}));
    }

    #[test]
    fn the_body_may_hold_anything() {
        let mut bytes = b"---\na: 1\n---\n".to_vec();
        bytes.extend_from_slice(b"\xFF\xFE\0\ra: 2\n---\n");
        let header = Frontmatter::parse(&bytes).unwrap();
        let after = header.edit(&[replace("a", json!(8))]).unwrap().apply(&bytes);
        assert_eq!(after, b"---\na: 8\n---\n\xFF\xFE\0\ra: 2\n---\n");
    }
}

mod look_alikes {
    use super::*;

    #[test]
    fn of_a_key_never_change() {
        let text = "---\n# status: draft\nstatus_note: draft\nStatus: draft\nn:\n  status: draft\nt: |\n  status: draft\nl: [status, {status: draft}]\nq: \"status: draft\"\nstatus: draft\n---\nstatus: draft\n```yaml\nstatus: draft\n```\n";
        let after = text.replacen("\nstatus: draft\n---", "\nstatus: blocked\n---", 1);
        assert_eq!(edited(text, &[replace("status", json!("blocked"))]), after);
        let after = text.replacen("\nstatus: draft\n---", "\nstate: draft\n---", 1);
        assert_eq!(edited(text, &[rename("status", "state")]), after);
        let after = text.replacen("\nstatus: draft\n---", "\n---", 1);
        assert_eq!(edited(text, &[remove("status")]), after);
    }

    #[test]
    fn a_key_that_stands_deeper_only_is_missing() {
        let (code, _, message) = edit_refused("---\na:\n  b: 1\n---\nb: 1\n", &[replace("b", json!(2))]);
        assert_eq!(code, Code::UnsupportedYaml);
        assert!(message.contains("no key `b`"), "{message}");
    }

    #[test]
    fn an_edit_made_twice_is_refused() {
        let text = "---\na: [x]\nb: 1\n---\n";
        for ops in [
            [replace("a", json!(1)), replace("a", json!(2))],
            [replace("a", json!(1)), remove("a")],
            [remove("a"), remove("a")],
            [rename("a", "c"), rename("a", "d")],
            [rename("a", "c"), remove("a")],
            [remove_items("a", &["x"]), replace("a", json!(1))],
        ] {
            assert!(edit_refused(text, &ops).2.contains("edited twice"), "{ops:?}");
        }
    }
}

#[test]
fn one_field_of_a_commented_header_changes_one_character() {
    let text = "---\n# owner: keep\nschema_version: 3   # bump me\n\nstarted: 2026-03-16\nwake: 10:00\ntitle: \"No: quotes\"\nblocked: 'yes'\nids: [ T-01,T-02 ]\nempty:\n\n---\nbody\n";
    assert_eq!(edited(text, &[replace("schema_version", json!(8))]), text.replacen("3 ", "8 ", 1));
    let added =
        [replace("schema_version", json!(8)), insert("lead", json!("codex:/root"), "ready_for_execution")];
    assert_eq!(
        edited(text, &added),
        text.replacen("3 ", "8 ", 1).replacen("empty:\n", "empty:\nlead: codex:/root\n", 1)
    );
}

#[test]
fn line_ends_stay_with_their_lines() {
    let ops = [replace("v", json!(8)), insert("n", json!("x"), "r")];
    check(&[
        (
            "all crlf",
            "---\r\nv: 3 # c\r\nr: true\r\n---\r\nbody\r\n",
            &ops,
            "---\r\nv: 8 # c\r\nn: x\r\nr: true\r\n---\r\nbody\r\n",
        ),
        (
            "crlf header, lf body",
            "---\r\nv: 3\r\nr: true\r\n---\r\nbody\n",
            &ops,
            "---\r\nv: 8\r\nn: x\r\nr: true\r\n---\r\nbody\n",
        ),
        (
            "one lf line",
            "---\r\nv: 3\nr: true\r\n---\r\nbody\r\n",
            &ops,
            "---\r\nv: 8\nn: x\nr: true\r\n---\r\nbody\r\n",
        ),
        ("no final line end", "---\r\nv: 3\r\nr: true\r\n---", &ops, "---\r\nv: 8\r\nn: x\r\nr: true\r\n---"),
        (
            "bare cr in the body",
            "---\r\nv: 3\r\nr: true\r\n---\r\na\rb\r\r\n",
            &ops,
            "---\r\nv: 8\r\nn: x\r\nr: true\r\n---\r\na\rb\r\r\n",
        ),
        (
            "byte order mark",
            "\u{FEFF}---\nv: 3\nr: true\n---\n",
            &ops,
            "\u{FEFF}---\nv: 8\nn: x\nr: true\n---\n",
        ),
        (
            "lists and scalars over crlf lines",
            "---\r\nv: 3\r\nm:\r\n  - a # c\r\n  - b\r\nt: >-\r\n  x\r\n\r\n  y\r\nr: true\r\n---\r\n",
            &[remove_items("m", &["a"]), remove("t"), rename("m", "w")],
            "---\r\nv: 3\r\nw:\r\n  - b\r\nr: true\r\n---\r\n",
        ),
    ]);
}

#[test]
fn real_plans_upgrade_in_place() {
    check(&[
        (
            "version 3",
            "---\nschema_version: 3\nartifact: goal-plan\nchange: 2026-08-01-login\nstatus: ready\nmodes: [coordination, design-first]\nready_for_execution: true\n---\n\n# Goal Plan: T\n",
            &[
                replace("schema_version", json!(5)),
                replace("status", json!("blocked")),
                remove_items("modes", &["coordination"]),
                insert("lead", json!("codex:/root"), "ready_for_execution"),
                insert("implementation_agent_limit", json!(3), "ready_for_execution"),
                replace("ready_for_execution", json!(false)),
            ],
            "---\nschema_version: 5\nartifact: goal-plan\nchange: 2026-08-01-login\nstatus: blocked\nmodes: [design-first]\nlead: codex:/root\nimplementation_agent_limit: 3\nready_for_execution: false\n---\n\n# Goal Plan: T\n",
        ),
        (
            "version 6, quoted",
            "---\nschema_version: 6\nartifact: \"goal-plan\"\nmodes: [\"a\",\"b\"]\nlead: \"codex:/root\"\nimplementation_agent_limit: 2\nintegration_attempt_limit: null\nticket_workspace_policy: \"current\"\nready_for_execution: false\n---\n",
            &[
                replace("schema_version", json!(8)),
                rename("implementation_agent_limit", "concurrent_implementation_limit"),
                replace("integration_attempt_limit", json!(3)),
                remove("ticket_workspace_policy"),
                insert("ticket_execution", json!("serial"), "ready_for_execution"),
            ],
            "---\nschema_version: 8\nartifact: \"goal-plan\"\nmodes: [\"a\",\"b\"]\nlead: \"codex:/root\"\nconcurrent_implementation_limit: 2\nintegration_attempt_limit: 3\nticket_execution: \"serial\"\nready_for_execution: false\n---\n",
        ),
    ]);
}

mod refusals {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn duplicate_keys_name_both_places() {
        for (inner, places) in [
            ("status: a\nx: 1\nstatus: a\n", ["line 2, column 1", "line 4, column 1"]),
            ("status: a\n\"status\": b\n", ["line 2, column 1", "line 3, column 1"]),
            ("'status': a\n\"st\\u0061tus\": b\n", ["line 2, column 1", "line 3, column 1"]),
            ("x:\n  y: 1\n  z: {b: 1, b: 2}\n", ["line 4, column 7", "line 4, column 13"]),
            ("{status: a, status: b}\n", ["line 2, column 2", "line 2, column 13"]),
        ] {
            let (code, _, message) = refused(format!("---\n{inner}---\n"));
            assert_eq!(code, Code::DuplicateKey, "{inner:?}");
            assert!(places.iter().all(|p| message.contains(p)), "{inner:?}: {message}");
        }
    }

    #[test]
    fn text_that_is_no_yaml_is_placed_in_the_file() {
        for (text, line, reason) in [
            ("---\na: 1\nb: c: d\n---\n", 3, "no YAML"),
            ("---\na: [x\nb: 1\n---\n", 3, "no YAML"),
            ("---\na: 'x\n---\n", 2, "no YAML"),
            ("---\na: 'x' y\n---\n", 2, "no YAML"),
            ("---\na: @x\n---\n", 2, "no YAML"),
            ("---\n\ta: 1\n---\n", 2, "a tab as indentation"),
            ("---\na:\n\tb: 1\n---\n", 3, "a tab as indentation"),
            ("---\na:\n\t- b\n---\n", 3, "a tab as indentation"),
            ("---\na: 1\n\tb: 1\n---\n", 3, "a tab as indentation"),
            ("---\na: 1\nb: \0x\n---\n", 3, "U+0000"),
            ("---\na: 1\nb: \u{1b}x\n---\n", 3, "U+001B"),
            ("---\n\u{FEFF}a: 1\n---\n", 2, "byte order mark"),
            ("---\na: *x\n---\n", 2, "no YAML"),
        ] {
            let (code, at, message) = refused(text);
            assert_eq!((code, at), (Code::InvalidYaml, line), "{text:?}: {message}");
            assert!(message.contains(reason), "{text:?}: {message}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_are_placed_in_the_file() {
        let (code, line, message) = refused(b"---\na: 1\nb: \xFF\n---\n");
        assert_eq!((code, line), (Code::InvalidUtf8, 3), "{message}");
    }

    #[test]
    fn constructs_that_touch_the_whole_header() {
        for (text, line, construct) in [
            ("---\na: 1\n<<: {status: draft}\n---\n", 3, "a merge key (`<<`)"),
            ("---\nb: &b {x: 1}\n<<: *b\n---\n", 3, "a merge key (`<<`)"),
            ("---\n? status\n: draft\n---\n", 2, "a complex key"),
            ("---\na: 1\n? status\n---\n", 3, "a complex key"),
            ("---\n[a]: 1\n---\n", 2, "a complex key"),
            ("---\n{? a : 1}\n---\n", 2, "a complex key"),
            ("---\na: &x b\n*x : 1\n---\n", 3, "an alias as a key"),
            ("---\n!!str a: 1\n---\n", 2, "a tag on a key"),
            ("---\n&m\na: 1\n---\n", 2, "an anchor on the whole mapping"),
            ("---\n!!map\na: 1\n---\n", 2, "a tag on the whole mapping"),
            ("---\n%YAML 1.1\na: 1\n---\n", 2, "the directive `%YAML`"),
            ("---\n# c\n%TAG ! x\na: 1\n---\n", 3, "the directive `%TAG`"),
            ("%YAML 1.1\n---\na: 1\n---\n", 1, "the directive `%YAML`"),
            ("---\na: 1\n--- b\n---\n", 3, "a second YAML document"),
            ("---\na: 1\n1: x\n---\n", 3, "a key that is no string"),
            ("---\ntrue: x\n---\n", 2, "a key that is no string"),
            ("---\n: x\n---\n", 2, "an empty key"),
        ] {
            let (code, at, message) = refused(text);
            assert_eq!((code, at), (Code::UnsupportedYaml, line), "{text:?}: {message}");
            assert!(message.contains(construct), "{text:?}: {message}");
        }
    }

    #[test]
    fn constructs_on_an_edited_entry() {
        for (text, line, construct) in [
            ("---\nv: 1\nstatus: &s draft\nready: *s\n---\n", 3, "an anchor in `status`"),
            ("---\nv: &s draft\nstatus: *s\n---\n", 3, "an alias in `status`"),
            ("---\nstatus: !!str 5\n---\n", 2, "a tag in `status`"),
            ("---\nstatus: !x\n---\n", 2, "a tag in `status`"),
            ("---\nstatus: [a, &b c]\n---\n", 2, "an anchor in `status`"),
            ("---\nstatus:\n  x: 1\n  y: {<<: {z: 1}}\n---\n", 4, "a merge key (`<<`) in `status`"),
            ("---\n&k status: x\n---\n", 2, "an anchor in `status`"),
        ] {
            for op in [replace("status", json!("blocked")), rename("status", "state"), remove("status")] {
                let (code, at, message) = edit_refused(text, &[op, insert("zz", json!(1), "zzz")]);
                assert_eq!((code, at), (Code::UnsupportedYaml, line), "{text:?}: {message}");
                assert!(message.contains(construct), "{text:?}: {message}");
            }
        }
    }

    #[test]
    fn constructs_on_other_entries_stay_as_they_are() {
        let text = "---\nv: 3\na: &x [one, \"two\"] # c\nb: *x\nc: !!str 5\nd: !t {e: *x}\nf: &y\ng: {<<: *x}\nh: &z |\n  t\ni: {1: 2}\n---\n";
        let header = Frontmatter::parse(text.as_bytes()).unwrap();
        assert_eq!(
            *header.value(),
            json!({"v": 3, "a": ["one", "two"], "b": "*x", "c": "!!str 5", "d": "!t {e: *x}", "f": null, "g": "{<<: *x}", "h": "t\n", "i": "{1: 2}"})
        );
        let unsupported: Vec<_> =
            header.entries.iter().filter(|e| e.unsupported.is_some()).map(|e| e.key.as_str()).collect();
        assert_eq!(unsupported, ["a", "b", "c", "d", "f", "g", "h", "i"]);
        assert_eq!(
            edited(text, &[replace("v", json!(8)), insert("n", json!(1), "b")]),
            text.replace("v: 3", "v: 8").replace("\nb:", "\nn: 1\nb:")
        );
    }

    #[test]
    fn an_alias_bomb_is_never_expanded() {
        let mut text = "---\nv: 3\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for i in 1..10 {
            let items = vec![format!("*a{}", i - 1); 9].join(", ");
            text.push_str(&format!("a{i}: &a{i} [{items}]\n"));
        }
        text.push_str("---\n");
        let begun = Instant::now();
        assert_eq!(edited(&text, &[replace("v", json!(8))]), text.replace("v: 3", "v: 8"));
        let (code, line, message) = edit_refused(&text, &[remove("a9")]);
        assert_eq!((code, line), (Code::UnsupportedYaml, 12), "{message}");
        assert!(begun.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn deep_nesting_ends_early() {
        let begun = Instant::now();
        for inner in [
            format!("a: {}\n", "[".repeat(100_000)),
            format!("a: {}1{}\n", "[".repeat(100), "]".repeat(100)),
            format!("a: {}\n", "{b: ".repeat(10_000)),
            format!("a:\n  {}x\n", "- ".repeat(10_000)),
            (0..300).map(|i| format!("{}a:\n", " ".repeat(i))).collect(),
        ] {
            let (code, _, message) = refused(format!("---\n{inner}---\n"));
            assert!(matches!(code, Code::UnsupportedYaml | Code::InvalidYaml), "{message}");
        }
        let fits = format!("---\na: {}1{}\n---\n", "[".repeat(60), "]".repeat(60));
        assert!(Frontmatter::parse(fits.as_bytes()).is_ok());
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}

mod random_headers {
    use super::*;

    const KEYS: [&str; 8] =
        ["schema_version", "status", "modes", "lead", "é key", "yes", "title", "ready_for_execution"];
    const NEW_KEYS: [&str; 4] = ["orchestration", "a: b", "on", "lead-2"];

    /// One entry as it will be written.
    #[derive(Debug, Clone)]
    struct Spec {
        above: Vec<&'static str>,
        key_quote: &'static str,
        colon: &'static str,
        shape: Shape,
        comment: &'static str,
    }

    #[derive(Debug, Clone)]
    enum Shape {
        /// Text on the key's line.
        Inline(String),
        /// Text on the key's line, and lines below that are part of the value.
        Below(&'static str, Vec<String>),
    }

    #[derive(Debug, Clone)]
    enum Action {
        Keep,
        Replace(Value),
        Rename,
        Both(Value),
        Remove,
        RemoveItems(Vec<String>),
    }

    type Insert = (&'static str, Value, &'static str);

    #[derive(Debug, Clone)]
    struct Case {
        text: String,
        keys: Vec<&'static str>,
        actions: Vec<Action>,
        inserts: Vec<Insert>,
    }

    fn pick(list: &[&'static str]) -> impl Strategy<Value = &'static str> {
        prop::sample::select(list.to_vec())
    }

    fn word() -> impl Strategy<Value = &'static str> {
        pick(&[
            "draft",
            "codex:/root",
            "coordination",
            "x",
            "é—ü",
            "a b",
            "2026-03-16",
            "10:00",
            "yes",
            "a#b",
        ])
    }

    fn scalar() -> impl Strategy<Value = String> {
        prop_oneof![
            word().prop_map(String::from),
            word().prop_map(|w| format!("'{w}'")),
            word().prop_map(|w| format!("\"{w}\"")),
            pick(&[
                "3",
                "0",
                "-7",
                "4.5",
                "true",
                "null",
                "~",
                "",
                "\"5\"",
                "'it''s # x'",
                "\"a\\\"b \\u00e9\""
            ])
            .prop_map(String::from),
        ]
    }

    fn item() -> impl Strategy<Value = String> {
        scalar().prop_map(|s| if s.is_empty() { "null".to_owned() } else { s })
    }

    fn flow_list() -> impl Strategy<Value = String> {
        (prop::collection::vec(item(), 0..4), pick(&[", ", ",", " , "]), pick(&["", " "]))
            .prop_map(|(items, comma, pad)| format!("[{pad}{}{pad}]", items.join(comma)))
    }

    fn block_list() -> impl Strategy<Value = Shape> {
        let line = (item(), pick(&["", "  # i", " "]), pick(&["", "  # own", "#own", "   "]));
        (prop::collection::vec(line, 1..4), pick(&["", "  ", "    "])).prop_map(|(items, indent)| {
            let mut lines = Vec::new();
            for (i, (item, behind, above)) in items.iter().enumerate() {
                if i > 0 && !above.is_empty() {
                    lines.push((*above).to_owned());
                }
                lines.push(format!("{indent}- {item}{behind}"));
            }
            Shape::Below("", lines)
        })
    }

    fn shape() -> impl Strategy<Value = Shape> {
        let below = |head: &'static str, lines: &[&str]| {
            Shape::Below(head, lines.iter().map(|l| (*l).to_owned()).collect())
        };
        prop_oneof![
            4 => scalar().prop_map(Shape::Inline),
            2 => flow_list().prop_map(Shape::Inline),
            3 => block_list(),
            1 => Just(below(" >-", &["  one", "  # text", "", "  two"])),
            1 => Just(below(" |", &["  one", "   two: 3"])),
            1 => Just(below(" |+", &["  one", "", ""])),
            1 => Just(below("", &["  nested: 1", "  status: # c", "    - x"])),
            1 => Just(below(" \"one", &["  two\""])),
            1 => Just(below(" one", &["  two"])),
            1 => Just(below(" [a,", &["  'b',", "  c ]"])),
            1 => Just(Shape::Inline("{a: 1, status: \"x\"}".to_owned())),
        ]
    }

    fn spec() -> impl Strategy<Value = Spec> {
        let above = prop::collection::vec(pick(&["# c", "", "  # status: x", "  ", "#"]), 0..3);
        let comment = pick(&["", "", " # c", "   # \"x\": [", "  "]);
        (above, pick(&["", "", "'", "\""]), pick(&[":", ":", " :"]), shape(), comment).prop_map(
            |(above, key_quote, colon, shape, comment)| Spec { above, key_quote, colon, shape, comment },
        )
    }

    fn new_value() -> impl Strategy<Value = Value> {
        let odd = [
            json!(8),
            json!(null),
            json!(false),
            json!(1.5),
            json!("true"),
            json!("- x"),
            json!("a: b"),
            json!(""),
            json!("a\nb"),
            json!(" "),
        ];
        prop_oneof![
            word().prop_map(|w| json!(w)),
            prop::sample::select(odd.to_vec()),
            prop::collection::vec(word(), 0..3).prop_map(|w| json!(w)),
        ]
    }

    fn action() -> impl Strategy<Value = Action> {
        let words = |w: Vec<&str>| Action::RemoveItems(w.into_iter().map(String::from).collect());
        prop_oneof![
            3 => Just(Action::Keep),
            3 => new_value().prop_map(Action::Replace),
            1 => Just(Action::Rename),
            1 => new_value().prop_map(Action::Both),
            2 => Just(Action::Remove),
            3 => prop::collection::vec(word(), 1..4).prop_map(words),
        ]
    }

    fn entries() -> impl Strategy<Value = Vec<(&'static str, Spec, Action)>> {
        (Just(KEYS.to_vec()).prop_shuffle(), prop::collection::vec((spec(), action()), 1..8))
            .prop_map(|(keys, specs)| keys.into_iter().zip(specs).map(|(k, (s, a))| (k, s, a)).collect())
    }

    fn inserts() -> impl Strategy<Value = Vec<Insert>> {
        let one = (new_value(), pick(&["ready_for_execution", "status", "modes", "missing"]));
        (Just(NEW_KEYS.to_vec()).prop_shuffle(), prop::collection::vec(one, 0..3))
            .prop_map(|(keys, list)| keys.into_iter().zip(list).map(|(k, (v, b))| (k, v, b)).collect())
    }

    /// Headers in block style: any comments, quotes, blank lines, line ends, with and without BOM.
    fn block_case() -> impl Strategy<Value = Case> {
        let trailer = prop::collection::vec(pick(&["# end", "", "  # end"]), 0..3);
        let layout = (any::<bool>(), pick(&["", "  "]), prop::collection::vec(any::<bool>(), 3), trailer);
        (entries(), inserts(), layout).prop_map(|(entries, inserts, (bom, indent, ends, trailer))| {
            let mut lines = vec!["---".to_owned()];
            for (key, spec, _) in &entries {
                lines.extend(spec.above.iter().map(|l| (*l).to_owned()));
                let head = format!("{indent}{0}{key}{0}{1}", spec.key_quote, spec.colon);
                match &spec.shape {
                    Shape::Inline(text) if text.is_empty() => lines.push(format!("{head}{}", spec.comment)),
                    Shape::Inline(text) => lines.push(format!("{head} {text}{}", spec.comment)),
                    Shape::Below(text, below) => {
                        let open = text.starts_with(" \"") || *text == " one" || text.starts_with(" [");
                        lines.push(format!("{head}{text}{}", if open { "" } else { spec.comment }));
                        let indented = |l: &String| format!("{}{l}", if l.is_empty() { "" } else { indent });
                        lines.extend(below.iter().map(indented));
                    }
                }
            }
            lines.extend(trailer.iter().map(|l| (*l).to_owned()));
            lines.extend(["--- ", "", "# status: draft", "---", "status: draft"].map(String::from));
            let mut text = if bom { "\u{FEFF}".to_owned() } else { String::new() };
            for (i, line) in lines.iter().enumerate() {
                text.push_str(line);
                text.push_str(if ends[i % ends.len()] { "\r\n" } else { "\n" });
            }
            case(text, entries, inserts)
        })
    }

    /// Headers that are one flow mapping on one line.
    fn flow_case() -> impl Strategy<Value = Case> {
        let layout = (pick(&[", ", ",", " , "]), pick(&["", " "]), pick(&["", ","]));
        (entries(), inserts(), layout).prop_map(|(entries, inserts, (comma, pad, trailing))| {
            let member = |(key, spec, _): &(&str, Spec, Action)| {
                let value = match &spec.shape {
                    Shape::Inline(text) if !text.is_empty() => text,
                    _ => "x",
                };
                format!("{0}{key}{0}: {value}", spec.key_quote)
            };
            let members: Vec<String> = entries.iter().map(member).collect();
            let text =
                format!("---\n{{{pad}{}{trailing}{pad}}} # c\n---\nstatus: draft\n", members.join(comma));
            case(text, entries, inserts)
        })
    }

    fn case(text: String, entries: Vec<(&'static str, Spec, Action)>, inserts: Vec<Insert>) -> Case {
        let keys = entries.iter().map(|(k, _, _)| *k).collect();
        let actions = entries.into_iter().map(|(_, _, a)| a).collect();
        Case { text, keys, actions, inserts }
    }

    /// The operations of a case that are possible: no scalar for a nested block mapping, no items out of
    /// what is no list.
    fn ops(case: &Case, header: &Frontmatter) -> Vec<Op> {
        let mut ops = Vec::new();
        for (key, action) in case.keys.iter().zip(&case.actions) {
            let entry = header.entry(key).unwrap();
            let replaceable = !entry.value.is_object() || entry.text.starts_with('{');
            if let Action::Rename | Action::Both(_) = action {
                ops.push(rename(key, &format!("{key}_2")));
            }
            match action {
                Action::Replace(value) | Action::Both(value) if replaceable => {
                    ops.push(replace(key, value.clone()));
                }
                Action::Remove => ops.push(remove(key)),
                Action::RemoveItems(items) if entry.value.is_array() => {
                    ops.push(Op::RemoveItems { key: (*key).into(), items: items.clone() });
                }
                _ => {}
            }
        }
        ops.extend(case.inserts.iter().map(|(key, value, before)| insert(key, value.clone(), before)));
        ops
    }

    fn named_in(op: &Op) -> Option<&str> {
        match op {
            Op::Replace { key, .. }
            | Op::Rename { key, .. }
            | Op::Remove { key }
            | Op::RemoveItems { key, .. } => Some(key),
            Op::Insert { .. } => None,
        }
    }

    /// Lines of the header that belong to no entry.
    fn free_lines<'t>(text: &'t str, header: &Frontmatter) -> Vec<&'t str> {
        let mut at = header.range.start;
        let mut out = Vec::new();
        for line in text[header.range.clone()].split_inclusive('\n') {
            if !header.entries.iter().any(|e| e.lines.contains(&at)) {
                out.push(line);
            }
            at += line.len();
        }
        out
    }

    fn check_case(case: &Case, block: bool) -> Result<(), TestCaseError> {
        let text = &case.text;
        let header = Frontmatter::parse(text.as_bytes())
            .map_err(|f| TestCaseError::fail(format!("{text:?}: {f:?}")))?;
        let theirs: Value = serde_yaml::from_str(&text[header.inner.clone()]).unwrap();
        prop_assert_eq!(header.value(), &theirs);

        let ops = ops(case, &header);
        let expected = match edit_value(header.value(), &ops) {
            Ok(value) => value,
            Err(message) => {
                prop_assert_eq!(message, "no key would be left");
                return Ok(());
            }
        };
        let edits = match header.edit(&ops) {
            Ok(edits) => edits,
            // A block scalar would swallow what a removed entry leaves behind it.
            Err(fault)
                if text.contains(['|', '>']) && fault.message.contains("would not read as intended") =>
            {
                return Ok(());
            }
            Err(fault) => return Err(TestCaseError::fail(format!("{text:?} {ops:?}: {fault:?}"))),
        };
        let after = String::from_utf8(edits.apply(text.as_bytes())).unwrap();
        let result = Frontmatter::parse(after.as_bytes()).unwrap();
        prop_assert_eq!(result.value(), &expected);
        prop_assert_eq!(&text[header.range.end..], &after[result.range.end..]);

        for entry in &header.entries {
            if ops.iter().all(|op| named_in(op) != Some(&entry.key)) {
                let same = result.entry(&entry.key).unwrap();
                prop_assert_eq!(&text[entry.lines.clone()], &after[same.lines.clone()]);
            }
        }
        if block {
            // Comments inside a block list that is no more become free lines; none may go.
            let free = free_lines(&after, &result);
            let mut rest = free.iter();
            let kept = free_lines(text, &header).iter().all(|line| rest.any(|l| l == line));
            prop_assert!(kept, "{:?} -> {:?}", text, after);
        }
        prop_assert!(result.edit(&[]).unwrap().is_empty());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn in_block_style_read_as_their_values_do(case in block_case()) {
            check_case(&case, true)?;
        }

        #[test]
        fn in_flow_style_read_as_their_values_do(case in flow_case()) {
            check_case(&case, false)?;
        }

        /// Whatever stands between the delimiters: no panic, and each edit is exact or refused.
        #[test]
        fn of_any_text_are_read_or_refused(
            inner in "([ab:,\\[\\]{}#&*!|>'\"%@`?~<. 0é\t\r\n-]|- |: | #|\n  |\na: |\nb: |\r\n|---\n|: \\[|: \\||<<: |1){0,40}"
        ) {
            check_each_edit(&format!("---\n{inner}\n---\nbody"))?;
        }

        #[test]
        fn with_random_damage_are_read_or_refused(case in block_case(), damage in prop::collection::vec(damage(), 1..4)) {
            let mut chars: Vec<char> = case.text.chars().collect();
            for (at, gone, new) in damage {
                let at = at.index(chars.len());
                let end = (at + gone).min(chars.len());
                chars.splice(at..end, new.chars());
            }
            check_each_edit(&chars.into_iter().collect::<String>())?;
        }
    }

    fn damage() -> impl Strategy<Value = (prop::sample::Index, usize, &'static str)> {
        let new = [
            "", "", "\n", "\r", "\r\n", " ", "  ", "\t", "#", " #", ":", ": ", "-", "\n- ", "'", "\"", "[",
            "]", "{", "}", ",", "&a ", "*a", "!t ", "? ", "|", ">-", "|+", "\u{2028}", "\\", "---\n", "...",
            "%",
        ];
        (any::<prop::sample::Index>(), 0..3usize, prop::sample::select(new.to_vec()))
    }

    fn check_each_edit(text: &str) -> Result<(), TestCaseError> {
        let Ok(header) = Frontmatter::parse(text.as_bytes()) else { return Ok(()) };
        for entry in &header.entries {
            for op in [
                replace(&entry.key, json!("new value")),
                rename(&entry.key, "zz"),
                remove(&entry.key),
                remove_items(&entry.key, &["a", "b", "x", "draft"]),
                insert("zz", json!([1]), &entry.key),
            ] {
                let Ok(edits) = header.edit(std::slice::from_ref(&op)) else { continue };
                prop_assert!(entry.unsupported.is_none() || edits.is_empty() || named_in(&op).is_none());
                let after = String::from_utf8(edits.apply(text.as_bytes())).unwrap();
                let result = Frontmatter::parse(after.as_bytes()).unwrap();
                prop_assert_eq!(
                    result.value(),
                    &edit_value(header.value(), std::slice::from_ref(&op)).unwrap()
                );
                prop_assert_eq!(&after[result.range.end..], &text[header.range.end..]);
                for other in header.entries.iter().filter(|e| named_in(&op) != Some(&e.key)) {
                    let same = result.entry(&other.key).unwrap();
                    prop_assert_eq!(
                        &text[other.lines.clone()],
                        &after[same.lines.clone()],
                        "{:?} {:?}",
                        text,
                        op
                    );
                }
            }
        }
        Ok(())
    }
}
