//! Imports point down, I/O stays with its owners, and the engine names no step.
//!
//! Read from the sources as text: comments, strings and the unit tests at the end of a file do not count.
#![expect(clippy::disallowed_methods, reason = "the sources are read from the disk")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use specdev_migrate::migrations::CHAIN;

/// What each module may import: a module with all below it, or a path.
const TABLE: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("finding", &[]),
    ("doc", &["finding"]),
    ("state", &["doc", "error", "finding"]),
    // Which versions there are, and the codes of what is wrong with a number.
    ("schema", &["doc::pointer", "finding", "state::artifact"]),
    ("decisions", &["doc", "error", "state"]),
    ("git", &["error", "finding"]),
    ("history", &["doc", "error", "finding", "state"]),
    ("facts", &["decisions", "git", "history", "state"]),
    ("account", &["doc"]),
    ("step", &["account", "decisions", "doc", "facts", "finding", "history", "schema", "state"]),
    // `git::Worktree` is what facts are made of: data, nothing that asks.
    (
        "migrations",
        &[
            "step",
            "account",
            "decisions",
            "doc",
            "facts",
            "finding",
            "history",
            "schema",
            "state",
            "git::Worktree",
        ],
    ),
    (
        "plan",
        &[
            "migrations",
            "step",
            "account",
            "decisions",
            "doc",
            "error",
            "facts",
            "finding",
            "history",
            "schema",
            "state",
        ],
    ),
    ("restore", &["doc", "error", "history", "state"]),
    ("verify", &["account", "doc", "error", "history", "plan", "restore", "state"]),
    // `render::json_schema` lists steps and releases in the published schema.
    (
        "render",
        &[
            "account",
            "decisions",
            "doc::content",
            "error",
            "facts",
            "finding",
            "history",
            "migrations",
            "plan",
            "state",
        ],
    ),
    // One value through all runs: it undoes and plans again, and writes nothing.
    (
        "trace",
        &[
            "account",
            "decisions",
            "doc",
            "error",
            "finding",
            "history",
            "migrations",
            "plan",
            "restore",
            "state",
            "step",
        ],
    ),
    ("validate", &["doc", "finding", "history", "migrations", "schema", "state", "step"]),
    ("apply", &["error"]),
    ("explain", &["finding", "migrations"]),
    ("cli", &[]),
    ("progress", &[]),
    (
        "commands",
        &[
            "apply",
            "cli",
            "decisions",
            "doc",
            "error",
            "explain",
            "facts",
            "finding",
            "git",
            "history",
            "migrations",
            "plan",
            "progress",
            "render",
            "restore",
            "schema",
            "state",
            "step",
            "trace",
            "validate",
            "verify",
        ],
    ),
    // Faults of the command line are told before any command runs, as JSON where that was asked for.
    ("main", &["apply", "cli", "commands", "error", "render"]),
    ("lib", &[]),
];

/// Modules that may touch disk, environment, clock or other processes.
const OWNERS: &[&str] = &[
    "apply",
    "commands",
    "facts",
    "git",
    "main",
    "progress",
    "state::files",
    "state::layout",
    "state::papers",
    "state::tree",
];

/// Lines beyond which a module is named.
const LONG: usize = 450;

#[test]
fn imports_point_down() {
    let table: BTreeMap<&str, &[&str]> = TABLE.iter().copied().collect();
    let mut wrong = Vec::new();
    for source in sources() {
        let own = source.module[0].as_str();
        let Some(allowed) = table.get(own) else {
            wrong.push(format!("{}: module {own} is not in the table", source.file));
            continue;
        };
        for path in source.imports() {
            let is_allowed = |a: &&str| {
                let a: Vec<&str> = a.split("::").collect();
                path.len() >= a.len() && path.iter().zip(&a).all(|(x, y)| x == y)
            };
            if path[0] != own && !allowed.iter().any(is_allowed) {
                wrong.push(format!("{}: {own} may not import {}", source.file, path.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The table itself has no cycle: whoever imports stands behind what it imports.
#[test]
fn table_points_down() {
    for (n, (module, allowed)) in TABLE.iter().enumerate() {
        for path in *allowed {
            let other = path.split("::").next().unwrap();
            let at = TABLE.iter().position(|(m, _)| *m == other);
            let at = at.unwrap_or_else(|| panic!("{module} may import {other}, which is no module"));
            let knows_back = TABLE[at].1.iter().any(|p| p.split("::").next() == Some(module));
            assert!(at < n && !knows_back, "{module} and {other} import each other");
        }
    }
}

#[test]
fn io_stays_with_its_owners() {
    let calls = [
        "std::fs",
        "std::io",
        "std::env",
        "std::process",
        "std::net",
        "std::thread",
        "std::time",
        ".exists()",
        ".try_exists()",
        ".is_file()",
        ".is_dir()",
        ".is_symlink()",
        ".canonicalize()",
        ".metadata()",
        ".symlink_metadata()",
        ".read_dir()",
        ".read_link()",
        "println!",
        "eprintln!",
        "include_bytes!",
    ];
    let mut wrong = Vec::new();
    for source in sources() {
        let name = source.module.join("::");
        let owns = |o: &&str| name == **o || name.starts_with(&format!("{o}::"));
        if OWNERS.iter().any(owns) {
            continue;
        }
        let found = calls.iter().filter(|call| source.text.contains(**call));
        wrong.extend(found.map(|call| format!("{}: {call}", source.file)));
        if source.text.contains("disallowed_methods") {
            wrong.push(format!("{}: lifts the ban on I/O", source.file));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The engine runs what the registry says; only the pages of `explain` speak of single steps.
#[test]
fn engine_names_no_step() {
    for source in sources().iter().filter(|s| s.module[0] != "migrations" && s.file != "src/explain.rs") {
        let whole = fs::read_to_string(root().join(&source.file)).unwrap();
        let named = CHAIN.iter().find(|s| whole.contains(s.name));
        assert!(named.is_none(), "{} names {}", source.file, named.unwrap().name);
    }
}

/// A step knows what all steps share, not another step.
#[test]
fn steps_do_not_know_each_other() {
    for source in sources().iter().filter(|s| s.module[0] == "migrations" && s.module.len() > 1) {
        for step in CHAIN.iter().filter(|s| s.name != source.module[1]) {
            assert!(!source.text.contains(step.name), "{} names {}", source.file, step.name);
        }
    }
}

#[expect(clippy::print_stderr, reason = "a list to look at now and then")]
#[test]
fn long_modules_are_few() {
    let long: Vec<String> = sources()
        .iter()
        .map(|s| (s.text.lines().count(), &s.file))
        .filter(|(lines, _)| *lines > LONG)
        .map(|(lines, file)| format!("{file} has {lines} lines"))
        .collect();
    if !long.is_empty() {
        eprintln!("longer than {LONG} lines:\n{}", long.join("\n"));
    }
    assert!(long.len() <= 6, "{}", long.join("\n"));
}

/// A source file without comments, strings and unit tests; line ends are kept.
struct Source {
    /// Below the package.
    file: String,
    /// `plan::change`
    module: Vec<String>,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let mut out = Vec::new();
    for (folder, prefix) in [("src", None), ("migrations", Some("migrations"))] {
        let mut files = Vec::new();
        gather(&root().join(folder), &mut files);
        for path in files {
            let below = path.strip_prefix(root().join(folder)).unwrap().with_extension("");
            let mut module: Vec<String> = prefix.into_iter().map(str::to_string).collect();
            module.extend(below.iter().map(|p| p.to_str().unwrap().to_string()));
            if module.len() > 1 && module.last().is_some_and(|m| m == "mod") {
                module.pop();
            }
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
            out.push(Source { file, module, text: bare(text) });
        }
    }
    assert!(out.len() > 60, "the sources were not found");
    out
}

fn gather(folder: &Path, out: &mut Vec<std::path::PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            gather(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

impl Source {
    /// Every path below the crate's root that the file speaks of, through `crate::`, the crate's name, or
    /// as many `super::` as lead there.
    fn imports(&self) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        for start in ["crate::", "specdev_migrate::"] {
            for (at, _) in self.text.match_indices(start) {
                let before = self.text[..at].chars().next_back();
                if before.is_none_or(|c| !c.is_alphanumeric() && c != '_') {
                    paths(&self.text[at + start.len()..], &mut Vec::new(), &mut out);
                }
            }
        }
        let mut depth = self.module.len();
        if self.file.ends_with("/lib.rs") || self.file.ends_with("/main.rs") {
            depth = 0;
        }
        let up = "super::".repeat(depth);
        if depth > 0 {
            for (at, _) in self.text.match_indices(&up) {
                if !self.text[..at].ends_with("super::") {
                    paths(&self.text[at + up.len()..], &mut Vec::new(), &mut out);
                }
            }
        }
        out
    }
}

/// The paths that begin here: `a::b`, or `{a, b::{c, d}}` after a prefix. Returns what follows.
fn paths<'a>(text: &'a str, prefix: &mut Vec<String>, out: &mut Vec<Vec<String>>) -> &'a str {
    let mut text = text.trim_start();
    let depth = prefix.len();
    loop {
        if let Some(mut rest) = text.strip_prefix('{') {
            loop {
                rest = paths(rest, prefix, out).trim_start();
                match rest.strip_prefix(',') {
                    Some(more) if more.trim_start().starts_with('}') => rest = more.trim_start(),
                    Some(more) => {
                        rest = more;
                        continue;
                    }
                    None => {}
                }
                break;
            }
            prefix.truncate(depth);
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        prefix.push(text[..end].to_string());
        text = &text[end..];
        match text.strip_prefix("::") {
            Some(rest) if rest.starts_with(|c: char| c.is_alphabetic() || c == '{' || c == '_') => {
                text = rest
            }
            _ => {
                out.push(prefix.clone());
                prefix.truncate(depth);
                let renamed =
                    text.strip_prefix(" as ").and_then(|t| t.find([',', ';', '}']).map(|i| &t[i..]));
                return renamed.unwrap_or(text);
            }
        }
    }
}

/// Without comments and the content of strings.
fn bare(text: &str) -> String {
    let bytes: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    while i < bytes.len() {
        let rest = &bytes[i..];
        if rest.starts_with(&['/', '/']) {
            while i < bytes.len() && bytes[i] != '\n' {
                i += 1;
            }
        } else if rest.starts_with(&['r', '#', '"']) {
            i += 3;
            while i < bytes.len() && !bytes[i..].starts_with(&['"', '#']) {
                out.extend((bytes[i] == '\n').then_some('\n'));
                i += 1;
            }
            i += 2;
        } else if rest[0] == '"' {
            i += 1;
            while i < bytes.len() && bytes[i] != '"' {
                out.extend((bytes[i] == '\n').then_some('\n'));
                i += if bytes[i] == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if rest.len() > 2 && rest[0] == '\'' && (rest[2] == '\'' || rest[1] == '\\') {
            // A character, not a lifetime.
            i += 1;
            while i < bytes.len() && bytes[i] != '\'' {
                i += if bytes[i] == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else {
            out.push(rest[0]);
            i += 1;
        }
    }
    out
}

#[test]
fn reader_of_sources_sees_what_it_must() {
    let text = bare(
        "use crate::{a::{b, c as d}, e};\n// crate::no\nlet s = \"crate::no\"; let c = '\"'; crate::f::g(1); super::super::h::i",
    );
    let source = Source { file: "src/x/y.rs".into(), module: vec!["x".into(), "y".into()], text };
    let found: Vec<String> = source.imports().iter().map(|p| p.join("::")).collect();
    assert_eq!(found, ["a::b", "a::c", "e", "f::g", "h::i"]);
}
