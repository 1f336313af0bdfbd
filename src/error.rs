//! Failures of the run itself, as opposed to findings about the data: a kind, which decides the exit
//! code (contract.md §7), what happened, and what to type next.

use std::fmt;

/// What kind of failure; each kind has one exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The run failed and nothing changed (1).
    Failed,
    /// The command line or the decisions file (2).
    Usage,
    /// Something is pending, or findings of `validate` (3).
    Pending,
    /// An owner must act (4).
    Blocked,
    /// Data newer than this tool (5).
    Newer,
    /// Input unreadable or invalid (6).
    Invalid,
    /// Another run holds the lock (7).
    Locked,
    /// Files changed since the plan was made (8).
    Changed,
    /// An interrupted run was found, or was just caused (9).
    Recovery,
    /// Stopped by SIGINT (130).
    Interrupted,
    /// Stopped by SIGTERM (143).
    Terminated,
    /// Standard output was closed (141).
    ClosedOutput,
}

impl Kind {
    /// The exit code of this kind.
    pub fn exit(self) -> u8 {
        match self {
            Kind::Failed => 1,
            Kind::Usage => 2,
            Kind::Pending => 3,
            Kind::Blocked => 4,
            Kind::Newer => 5,
            Kind::Invalid => 6,
            Kind::Locked => 7,
            Kind::Changed => 8,
            Kind::Recovery => 9,
            Kind::Interrupted => 130,
            Kind::Terminated => 143,
            Kind::ClosedOutput => 141,
        }
    }
}

/// A failure: kind, cause and hints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Which exit code.
    pub kind: Kind,
    /// A lower-case fragment that fits "failed to …" or stands alone.
    pub message: String,
    /// Commands to type next; they work in the state the failure left.
    pub hints: Vec<String>,
}

impl Error {
    /// A failure without hints.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), hints: Vec::new() }
    }

    /// A broken promise of the tool itself; nothing was written.
    pub fn internal(message: impl fmt::Display) -> Error {
        Error::new(Kind::Failed, format!("internal error: {message}; nothing was written"))
    }

    /// The same failure with a further hint.
    pub fn hint(mut self, command: impl Into<String>) -> Error {
        self.hints.push(command.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The result of whatever can fail as a run.
pub type Result<T> = std::result::Result<T, Error>;
