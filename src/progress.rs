//! A sign of life on standard error: only on a terminal, and only when the work lasts longer than a second.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::ProgressBar;

const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// Shown until it is dropped; leaves nothing behind on the terminal.
pub(crate) struct Progress {
    done: Option<Sender<()>>,
    shower: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begin to wait; without `wanted` nothing is ever shown.
    pub(crate) fn start(wanted: bool) -> Progress {
        if !wanted {
            return Progress { done: None, shower: None };
        }
        let (done, waiting) = channel();
        let shower = std::thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message("working");
            bar.enable_steady_tick(TICK);
            let _ = waiting.recv();
            bar.finish_and_clear();
        });
        Progress { done: Some(done), shower: Some(shower) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(shower) = self.shower.take() {
            let _ = shower.join();
        }
    }
}
