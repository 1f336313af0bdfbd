//! The YAML header: read or refused, and every edit exact or refused.
//!
//! Input: a Markdown file, and behind the last NUL byte the choices for operations.

use serde_json::{Value, json};
use specdev_migrate::doc::yaml::{Entry, Frontmatter, Op, edit_value};

use crate::tape::Tape;
use crate::{in_time, keeps_lines};

pub fn check(data: &[u8]) {
    let (bytes, mut tape) = Tape::split(data);
    if tape.below(64) == 63 {
        in_time(b"---\na: b\n", tape.piece(bytes), b"\n---\n", |bytes| {
            if let Ok(header) = Frontmatter::parse(bytes) {
                let _ = header.edit(&[insert("zz", json!(1), "a")]);
            }
        });
        return;
    }
    let header = match Frontmatter::parse(bytes) {
        Ok(header) => header,
        Err(fault) => {
            assert!(fault.offset <= bytes.len() && !fault.message.is_empty(), "{fault:?}");
            return;
        }
    };
    let text = std::str::from_utf8(&bytes[header.range.clone()]).expect("a header is UTF-8");
    places(text, &header);
    // What follows the header does not matter.
    let alone = Frontmatter::parse(text.as_bytes()).expect("the header without a body");
    assert_eq!(alone.value(), header.value());
    let theirs = second_reading(text, &header);
    for entry in header.entries.iter().filter(|e| e.unsupported.is_none()) {
        same_strings(&entry.value, theirs.as_ref().and_then(|t| t.get(entry.key.as_str())));
    }
    assert!(header.edit(&[]).expect("no operations").is_empty());
    // One entry and one list of operations an input: more of them only make each input slower.
    if let Some(entry) = tape.pick(&header.entries) {
        for op in [
            replace(&entry.key, json!("new value")),
            replace(&entry.key, json!(["x", 7])),
            Op::Rename { key: entry.key.clone(), to: "zz".into() },
            Op::Remove { key: entry.key.clone() },
            insert("zz", json!("y"), &entry.key),
        ] {
            edited(bytes, &header, &[op]);
        }
    }
    let ops: Vec<Op> = (0..1 + tape.below(8)).map(|_| operation(&header, bytes, &mut tape)).collect();
    edited(bytes, &header, &ops);
}

/// Where things stand: in their order, one inside the other.
fn places(text: &str, header: &Frontmatter) {
    assert_eq!(header.range.start, 0);
    assert!(header.inner.end <= header.range.end && text[header.range.clone()].len() == header.range.end);
    let mut at = header.inner.start;
    for entry in &header.entries {
        assert!(at <= entry.lines.start && entry.lines.end <= header.inner.end, "{entry:?}");
        assert!(entry.lines.start <= entry.key_range.start, "{entry:?}");
        assert!(entry.key_range.end <= entry.value_range.start, "{entry:?}");
        assert!(entry.value_range.end <= entry.lines.end, "{entry:?}");
        assert_eq!(text[entry.value_range.clone()], entry.text);
        at = entry.lines.end;
    }
    let keys: Vec<&String> = header.value().as_object().expect("a mapping").keys().collect();
    assert_eq!(keys, header.entries.iter().map(|e| &e.key).collect::<Vec<_>>());
}

/// The other library's reading of the text as it stands, where it takes it.
fn second_reading(text: &str, header: &Frontmatter) -> Option<serde_yaml::Value> {
    let inner = &text[header.inner.clone()];
    // Line ends to that library, and characters here.
    let odd = inner.contains(['\u{85}', '\u{2028}', '\u{2029}', '*']) || bare_cr(inner);
    if odd { None } else { serde_yaml::from_str(inner).ok() }
}

fn bare_cr(text: &str) -> bool {
    text.bytes().filter(|b| *b == b'\r').count() != text.matches("\r\n").count()
}

/// What is a string to the other library is the same string here.
fn same_strings(ours: &Value, theirs: Option<&serde_yaml::Value>) {
    match (ours, theirs) {
        // Zeros before other digits: a number to the core schema, text to the other library.
        (Value::Number(_), Some(serde_yaml::Value::String(theirs))) if is_padded(theirs) => {}
        (_, Some(serde_yaml::Value::String(theirs))) => assert_eq!(ours.as_str(), Some(theirs.as_str())),
        (Value::Array(ours), Some(serde_yaml::Value::Sequence(theirs))) => {
            assert_eq!(ours.len(), theirs.len());
            ours.iter().zip(theirs).for_each(|(o, t)| same_strings(o, Some(t)));
        }
        (Value::Object(ours), Some(serde_yaml::Value::Mapping(theirs))) => {
            ours.iter().for_each(|(key, o)| same_strings(o, theirs.get(key.as_str())));
        }
        _ => {}
    }
}

fn is_padded(text: &str) -> bool {
    text.trim_start_matches(['-', '+']).starts_with('0')
}

fn edited(bytes: &[u8], header: &Frontmatter, ops: &[Op]) {
    let expected = edit_value(header.value(), ops);
    let Ok(edits) = header.edit(ops) else { return };
    let expected = expected.expect("an edit that the values refuse");
    let after = edits.apply(bytes);
    let result = Frontmatter::parse(&after).expect("an edited header");
    assert_eq!(result.value().to_string(), expected.to_string(), "{ops:?}");
    assert_eq!(bytes[header.range.end..], after[result.range.end..], "{ops:?}");
    let (old, new) = (string(bytes, header), string(&after, &result));
    let opener = |text: &str, h: &Frontmatter| text[..h.inner.start].to_owned();
    assert_eq!(opener(&old, header), opener(&new, &result));
    assert_eq!(old[header.inner.end..], new[result.inner.end..]);

    for entry in &header.entries {
        let of_entry: Vec<&Op> = ops.iter().filter(|op| names(op) == Some(&entry.key)).collect();
        assert!(entry.unsupported.is_none() || of_entry.is_empty(), "{entry:?} {ops:?}");
        match of_entry.as_slice() {
            [] => {
                let same = result.entry(&entry.key).expect("a key nobody named");
                assert_eq!(old[entry.lines.clone()], new[same.lines.clone()], "{ops:?}");
                assert_eq!(entry.value, same.value);
            }
            [Op::Replace { value, .. }] => replaced(&old, entry, &new, &result, value),
            [Op::Rename { to, .. }] => {
                let same = result.entry(to).expect("the new key");
                let rest = |text: &str, e: &Entry| text[e.key_range.end..e.lines.end].to_owned();
                assert_eq!(rest(&old, entry), rest(&new, same), "{ops:?}");
            }
            _ => {}
        }
    }
    if !is_flow(&old, header) {
        let (old, new) = (free_lines(&old, header), free_lines(&new, &result));
        assert!(keeps_lines(&old, &new), "{ops:?}: {old:?} {new:?}");
    }
    // New strings are strings to older readers, too.
    let theirs = second_reading(&new, &result);
    for op in ops {
        if let Op::Insert { key, value, .. } | Op::Replace { key, value } = op
            && let Some(theirs) = theirs.as_ref().and_then(|t| t.get(key.as_str()))
            && result.entry(key).is_some_and(|e| header.entry(key).is_none_or(|old| old.value != e.value))
            && ops.iter().filter(|op| names(op) == Some(key)).count() < 2
        {
            still_strings(value, theirs);
        }
    }
}

/// Everything on the entry's lines but its value stays, where the value is one piece of one line.
fn replaced(old: &str, entry: &Entry, new: &str, result: &Frontmatter, value: &Value) {
    let same = result.entry(&entry.key).expect("a replaced key");
    assert_eq!(same.value, *value);
    let around = |text: &str, e: &Entry| {
        (text[e.lines.start..e.value_range.start].to_owned(), text[e.value_range.end..e.lines.end].to_owned())
    };
    if !entry.text.is_empty() && !entry.text.starts_with(['|', '>', '-']) {
        assert_eq!(around(old, entry), around(new, same));
    }
}

fn still_strings(value: &Value, theirs: &serde_yaml::Value) {
    match (value, theirs) {
        (Value::String(text), theirs) => assert_eq!(theirs.as_str(), Some(text.as_str())),
        (Value::Array(items), serde_yaml::Value::Sequence(theirs)) => {
            items.iter().zip(theirs).for_each(|(v, t)| still_strings(v, t));
        }
        _ => {}
    }
}

fn string(bytes: &[u8], header: &Frontmatter) -> String {
    String::from_utf8(bytes[header.range.clone()].to_vec()).expect("a header is UTF-8")
}

fn is_flow(text: &str, header: &Frontmatter) -> bool {
    header.entries.iter().any(|e| !text[e.lines.clone()].ends_with('\n'))
}

/// Lines of the header that belong to no entry.
fn free_lines<'t>(text: &'t str, header: &Frontmatter) -> Vec<&'t str> {
    let mut at = 0;
    let mut out = Vec::new();
    for line in text.split_inclusive('\n') {
        if !header.entries.iter().any(|e| e.lines.contains(&at)) {
            out.push(line);
        }
        at += line.len();
    }
    out
}

fn names(op: &Op) -> Option<&String> {
    match op {
        Op::Replace { key, .. }
        | Op::Rename { key, .. }
        | Op::Remove { key }
        | Op::RemoveItems { key, .. } => Some(key),
        Op::Insert { .. } => None,
    }
}

fn operation(header: &Frontmatter, bytes: &[u8], tape: &mut Tape) -> Op {
    let entry = tape.pick(&header.entries).expect("a header has entries");
    let key = entry.key.clone();
    match tape.below(5) {
        0 => Op::Replace { key, value: value(bytes, tape) },
        1 => Op::Rename { key, to: string_of(bytes, tape) },
        2 => Op::Remove { key },
        3 => {
            let items: Vec<String> = match &entry.value {
                Value::Array(items) => items.iter().filter_map(|i| Some(i.as_str()?.to_owned())).collect(),
                _ => vec!["x".into()],
            };
            let mask = tape.byte();
            let items = items.into_iter().enumerate().filter(|(i, _)| mask >> (i % 8) & 1 == 0);
            Op::RemoveItems { key, items: items.map(|(_, item)| item).collect() }
        }
        _ => Op::Insert { key: string_of(bytes, tape), value: value(bytes, tape), before: key },
    }
}

fn value(bytes: &[u8], tape: &mut Tape) -> Value {
    match tape.below(8) {
        0 => Value::Null,
        1 => tape
            .pick(&[json!(true), json!(false), json!(1e300), json!(-0.0), json!(0.1), json!({"a": 1})])
            .unwrap_or_default(),
        2 => json!(i64::from(tape.byte()) - 100),
        3 => json!(u64::MAX),
        4 => (0..tape.below(4)).map(|_| Value::from(string_of(bytes, tape))).collect(),
        5 => json!([[], ["a"], null]),
        _ => string_of(bytes, tape).into(),
    }
}

fn string_of(bytes: &[u8], tape: &mut Tape) -> String {
    const STRINGS: [&str; 24] = [
        "",
        "new",
        "a: b",
        "- a",
        "# a",
        "a #b",
        "'",
        "\"",
        "a\nb",
        "\u{2028}",
        "\u{feff}",
        "\t",
        " a",
        "a ",
        "no",
        "1_000",
        "0b1",
        "2026-08-01",
        "10:00",
        "~",
        "---",
        "...",
        "a, b]",
        "é😀",
    ];
    match tape.below(3) {
        0 => tape.text(bytes),
        _ => tape.pick(&STRINGS).unwrap_or_default().to_owned(),
    }
}

fn replace(key: &str, value: Value) -> Op {
    Op::Replace { key: key.into(), value }
}

fn insert(key: &str, value: Value, before: &str) -> Op {
    Op::Insert { key: key.into(), value, before: before.into() }
}
