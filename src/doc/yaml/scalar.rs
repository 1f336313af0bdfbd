//! Scalars: what a plain one means (YAML 1.2 core schema), and how a new one is written so that it means
//! what it should.

use serde_json::{Number, Value};

/// The value of a plain scalar.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let number = if is_integer(text) {
        integer(text, 10)
    } else if let Some(digits) = text.strip_prefix("0o") {
        integer(digits, 8).filter(|_| !digits.starts_with(['+', '-']))
    } else if let Some(digits) = text.strip_prefix("0x") {
        integer(digits, 16).filter(|_| !digits.starts_with(['+', '-']))
    } else if is_float(text) {
        text.parse().ok().and_then(Number::from_f64)
    } else {
        None
    };
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// How a string is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Plain where YAML reads it back as the same string, else double-quoted.
    Plain,
    /// Single-quoted where that is possible, else double-quoted.
    Single,
    /// Double-quoted with JSON's escapes.
    Double,
}

/// The text of a value: a scalar, or a list of values in flow style. `None` for mappings, and for
/// numbers that the core schema would not read back.
pub(super) fn render(value: &Value, style: Style, in_flow: bool) -> Option<String> {
    match value {
        Value::Null => Some("null".into()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()).filter(|t| resolve(t) == *value),
        Value::String(text) => Some(render_string(text, style, in_flow)),
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(|i| render(i, style, true)).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Value::Object(_) => None,
    }
}

/// The text of a string.
pub(super) fn render_string(text: &str, style: Style, in_flow: bool) -> String {
    match style {
        Style::Plain if may_be_plain(text, in_flow) => text.to_owned(),
        Style::Single if text.chars().all(is_plainly_printable) => format!("'{}'", text.replace('\'', "''")),
        _ => double_quoted(text),
    }
}

/// JSON's spelling, with everything YAML could not print, or older YAML takes for a line end, escaped.
fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_plainly_printable(c) => out.push(c),
            c => out.push_str(&format!("\\u{:04x}", c as u32)),
        }
    }
    out.push('"');
    out
}

fn may_be_plain(text: &str, in_flow: bool) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let second = text[first.len_utf8()..].chars().next();
    let starts_well = match first {
        '-' | '?' | ':' => second.is_some_and(|c| c != ' ' && !(in_flow && is_flow_indicator(c))),
        c => !",[]{}#&*!|>'\"%@`=<".contains(c),
    };
    starts_well
        && !text.starts_with(' ')
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("---")
        && !text.starts_with("...")
        && text.chars().all(is_plainly_printable)
        && !(in_flow && text.contains(is_flow_indicator))
        && resolve(text).is_string()
        && !has_older_meaning(text)
}

/// Whether YAML 1.1, which many readers still speak, takes a string of the core schema for something
/// else: a boolean, a time stamp, a number in another base or with underscores.
fn has_older_meaning(text: &str) -> bool {
    let word = ["yes", "no", "on", "off"].iter().any(|w| text.eq_ignore_ascii_case(w));
    let starts_like_number =
        text.trim_start_matches(['-', '+', '.']).starts_with(|c: char| c.is_ascii_digit());
    let number = |c: char| c.is_ascii_hexdigit() || "_:.+-TtZzxob ".contains(c);
    let special = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    word || special == ".inf" || special == ".nan" || (starts_like_number && text.chars().all(number))
}

fn is_flow_indicator(c: char) -> bool {
    matches!(c, ',' | '[' | ']' | '{' | '}')
}

fn is_plainly_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{A0}'..='\u{2027}' | '\u{202A}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}' | '\u{10000}'..)
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn integer(digits: &str, radix: u32) -> Option<Number> {
    let signed = i64::from_str_radix(digits, radix).ok().map(Number::from);
    signed.or_else(|| u64::from_str_radix(digits, radix).ok().map(Number::from))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
        }
        None => digits(mantissa) && !mantissa.is_empty(),
    };
    mantissa_ok && exponent.is_none_or(is_integer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("NULL", json!(null)),
            ("nULL", json!("nULL")),
            ("True", json!(true)),
            ("tRue", json!("tRue")),
            ("yes", json!("yes")),
            ("off", json!("off")),
            ("3", json!(3)),
            ("+3", json!(3)),
            ("-3", json!(-3)),
            ("018", json!(18)),
            ("0o5", json!(5)),
            ("0o8", json!("0o8")),
            ("0o-5", json!("0o-5")),
            ("0x1F", json!(31)),
            ("0b1", json!("0b1")),
            ("1_000", json!("1_000")),
            ("18446744073709551615", json!(18446744073709551615u64)),
            ("18446744073709551616", json!("18446744073709551616")),
            ("4.0", json!(4.0)),
            ("4.", json!(4.0)),
            (".5", json!(0.5)),
            (".", json!(".")),
            ("1e3", json!(1000.0)),
            ("1e", json!("1e")),
            ("1e999", json!("1e999")),
            (".inf", json!(".inf")),
            (".nan", json!(".nan")),
            ("inf", json!("inf")),
            ("2026-03-16", json!("2026-03-16")),
            ("10:00", json!("10:00")),
        ] {
            assert_eq!(resolve(text), value, "{text:?}");
        }
    }

    #[test]
    fn new_strings_are_quoted_where_yaml_would_read_them_differently() {
        for (text, block, flow) in [
            ("codex:/root", "codex:/root", "codex:/root"),
            ("session:3f2a-11", "session:3f2a-11", "session:3f2a-11"),
            ("lead-directed", "lead-directed", "lead-directed"),
            ("2026-08-01-login", "2026-08-01-login", "2026-08-01-login"),
            ("a b", "a b", "a b"),
            ("é", "é", "é"),
            ("-x", "-x", "-x"),
            ("a, b", "a, b", "\"a, b\""),
            ("a]", "a]", "\"a]\""),
            ("a: b", "\"a: b\"", "\"a: b\""),
            ("a:", "\"a:\"", "\"a:\""),
            ("a #b", "\"a #b\"", "\"a #b\""),
            ("#x", "\"#x\"", "\"#x\""),
            ("- x", "\"- x\"", "\"- x\""),
            ("-", "\"-\"", "\"-\""),
            ("@x", "\"@x\"", "\"@x\""),
            ("`x", "\"`x\"", "\"`x\""),
            ("<<", "\"<<\"", "\"<<\""),
            ("---", "\"---\"", "\"---\""),
            ("", "\"\"", "\"\""),
            (" a", "\" a\"", "\" a\""),
            ("a ", "\"a \"", "\"a \""),
            ("true", "\"true\"", "\"true\""),
            ("null", "\"null\"", "\"null\""),
            ("3", "\"3\"", "\"3\""),
            ("0o5", "\"0o5\"", "\"0o5\""),
            ("No", "\"No\"", "\"No\""),
            ("2026-03-16", "\"2026-03-16\"", "\"2026-03-16\""),
            ("10:00", "\"10:00\"", "\"10:00\""),
            ("a\nb\t\"\\", "\"a\\nb\\t\\\"\\\\\"", "\"a\\nb\\t\\\"\\\\\""),
            ("a\u{7f}\u{2028}b", "\"a\\u007f\\u2028b\"", "\"a\\u007f\\u2028b\""),
        ] {
            assert_eq!(render_string(text, Style::Plain, false), block, "{text:?}");
            assert_eq!(render_string(text, Style::Plain, true), flow, "{text:?}");
        }
        assert_eq!(render_string("it's", Style::Single, false), "'it''s'");
        assert_eq!(render_string("a\nb", Style::Single, false), "\"a\\nb\"");
        assert_eq!(render_string("a", Style::Double, false), "\"a\"");
    }
}
