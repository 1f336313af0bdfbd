//! The JSON document: read or refused, and every edit reads as the edited value.
//!
//! Input: a JSON text, and behind the last NUL byte the choices for operations.

use serde_json::{Map, Value, json};
use specdev_migrate::doc::json::{Document, Kind, MAX_DEPTH, Node, Op, edit_value};
use specdev_migrate::doc::pointer::Pointer;
use specdev_migrate::finding::Code;

use crate::in_time;
use crate::tape::Tape;

pub fn check(data: &[u8]) {
    let (bytes, mut tape) = Tape::split(data);
    if tape.below(64) == 63 {
        in_time(b"{\"a\": [", tape.piece(bytes), b"0]}", |bytes| {
            if let Ok(document) = Document::parse(bytes) {
                let _ = document.edit(&[Op::Remove { at: Pointer::new(["a"]) }]);
            }
        });
        return;
    }
    let theirs = serde_json::from_slice::<Value>(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes));
    let document = match Document::parse(bytes) {
        Ok(document) => document,
        Err(fault) => {
            assert!(fault.offset <= bytes.len() && !fault.message.is_empty(), "{fault:?}");
            let own = fault.code == Code::DuplicateKey || fault.message.contains("deeper");
            assert!(theirs.is_err() || own, "refused: {fault:?}");
            return;
        }
    };
    assert_eq!(theirs.expect("what is read is JSON").to_string(), document.value().to_string());
    assert_eq!(document.bytes(), bytes);
    places(&document, document.root());
    let compact = document.compact(document.root());
    let again: Value = serde_json::from_str(&compact).expect("a compact text");
    assert_eq!(again.to_string(), document.value().to_string());
    document.integers_spelled_as_floats().iter().for_each(|at| assert!(document.find(at).is_some()));
    assert!(document.edit(&[]).expect("no operations").is_empty());
    let mut found = vec![Pointer::new(["nowhere"]), Pointer::new(["0", "00"])];
    collect(document.value(), &Pointer::root(), &mut found);
    let ops: Vec<Op> = (0..1 + tape.below(8)).map(|_| operation(&found, bytes, &mut tape)).collect();
    edited(&document, &ops);
    // Most lists hold one that does not fit; without such they go further.
    let mut fit = Vec::new();
    for op in ops {
        fit.push(op);
        if edit_value(document.value(), &fit).is_err() {
            fit.pop();
        }
    }
    edited(&document, &fit);
}

fn places(document: &Document, node: &Node) {
    let inside = |outer: &Node, at: usize, inner: &Node| {
        assert!(at < inner.range.start && inner.range.end < outer.range.end);
        inner.range.end
    };
    match &node.kind {
        Kind::Array(items) => {
            let mut at = node.range.start;
            for item in items {
                at = inside(node, at, item);
                places(document, item);
            }
        }
        Kind::Object(members) => {
            let mut at = node.range.start;
            for member in members {
                assert!(at < member.key_range.start && member.key_range.end < member.value.range.start);
                at = inside(node, member.key_range.end, &member.value);
                places(document, &member.value);
            }
        }
        _ => assert!(serde_json::from_slice::<Value>(document.raw(node)).is_ok()),
    }
}

fn edited(document: &Document, ops: &[Op]) {
    let expected = edit_value(document.value(), ops);
    let edits = match document.edit(ops) {
        Ok(edits) => edits,
        Err(fault) => {
            let deep = expected.as_ref().is_ok_and(|v| depth(v) > MAX_DEPTH);
            assert!(expected.is_err() || deep, "an edit that fits the values is refused: {fault:?} {ops:?}");
            return;
        }
    };
    let expected = expected.expect("an edit that the values refuse");
    let after = edits.apply(document.bytes());
    let result = Document::parse(&after).expect("an edited text");
    assert_eq!(result.value().to_string(), expected.to_string(), "{ops:?}");
    untouched((document, document.root(), &Pointer::root()), (&result, result.root()), ops);
}

/// Whatever no operation speaks of keeps its bytes.
fn untouched(old: (&Document, &Node, &Pointer), new: (&Document, &Node), ops: &[Op]) {
    let ((before, from, at), (after, to)) = (old, new);
    let place = |op: &Op| match op {
        Op::Replace { at, .. } | Op::Rename { at, .. } | Op::Remove { at } => at.clone(),
        Op::Insert { into, .. } => into.clone(),
    };
    if ops.iter().any(|op| matches!(op, Op::Replace { .. }) && place(op) == *at) {
        return;
    }
    // A new key is no change of the value itself.
    let inside = |op: &Op| at.contains(&place(op)) && !(matches!(op, Op::Rename { .. }) && place(op) == *at);
    if !ops.iter().any(inside) {
        assert_eq!(before.raw(from), after.raw(to), "{at} {ops:?}");
        return;
    }
    let removed = |at: &Pointer| ops.iter().any(|op| matches!(op, Op::Remove { at: gone } if gone == at));
    match (&from.kind, &to.kind) {
        (Kind::Array(old), Kind::Array(new)) => {
            let kept = old.iter().enumerate().filter(|(i, _)| !removed(&at.join(i)));
            kept.zip(new).for_each(|((i, o), n)| untouched((before, o, &at.join(i)), (after, n), ops));
        }
        (Kind::Object(old), Kind::Object(_)) => {
            for member in old {
                let here = at.join(&member.key);
                if removed(&here) {
                    continue;
                }
                let key = ops.iter().find_map(|op| match op {
                    Op::Rename { at, key } if *at == here => Some(key),
                    _ => None,
                });
                let same =
                    to.member(key.map_or(&*member.key, |k| k.as_str())).expect("a member nobody removed");
                if key.is_none() {
                    let spelled = |d: &Document, r: &std::ops::Range<usize>| d.bytes()[r.clone()].to_vec();
                    assert_eq!(spelled(before, &member.key_range), spelled(after, &same.key_range));
                }
                untouched((before, &member.value, &here), (after, &same.value), ops);
            }
        }
        _ => {}
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn collect(value: &Value, at: &Pointer, found: &mut Vec<Pointer>) {
    if found.len() > 250 {
        return;
    }
    found.push(at.clone());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| collect(v, &at.join(i), found)),
        Value::Object(members) => members.iter().for_each(|(k, v)| collect(v, &at.join(k), found)),
        _ => {}
    }
}

fn operation(found: &[Pointer], bytes: &[u8], tape: &mut Tape) -> Op {
    let at = tape.pick(found).unwrap_or_default();
    match tape.below(4) {
        0 => Op::Replace { at, value: value(bytes, tape, 0) },
        1 => Op::Rename { at, key: key(found, bytes, tape) },
        2 => Op::Remove { at },
        _ => Op::Insert {
            into: at,
            key: key(found, bytes, tape),
            value: value(bytes, tape, 0),
            after: (0..tape.below(3)).map(|_| key(found, bytes, tape)).collect(),
        },
    }
}

fn key(found: &[Pointer], bytes: &[u8], tape: &mut Tape) -> String {
    match tape.below(3) {
        0 => tape.text(bytes),
        1 => tape.pick(found).and_then(|p| Some(p.split_last()?.1.into_owned())).unwrap_or_default(),
        _ => tape.pick(&["new", "x", "", "é😀", "\u{2028}\"\\", "a/b~"]).unwrap_or_default().to_owned(),
    }
}

fn value(bytes: &[u8], tape: &mut Tape, depth: usize) -> Value {
    match tape.below(if depth < 3 { 8 } else { 6 }) {
        0 => Value::Null,
        1 => json!(tape.byte() > 127),
        2 => json!(i64::from(tape.byte()) - 100),
        3 => tape
            .pick(&[json!(1e300), json!(-0.0), json!(0.1), json!(u64::MAX), json!([]), json!({})])
            .unwrap_or_default(),
        4 | 5 => tape.text(bytes).into(),
        6 => (0..tape.below(4)).map(|_| value(bytes, tape, depth + 1)).collect(),
        _ => {
            let members = (0..tape.below(4)).map(|_| (tape.text(bytes), value(bytes, tape, depth + 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}
