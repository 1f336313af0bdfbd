//! JSON Pointers (RFC 6901).

use std::fmt;

use serde_json::Value;

/// A path from a document's root to one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// The whole document.
    pub fn root() -> Pointer {
        Pointer::default()
    }

    /// A pointer from its reference tokens, unescaped.
    pub fn new<I, S>(tokens: I) -> Pointer
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Pointer(tokens.into_iter().map(Into::into).collect())
    }

    /// Read `/a/b~1c/0`; `None` when it neither is empty nor starts with `/`, or has a bad escape.
    pub fn parse(text: &str) -> Option<Pointer> {
        if text.is_empty() {
            return Some(Pointer::root());
        }
        text.strip_prefix('/')?.split('/').map(unescape).collect::<Option<_>>().map(Pointer)
    }

    /// This pointer with one more token (an object key or an array index).
    pub fn join(&self, token: impl ToString) -> Pointer {
        let mut tokens = self.0.clone();
        tokens.push(token.to_string());
        Pointer(tokens)
    }

    /// The pointer without its last token, and that token; `None` at the root.
    pub fn split_last(&self) -> Option<(Pointer, &str)> {
        let (last, rest) = self.0.split_last()?;
        Some((Pointer(rest.to_vec()), last))
    }

    /// The reference tokens.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }

    /// What stands there in a value.
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        let is_index = |t: &str| t == "0" || !t.starts_with(['0', '+']);
        self.0.iter().try_fold(value, |value, token| match value {
            Value::Object(members) => members.get(token),
            Value::Array(items) => items.get(token.parse::<usize>().ok().filter(|_| is_index(token))?),
            _ => None,
        })
    }

    /// Whether `self` is `other` or stands above it.
    pub fn contains(&self, other: &Pointer) -> bool {
        other.0.starts_with(&self.0)
    }

    /// `other` with the prefix `self` replaced by `target`; `None` when `self` does not contain it.
    pub fn rebase(&self, other: &Pointer, target: &Pointer) -> Option<Pointer> {
        let rest = other.0.strip_prefix(self.0.as_slice())?;
        Some(Pointer(target.0.iter().chain(rest).cloned().collect()))
    }
}

fn unescape(token: &str) -> Option<String> {
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            c => c,
        });
    }
    Some(out)
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.0 {
            write!(f, "/{}", token.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_round_trip() {
        let p = Pointer::new(["a/b", "m~n", "0", ""]);
        assert_eq!(p.to_string(), "/a~1b/m~0n/0/");
        assert_eq!(Pointer::parse(&p.to_string()), Some(p));
        assert_eq!(Pointer::parse("a"), None);
        assert_eq!(Pointer::parse("/~2"), None);
    }

    #[test]
    fn rebase_moves_below_a_new_prefix() {
        let old = Pointer::parse("/completed/0").unwrap();
        let new = Pointer::parse("/archived/0").unwrap();
        assert_eq!(old.rebase(&old.join("change"), &new), Some(new.join("change")));
        assert_eq!(old.rebase(&Pointer::root(), &new), None);
    }
}
