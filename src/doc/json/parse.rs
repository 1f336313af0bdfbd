//! Reading: what is not strict JSON is refused by the name of the construct.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jsonc_parser::ast;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};
use serde_json::{Number, Value};

use super::{Kind, Member, Node};
use crate::doc::pointer::Pointer;
use crate::doc::{BOM, Fault, position};
use crate::finding::Code;

/// How deep arrays and objects may be nested. Checked before anything recurses, so that a hostile file
/// is refused instead of ending the process; the value reader has the same limit.
pub const MAX_DEPTH: usize = 127;

/// The span tree and the value of a whole file.
pub(super) fn read(bytes: &[u8]) -> Result<(Node, Value), Fault> {
    let mut reader = Reader::new(bytes)?;
    // With fewer brackets than may be nested nothing is nested too deep.
    if reader.brackets() > MAX_DEPTH {
        reader.check_characters()?;
    }
    // What it finds is named better than by the parsers, which refuse it as well.
    reader.parse().map_err(|fault| reader.check_characters().err().unwrap_or(fault))
}

/// The value of a text that was read before.
pub(super) fn value(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes.strip_prefix(BOM).unwrap_or(bytes)).ok()
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// The keys met so far: most stand in many objects.
    keys: HashSet<Arc<str>>,
    /// The text behind the byte order mark.
    text: &'a str,
    /// Where `text` begins.
    base: usize,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Result<Reader<'a>, Fault> {
        // UTF-16 without a mark shows by the zero byte beside its first character.
        if let [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, 1..=255, ..] | [1..=255, 0, ..] = bytes {
            return Err(Fault::new(Code::InvalidUtf8, 0, "the text is UTF-16, not UTF-8"));
        }
        let base = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let text = std::str::from_utf8(&bytes[base..])
            .map_err(|e| Fault::new(Code::InvalidUtf8, base + e.valid_up_to(), "bytes that are not UTF-8"))?;
        let reader = Reader { bytes, text, base, keys: HashSet::new() };
        match text.trim_matches([' ', '\t', '\n', '\r']) {
            "" if text.is_empty() => Err(reader.invalid(0, "empty file")),
            "" => Err(reader.invalid(0, "empty file (nothing but white space)")),
            _ => Ok(reader),
        }
    }

    fn parse(&mut self) -> Result<(Node, Value), Fault> {
        let ast =
            parse_to_ast(self.text, &CollectOptions::default(), &STRICT).map_err(|e| self.syntax(&e))?;
        let ast = ast.value.ok_or_else(|| self.invalid(0, "empty file"))?;
        let node = self.node(&ast)?;
        let value = serde_json::from_str(self.text).map_err(|e| self.grammar(&e))?;
        if !agrees(&ast, &value) {
            return Err(self.invalid(0, "two readings of the text differ"));
        }
        Ok((node, value))
    }

    fn brackets(&self) -> usize {
        memchr::memchr2_iter(b'{', b'[', self.text.as_bytes()).count()
    }

    fn invalid(&self, offset: usize, message: impl Into<String>) -> Fault {
        Fault::new(Code::InvalidJson, self.base + offset, message)
    }

    /// Nesting, and the characters no JSON text has where they stand: the span parser takes some of
    /// them, and the value parser cannot say where exactly they are.
    fn check_characters(&self) -> Result<(), Fault> {
        let mut depth = 0_usize;
        let mut in_string = false;
        let mut chars = self.text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => in_string = !in_string,
                '\\' if in_string => {
                    chars.next();
                }
                '\n' | '\r' if in_string => return Err(self.invalid(at, "line break inside a string")),
                c if in_string && c < ' ' => {
                    let message = format!("unescaped control character U+{:04X} in a string", c as u32);
                    return Err(self.invalid(at, message));
                }
                _ if in_string => {}
                '{' | '[' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        let message = format!("arrays and objects nested deeper than {MAX_DEPTH} levels");
                        return Err(self.invalid(at, message));
                    }
                }
                '}' | ']' => depth = depth.saturating_sub(1),
                // Strings end in another way from here on, or none are meant; the span parser stops here.
                '/' | '\'' | '#' => return Ok(()),
                ' ' | '\t' | '\n' | '\r' => {}
                c if c.is_ascii() && !c.is_ascii_control() => {}
                c => return Err(self.invalid(at, misplaced(c))),
            }
        }
        Ok(())
    }

    fn node(&mut self, value: &ast::Value) -> Result<Node, Fault> {
        let (range, kind) = match value {
            ast::Value::NullKeyword(n) => (n.range, Kind::Null),
            ast::Value::BooleanLit(b) => (b.range, Kind::Bool(b.value)),
            ast::Value::NumberLit(n) => (n.range, Kind::Number),
            ast::Value::StringLit(s) => (s.range, Kind::String),
            ast::Value::Array(array) => {
                let items = array.elements.iter().enumerate();
                let items = items.map(|(i, item)| self.node(item).map_err(|f| below(i, f)));
                (array.range, Kind::Array(items.collect::<Result<_, _>>()?))
            }
            ast::Value::Object(object) => (object.range, Kind::Object(self.members(object)?)),
        };
        Ok(Node { range: self.base + range.start..self.base + range.end, kind })
    }

    fn members(&mut self, object: &ast::Object) -> Result<Box<[Member]>, Fault> {
        let mut members: Vec<Member> = Vec::with_capacity(object.properties.len());
        // Few keys are compared faster than they are hashed.
        let mut seen = HashMap::new();
        let is_large = object.properties.len() > 16;
        for property in &object.properties {
            let (range, key) = match &property.name {
                ast::ObjectPropName::String(s) => (s.range, s.value.as_ref()),
                ast::ObjectPropName::Word(w) => {
                    return Err(self.invalid(w.range.start, format!("key `{}` without quotes", w.value)));
                }
            };
            let key_range = self.base + range.start..self.base + range.end;
            let first = match is_large {
                true => seen.insert(key, key_range.start),
                false => members.iter().find(|m| *m.key == *key).map(|m| m.key_range.start),
            };
            if let Some(first) = first {
                return Err(below(key, self.duplicate(key, first, key_range.start)));
            }
            let value = self.node(&property.value).map_err(|f| below(key, f))?;
            members.push(Member { key: self.key(key), key_range, value });
        }
        Ok(members.into())
    }

    fn key(&mut self, key: &str) -> Arc<str> {
        if let Some(known) = self.keys.get(key) {
            return Arc::clone(known);
        }
        let new: Arc<str> = key.into();
        self.keys.insert(Arc::clone(&new));
        new
    }

    fn duplicate(&self, key: &str, first: usize, second: usize) -> Fault {
        let ((line, column), (l, c)) = (position(self.bytes, first), position(self.bytes, second));
        let message =
            format!("key {} stands twice in one object, at {line}:{column} and at {l}:{c}", Value::from(key));
        Fault { pointer: Some(String::new()), ..Fault::new(Code::DuplicateKey, second, message) }
    }

    /// The construct the span parser stopped at.
    fn syntax(&self, error: &ParseError) -> Fault {
        use ParseErrorKind as E;
        let start = error.range().start;
        let rest = &self.text[start..];
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || "_$-".contains(*c)).collect();
        let message = match error.kind() {
            E::CommentsNotAllowed | E::UnterminatedCommentBlock => "comment".to_owned(),
            E::TrailingCommasNotAllowed => "trailing comma".to_owned(),
            E::SingleQuotedStringsNotAllowed => "single quotes around a string".to_owned(),
            E::ExpectedStringObjectProperty => format!("key `{word}` without quotes"),
            E::HexadecimalNumbersNotAllowed => "hexadecimal number".to_owned(),
            E::UnaryPlusNumbersNotAllowed => "plus sign before a number".to_owned(),
            E::BareDecimalPointNumbersNotAllowed => "number without digits around its point".to_owned(),
            E::NonFiniteNumbersNotAllowed => format!("{word} is not a JSON number"),
            E::ExpectedComma if self.text[..start].ends_with('0') && rest.starts_with(char::is_numeric) => {
                "number with a leading zero".to_owned()
            }
            E::ExpectedComma => "missing comma".to_owned(),
            E::ExpectedColonAfterObjectKey => "missing colon after a key".to_owned(),
            E::ExpectedObjectValue => "missing value after a key".to_owned(),
            E::MultipleRootJsonValues => "text after the end of the value".to_owned(),
            E::UnterminatedObject => "object that is not closed".to_owned(),
            E::UnterminatedArray => "array that is not closed".to_owned(),
            E::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
                "string that is not closed".to_owned()
            }
            E::String(ParseStringErrorKind::InvalidUnicodeEscapeSequence(_)) => {
                "escape of half a surrogate pair".to_owned()
            }
            E::String(_) => "invalid escape in a string".to_owned(),
            E::ExpectedDigit
            | E::ExpectedDigitFollowingNegativeSign
            | E::ExpectedPlusMinusOrDigitInNumberLiteral => "number without digits".to_owned(),
            _ if rest.starts_with('#') => "comment (`#`)".to_owned(),
            _ if matches!(word.as_str(), "NaN" | "Infinity") => format!("{word} is not a JSON number"),
            _ if word.starts_with(char::is_alphabetic) => format!("{word} is not a JSON value"),
            _ => match rest.chars().next() {
                Some(c) => misplaced(c),
                None => "unexpected end of the text".to_owned(),
            },
        };
        self.invalid(start, message)
    }

    /// What only the value parser refuses.
    fn grammar(&self, error: &serde_json::Error) -> Fault {
        let line: usize =
            self.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let offset = (line + error.column().saturating_sub(1)).min(self.text.len());
        let message = error.to_string();
        self.invalid(offset, message.split(" at line ").next().unwrap_or_default())
    }
}

fn below(token: impl std::fmt::Display, fault: Fault) -> Fault {
    let pointer = fault.pointer.map(|rest| format!("{}{rest}", Pointer::root().join(token)));
    Fault { pointer, ..fault }
}

fn misplaced(c: char) -> String {
    match c {
        '\u{FEFF}' => "byte order mark in the middle of the text".to_owned(),
        c if c.is_whitespace() => format!("U+{:04X}, which is not white space in JSON", c as u32),
        c if c.is_control() => format!("control character U+{:04X}", c as u32),
        c => format!("unexpected character `{c}`"),
    }
}

fn agrees(spans: &ast::Value, value: &Value) -> bool {
    match (spans, value) {
        (ast::Value::NullKeyword(_), Value::Null) => true,
        (ast::Value::BooleanLit(a), Value::Bool(b)) => a.value == *b,
        (ast::Value::NumberLit(raw), Value::Number(n)) => {
            serde_json::from_str::<Number>(raw.value).is_ok_and(|raw| raw == *n)
        }
        (ast::Value::StringLit(a), Value::String(b)) => a.value == *b,
        (ast::Value::Array(a), Value::Array(b)) => {
            a.elements.len() == b.len() && a.elements.iter().zip(b).all(|(a, b)| agrees(a, b))
        }
        (ast::Value::Object(a), Value::Object(b)) => {
            a.properties.len() == b.len()
                && a.properties
                    .iter()
                    .zip(b)
                    .all(|(p, (key, b))| p.name.as_str() == key && agrees(&p.value, b))
        }
        _ => false,
    }
}

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};
