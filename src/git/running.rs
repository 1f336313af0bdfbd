//! Processes that run at the same time: their pipes, their time limits, their ends.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::resume_unwind;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};

use super::program::{Call, GitFault, INCOMPLETE, Output, Program, clip, command, first_line, remedy, shown};

/// A process and what it has said so far. Its pipes do not block and nobody waits for them alone: a
/// process that git left behind may keep one open for ever.
pub(super) struct Running<'a> {
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
    pub(super) is_ended: bool,
    pub(super) answer: Result<Output, GitFault>,
}

impl<'a> Running<'a> {
    pub(super) fn new(call: Call<'a>, started: Result<Child, GitFault>) -> Running<'a> {
        let mut running = Running {
            call,
            child: None,
            stdin: None,
            written: 0,
            stdout: None,
            stderr: None,
            said: Vec::new(),
            complained: Vec::new(),
            limit: Duration::ZERO,
            deadline: Instant::now(),
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

    /// From now on the process may take so long.
    pub(super) fn begin_to_wait(&mut self, limit: Duration) {
        self.limit = limit;
        self.deadline = Instant::now() + limit;
    }

    /// Does whatever can be done without waiting.
    pub(super) fn advance(&mut self) {
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
        command(&self.call.folder, self.call.args)
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

    pub(super) fn into_answer(mut self) -> Result<Output, GitFault> {
        std::mem::replace(&mut self.answer, Err(GitFault::new("git did not answer")))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Processes that are being started by a thread of their own; when they are dropped, they are ended.
pub(super) struct Starting(Option<JoinHandle<Vec<Running<'static>>>>, Vec<Running<'static>>);

impl Starting {
    pub(super) fn new(program: &Program, calls: Vec<Call<'static>>) -> Starting {
        let (aside, theirs) = (program.clone(), calls.clone());
        match thread::Builder::new().spawn(move || aside.start_all(theirs)) {
            Ok(handle) => Starting(Some(handle), Vec::new()),
            // No thread to be had.
            Err(_) => Starting(None, program.start_all(calls)),
        }
    }

    /// Waits until all of them run.
    pub(super) fn started(mut self) -> Vec<Running<'static>> {
        match self.0.take().map(JoinHandle::join) {
            Some(Ok(running)) => running,
            Some(Err(panic)) => resume_unwind(panic),
            None => std::mem::take(&mut self.1),
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        drop(self.0.take().map(JoinHandle::join));
    }
}

/// Until something can be read or written, a process may have ended, or its time is over.
pub(super) fn wait(running: &mut [Running<'_>]) {
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

/// The first and the longest pause between two looks at a process that is about to end.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(5));

/// How many bytes are read before the clock is looked at again.
const AT_A_TIME: u64 = 1 << 20;
