//! What must hold for any bytes. Each target hands its input to one `check`, which panics when a promise
//! is broken; README.md tells how to run them.

pub mod frontmatter;
pub mod json;
pub mod mutate;
pub mod sections;
pub mod tape;
pub mod upgrade;

use std::time::Duration;

/// The bytes with an insertion.
pub fn spliced(bytes: &[u8], at: usize, insert: &[u8]) -> Vec<u8> {
    [&bytes[..at], insert, &bytes[at..]].concat()
}

/// Whether the lines of `old` all stand in `new`, in their order.
pub fn keeps_lines(old: &[&str], new: &[&str]) -> bool {
    let mut rest = new.iter();
    old.iter().all(|line| rest.any(|l| l == line))
}

/// Repeat a piece of the input to a size at which anything quadratic shows, and read it.
pub fn in_time(front: &[u8], piece: &[u8], back: &[u8], read: impl Fn(&[u8])) {
    if piece.is_empty() {
        return;
    }
    let middle: Vec<u8> = piece.iter().copied().cycle().take(SIZE - SIZE % piece.len()).collect();
    let bytes = [front, &middle, back].concat();
    let start = cpu_time();
    read(&bytes);
    let took = cpu_time().saturating_sub(start);
    assert!(
        took < LIMIT,
        "{} bytes took {took:?}: {:?} repeated",
        bytes.len(),
        String::from_utf8_lossy(piece)
    );
}

/// The processor time of this thread: other work on the machine is no fault of ours.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

const SIZE: usize = 64 * 1024;
/// A build with coverage and address checks is some ten times slower than a release.
const LIMIT: Duration = Duration::from_secs(3);
