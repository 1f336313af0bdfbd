//! The JSON Schema of the documents that `--format json` prints, made from the same lists the tool works
//! with. The copy in `docs/report.v1.schema.json` is compared with it by a test.

use serde_json::{Value, json};

use super::json::VERSION;
use crate::finding::Code;
use crate::migrations::{CHAIN, RELEASES};

/// The schema (draft 2020-12).
pub fn schema() -> Value {
    let codes: Vec<&str> = Code::ALL.iter().map(|c| c.as_str()).collect();
    let steps: Vec<&str> = CHAIN.iter().map(|s| s.name).collect();
    let releases: Vec<&str> = RELEASES.iter().map(|r| r.name).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:specdev-migrate:report:v{VERSION}"),
        "title": "Report of specdev-migrate",
        "description": "One document per run, also when the run is refused or fails. Members that depend on a plan are absent when there is none.",
        "type": "object",
        "required": ["schema_version", "tool", "command", "exit_code"],
        "properties": {
            "schema_version": {"const": VERSION},
            "tool": object(&["name", "version"], json!({"name": {"const": "specdev-migrate"}, "version": {"type": "string"}})),
            "command": {"enum": ["upgrade", "status", "validate", "decisions", "steps", "restore", "recover", "history list", "history show", "history verify"]},
            "mode": {"enum": ["dry-run", "check", "upgrade"]},
            "exit_code": {"enum": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 141, 143]},
            "outcome": {"type": "string"},
            "release": {"enum": releases},
            "error": object(&["message", "next"], json!({"message": {"type": "string"}, "next": strings()})),
            "summary": {"$ref": "#/$defs/summary"},
            "artifacts": {"type": "array", "items": {"$ref": "#/$defs/artifact"}},
            "archived": strings(),
            "files": {"type": "array"},
            "account": {"$ref": "#/$defs/account"},
            "findings": {"type": "array"},
            "guards": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
            "git": {"type": ["object", "null"]},
            "decisions": {"type": "object"},
        },
        "if": {"properties": {"command": {"const": "upgrade"}}},
        "then": {
            "required": ["outcome"],
            "properties": {
                "outcome": {"enum": ["written", "planned", "nothing-to-do", "stopped", "guarded", "failed"]},
                "files": {"items": {"$ref": "#/$defs/file"}},
                "findings": {"items": {"$ref": "#/$defs/finding"}},
            },
        },
        "$defs": {
            "summary": object(
                &["pending", "partial", "files", "created", "changed", "errors", "blockers", "warnings", "notes", "values_kept", "left_as_they_are"],
                json!({
                    "pending": {"type": "boolean"}, "partial": {"type": "boolean"}, "files": count(), "created": count(),
                    "changed": count(), "errors": count(), "blockers": count(), "warnings": count(), "notes": count(),
                    "values_kept": count(), "left_as_they_are": strings(),
                }),
            ),
            "artifact": object(
                &["file", "artifact", "change", "from", "to", "steps"],
                json!({
                    "file": {"type": "string"}, "artifact": {"enum": ["config", "status", "change-status", "goal-plan"]},
                    "change": nullable(), "from": count(), "to": count(), "steps": {"type": "array", "items": {"enum": steps}},
                }),
            ),
            "file": {
                "type": "object",
                "required": ["path", "before", "after"],
                "properties": {
                    "path": {"type": "string"}, "before": digest(true), "after": digest(false),
                    "diff": {"type": "string"}, "diff_base64": {"type": "string"},
                },
                "additionalProperties": false,
            },
            "account": object(
                &["moved", "converted", "retired", "accepted"],
                json!({
                    "moved": rows(&["from", "to"]), "converted": rows(&["from", "to", "rule"]),
                    "retired": rows(&["from", "rule"]), "accepted": rows(&["from"]),
                }),
            ),
            "finding": object(
                &["code", "severity", "file", "line", "column", "pointer", "change", "message", "owners", "next"],
                json!({
                    "code": {"enum": codes}, "severity": {"enum": ["error", "blocker", "warning", "note"]},
                    "file": nullable(), "line": {"type": ["integer", "null"]}, "column": {"type": ["integer", "null"]},
                    "pointer": nullable(), "change": nullable(), "message": {"type": "string"},
                    "owners": strings(), "next": strings(),
                }),
            ),
        },
    })
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

fn rows(members: &[&str]) -> Value {
    let properties: serde_json::Map<_, _> =
        members.iter().map(|m| (m.to_string(), json!({"type": "string"}))).collect();
    json!({"type": "array", "items": object(members, Value::Object(properties))})
}

fn strings() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn nullable() -> Value {
    json!({"type": ["string", "null"]})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn digest(nullable: bool) -> Value {
    let kinds = if nullable { json!(["string", "null"]) } else { json!("string") };
    json!({"type": kinds, "pattern": "^[0-9a-f]{64}$"})
}
