//! The JSON documents against their published schema.
#![expect(clippy::disallowed_methods, reason = "the test reads fixtures and runs the binary")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use specdev_migrate::render::json_schema::schema;

/// Set `UPDATE=1` to write the published copy anew.
#[test]
fn published_schema_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.v1.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        text,
        "run the test with UPDATE=1 and review the difference"
    );
}

fn document(args: &[&str]) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_specdev-migrate"))
        .args(args)
        .args(["--format", "json"])
        .output()
        .unwrap();
    let value: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| {
        panic!("{args:?}: not one JSON document: {e}\n{}", String::from_utf8_lossy(&out.stdout))
    });
    assert_eq!(value["exit_code"], out.status.code().unwrap(), "{args:?}");
    value
}

fn check(args: &[&str]) {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let value = document(args);
    let faults: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(faults.is_empty(), "{args:?}: {faults:#?}");
}

/// Every project root below `fixtures/`: a folder that holds `speculo/`.
fn fixtures() -> Vec<PathBuf> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        if folder.join("speculo").is_dir() {
            return out.push(folder.to_path_buf());
        }
        for entry in entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
            walk(&entry.path(), out);
        }
    }
    let mut out = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut out);
    out.sort();
    out
}

#[test]
fn every_fixture_is_reported_by_the_schema() {
    let fixtures = fixtures();
    assert!(!fixtures.is_empty());
    for root in fixtures {
        let root = root.to_str().unwrap();
        check(&["--dry-run", "--no-git", root]);
        check(&["--check", "--no-git", "--partial", "--to", "0.7.3", root]);
        check(&["status", "--no-git", root]);
        check(&["history", "list", root]);
        check(&["history", "verify", root]);
    }
}

#[test]
fn failures_are_one_document_too() {
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    check(&["--dry-run", empty]);
    check(&["--to", "9.9.9", empty]);
    check(&["--decisions", "/nonexistent/decisions.yaml", empty]);
    check(&["steps"]);
}
