//! One entry: old bytes, what they were, and their digest (contract.md §4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::{comment_json, sha256, short_sha256, to_crlf, to_lf};
use crate::doc::markdown::fence_for;

/// What an entry says of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// First 12 hex of SHA-256 over source, pointer and digest.
    pub id: String,
    /// Names of the steps that replaced the bytes.
    pub steps: Vec<String>,
    /// The file they stood in, below `specdev/`.
    pub source: String,
    /// `""` the whole file, a JSON Pointer, `record`, `frontmatter` or `section:…`.
    pub pointer: String,
    /// Byte offsets in the old file.
    pub range: (usize, usize),
    /// How many bytes.
    pub length: usize,
    /// Their SHA-256.
    pub sha256: String,
    /// How they are stored.
    pub encoding: Encoding,
    /// `crlf` when every line end was CRLF.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub eol: Option<String>,
    /// Whether the last byte is LF.
    pub final_newline: bool,
    /// The owner's decision that caused the entry.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decision: Option<Decided>,
}

/// How bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// As they are, up to line ends.
    Text,
    /// Base64 in lines of 76.
    Base64,
}

/// A decision, written into the entry it caused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// `continue` or `retire`.
    pub action: String,
    /// Who confirmed.
    pub confirmed_by: String,
    /// On whose behalf.
    pub on_behalf_of: Option<String>,
    /// The file below the change that tells why.
    pub reference: String,
    /// The tip of the ticket's branch, so that the work stays findable.
    pub branch_tip: Option<String>,
}

/// An entry to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its heading, without `### `.
    pub title: String,
    /// What it says.
    pub meta: Meta,
    /// The old bytes.
    pub bytes: Vec<u8>,
}

/// The id of the entry for these bytes of a source.
pub fn id(source: &str, pointer: &str, bytes: &[u8]) -> String {
    id_of(source, pointer, &sha256(bytes))
}

fn id_of(source: &str, pointer: &str, sha256: &str) -> String {
    short_sha256([source, pointer, sha256].join("\0").as_bytes())
}

impl Entry {
    /// An entry for `file[range]`.
    pub fn new(
        title: String,
        steps: &[&str],
        source: &str,
        pointer: &str,
        file: &[u8],
        range: (usize, usize),
    ) -> Entry {
        let bytes = file[range.0..range.1].to_vec();
        let (encoding, eol) = encoding_of(&bytes);
        let sha256 = sha256(&bytes);
        let meta = Meta {
            id: id_of(source, pointer, &sha256),
            steps: steps.iter().map(ToString::to_string).collect(),
            source: source.into(),
            pointer: pointer.into(),
            range,
            length: bytes.len(),
            sha256,
            encoding,
            eol,
            final_newline: bytes.last() == Some(&b'\n'),
            decision: None,
        };
        Entry { title, meta, bytes }
    }

    /// Add the entry to a text, with LF line ends, its heading first.
    pub fn write_to(&self, out: &mut String) {
        let (lf, packed);
        let body = match self.meta.encoding {
            Encoding::Text => {
                lf = to_lf(&self.bytes);
                std::str::from_utf8(&lf).unwrap_or_default()
            }
            Encoding::Base64 => {
                packed = wrapped(&STANDARD.encode(&self.bytes));
                &packed
            }
        };
        let ends = self.meta.encoding == Encoding::Text && self.meta.final_newline;
        let fence = fence_for(body.as_bytes());
        let meta = comment_json(&self.meta);
        let end = if ends { "" } else { "\n" };
        let title = &self.title;
        out.extend(["### ", title, "\n\n<!-- specdev-history ", &meta, " -->\n\n", &fence, "text\n"]);
        out.extend([body, end, &fence, "\n"]);
    }
}

impl Meta {
    /// The old bytes from the content of the fence, or why they are not there.
    pub fn decode(&self, content: &[u8]) -> Result<Vec<u8>, Damage> {
        let bytes = match self.encoding {
            Encoding::Base64 => {
                let packed: Vec<u8> = content.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
                STANDARD.decode(packed).map_err(|_| Damage::Changed)?
            }
            Encoding::Text => {
                let lf = to_lf(content);
                let bytes = match lf.strip_suffix(b"\n") {
                    Some(rest) if !self.final_newline => rest,
                    _ => &lf,
                };
                if self.eol.as_deref() == Some("crlf") { to_crlf(bytes) } else { bytes.to_vec() }
            }
        };
        if bytes.len() == self.length && sha256(&bytes) == self.sha256 {
            return Ok(bytes);
        }
        Err(match self.encoding {
            Encoding::Text if self.differs_in_line_ends(&bytes) => Damage::LineEnds,
            Encoding::Text if self.differs_in_layout(&bytes) => Damage::Reformatted,
            _ => Damage::Changed,
        })
    }

    fn differs_in_layout(&self, bytes: &[u8]) -> bool {
        let lf = to_lf(bytes);
        layouts(&lf).into_iter().any(|b| sha256(&b) == self.sha256 || sha256(&to_crlf(&b)) == self.sha256)
    }

    fn differs_in_line_ends(&self, bytes: &[u8]) -> bool {
        let lf: Vec<u8> = to_lf(bytes).iter().copied().map(|b| if b == b'\r' { b'\n' } else { b }).collect();
        [lf.clone(), to_crlf(&lf)].into_iter().any(|b| sha256(&b) == self.sha256)
    }
}

/// Layouts that formatters and editors leave, undone one by one: whichever gives the digest was it.
fn layouts(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) {
        out.extend(
            [&b""[..], b" ", b"  ", b"   ", b"    ", b"        ", b"\t"]
                .map(|indent| printed(&value, indent)),
        );
    }
    out.push(bytes.to_vec());
    let ended: Vec<Vec<u8>> = out.iter().map(|b| [b.as_slice(), b"\n"].concat()).collect();
    let open: Vec<Vec<u8>> = out.iter().filter_map(|b| b.strip_suffix(b"\n")).map(<[u8]>::to_vec).collect();
    out.into_iter().chain(ended).chain(open).collect()
}

fn printed(value: &serde_json::Value, indent: &[u8]) -> Vec<u8> {
    use serde::Serialize as _;
    if indent.is_empty() {
        return serde_json::to_vec(value).unwrap_or_default();
    }
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
    let mut printer = serde_json::Serializer::with_formatter(&mut out, formatter);
    let _ = value.serialize(&mut printer);
    out
}

/// What happened to an entry's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Only line ends differ.
    LineEnds,
    /// Indent, white space or the final line end differ; the values are the old ones.
    Reformatted,
    /// Something else than the layout differs.
    Changed,
    /// There is no fence to read.
    Missing,
}

impl Damage {
    /// How reports call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Damage::LineEnds => "only line ends differ",
            Damage::Reformatted => "reformatted",
            Damage::Changed => "changed",
            Damage::Missing => "no readable fence",
        }
    }
}

fn encoding_of(bytes: &[u8]) -> (Encoding, Option<String>) {
    let lf = to_lf(bytes);
    let is_plain = |b: &u8| matches!(b, b'\t' | b'\n' | 0x20..=0x7e | 0x80..);
    // Without an early end within the pieces, which many bytes at once are looked at for.
    let are_plain = |piece: &[u8]| piece.iter().fold(true, |all, b| all & is_plain(b));
    if std::str::from_utf8(bytes).is_err() || !lf.chunks(256).all(are_plain) {
        return (Encoding::Base64, None);
    }
    if lf.len() == bytes.len() {
        return (Encoding::Text, None);
    }
    // Every LF was part of a CRLF, or the line ends are mixed and would be lost.
    let crlf = bytes.len() - lf.len() == lf.iter().filter(|b| **b == b'\n').count();
    if crlf { (Encoding::Text, Some("crlf".into())) } else { (Encoding::Base64, None) }
}

fn wrapped(text: &str) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(76).map(|c| std::str::from_utf8(c).unwrap_or_default()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::markdown::Outline;

    fn round_trip(bytes: &[u8]) -> Meta {
        let entry = Entry::new("t".into(), &["s"], "config.json", "", bytes, (0, bytes.len()));
        let mut text = String::new();
        entry.write_to(&mut text);
        for host in [text.clone(), text.replace('\n', "\r\n")] {
            let outline = Outline::read(host.as_bytes(), 0);
            let fences = outline.fences(&(0..host.len()));
            assert_eq!(fences.len(), 1, "{host}");
            assert_eq!(fences[0].info, "text");
            let content = &host.as_bytes()[fences[0].content.clone()];
            assert_eq!(entry.meta.decode(content).unwrap(), bytes, "{host}");
        }
        entry.meta
    }

    #[test]
    fn plain_text_is_stored_as_it_is() {
        assert_eq!(round_trip(b"{\n}\n").encoding, Encoding::Text);
        assert!(!round_trip(b"{\n}").final_newline);
        assert_eq!(round_trip(b"").length, 0);
        assert_eq!(round_trip(b"\n\n\n").encoding, Encoding::Text);
        assert_eq!(round_trip("\u{feff}{\"a\": \"é\"}\n".as_bytes()).encoding, Encoding::Text);
        assert_eq!(round_trip(b"```\nfence inside\n````\n").encoding, Encoding::Text);
    }

    #[test]
    fn crlf_text_is_stored_with_its_line_end() {
        assert_eq!(round_trip(b"a\r\nb\r\n").eol.as_deref(), Some("crlf"));
        assert_eq!(round_trip(b"a\r\nb").eol.as_deref(), Some("crlf"));
    }

    #[test]
    fn bytes_that_text_would_lose_are_base64() {
        for bytes in [&b"a\r\nb\n"[..], b"a\rb", b"a\0b", b"\x7f", b"\x0c", b"\xff\xfe", b"a\r\r\n"] {
            assert_eq!(round_trip(bytes).encoding, Encoding::Base64, "{bytes:?}");
        }
        let long = vec![0u8; 500];
        assert_eq!(round_trip(&long).encoding, Encoding::Base64);
    }

    #[test]
    fn damage_is_told_apart() {
        let entry = Entry::new("t".into(), &[], "f", "", b"a\r\nb\r\n", (0, 6));
        let mut lf = entry.meta.clone();
        lf.eol = None;
        assert_eq!(lf.decode(b"a\nb\n"), Err(Damage::LineEnds));
        assert_eq!(entry.meta.decode(b"a\nc\n"), Err(Damage::Changed));
        let json = b"{\n  \"a\": [\n    1\n  ]\n}";
        let entry = Entry::new("t".into(), &[], "f", "", json, (0, json.len()));
        assert_eq!(entry.meta.decode(b"{ \"a\": [1] }\n"), Err(Damage::Reformatted));
        assert_eq!(entry.meta.decode(b"{\n    \"a\": [\n        1\n    ]\n}\n"), Err(Damage::Reformatted));
        assert_eq!(entry.meta.decode(b"{ \"a\": [2] }\n"), Err(Damage::Changed));
    }

    #[test]
    fn comment_cannot_be_ended_by_a_value() {
        let entry = Entry::new("t".into(), &[], "f", "section:a --> b", b"x", (0, 1));
        let mut text = String::new();
        entry.write_to(&mut text);
        assert_eq!(text.matches("-->").count(), 1);
    }
}
