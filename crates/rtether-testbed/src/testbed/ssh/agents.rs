//! All agents of a run, and waiting for them.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration as Span, Instant as Moment};

use rtether_live::clock::{monotonic_and_real_ns, monotonic_ns};
use rtether_live::host;

use super::HostError;
use super::clocks::{EXCHANGES, Estimate, Exchange};
use super::hosts::Deployment;
use super::session::{Event, Session};
use super::wire::{Order, Reading, Word};
use crate::ssh::harmless;
use crate::testbed::Progress;

/// An agent silent for this long while something is expected counts as gone.
pub(super) const PATIENCE: Span = Span::from_secs(30);
/// Interval of the coordinator's keep-alives.
const TICK: Span = Span::from_secs(1);
/// Interval at which to check for a stop.
const LOOK: Span = Span::from_millis(50);
/// Words queued.
const WAITING: usize = 256;

/// Effect of a word on the wait.
pub(super) enum Turn {
    /// More words of this agent are to come.
    Waiting,
    /// The agent has said everything.
    Done,
}

/// Phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The first failure ends it, and so does Ctrl-C.
    SetUp,
    /// Ctrl-C is forwarded to the agents; agents that fail are left out.
    Run,
    /// Whatever is left is collected, in any case.
    Report,
}

pub(super) struct Agents<'r> {
    pub(super) sessions: Vec<Session<'r>>,
    events: Receiver<(usize, Event)>,
    progress: &'r Progress,
    ticked: Moment,
    /// Whether agents have been told to stop.
    is_stopped: bool,
}

impl<'r> Agents<'r> {
    /// Starts an agent on each host.
    pub(super) fn start(
        deployment: &'r Deployment,
        progress: &'r Progress,
    ) -> Result<Self, HostError> {
        let (words, events) = mpsc::sync_channel(WAITING);
        let hosts = (0..).zip(&deployment.hosts);
        let sessions = hosts.map(|(index, host)| Session::start(host, index, words.clone()));
        Ok(Self {
            sessions: sessions.collect::<Result<_, _>>()?,
            events,
            progress,
            ticked: Moment::now(),
            is_stopped: false,
        })
    }

    /// Sends a short order to all agents that are there; a broken connection shows by itself.
    pub(super) fn say_to_all(&mut self, order: &Order) {
        for session in self.sessions.iter_mut().filter(|s| s.is_alive()) {
            drop(session.say(order, ""));
        }
    }

    /// Waits briefly for the next event; meanwhile sends keep-alives to the agents.
    fn next(&mut self) -> Option<(usize, Event)> {
        if self.ticked.elapsed() > TICK {
            self.ticked = Moment::now();
            self.say_to_all(&Order::Tick);
        }
        match self.events.recv_timeout(LOOK) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            // Every agent has ended.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(LOOK);
                None
            }
        }
    }

    /// Passes the words of all agents to `handle` until each is done or has failed. Agents not done
    /// at `limit`, which is evaluated again after every event, have failed.
    pub(super) fn gather(
        &mut self,
        doing: &'static str,
        phase: Phase,
        limit: impl Fn() -> Moment,
        mut handle: impl FnMut(&mut Self, usize, Word) -> Result<Turn, HostError>,
    ) -> Result<(), HostError> {
        let mut is_done = vec![false; self.sessions.len()];
        let mut until = limit();
        loop {
            self.heed_stop(phase)?;
            if phase == Phase::SetUp {
                self.first_failure()?;
            }
            let mut sessions = self.sessions.iter().zip(&is_done);
            if sessions.all(|(session, done)| *done || !session.is_alive()) {
                return Ok(());
            }
            let Some((index, event)) = self.next() else {
                if Moment::now() > until {
                    let all = 0..self.sessions.len();
                    all.filter(|&index| !is_done[index])
                        .for_each(|index| self.give_up(index, doing));
                }
                continue;
            };
            until = limit();
            let Some((_, word)) = self.word(index, event) else {
                continue;
            };
            match handle(self, index, word) {
                Ok(Turn::Waiting) => {}
                Ok(Turn::Done) => is_done[index] = true,
                Err(error) => self.fail(index, error),
            }
        }
    }

    fn heed_stop(&mut self, phase: Phase) -> Result<(), HostError> {
        if !self.progress.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        match phase {
            Phase::SetUp => return Err(HostError::Interrupted),
            Phase::Run if !self.is_stopped => {
                self.is_stopped = true;
                self.say_to_all(&Order::Stop);
            }
            Phase::Run | Phase::Report => {}
        }
        Ok(())
    }

    /// Returns the word of an event and its time of arrival; otherwise the agent has failed.
    fn word(&mut self, index: usize, event: Event) -> Option<(i64, Word)> {
        let session = &mut self.sessions[index];
        if !session.is_alive() {
            return None;
        }
        let error = match event {
            Event::Word(_, Word::Failed { why, is_input }) => {
                HostError::Refused { host: session.remote.called(), why: harmless(&why), is_input }
            }
            Event::Word(_, word) if !word.is_sound() => {
                session.malformed("implausible values".into())
            }
            Event::Word(at, word) => return Some((at, word)),
            Event::Malformed(what) => session.malformed(what),
            Event::Closed => session.post_mortem(),
        };
        self.fail(index, error);
        None
    }

    /// Leaves out an agent from now on.
    pub(super) fn fail(&mut self, index: usize, error: HostError) {
        let session = &mut self.sessions[index];
        session.failure.get_or_insert(error);
        session.close();
    }

    fn give_up(&mut self, index: usize, doing: &'static str) {
        let host = self.sessions[index].remote.called();
        self.fail(index, HostError::Silent { host, doing });
    }

    /// Returns the first failure as an error, if there is one.
    pub(super) fn first_failure(&mut self) -> Result<(), HostError> {
        let mut sessions = self.sessions.iter_mut();
        let failure = sessions.find_map(|session| session.failure.take());
        failure.map_or(Ok(()), Err)
    }

    pub(super) fn out_of_turn(&self, index: usize, word: &Word) -> HostError {
        let text = harmless(&format!("{word:?}"));
        self.sessions[index].malformed(format!("`{text}` is out of turn"))
    }

    /// Asks an agent for its clock [`EXCHANGES`] times; `None` if it fails meanwhile.
    pub(super) fn compare_clock(&mut self, index: usize) -> Option<Estimate> {
        let mut exchanges = Vec::new();
        for number in 0..EXCHANGES {
            let (monotonic, real) = monotonic_and_real_ns();
            let own = Reading { number, monotonic, real, error_us: host::clock_error_us() };
            let asked = monotonic_ns();
            drop(self.sessions[index].say(&Order::Clock(number), ""));
            let (answered, reading) = self.reading(index, number)?;
            exchanges.push(Exchange { asked, answered, reading, own });
        }
        Estimate::of(&exchanges)
    }

    /// Waits for a clock reading; also returns its time of arrival.
    fn reading(&mut self, index: usize, number: u32) -> Option<(i64, Reading)> {
        let until = Moment::now() + PATIENCE;
        while self.sessions[index].is_alive() {
            let Some((from, event)) = self.next() else {
                if Moment::now() > until {
                    self.give_up(index, "comparing clocks");
                }
                continue;
            };
            let Some((at, word)) = self.word(from, event) else {
                continue;
            };
            if let Word::Clock(reading) = word
                && from == index
                && reading.number == number
            {
                return Some((at, reading));
            }
            let error = self.out_of_turn(from, &word);
            self.fail(from, error);
        }
        None
    }
}

impl Drop for Agents<'_> {
    fn drop(&mut self) {
        // Close all first, since each then waits for its process to end.
        self.sessions.iter_mut().for_each(Session::close);
    }
}
