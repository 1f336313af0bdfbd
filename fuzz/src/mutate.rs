//! Changes of an archive that keep it readable: values of JSON change places, lines of Markdown come and go.

use serde_json::{Map, Value, json};

use crate::upgrade::archive;

/// Another archive, or `None` when plain bytes shall change.
pub fn changed(data: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut dice = Dice(u64::from(seed) << 1 | 1);
    (dice.below(8) > 0).then(|| archive_of(data, &mut dice)).flatten()
}

fn archive_of(data: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let (mut options, files) = archive(data);
    let mut files: Vec<(String, Vec<u8>)> =
        files.into_iter().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect();
    if files.is_empty() {
        return None;
    }
    for _ in 0..=dice.below(3) {
        let n = dice.below(files.len());
        match dice.below(24) {
            0 => {
                options = vec![
                    dice.of(&OPTIONS).to_string(),
                    format!("git={}", dice.below(128)),
                    dice.of(&OPTIONS).to_string(),
                ]
            }
            1 => files.push((dice.of(&PATHS).to_string(), files[n].1.clone())),
            2 if files.len() > 1 => drop(files.remove(n)),
            3 => files[n].1 = line_ends(&files[n].1, dice),
            4 => files[n].0 = dice.of(&PATHS).to_string(),
            _ if files[n].0.ends_with(".json") => files[n].1 = json_text(&files[n].1, dice),
            _ => files[n].1 = markdown(&files[n].1, dice),
        }
        if files.is_empty() {
            return None;
        }
    }
    let mut out = options.join(" ").into_bytes();
    out.push(b'\n');
    for (path, bytes) in files {
        out.extend(format!("-- {path} --\n").bytes());
        out.extend(&bytes);
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            // A file ends where the next begins, so only the last one may lack its line end.
            out.push(b'\n');
        }
    }
    if dice.below(4) == 0 {
        out.pop();
    }
    Some(out)
}

fn line_ends(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let lf = specdev_migrate::history::to_lf(bytes);
    match dice.below(4) {
        0 => lf.into_owned(),
        1 => specdev_migrate::history::to_crlf(&lf),
        2 => [b"\xEF\xBB\xBF", bytes].concat(),
        _ => {
            let mut out = bytes.to_vec();
            if !out.is_empty() {
                let at = dice.below(out.len());
                out.insert(at, b'\r');
            }
            out
        }
    }
}

fn json_text(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else { return damaged(bytes, dice) };
    let mut all = Vec::new();
    collect(&value, &mut String::new(), &mut all);
    for _ in 0..=dice.below(3) {
        let donor = value.pointer(dice.of(&all).as_str()).cloned().unwrap_or_default();
        let new = if dice.below(3) == 0 { donor } else { pool(dice) };
        let at = dice.of(&all).clone();
        let Some(place) = value.pointer_mut(&at) else { continue };
        match place {
            Value::Object(members) => change_members(members, new, dice),
            Value::Array(items) => match dice.below(3) {
                0 => items.push(new),
                1 if !items.is_empty() => drop(items.remove(dice.below(items.len()))),
                _ if !items.is_empty() => items.push(items[dice.below(items.len())].clone()),
                _ => items.push(new),
            },
            scalar => *scalar = new,
        }
    }
    let end = *dice.of(&["", "\n"]);
    match dice.below(3) {
        0 => format!("{value}{end}").into_bytes(),
        _ => format!("{value:#}{end}").into_bytes(),
    }
}

fn change_members(members: &mut Map<String, Value>, new: Value, dice: &mut Dice) {
    let keys: Vec<String> = members.keys().cloned().collect();
    match dice.below(4) {
        0 if !keys.is_empty() => drop(members.remove(dice.of(&keys))),
        1 if !keys.is_empty() => drop(members.insert(dice.of(&keys).clone(), new)),
        2 if !keys.is_empty() => {
            let old = members.remove(dice.of(&keys)).unwrap_or_default();
            members.insert(dice.of(&KEYS).to_string(), old);
        }
        _ => drop(members.insert(dice.of(&KEYS).to_string(), new)),
    }
}

fn collect(value: &Value, at: &mut String, all: &mut Vec<String>) {
    all.push(at.clone());
    let length = at.len();
    let mut below = |token: String, value: &Value, at: &mut String| {
        *at += &format!("/{}", token.replace('~', "~0").replace('/', "~1"));
        collect(value, at, all);
        at.truncate(length);
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| below(i.to_string(), v, at)),
        Value::Object(members) => members.iter().for_each(|(k, v)| below(k.clone(), v, at)),
        _ => {}
    }
}

fn pool(dice: &mut Dice) -> Value {
    match dice.below(6) {
        0 => Value::Null,
        1 => (dice.below(10)).into(),
        2 => dice
            .of(&[json!(true), json!(false), json!([]), json!({}), json!(2.0), json!([""]), json!({"a": []})])
            .clone(),
        _ => dice.of(&STRINGS).to_string().into(),
    }
}

/// A line less, more, twice, elsewhere; or the JSON in it changed.
fn markdown(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let open = lines.iter().position(|l| l.starts_with(b"```json"));
    if let Some(open) = open.filter(|_| dice.below(2) == 0) {
        let close = lines[open + 1..]
            .iter()
            .position(|l| l.starts_with(b"```"))
            .map_or(lines.len(), |n| open + 1 + n);
        let mut new = json_text(&lines[open + 1..close].concat(), dice);
        new.push(b'\n');
        lines.splice(open + 1..close, [new]);
        return lines.concat();
    }
    let at = dice.below(lines.len() + 1);
    let end: &[u8] = if bytes.windows(2).any(|w| w == b"\r\n") { b"\r\n" } else { b"\n" };
    match dice.below(6) {
        0 if at < lines.len() => drop(lines.remove(at)),
        1 if at < lines.len() => {
            let line = lines[at].clone();
            lines.insert(dice.below(lines.len() + 1), line);
        }
        2 if at < lines.len() => lines[at] = damaged(&lines[at], dice),
        3 if lines.len() > 1 => {
            let line = lines.remove(dice.below(lines.len()));
            lines.insert(dice.below(lines.len() + 1), line);
        }
        4 if at < lines.len() => {
            // Another value behind the key.
            let key = lines[at].iter().position(|b| *b == b':').map_or(0, |n| n + 1);
            lines[at] = [&lines[at][..key], b" ", dice.of(&STRINGS).as_bytes(), end].concat();
        }
        _ => lines.insert(at, [dice.of(&LINES).as_bytes(), end].concat()),
    }
    lines.concat()
}

fn damaged(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let at = dice.below(out.len() + 1);
    match dice.below(3) {
        0 if at < out.len() => drop(out.remove(at)),
        1 if at < out.len() => out[at] = dice.below(256) as u8,
        _ => drop(out.splice(at..at, dice.of(&STRINGS).bytes())),
    }
    out
}

/// Numbers from one seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n.max(1)
    }

    fn of<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const OPTIONS: [&str; 5] = ["", "release=0.7.3", "partial", "fresh", "git=7"];
const PATHS: [&str; 14] = [
    "config.json",
    "status.json",
    "HISTORY.md",
    "decisions.yaml",
    "changes/2026-08-01-login/.status.json",
    "changes/2026-08-01-login/goal-plan.md",
    "changes/2026-08-01-login/README.md",
    "changes/2026-08-01-login/HISTORY.md",
    "changes/2026-08-01-login/evidence/T-01.md",
    "changes/2026-08-01-login/evidence/T-02.md",
    "changes/2026-08-01-login/evidence/direct-spec.md",
    "changes/2026-08-01-login/ticket/01-x.md",
    "changes/2026-08-02-export/.status.json",
    "changes/2026-08-02-export/goal-plan.md",
];
const KEYS: [&str; 44] = [
    "schema_version",
    "artifact",
    "change",
    "change_status",
    "current_work",
    "created_at",
    "updated_at",
    "completed_at",
    "archived",
    "archive_path",
    "blockers",
    "deviations",
    "worktrees",
    "works_run",
    "claimed_investigations",
    "execution_authorization",
    "leadership",
    "active",
    "completed",
    "execution",
    "git",
    "default_branch",
    "max_implementation_agents",
    "max_concurrent_implementations",
    "max_parallel",
    "max_integration_attempts",
    "implementation_mode",
    "ticket_id",
    "owner",
    "base_sha",
    "parent_branch",
    "branch",
    "workspace_ref",
    "source_checkpoint",
    "integration",
    "status",
    "result_sha",
    "candidate_tree_sha",
    "full_suite",
    "e2e",
    "promotion_status",
    "purpose",
    "session",
    "x/y~z",
];
const STRINGS: [&str; 44] = [
    "",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "draft",
    "ready",
    "in_progress",
    "blocked",
    "completed",
    "active",
    "archived",
    "current",
    "required",
    "serial",
    "auto",
    "main",
    "T-01",
    "T-02",
    "integrated",
    "passed",
    "pending",
    "not-required",
    "planned",
    "cancelled",
    "review",
    "unassigned",
    "codex:/root",
    "2026-08-01-login",
    "2026-08-02-export",
    "2026-07-01-old",
    "speculo/2026-08-01-login/T-01",
    "65aa13d2136019fb01336e605ee8286ca6565734",
    "c745ef21e711c32e8602e03b20b01cf28f313ac8",
    "../x",
    "é\u{2028}\u{1}`|\\\"",
];
const LINES: [&str; 48] = [
    "---",
    "",
    "```",
    "````text",
    "```json",
    "~~~",
    "<!--",
    "-->",
    "<pre>",
    "# T",
    "## Migration History",
    "## Execution Policy Source",
    "## Delegated Execution Addendum",
    "## Isolated Workspace Addendum",
    "## Workspace Execution Record",
    "## Execution Context",
    "### Carried over from version 5",
    "> q",
    "- i",
    "  - i",
    "1. x",
    "    code",
    "text",
    "===",
    "schema_version: 3",
    "schema_version: 5",
    "schema_version: 7",
    "status: ready",
    "status: in_progress",
    "ready_for_execution: true",
    "lead: codex:/root",
    "lead: \"a\"",
    "modes: [coordination, tdd]",
    "modes:",
    "  - coordination",
    "coordination_mode: x",
    "workspace_strategy: 'y' # c",
    "ticket_workspace_policy: current",
    "integration_gate: candidate-merge",
    "implementation_agent_limit: 3",
    "concurrent_implementation_limit: 2",
    "integration_attempt_limit: 9",
    "note: |",
    "  a: b",
    "key: >-",
    "a: &x 1",
    "b: *x",
    "| Lead / Provider | `x` / y |",
];
