//! The steps of the chain.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Outcome;
use crate::cli::{Format, Steps};
use crate::error::Result;
use crate::migrations::{CHAIN, RELEASES};
use crate::render::json;

/// List the steps, in the order they run, and the releases.
pub fn run(args: &Steps) -> Result<Outcome> {
    let stdout = match args.report.format {
        Format::Human => text().into_bytes(),
        Format::Json => {
            let steps: Vec<Value> = CHAIN
                .iter()
                .map(|s| json!({"name": s.name, "artifact": s.artifact, "from": s.from, "to": s.to, "summary": s.summary}))
                .collect();
            let releases: Vec<Value> = RELEASES
                .iter()
                .map(|r| {
                    let targets: serde_json::Map<_, _> =
                        r.targets.iter().map(|(a, v)| (a.as_str().to_string(), json!(v))).collect();
                    json!({"name": r.name, "targets": targets})
                })
                .collect();
            json::document("steps", 0, json!({"steps": steps, "releases": releases}))
        }
    };
    Ok(Outcome { stdout, ..Outcome::default() })
}

fn text() -> String {
    let mut out = String::new();
    for step in CHAIN {
        let from: Vec<String> = step.from.iter().map(u64::to_string).collect();
        let to = step.to.map_or("same".to_string(), |to| to.to_string());
        let _ = writeln!(out, "{:22} {:17} {} → {to}", step.name, step.artifact.as_str(), from.join(", "));
        let _ = writeln!(out, "    {}", step.summary);
    }
    out += "\n";
    for release in &RELEASES {
        let targets: Vec<String> = release.targets.iter().map(|(a, v)| format!("{a} {v}")).collect();
        let _ = writeln!(out, "release {}: {}", release.name, targets.join(", "));
    }
    out += "\na step's page: specdev-migrate explain STEP\n";
    out
}
