//! The reader of strict JSON: spans in one pass, values from the spans.
//!
//! It takes exactly what RFC 8259 does, without repeated keys, and says of anything else only that it is
//! not that; `parse.rs` then names the construct with the help of the libraries. Strings with escapes and
//! numbers that are no short integers are the library's here too.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::{Kind, MAX_DEPTH, Member, Node};
use crate::doc::BOM;

/// The span tree of a whole file; `None` when it is not strict JSON.
pub(super) fn read(bytes: &[u8]) -> Option<Node> {
    let base = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    std::str::from_utf8(bytes).ok()?;
    let mut reader = Reader { bytes, at: base, depth: 0, keys: std::array::from_fn(|_| None) };
    let node = reader.value()?;
    reader.blanks();
    (reader.at == bytes.len()).then_some(node)
}

/// The value of a tree that was read from these bytes.
pub(super) fn value(bytes: &[u8], node: &Node) -> Option<Value> {
    Some(match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(b) => Value::Bool(*b),
        Kind::Number => Value::Number(number(&bytes[node.range.clone()])?),
        Kind::String => Value::String(string(&bytes[node.range.clone()])?),
        Kind::Array(items) => Value::Array(items.iter().map(|i| value(bytes, i)).collect::<Option<_>>()?),
        Kind::Object(members) => {
            let mut map = Map::with_capacity(members.len());
            for member in members {
                map.insert(member.key.to_string(), value(bytes, &member.value)?);
            }
            Value::Object(map)
        }
    })
}

/// What a string with its quotes says.
fn string(quoted: &[u8]) -> Option<String> {
    let inner = quoted.get(1..quoted.len().checked_sub(1)?)?;
    match memchr::memchr(b'\\', inner) {
        None => std::str::from_utf8(inner).ok().map(str::to_owned),
        Some(_) => serde_json::from_slice(quoted).ok(),
    }
}

fn number(raw: &[u8]) -> Option<Number> {
    let (is_negative, digits) = match raw {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // Few enough for any integer; minus zero is none.
    if digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) && raw != b"-0" {
        let absolute = digits.iter().fold(0_i64, |n, d| n * 10 + i64::from(d - b'0'));
        return Some(if is_negative { (-absolute).into() } else { absolute.into() });
    }
    serde_json::from_slice(raw).ok()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// Keys met before: most stand in many objects.
    keys: [Option<Arc<str>>; 64],
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// The character that must stand here.
    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    fn value(&mut self) -> Option<Node> {
        self.blanks();
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => Kind::Object(self.nested(b'}', Reader::members)?.into()),
            b'[' => Kind::Array(self.nested(b']', Reader::items)?.into()),
            b'"' => {
                self.string()?;
                Kind::String
            }
            b'n' => self.word(b"null", Kind::Null)?,
            b't' => self.word(b"true", Kind::Bool(true))?,
            b'f' => self.word(b"false", Kind::Bool(false))?,
            _ => {
                self.number()?;
                Kind::Number
            }
        };
        Some(Node { range: start..self.at, kind })
    }

    /// What stands between an opening bracket, which is next, and its closing one.
    fn nested<T>(&mut self, end: u8, read: fn(&mut Self) -> Option<Vec<T>>) -> Option<Vec<T>> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.blanks();
        let found = if self.peek()? == end { Vec::new() } else { read(self)? };
        self.expect(end)?;
        self.depth -= 1;
        Some(found)
    }

    fn items(&mut self) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        loop {
            items.push(self.value()?);
            self.blanks();
            if self.peek()? != b',' {
                return Some(items);
            }
            self.at += 1;
        }
    }

    fn members(&mut self) -> Option<Vec<Member>> {
        let mut members: Vec<Member> = Vec::new();
        // Few keys are compared faster than they are hashed.
        let mut seen = HashSet::new();
        loop {
            self.blanks();
            let start = self.at;
            let content = self.string()?;
            let key_range = start..self.at;
            let key = self.key(&key_range, content)?;
            let is_new = match members.len() {
                0..FEW => !members.iter().any(|m| *m.key == *key),
                FEW => {
                    seen.extend(members.iter().map(|m| Arc::clone(&m.key)));
                    seen.insert(Arc::clone(&key))
                }
                _ => seen.insert(Arc::clone(&key)),
            };
            if !is_new {
                return None;
            }
            self.blanks();
            self.expect(b':')?;
            let value = self.value()?;
            members.push(Member { key, key_range, value });
            self.blanks();
            if self.peek()? != b',' {
                return Some(members);
            }
            self.at += 1;
        }
    }

    /// A string; what stands between its quotes, when that is what it says.
    fn string(&mut self) -> Option<Option<Range<usize>>> {
        self.expect(b'"')?;
        let start = self.at;
        let mut has_escapes = false;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    has_escapes = true;
                    self.at += 2;
                }
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        let content = start..self.at;
        self.at += 1;
        if !has_escapes {
            return Some(Some(content));
        }
        string(self.bytes.get(start - 1..self.at)?)?;
        Some(None)
    }

    fn key(&mut self, quoted: &Range<usize>, content: Option<Range<usize>>) -> Option<Arc<str>> {
        let Some(content) = content else { return Some(string(&self.bytes[quoted.clone()])?.into()) };
        let key = &self.bytes[content];
        let mix = key.iter().fold(key.len(), |mix, b| mix.wrapping_mul(31).wrapping_add(usize::from(*b)));
        let slot = self.keys.get_mut(mix % 64)?;
        match slot {
            Some(known) if known.as_bytes() == key => Some(Arc::clone(known)),
            _ => Some(Arc::clone(slot.insert(std::str::from_utf8(key).ok()?.into()))),
        }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Option<Kind> {
        self.bytes[self.at..].starts_with(word).then(|| self.at += word.len())?;
        Some(kind)
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        if self.peek()? == b'-' {
            self.at += 1;
        }
        match self.peek()? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        // Not every number has room in a value.
        number(&self.bytes[start..self.at])?;
        Some(())
    }
}

/// Members up to which keys are compared one by one.
const FEW: usize = 24;

#[cfg(test)]
mod tests {
    use jsonc_parser::{CollectOptions, ast, parse_to_ast};
    use proptest::prelude::*;

    use super::*;
    use crate::doc::json::parse::STRICT;

    /// The tree as two libraries see it, when both take the text and agree.
    fn libraries(text: &str, base: usize) -> Option<(Node, Value)> {
        let value = serde_json::from_str(text).ok()?;
        let ast = parse_to_ast(text, &CollectOptions::default(), &STRICT).ok()?.value?;
        Some((node(&ast, base)?, value))
    }

    fn node(value: &ast::Value, base: usize) -> Option<Node> {
        let (range, kind) = match value {
            ast::Value::NullKeyword(n) => (n.range, Kind::Null),
            ast::Value::BooleanLit(b) => (b.range, Kind::Bool(b.value)),
            ast::Value::NumberLit(n) => (n.range, Kind::Number),
            ast::Value::StringLit(s) => (s.range, Kind::String),
            ast::Value::Array(array) => {
                let items: Option<Vec<Node>> = array.elements.iter().map(|item| node(item, base)).collect();
                (array.range, Kind::Array(items?.into()))
            }
            ast::Value::Object(object) => {
                let mut members: Vec<Member> = Vec::new();
                for property in &object.properties {
                    let ast::ObjectPropName::String(name) = &property.name else { return None };
                    let key_range = base + name.range.start..base + name.range.end;
                    if members.iter().any(|m| *m.key == *name.value) {
                        return None;
                    }
                    members.push(Member {
                        key: (*name.value).into(),
                        key_range,
                        value: node(&property.value, base)?,
                    });
                }
                (object.range, Kind::Object(members.into()))
            }
        };
        Some(Node { range: base + range.start..base + range.end, kind })
    }

    fn check(text: &str) -> Result<(), TestCaseError> {
        for (mark, base) in [("", 0), ("\u{feff}", 3)] {
            if mark.is_empty() && text.starts_with('\u{feff}') {
                continue;
            }
            let bytes = format!("{mark}{text}").into_bytes();
            let ours = read(&bytes).map(|node| {
                let value = value(&bytes, &node);
                (node, value)
            });
            let theirs = libraries(text, base).map(|(node, value)| (node, Some(value)));
            prop_assert_eq!(format!("{:?}", ours), format!("{:?}", theirs), "{}", text);
        }
        Ok(())
    }

    const SCALARS: &[&str] = &[
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-0.0",
        "12",
        "-12",
        "999999999999999999",
        "9999999999999999999",
        "-9223372036854775808",
        "-999999999999999999",
        "18446744073709551616",
        "1.0",
        "1.5e3",
        "1E+2",
        "0e-1",
        "1e400",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "\"é\"",
        "\"\\n\"",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\\/\"",
        "\"a b\"",
        "[]",
        "{}",
        "[ ]",
        "{ }",
    ];
    const WRONG: &[&str] = &[
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "nul",
        "True",
        "NaN",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"a\nb\"",
        "\"\t\"",
        "'a'",
        "\"a",
        "",
        ",",
        "]",
        "{",
        "//x",
        "\u{feff}",
        "\u{a0}",
        "0x1",
        "\"\u{0}\"",
        "\"\\u12\"",
        "1 2",
        "\"a\"\"b\"",
        "\"\u{7f}\"",
        "nullx",
    ];

    fn scalar() -> impl Strategy<Value = String> {
        prop_oneof![
            20 => proptest::sample::select(SCALARS).prop_map(str::to_owned),
            1 => proptest::sample::select(WRONG).prop_map(str::to_owned),
        ]
    }

    fn blank() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(&["", "", " ", "\n  ", "\r\n", "\t"][..])
    }

    fn texts() -> impl Strategy<Value = String> {
        scalar().prop_recursive(4, 40, 6, |inner| {
            let key =
                proptest::sample::select(&["a", "b", "c", "", "é", "a\\n", "\\u0061", "schema_version"][..]);
            let comma = prop_oneof![60 => Just(","), 1 => Just(""), 1 => Just(",,")];
            prop_oneof![
                (proptest::collection::vec((inner.clone(), blank()), 0..5), comma.clone()).prop_map(
                    |(items, comma)| {
                        let items: Vec<String> =
                            items.into_iter().map(|(item, blank)| format!("{blank}{item}{blank}")).collect();
                        format!("[{}]", items.join(comma))
                    }
                ),
                (proptest::collection::vec((key, inner, blank()), 0..5), comma, any::<bool>()).prop_map(
                    |(members, comma, distinct)| {
                        let member = |(i, (key, value, blank)): (usize, (&str, String, &str))| {
                            let i = if distinct { i.to_string() } else { String::new() };
                            format!("{blank}\"{key}{i}\"{blank}:{blank}{value}")
                        };
                        let members: Vec<String> = members.into_iter().enumerate().map(member).collect();
                        format!("{{{}}}", members.join(comma))
                    }
                ),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn strict_reading_is_that_of_the_libraries(text in texts(), before in blank(), after in blank()) {
            check(&format!("{before}{text}{after}"))?;
        }

        #[test]
        fn text_with_one_character_more_or_less(text in texts(), at in any::<proptest::sample::Index>(), put in any::<Option<char>>()) {
            let mut chars: Vec<char> = text.chars().collect();
            let at = at.index(chars.len() + 1);
            match put {
                Some(c) => chars.insert(at, c),
                None if at < chars.len() => drop(chars.remove(at)),
                None => {}
            }
            check(&chars.into_iter().collect::<String>())?;
        }
    }

    #[test]
    fn many_members_are_told_apart() {
        let object = |keys: usize, again: &str| {
            let members: Vec<String> = (0..keys).map(|k| format!("\"k{k}\": {k}")).collect();
            format!("{{{}{again}}}", members.join(", "))
        };
        for keys in [1, FEW - 1, FEW, FEW + 1, 200] {
            assert!(read(object(keys, "").as_bytes()).is_some(), "{keys}");
            for again in [0, keys - 1] {
                assert!(read(object(keys, &format!(", \"k{again}\": 0")).as_bytes()).is_none(), "{keys}");
                assert!(
                    read(object(keys, &format!(", \"\\u006b{again}\": 0")).as_bytes()).is_none(),
                    "{keys}"
                );
            }
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(nested(MAX_DEPTH).as_bytes()).is_some());
        assert!(read(nested(MAX_DEPTH + 1).as_bytes()).is_none());
    }
}
