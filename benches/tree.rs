//! Repositories with SpecDev state of any size, for measuring: equal options give equal bytes.
//!
//! The files look like those of real projects: pretty-printed JSON, prose in two scripts, tables, fences
//! that hold things which look like headings. Every record is finished, so that the whole tree upgrades.
//! With `git` the records name real commits, one for each ticket.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Which release wrote the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Config 3, status 3, change-status 3, goal-plan 3.
    V0_6,
    /// Config 3, status 4, change-status 3, goal-plan 3, records with an integration.
    V0_7_2,
    /// Config 5, status 5, change-status 6, goal-plan 6, records with a candidate gate.
    V0_7_6,
}

impl Era {
    pub(crate) const ALL: [Era; 3] = [Era::V0_6, Era::V0_7_2, Era::V0_7_6];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Era::V0_6 => "0.6",
            Era::V0_7_2 => "0.7.2",
            Era::V0_7_6 => "0.7.6",
        }
    }
}

/// What to generate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) era: Era,
    pub(crate) changes: usize,
    pub(crate) tickets: usize,
    pub(crate) archived: usize,
    /// Files below the `evidence/` folders that are not the tool's, over all changes.
    pub(crate) foreign: usize,
    /// Whether to make a repository, with a commit for each ticket and one for the state.
    pub(crate) git: bool,
    pub(crate) seed: u64,
}

impl Options {
    pub(crate) fn new(era: Era, changes: usize, tickets: usize) -> Options {
        Options { era, changes, tickets, archived: 0, foreign: 0, git: false, seed: 1 }
    }
}

/// Write the repository into `root`, which must be empty or absent.
pub(crate) fn generate(root: &Path, options: &Options) -> io::Result<()> {
    fs::create_dir_all(root)?;
    if fs::read_dir(root)?.next().is_some() {
        return Err(io::Error::other(format!("{} is not empty", root.display())));
    }
    let count = (options.changes + options.archived) * options.tickets;
    let commits = if options.git { commits(root, count)? } else { stand_ins(count) };
    let state = root.join("speculo/.speculo");
    let specdev = state.join("specdev");
    let mut dice = Dice(options.seed);
    put(
        &state.join("workspace.json"),
        &pretty(&json!({"schema_version": 1, "path_base": "project-root",
        "roots": {"config": "speculo/config.json", "speculo": "speculo", "state": "speculo/.speculo"}})),
    )?;
    put(&specdev.join("config.json"), &pretty(&config(options.era)))?;
    let mut index = Vec::new();
    let mut archived = Vec::new();
    for n in 0..options.changes + options.archived {
        let change = Change::new(n, options, &mut dice, &commits);
        let home = if change.archived {
            specdev.join("archive").join(&change.name[..7]).join(&change.name)
        } else {
            specdev.join("changes").join(&change.name)
        };
        change.write(&home, &mut dice)?;
        if change.archived {
            archived.push(change.name);
            continue;
        }
        for i in (n..options.foreign).step_by(options.changes) {
            put(&home.join(format!("evidence/logs/run-{i:06}.log")), "a line nobody has to read\n")?;
        }
        index.push(change.name);
    }
    put(&specdev.join("status.json"), &pretty(&status(options.era, &index, &archived)))?;
    if options.git {
        git(root, &["add", "-A"])?;
        git(root, &["commit", "-q", "-m", "State"])?;
    }
    Ok(())
}

struct Change<'a> {
    name: String,
    era: Era,
    archived: bool,
    status: &'static str,
    /// Work in the current checkout instead of a worktree for each ticket.
    current: bool,
    tickets: Vec<Ticket<'a>>,
}

struct Ticket<'a> {
    id: String,
    owner: &'static str,
    base: &'a str,
    result: &'a str,
}

impl<'a> Change<'a> {
    fn new(n: usize, options: &Options, dice: &mut Dice, commits: &'a [String]) -> Change<'a> {
        let month = dice.range(1, 8);
        let day = dice.range(1, 28);
        let name = format!("2026-{month:02}-{day:02}-{}-{}-{n:05}", dice.pick(&TOPICS), dice.pick(&TOPICS));
        let archived = n >= options.changes;
        let status = if archived { "archived" } else { dice.pick(&["completed", "active", "blocked"]) };
        let first = if options.era == Era::V0_7_6 { 1 } else { n * options.tickets + 1 };
        let tickets = (0..options.tickets).map(|t| {
            let at = n * options.tickets + t;
            Ticket {
                id: format!("T-{:02}", first + t),
                owner: dice.pick(&OWNERS),
                base: &commits[at],
                result: &commits[at + 1],
            }
        });
        let tickets = tickets.collect();
        let current = options.era == Era::V0_7_6 && dice.range(0, 1) == 1;
        Change { name, era: options.era, archived, status, current, tickets }
    }

    fn write(&self, home: &Path, dice: &mut Dice) -> io::Result<()> {
        put(&home.join(".status.json"), &pretty(&self.change_status(dice)))?;
        put(&home.join("goal-plan.md"), &self.goal_plan(dice))?;
        put(&home.join("LOG.md"), &format!("# Log\n\n{}\n", dice.pick(&LINES)))?;
        put(&home.join("spec.md"), &self.document("spec", &SPEC, dice))?;
        put(&home.join("tickets-map.md"), &self.document("tickets-map", &MAP, dice))?;
        for ticket in &self.tickets {
            let name = format!("ticket/{}-{}.md", &ticket.id[2..], dice.pick(&TOPICS));
            put(&home.join(name), &self.ticket(ticket, dice))?;
            put(&home.join(format!("evidence/{}.md", ticket.id)), &self.evidence(ticket, dice))?;
        }
        Ok(())
    }

    fn change_status(&self, dice: &mut Dice) -> Value {
        let when = stamp(dice);
        let records: Vec<Value> = self.tickets.iter().map(|t| self.record(t, dice)).collect();
        let done = matches!(self.status, "completed" | "archived");
        let month = &self.name[..7];
        let path = format!("<Path>{{roots.state}}/specdev/archive/{month}/{}</Path>", self.name);
        let mut status = json!({
            "schema_version": if self.era == Era::V0_7_6 { 6 } else { 3 },
            "artifact": "change-status",
            "change": self.name,
            "change_status": self.status,
            "current_work": if self.archived { Value::Null } else { "specdev/I-implement".into() },
            "created_at": when,
            "updated_at": when,
            "completed_at": if done { Value::from(when.as_str()) } else { Value::Null },
            "archived": self.archived,
            "archive_path": if self.archived { Value::from(path) } else { Value::Null },
            "blockers": if self.status == "blocked" { json!(["等待负责人确认"]) } else { json!([]) },
            "deviations": [],
            "worktrees": records,
        });
        if self.era == Era::V0_7_6 {
            let none = |scope: &str| json!({"status": "not-authorized", "source": null, "granted_at": null, "scope": scope});
            status["works_run"] = json!(WORKS);
            status["claimed_investigations"] = json!([]);
            status["execution_authorization"] = json!({
                "implementation_commit": none("Ticket source commits"),
                "local_candidate_integration": none("Lead-owned local parent candidate integration and parent update"),
                "source_cleanup": none("Source worktree and branch cleanup"),
            });
            status["leadership"] =
                json!({"current": "codex:/root", "epoch": 1, "assigned_at": when, "history": []});
        }
        status
    }

    fn record(&self, ticket: &Ticket<'_>, dice: &mut Dice) -> Value {
        let (id, base, result) = (&ticket.id, ticket.base, ticket.result);
        let status = dice.pick(&["integrated", "integrated", "removed"]);
        let branch = format!("speculo/{}/{id}", self.name);
        let evidence = format!("<Path>{{roots.state}}/specdev/changes/{}/evidence/{id}.md</Path>", self.name);
        let when = stamp(dice);
        match self.era {
            Era::V0_6 => json!({
                "ticket_id": id, "owner": ticket.owner, "provider": "git", "base_sha": base, "branch": branch,
                "workspace_ref": format!("specdev-worktree/{id}"), "status": status, "updated_at": when,
            }),
            Era::V0_7_2 => json!({
                "ticket_id": id, "owner": ticket.owner, "integration_owner": "lead-7", "provider": "git",
                "base_sha": base, "parent_branch": "main", "branch": branch,
                "workspace_ref": format!("specdev-worktree/{id}"), "terminal_action": "integrate",
                "source_checkpoint": result,
                "integration": {"status": "passed", "parent_before_sha": base, "source_sha": result,
                    "result_sha": result, "method": "fast-forward", "conflict_paths": [],
                    "verification": "passed", "evidence": evidence, "attempts": 1},
                "status": status, "updated_at": when,
            }),
            Era::V0_7_6 => {
                let own = |text: String| if self.current { Value::Null } else { text.into() };
                let e2e = dice.range(0, 2) == 0;
                json!({
                    "ticket_id": id, "owner": ticket.owner, "implementation_owner": ticket.owner,
                    "integration_owner": "lead-7", "provider": "git", "base_sha": base,
                    "parent_branch": "main",
                    "branch": if self.current { "main" } else { branch.as_str() },
                    "workspace_ref": if self.current { "current".into() }
                        else { format!("specdev-worktree/{}/{id}", self.name) },
                    "source_checkpoint": result,
                    "integration": {"status": "passed", "parent_ref": "main", "parent_before_sha": base,
                        "source_sha": result, "candidate_sha": own(result.into()),
                        "candidate_tree_sha": own(result.into()),
                        "candidate_branch": own(format!("speculo/integration/{}/{id}", self.name)),
                        "candidate_workspace_ref": own(format!("specdev-worktree/.integration/{}/{id}", self.name)),
                        "result_sha": result,
                        "method": if self.current { "direct-parent" } else { "fast-forward" },
                        "conflict_paths": [], "verification": "passed",
                        "full_suite": {"required": true, "status": "passed", "reason": null, "evidence": evidence},
                        "e2e": {"required": e2e, "status": if e2e { "passed" } else { "not-required" },
                            "reason": if e2e { Value::Null } else { "the command covers it".into() },
                            "evidence": if e2e { Value::from(evidence.as_str()) } else { Value::Null }},
                        "evidence": evidence, "attempts": 1, "promotion_status": "applied"},
                    "status": status, "updated_at": when,
                })
            }
        }
    }

    fn goal_plan(&self, dice: &mut Dice) -> String {
        let done = matches!(self.status, "completed" | "archived");
        let status =
            if done { "completed" } else { dice.pick(&["ready", "in_progress", "blocked", "draft"]) };
        let ready = matches!(status, "ready" | "in_progress");
        let mode = dice.pick(&["migration", "high-assurance", "release-coordination"]);
        let old = self.era != Era::V0_7_6;
        let mut text = format!(
            "---\nschema_version: {}\nartifact: goal-plan\nchange: {}\nstatus: {status}\n",
            if old { 3 } else { 6 },
            self.name
        );
        match self.era {
            Era::V0_6 => text += &format!("modes: [coordination, {mode}]\n"),
            Era::V0_7_2 => {
                text += &format!("modes: [coordination, {mode}]\n");
                text += "coordination_mode: single-session\nworkspace_strategy: worktree\n";
            }
            Era::V0_7_6 => {
                text += &format!("modes: [{mode}]\norchestration: lead-directed\nlead: codex:/root\n");
                text += &format!(
                    "implementation_agent_limit: {}\nintegration_attempt_limit: 3\n",
                    if self.current { 1 } else { 3 }
                );
                text += if self.current {
                    "ticket_workspace_policy: current\nintegration_gate: direct-parent\n"
                } else {
                    "ticket_workspace_policy: required\nintegration_gate: candidate-merge\n"
                };
            }
        }
        text += &format!("ready_for_execution: {ready}\n---\n\n# Goal Plan: {}\n\n", self.name);
        section(&mut text, "1. Outcome and Authority", dice);
        text += "## 2. Execution Graph\n\n```text\n";
        self.tickets.iter().for_each(|t| text += &format!("{} -> next\n", t.id));
        text += "## inside a fence this is no heading\n```\n\n";
        section(&mut text, "3. Gates and Completion Evidence", dice);
        text += "## 4. Execution and Integration Protocol\n\n";
        if old && dice.range(0, 1) == 1 {
            text += "## Delegated Execution Addendum\n\n| Field | Value |\n|---|---|\n";
            text += "| Execution model | native-subagent |\n| Lead / Provider | `lead-7` / `native` |\n\n";
            for ticket in self.tickets.iter().take(3) {
                text += &format!("#### Dispatch: {}\n\n- **Goal:** {}\n\n", ticket.id, dice.pick(&LINES));
            }
        } else {
            text += &format!("### Lead Orchestration\n\n{}\n\n", dice.pick(&LINES));
        }
        section(&mut text, "5. Constraints, Risk and Recovery", dice);
        section(&mut text, "6. Progress and Decisions", dice);
        text + "## Assumptions\n\n无。\n"
    }

    fn evidence(&self, ticket: &Ticket<'_>, dice: &mut Dice) -> String {
        let mut text = format!("# Evidence: {}\n\n- **Change：** `{}`\n\n", ticket.id, self.name);
        let heads: &[&str] = if self.era == Era::V0_7_6 { &EVIDENCE_NEW } else { &EVIDENCE_OLD };
        for head in heads {
            section(&mut text, head, dice);
            if head.starts_with('4') {
                text += "```sh\n# ## Migration History\nmake test\n```\n\n";
            }
        }
        text
    }

    fn ticket(&self, ticket: &Ticket<'_>, dice: &mut Dice) -> String {
        let mut text = format!(
            "---\nschema_version: 3\nartifact: ticket\nchange: {}\nid: {id}\ntitle: {}\nstatus: done\n\
             planning_depth: standard\nready: true\nrisk: low\nblocked_by: []\ncontract_ids: [AC-001]\n\
             owner: {}\nexpected_changes: []\nwritable_paths: [\"<Path>src/{id}/**</Path>\"]\n---\n\n# Ticket {id}\n\n",
            self.name,
            dice.pick(&TOPICS),
            ticket.owner,
            id = ticket.id,
        );
        TICKET.iter().for_each(|head| section(&mut text, head, dice));
        text + "## 10. 验收标准\n\n- [x] AC-001\n"
    }

    fn document(&self, artifact: &str, heads: &[&str], dice: &mut Dice) -> String {
        let mut text = format!(
            "---\nschema_version: 3\nartifact: {artifact}\nchange: {}\nstatus: approved\n---\n\n# {artifact}\n\n",
            self.name
        );
        heads.iter().for_each(|head| section(&mut text, head, dice));
        text
    }
}

fn section(text: &mut String, head: &str, dice: &mut Dice) {
    *text += &format!("## {head}\n\n{}\n\n", dice.pick(&LINES));
}

fn config(era: Era) -> Value {
    let verification = json!({"test": "make test", "typecheck": null, "lint": "make lint", "build": null, "smoke": "make smoke"});
    let planning = json!({"default_depth": "standard", "require_ready_gate": true, "require_evidence": true});
    if era == Era::V0_7_6 {
        let mut planning = planning;
        planning["ui_prototype_default_variants"] = 3.into();
        planning["ui_prototype_max_variants"] = 5.into();
        return json!({"schema_version": 5, "interaction_language": "zh-CN", "artifact_language": "zh-CN",
            "git": {"default_branch": "main"},
            "execution": {"max_implementation_agents": 5, "max_integration_attempts": 3,
                "deep_ticket_human_approval": true, "shared_path_owner": "explicit"},
            "verification": verification, "planning": planning});
    }
    json!({"schema_version": 3, "interaction_language": "zh-CN", "artifact_language": "zh-CN",
        "git": {"auto_commit": false, "default_branch": "main", "worktree_for_parallel": true},
        "execution": {"max_parallel": 3, "deep_ticket_human_approval": true, "shared_path_owner": "explicit"},
        "verification": verification, "planning": planning})
}

/// The index: before version 5 it holds the works of every change.
fn status(era: Era, active: &[String], archived: &[String]) -> Value {
    let work = "specdev/I-implement";
    match era {
        Era::V0_6 => json!({
            "schema_version": 3,
            "workflow": "specdev",
            "active": active.iter().map(|c| json!({"change": c, "current_work": work, "works_run": WORKS, "result": null})).collect::<Vec<_>>(),
            "work_history": active.iter().map(|c| json!({"change": c, "work_id": "specdev/S-spec",
                "started_at": "2026-08-01T00:00:00Z", "completed_at": null, "result": null})).collect::<Vec<_>>(),
            "completed": archived.iter().map(|c| json!({"change": c, "archived_at": "2026-08-20T00:00:00Z"})).collect::<Vec<_>>(),
        }),
        Era::V0_7_2 => json!({
            "schema_version": 4,
            "workflow": "specdev",
            "active": active.iter().map(|c| json!({"change": c, "current_work": work, "works_run": WORKS})).collect::<Vec<_>>(),
            "archived": archived,
        }),
        Era::V0_7_6 => json!({
            "schema_version": 5,
            "workflow": "specdev",
            "active": active.iter().map(|c| json!({"change": c})).collect::<Vec<_>>(),
            "archived": archived,
        }),
    }
}

/// A repository with a line of `count + 1` commits on `main`: their ids, oldest first.
fn commits(root: &Path, count: usize) -> io::Result<Vec<String>> {
    git(root, &["init", "-q", "-b", "main"])?;
    // Nothing may go on in the background while something is measured.
    git(root, &["config", "gc.auto", "0"])?;
    git(root, &["config", "maintenance.auto", "false"])?;
    let mut stream = String::new();
    for n in 0..=count {
        stream += &format!(
            "commit refs/heads/main\nmark :{}\ncommitter dev <dev@example.invalid> {} +0000\ndata 5\nwork\n\n",
            n + 1,
            1_785_000_000 + n * 60
        );
    }
    let mut import = command(root, &["fast-import", "--quiet", "--export-marks=.git/marks"]);
    let mut import = import.stdin(Stdio::piped()).spawn()?;
    import.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(stream.as_bytes()))?;
    ended(import.wait()?.success(), "fast-import")?;
    let marks = root.join(".git/marks");
    let mut ids: Vec<(usize, String)> = fs::read_to_string(&marks)?
        .lines()
        .filter_map(|l| l.strip_prefix(':')?.split_once(' '))
        .filter_map(|(mark, id)| Some((mark.parse().ok()?, id.to_owned())))
        .collect();
    fs::remove_file(&marks)?;
    ids.sort_unstable();
    Ok(ids.into_iter().map(|(_, id)| id).collect())
}

/// What stands for commits where there is no repository.
fn stand_ins(count: usize) -> Vec<String> {
    let mut dice = Dice(40);
    (0..=count).map(|_| (0..5).map(|_| format!("{:08x}", dice.next() as u32)).collect()).collect()
}

fn git(root: &Path, args: &[&str]) -> io::Result<()> {
    ended(command(root, args).status()?.success(), args[0])
}

fn command(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root).args(args);
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "dev")
            .env(format!("GIT_{role}_EMAIL"), "dev@example.invalid");
        command.env(format!("GIT_{role}_DATE"), "1786000000 +0000");
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    command
}

fn ended(well: bool, what: &str) -> io::Result<()> {
    if well { Ok(()) } else { Err(io::Error::other(format!("git {what} failed"))) }
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    match fs::write(path, text) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)
        }
        result => result,
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn stamp(dice: &mut Dice) -> String {
    let zone = dice.pick(&["Z", "+08:00", "+0800"]);
    format!("2026-08-{:02}T{:02}:15:00{zone}", dice.range(1, 28), dice.range(0, 23))
}

/// The same numbers everywhere and always (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[(self.next() % list.len() as u64) as usize]
    }
}

const TOPICS: [&str; 12] = [
    "billing", "search", "sync", "audit", "theme", "quota", "import", "login", "report", "cache", "upload",
    "badge",
];
const OWNERS: [&str; 3] = ["codex:/root", "lead-7", "agent:alpha"];
const WORKS: [&str; 3] = ["specdev/S-spec", "specdev/T-tickets", "specdev/I-implement"];
const LINES: [&str; 5] = [
    "每条命令写出的结果与合同一致，错误时不改动任何文件。",
    "The command prints one row for each record and ends with 0.",
    "Order is kept; equal rows stay as they came in.",
    "| Case | Seam | Command | Result |\n|---|---|---|---|\n| plain | CLI | `make test` | passes |",
    "> A quote, and a list below it:\n\n- first\n- second, with `code`\n- 第三项",
];
const EVIDENCE_OLD: [&str; 8] = [
    "1. 实现摘要",
    "2. 修改范围",
    "3. 验收与合同映射",
    "4. 验证执行",
    "5. 双轴审查",
    "6. 路径所有权审计",
    "7. 偏差与决策",
    "8. 残余风险与后续",
];
const EVIDENCE_NEW: [&str; 9] = [
    "1. 实现摘要",
    "2. Lead Dispatch And Candidate Return",
    "3. 修改范围与路径所有权",
    "4. 验收与合同映射",
    "5. Workspace Verification",
    "6. 双轴审查",
    "7. Integration Verification",
    "8. 偏差与决策",
    "9. 残余风险与交付定位",
];
const SPEC: [&str; 5] = ["1. Problem", "2. Behaviour", "3. Contract", "4. Scope", "5. Verification"];
const MAP: [&str; 4] = ["1. List", "2. Graph", "3. Coverage", "4. Ownership"];
const TICKET: [&str; 7] =
    ["1. Source", "2. Decisions", "3. Scope", "4. What to build", "5. Contract", "6. Route", "7. Paths"];
