//! The sections `## Migration History` (contract.md §4): old bytes, findable in the repository.
//!
//! Per run a section holds one run line and the entries the run added. [`entry`] and [`run`] are the
//! two kinds of lines, [`section`] finds them in a host file, [`mod@write`] makes them for a plan and
//! [`rebuild`] gets old bytes back from new files and history alone.

pub mod entry;
pub mod rebuild;
pub mod run;
pub mod section;
pub mod write;

use std::borrow::Cow;

use memchr::memchr;
use sha2::{Digest, Sha256};

/// The title of the section, at level 2.
pub const TITLE: &str = "Migration History";

/// SHA-256 of the bytes, as lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 that does not depend on how git checks a file out: CRLF counts as LF when the file has no
/// other CR.
pub fn portable_sha256(bytes: &[u8]) -> String {
    if memchr(b'\r', bytes).is_none() {
        return sha256(bytes);
    }
    let lf = to_lf(bytes);
    if memchr(b'\r', &lf).is_some() { sha256(bytes) } else { sha256(&lf) }
}

/// [`portable_sha256`] of pieces that stand behind each other.
fn portable_sha256_of(pieces: &[&[u8]]) -> String {
    if pieces.iter().any(|piece| memchr(b'\r', piece).is_some()) {
        return portable_sha256(&pieces.concat());
    }
    let mut digest = Sha256::new();
    pieces.iter().for_each(|piece| digest.update(piece));
    hex(&digest.finalize())
}

/// The first 12 hex digits of a SHA-256.
pub fn short_sha256(bytes: &[u8]) -> String {
    let mut text = sha256(bytes);
    text.truncate(12);
    text
}

/// Every CRLF as LF; other CRs stay.
pub fn to_lf(bytes: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\r', bytes).is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    for (i, b) in bytes.iter().enumerate() {
        if !(*b == b'\r' && bytes.get(i + 1) == Some(&b'\n')) {
            out.push(*b);
        }
    }
    Cow::Owned(out)
}

/// Every LF as CRLF.
pub fn to_crlf(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 32);
    for b in bytes {
        if *b == b'\n' {
            out.push(b'\r');
        }
        out.push(*b);
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from(b"0123456789abcdef"[usize::from(n)]);
    let mut out = String::with_capacity(2 * bytes.len());
    for b in bytes {
        out.push(digit(b >> 4));
        out.push(digit(b & 15));
    }
    out
}

/// JSON for an HTML comment: one line that cannot end the comment.
fn comment_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default().replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends() {
        assert_eq!(*to_lf(b"a\r\nb\rc\n\r"), *b"a\nb\rc\n\r");
        assert_eq!(to_crlf(b"a\nb\n"), b"a\r\nb\r\n");
        assert_eq!(portable_sha256(b"a\r\nb\n"), sha256(b"a\nb\n"));
        assert_eq!(portable_sha256(b"a\r\nb\rc"), sha256(b"a\r\nb\rc"));
    }

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        for whole in [&b""[..], b"a\nb\n", b"a\r\nb\r\n", b"a\r\nb\rc"] {
            for middle in 0..=whole.len() {
                let (front, behind) = whole.split_at(middle);
                assert_eq!(portable_sha256_of(&[front, b"", behind]), portable_sha256(whole));
            }
        }
    }
}
