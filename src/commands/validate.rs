//! Check the state as it stands against one release (contract.md §9).

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::session::{Found, exit_of, find, release};
use super::{Outcome, Surroundings};
use crate::cli::{Stage as StageArg, Validate, ValidateFormat};
use crate::error::{Kind, Result};
use crate::finding::Finding;
use crate::render::human::findings as findings_text;
use crate::render::json;
use crate::state::papers::Papers;
use crate::state::tree::Tree;
use crate::validate::{
    Look, Options, Stage, Violation, counted, default_release, github, human, unreadable, validate,
};

/// Validate. Exit 0 or 3; 5 and 6 for what cannot be read.
pub fn run(args: &Validate, around: &Surroundings) -> Result<Outcome> {
    let named = args.to.as_deref().map(|name| release(Some(name))).transpose()?;
    let layout = match find(&args.place)? {
        Found::Layout(layout) => layout,
        Found::Refused(findings) => return Ok(refused(args, around, &findings)),
    };
    let tree = Tree::read(&layout)?;
    let findings = unreadable(&tree);
    if !findings.is_empty() {
        return Ok(refused(args, around, &findings));
    }
    let papers = Papers::read(&tree)?;
    let stage = args.stage.map(|s| match s {
        StageArg::Implement => Stage::Implement,
        StageArg::Complete => Stage::Complete,
    });
    let options = Options { release: named.unwrap_or_else(|| default_release(&tree)), stage };
    let violations = validate(&tree, &papers, &options);
    let counts = counted(&violations, args.strict);
    let code = if counts > 0 { Kind::Pending.exit() } else { 0 };
    let look = Look { strict: args.strict, color: around.color_out, carets: around.color_out };
    let stdout = match args.format {
        ValidateFormat::Human => {
            let mut text = String::new();
            if !args.quiet {
                let _ = writeln!(text, "checked against release {}", options.release.name);
            }
            text += &human(&violations, look);
            if violations.is_empty() && !args.quiet {
                text += "no violation\n";
            }
            text.into_bytes()
        }
        ValidateFormat::Json => document(&options, &violations, code),
        ValidateFormat::Github => github(&violations, args.strict).into_bytes(),
    };
    Ok(Outcome { stdout, stderr: Vec::new(), code, ..Outcome::default() })
}

fn document(options: &Options, violations: &[Violation], code: u8) -> Vec<u8> {
    let list: Vec<Value> = violations
        .iter()
        .map(|v| {
            json!({
                "rule": v.rule, "class": v.class.as_str(), "file": v.place.file, "line": v.place.line,
                "column": v.place.column, "pointer": v.place.pointer, "message": v.message, "advice": v.advice,
            })
        })
        .collect();
    json::document("validate", code, json!({"release": options.release.name, "violations": list}))
}

/// What cannot be read at all.
fn refused(args: &Validate, around: &Surroundings, findings: &[Finding]) -> Outcome {
    // Links and special files cannot be read either.
    let code =
        if exit_of(findings) == Kind::Newer.exit() { Kind::Newer.exit() } else { Kind::Invalid.exit() };
    let stdout = match args.format {
        ValidateFormat::Json => json::document("validate", code, json!({"findings": json::list(findings)})),
        _ => Vec::new(),
    };
    let mut stderr = String::new();
    findings_text(&mut stderr, findings, false, around.color_err);
    Outcome { stdout, stderr: stderr.into_bytes(), code, ..Outcome::default() }
}
