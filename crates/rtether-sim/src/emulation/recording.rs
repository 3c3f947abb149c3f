//! Recordings of arrivals and outcomes, and their replay.

use alloc::vec::Vec;

use rtether_model::histogram::Histogram;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};

use super::{Emulation, EmulationError, Foreign, Output, Setup};
use crate::observe::DropReason;

/// A frame handed to the driver of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The station.
    pub station: NodeId,
    /// When, by the driver's clock.
    pub at: Instant,
    /// The frame. Tokens must differ.
    pub frame: Foreign,
}

/// Where a copy of a frame ended, ordered by frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    token: u64,
    node: NodeId,
    /// `None` for a delivery.
    lost: Option<DropReason>,
    at: Instant,
}

/// Arrivals and outcomes, up to a limit.
///
/// Arrivals have their true times, even those that the emulation took late.
#[derive(Clone, Debug)]
pub struct Recording {
    arrivals: Vec<Arrival>,
    endings: Vec<Ending>,
    limit: usize,
    /// The recording is complete before this time.
    whole_before: Instant,
}

impl Recording {
    /// Returns an empty recording of at most `limit` arrivals and as many endings of copies. Later
    /// ones are not recorded, and comparisons stop there.
    pub const fn new(limit: usize) -> Self {
        Self {
            arrivals: Vec::new(),
            endings: Vec::new(),
            limit,
            whole_before: Instant::from_ps(i64::MAX),
        }
    }

    /// Allocates memory for the whole recording, so that none is allocated later.
    pub fn reserve(&mut self) {
        self.arrivals.reserve_exact(self.limit);
        self.endings.reserve_exact(self.limit);
    }

    /// Records an arrival.
    pub fn note_arrival(&mut self, arrival: Arrival) {
        if self.arrivals.len() < self.limit {
            self.arrivals.push(arrival);
        } else {
            self.whole_before = self.whole_before.min(arrival.at);
        }
    }

    /// Records an outcome of a frame.
    pub fn note_output(&mut self, output: &Output) {
        let Some(ending) = Ending::of(output) else {
            return;
        };
        if self.endings.len() < self.limit {
            self.endings.push(ending);
        } else {
            self.whole_before = self.whole_before.min(ending.at);
        }
    }

    /// Returns the arrivals in the order of recording.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Returns the time before which the recording is complete; `None` if all of it is.
    pub fn whole_before(&self) -> Option<Instant> {
        (self.whole_before != Instant::from_ps(i64::MAX)).then_some(self.whole_before)
    }

    /// Injects all arrivals at their true times, in order of time, into a newly built network, and
    /// returns the outcomes before `until`.
    ///
    /// # Errors
    /// As [`Emulation::new`]. Frames that the emulation refused are refused here too.
    pub fn replay(&self, setup: &Setup<'_>, until: Instant) -> Result<Vec<Output>, EmulationError> {
        let mut emulation = Emulation::new(setup)?;
        let mut arrivals = self.arrivals.clone();
        arrivals.sort_by_key(|arrival| arrival.at);
        let mut outputs = Vec::new();
        for arrival in arrivals.iter().filter(|arrival| arrival.at < until) {
            let _is_counted = emulation.inject(arrival.station, arrival.at, arrival.frame);
            outputs.extend(core::iter::from_fn(|| emulation.poll_output()));
        }
        emulation.run_until(until);
        outputs.extend(core::iter::from_fn(|| emulation.poll_output()));
        Ok(outputs)
    }

    /// Replays the recording and compares the outcomes before `until`, the time that the recorded
    /// emulation had reached at its end.
    ///
    /// # Errors
    /// As [`Emulation::new`].
    pub fn compare(&self, setup: &Setup<'_>, until: Instant) -> Result<Comparison, EmulationError> {
        let until = until.min(self.whole_before);
        let replayed = self.replay(setup, until)?;
        let replayed = replayed.iter().filter_map(Ending::of);
        let replayed = replayed.filter(|ending| ending.at < until);
        let recorded = self.endings.iter();
        let recorded = recorded.filter(|ending| ending.at < until).copied();
        let arrived = self.arrivals.iter().filter(|arrival| arrival.at < until);
        let frames = arrived.count() as u64;
        Ok(Comparison::of(frames, recorded.collect(), replayed.collect()))
    }
}

impl Ending {
    fn of(output: &Output) -> Option<Self> {
        match *output {
            Output::Delivered { token, station, at, .. } => {
                Some(Self { token, node: station, lost: None, at })
            }
            Output::Dropped { token, node, at, reason } => {
                Some(Self { token, node, lost: Some(reason), at })
            }
            Output::Collision { .. } | Output::Finished { .. } => None,
        }
    }
}

/// How a recorded run differs from its replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Frames that arrived.
    pub frames: u64,
    /// Frames with any difference: a place, a time, a loss. Since order follows from times, this
    /// includes frames that overtake another one.
    pub differing: u64,
    /// Differing frames that ended elsewhere or were lost in one run only.
    pub elsewhere: u64,
    /// Time differences of the other differing frames; the largest over each frame's copies.
    pub apart: Histogram,
    /// Tokens of the differing frames.
    pub tokens: Vec<u64>,
}

impl Comparison {
    fn of(frames: u64, mut recorded: Vec<Ending>, mut replayed: Vec<Ending>) -> Self {
        recorded.sort_unstable();
        replayed.sort_unstable();
        let mut this = Self { frames, ..Self::default() };
        let (mut left, mut right) = (&recorded[..], &replayed[..]);
        while let Some(token) = next_token(left, right) {
            let (own, other) = (take(&mut left, token), take(&mut right, token));
            if own != other {
                this.note(token, own, other);
            }
        }
        this
    }

    fn note(&mut self, token: u64, recorded: &[Ending], replayed: &[Ending]) {
        self.differing += 1;
        self.tokens.push(token);
        let pairs = || recorded.iter().zip(replayed);
        let is_alike = recorded.len() == replayed.len()
            && pairs().all(|(a, b)| (a.node, a.lost) == (b.node, b.lost));
        if !is_alike {
            self.elsewhere += 1;
            return;
        }
        let apart = pairs().map(|(a, b)| (a.at - b.at).max(b.at - a.at)).max();
        self.apart.record(apart.unwrap_or(Duration::ZERO));
    }
}

fn next_token(left: &[Ending], right: &[Ending]) -> Option<u64> {
    let tokens = left.first().into_iter().chain(right.first());
    tokens.map(|ending| ending.token).min()
}

/// Removes and returns the endings of one frame from the front.
fn take<'a>(endings: &mut &'a [Ending], token: u64) -> &'a [Ending] {
    let count = endings.partition_point(|ending| ending.token <= token);
    let (own, rest) = endings.split_at(count);
    *endings = rest;
    own
}
