//! The second reading: another library parses the same text, and where the two see different structure
//! or different strings the header is refused.
//!
//! What may differ is only how a plain scalar resolves (`0b1`, `018`: the second library is older than
//! the core schema). Aliases are shown to it as plain words, so it never expands one.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_json::Value;

use super::node::{Kind, Node};
use super::tree::{self, not_yaml};
use super::{fault_at, gap};
use crate::doc::Fault;
use crate::finding::Code;

/// Refuse the header when the second library reads it differently from `root`.
pub(super) fn same_reading(header: &str, inner: Range<usize>, root: &Node) -> Result<(), Fault> {
    let stand_ins = StandIns::new(&header[inner.clone()]);
    let text = stand_ins.shield(&without_quirks(header, inner.clone(), root));
    let shape: Shape = serde_yaml::from_str(&text).map_err(|e| {
        let line = e.location().map_or(1, |l| l.line());
        let lines = header[inner.clone()].split_inclusive('\n').take(line.saturating_sub(1));
        let offset = inner.start + lines.map(str::len).sum::<usize>();
        // Its own line and column count from the start of the header.
        let info = e.to_string();
        not_yaml(header, inner.clone(), offset, info.split(" at line ").next().unwrap_or(&info))
    })?;
    match first_difference(root, &shape, &stand_ins) {
        None => Ok(()),
        Some(node) => {
            let what = "text that YAML libraries read differently";
            Err(fault_at(header.as_bytes(), Code::UnsupportedYaml, node.range.start, what))
        }
    }
}

/// The inner text with what the second library refuses or expands made harmless: the star of each alias
/// becomes a letter, and blanks in front of comments and on empty lines (tabs among them) go.
fn without_quirks(header: &str, inner: Range<usize>, root: &Node) -> String {
    let scalars = root.scalars();
    let mut out = String::with_capacity(inner.len());
    let mut at = inner.start;
    let mut next = 0;
    for line in header[inner].split_inclusive('\n') {
        while scalars.get(next).is_some_and(|s| s.tail <= at) {
            next += 1;
        }
        let inside = scalars.get(next).is_some_and(|s| s.range.start < at);
        if !inside && (gap::is_blank(line) || gap::is_comment(line)) {
            out.push_str(line.trim_start_matches([' ', '\t']));
        } else {
            let mut bytes_done = 0;
            for alias in scalars[next..].iter().take_while(|s| s.range.start < at + line.len()) {
                if matches!(alias.kind, Kind::Alias) && alias.range.start >= at {
                    let star = alias.range.start - at;
                    out.push_str(&line[bytes_done..star]);
                    out.push('a');
                    bytes_done = star + 1;
                }
            }
            out.push_str(&line[bytes_done..]);
        }
        at += line.len();
    }
    out
}

/// Characters that stand for those the second library takes for line ends.
struct StandIns([(char, char); 4]);

impl StandIns {
    fn new(text: &str) -> StandIns {
        let mut taken = text.to_owned();
        StandIns(['\r', '\u{85}', '\u{2028}', '\u{2029}'].map(|c| {
            let stand_in = tree::unused_char(&taken);
            taken.push(stand_in);
            (c, stand_in)
        }))
    }

    fn shield(&self, text: &str) -> String {
        let [(_, cr), others @ ..] = &self.0;
        let text = tree::shield_bare_cr(text, *cr);
        others.iter().fold(text, |text, (c, stand_in)| text.replace(*c, &stand_in.to_string()))
    }

    fn restore(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (c, stand_in)| text.replace(*stand_in, &c.to_string()))
    }
}

fn first_difference<'n>(node: &'n Node, shape: &Shape, stand_ins: &StandIns) -> Option<&'n Node> {
    let shape = match shape {
        Shape::Tagged(inner) if node.own_mark.is_some() => inner,
        shape => shape,
    };
    match (&node.kind, shape) {
        (Kind::Sequence { items, .. }, Shape::Sequence(theirs)) if items.len() == theirs.len() => {
            items.iter().zip(theirs).find_map(|(i, t)| first_difference(&i.node, t, stand_ins))
        }
        (Kind::Mapping { pairs, .. }, Shape::Mapping(theirs)) if pairs.len() == theirs.len() => {
            pairs.iter().zip(theirs).find_map(|(pair, (key, value))| {
                first_difference(&pair.key, key, stand_ins)
                    .or_else(|| first_difference(&pair.value, value, stand_ins))
            })
        }
        (Kind::Sequence { .. } | Kind::Mapping { .. }, _) => Some(node),
        (_, shape) => (!same_scalar(node, shape, stand_ins)).then_some(node),
    }
}

fn same_scalar(node: &Node, shape: &Shape, stand_ins: &StandIns) -> bool {
    if matches!(shape, Shape::Sequence(_) | Shape::Mapping(_) | Shape::Tagged(_)) {
        return false;
    }
    // A tag decides what a scalar is, an alias is only a word here.
    if matches!(node.kind, Kind::Alias) || node.own_mark.as_ref().is_some_and(|m| m.opaque) {
        return true;
    }
    if let Shape::String(text) = shape {
        return stand_ins.restore(text) == node.content;
    }
    if !matches!(node.kind, Kind::Plain | Kind::Empty) {
        return false;
    }
    match (super::scalar::resolve(&node.content), shape) {
        (Value::Null, Shape::Null) | (Value::String(_), Shape::Number(_)) => true,
        (Value::Bool(ours), Shape::Bool(theirs)) => ours == *theirs,
        (Value::Number(ours), Shape::Number(theirs)) => ours.as_f64() == Some(*theirs),
        _ => false,
    }
}

/// A value as the second library sees it, pairs in order and repeated keys kept.
enum Shape {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Sequence(Vec<Shape>),
    Mapping(Vec<(Shape, Shape)>),
    Tagged(Box<Shape>),
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

macro_rules! visit_number {
    ($($name:ident: $type:ty),+) => {
        $(fn $name<E>(self, value: $type) -> Result<Shape, E> {
            Ok(Shape::Number(value as f64))
        })+
    };
}

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    visit_number!(visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Shape, E> {
        Ok(Shape::Bool(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Shape, E> {
        Ok(Shape::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Shape, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Shape::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Shape, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = access.next_entry()? {
            pairs.push(pair);
        }
        Ok(Shape::Mapping(pairs))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Shape, A::Error> {
        let (_tag, content): (String, _) = access.variant()?;
        Ok(Shape::Tagged(Box::new(content.newtype_variant()?)))
    }
}
