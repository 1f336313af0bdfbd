//! Runs git: a few processes at a time, in an environment of our own, with a time limit.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};

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

    /// The time one process may take, from its start to its last byte.
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
        let mut running: Vec<Running<'_>> = calls.into_iter().map(|call| self.begin(call)).collect();
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
        Running::new(call, started, self.limit)
    }

    #[expect(clippy::disallowed_methods, reason = "this module is the one that starts git")]
    fn start(&self, call: &Call<'_>) -> io::Result<Child> {
        let mut command = Command::new(&self.path);
        self.set_environment(&mut command, call.ceiling);
        command.arg("-C").arg(call.folder).args(GLOBAL).args(call.args);
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
pub(super) struct Call<'a> {
    /// Where: `-C`.
    pub(super) folder: &'a Path,
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
    pub(super) fn new(folder: &'a Path, args: &'a [&'a str]) -> Call<'a> {
        Call { folder, args, input: None, ceiling: None, codes: &[0] }
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

/// A process and what it has said so far. Its pipes do not block and nobody waits for them alone: a
/// process that git left behind may keep one open for ever.
struct Running<'a> {
    call: Call<'a>,
    child: Option<Child>,
    stdin: Option<ChildStdin>,
    written: usize,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    said: Vec<u8>,
    complained: Vec<u8>,
    limit: Duration,
    deadline: Instant,
    /// How long to wait for the end of a process that has closed its pipes; it grows.
    pause: Duration,
    is_ended: bool,
    answer: Result<Output, GitFault>,
}

impl<'a> Running<'a> {
    fn new(call: Call<'a>, started: Result<Child, GitFault>, limit: Duration) -> Running<'a> {
        let mut running = Running {
            call,
            child: None,
            stdin: None,
            written: 0,
            stdout: None,
            stderr: None,
            said: Vec::new(),
            complained: Vec::new(),
            limit,
            deadline: Instant::now() + limit,
            pause: PAUSES.0,
            is_ended: false,
            answer: Err(GitFault::new("git did not answer")),
        };
        match started {
            Ok(mut child) => {
                running.stdin = child.stdin.take();
                running.stdout = child.stdout.take();
                running.stderr = child.stderr.take();
                running.child = Some(child);
                let set = running.pipes().try_for_each(do_not_block);
                if let Err(e) = set {
                    running.unreadable(&e.into());
                }
            }
            Err(fault) => running.end(Err(fault)),
        }
        running
    }

    fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let stdin = self.stdin.as_ref().map(AsFd::as_fd);
        let stdout = self.stdout.as_ref().map(AsFd::as_fd);
        stdin.into_iter().chain(stdout).chain(self.stderr.as_ref().map(AsFd::as_fd))
    }

    /// Does whatever can be done without waiting.
    fn advance(&mut self) {
        if self.is_ended {
            return;
        }
        self.write();
        let read = read(&mut self.stdout, &mut self.said)
            .and_then(|()| read(&mut self.stderr, &mut self.complained));
        if let Err(e) = read {
            return self.unreadable(&e);
        }
        if self.has_closed() {
            match self.child.as_mut().map(Child::try_wait).transpose() {
                Ok(Some(Some(status))) => {
                    // Its number may be another process's by now.
                    self.child = None;
                    let answer = self.judge(status);
                    return self.end(answer);
                }
                Ok(_) => {}
                Err(e) => return self.unreadable(&e),
            }
        }
        if Instant::now() >= self.deadline {
            let message = format!("`{}` did not finish within {:?}", shown(self.call.args), self.limit);
            self.end(Err(GitFault::new(message).hint(self.again())));
        }
    }

    /// Whether everything was said.
    fn has_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    fn write(&mut self) {
        let Some(pipe) = &mut self.stdin else { return };
        let input = self.call.input.as_deref().unwrap_or_default();
        while self.written < input.len() {
            match pipe.write(&input[self.written..]) {
                Ok(written) => self.written += written,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                // A git that stops reading says why on standard error, or answers too little.
                Err(_) => break,
            }
        }
        self.stdin = None;
    }

    /// What the end of the process and its words come to.
    fn judge(&mut self, status: ExitStatus) -> Result<Output, GitFault> {
        let shown = shown(self.call.args);
        let stderr = String::from_utf8_lossy(&self.complained);
        let Some(code) = status.code().filter(|code| self.call.codes.contains(code)) else {
            let said = first_line(&stderr).unwrap_or_else(|| status.to_string());
            let hint = remedy(&stderr).unwrap_or_else(|| self.again());
            return Err(GitFault::new(format!("`{shown}` failed: {said}")).hint(hint));
        };
        if let Some(line) = stderr.lines().find(|line| INCOMPLETE.iter().any(|start| line.starts_with(start)))
        {
            return Err(GitFault::new(format!("`{shown}` is incomplete: {}", clip(line))).hint(self.again()));
        }
        Ok(Output { code, stdout: std::mem::take(&mut self.said) })
    }

    fn unreadable(&mut self, e: &io::Error) {
        let message = format!("cannot read what `{}` says: {e}", shown(self.call.args));
        self.end(Err(GitFault::new(message).hint(self.again())));
    }

    fn again(&self) -> String {
        command(self.call.folder, self.call.args)
    }

    fn end(&mut self, answer: Result<Output, GitFault>) {
        self.kill();
        (self.stdin, self.stdout, self.stderr) = (None, None, None);
        self.is_ended = true;
        self.answer = answer;
    }

    /// Ends the process, if it still runs, and whatever it started; failures mean that it is gone already.
    fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let _ = child.kill();
        let _ = child.wait();
    }

    fn into_answer(mut self) -> Result<Output, GitFault> {
        std::mem::replace(&mut self.answer, Err(GitFault::new("git did not answer")))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Until something can be read or written, a process may have ended, or its time is over.
fn wait(running: &mut [Running<'_>]) {
    let now = Instant::now();
    let mut longest = Duration::MAX;
    for process in running.iter_mut().filter(|process| !process.is_ended) {
        longest = longest.min(process.deadline.saturating_duration_since(now));
        if process.has_closed() {
            longest = longest.min(process.pause);
            process.pause = (process.pause * 2).min(PAUSES.1);
        }
    }
    let mut pipes = Vec::new();
    for process in running.iter().filter(|process| !process.is_ended) {
        pipes.extend(process.stdin.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        pipes.extend(process.stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        pipes.extend(process.stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    }
    let longest = Timespec::try_from(longest).ok();
    // A signal, or no memory: whoever waits looks again anyway.
    if poll(&mut pipes, longest.as_ref()).is_err() {
        std::thread::sleep(PAUSES.0);
    }
}

fn do_not_block(pipe: BorrowedFd<'_>) -> rustix::io::Result<()> {
    fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)
}

/// Reads what is there; at the end the pipe is let go. Only so much at a time, since a process may talk
/// faster than anybody reads.
fn read(pipe: &mut Option<impl Read>, bytes: &mut Vec<u8>) -> io::Result<()> {
    let Some(open) = pipe else { return Ok(()) };
    match open.by_ref().take(AT_A_TIME).read_to_end(bytes) {
        Ok(count) if count as u64 == AT_A_TIME => Ok(()),
        Ok(_) => {
            *pipe = None;
            Ok(())
        }
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(e) => Err(e),
    }
}

fn shown(args: &[&str]) -> String {
    let words: Vec<&str> = args.iter().copied().take_while(|arg| !arg.starts_with('-')).collect();
    format!("git {}", words.join(" "))
}

/// The line that says why, without git's own prefix.
fn first_line(stderr: &str) -> Option<String> {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.starts_with("fatal: ")).or_else(|| lines().next())?;
    Some(clip(line.strip_prefix("fatal: ").unwrap_or(line)))
}

/// The command git asks its user to type.
fn remedy(stderr: &str) -> Option<String> {
    stderr.lines().map(str::trim).find(|line| line.starts_with("git config ")).map(str::to_owned)
}

fn clip(line: &str) -> String {
    line.chars().take(300).collect()
}

fn changes_answers(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.starts_with("GIT_") || name == "LANGUAGE"
}

const LIMIT: Duration = Duration::from_secs(30);

/// The first and the longest pause between two looks at a process that is about to end.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(5));

/// How many bytes are read before the clock is looked at again.
const AT_A_TIME: u64 = 1 << 20;

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
const INCOMPLETE: [&str; 2] = ["warning: could not open directory", "warning: ignoring broken ref"];
