//! Violations as text for a terminal and as workflow annotations. Pure.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::{Class, SourceLine, Violation};

/// How the text for people looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// Violations of class `legacy` count, too.
    pub strict: bool,
    /// With escape codes.
    pub color: bool,
    /// With the source line and carets below the offending value.
    pub carets: bool,
}

/// One block per violation and a line that counts them; empty when there is none.
pub fn human(violations: &[Violation], look: Look) -> String {
    let mut out = String::new();
    let counts = |v: &&Violation| look.strict || v.class == Class::Current;
    let (counted, left): (Vec<_>, Vec<_>) = violations.iter().partition(counts);
    for violation in counted.iter().chain(&left) {
        block(&mut out, violation, look);
    }
    if !violations.is_empty() {
        let summary = match (counted.len(), left.len()) {
            (n, 0) => format!("{n} {}", plural(n)),
            (0, m) => format!("no violation; {m} left by older templates (counted with --strict)"),
            (n, m) => format!("{n} {}; {m} more left by older templates (counted with --strict)", plural(n)),
        };
        let _ = writeln!(out, "{summary}");
    }
    out
}

/// Commands for GitHub's workflow log, one line per violation: errors where they count, else warnings.
pub fn github(violations: &[Violation], strict: bool) -> String {
    let mut out = String::new();
    for v in violations {
        let level = if strict || v.class == Class::Current { "error" } else { "warning" };
        let _ = write!(out, "::{level} file={}", property(&v.place.file));
        if let (Some(line), Some(column)) = (v.place.line, v.place.column) {
            let _ = write!(out, ",line={line},col={column}");
        }
        let text = format!("{}; {}", v.message, v.advice);
        let _ = writeln!(out, ",title={}::{}", property(v.rule), data(&text));
    }
    out
}

fn block(out: &mut String, v: &Violation, look: Look) {
    let counts = look.strict || v.class == Class::Current;
    let color = if counts { AnsiColor::Red } else { AnsiColor::Yellow };
    let (word, strong) = (painted(color.on_default().bold(), look), painted(Style::new().bold(), look));
    let dim = painted(AnsiColor::Blue.on_default(), look);
    let _ = writeln!(
        out,
        "{}{}",
        word(&format!("{}[{}]", v.class.as_str(), v.rule)),
        strong(&format!(": {}", clean(&v.message)))
    );
    let pointer = v.place.pointer.as_deref().filter(|p| !p.is_empty());
    let pointer = pointer.map(|p| format!(" ({p})")).unwrap_or_default();
    let place = clean(&format!("{}{pointer}", v.place));
    let _ = writeln!(out, "  {} {place}", dim("-->"));
    if let (true, Some(source), Some(line)) = (look.carets, &v.source_line, v.place.line) {
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let bar = dim("|");
        let _ = writeln!(out, "{} {bar} {}", dim(&number), source.text);
        let carets = word(&"^".repeat(width(source)));
        let _ = writeln!(out, "{margin} {bar} {}{carets}", indent(source));
    }
    let _ = writeln!(out, "  = {}\n", v.advice);
}

/// Names and texts come from the files; on a terminal they must not act.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "violation" } else { "violations" }
}

fn painted(style: Style, look: Look) -> impl Fn(&str) -> String {
    move |text| if look.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// Blanks as wide as what stands before the value; tabs stay.
fn indent(source: &SourceLine) -> String {
    let blank = |c: char| {
        if c == '\t' {
            "\t"
        } else if is_wide(c) {
            "  "
        } else {
            " "
        }
    };
    source.text.chars().take(source.before).map(blank).collect()
}

fn width(source: &SourceLine) -> usize {
    let inside = source.text.chars().skip(source.before).take(source.width);
    inside.map(|c| if is_wide(c) { 2 } else { 1 }).sum::<usize>().max(1)
}

/// Characters that fill two columns, as far as state files have them: CJK and emoji.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c),
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD)
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
