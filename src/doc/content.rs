//! The bytes of one file, shared by everybody who needs them, with what was read out of them.
//!
//! A file is read and changed as a whole, so its content never changes; a clone is a further handle to
//! the same bytes and readings. Each reading is made when it is first asked for, and at most once for all
//! handles; [`Content::apart`] gives a handle whose readings go when it goes.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::markdown::Outline;
use super::yaml::Frontmatter;
use super::{BOM, Fault};

/// The bytes of a file.
#[derive(Clone, Default)]
pub struct Content {
    bytes: Arc<Vec<u8>>,
    readings: Arc<Readings>,
}

#[derive(Default)]
struct Readings {
    // Boxed: most handles are never read from.
    header: OnceLock<Box<Result<Frontmatter, Fault>>>,
    outline: OnceLock<Box<Outline>>,
}

impl Content {
    /// A handle to the same bytes with readings of its own.
    #[must_use]
    pub fn apart(&self) -> Content {
        Content { bytes: Arc::clone(&self.bytes), readings: Arc::default() }
    }

    /// The bytes of a file whose header was read already.
    pub fn with_header(bytes: Vec<u8>, header: Frontmatter) -> Content {
        let content = Content::from(bytes);
        if header.is_of(&content) {
            let _ = content.readings.header.set(Box::new(Ok(header)));
        }
        content
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, to be shared with a [`Document`](super::json::Document).
    pub fn shared(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.bytes)
    }

    /// The YAML header, or why there is none.
    pub fn header(&self) -> Result<&Frontmatter, &Fault> {
        let header = self.readings.header.get_or_init(|| Box::new(Frontmatter::parse(self)));
        header.as_ref().as_ref()
    }

    /// Where the Markdown begins: behind the header or a byte order mark.
    pub fn body_start(&self) -> usize {
        if !Frontmatter::may_begin(self) {
            // Most files have none, and nobody asks why.
            return if self.starts_with(BOM) { BOM.len() } else { 0 };
        }
        match self.header() {
            Ok(header) => header.range.end,
            Err(_) if self.starts_with(BOM) => BOM.len(),
            Err(_) => 0,
        }
    }

    /// The Markdown behind the header.
    pub fn outline(&self) -> &Outline {
        self.readings.outline.get_or_init(|| Box::new(Outline::read(self, self.body_start())))
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        Content { bytes: Arc::new(bytes), readings: Arc::default() }
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Content {
        bytes.to_vec().into()
    }
}

impl From<Arc<Vec<u8>>> for Content {
    fn from(bytes: Arc<Vec<u8>>) -> Content {
        Content { bytes, readings: Arc::default() }
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Content) -> bool {
        Arc::ptr_eq(&self.bytes, &other.bytes) || self.bytes == other.bytes
    }
}

impl Eq for Content {}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_that_is_known_is_the_one_that_is_read() {
        for (of, file) in [
            ("---\na: 1\n---\n", "---\na: 1\n---\n# Plan\n"),
            ("\u{FEFF}---\r\na: 1\r\n---\r\n", "\u{FEFF}---\r\na: 1\r\n---\r\nText"),
            ("---\na: 1\n---", "---\na: 1\n---"),
            ("---\na: 1\n---", "---\na: 1\n---\nText\n"),
            ("---\na: 1\n---\n", "---\na: 2\n---\nText\n"),
        ] {
            let known = Frontmatter::parse(of.as_bytes()).unwrap();
            let content = Content::with_header(file.as_bytes().to_vec(), known);
            let read = Frontmatter::parse(file.as_bytes()).unwrap();
            let header = content.header().unwrap();
            assert_eq!((&header.range, header.value()), (&read.range, read.value()), "{file:?}");
        }
    }
}
