//! Paths as they are compared. Looks at metadata only; no process.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A path as it is compared: links followed as far as it exists, the rest as written. An absolute path
/// is expected.
pub fn resolve(path: &Path) -> PathBuf {
    let mut at = path;
    let mut rest = Vec::new();
    loop {
        if let Ok(mut found) = at.canonicalize() {
            found.extend(rest.iter().rev());
            return found;
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                at = parent;
            }
            _ => return path.to_path_buf(),
        }
    }
}

/// Resolves many paths, looking at every folder on their way once.
#[derive(Debug, Default)]
pub struct Resolver {
    /// By spelling: `a` and `a/` are equal paths, but only one of them can be a file.
    known: HashMap<OsString, Resolved>,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What [`resolve`] says of it.
    pub path: PathBuf,
    /// Whether something lies there.
    pub exists: bool,
}

impl Resolver {
    /// The same as [`resolve`], and whether the path leads to anything.
    pub fn resolve(&mut self, path: &Path) -> Resolved {
        if let Some(known) = self.known.get(path.as_os_str()) {
            return known.clone();
        }
        let resolved = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if parent.join(name).as_os_str() == path.as_os_str() => {
                let parent = self.resolve(parent);
                let at = parent.path.join(name);
                if !parent.exists {
                    Resolved { path: at, exists: false }
                } else if at.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) {
                    Resolved { path: at, exists: true }
                } else {
                    Resolved { path: resolve(path), exists: path.exists() }
                }
            }
            _ => Resolved { path: resolve(path), exists: path.exists() },
        };
        self.known.insert(path.as_os_str().to_owned(), resolved.clone());
        resolved
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test makes folders and files of its own")]
    fn resolver_says_the_same_as_one_path_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/a")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        symlink("a", root.join("real/to a")).unwrap();
        symlink("nowhere/at/all", root.join("broken")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let mut resolver = Resolver::default();
        for below in [
            "",
            "real",
            "real/a",
            "real/a/",
            "real/a/.",
            "real/./a",
            "real/a/..",
            "real/a/../a",
            "real/a/../b",
            "real/none",
            "real/none/deep/er",
            "real/none/../a",
            "real/file",
            "real/file/",
            "real/file/below",
            "link",
            "link/a",
            "link/a/b/c",
            "link/to a",
            "link/to a/b",
            "link/to a/../b",
            "link/none/../a",
            "broken",
            "broken/below",
            "round",
            "round/below",
            "none",
            "none/../real/a",
            "/",
            "/none/../at all",
        ] {
            let path = root.join(below);
            let expected = Resolved { path: resolve(&path), exists: path.exists() };
            assert_eq!(resolver.resolve(&path), expected, "{below}");
            assert_eq!(resolver.resolve(&path), expected, "{below}, again");
        }
    }
}
