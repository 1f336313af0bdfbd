//! Edits with their bytes written out.

use serde_json::{Value, json};
use specdev_migrate::doc::json::{Document, Op, edit_value};
use specdev_migrate::finding::Code;

use super::{check, edited, insert, pointer, remove, rename, replace};

macro_rules! edits {
    ($($name:ident: $before:expr, [$($op:expr),* $(,)?] => $after:expr;)+) => {$(
        #[test]
        fn $name() {
            check($before, &[$($op),*], $after);
        }
    )+};
}

// Formatting that is not part of the change.
edits! {
    keeps_tabs_escapes_spacing_and_a_missing_final_newline:
        "{\n\t\"schema_version\": 3,\n\t\"note\": \"caf\\u00e9 — é\",\n\t\"a\" : 1,\n\t\"list\": [1,2,   3],\n\t\"execution\": {\"max_parallel\": 2}\n}",
        [replace("/schema_version", 4), rename("/execution/max_parallel", "max_implementation_agents")] =>
        "{\n\t\"schema_version\": 4,\n\t\"note\": \"caf\\u00e9 — é\",\n\t\"a\" : 1,\n\t\"list\": [1,2,   3],\n\t\"execution\": {\"max_implementation_agents\": 2}\n}";
    keeps_the_byte_order_mark:
        "\u{FEFF}{\n  \"schema_version\": 3\n}\n",
        [replace("/schema_version", 4), insert("", "x", true, &["schema_version"])] =>
        "\u{FEFF}{\n  \"schema_version\": 4,\n  \"x\": true\n}\n";
    keeps_each_line_end:
        "{\r\n  \"a\": 1,\n  \"b\": 2\r\n}",
        [insert("", "x", 1, &["a"]), insert("", "y", 1, &["b"])] =>
        "{\r\n  \"a\": 1,\n  \"x\": 1,\n  \"b\": 2,\r\n  \"y\": 1\r\n}";
    replaces_and_renames_one_member:
        "{ \"a\"  :  2.0 }", [rename("/a", "b"), replace("/a", 2)] => "{ \"b\"  :  2 }";
    renames_a_member_and_edits_inside:
        "{\"a\": {\"x\": 1, \"y\": 2}}", [rename("/a", "b"), remove("/a/x")] => "{\"b\": {\"y\": 2}}";
    exchanges_two_keys:
        "{\"a\": 1, \"b\": 2}", [rename("/a", "b"), rename("/b", "a")] => "{\"b\": 1, \"a\": 2}";
    replaces_the_top_level_value:
        " [1, 2]\n", [replace("", json!({"a": [1]}))] => " {\"a\": [1]}\n";
    does_nothing_without_operations: "{ \"a\":1 }", [] => "{ \"a\":1 }";
}

#[test]
fn keeps_any_indent() {
    for indent in ["\t", " ", "   ", "    ", "        "] {
        for eol in ["\n", "\r\n"] {
            let lay = |text: &str| text.replace("\n", eol).replace('>', indent);
            check(
                &lay(
                    "{\n>\"schema_version\": 3,\n>\"execution\": {\n>>\"max_parallel\": 9,\n>>\"owner\": \"x\"\n>}\n}\n",
                ),
                &[
                    replace("/schema_version", 4),
                    rename("/execution/max_parallel", "agents"),
                    insert("/execution", "limit", 3, &["max_parallel"]),
                    insert("", "extra", json!({"list": ["a", {}], "none": []}), &["execution"]),
                ],
                &lay(
                    "{\n>\"schema_version\": 4,\n>\"execution\": {\n>>\"agents\": 9,\n>>\"limit\": 3,\n>>\"owner\": \"x\"\n>},\n>\"extra\": {\n>>\"list\": [\n>>>\"a\",\n>>>{}\n>>],\n>>\"none\": []\n>}\n}\n",
                ),
            );
        }
    }
}

// Commas and line style where a member is added or removed.
edits! {
    inserts_into_empty_object:
        "{\n  \"execution\":{}\n}\n", [insert("/execution", "agents", 3, &[])] =>
        "{\n  \"execution\":{\"agents\":3}\n}\n";
    inserts_into_empty_object_with_a_blank:
        "{\n  \"execution\": { }\n}\n", [insert("/execution", "agents", 3, &[]), insert("/execution", "x", 1, &["agents"])] =>
        "{\n  \"execution\": { \"agents\": 3, \"x\": 1 }\n}\n";
    inserts_into_empty_object_with_a_line_end:
        "{\n  \"execution\": {\n  }\n}\n", [insert("/execution", "agents", 3, &[]), insert("/execution", "x", json!([1]), &["agents"])] =>
        "{\n  \"execution\": {\n    \"agents\": 3,\n    \"x\": [\n      1\n    ]\n  }\n}\n";
    inserts_into_empty_object_with_a_crlf:
        "{\r\n\t\"execution\": {\r\n\t}\r\n}", [insert("/execution", "agents", 3, &[])] =>
        "{\r\n\t\"execution\": {\r\n\t\t\"agents\": 3\r\n\t}\r\n}";
    inserts_into_empty_document: "{}\n", [insert("", "a", 1, &["b"])] => "{\"a\": 1}\n";
    inserts_at_the_start_of_lines:
        "{\n  \"b\": 1\n}", [insert("", "a", 0, &[])] => "{\n  \"a\": 0,\n  \"b\": 1\n}";
    inserts_at_the_start_of_one_line:
        "{ \"b\": 1, \"c\": 2 }", [insert("", "a", 0, &["x"])] => "{ \"a\": 0, \"b\": 1, \"c\": 2 }";
    inserts_beside_a_single_member_on_one_line:
        "{ \"b\": 1 }", [insert("", "a", 0, &[]), insert("", "c", 2, &["b"])] => "{ \"a\": 0, \"b\": 1, \"c\": 2 }";
    inserts_into_one_line_object_in_a_file_of_lines:
        "{\n  \"a\": { \"x\" : 1 ,\"y\" : 2 },\n  \"b\": 1\n}", [insert("/a", "z", json!({"q": [1, 2]}), &["x", "y"])] =>
        "{\n  \"a\": { \"x\" : 1 ,\"y\" : 2,\"z\" : { \"q\" : [1,2] } },\n  \"b\": 1\n}";
    inserts_into_minified_text:
        "{\"execution\":{\"max_parallel\":3}}",
        [rename("/execution/max_parallel", "agents"), insert("/execution", "x", json!({"a": [1, {"b": null}], "c": {}}), &["agents"])] =>
        "{\"execution\":{\"agents\":3,\"x\":{\"a\":[1,{\"b\":null}],\"c\":{}}}}";
    inserts_behind_a_last_member_on_the_line_of_the_brace:
        "{\n  \"a\": 1,\n  \"b\": 2}", [insert("", "c", 3, &["b"])] => "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3}";
    inserts_with_the_indent_of_the_member_before:
        "{\n  \"a\": 1,\n        \"b\": 2\n}", [insert("", "c", 3, &["b"])] => "{\n  \"a\": 1,\n        \"b\": 2,\n        \"c\": 3\n}";
    inserts_behind_the_second_key_of_a_line:
        "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3\n}", [insert("", "x", 0, &["b"])] =>
        "{\n  \"a\": 1, \"b\": 2,\n  \"x\": 0,\n  \"c\": 3\n}";
    inserts_with_the_comma_spacing_of_an_array_when_nothing_else_shows_one:
        "{\"a\": [1,2]}", [insert("", "x", 0, &["a"])] => "{\"a\": [1,2],\"x\": 0}";
    removes_first_member:
        "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", [remove("/a")] => "{\n  \"b\": 2,\n  \"c\": 3\n}\n";
    removes_middle_member:
        "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", [remove("/b")] => "{\n  \"a\": 1,\n  \"c\": 3\n}\n";
    removes_last_member:
        "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", [remove("/c")] => "{\n  \"a\": 1,\n  \"b\": 2\n}\n";
    removes_last_two_members:
        "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", [remove("/b"), remove("/c")] => "{\n  \"a\": 1\n}\n";
    removes_first_and_last_member:
        "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", [remove("/c"), remove("/a")] => "{\n  \"b\": 2\n}\n";
    removes_only_member:
        "{\n  \"git\": {\n    \"auto_commit\": true\n  }\n}\n", [remove("/git/auto_commit")] => "{\n  \"git\": {\n  }\n}\n";
    removes_only_member_on_one_line:
        "{\n  \"git\": { \"auto_commit\": true }\n}\n", [remove("/git/auto_commit")] => "{\n  \"git\": {}\n}\n";
    removes_member_of_several_lines:
        "{\n  \"a\": {\n    \"x\": [\n      1\n    ]\n  },\n  \"b\": 2\n}", [remove("/a")] => "{\n  \"b\": 2\n}";
    removes_first_member_on_one_line: "{\"a\": 1, \"b\": 2, \"c\": 3}", [remove("/a")] => "{\"b\": 2, \"c\": 3}";
    removes_middle_member_on_one_line: "{ \"a\": 1, \"b\": 2, \"c\": 3 }", [remove("/b")] => "{ \"a\": 1, \"c\": 3 }";
    removes_last_member_on_one_line: "{ \"a\": 1, \"b\": 2 , \"c\": 3 }", [remove("/c")] => "{ \"a\": 1, \"b\": 2 }";
    removes_minified_members: "{\"a\":1,\"b\":2,\"c\":3}", [remove("/a"), remove("/c")] => "{\"b\":2}";
    removes_first_of_several_keys_on_a_line:
        "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3\n}", [remove("/a")] => "{\n  \"b\": 2,\n  \"c\": 3\n}";
    removes_last_of_several_keys_on_a_line:
        "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3\n}", [remove("/b")] => "{\n  \"a\": 1,\n  \"c\": 3\n}";
    removes_comma_first_members:
        "{\n  \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}", [remove("/b")] => "{\n  \"a\": 1\n, \"c\": 3\n}";
    removes_last_comma_first_member:
        "{\n  \"a\": 1\n, \"b\": 2\n}", [remove("/b")] => "{\n  \"a\": 1\n}";
    removes_its_line_and_no_blank_line:
        "{\n  \"a\": 1,\n\n  \"b\": 2,\n\n  \"c\": 3\n}", [remove("/b")] => "{\n  \"a\": 1,\n\n\n  \"c\": 3\n}";
    removes_last_line_and_leaves_the_line_end_before:
        "{\n  \"a\": 1,\r\n  \"b\": 2\n}", [remove("/b")] => "{\n  \"a\": 1\r\n}";
    removes_text_that_looks_like_punctuation:
        "{\n  \"a\": \"\\\",\\\"}\",\n  \"b\": \"},{\\\\\",\n  \"c\": \",\\\"\"\n}", [remove("/b"), insert("", "x", "}", &["c"])] =>
        "{\n  \"a\": \"\\\",\\\"}\",\n  \"c\": \",\\\"\",\n  \"x\": \"}\"\n}";
    removes_and_inserts_at_one_place:
        "{\n  \"a\": 1,\n  \"b\": 2\n}", [remove("/b"), insert("", "x", 1, &["b"])] => "{\n  \"a\": 1,\n  \"x\": 1\n}";
    removes_all_and_inserts:
        "{\n  \"a\": 1,\n  \"b\": 2\n}", [remove("/b"), remove("/a"), insert("", "x", 1, &["b"]), insert("", "y", 1, &[])] =>
        "{\n  \"y\": 1,\n  \"x\": 1\n}";
    removes_first_and_inserts_at_the_start:
        "{ \"a\": 1, \"b\": 2 }", [remove("/a"), insert("", "x", 1, &[])] => "{ \"x\": 1, \"b\": 2 }";
    inserts_the_key_that_is_removed: "{\"a\":1,\"b\":2}", [remove("/a"), insert("", "a", 3, &["b"])] => "{\"b\":2,\"a\":3}";
    removes_array_items:
        "[\n  1,\n  { \"a\": 2 },\n  3\n]", [remove("/0"), remove("/2")] => "[\n  { \"a\": 2 }\n]";
    removes_array_items_on_one_line: "[1,2,   3]", [remove("/1")] => "[1,3]";
    removes_all_array_items: "{\"a\": [1, 2]}", [remove("/a/0"), remove("/a/1")] => "{\"a\": []}";
    edits_inside_an_item_next_to_a_removed_one:
        "[{\"a\":1,\"b\":2},{\"c\":3}]", [remove("/1"), remove("/0/b"), rename("/0/a", "x")] => "[{\"x\":1}]";
}

// A config and a change status as they are met, all at once.
edits! {
    upgrades_a_config:
        "{\r\n\t\"schema_version\": 3,\r\n\t\"git\": {\r\n\t\t\"default_branch\": \"main\",\r\n\t\t\"auto_commit\": false,\r\n\t\t\"worktree_for_parallel\": true\r\n\t},\r\n\t\"execution\": {\r\n\t\t\"max_parallel\": 5,\r\n\t\t\"shared_path_owner\": \"lead\"\r\n\t}\r\n}\r\n",
        [
            replace("/schema_version", 4),
            remove("/git/auto_commit"),
            remove("/git/worktree_for_parallel"),
            rename("/execution/max_parallel", "max_implementation_agents"),
            replace("/execution/max_parallel", 3),
        ] =>
        "{\r\n\t\"schema_version\": 4,\r\n\t\"git\": {\r\n\t\t\"default_branch\": \"main\"\r\n\t},\r\n\t\"execution\": {\r\n\t\t\"max_implementation_agents\": 3,\r\n\t\t\"shared_path_owner\": \"lead\"\r\n\t}\r\n}\r\n";
    adds_to_a_change_status:
        "{\n  \"schema_version\": 3,\n  \"current_work\": null,\n  \"blockers\": [\"a\", \"b\"],\n  \"worktrees\": [\n    {\"ticket_id\": \"T-01\", \"e2e\": {\"required\": false}}\n  ]\n}",
        [
            replace("/schema_version", 5),
            insert("", "works_run", json!(["specdev/implement", "specdev/eli5"]), &["schema_version", "current_work"]),
            replace("/worktrees", json!([])),
            insert("", "claimed", json!([]), &["current_work", "works_run"]),
            insert("", "leadership", json!({"current": "codex:/root", "history": []}), &["worktrees"]),
            insert("", "authorization", json!({"commit": {"status": "x", "source": null}}), &["leadership"]),
        ] =>
        "{\n  \"schema_version\": 5,\n  \"current_work\": null,\n  \"works_run\": [\"specdev/implement\", \"specdev/eli5\"],\n  \"claimed\": [],\n  \"blockers\": [\"a\", \"b\"],\n  \"worktrees\": [],\n  \"leadership\": {\"current\": \"codex:/root\", \"history\": []},\n  \"authorization\": {\n    \"commit\": {\"status\": \"x\", \"source\": null}\n  }\n}";
    replaces_an_object_item_by_text:
        "{\n  \"deviations\": [\n    {\n      \"id\": \"D-1\"\n    },\n    \"plain\"\n  ]\n}", [replace("/deviations/0", "{\"id\":\"D-1\"}")] =>
        "{\n  \"deviations\": [\n    \"{\\\"id\\\":\\\"D-1\\\"}\",\n    \"plain\"\n  ]\n}";
    replaces_a_one_line_array_on_its_line:
        "{\n  \"modes\": [ \"a\", \"b\" ],\n  \"x\": {\n    \"y\": [\n      1\n    ]\n  }\n}", [replace("/modes", json!(["c", {"d": 1}]))] =>
        "{\n  \"modes\": [ \"c\", {\"d\": 1} ],\n  \"x\": {\n    \"y\": [\n      1\n    ]\n  }\n}";
    replaces_a_short_value_by_lines:
        "{\n    \"a\": {\n        \"b\": null\n    }\n}", [replace("/a/b", json!([{"c": 1}]))] =>
        "{\n    \"a\": {\n        \"b\": [\n            {\n                \"c\": 1\n            }\n        ]\n    }\n}";
    replaces_with_the_colon_of_the_member_itself:
        "{\"a\": 1, \"b\":null}", [replace("/b", json!({"x": 1}))] => "{\"a\": 1, \"b\":{\"x\":1}}";
    keeps_a_file_without_indent:
        "{\n\"a\": {\n\"b\": 1\n}\n}", [insert("", "c", json!({"d": 1}), &["a"])] => "{\n\"a\": {\n\"b\": 1\n},\n\"c\": {\n\"d\": 1\n}\n}";
}

// Strings.
edits! {
    writes_raw_text_with_minimal_escapes:
        "{\"a\": \"é\"}", [replace("/a", "→ \"q\" \\ / \u{7f} \n\u{1}😀")] => "{\"a\": \"→ \\\"q\\\" \\\\ / \u{7f} \\n\\u0001😀\"}";
    escapes_where_the_document_does:
        "{\"a\": \"caf\\u00e9\"}", [rename("/a", "ä"), replace("/a", "→😀")] => "{\"\\u00e4\": \"\\u2192\\ud83d\\ude00\"}";
    escapes_in_upper_case_where_the_document_does:
        "\u{FEFF}{\"\\u00E9\": 1}", [replace("/é", "é")] => "\u{FEFF}{\"\\u00E9\": \"\\u00E9\"}";
    escapes_in_lower_case_where_the_document_has_both:
        "[\"\\u00E9\", \"\\u00e9\", 0]", [replace("/2", "é")] => "[\"\\u00E9\", \"\\u00e9\", \"\\u00e9\"]";
    writes_raw_text_into_a_mixed_document:
        "{\"a\": \"\\u00e9\", \"b\": \"é\"}", [replace("/a", "é")] => "{\"a\": \"é\", \"b\": \"é\"}";
    writes_raw_text_into_plain_ascii:
        "{\"a\": \"\\u0041\"}", [replace("/a", "é")] => "{\"a\": \"é\"}";
}

// Where an inserted member goes.
#[test]
fn insertions_follow_the_last_key_that_exists() {
    let cases: [(&[Op], &str); 9] = [
        (&[insert("", "x", 0, &["a", "b"])], "a b x c"),
        (&[insert("", "x", 0, &["a", "nowhere"])], "a x b c"),
        (&[insert("", "x", 0, &["c", "a"])], "a x b c"),
        (&[insert("", "x", 0, &["a"]), insert("", "y", 0, &["a"])], "a x y b c"),
        (
            &[insert("", "x", 0, &["a"]), insert("", "y", 0, &["a"]), insert("", "z", 0, &["a", "x"])],
            "a x z y b c",
        ),
        (
            &[insert("", "x", 0, &[]), insert("", "y", 0, &["nowhere"]), insert("", "z", 0, &["x"])],
            "x z y a b c",
        ),
        (&[rename("/b", "n"), insert("", "x", 0, &["n"]), insert("", "y", 0, &["b"])], "a n x y c"),
        (&[remove("/b"), insert("", "x", 0, &["a", "b"]), insert("", "y", 0, &["a"])], "a y x c"),
        (&[rename("/a", "b"), remove("/b"), insert("", "x", 0, &["b"])], "b x c"),
    ];
    for (ops, expected) in cases {
        for text in [r#"{"a":0,"b":0,"c":0}"#, "{\n  \"a\": 0,\n  \"b\": 0,\n  \"c\": 0\n}\n"] {
            let after: Value = serde_json::from_str(&edited(text, ops)).unwrap();
            let keys: Vec<&str> = after.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys.join(" "), expected);
            assert_eq!(edit_value(&serde_json::from_str(text).unwrap(), ops).unwrap(), after);
        }
    }
}

#[test]
fn operations_that_do_not_fit_are_refused_on_both_roads() {
    let text = r#"{"a": {"b": 1, "c": [1, 2]}, "d": 2}"#;
    let document = Document::parse(text.as_bytes()).unwrap();
    let cases: [(&[Op], &str); 18] = [
        (&[replace("/x", 1)], "cannot edit `/x`: there is no such value"),
        (&[remove("/a/c/2")], "cannot edit `/a/c/2`: there is no such value"),
        (&[remove("/a/c/01")], "cannot edit `/a/c/01`: there is no such value"),
        (&[replace("/d/x", 1)], "cannot edit `/d/x`: there is no such value"),
        (&[remove("")], "cannot edit the top-level value: the whole document cannot be removed"),
        (&[rename("", "x")], "cannot edit the top-level value: only the member of an object has a key"),
        (&[rename("/a/c/0", "x")], "cannot edit `/a/c/0`: only the member of an object has a key"),
        (&[insert("/d", "x", 1, &[])], "cannot edit `/d`: only an object takes members"),
        (&[insert("/a/c", "x", 1, &[])], "cannot edit `/a/c`: only an object takes members"),
        (&[insert("/a", "b", 1, &[])], "cannot edit `/a/b`: the key would stand twice"),
        (&[rename("/a", "d")], "cannot edit `/d`: the key would stand twice"),
        (&[insert("", "x", 1, &[]), rename("/d", "x")], "cannot edit `/x`: the key would stand twice"),
        (&[remove("/a"), replace("/a/b", 2)], "cannot edit `/a/b`: a value above it is removed or replaced"),
        (&[replace("/a/c/0", 2), replace("/a", 1)], "cannot edit `/a`: values inside it are edited"),
        (&[insert("/a", "x", 1, &[]), remove("/a")], "cannot edit `/a`: values inside it are edited"),
        (
            &[replace("/a", 1), insert("/a", "x", 1, &[])],
            "cannot edit `/a`: it is removed or replaced already",
        ),
        (&[replace("/d", 1), replace("/d", 1)], "cannot edit `/d`: it is removed or replaced already"),
        (&[rename("/d", "x"), remove("/d")], "cannot edit `/d`: it is renamed or removed already"),
    ];
    for (ops, message) in cases {
        let fault = document.edit(ops).unwrap_err();
        assert_eq!((fault.code, fault.message.as_str()), (Code::InvalidJson, message));
        assert_eq!(edit_value(document.value(), ops).unwrap_err(), message);
    }
    let fault = document.edit(&[remove("/d"), remove("/d")]).unwrap_err();
    assert_eq!(fault.offset, document.find(&pointer("/d")).unwrap().range.start);
    assert_eq!(fault.pointer.as_deref(), Some("/d"));
}
