//! A repository with fixed authors and dates, a state in it, and the binary run on both.
//!
//! Every run is watched: git's refs and worktrees stay as they are, a run that writes nothing leaves
//! every file as it was, and what was written is done when it is run again.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

pub(super) const BIN: &str = env!("CARGO_BIN_EXE_specdev-migrate");
pub(super) const CHANGE: &str = "2026-08-01-login";
pub(super) const OTHER: &str = "2026-08-02-export";
pub(super) const LEAD: &str = "codex:/root";
/// Who implements in every record made here.
pub(super) const WORKER: &str = "agent:alpha";
/// Who owns the worktrees in every record made here.
pub(super) const OWNER: &str = "lead-7";

/// A repository and the project in it.
pub(super) struct Lab {
    dir: TempDir,
    /// The git top level.
    pub(super) top: PathBuf,
    /// The project root.
    pub(super) root: PathBuf,
}

impl Lab {
    /// `main` with the commits `m(0)`, `m(1)`, `m(2)`; nothing else.
    pub(super) fn new() -> Lab {
        Lab::below("p", "")
    }

    /// The project in a folder of the repository.
    pub(super) fn in_subfolder(folder: &str) -> Lab {
        Lab::below("p", folder)
    }

    fn below(name: &str, folder: &str) -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join(name);
        for folder in [".git/refs/heads", ".git/refs/tags", ".git/objects/info", ".git/objects/pack"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        for (path, bytes) in &template().files {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let root = if folder.is_empty() { top.clone() } else { top.join(folder) };
        fs::create_dir_all(&root).unwrap();
        Lab { dir, top, root }
    }

    /// A project without a repository.
    pub(super) fn without_git() -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("p");
        fs::create_dir_all(&root).unwrap();
        Lab { dir, top: root.clone(), root }
    }

    /// A path beside the repository.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// The first commits of `main`.
    pub(super) fn m(&self, n: usize) -> String {
        template().commits[n].clone()
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        git(&self.root, args)
    }

    pub(super) fn git_in(&self, folder: &str, args: &[&str]) -> String {
        git(&self.root.join(folder), args)
    }

    /// A new commit on top of `parent`, on no branch.
    pub(super) fn side(&self, parent: &str, message: &str) -> String {
        self.git(&["commit-tree", &format!("{parent}^{{tree}}"), "-p", parent, "-m", message])
    }

    /// A branch at a commit.
    pub(super) fn branch(&self, name: &str, at: &str) {
        self.git(&["branch", "-q", "-f", name, at]);
    }

    /// A worktree on a new branch.
    pub(super) fn worktree(&self, path: &str, branch: &str, at: &str) {
        self.git(&["worktree", "add", "-q", "-b", branch, path, at]);
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Write a state of these changes and commit it on `main`.
    pub(super) fn state(&self, changes: &[Change]) {
        self.state_with(json!("main"), changes);
    }

    /// The same, with another `git.default_branch`.
    pub(super) fn state_with(&self, default_branch: Value, changes: &[Change]) {
        let config = json!({
            "schema_version": 4, "interaction_language": "en", "artifact_language": "en",
            "git": {"default_branch": default_branch},
            "execution": {"max_implementation_agents": 3, "deep_ticket_human_approval": true, "shared_path_owner": "explicit"},
            "verification": {"test": "make test", "typecheck": null, "lint": null, "build": null, "smoke": null},
            "planning": {"default_depth": "standard", "require_ready_gate": true, "require_evidence": true},
        });
        let active: Vec<Value> = changes.iter().map(|c| json!({"change": c.name})).collect();
        let index = json!({"schema_version": 5, "workflow": "specdev", "active": active, "archived": []});
        self.write(&spec("config.json"), pretty(&config));
        self.write(&spec("status.json"), pretty(&index));
        for change in changes {
            change.write(self);
        }
        self.commit();
    }

    /// Commit everything that is there.
    pub(super) fn commit(&self) {
        if self.top.join(".git").exists() {
            git(&self.top, &["add", "-A"]);
            git(&self.top, &["commit", "-q", "--allow-empty", "-m", "state"]);
        }
    }

    /// The plan as JSON; nothing is written.
    pub(super) fn check(&self, args: &[&str]) -> Run {
        let before = self.everything();
        let mut all = vec!["--dry-run", "--format", "json"];
        all.extend(args);
        let run = self.run(&all);
        assert_eq!(before, self.everything(), "a dry run changed something");
        run
    }

    /// The real run, as JSON. What it wrote is done.
    pub(super) fn upgrade(&self, args: &[&str]) -> Run {
        let (git_before, before) = (self.git_facts(), self.files());
        let mut all = vec!["--format", "json"];
        all.extend(args);
        let run = self.run(&all);
        assert_eq!(git_before, self.git_facts(), "the run changed something in git");
        if run.code != 0 && !args.contains(&"--partial") {
            assert_eq!(before, self.files(), "a run that ends with {} wrote", run.code);
        }
        if run.code == 0 {
            let done = self.files();
            all.push("--allow-dirty");
            let again = self.run(&all);
            assert_eq!(
                (again.code, again.json["files"].as_array().map(Vec::len)),
                (0, Some(0)),
                "{}",
                again.text
            );
            assert_eq!(done, self.files(), "a second run changed something");
        }
        run
    }

    /// The real run, and the way back from the repository alone.
    pub(super) fn upgrade_and_back(&self, args: &[&str]) -> Run {
        let before = self.files();
        let run = self.upgrade(args);
        assert_eq!(run.code, 0, "{}", run.text);
        let after = self.files();
        let back = self.run(&["restore"]);
        assert_eq!(back.code, 0, "{}", back.text);
        assert_eq!(before, self.files(), "restore gave other files back");
        let again = self.run(&[args, &["--format", "json", "--allow-dirty"]].concat());
        assert_eq!(again.code, 0, "{}", again.text);
        assert_eq!(after, self.files(), "the same run wrote other files");
        run
    }

    /// The decisions file the tool prints.
    pub(super) fn decisions(&self, args: &[&str]) -> String {
        let run = self.run(&[&["decisions"], args].concat());
        assert_eq!(run.code, 0, "{}", run.text);
        run.stdout
    }

    /// Print the decisions file, fill in what is left open, and write it beside the repository.
    pub(super) fn decide(&self, action: &str) -> String {
        self.decided(&filled(&self.decisions(&[]), action))
    }

    /// Write a decisions file beside the repository; its path.
    pub(super) fn decided(&self, text: &str) -> String {
        let path = self.beside("decisions.yaml");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }

    pub(super) fn run(&self, args: &[&str]) -> Run {
        run(self.tool(&self.root).args(args))
    }

    /// The tool with a clean environment, in a folder.
    pub(super) fn tool(&self, folder: &Path) -> Command {
        let mut command = Command::new(BIN);
        command.current_dir(folder).env_clear().env("PATH", path()).env("HOME", self.dir.path());
        command
    }

    /// Every file of the state, by path below `specdev/`.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut out = BTreeMap::new();
        collect(&self.root.join(spec("")), "", &mut out);
        out
    }

    /// Refs and worktrees.
    pub(super) fn git_facts(&self) -> String {
        if !self.top.join(".git").exists() {
            return String::new();
        }
        let refs = self.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        let worktrees = self.git(&["worktree", "list", "--porcelain"]);
        format!("{refs}\n{worktrees}")
    }

    fn everything(&self) -> (String, String, BTreeMap<String, Vec<u8>>) {
        let is_git = self.top.join(".git").exists();
        let status = if is_git {
            self.git(&["status", "--porcelain", "--untracked-files=all"])
        } else {
            String::new()
        };
        (self.git_facts(), status, self.files())
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(spec(path))).unwrap()
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.root.join(spec(path)).exists()
    }

    /// What the Evidence file of a ticket of [`CHANGE`] holds.
    pub(super) fn evidence(&self, ticket: &str) -> String {
        self.read(&in_change(&format!("evidence/{ticket}.md")))
    }

    /// The record in the Evidence file of a ticket.
    pub(super) fn record(&self, ticket: &str) -> Value {
        fenced(&self.evidence(ticket), "## Workspace Execution Record").unwrap_or(Value::Null)
    }

    /// The context in the README of [`CHANGE`].
    pub(super) fn context(&self) -> Value {
        let path = in_change("README.md");
        if self.exists(&path) {
            fenced(&self.read(&path), "## Execution Context").unwrap_or(Value::Null)
        } else {
            Value::Null
        }
    }

    /// A member of the change-status of [`CHANGE`].
    pub(super) fn status(&self, key: &str) -> Value {
        let value: Value = serde_json::from_str(&self.read(&in_change(".status.json"))).unwrap();
        value[key].clone()
    }

    /// History entries of a file of [`CHANGE`]: what each says, and the text in its fence.
    pub(super) fn entries(&self, file: &str) -> Vec<(Value, String)> {
        let path = in_change(file);
        if !self.exists(&path) {
            return Vec::new();
        }
        let text = self.read(&path);
        let mut out = Vec::new();
        for part in text.split("<!-- specdev-history ").skip(1) {
            let (meta, rest) = part.split_once(" -->").unwrap();
            let fence: String = rest.trim_start().chars().take_while(|c| *c == '`').collect();
            let body = rest.trim_start().split_once('\n').unwrap().1;
            let body = body.split(&format!("\n{fence}\n")).next().unwrap();
            out.push((serde_json::from_str(meta).unwrap(), body.to_string()));
        }
        out
    }

    /// The entries that keep worktree records.
    pub(super) fn record_entries(&self, file: &str) -> Vec<(Value, String)> {
        let is_record = |(meta, _): &(Value, String)| {
            meta["pointer"].as_str().is_some_and(|p| p.starts_with("/worktrees/") || p == "record")
        };
        self.entries(file).into_iter().filter(is_record).collect()
    }
}

/// What a run came to.
pub(super) struct Run {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Both streams, for messages.
    pub(super) text: String,
    /// Standard output as JSON; null when it is none.
    pub(super) json: Value,
}

pub(super) fn run(command: &mut Command) -> Run {
    let out = command.stdin(Stdio::null()).output().unwrap();
    let stdout = String::from_utf8(out.stdout).unwrap();
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    let json = serde_json::from_str(&stdout).unwrap_or(Value::Null);
    let text = format!("exit {:?}\n{stderr}\n{stdout}", out.status.code());
    Run { code: out.status.code().unwrap(), stdout, stderr, text, json }
}

impl Run {
    /// All findings with this code.
    pub(super) fn all(&self, code: &str) -> Vec<&Value> {
        let list = self.json["findings"].as_array().unwrap_or_else(|| panic!("no findings: {}", self.text));
        list.iter().filter(|f| f["code"] == code).collect()
    }

    /// The one finding with this code.
    pub(super) fn one(&self, code: &str) -> &Value {
        let all = self.all(code);
        assert_eq!(all.len(), 1, "{code}: {}", self.text);
        all[0]
    }

    /// The message of the one finding with this code.
    pub(super) fn message(&self, code: &str) -> &str {
        self.one(code)["message"].as_str().unwrap()
    }

    /// The codes of everything that stops, once each, as one text.
    pub(super) fn stops(&self) -> String {
        self.codes(&["error", "blocker", "blocked"])
    }

    /// The codes of warnings, once each, as one text.
    pub(super) fn warnings(&self) -> String {
        self.codes(&["warning"])
    }

    /// The codes of notes, once each, as one text.
    pub(super) fn notes(&self) -> String {
        self.codes(&["note"])
    }

    fn codes(&self, severities: &[&str]) -> String {
        let list = self.json["findings"].as_array().unwrap_or_else(|| panic!("no findings: {}", self.text));
        let of = |f: &&Value| f["severity"].as_str().is_some_and(|s| severities.contains(&s));
        let codes: BTreeSet<&str> = list.iter().filter(of).filter_map(|f| f["code"].as_str()).collect();
        codes.into_iter().collect::<Vec<_>>().join(" ")
    }

    /// The paths the run writes, below `specdev/`.
    pub(super) fn writes(&self) -> Vec<&str> {
        let list = self.json["files"].as_array().unwrap_or_else(|| panic!("no files: {}", self.text));
        list.iter().filter_map(|f| f["path"].as_str()?.split_once("/specdev/").map(|(_, p)| p)).collect()
    }

    /// The failure of the run itself.
    pub(super) fn error(&self) -> &str {
        self.json["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {}", self.text))
    }

    /// Assert that the run stops for these reasons and no others.
    #[track_caller]
    pub(super) fn assert_blocked(&self, codes: &str) {
        assert_eq!((self.code, self.stops().as_str()), (4, codes), "{}", self.text);
    }

    /// Assert that nothing stops the run.
    #[track_caller]
    pub(super) fn assert_done(&self) {
        assert_eq!((self.code, self.stops().as_str()), (0, ""), "{}", self.text);
    }
}

/// A change to be written.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) version: u64,
    pub(super) status: &'static str,
    pub(super) leadership: &'static str,
    pub(super) worktrees: Vec<Value>,
    files: BTreeMap<String, Vec<u8>>,
}

impl Change {
    /// An active change of version 5, led by [`LEAD`], with these records.
    pub(super) fn v5(worktrees: Vec<Value>) -> Change {
        Change::of(5, worktrees)
    }

    /// The same in another version.
    pub(super) fn of(version: u64, worktrees: Vec<Value>) -> Change {
        let files = BTreeMap::from([("LOG.md".to_string(), b"# LOG\n".to_vec())]);
        Change { name: CHANGE.into(), version, status: "active", leadership: LEAD, worktrees, files }
    }

    pub(super) fn named(mut self, name: &str) -> Change {
        self.name = name.into();
        self
    }

    pub(super) fn status(mut self, status: &'static str) -> Change {
        self.status = status;
        self
    }

    pub(super) fn leadership(mut self, name: &'static str) -> Change {
        self.leadership = name;
        self
    }

    /// A file below the change's folder.
    pub(super) fn file(mut self, path: &str, text: impl AsRef<[u8]>) -> Change {
        self.files.insert(path.into(), text.as_ref().to_vec());
        self
    }

    pub(super) fn forget(&mut self, path: &str) {
        self.files.remove(path);
    }

    /// Plain Evidence files for tickets.
    pub(super) fn evidence(self, tickets: &[&str]) -> Change {
        tickets
            .iter()
            .fold(self, |c, t| c.file(&format!("evidence/{t}.md"), format!("# Evidence: {t}\n\nAll seen.\n")))
    }

    /// Ticket files of this status.
    pub(super) fn tickets(self, status: &str, tickets: &[&str]) -> Change {
        tickets.iter().fold(self, |c, t| {
            let text = format!(
                "---\nschema_version: 3\nartifact: ticket\nid: {t}\nstatus: {status}\n---\n\n# {t}\n"
            );
            c.file(&format!("ticket/{}-work.md", &t[2..]), text)
        })
    }

    /// A goal plan with these header lines.
    pub(super) fn plan(self, version: u64, lines: &str) -> Change {
        let name = self.name.clone();
        let text = format!(
            "---\nschema_version: {version}\nartifact: goal-plan\nchange: {name}\nstatus: draft\nmodes: []\n{lines}\
             ready_for_execution: false\n---\n\n# Goal Plan\n"
        );
        self.file("goal-plan.md", text)
    }

    /// A goal plan of version 8 with this lead.
    pub(super) fn led_by(self, lead: &str) -> Change {
        self.plan(8, &format!("orchestration: lead-directed\nlead: {lead}\nintegration_attempt_limit: 3\nticket_execution: auto\n"))
    }

    fn value(&self) -> Value {
        let mut value = json!({
            "schema_version": self.version, "artifact": "change-status", "change": self.name,
            "change_status": self.status, "current_work": "specdev/I-implement",
            "created_at": "2026-08-01T09:00:00Z", "updated_at": "2026-08-02T09:00:00Z",
            "completed_at": if self.status == "completed" { json!("2026-08-03T09:00:00Z") } else { Value::Null },
            "archived": false, "archive_path": null, "blockers": [], "deviations": [],
            "worktrees": self.worktrees,
        });
        if self.version >= 5 {
            let no = |scope: &str| json!({"status": "not-authorized", "source": null, "granted_at": null, "scope": scope});
            value["works_run"] = json!(["specdev/I-implement"]);
            value["claimed_investigations"] = json!([]);
            value["execution_authorization"] = json!({
                "implementation_commit": no("commits"), "local_candidate_integration": no("integration"), "source_cleanup": no("cleanup"),
            });
            value["leadership"] = json!({"current": self.leadership, "epoch": 1, "assigned_at": "2026-08-01T09:00:00Z", "history": []});
        }
        value
    }

    fn write(&self, lab: &Lab) {
        let base = spec(&format!("changes/{}", self.name));
        lab.write(&format!("{base}/.status.json"), pretty(&self.value()));
        for (path, bytes) in &self.files {
            lab.write(&format!("{base}/{path}"), bytes);
        }
    }
}

/// A record of version 3: no parent branch, no checkpoint, a folder named after the ticket alone.
pub(super) fn v3(lab: &Lab, ticket: &str, status: &str) -> Value {
    json!({
        "ticket_id": ticket, "owner": OWNER, "provider": "git", "base_sha": lab.m(0),
        "branch": branch_of(ticket), "workspace_ref": format!("specdev-worktree/{ticket}"),
        "status": status, "updated_at": "2026-08-02T09:00:00Z",
    })
}

/// A record of version 5. A finished one says that everything passed, and its result is `m(1)`; one in
/// review or integration has `m(1)` for its checkpoint; the others have none.
pub(super) fn v5(lab: &Lab, ticket: &str, status: &str) -> Value {
    let done = matches!(status, "integrated" | "removed");
    let begun = done || matches!(status, "review" | "integrating");
    let sha = |when: bool, n: usize| if when { json!(lab.m(n)) } else { Value::Null };
    let has_candidate = done || status == "integrating";
    let candidate = |text: String| if has_candidate { json!(text) } else { Value::Null };
    json!({
        "ticket_id": ticket, "owner": OWNER, "implementation_owner": WORKER, "integration_owner": OWNER,
        "provider": "git", "base_sha": lab.m(0), "parent_branch": "main", "branch": branch_of(ticket),
        "workspace_ref": path_of(ticket), "source_checkpoint": sha(begun, 1),
        "integration": {
            "status": if done { "passed" } else { "pending" }, "parent_ref": "main",
            "parent_before_sha": sha(has_candidate, 0), "source_sha": sha(has_candidate, 1),
            "candidate_sha": sha(has_candidate, 1), "candidate_tree_sha": sha(has_candidate, 1),
            "candidate_branch": candidate(candidate_branch(ticket)),
            "candidate_workspace_ref": candidate(candidate_path(ticket)),
            "result_sha": sha(done, 1), "method": if done { json!("fast-forward") } else { Value::Null },
            "conflict_paths": [], "verification": if done { "passed" } else { "pending" },
            "full_suite": {"required": true, "status": if done { "passed" } else { "pending" }, "reason": null, "evidence": null},
            "e2e": {"required": false, "status": "not-required", "reason": "no user interface", "evidence": null},
            "evidence": format!("<Path>{{roots.state}}/specdev/changes/{CHANGE}/evidence/{ticket}.md</Path>"),
            "attempts": if has_candidate { 1 } else { 0 }, "promotion_status": if done { "applied" } else { "pending" },
        },
        "status": status, "updated_at": "2026-08-02T09:00:00Z",
    })
}

/// A record of version 6 that works in the current checkout.
pub(super) fn current(lab: &Lab, ticket: &str, status: &str) -> Value {
    with(
        v5(lab, ticket, status),
        &[
            ("/branch", json!("main")),
            ("/workspace_ref", json!("current")),
            ("/integration/candidate_sha", Value::Null),
            ("/integration/candidate_tree_sha", Value::Null),
            ("/integration/candidate_branch", Value::Null),
            ("/integration/candidate_workspace_ref", Value::Null),
        ],
    )
}

/// A legacy record of a Direct Spec.
pub(super) fn direct_spec(lab: &Lab, status: &str) -> Value {
    let mut value = with(
        v5(lab, "T-01", status),
        &[
            ("/branch", json!(format!("speculo/{CHANGE}/direct-spec"))),
            ("/workspace_ref", json!(format!("specdev-worktree/{CHANGE}/direct-spec"))),
            ("/integration/candidate_branch", Value::Null),
            ("/integration/candidate_workspace_ref", Value::Null),
        ],
    );
    let members = value.as_object_mut().unwrap();
    members.shift_remove("ticket_id");
    members.insert("purpose".into(), json!("direct-spec"));
    members.insert("change".into(), json!(CHANGE));
    members.insert("integration_attempt_limit".into(), json!(4));
    value
}

/// An Evidence file with a legacy record.
pub(super) fn legacy(name: &str, record: &Value) -> String {
    format!(
        "# Evidence: {name}\n\nSeen.\n\n## Workspace Execution Record\n\n```json\n{}```\n\n## 9. Rest\n\nNone.\n",
        pretty(record)
    )
}

/// The value with some places set.
pub(super) fn with(mut value: Value, places: &[(&str, Value)]) -> Value {
    for (pointer, new) in places {
        *value.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = new.clone();
    }
    value
}

pub(super) fn branch_of(ticket: &str) -> String {
    format!("speculo/{CHANGE}/{ticket}")
}

pub(super) fn path_of(ticket: &str) -> String {
    format!("specdev-worktree/{CHANGE}/{ticket}")
}

pub(super) fn candidate_branch(ticket: &str) -> String {
    format!("speculo/integration/{CHANGE}/{ticket}")
}

pub(super) fn candidate_path(ticket: &str) -> String {
    format!("specdev-worktree/.integration/{CHANGE}/{ticket}")
}

/// A path below the project root.
pub(super) fn spec(path: &str) -> String {
    format!("speculo/.speculo/specdev/{path}")
}

/// A path of [`CHANGE`] below `specdev/`.
pub(super) fn in_change(path: &str) -> String {
    format!("changes/{CHANGE}/{path}")
}

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// A printed decisions file with the owner's parts filled in.
pub(super) fn filled(text: &str, action: &str) -> String {
    text.replace("        action:\n", &format!("        action: {action}\n"))
        .replace("        writers:\n", "        writers: stopped\n")
        .replace("        confirmed_by:\n", &format!("        confirmed_by: {OWNER}\n"))
}

/// The JSON in the first fence after a heading.
pub(super) fn fenced(text: &str, heading: &str) -> Option<Value> {
    let text = text.replace("\r\n", "\n");
    let section = text.split(&format!("{heading}\n")).nth(1)?.split("\n## ").next()?;
    let body = section.split("```json\n").nth(1)?.split("\n```").next()?;
    Some(serde_json::from_str(body).unwrap())
}

pub(super) fn git(folder: &Path, args: &[&str]) -> String {
    let out = git_command(folder).args(args).output().unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim_end().to_string()
}

/// git with a fixed author, fixed dates, and nothing of the surroundings.
pub(super) fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).env_clear().env("PATH", path()).env("HOME", "/nonexistent");
    for (key, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "dev"),
        ("GIT_AUTHOR_EMAIL", "dev@example.invalid"),
        ("GIT_AUTHOR_DATE", "1785000000 +0000"),
        ("GIT_COMMITTER_NAME", "dev"),
        ("GIT_COMMITTER_EMAIL", "dev@example.invalid"),
        ("GIT_COMMITTER_DATE", "1785000000 +0000"),
    ] {
        command.env(key, value);
    }
    command.stdin(Stdio::null());
    command
}

pub(super) fn path() -> &'static OsStr {
    static PATH: OnceLock<std::ffi::OsString> = OnceLock::new();
    PATH.get_or_init(|| std::env::var_os("PATH").unwrap())
}

/// The same with the tool in it.
pub(super) fn path_with_tool() -> std::ffi::OsString {
    let mut out = Path::new(BIN).parent().unwrap().as_os_str().to_owned();
    out.push(":");
    out.push(path());
    out
}

/// The files of the repository that every lab begins with, and its commits.
struct Template {
    files: BTreeMap<String, Vec<u8>>,
    commits: Vec<String>,
}

fn template() -> &'static Template {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        git(top, &["init", "-q", "-b", "main", "--template="]);
        fs::write(top.join(".gitignore"), "specdev-worktree/\n").unwrap();
        let commit = |n: usize| {
            fs::write(top.join("code.txt"), format!("{n}\n")).unwrap();
            git(top, &["add", "-A"]);
            git(top, &["commit", "-q", "-m", &format!("m{n}")]);
            git(top, &["rev-parse", "HEAD"])
        };
        let commits = (0..3).map(commit).collect();
        let mut files = BTreeMap::new();
        collect(top, "", &mut files);
        Template { files, commits }
    })
}

fn collect(folder: &Path, prefix: &str, out: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), out);
        } else {
            out.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}
