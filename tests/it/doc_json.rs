//! The lossless JSON document: what it refuses, and the bytes its edits leave.

mod edits;
mod properties;
mod reading;

use serde_json::Value;
use specdev_migrate::doc::json::{Document, Op};
use specdev_migrate::doc::pointer::Pointer;

fn pointer(text: &str) -> Pointer {
    Pointer::parse(text).expect("a JSON Pointer")
}

fn replace(at: &str, value: impl Into<Value>) -> Op {
    Op::Replace { at: pointer(at), value: value.into() }
}

fn rename(at: &str, key: &str) -> Op {
    Op::Rename { at: pointer(at), key: key.into() }
}

fn remove(at: &str) -> Op {
    Op::Remove { at: pointer(at) }
}

fn insert(into: &str, key: &str, value: impl Into<Value>, after: &[&str]) -> Op {
    let after = after.iter().map(|k| k.to_string()).collect();
    Op::Insert { into: pointer(into), key: key.into(), value: value.into(), after }
}

/// The text after the operations; the document itself checks the other road.
#[track_caller]
fn edited(text: &str, ops: &[Op]) -> String {
    let document = Document::parse(text.as_bytes()).expect("a JSON text");
    let edits = document.edit(ops).expect("operations that fit");
    String::from_utf8(edits.apply(text.as_bytes())).expect("UTF-8")
}

#[track_caller]
fn check(before: &str, ops: &[Op], after: &str) {
    assert_eq!(edited(before, ops), after);
}
