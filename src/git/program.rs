//! Runs git: one process at a time, in an environment of our own, with a time limit.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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

    /// Runs git to its end. An exit code not among `codes`, and a success that git itself calls
    /// incomplete, is a fault.
    pub(super) fn run(&self, call: Call<'_>, codes: &[i32]) -> Result<Output, GitFault> {
        let Call { folder, args, input, ceiling } = call;
        let shown = shown(args);
        let again = || command(folder, args);

        let mut child = self
            .start(folder, args, input.is_some(), ceiling)
            .map_err(|e| GitFault::new(format!("cannot start {}: {e}", Path::new(&self.path).display())))?;
        let finished = finish(&mut child, input, Instant::now() + self.limit);
        let (status, stdout, stderr) = match finished {
            Ok(Some(finished)) => finished,
            Ok(None) => {
                end(&mut child);
                let message = format!("`{shown}` did not finish within {:?}", self.limit);
                return Err(GitFault::new(message).hint(again()));
            }
            Err(e) => {
                end(&mut child);
                return Err(GitFault::new(format!("cannot read what `{shown}` says: {e}")).hint(again()));
            }
        };

        let stderr = String::from_utf8_lossy(&stderr);
        let Some(code) = status.code().filter(|code| codes.contains(code)) else {
            let said = first_line(&stderr).unwrap_or_else(|| status.to_string());
            let hint = remedy(&stderr).unwrap_or_else(again);
            return Err(GitFault::new(format!("`{shown}` failed: {said}")).hint(hint));
        };
        if let Some(line) = stderr.lines().find(|line| INCOMPLETE.iter().any(|start| line.starts_with(start)))
        {
            return Err(GitFault::new(format!("`{shown}` is incomplete: {}", clip(line))).hint(again()));
        }
        Ok(Output { code, stdout })
    }

    #[expect(clippy::disallowed_methods, reason = "this module is the one that starts git")]
    fn start(&self, folder: &Path, args: &[&str], piped: bool, ceiling: Option<&Path>) -> io::Result<Child> {
        let mut command = Command::new(&self.path);
        command.env_clear().envs(self.environment(ceiling));
        command.arg("-C").arg(folder).args(GLOBAL).args(args);
        command.stdin(if piped { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what git started can be ended with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn()
    }

    /// The environment we were started in, without what changes git's answers.
    fn environment(&self, ceiling: Option<&Path>) -> BTreeMap<OsString, OsString> {
        let inherited = self.inherited.iter().cloned();
        let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().chain(inherited).collect();
        variables.retain(|name, _| !changes_answers(name));
        for (name, value) in SET {
            variables.insert(name.into(), value.into());
        }
        if let Some(ceiling) = ceiling {
            variables.insert("GIT_CEILING_DIRECTORIES".into(), ceiling.into());
        }
        variables
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
}

/// One answer.
pub(super) struct Output {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
}

/// The command line that shows the same to a person.
pub(super) fn command(folder: &Path, args: &[&str]) -> String {
    let quoted = folder.to_string_lossy().replace('\'', r"'\''");
    let words: Vec<&str> = args.iter().copied().take_while(|arg| !arg.starts_with('-')).collect();
    format!("git -C '{quoted}' {}", words.join(" "))
}

/// A path as git printed it.
pub(super) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    return Some(PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)));
    #[cfg(not(unix))]
    return String::from_utf8(bytes.to_vec()).ok().map(PathBuf::from);
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

/// Status, standard output and standard error, when all three are there in time. No thread is waited
/// for: a process that git left behind may keep a pipe open for ever.
fn finish(
    child: &mut Child,
    input: Option<Vec<u8>>,
    deadline: Instant,
) -> io::Result<Option<(ExitStatus, Vec<u8>, Vec<u8>)>> {
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A git that stops reading says why on standard error, or answers too little.
        thread::Builder::new().spawn(move || pipe.write_all(&input))?;
    }
    let (sender, receiver) = mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        collect(pipe, Stream::Out, sender.clone())?;
    }
    if let Some(pipe) = child.stderr.take() {
        collect(pipe, Stream::Err, sender)?;
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok((Stream::Out, bytes)) => out = bytes?,
            Ok((Stream::Err, bytes)) => err = bytes?,
            Err(_) => return Ok(None),
        }
    }
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some((status, out, err)));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

enum Stream {
    Out,
    Err,
}

fn collect<R: Read + Send + 'static>(
    mut pipe: R,
    stream: Stream,
    sender: mpsc::Sender<(Stream, io::Result<Vec<u8>>)>,
) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let result = pipe.read_to_end(&mut bytes).map(|_| bytes);
        // Nobody listens any more once the time is over.
        let _ = sender.send((stream, result));
    })?;
    Ok(())
}

/// Ends the child and whatever it started; failures mean that it is gone already.
fn end(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(child),
        rustix::process::Signal::KILL,
    );
    let _ = child.kill();
    let _ = child.wait();
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
