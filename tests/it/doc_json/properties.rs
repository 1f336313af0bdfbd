//! Properties over random values, layouts and operations.

use proptest::prelude::*;
use serde_json::{Map, Value};
use specdev_migrate::doc::edit::Edits;
use specdev_migrate::doc::json::{Document, Kind, Node, Op, edit_value};
use specdev_migrate::doc::pointer::Pointer;

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// The text road and the value road end at the same value, keys in the same order.
    #[test]
    fn edited_text_reads_as_edited_value(value in values(), layout in tape(), choices in tape()) {
        let text = scattered(&value, &mut Tape::new(&layout));
        let document = parse(&text);
        let ops = operations(document.value(), &mut Tape::new(&choices), Allowed::All);
        let result = document.edit(&ops).expect("operations that fit").apply(text.as_bytes());
        let expected = edit_value(document.value(), &ops).expect("operations that fit");
        let behind_mark = result.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&result);
        let read: Value = serde_json::from_slice(behind_mark).expect("a JSON text");
        prop_assert_eq!(read.to_string(), expected.to_string());
        prop_assert_eq!(result.starts_with(b"\xEF\xBB\xBF"), text.starts_with('\u{FEFF}'));
    }

    /// Whatever no operation speaks of keeps its bytes: keys, scalars, whole objects and arrays.
    #[test]
    fn untouched_values_keep_their_bytes(value in values(), layout in tape(), choices in tape()) {
        let text = scattered(&value, &mut Tape::new(&layout));
        let document = parse(&text);
        let ops = operations(document.value(), &mut Tape::new(&choices), Allowed::All);
        let result = document.edit(&ops).expect("operations that fit").apply(text.as_bytes());
        let edited = Document::parse(&result).expect("a JSON text");
        compare((&document, document.root(), &Pointer::root()), (&edited, edited.root()), &ops)?;
    }

    #[test]
    fn insertions_keep_every_old_byte(value in values(), layout in tape(), choices in tape()) {
        let text = scattered(&value, &mut Tape::new(&layout));
        let document = parse(&text);
        let ops = operations(document.value(), &mut Tape::new(&choices), Allowed::Insertions);
        let result = document.edit(&ops).expect("operations that fit").apply(text.as_bytes());
        prop_assert!(is_subsequence(text.as_bytes(), &result));
    }

    #[test]
    fn removals_add_no_byte(value in values(), layout in tape(), choices in tape()) {
        let text = scattered(&value, &mut Tape::new(&layout));
        let document = parse(&text);
        let ops = operations(document.value(), &mut Tape::new(&choices), Allowed::Removals);
        let result = document.edit(&ops).expect("operations that fit").apply(text.as_bytes());
        prop_assert!(is_subsequence(&result, text.as_bytes()));
    }

    /// A float read from one document and written into another is the same float.
    #[test]
    fn written_floats_read_back_exactly(n in any::<f64>().prop_filter("JSON has no infinity", |n| n.is_finite())) {
        let edits = parse("[0]").edit(&[Op::Replace { at: Pointer::new(["0"]), value: n.into() }]);
        let result = edits.expect("operations that fit").apply(b"[0]");
        prop_assert_eq!(parse(&String::from_utf8_lossy(&result)).value()[0].as_f64(), Some(n));
    }

    #[test]
    fn no_operations_are_no_edits(value in values(), layout in tape()) {
        let text = scattered(&value, &mut Tape::new(&layout));
        prop_assert_eq!(parse(&text).edit(&[]).expect("no operations"), Edits::new());
    }

    /// In a text that keeps one rule throughout, an edit keeps the rule as well: it gives the very
    /// bytes that printing the edited value by that rule would give.
    #[test]
    fn edits_keep_a_layout_without_exceptions(value in objects(), rule in rules(), choices in tape()) {
        let text = rule.print(&value);
        let document = parse(&text);
        // What becomes or was empty has a look of its own among lines; its cases are written out by hand.
        let allowed = if rule.unit.is_some() { Allowed::NothingEmpty } else { Allowed::All };
        let ops = operations(&value, &mut Tape::new(&choices), allowed);
        let result = document.edit(&ops).expect("operations that fit").apply(text.as_bytes());
        let expected = rule.print(&edit_value(&value, &ops).expect("operations that fit"));
        prop_assert_eq!(String::from_utf8(result).expect("UTF-8"), expected);
    }

    /// Any bytes are read or refused; nothing panics and every place is inside the file.
    #[test]
    fn damaged_text_is_read_or_refused(value in values(), layout in tape(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = scattered(&value, &mut Tape::new(&layout)).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        match Document::parse(&bytes) {
            Ok(document) => prop_assert_eq!(document.edit(&[]).expect("no operations").apply(&bytes), bytes),
            Err(fault) => prop_assert!(fault.offset <= bytes.len() && !fault.message.is_empty()),
        }
    }
}

// Values.

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![8 => objects(), 1 => arrays(), 1 => scalars()]
}

fn objects() -> impl Strategy<Value = Value> {
    members(nested(), 1..6)
}

fn arrays() -> impl Strategy<Value = Value> {
    prop::collection::vec(nested(), 0..4).prop_map(Value::from)
}

fn nested() -> impl Strategy<Value = Value> {
    scalars().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from), members(inner, 0..5)]
    })
}

fn members(
    values: impl Strategy<Value = Value>,
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = Value> {
    prop::collection::vec((prop::sample::select(KEYS), values), count).prop_map(|members| {
        Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
    })
}

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-9_i64..9).prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no infinity", |n| n.is_finite()).prop_map(Value::from),
        prop::sample::select(STRINGS).prop_map(Value::from),
    ]
}

const KEYS: &[&str] = &["a", "b", "c", "schema_version", "é", "a/b", "~", "", "\"", "x y", "\\", "😀", ",}"];
const STRINGS: &[&str] =
    &["", "main", "\",\"}", "{[", "café → é", "a\\b/c", "\n\t\u{1}", "😀", " ", "T-01: x"];

// Choices read from random bytes, so that a failing case shrinks with them.

fn tape() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..60)
}

struct Tape<'a>(std::iter::Cycle<std::slice::Iter<'a, u8>>);

impl<'a> Tape<'a> {
    fn new(bytes: &'a [u8]) -> Tape<'a> {
        Tape(bytes.iter().cycle())
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(*self.0.next().expect("an endless tape")) % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

// Layouts.

/// The value in a layout that changes from place to place.
fn scattered(value: &Value, tape: &mut Tape) -> String {
    let eol = tape.pick(&["\n", "\r\n"]);
    let mut out = String::from(tape.pick(&["", "", "\u{FEFF}"]));
    let habit = tape.below(4);
    let unit = tape.pick(&["  ", "\t", " ", "    ", "        ", ""]);
    scatter(value, &mut Scatter { tape, eol, habit, unit }, 0, &mut out);
    out.push_str(tape.pick(&["", "\n", "\r\n", " \n\n"]));
    out
}

struct Scatter<'a, 'b> {
    tape: &'a mut Tape<'b>,
    eol: &'static str,
    /// 0: any white space anywhere; 1: one line; otherwise lines with one-line values here and there.
    habit: usize,
    unit: &'static str,
}

impl Scatter<'_, '_> {
    fn space(&mut self, lines: Option<usize>) -> String {
        match (self.habit, lines) {
            (0, _) => {
                self.tape.pick(&["", " ", "  ", "\n", "\r\n", "\t", "\n\n  ", " \r\n\t", "\r"]).to_owned()
            }
            (_, Some(level)) => format!("{}{}", self.eol, self.unit.repeat(level)),
            _ => self.tape.pick(&["", " "]).to_owned(),
        }
    }
}

fn scatter(value: &Value, s: &mut Scatter, level: usize, out: &mut String) {
    let has_lines = s.habit > 1 && s.tape.below(4) > 0;
    let inside = has_lines.then_some(level + 1);
    let odd = |s: &mut Scatter| if s.tape.below(5) == 0 { s.space(None) } else { String::new() };
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                out.push_str(&s.space(inside));
                scatter(item, s, level + 1, out);
                out.push_str(&odd(s));
            }
            out.push_str(&s.space(has_lines.then_some(level)));
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (key, member)) in members.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                out.push_str(&s.space(inside));
                spell(key, s.tape, out);
                out.push_str(&odd(s));
                out.push(':');
                out.push_str(&s.space(None));
                scatter(member, s, level + 1, out);
                out.push_str(&odd(s));
            }
            out.push_str(&s.space(has_lines.then_some(level)));
            out.push('}');
        }
        Value::String(text) => spell(text, s.tape, out),
        Value::Number(n) if n.as_i64().is_some_and(|n| n.abs() < 9) => {
            out.push_str(&format!("{n}{}", s.tape.pick(&["", "", ".0", "e2", "E-1", ".50"])));
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn spell(text: &str, tape: &mut Tape, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match (c, tape.below(4)) {
            (_, 0) => c.encode_utf16(&mut [0; 2]).iter().for_each(|u| out.push_str(&format!("\\u{u:04x}"))),
            ('/', 1) => out.push_str("\\/"),
            _ => {
                let quoted = Value::from(c.to_string()).to_string();
                out.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
    }
    out.push('"');
}

/// One rule for a whole text.
#[derive(Debug, Clone)]
struct Rule {
    unit: Option<&'static str>,
    eol: &'static str,
    colon: &'static str,
    comma: &'static str,
    pad: &'static str,
}

fn rules() -> impl Strategy<Value = Rule> {
    let lines = |unit, eol, colon| Rule { unit: Some(unit), eol, colon, comma: "", pad: "" };
    let units = prop::sample::select(&["", " ", "  ", "    ", "\t"][..]);
    let lines =
        (units, prop::sample::select(&["\n", "\r\n"][..]), prop::sample::select(&[":", ": ", " : "][..]))
            .prop_map(move |(unit, eol, colon)| lines(unit, eol, colon));
    let line = |colon, comma, pad| Rule { unit: None, eol: "", colon, comma, pad };
    prop_oneof![3 => lines, 1 => Just(line(":", "", "")), 1 => Just(line(": ", " ", "")), 1 => Just(line(": ", " ", " "))]
}

impl Rule {
    fn print(&self, value: &Value) -> String {
        self.at(value, 0)
    }

    fn at(&self, value: &Value, level: usize) -> String {
        let line = |level| self.unit.map(|unit| format!("{}{}", self.eol, unit.repeat(level)));
        let (parts, open, close, pad): (Vec<String>, _, _, _) = match value {
            Value::Array(items) if !items.is_empty() => {
                (items.iter().map(|v| self.at(v, level + 1)).collect(), '[', ']', "")
            }
            Value::Object(members) if !members.is_empty() => {
                let member = |(k, v): (&String, &Value)| {
                    format!("{}{}{}", Value::from(k.as_str()), self.colon, self.at(v, level + 1))
                };
                (members.iter().map(member).collect(), '{', '}', self.pad)
            }
            short => return short.to_string(),
        };
        let inner = line(level + 1).unwrap_or(pad.to_owned());
        let between = line(level + 1).unwrap_or(self.comma.to_owned());
        let outer = line(level).unwrap_or(pad.to_owned());
        format!("{open}{inner}{}{outer}{close}", parts.join(&format!(",{between}")))
    }
}

// Operations.

#[derive(Clone, Copy, PartialEq)]
enum Allowed {
    All,
    /// Nothing is inserted into what is empty, and the first part of everything stays.
    NothingEmpty,
    Insertions,
    Removals,
}

/// Up to ten operations that fit the value and each other.
fn operations(value: &Value, tape: &mut Tape, allowed: Allowed) -> Vec<Op> {
    let mut places = Vec::new();
    collect(value, &Pointer::root(), &mut places);
    let mut ops = Vec::new();
    for _ in 0..tape.below(20) {
        let (at, is_first, is_empty) = places[tape.below(places.len())].clone();
        let kind = match allowed {
            Allowed::Insertions => 3,
            Allowed::Removals => 2,
            _ => tape.below(4),
        };
        let op = match kind {
            0 => Op::Replace { at, value: new_value(tape) },
            1 => Op::Rename { at, key: tape.pick(KEYS).to_owned() },
            2 if allowed == Allowed::NothingEmpty && is_first => continue,
            2 => Op::Remove { at },
            _ if allowed == Allowed::NothingEmpty && is_empty => continue,
            _ => Op::Insert {
                into: at,
                key: tape.pick(&["new", "x", "neu é", "a", "b"]).to_owned(),
                value: new_value(tape),
                after: (0..tape.below(3)).map(|_| tape.pick(KEYS).to_owned()).collect(),
            },
        };
        ops.push(op);
        if edit_value(value, &ops).is_err() {
            ops.pop();
        }
    }
    ops
}

/// Every place in the value, whether it is the first in what it stands in, and whether it is empty.
fn collect(value: &Value, at: &Pointer, places: &mut Vec<(Pointer, bool, bool)>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        Value::Object(members) => members.iter().map(|(k, v)| (k.clone(), v)).collect(),
        _ => Vec::new(),
    };
    if places.is_empty() {
        places.push((at.clone(), true, children.is_empty()));
    }
    for (i, (token, child)) in children.into_iter().enumerate() {
        let is_empty = matches!(child, Value::Object(members) if members.is_empty());
        places.push((at.join(&token), i == 0, is_empty));
        collect(child, &at.join(&token), places);
    }
}

fn new_value(tape: &mut Tape) -> Value {
    match tape.below(6) {
        0 => serde_json::json!({"k": [1, {"deep": null}], "e": {}, "é": 0.1}),
        1 => serde_json::json!([["x"], [], {"q": "\"é"}]),
        2 => serde_json::json!([]),
        3 => Value::from(tape.below(100)),
        4 => Value::from(tape.pick(STRINGS)),
        _ => serde_json::json!(["one", "two"]),
    }
}

// What an edit must leave alone.

fn parse(text: &str) -> Document {
    Document::parse(text.as_bytes()).expect("a JSON text")
}

fn is_subsequence(part: &[u8], whole: &[u8]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|b| whole.any(|w| w == b))
}

/// Every old value that no operation concerns has its bytes in the new text, and its key as well.
fn compare(
    (old, node, at): (&Document, &Node, &Pointer),
    (new, found): (&Document, &Node),
    ops: &[Op],
) -> Result<(), TestCaseError> {
    let concerns = |op: &&Op| match op {
        Op::Replace { .. } | Op::Insert { .. } => at.contains(pointer_of(op)),
        Op::Rename { .. } | Op::Remove { .. } => at.contains(pointer_of(op)) && at != pointer_of(op),
    };
    if !ops.iter().any(|op| concerns(&op)) {
        prop_assert_eq!(old.raw(node), new.raw(found), "{}", at);
        return Ok(());
    }
    let is_removed = |at: &Pointer| ops.iter().any(|op| matches!(op, Op::Remove { at: a } if a == at));
    let new_key = |at: &Pointer| {
        ops.iter().find_map(|op| match op {
            Op::Rename { at: a, key } if a == at => Some(key.as_str()),
            _ => None,
        })
    };
    if ops.iter().any(|op| matches!(op, Op::Replace { at: a, .. } if a == at)) {
        return Ok(());
    }
    match (&node.kind, &found.kind) {
        (Kind::Array(items), Kind::Array(kept)) => {
            let items = items.iter().enumerate().map(|(i, item)| (at.join(i), item));
            let items: Vec<_> = items.filter(|(at, _)| !is_removed(at)).collect();
            prop_assert_eq!(items.len(), kept.len());
            for ((at, item), found) in items.iter().zip(kept) {
                compare((old, item, at), (new, found), ops)?;
            }
        }
        (Kind::Object(members), Kind::Object(_)) => {
            for member in members {
                let at = at.join(&member.key);
                if is_removed(&at) {
                    continue;
                }
                let Some(kept) = found.member(new_key(&at).unwrap_or(&member.key)) else {
                    return Err(TestCaseError::fail(format!("{at} is missing")));
                };
                if new_key(&at).is_none() {
                    let (before, after) = (member.key_range.clone(), kept.key_range.clone());
                    prop_assert_eq!(&old.bytes()[before], &new.bytes()[after]);
                }
                compare((old, &member.value, &at), (new, &kept.value), ops)?;
            }
        }
        _ => return Err(TestCaseError::fail(format!("{at} is of another kind"))),
    }
    Ok(())
}

fn pointer_of(op: &Op) -> &Pointer {
    match op {
        Op::Replace { at, .. } | Op::Rename { at, .. } | Op::Remove { at } | Op::Insert { into: at, .. } => {
            at
        }
    }
}
