//! JSON Pointers (RFC 6901).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// A path from a document's root to one value; a clone shares its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Pointer(Arc<str>);

impl Pointer {
    /// The whole document.
    pub fn root() -> Pointer {
        Pointer::default()
    }

    /// A pointer from its reference tokens, unescaped.
    pub fn new<I, S>(tokens: I) -> Pointer
    where
        I: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let mut text = String::new();
        tokens.into_iter().for_each(|token| push(&mut text, token.as_ref()));
        Pointer(text.into())
    }

    /// Read `/a/b~1c/0`; `None` when it neither is empty nor starts with `/`, or has a bad escape.
    pub fn parse(text: &str) -> Option<Pointer> {
        if text.is_empty() {
            return Some(Pointer::root());
        }
        if !text.starts_with('/') || text.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1'])) {
            return None;
        }
        Some(Pointer(text.into()))
    }

    /// A pointer from a text made by [`push`].
    pub(crate) fn of_text(text: &str) -> Pointer {
        Pointer(text.into())
    }

    /// As it is written, escapes included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This pointer with one more token (an object key or an array index).
    pub fn join(&self, token: impl fmt::Display) -> Pointer {
        use fmt::Write as _;
        let mut text = String::with_capacity(self.0.len() + 24);
        text.push_str(&self.0);
        text.push('/');
        let start = text.len();
        let _ = write!(text, "{token}");
        if text[start..].contains(['~', '/']) {
            let token = text.split_off(start);
            text.pop();
            push(&mut text, &token);
        }
        Pointer(text.into())
    }

    /// The pointer without its last token, and that token; `None` at the root.
    pub fn split_last(&self) -> Option<(Pointer, Cow<'_, str>)> {
        let (rest, last) = self.0.rsplit_once('/')?;
        Some((Pointer(rest.into()), unescape(last)))
    }

    /// The reference tokens, unescaped.
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
        self.0.get(1..).into_iter().flat_map(|tokens| tokens.split('/').map(unescape))
    }

    /// How many tokens there are.
    pub fn depth(&self) -> usize {
        memchr::memchr_iter(b'/', self.0.as_bytes()).count()
    }

    /// The pointer of the first `depth` tokens.
    pub fn up_to(&self, depth: usize) -> Pointer {
        match memchr::memchr_iter(b'/', self.0.as_bytes()).nth(depth) {
            Some(end) => Pointer(self.0[..end].into()),
            None => self.clone(),
        }
    }

    /// What stands there in a value.
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.pointer(&self.0)
    }

    /// Whether `self` is `other` or stands above it.
    pub fn contains(&self, other: &Pointer) -> bool {
        other.0.strip_prefix(&*self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// `other` with the prefix `self` replaced by `target`; `None` when `self` does not contain it.
    pub fn rebase(&self, other: &Pointer, target: &Pointer) -> Option<Pointer> {
        self.contains(other).then(|| target.below(&other.0[self.0.len()..]))
    }

    /// This pointer and, below it, the tokens of another.
    pub fn chain(&self, other: &Pointer) -> Pointer {
        self.below(&other.0)
    }

    fn below(&self, rest: &str) -> Pointer {
        Pointer([&*self.0, rest].concat().into())
    }
}

/// Token by token.
impl Ord for Pointer {
    fn cmp(&self, other: &Pointer) -> Ordering {
        // The slash ends a token, and a token comes before all that go on.
        let rank = |b: Option<&u8>| b.map_or(0, |b| if *b == b'/' { 1 } else { u16::from(*b) + 2 });
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        // In pieces first: most pointers have much in common.
        let pieces = a.chunks(16).zip(b.chunks(16)).take_while(|(a, b)| a == b).count() * 16;
        let (a, b) = (a.get(pieces..).unwrap_or_default(), b.get(pieces..).unwrap_or_default());
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        rank(a.get(same)).cmp(&rank(b.get(same)))
    }
}

impl PartialOrd for Pointer {
    fn partial_cmp(&self, other: &Pointer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Add a token to the text of a pointer.
pub(crate) fn push(text: &mut String, token: &str) {
    text.push('/');
    if !token.contains(['~', '/']) {
        text.push_str(token);
        return;
    }
    for c in token.chars() {
        match c {
            '~' => text.push_str("~0"),
            '/' => text.push_str("~1"),
            c => text.push(c),
        }
    }
}

fn unescape(token: &str) -> Cow<'_, str> {
    match token.contains('~') {
        true => Cow::Owned(token.replace("~1", "/").replace("~0", "~")),
        false => Cow::Borrowed(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_round_trip() {
        let tokens = ["a/b", "m~n", "0", "", "~1", "/"];
        let p = Pointer::new(tokens);
        assert_eq!(p.to_string(), "/a~1b/m~0n/0//~01/~1");
        assert_eq!(Pointer::parse(&p.to_string()), Some(p.clone()));
        assert_eq!(p.tokens().collect::<Vec<_>>(), tokens);
        assert_eq!(tokens.iter().fold(Pointer::root(), |p, t| p.join(t)), p);
        assert_eq!(p.split_last(), Some((Pointer::new(&tokens[..5]), "/".into())));
        assert_eq!(Pointer::parse("a"), None);
        assert_eq!(Pointer::parse("/~2"), None);
        assert_eq!(Pointer::parse("/~"), None);
    }

    #[test]
    fn root_has_no_tokens() {
        assert_eq!(Pointer::root().tokens().count(), 0);
        assert_eq!(Pointer::root().depth(), 0);
        assert_eq!(Pointer::new([""]).tokens().collect::<Vec<_>>(), [""]);
        assert_eq!(Pointer::root().split_last(), None);
        assert_eq!(Pointer::root().join(0).to_string(), "/0");
    }

    #[test]
    fn contains_whole_tokens_only() {
        let p = |text: &str| Pointer::parse(text).unwrap();
        assert!(p("/a").contains(&p("/a/b")) && p("/a").contains(&p("/a")) && p("").contains(&p("/a")));
        assert!(!p("/a").contains(&p("/ab")) && !p("/a/b").contains(&p("/a")));
    }

    #[test]
    fn order_is_that_of_the_tokens() {
        let all: [&[&str]; 8] =
            [&[], &[""], &["a"], &["a", "b"], &["a", "b", "c"], &["a!"], &["a-b"], &["b", "0"]];
        for pair in all.windows(2) {
            let (a, b) = (Pointer::new(pair[0]), Pointer::new(pair[1]));
            assert!(a < b, "{a} {b}");
        }
    }

    #[test]
    fn rebase_moves_below_a_new_prefix() {
        let old = Pointer::parse("/completed/0").unwrap();
        let new = Pointer::parse("/archived/0").unwrap();
        assert_eq!(old.rebase(&old.join("change"), &new), Some(new.join("change")));
        assert_eq!(old.rebase(&Pointer::root(), &new), None);
        assert_eq!(old.up_to(1), Pointer::new(["completed"]));
        assert_eq!(old.up_to(5), old);
        assert_eq!(Pointer::new(["x"]).chain(&old), Pointer::new(["x", "completed", "0"]));
    }
}
