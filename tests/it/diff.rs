//! Patches as git takes them: every one is applied by the real `git apply`, and bytes are compared.

use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use specdev_migrate::render::diff::{FileDiff, MAX_SEARCHED_LINES, unified};

const FILE: u32 = 0o100_644;

struct Edit<'a> {
    path: &'a str,
    old: Option<&'a [u8]>,
    new: Option<&'a [u8]>,
}

fn patch(edits: &[Edit<'_>]) -> Vec<u8> {
    let diff = |e: &Edit<'_>| unified(&FileDiff { path: e.path, old: e.old, new: e.new, mode: FILE });
    edits.iter().flat_map(diff).collect()
}

#[expect(clippy::disallowed_methods, reason = "the test starts git as a user would")]
fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command.env("HOME", dir).env("XDG_CONFIG_HOME", dir).env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    let output = command.arg("-C").arg(dir).args(args).output().expect("git runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {stderr}");
    stderr
}

/// Apply the patch of `edits` to their old bytes in a repository of its own, and compare.
#[track_caller]
fn applies(edits: &[Edit<'_>]) {
    applies_with(edits, &[]);
}

#[track_caller]
#[expect(clippy::disallowed_methods, reason = "the test lays out the tree that git works on")]
fn applies_with(edits: &[Edit<'_>], config: &[(&str, &str)]) {
    let dir = tempfile::tempdir().expect("temporary folder");
    let (repo, patch_file) = (dir.path().join("repo"), dir.path().join("p.diff"));
    fs::create_dir(&repo).expect("folder");
    git(&repo, &["init", "-q"]);
    for (key, value) in config {
        git(&repo, &["config", key, value]);
    }
    for e in edits {
        if let Some(old) = e.old {
            let path = repo.join(e.path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folders");
            fs::write(path, old).expect("old file");
        }
    }
    let patch = patch(edits);
    fs::write(&patch_file, &patch).expect("patch");
    git(&repo, &["apply", "--whitespace=nowarn", "../p.diff"]);
    for e in edits {
        let found = fs::read(repo.join(e.path)).ok();
        assert_eq!(found.as_deref(), e.new, "{:?} by\n{}", e.path, String::from_utf8_lossy(&patch));
    }
}

#[track_caller]
fn applies_to(old: &[u8], new: &[u8]) {
    applies(&[Edit { path: "f", old: Some(old), new: Some(new) }]);
}

#[track_caller]
fn is(edits: &[Edit<'_>], expected: impl AsRef<[u8]>) {
    let actual = patch(edits);
    assert_eq!(actual, expected.as_ref(), "{}", String::from_utf8_lossy(&actual));
    applies(edits);
}

// The form.

#[test]
fn equal_files_give_nothing() {
    assert!(patch(&[Edit { path: "f", old: Some(b"a"), new: Some(b"a") }]).is_empty());
    assert!(patch(&[Edit { path: "f", old: Some(b""), new: Some(b"") }]).is_empty());
    assert!(patch(&[Edit { path: "f", old: None, new: None }]).is_empty());
}

#[test]
fn changed_line_has_three_lines_of_context() {
    is(
        &[Edit {
            path: "dir/f",
            old: Some(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
            new: Some(b"1\n2\n3\n4\nV\n6\n7\n8\n9\n"),
        }],
        "diff --git a/dir/f b/dir/f\n--- a/dir/f\n+++ b/dir/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8\n",
    );
}

#[test]
fn six_lines_between_two_changes_are_one_hunk() {
    is(
        &[Edit { path: "f", old: Some(b"1\n2\n3\n4\n5\n6\n7\n8\n"), new: Some(b"I\n2\n3\n4\n5\n6\n7\nX\n") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,8 +1,8 @@\n-1\n+I\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+X\n",
    );
}

#[test]
fn seven_lines_between_two_changes_are_two_hunks() {
    is(
        &[Edit {
            path: "f",
            old: Some(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
            new: Some(b"2\n3\n4\n5\n6\n7\n8\n9\nX\n"),
        }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n@@ -7,3 +6,4 @@\n 7\n 8\n 9\n+X\n",
    );
}

#[test]
fn empty_context_lines_keep_their_space() {
    is(
        &[Edit { path: "f", old: Some(b"\n\na\n\n\n"), new: Some(b"\n\nb\n\n\n") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n \n \n-a\n+b\n \n \n",
    );
}

// Files that come, go, or become empty.

#[test]
fn created_file() {
    is(
        &[Edit { path: "new/dir/f", old: None, new: Some(b"a\nb\n") }],
        "diff --git a/new/dir/f b/new/dir/f\nnew file mode 100644\n--- /dev/null\n+++ b/new/dir/f\n@@ -0,0 +1,2 @@\n+a\n+b\n",
    );
}

#[test]
fn deleted_file() {
    is(
        &[Edit { path: "f", old: Some(b"a\nb"), new: None }],
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n",
    );
}

#[test]
fn created_empty_file() {
    is(&[Edit { path: "a b", old: None, new: Some(b"") }], "diff --git a/a b b/a b\nnew file mode 100644\n");
}

#[test]
fn deleted_empty_file() {
    is(
        &[Edit { path: "d/\t", old: Some(b""), new: None }],
        "diff --git \"a/d/\\t\" \"b/d/\\t\"\ndeleted file mode 100644\n",
    );
}

#[test]
fn emptied_file() {
    is(
        &[Edit { path: "f", old: Some(b"a\n"), new: Some(b"") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n",
    );
}

#[test]
fn empty_file_that_is_filled() {
    is(
        &[Edit { path: "f", old: Some(b""), new: Some(b"a\n") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
    );
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the test looks at what git wrote")]
fn mode_of_a_created_file() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().expect("temporary folder");
    git(dir.path(), &["init", "-q"]);
    let diff = unified(&FileDiff { path: "run", old: None, new: Some(b"#!/bin/sh\n"), mode: 0o100_755 });
    fs::write(dir.path().join("p.diff"), diff).expect("patch");
    git(dir.path(), &["apply", "p.diff"]);
    let mode = fs::metadata(dir.path().join("run")).expect("created").permissions().mode();
    assert_eq!(mode & 0o100, 0o100);
}

#[test]
fn files_in_one_patch() {
    applies(&[
        Edit { path: "sub/config.json", old: Some(b"{}"), new: Some(b"{\"a\": 1}") },
        Edit { path: "sub/HISTORY.md", old: None, new: Some(b"# History\n") },
        Edit { path: "same", old: Some(b"x"), new: Some(b"x") },
        Edit { path: "gone", old: Some(b"x"), new: None },
        Edit { path: "sub/deep/er/status.json", old: Some(b"{\r\n}\r\n"), new: Some(b"{\r\n1\r\n}\r\n") },
    ]);
}

// The end of the file.

#[test]
fn line_end_missing_on_both_sides() {
    is(
        &[Edit { path: "f", old: Some(b"a\nb"), new: Some(b"a\nc") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
    );
}

#[test]
fn line_end_missing_before() {
    is(
        &[Edit { path: "f", old: Some(b"a\nb"), new: Some(b"a\nb\n") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
    );
}

#[test]
fn line_end_missing_after() {
    is(
        &[Edit { path: "f", old: Some(b"a\nb\n"), new: Some(b"a\nb") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n",
    );
}

#[test]
fn line_end_missing_in_the_context() {
    is(
        &[Edit { path: "f", old: Some(b"a\nb"), new: Some(b"A\nb") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n",
    );
}

#[test]
fn blank_last_lines() {
    applies_to(b"a\n\n\n", b"a\n\n");
    applies_to(b"a\n", b"a\n\n\n\n");
    applies_to(b"a\n ", b"a\n");
}

// Any bytes.

#[test]
fn crlf_stays_and_differs_from_lf() {
    applies_to(b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nx\r\nc\r\n");
    applies_to(b"a\r\nb\r\n", b"a\nb\r\n");
    applies_to(b"a\nb", b"a\r\nb\r");
}

#[test]
fn bare_cr_ends_no_line() {
    is(
        &[Edit { path: "f", old: Some(b"a\rb\nc\n"), new: Some(b"a\rB\nc\n") }],
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\rb\n+a\rB\n c\n",
    );
}

#[test]
fn bytes_that_are_no_text() {
    applies_to(b"\xff\xfe\na\xc3\n", b"\xff\xfe\nb\xe2\x82\n\x80");
    applies_to(b"a\0b\nc\0\nd\n", b"a\0b\nC\0\n\0\nd\n\0");
    applies_to(b"\x1b[31m\n\x7f\n", b"\x1b[32m\n\x7f\n");
}

#[test]
fn lines_that_look_like_a_patch() {
    applies_to(
        b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\ndiff --git a/g b/g\n",
        b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n+x\n-- \n\\ No newline at end of file\ndiff --git a/h b/h\n",
    );
}

// Names.

#[test]
fn name_with_a_space_ends_with_a_tab() {
    is(
        &[Edit { path: "a b/f", old: Some(b"1\n"), new: Some(b"2\n") }],
        "diff --git a/a b/f b/a b/f\n--- a/a b/f\t\n+++ b/a b/f\t\n@@ -1 +1 @@\n-1\n+2\n",
    );
}

#[test]
fn name_with_control_bytes_is_quoted() {
    is(
        &[Edit { path: "\x07\x08\t\n\x0B\x0C\r\x01\x7f é", old: Some(b"1\n"), new: Some(b"2\n") }],
        concat!(
            r#"diff --git "a/\a\b\t\n\v\f\r\001\177 é" "b/\a\b\t\n\v\f\r\001\177 é""#,
            "\n",
            r#"--- "a/\a\b\t\n\v\f\r\001\177 é""#,
            "\t\n",
            r#"+++ "b/\a\b\t\n\v\f\r\001\177 é""#,
            "\t\n@@ -1 +1 @@\n-1\n+2\n"
        ),
    );
}

#[test]
fn odd_names_of_all_kinds() {
    for path in
        ["é", "日本/语", "a\tb", "q\"q", "b\\s", "a b", " lead", "x b/x", "-rf", "a'b", "b/a/f", "$x;`y`"]
    {
        applies(&[
            Edit { path, old: Some(b"1\n"), new: Some(b"2") },
            Edit { path: &format!("{path}.new"), old: None, new: Some(b"n\n") },
            Edit { path: &format!("{path}.empty"), old: None, new: Some(b"") },
            Edit { path: &format!("{path}.gone"), old: Some(b"g"), new: None },
        ]);
    }
}

// Settings.

#[test]
fn colour_and_prefix_settings_do_not_matter() {
    applies_with(
        &[Edit { path: "a b/é", old: Some(b"1\n 2\n"), new: Some(b"1 \n 2") }],
        &[
            ("color.ui", "always"),
            ("color.diff", "always"),
            ("core.quotePath", "true"),
            ("diff.noprefix", "true"),
            ("diff.mnemonicPrefix", "true"),
        ],
    );
}

// Size.

#[test]
fn far_apart_changes_in_a_long_file_stay_small() {
    let old: String = (0..20_000).map(|i| format!("line {i}\n")).collect();
    let new = old.replace("line 1\n", "line one\n").replace("line 19998\n", "");
    let edit = [Edit { path: "f", old: Some(old.as_bytes()), new: Some(new.as_bytes()) }];
    assert!(patch(&edit).len() < 300);
    applies(&edit);
}

#[test]
fn beyond_the_bound_one_block_is_replaced() {
    let old: String = (0..MAX_SEARCHED_LINES).map(|i| format!("{i}\n")).collect();
    let new: String = (0..MAX_SEARCHED_LINES).rev().map(|i| format!("{i}\n")).collect();
    let (old, new) = (format!("a\n{old}z\n"), format!("a\n{new}z"));
    let edit = [Edit { path: "f", old: Some(old.as_bytes()), new: Some(new.as_bytes()) }];
    let expected = format!("@@ -1,{0} +1,{0} @@\n a\n-0\n", MAX_SEARCHED_LINES + 2);
    let patch = patch(&edit);
    assert!(String::from_utf8_lossy(&patch).contains(&expected));
    applies(&edit);
}

#[test]
fn unlike_lines_up_to_the_bound_are_searched_in_time() {
    let n = MAX_SEARCHED_LINES / 2;
    let noise = |mut seed: u64| -> Vec<u8> {
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 20) % 200
        };
        (0..n).flat_map(|_| format!("{}\n", next()).into_bytes()).collect()
    };
    let (old, new) = (noise(1), noise(2));
    let start = std::time::Instant::now();
    let edit = [Edit { path: "f", old: Some(&old), new: Some(&new) }];
    assert!(!patch(&edit).is_empty());
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
}

// Random edits.

fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just("a"),
        Just("b"),
        Just("c"),
        Just(""),
        Just(" "),
        Just("{"),
        Just("}"),
        Just("-"),
        Just("+"),
        Just("\\ x"),
        Just("@@ -1 +1 @@"),
        Just("\r"),
        Just("x\ry"),
        Just("\0"),
        Just("é"),
        Just("## A"),
    ];
    (prop::collection::vec(line, 0..40), any::<bool>()).prop_map(|(lines, ended)| {
        let mut text = lines.join("\n").into_bytes();
        if ended {
            text.push(b'\n');
        }
        text
    })
}

fn edited() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let edit = (any::<prop::sample::Index>(), 0..4_usize, prop::collection::vec(any::<u8>(), 0..4));
    (text(), prop::collection::vec(edit, 0..5)).prop_map(|(old, edits)| {
        let mut new = old.clone();
        for (at, cut, insert) in edits {
            let at = at.index(new.len() + 1);
            let end = (at + cut).min(new.len());
            new.splice(at..end, insert);
        }
        (old, new)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_apply_gives_the_new_bytes(
        pairs in prop::collection::vec(prop_oneof![edited(), (text(), text())], 8),
    ) {
        let names: Vec<String> = (0..pairs.len()).map(|i| format!("d{i}/f {i}")).collect();
        let edits: Vec<_> = names
            .iter()
            .zip(&pairs)
            .map(|(path, (old, new))| Edit { path, old: Some(old), new: Some(new) })
            .collect();
        prop_assume!(pairs.iter().any(|(old, new)| old != new));
        applies(&edits);
    }
}
