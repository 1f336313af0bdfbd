//! A value and the text it stands in: a JSON file, a JSON fence or a header.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::doc::json::Document;
use crate::doc::pointer::Pointer;
use crate::doc::yaml::Frontmatter;
use crate::schema;
use crate::state::artifact::Artifact;
use crate::state::change::{JsonFile, SourceFile};

/// A readable artifact.
pub(super) struct Text<'a> {
    pub(super) artifact: Artifact,
    pub(super) version: u64,
    pub(super) file: &'a SourceFile,
    spans: Spans<'a>,
}

enum Spans<'a> {
    /// A document that begins at an offset of the file.
    Json(Cow<'a, Document>, usize),
    Header(Frontmatter),
}

impl<'a> Text<'a> {
    /// A JSON file, when it is an object of a version this tool reads.
    pub(super) fn json(artifact: Artifact, file: &'a JsonFile) -> Option<Text<'a>> {
        let doc = file.doc().ok().filter(|d| d.value().is_object())?;
        let version = version_in(artifact, doc)?;
        Some(Text { artifact, version, file: &file.file, spans: Spans::Json(Cow::Borrowed(doc), 0) })
    }

    /// A header, when it has a version this tool reads.
    pub(super) fn header(artifact: Artifact, file: &'a SourceFile) -> Option<Text<'a>> {
        let header = Frontmatter::parse(&file.bytes).ok()?;
        let spelled = header.entry("schema_version").map(|e| e.text.as_str());
        let version = schema::version_of(artifact, spelled).ok()?;
        Some(Text { artifact, version, file, spans: Spans::Header(header) })
    }

    /// A fence of a file, parsed.
    pub(super) fn fence(
        artifact: Artifact,
        version: u64,
        file: &'a SourceFile,
        doc: Document,
        base: usize,
    ) -> Text<'a> {
        Text { artifact, version, file, spans: Spans::Json(Cow::Owned(doc), base) }
    }

    pub(super) fn value(&self) -> &Value {
        match &self.spans {
            Spans::Json(doc, _) => doc.value(),
            Spans::Header(header) => header.value(),
        }
    }

    pub(super) fn str(&self, key: &str) -> Option<&str> {
        self.value().get(key)?.as_str()
    }

    /// The bytes of the value at a pointer, or of the nearest value above it.
    pub(super) fn span(&self, pointer: &Pointer) -> Range<usize> {
        match &self.spans {
            Spans::Json(doc, base) => {
                let mut at = pointer.clone();
                loop {
                    if let Some(node) = doc.find(&at) {
                        return node.range.start + base..node.range.end + base;
                    }
                    match at.split_last() {
                        Some((parent, _)) => at = parent,
                        None => return *base..*base + 1,
                    }
                }
            }
            Spans::Header(header) => {
                let Some(entry) = pointer.tokens().next().and_then(|k| header.entry(&k)) else {
                    return header.inner.start..header.inner.start + 1;
                };
                if entry.value_range.is_empty() {
                    return entry.key_range.clone();
                }
                let item = header.value().pointer(&pointer.to_string()).and_then(Value::as_str);
                match item.filter(|_| pointer.depth() > 1).and_then(|item| only(&entry.text, item)) {
                    Some(at) => entry.value_range.start + at.start..entry.value_range.start + at.end,
                    None => entry.value_range.clone(),
                }
            }
        }
    }

    /// Where the Markdown begins behind a header.
    pub(super) fn body_start(&self) -> usize {
        match &self.spans {
            Spans::Header(header) => header.range.end,
            Spans::Json(..) => 0,
        }
    }
}

/// Where a word stands in a text that holds it once: an item of a list in a header, as its spans are
/// those of whole entries.
fn only(text: &str, word: &str) -> Option<Range<usize>> {
    let at = text.find(word).filter(|_| !word.is_empty())?;
    (text.rfind(word) == Some(at)).then(|| at..at + word.len())
}

fn version_in(artifact: Artifact, doc: &Document) -> Option<u64> {
    let node = doc.find(&Pointer::new(["schema_version"]));
    let spelled = node.map(|n| String::from_utf8_lossy(doc.raw(n)).into_owned());
    schema::version_of(artifact, spelled.as_deref()).ok()
}
