//! The connection to one agent.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration as Span, Instant as Moment};

use rtether_live::clock::monotonic_ns;

use super::hosts::Remote;
use super::wire::{self, Here, Lines, Order, Word};
use super::{HostError, VERB};
use crate::doctor::RemoteError;
use crate::ssh::{NO_COMMAND, SSH_FAILED, drain, harmless, last_line};

/// An agent that has lost its connection ends within this time, and ssh with it.
const END: Span = Span::from_secs(3);
/// Time to find out why a connection ended; other agents wait meanwhile.
const POST_MORTEM: Span = Span::from_secs(1);
/// Polling interval.
const LOOK: Span = Span::from_millis(10);
/// clap's exit code for an unknown verb.
const WRONG_USE: i32 = 2;

/// What arrives from an agent.
pub(super) enum Event {
    /// A word, and its time of arrival by the coordinator's monotonic clock.
    Word(i64, Word),
    /// A line that is not a word.
    Malformed(String),
    /// End of the connection.
    Closed,
}

/// An agent.
pub(super) struct Session<'p> {
    pub(super) remote: &'p Remote,
    child: Child,
    stdin: Option<ChildStdin>,
    complaints: Option<JoinHandle<String>>,
    /// When this side closed the connection.
    closed_at: Option<Moment>,
    pub(super) has_greeted: bool,
    pub(super) here: Option<Here>,
    /// Why it is unusable.
    pub(super) failure: Option<HostError>,
}

impl<'p> Session<'p> {
    /// Starts an agent, whose words go to `events` with its index.
    pub(super) fn start(
        remote: &'p Remote,
        index: usize,
        events: SyncSender<(usize, Event)>,
    ) -> Result<Self, HostError> {
        let words = remote.command();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Keeps Ctrl-C from the agents, which are asked for their reports.
            .process_group(0)
            .spawn()
            .map_err(RemoteError::NoSsh)?;
        let stderr = child.stderr.take();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || listen(stdout, index, &events));
        }
        Ok(Self {
            remote,
            stdin: child.stdin.take(),
            complaints: Some(std::thread::spawn(move || drain(stderr))),
            closed_at: None,
            child,
            has_greeted: false,
            here: None,
            failure: None,
        })
    }

    /// Returns whether it is still usable.
    pub(super) fn is_alive(&self) -> bool {
        self.failure.is_none()
    }

    /// Sends an order. A broken connection shows when the agent's words end.
    pub(super) fn say(&mut self, order: &Order, what: &'static str) -> Result<(), HostError> {
        let line = wire::line(order).ok_or(HostError::TooLong(what))?;
        if let Some(stdin) = &mut self.stdin {
            drop(stdin.write_all(line.as_bytes()));
        }
        Ok(())
    }

    pub(super) fn malformed(&self, what: String) -> HostError {
        HostError::Malformed {
            host: self.remote.called(),
            target: self.remote.target.clone(),
            what,
        }
    }

    /// Returns an error if the agent is a different program.
    pub(super) fn greet(&mut self, version: &str, format: &str) -> Result<(), HostError> {
        let ours = env!("CARGO_PKG_VERSION");
        self.has_greeted = true;
        if version == ours && format == wire::FORMAT {
            return Ok(());
        }
        let theirs = if version == ours { format } else { version };
        Err(self.version(harmless(theirs)))
    }

    fn version(&self, theirs: String) -> HostError {
        HostError::Version {
            host: self.remote.called(),
            target: self.remote.target.clone(),
            theirs,
            ours: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Finds out why a connection ended.
    pub(super) fn post_mortem(&mut self) -> HostError {
        self.close();
        let until = Moment::now() + POST_MORTEM;
        let status = self.end(until);
        let complaints = self.complaints(until);
        let target = &self.remote.target;
        let code = status.and_then(|status| status.code());
        match code {
            Some(SSH_FAILED) if !self.has_greeted => {
                RemoteError::NoConnection { host: target.clone(), message: last_line(&complaints) }
                    .into()
            }
            Some(code) if NO_COMMAND.contains(&code) && !self.has_greeted => {
                RemoteError::NoProgram(target.clone()).into()
            }
            Some(WRONG_USE) if !self.has_greeted && complaints.contains(VERB) => {
                self.version(format!("without `{VERB}`"))
            }
            _ => HostError::Closed { host: self.remote.called(), message: last_line(&complaints) },
        }
    }

    /// Waits for ssh to end, and kills it after `until`.
    fn end(&mut self, until: Moment) -> Option<ExitStatus> {
        while Moment::now() < until {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(LOOK);
        }
        drop(self.child.kill());
        self.child.wait().ok()
    }

    /// Returns the error output of ssh and the agent, without waiting for other holders of the
    /// pipe.
    fn complaints(&mut self, until: Moment) -> String {
        let Some(thread) = self.complaints.take() else {
            return String::new();
        };
        while !thread.is_finished() {
            if Moment::now() > until {
                return String::new();
            }
            std::thread::sleep(LOOK);
        }
        thread.join().unwrap_or_default()
    }

    /// Closes the connection without waiting for its end.
    pub(super) fn close(&mut self) {
        self.stdin = None;
        self.closed_at.get_or_insert_with(Moment::now);
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.close();
        let closed_at = self.closed_at.unwrap_or_else(Moment::now);
        self.end(closed_at + END);
    }
}

/// Forwards the words of an agent until they end or the receiver is gone.
fn listen(from: ChildStdout, index: usize, events: &SyncSender<(usize, Event)>) {
    let mut lines = Lines::new(from);
    loop {
        let event = match lines.next() {
            Ok(Some(line)) => {
                let at = monotonic_ns();
                match wire::parse(&line) {
                    Ok(word) => Event::Word(at, word),
                    Err(what) => Event::Malformed(what),
                }
            }
            Ok(None) => Event::Closed,
            Err(what) => Event::Malformed(what),
        };
        let is_last = !matches!(event, Event::Word(..));
        if events.send((index, event)).is_err() || is_last {
            return;
        }
    }
}
