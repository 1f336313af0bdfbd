//! Runs git: a few processes at a time, in an environment of our own, with a time limit.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::running::{Running, wait};
use crate::finding::{Code, Finding, Scope};

/// git did not answer, or not in full: what becomes the finding `git-unreadable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFault {
    /// What was asked and the first line git said, as a lower-case fragment.
    pub message: String,
    /// The command that git named as the remedy, or the one to look at the failure with.
    pub hint: Option<String>,
}

impl GitFault {
    /// A fault without a hint.
    pub fn new(message: impl Into<String>) -> GitFault {
        GitFault { message: message.into(), hint: None }
    }

    /// The same fault with the command to type next.
    pub fn hint(mut self, command: impl Into<String>) -> GitFault {
        self.hint = Some(command.into());
        self
    }

    /// The fault as a blocker of the whole repository.
    pub fn finding(&self) -> Finding {
        let finding = Finding::new(Code::GitUnreadable, Scope::Repository, None, self.message.clone());
        match &self.hint {
            Some(hint) => finding.next(hint.clone()),
            None => finding,
        }
    }
}

impl fmt::Display for GitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GitFault {}

/// Which program is git, and how long it may take.
#[derive(Debug, Clone)]
pub struct Program {
    path: OsString,
    limit: Duration,
    inherited: Vec<(OsString, OsString)>,
}

impl Default for Program {
    /// `git` from `PATH`, 30 seconds for each process.
    fn default() -> Program {
        Program::new("git")
    }
}

impl Program {
    /// Another program in the place of git.
    pub fn new(path: impl Into<OsString>) -> Program {
        Program { path: path.into(), limit: LIMIT, inherited: Vec::new() }
    }

    /// The time one process may take to its last byte, from when somebody waits for it.
    pub fn limit(mut self, limit: Duration) -> Program {
        self.limit = limit;
        self
    }

    /// As if the environment we were started in also held this variable. It is treated like all others:
    /// what git must not see, it does not see.
    pub fn inherit(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Program {
        self.inherited.push((name.into(), value.into()));
        self
    }

    /// Runs git to its end once for each call, all at the same time. An exit code not among those
    /// expected, and a success that git itself calls incomplete, is a fault. Answers are in the order of
    /// the calls, and the first fault in that order is the last answer: what still runs then is ended.
    pub(super) fn run_all(&self, calls: Vec<Call<'_>>) -> Answers {
        self.answers(self.start_all(calls))
    }

    /// Starts git once for each call. What is dropped before it has answered is ended.
    pub(super) fn start_all<'a>(&self, calls: Vec<Call<'a>>) -> Vec<Running<'a>> {
        calls.into_iter().map(|call| self.begin(call)).collect()
    }

    /// Waits for the answers of what was started.
    pub(super) fn answers(&self, mut running: Vec<Running<'_>>) -> Answers {
        running.iter_mut().for_each(|process| process.begin_to_wait(self.limit));
        loop {
            running.iter_mut().for_each(Running::advance);
            let known = running.iter().take_while(|process| process.is_ended).count();
            let fault = running.iter().take(known).position(|process| process.answer.is_err());
            if let Some(last) = fault.or((known == running.len()).then_some(known)) {
                running.truncate(last.saturating_add(1));
                let answers: Vec<_> = running.into_iter().map(Running::into_answer).collect();
                return Answers(answers.into_iter());
            }
            wait(&mut running);
        }
    }

    fn begin<'a>(&self, call: Call<'a>) -> Running<'a> {
        let started = self
            .start(&call)
            .map_err(|e| GitFault::new(format!("cannot start {}: {e}", Path::new(&self.path).display())));
        Running::new(call, started)
    }

    #[expect(clippy::disallowed_methods, reason = "this module is the one that starts git")]
    fn start(&self, call: &Call<'_>) -> io::Result<Child> {
        let mut command = Command::new(&self.path);
        self.set_environment(&mut command, call.ceiling);
        command.arg("-C").arg(&*call.folder).args(GLOBAL).args(call.args);
        command.stdin(if call.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what git started can be ended with it.
        command.process_group(0);
        command.spawn()
    }

    /// The environment we were started in, without what changes git's answers. Variables are taken out
    /// one by one: a command whose `PATH` is its own cannot be started without a copy of this process.
    fn set_environment(&self, command: &mut Command, ceiling: Option<&Path>) {
        for (name, _) in std::env::vars_os().filter(|(name, _)| changes_answers(name)) {
            command.env_remove(name);
        }
        command.envs(self.inherited.iter().filter(|(name, _)| !changes_answers(name)).cloned());
        command.envs(SET);
        if let Some(ceiling) = ceiling {
            command.env("GIT_CEILING_DIRECTORIES", ceiling);
        }
    }
}

/// One question.
#[derive(Clone)]
pub(super) struct Call<'a> {
    /// Where: `-C`.
    pub(super) folder: Cow<'a, Path>,
    pub(super) args: &'a [&'a str],
    /// What git reads from standard input; nothing when `None`.
    pub(super) input: Option<Vec<u8>>,
    /// The folder above which no repository is looked for, exclusive.
    pub(super) ceiling: Option<&'a Path>,
    /// The exit codes of an answer.
    pub(super) codes: &'a [i32],
}

impl<'a> Call<'a> {
    /// A question without input that git answers with exit code 0.
    pub(super) fn new(folder: impl Into<Cow<'a, Path>>, args: &'a [&'a str]) -> Call<'a> {
        Call { folder: folder.into(), args, input: None, ceiling: None, codes: &[0] }
    }
}

/// One answer.
pub(super) struct Output {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
}

/// Answers in the order of the questions, up to the first fault.
pub(super) struct Answers(std::vec::IntoIter<Result<Output, GitFault>>);

impl Answers {
    /// The answer to the next question.
    pub(super) fn next(&mut self) -> Result<Output, GitFault> {
        self.0.next().unwrap_or_else(|| Err(GitFault::new("git was not asked")))
    }
}

/// The command line that shows the same to a person.
pub(super) fn command(folder: &Path, args: &[&str]) -> String {
    let quoted = folder.to_string_lossy().replace('\'', r"'\''");
    let words: Vec<&str> = args.iter().copied().take_while(|arg| !arg.starts_with('-')).collect();
    format!("git -C '{quoted}' {}", words.join(" "))
}

/// A path as git printed it.
pub(super) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    Some(PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
}

/// A path as text to show and compare: bytes that are no UTF-8 as `\xNN`.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

pub(super) fn shown(args: &[&str]) -> String {
    let words: Vec<&str> = args.iter().copied().take_while(|arg| !arg.starts_with('-')).collect();
    format!("git {}", words.join(" "))
}

/// The line that says why, without git's own prefix.
pub(super) fn first_line(stderr: &str) -> Option<String> {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.starts_with("fatal: ")).or_else(|| lines().next())?;
    Some(clip(line.strip_prefix("fatal: ").unwrap_or(line)))
}

/// The command git asks its user to type.
pub(super) fn remedy(stderr: &str) -> Option<String> {
    stderr.lines().map(str::trim).find(|line| line.starts_with("git config ")).map(str::to_owned)
}

pub(super) fn clip(line: &str) -> String {
    line.chars().take(300).collect()
}

fn changes_answers(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.starts_with("GIT_") || name == "LANGUAGE"
}

const LIMIT: Duration = Duration::from_secs(30);

const SET: [(&str, &str); 4] = [
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // A partial clone must not go to the network for an object somebody wrote into a state file.
    ("GIT_NO_LAZY_FETCH", "1"),
];

const GLOBAL: [&str; 11] = [
    "--no-optional-locks",
    "--no-pager",
    // Ancestry as every clone sees it.
    "--no-replace-objects",
    "-c",
    "core.quotePath=false",
    // Starts a hook, or a daemon.
    "-c",
    "core.fsmonitor=false",
    // Trusts the times of folders; a file it misses would be somebody's work.
    "-c",
    "core.untrackedCache=false",
    // The same as GIT_NO_LAZY_FETCH for a git before 2.44.
    "-c",
    "protocol.allow=never",
];

/// What git says when it goes on without something it should have seen.
pub(super) const INCOMPLETE: [&str; 2] =
    ["warning: could not open directory", "warning: ignoring broken ref"];
