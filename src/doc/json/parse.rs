//! What is not strict JSON, by the name of the construct.

use std::collections::HashMap;

use jsonc_parser::ast;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};
use serde_json::Value;

use super::MAX_DEPTH;
use crate::doc::pointer::Pointer;
use crate::doc::{BOM, Fault, position};
use crate::finding::Code;

/// Why a text that the strict reader refuses is refused.
pub(super) fn fault(bytes: &[u8]) -> Fault {
    let reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(fault) => return fault,
    };
    // With fewer brackets than may be nested nothing is nested too deep.
    if reader.brackets() > MAX_DEPTH
        && let Err(fault) = reader.check_characters()
    {
        return fault;
    }
    // What it finds is named better than by the parsers, which refuse it as well.
    let named = reader.parse().err().map(|fault| reader.check_characters().err().unwrap_or(fault));
    // Both parsers take the text, so it is the strict reader that errs; a text that is read in two ways is
    // not edited.
    named.unwrap_or_else(|| reader.invalid(0, "two readings of the text differ"))
}

struct Reader<'a> {
    bytes: &'a [u8],
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
        let reader = Reader { bytes, text, base };
        match text.trim_matches([' ', '\t', '\n', '\r']) {
            "" if text.is_empty() => Err(reader.invalid(0, "empty file")),
            "" => Err(reader.invalid(0, "empty file (nothing but white space)")),
            _ => Ok(reader),
        }
    }

    fn parse(&self) -> Result<(), Fault> {
        let ast =
            parse_to_ast(self.text, &CollectOptions::default(), &STRICT).map_err(|e| self.syntax(&e))?;
        let ast = ast.value.ok_or_else(|| self.invalid(0, "empty file"))?;
        self.check_keys(&ast)?;
        serde_json::from_str::<Value>(self.text).map_err(|e| self.grammar(&e))?;
        Ok(())
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

    /// No object has a key twice, or one without quotes.
    fn check_keys(&self, value: &ast::Value) -> Result<(), Fault> {
        match value {
            ast::Value::Array(array) => {
                let mut items = array.elements.iter().enumerate();
                items.try_for_each(|(i, item)| self.check_keys(item).map_err(|f| below(i, f)))
            }
            ast::Value::Object(object) => self.check_members(object),
            _ => Ok(()),
        }
    }

    fn check_members(&self, object: &ast::Object) -> Result<(), Fault> {
        let mut seen = HashMap::new();
        for property in &object.properties {
            let (range, key) = match &property.name {
                ast::ObjectPropName::String(s) => (s.range, s.value.as_ref()),
                ast::ObjectPropName::Word(w) => {
                    return Err(self.invalid(w.range.start, format!("key `{}` without quotes", w.value)));
                }
            };
            let start = self.base + range.start;
            if let Some(first) = seen.insert(key, start) {
                return Err(below(key, self.duplicate(key, first, start)));
            }
            self.check_keys(&property.value).map_err(|f| below(key, f))?;
        }
        Ok(())
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

/// Every leniency of the library switched off.
pub(super) const STRICT: ParseOptions = ParseOptions {
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
