//! Choices read from the input, so that they change and shrink with it.

/// Bytes read once each; behind the end stand zeros.
pub struct Tape<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tape<'a> {
    /// The part of the input before its last NUL byte, and the tape behind it.
    pub fn split(data: &'a [u8]) -> (&'a [u8], Tape<'a>) {
        match data.iter().rposition(|b| *b == 0) {
            Some(at) => (&data[..at], Tape { bytes: &data[at + 1..], at: 0 }),
            None => (data, Tape { bytes: &[], at: 0 }),
        }
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// One of these.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let at = self.below(from.len());
        from.get(at).cloned()
    }

    /// A piece of some bytes.
    pub fn piece<'b>(&mut self, of: &'b [u8]) -> &'b [u8] {
        let two = |tape: &mut Self| usize::from(tape.byte()) | usize::from(tape.byte()) << 8;
        let start = two(self) % (of.len() + 1);
        let end = start + two(self) % (of.len() - start + 1);
        &of[start..end]
    }

    /// A piece of some text.
    pub fn text(&mut self, of: &[u8]) -> String {
        let piece = self.piece(of);
        String::from_utf8_lossy(&piece[..piece.len().min(40)]).into_owned()
    }
}
