//! What every finding code and every step means, in words: `specdev-migrate explain` (contract.md §7).
//!
//! One source for all uses: `docs/findings.md` for the codes, the README beside a step for the step.
//! The table of the project's README and the terminal's text are made from them. Nothing here
//! refuses: an unknown name is answered by [`nearest`].

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::finding::{Code, Severity};
use crate::migrations;

/// A page that explains one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The code or the step.
    pub name: &'static str,
    /// Markdown, with one heading of level 1.
    pub text: String,
}

/// The page of a code or a step.
pub fn page(name: &str) -> Option<Page> {
    if let Some(code) = Code::parse(name) {
        let text = format!("# `{code}`\n{}", section(code));
        return Some(Page { name: code.as_str(), text });
    }
    let step = migrations::CHAIN.into_iter().find(|s| s.name == name)?;
    Some(Page { name: step.name, text: step.page.to_string() })
}

/// What a code means, in one sentence.
pub fn summary(code: Code) -> &'static str {
    section(code).trim_start().lines().next().unwrap_or_default()
}

/// All names that have a page: the codes in the order of the contract, then the steps.
pub fn names() -> Vec<&'static str> {
    let codes = Code::ALL.iter().map(|c| c.as_str());
    codes.chain(migrations::CHAIN.iter().map(|s| s.name)).collect()
}

/// The name that is most like this one, if any is at most three letters away.
pub fn nearest(name: &str) -> Option<&'static str> {
    nearest_of(name, names())
}

/// The same among other names.
pub fn nearest_of<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let by_distance = names.into_iter().map(|known| (distance(&name, known), known));
    // Of equals the first, in the order of `names`.
    by_distance.filter(|(d, _)| *d <= 3).min_by_key(|(d, _)| *d).map(|(_, known)| known)
}

/// The table of all codes for the README, in Markdown: blockers, errors, warnings, notes.
pub fn table() -> String {
    let mut out = String::from(
        "| code | severity | exit | what it means | what to do |\n| --- | --- | --- | --- | --- |\n",
    );
    for severity in [Severity::Blocker, Severity::Error, Severity::Warning, Severity::Note] {
        for code in Code::ALL.iter().filter(|c| c.severity() == severity) {
            let exit = if code.exit() == 0 { "–".to_string() } else { code.exit().to_string() };
            let cell = |text: &str| text.trim_end_matches('.').replace('|', "\\|");
            out += &format!(
                "| [`{code}`](docs/findings.md#{code}) | {} | {exit} | {} | {} |\n",
                severity.as_str(),
                cell(summary(*code)),
                cell(&action(*code)),
            );
        }
    }
    out
}

/// A page for a terminal of 80 columns: paragraphs filled, code indented. Escape codes only with `color`.
pub fn terminal(page: &Page, color: bool) -> String {
    let mut printer = Printer { color, ..Printer::default() };
    Parser::new(&page.text).for_each(|event| printer.event(event));
    printer.out
}

/// What to do, in one short sentence.
fn action(code: Code) -> String {
    let text = section(code).split_once("**What you do.**").map_or("", |(_, rest)| rest);
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => words,
    }
}

/// The text below a code's heading.
fn section(code: Code) -> &'static str {
    let heading = format!("\n## `{code}`\n");
    let rest = FINDINGS.split_once(heading.as_str()).map_or("", |(_, rest)| rest);
    rest.split("\n## `").next().unwrap_or_default()
}

/// How many letters must be added, removed or replaced to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Look {
    #[default]
    Plain,
    Strong,
    Code,
    Heading,
    Added,
    Removed,
}

impl Look {
    fn style(self) -> Style {
        match self {
            Look::Plain => Style::new(),
            Look::Code => AnsiColor::Cyan.on_default(),
            Look::Strong | Look::Heading => Style::new().bold(),
            Look::Added => AnsiColor::Green.on_default(),
            Look::Removed => AnsiColor::Red.on_default(),
        }
    }
}

/// Pieces between two spaces, which stay on one line.
type Word = Vec<(Look, String)>;

/// Turns Markdown events into lines.
#[derive(Default)]
struct Printer {
    out: String,
    color: bool,
    look: Look,
    /// The paragraph so far.
    words: Vec<Word>,
    /// Whether the next piece begins a word.
    is_apart: bool,
    /// Of every list around: the number of its next item, when it counts.
    lists: Vec<Option<u64>>,
    /// Whether no item of the innermost list is written yet.
    opens_list: bool,
    /// What stands before the first line of a list item.
    bullet: Option<String>,
    /// The info string of the code block at hand, and its text.
    block: Option<(String, String)>,
}

impl Printer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => match &mut self.block {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(code) if self.look == Look::Heading => self.piece(Look::Heading, &code),
            Event::Code(code) if self.color => self.piece(Look::Code, &code),
            Event::Code(code) => self.piece(self.look, &format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => self.is_apart = true,
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => self.look = Look::Heading,
            Tag::Strong => self.look = Look::Strong,
            Tag::Paragraph => self.flush(),
            Tag::CodeBlock(kind) => {
                self.flush();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.block = Some((info, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
                self.opens_list = true;
            }
            Tag::Item => {
                self.bullet = match self.lists.last_mut() {
                    Some(Some(n)) => {
                        *n += 1;
                        Some(format!("{}. ", *n - 1))
                    }
                    _ => Some("- ".to_string()),
                };
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let width = self.words.iter().map(|w| width(w) + 1).sum::<usize>().saturating_sub(1);
                self.flush();
                if !self.color {
                    let line = if level as usize == 1 { "=" } else { "-" };
                    self.out += &format!("{}\n", line.repeat(width));
                }
                self.look = Look::Plain;
            }
            TagEnd::Strong => self.look = Look::Plain,
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => self.code_block(),
            _ => {}
        }
    }

    /// Add text that may break at its spaces.
    fn text(&mut self, text: &str) {
        for (i, part) in text.split(' ').enumerate() {
            self.is_apart |= i > 0;
            if !part.is_empty() {
                self.piece(self.look, part);
            }
        }
    }

    /// Add text that stays on one line.
    fn piece(&mut self, look: Look, text: &str) {
        let piece = (look, text.to_string());
        match self.words.last_mut().filter(|_| !self.is_apart) {
            Some(word) => word.push(piece),
            None => self.words.push(vec![piece]),
        }
        self.is_apart = false;
    }

    /// Write the paragraph, if there is one.
    fn flush(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return;
        }
        let bullet = self.bullet.take();
        // The items of a list stand close together.
        if bullet.is_none() || self.opens_list {
            self.gap();
        }
        self.opens_list = false;
        let depth = 2 * self.lists.len();
        let first = match &bullet {
            Some(mark) => format!("{}{mark}", " ".repeat(depth.saturating_sub(2))),
            None => " ".repeat(depth),
        };
        let mut column = first.chars().count();
        self.out += &first;
        for (i, word) in words.iter().enumerate() {
            if i > 0 && column + 1 + width(word) > WIDTH {
                self.out += &format!("\n{}", " ".repeat(depth));
                column = depth;
            } else if i > 0 {
                self.out.push(' ');
                column += 1;
            }
            word.iter().for_each(|(look, text)| self.paint(*look, text));
            column += width(word);
        }
        self.out.push('\n');
        self.is_apart = false;
    }

    fn code_block(&mut self) {
        let Some((info, code)) = self.block.take() else { return };
        self.gap();
        for line in code.lines() {
            if line.is_empty() {
                self.out.push('\n');
                continue;
            }
            let look = match line.as_bytes()[0] {
                b'+' if info == "diff" => Look::Added,
                b'-' if info == "diff" => Look::Removed,
                _ => Look::Plain,
            };
            self.out += &" ".repeat(4 + 2 * self.lists.len());
            self.paint(look, line);
            self.out.push('\n');
        }
    }

    fn paint(&mut self, look: Look, text: &str) {
        if self.color && look != Look::Plain {
            let style = look.style();
            self.out += &format!("{style}{text}{style:#}");
        } else {
            self.out += text;
        }
    }

    /// One empty line between two blocks.
    fn gap(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }
}

fn width(word: &Word) -> usize {
    word.iter().map(|(_, text)| text.chars().count()).sum()
}

const WIDTH: usize = 80;
const FINDINGS: &str = include_str!("../docs/findings.md");
