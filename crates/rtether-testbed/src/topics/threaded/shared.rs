//! The domain, and how its thread and those that call take turns.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rtether_live::rtps::{Domain, Waker};
use rtether_rtps::engine::{Event, ReaderId, WriterId};
use rtether_rtps::matching::Mismatch;
use rtether_rtps::time::{Duration, Instant};

use super::Failure;
use super::bell::Bell;
use crate::why_ended;

/// From the first match of a writer to the first sample: the reader may learn of the match later.
const SETTLE: Duration = Duration::from_ms(500);
/// Reasons kept for each endpoint.
const REASONS_MAX: usize = 16;

/// What the threads share.
pub(super) struct Shared {
    core: Mutex<Core>,
    /// Threads that have a turn, or wait for theirs.
    wanting: AtomicUsize,
    /// Tells the own thread that a turn is over.
    free: Condvar,
    waker: Waker,
    /// Rings after whatever may have changed something for a writer.
    bell: Arc<Bell>,
    process: u32,
}

/// What one thread at a time has.
pub(super) struct Core {
    domain: Result<Domain, Failure>,
    readers: Vec<(ReaderId, Arc<Bell>)>,
    /// Why readers and writers of others were not matched.
    apart: BTreeMap<Endpoint, BTreeSet<String>>,
    /// When a writer was last matched with a reader.
    matched_at: BTreeMap<WriterId, Instant>,
}

/// An own endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Endpoint {
    Writer(WriterId),
    Reader(ReaderId),
}

/// The turn of a thread that calls; what it has done is sent at its end.
pub(super) struct Turn<'a> {
    core: MutexGuard<'a, Core>,
    shared: &'a Shared,
}

impl Shared {
    pub(super) fn new(mut domain: Domain) -> io::Result<Self> {
        Ok(Self {
            waker: domain.waker()?,
            core: Mutex::new(Core {
                domain: Ok(domain),
                readers: Vec::new(),
                apart: BTreeMap::new(),
                matched_at: BTreeMap::new(),
            }),
            wanting: AtomicUsize::new(0),
            free: Condvar::new(),
            bell: Arc::default(),
            process: process::id(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bell of all writers.
    pub(super) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Returns whether this process has made it: after a fork, the thread is missing in the child,
    /// and the sockets are the parent's.
    pub(super) fn is_own(&self) -> bool {
        self.process == process::id()
    }

    /// Drives the domain until it is closed, or a socket fails.
    pub(super) fn drive(&self) {
        let mut core = self.lock();
        loop {
            // Those who call go first. Turns end under the lock, so that none is missed here.
            while self.wanting.load(Ordering::SeqCst) > 0 {
                core = self.free.wait(core).unwrap_or_else(PoisonError::into_inner);
            }
            if core.domain.is_err() {
                break;
            }
            core.step(&self.bell, Instant::NEVER);
        }
    }

    /// Takes a turn, and first of all takes in what has arrived: threads that call all the time
    /// leave the own one none.
    ///
    /// # Errors
    /// It is closed, has ended, or belongs to another process.
    pub(super) fn turn(&self) -> Result<Turn<'_>, Failure> {
        if !self.is_own() {
            return Err(Failure::Forked);
        }
        self.wanting.fetch_add(1, Ordering::SeqCst);
        self.waker.wake();
        let mut turn = Turn { core: self.lock(), shared: self };
        let now = turn.domain()?.now();
        turn.core.step(&self.bell, now);
        turn.domain()?;
        Ok(turn)
    }

    /// Leaves the domain; the thread ends then, and so do all waits.
    pub(super) fn close(&self) {
        if let Ok(mut turn) = self.turn() {
            turn.core.end(&self.bell, Failure::Closed);
        }
    }
}

impl Core {
    /// Takes in what there is, waits for more until `until` at most, and rings for whom it may
    /// concern.
    fn step(&mut self, bell: &Bell, until: Instant) {
        let Ok(domain) = &mut self.domain else {
            return;
        };
        let came = match domain.step(until) {
            Ok(came) => came,
            Err(error) => {
                self.end(bell, Failure::Ended(why_ended(&error)));
                return;
            }
        };
        let has_news = self.heed_events() || came;
        let Ok(domain) = &self.domain else {
            return;
        };
        for (reader, bell) in &self.readers {
            if domain.participant().waiting(*reader) > 0 {
                bell.ring();
            }
        }
        // A turn wakes the own thread: if that rang, those who wait would call each other for ever.
        if has_news {
            bell.ring();
        }
    }

    fn end(&mut self, bell: &Bell, why: Failure) {
        // Dropping it says good-bye.
        self.domain = Err(why);
        bell.ring();
        for (_, bell) in &self.readers {
            bell.ring();
        }
    }

    /// Keeps what matters of the events; returns whether there were any.
    fn heed_events(&mut self) -> bool {
        let mut has_news = false;
        loop {
            let Ok(domain) = &mut self.domain else {
                return has_news;
            };
            let now = domain.now();
            let event = domain.participant_mut().poll_event();
            has_news |= event.is_some();
            match event {
                None => return has_news,
                Some(Event::ReaderMatched { writer, .. }) => {
                    self.matched_at.insert(writer, now);
                }
                Some(Event::OfferedIncompatible { writer, policies, .. }) => {
                    self.keep_apart(Endpoint::Writer(writer), &policies);
                }
                Some(Event::RequestedIncompatible { reader, policies, .. }) => {
                    self.keep_apart(Endpoint::Reader(reader), &policies);
                }
                Some(
                    Event::ParticipantFound { .. }
                    | Event::ParticipantLost { .. }
                    | Event::ReaderUnmatched { .. }
                    | Event::WriterMatched { .. }
                    | Event::WriterUnmatched { .. }
                    | Event::WriterSilent { .. }
                    | Event::DeadlineMissed { .. }
                    | Event::OfferedDeadlineMissed { .. }
                    | Event::Refused { .. }
                    | Event::Withheld { .. },
                ) => {}
            }
        }
    }

    fn keep_apart(&mut self, own: Endpoint, policies: &[Mismatch]) {
        let reasons = self.apart.entry(own).or_default();
        for policy in policies {
            if reasons.len() < REASONS_MAX {
                reasons.insert(policy.to_string());
            }
        }
    }
}

impl Turn<'_> {
    /// Returns the domain.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn domain(&mut self) -> Result<&mut Domain, Failure> {
        self.core.domain.as_mut().map_err(|why| why.clone())
    }

    /// Rings `bell` when samples wait at a reader.
    pub(super) fn listen(&mut self, reader: ReaderId, bell: Arc<Bell>) {
        self.core.readers.push((reader, bell));
    }

    /// Forgets what is known of an endpoint that is gone, whose waits end.
    pub(super) fn forget(&mut self, own: Endpoint) {
        self.core.apart.remove(&own);
        match own {
            Endpoint::Writer(writer) => {
                self.core.matched_at.remove(&writer);
                self.shared.bell.ring();
            }
            Endpoint::Reader(reader) => self.core.readers.retain(|(other, bell)| {
                let is_it = *other == reader;
                if is_it {
                    bell.ring();
                }
                !is_it
            }),
        }
    }

    /// Returns why endpoints of others do not match, by policy.
    pub(super) fn reasons(&self, own: Endpoint) -> Vec<String> {
        let reasons = self.core.apart.get(&own);
        reasons.into_iter().flatten().cloned().collect()
    }

    /// Returns how long the readers of a writer still need until they know it, as far as can be
    /// known.
    pub(super) fn settles_in(&mut self, writer: WriterId) -> Result<Duration, Failure> {
        let now = self.domain()?.now();
        let matched_at = self.core.matched_at.get(&writer);
        Ok(matched_at.map_or(Duration::ZERO, |at| (*at + SETTLE) - now))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Ok(domain) = &mut self.core.domain
            && let Err(error) = domain.flush()
        {
            let why = Failure::Ended(why_ended(&error));
            self.core.end(&self.shared.bell, why);
        }
        self.shared.wanting.fetch_sub(1, Ordering::SeqCst);
        self.shared.free.notify_one();
    }
}
