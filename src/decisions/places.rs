//! Where things stand in a decisions file, so that every fault can name line and column.
//!
//! The typed reading knows values, not places, and takes `123456789012` or `12e456789012` for a number
//! where a digest is meant. This walk over the event stream knows places, and puts quotes around such
//! texts before the typed reading sees them. Refused: a key that stands twice, and deep nesting.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use crate::doc::pointer::Pointer;

/// 1-based line and column of everything in the file, by pointer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Places {
    spots: BTreeMap<String, Spot>,
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    key: Place,
    value: Place,
    is_empty: bool,
    is_scalar: bool,
}

type Place = (usize, usize);

/// A fault with its place.
pub(super) struct Misplaced {
    pub(super) at: Place,
    pub(super) why: String,
}

/// The file with quotes around texts that would be read as numbers, and where everything stands.
pub(super) struct Scanned {
    pub(super) places: Places,
    pub(super) text: String,
    /// Where quotes were put, in places of the file as it is.
    quotes: Vec<Place>,
}

impl Places {
    /// The place of a value; of the nearest thing around it when it is not there.
    pub(super) fn of(&self, path: &[&str]) -> Place {
        for n in (0..=path.len()).rev() {
            let pointer = Pointer::new(path[..n].iter().copied()).to_string();
            if let Some(spot) = self.spots.get(&pointer) {
                // An empty value has no place of its own, and a whole mapping is known by its name.
                return if spot.is_scalar && !spot.is_empty { spot.value } else { spot.key };
            }
        }
        (1, 1)
    }

    /// Whether a key is there, but nothing behind it.
    pub(super) fn is_left_open(&self, path: &[&str]) -> bool {
        let pointer = Pointer::new(path.iter().copied()).to_string();
        self.spots.get(&pointer).is_some_and(|spot| spot.is_empty)
    }

    /// The tickets that are decided about, by change.
    pub(super) fn tickets(&self) -> Vec<(String, String)> {
        let named = self.spots.keys().filter_map(|pointer| {
            let pointer = Pointer::parse(pointer)?;
            let tokens: Vec<String> = pointer.tokens().map(Cow::into_owned).collect();
            match tokens.as_slice() {
                [a, change, b, ticket] if a == "changes" && b == "tickets" => {
                    Some((change.clone(), ticket.clone()))
                }
                _ => None,
            }
        });
        named.collect()
    }
}

impl Scanned {
    /// A place the typed reading names, in the file as it is.
    pub(super) fn place(&self, line: usize, column: usize) -> Place {
        let mut shift = 0;
        for (_, at) in self.quotes.iter().filter(|(l, _)| *l == line) {
            if column > at + shift {
                shift += 1;
            }
        }
        (line, column - shift)
    }
}

/// Walk through the file.
pub(super) fn scan(text: &str) -> Result<Scanned, Misplaced> {
    let offsets = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
    let mut walk = Walk {
        text,
        offsets,
        events: Parser::new_from_str(text),
        places: Places::default(),
        numbers: Vec::new(),
    };
    walk.document()?;
    let mut out = String::with_capacity(text.len());
    let mut quotes = Vec::new();
    let mut from = 0;
    for (start, end) in walk.numbers {
        out += &text[from..start];
        out += "'";
        out += &text[start..end];
        out += "'";
        quotes.extend([start, end].map(|at| crate::doc::position(text.as_bytes(), at)));
        from = end;
    }
    out += &text[from..];
    Ok(Scanned { places: walk.places, text: out, quotes })
}

struct Walk<'t> {
    text: &'t str,
    /// The byte offset of each character, and of the end.
    offsets: Vec<usize>,
    events: Parser<'t, StrInput<'t>>,
    places: Places,
    /// Plain texts that would be read as numbers, as bytes.
    numbers: Vec<(usize, usize)>,
}

impl<'t> Walk<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Misplaced> {
        match self.events.next() {
            Some(Ok(found)) => Ok(found),
            Some(Err(e)) => {
                let at = (e.marker().line(), e.marker().col() + 1);
                Err(Misplaced { at, why: e.info().to_string() })
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn document(&mut self) -> Result<(), Misplaced> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentStart(_), span) => {
                    let first = self.next()?;
                    self.node(first, &Pointer::root(), place(&span), 0)?;
                }
                _ => {}
            }
        }
    }

    fn node(
        &mut self,
        (event, span): (Event<'t>, Span),
        at: &Pointer,
        key: Place,
        depth: usize,
    ) -> Result<(), Misplaced> {
        let value = place(&span);
        if depth > MAX_DEPTH {
            return Err(Misplaced { at: value, why: format!("nested deeper than {MAX_DEPTH} levels") });
        }
        let mut is_empty = false;
        let is_scalar = matches!(event, Event::Scalar(..));
        match event {
            Event::Scalar(content, ScalarStyle::Plain, 0, None) => {
                is_empty = matches!(&*content, "" | "~" | "null" | "Null" | "NULL");
                self.plain(&content, &span, at);
            }
            Event::MappingStart(..) => self.mapping(at, depth)?,
            Event::SequenceStart(..) => self.sequence(at, depth)?,
            _ => {}
        }
        self.places.spots.insert(at.to_string(), Spot { key, value, is_empty, is_scalar });
        Ok(())
    }

    fn mapping(&mut self, at: &Pointer, depth: usize) -> Result<(), Misplaced> {
        let mut keys: BTreeMap<String, Place> = BTreeMap::new();
        loop {
            let (event, span) = self.next()?;
            let here = place(&span);
            let name = match event {
                Event::MappingEnd | Event::StreamEnd => return Ok(()),
                Event::Scalar(name, ..) => name.into_owned(),
                _ => return Err(Misplaced { at: here, why: "a key must be a plain name".into() }),
            };
            if let Some((line, column)) = keys.insert(name.clone(), here) {
                let why = format!("the key {name:?} stands twice, first at line {line} column {column}");
                return Err(Misplaced { at: here, why });
            }
            let value = self.next()?;
            self.node(value, &at.join(&name), here, depth + 1)?;
        }
    }

    fn sequence(&mut self, at: &Pointer, depth: usize) -> Result<(), Misplaced> {
        for i in 0.. {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                break;
            }
            let here = place(&span);
            self.node((event, span), &at.join(i), here, depth + 1)?;
        }
        Ok(())
    }

    /// A plain scalar where a text is meant, but a number, or yes and no, would be read.
    fn plain(&mut self, content: &str, span: &Span, at: &Pointer) {
        let is_text = at.tokens().rev().take(2).any(|t| TEXTS.contains(&&*t));
        let start = self.offsets.get(span.start.index()).copied().unwrap_or(self.text.len());
        let end = start + content.len();
        if !is_text || self.text.get(start..end) != Some(content) {
            return;
        }
        let read = serde_yaml::from_str::<serde_yaml::Value>(content);
        if read.is_ok_and(|v| v.is_number() || v.is_bool()) {
            self.numbers.push((start, end));
        }
    }
}

fn place(span: &Span) -> Place {
    (span.start.line(), span.start.col() + 1)
}

/// Members, and lists, that hold texts whatever they look like.
const TEXTS: [&str; 13] = [
    "lead",
    "accept_unmapped",
    "accounted",
    "ref",
    "branch",
    "base_sha",
    "confirmed_by",
    "on_behalf_of",
    "reference",
    "record_sha256",
    "seen",
    "reason",
    "evidence",
];

const MAX_DEPTH: usize = 32;
