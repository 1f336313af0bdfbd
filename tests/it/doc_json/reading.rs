//! What is read, and what is refused and how it is named.

use specdev_migrate::doc::json::{Document, Kind, MAX_DEPTH};
use specdev_migrate::doc::position;
use specdev_migrate::finding::Code;

use super::pointer;

/// Code, `line:column` and message of the refusal.
#[track_caller]
fn refusal(bytes: impl AsRef<[u8]>) -> (Code, String, String) {
    let bytes = bytes.as_ref();
    let fault = Document::parse(bytes).expect_err("a refusal");
    let (line, column) = position(bytes, fault.offset);
    (fault.code, format!("{line}:{column}"), fault.message)
}

macro_rules! refuses {
    ($($name:ident: $text:expr => $code:ident $place:literal $message:literal;)+) => {$(
        #[test]
        fn $name() {
            assert_eq!(refusal($text), (Code::$code, $place.to_owned(), $message.to_owned()));
        }
    )+};
}

refuses! {
    refuses_comment_before_the_value: "// mine\n{}" => InvalidJson "1:1" "comment";
    refuses_comment_inside: "{\n  /* mine */ \"a\": 1\n}" => InvalidJson "2:3" "comment";
    refuses_comment_at_the_end: "{} // mine" => InvalidJson "1:4" "comment";
    refuses_comment_that_is_not_closed: "{} /* mine" => InvalidJson "1:4" "comment";
    refuses_hash_comment: "{\n# mine\n}" => InvalidJson "2:1" "comment (`#`)";
    refuses_trailing_comma_in_object: "{\"a\": 1,\n}" => InvalidJson "1:8" "trailing comma";
    refuses_trailing_comma_in_array: "[1, 2 , ]" => InvalidJson "1:7" "trailing comma";
    refuses_nan: "{\"a\": NaN}" => InvalidJson "1:7" "NaN is not a JSON number";
    refuses_infinity: "[Infinity]" => InvalidJson "1:2" "Infinity is not a JSON number";
    refuses_negative_infinity: "[-Infinity]" => InvalidJson "1:2" "-Infinity is not a JSON number";
    refuses_other_words: "[True]" => InvalidJson "1:2" "True is not a JSON value";
    refuses_single_quotes: "{'a': 1}" => InvalidJson "1:2" "single quotes around a string";
    refuses_single_quoted_value: "{\"a\": 'é'}" => InvalidJson "1:7" "single quotes around a string";
    refuses_key_without_quotes: "{a: 1}" => InvalidJson "1:2" "key `a` without quotes";
    refuses_hexadecimal: "[0x1F]" => InvalidJson "1:2" "hexadecimal number";
    refuses_leading_zero: "[018]" => InvalidJson "1:3" "number with a leading zero";
    refuses_plus_sign: "[+1]" => InvalidJson "1:2" "plus sign before a number";
    refuses_point_without_digits: "[.5]" => InvalidJson "1:2" "number without digits around its point";
    refuses_point_at_the_end: "[5.]" => InvalidJson "1:2" "number without digits around its point";
    refuses_minus_alone: "[-]" => InvalidJson "1:3" "number without digits";
    refuses_number_beyond_a_double: "[1,\n 1e999]" => InvalidJson "2:6" "number out of range";
    refuses_empty_file: "" => InvalidJson "1:1" "empty file";
    refuses_byte_order_mark_alone: "\u{FEFF}" => InvalidJson "1:1" "empty file";
    refuses_white_space_alone: " \r\n\t" => InvalidJson "1:1" "empty file (nothing but white space)";
    refuses_byte_order_mark_in_the_middle: "{\u{FEFF}}" => InvalidJson "1:2" "byte order mark in the middle of the text";
    refuses_second_byte_order_mark: "\u{FEFF}\u{FEFF}{}" => InvalidJson "1:1" "byte order mark in the middle of the text";
    refuses_no_break_space: "{\"a\":\u{A0}1}" => InvalidJson "1:6" "U+00A0, which is not white space in JSON";
    refuses_form_feed: "{}\u{0C}" => InvalidJson "1:3" "U+000C, which is not white space in JSON";
    refuses_nul: "{\"a\": 1\0}" => InvalidJson "1:8" "control character U+0000";
    refuses_line_break_in_string: "{\"a\": \"x\n\"}" => InvalidJson "1:9" "line break inside a string";
    refuses_tab_in_string: "[\"\t\"]" => InvalidJson "1:3" "unescaped control character U+0009 in a string";
    refuses_unknown_escape: r#"["a\x41"]"# => InvalidJson "1:4" "invalid escape in a string";
    refuses_half_a_surrogate_pair: r#"["\ud83d"]"# => InvalidJson "1:3" "escape of half a surrogate pair";
    refuses_open_string: "[\"abc" => InvalidJson "1:2" "string that is not closed";
    refuses_open_object: "{\"a\": {\"b\": 1}" => InvalidJson "1:1" "object that is not closed";
    refuses_open_array: "[[1]" => InvalidJson "1:1" "array that is not closed";
    refuses_missing_comma_in_object: "{\"a\": 1 \"b\": 2}" => InvalidJson "1:8" "missing comma";
    refuses_missing_comma_in_array: "[1 2]" => InvalidJson "1:3" "missing comma";
    refuses_double_comma: "[1,,2]" => InvalidJson "1:4" "unexpected character `,`";
    refuses_missing_colon: "{\"a\" 1}" => InvalidJson "1:6" "missing colon after a key";
    refuses_missing_value: "{\"a\": }" => InvalidJson "1:7" "unexpected character `}`";
    refuses_wrong_bracket: "[1}" => InvalidJson "1:3" "unexpected character `}`";
    refuses_second_value: "{} {}" => InvalidJson "1:4" "text after the end of the value";
    refuses_bytes_that_are_no_utf8: b"{\"a\": \"\xff\"}" => InvalidUtf8 "1:8" "bytes that are not UTF-8";
    refuses_utf16_with_mark: b"\xff\xfe{\0}\0" => InvalidUtf8 "1:1" "the text is UTF-16, not UTF-8";
    refuses_utf16_big_endian: b"\0{\0}" => InvalidUtf8 "1:1" "the text is UTF-16, not UTF-8";

    refuses_duplicate_key: "{\"schema_version\": 3,\n \"schema_version\": 4}"
        => DuplicateKey "2:2" "key \"schema_version\" stands twice in one object, at 1:2 and at 2:2";
    refuses_duplicate_key_after_unescaping: r#"{"a": 1, "\u0061": 2}"#
        => DuplicateKey "1:10" "key \"a\" stands twice in one object, at 1:2 and at 1:10";
    refuses_duplicate_key_behind_a_mark: "\u{FEFF}{\"é\": 1, \"é\": 2}"
        => DuplicateKey "1:10" "key \"é\" stands twice in one object, at 1:2 and at 1:10";
}

#[test]
fn duplicate_key_is_found_at_any_depth_and_names_its_pointer() {
    let text = r#"{"worktrees": [{"id": 1}, {"a/b": {"x": 1, "y": {}, "x": 1}}]}"#;
    let fault = Document::parse(text.as_bytes()).unwrap_err();
    assert_eq!(fault.code, Code::DuplicateKey);
    assert_eq!(fault.pointer.as_deref(), Some("/worktrees/1/a~1b/x"));
    assert_eq!(&text[fault.offset..][..3], "\"x\"");
    assert_eq!(fault.offset, text.rfind("\"x\"").unwrap());
}

#[test]
fn inner_duplicate_wins_over_a_later_outer_one() {
    let text = r#"{"execution": {"max_parallel": 3, "max_parallel": 9}, "execution": 4}"#;
    let fault = Document::parse(text.as_bytes()).unwrap_err();
    assert_eq!(fault.pointer.as_deref(), Some("/execution/max_parallel"));
}

#[test]
fn equal_keys_in_different_objects_are_no_duplicates() {
    assert!(Document::parse(br#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}"#).is_ok());
}

#[test]
fn nesting_is_read_to_the_limit_and_refused_beyond() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(Document::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    let message = "arrays and objects nested deeper than 127 levels".to_owned();
    assert_eq!(refusal(nested(MAX_DEPTH + 1)), (Code::InvalidJson, "1:128".to_owned(), message));
    assert!(Document::parse(nested(100_000).as_bytes()).is_err());
    assert!(Document::parse("{\"a\":".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn brackets_inside_strings_are_no_nesting() {
    let text = format!("[\"\\\"{}\"]", "[".repeat(1000));
    assert!(Document::parse(text.as_bytes()).is_ok());
}

#[test]
fn large_files_are_read_in_linear_time() {
    let entries: Vec<String> = (0..40_000).map(|i| format!("\"k\\u0061{i}\": [\"\\n{i}\", {i}.0]")).collect();
    let text = format!("{{{}}}", entries.join(",\n"));
    let document = Document::parse(text.as_bytes()).unwrap();
    assert_eq!(document.raw(document.find(&pointer("/ka39999/0")).unwrap()), b"\"\\n39999\"");
    assert_eq!(document.value().pointer("/ka39999/0").unwrap(), "\n39999");
}

#[test]
fn value_is_read_once_for_all_clones() {
    let document = Document::parse("\u{FEFF}{\"b\": 1.50, \"a\": [\"\\u00e9\"]}".as_bytes()).unwrap();
    let clone = document.clone();
    assert!(std::ptr::eq(document.value(), clone.value()));
    assert!(std::ptr::eq(document.root(), clone.root()));
}

#[test]
fn any_top_level_value_is_read() {
    for text in ["null", "[]", " 1 ", "\"x\"", "true\n"] {
        assert!(Document::parse(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn offsets_count_the_byte_order_mark() {
    let text = "\u{FEFF}{\"a\": [1, {\"é\" : \"\\u00e9\"}]}";
    let document = Document::parse(text.as_bytes()).unwrap();
    let node = document.find(&pointer("/a/1/é")).unwrap();
    assert_eq!(document.raw(node), b"\"\\u00e9\"");
    assert_eq!(node.kind, Kind::String);
    assert_eq!(document.value().pointer("/a/1/é").unwrap(), "é");
    assert_eq!(document.root().range, 3..text.len());
    assert_eq!(document.bytes(), text.as_bytes());
    let member = document.find(&pointer("/a/1")).unwrap().member("é").unwrap();
    assert_eq!(&text[member.range()], "\"é\" : \"\\u00e9\"");
}

#[test]
fn find_takes_only_canonical_array_indexes() {
    let document = Document::parse(br#"{"a": [1, 2], "01": 3}"#).unwrap();
    assert!(document.find(&pointer("/a/1")).is_some());
    assert!(document.find(&pointer("/01")).is_some());
    for absent in ["/a/01", "/a/2", "/a/-", "/a/+1", "/a/", "/b", "/a/0/x"] {
        assert_eq!(document.find(&pointer(absent)), None, "{absent}");
    }
}

#[test]
fn raw_spellings_are_kept() {
    let document = Document::parse(br#"[1.50, -0, 1E2, "\u0041\/"]"#).unwrap();
    let Kind::Array(items) = &document.root().kind else { panic!() };
    assert_eq!((&items[0].kind, document.raw(&items[0])), (&Kind::Number, &b"1.50"[..]));
    assert_eq!((&items[2].kind, document.raw(&items[2])), (&Kind::Number, &b"1E2"[..]));
    assert_eq!((&items[3].kind, document.raw(&items[3])), (&Kind::String, &b"\"\\u0041\\/\""[..]));
    assert_eq!(document.value().to_string(), r#"[1.5,-0.0,100.0,"A/"]"#);
}

#[test]
fn compact_drops_white_space_outside_strings_only() {
    let text = "[ {\"a \" : [ 1.50 ,\r\n\t\"x \\\" , \\\\\" , \"\\u00e9 é\" ] } ]";
    let document = Document::parse(text.as_bytes()).unwrap();
    let node = document.find(&pointer("/0")).unwrap();
    assert_eq!(document.compact(node), "{\"a \":[1.50,\"x \\\" , \\\\\",\"\\u00e9 é\"]}");
}

#[test]
fn integers_spelled_as_floats_are_found_in_order() {
    let text =
        r#"{"z": 4.0, "a": [1, 2.5, 1e2, -0, 1E-1, {"b/c": 10e-1}], "s": "2.0", "n": 99999999999999999999}"#;
    let found = Document::parse(text.as_bytes()).unwrap().integers_spelled_as_floats();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["/z", "/a/2", "/a/5/b~1c"]);
}
