//! One planned flow, and the frames of it.

use std::collections::{BTreeMap, VecDeque};

use rtether_model::quantity::Duration;
use rtether_report::text::{plural, time};

use super::grid::{Fault, Grid};
use crate::against::{Deviation, Times, Way};
use crate::import::Sight;

/// Longest burst that is looked at.
const MAX_BURST: u32 = 64;
/// Part of a gap by which a path may shorten it, if there is no deadline.
const PATH: i64 = 10;

/// What is to be told of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// `None` if it is well again.
    pub(super) deviation: Option<Deviation>,
    pub(super) text: String,
    /// How often it happened.
    pub(super) count: u64,
}

impl Note {
    pub(super) const fn new(deviation: Deviation, text: String) -> Self {
        Self { deviation: Some(deviation), text, count: 1 }
    }
}

/// How often a flow has deviated in one way, and when last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) count: u64,
    last: i64,
}

/// What is expected of times.
#[derive(Clone, Debug)]
enum Pace {
    Grid(Box<Grid>),
    Bursts(Bursts),
    Open,
}

/// The last frames of a sporadic flow: each is at least a gap behind the one a burst before.
#[derive(Clone, Debug)]
struct Bursts {
    gap: i64,
    slack: i64,
    frames: usize,
    last: VecDeque<i64>,
}

impl Bursts {
    /// Returns the time in which more than a burst came, if it was too short.
    fn take(&mut self, at: i64) -> Option<i64> {
        let full = self.last.len() == self.frames;
        let before = full.then(|| self.last.pop_front()).flatten();
        self.last.push_back(at);
        let span = at - before?;
        (span + self.slack < self.gap).then_some(span)
    }
}

/// A planned flow.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    pub(super) way: Way,
    pace: Pace,
    is_bound: bool,
    /// Whether its frames have one size.
    is_fixed: bool,
    pub(super) frames: u64,
    pub(super) found: BTreeMap<Deviation, Found>,
    pub(super) is_silent: bool,
}

impl Monitor {
    pub(super) fn new(way: Way) -> Self {
        let ns = Duration::as_ns_floor;
        let deadline = way.deadline.map(ns);
        let pace = match way.times {
            Times::Periodic { period, jitter } => {
                let grid = Grid::new(ns(period), ns(jitter), deadline);
                grid.map_or(Pace::Open, |grid| Pace::Grid(Box::new(grid)))
            }
            Times::Sporadic { gap, burst } if (1..=MAX_BURST).contains(&burst) => {
                let gap = ns(gap);
                Pace::Bursts(Bursts {
                    gap,
                    slack: deadline.unwrap_or(gap / PATH).min(gap / 2),
                    frames: usize::try_from(burst).unwrap_or(1),
                    last: VecDeque::new(),
                })
            }
            Times::Sporadic { .. } | Times::Open => Pace::Open,
        };
        Self {
            way,
            pace,
            is_bound: false,
            is_fixed: false,
            frames: 0,
            found: BTreeMap::new(),
            is_silent: false,
        }
    }

    /// Returns its period in nanoseconds, if it has one.
    pub(super) const fn period(&self) -> Option<i64> {
        match self.way.times {
            Times::Periodic { period, .. } => Some(period.as_ns_floor()),
            Times::Sporadic { .. } | Times::Open => None,
        }
    }

    /// Returns whether it tells that frames were lost.
    pub(super) const fn counts_losses(&self) -> bool {
        matches!(&self.pace, Pace::Grid(_))
    }

    pub(super) const fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// Notes that it has a stream.
    pub(super) const fn bind(&mut self, is_fixed: bool) {
        self.is_bound = true;
        self.is_fixed = is_fixed;
    }

    /// Forgets when its last frames came.
    pub(super) fn cut(&mut self) {
        match &mut self.pace {
            Pace::Grid(grid) => grid.cut(),
            Pace::Bursts(bursts) => bursts.last.clear(),
            Pace::Open => {}
        }
    }

    /// Takes a frame.
    pub(super) fn take(&mut self, at: i64, sight: &Sight<'_>, say: &mut dyn FnMut(Note)) {
        self.frames += 1;
        self.compare(sight, say);
        let planned = self.way.times;
        match &mut self.pace {
            Pace::Grid(grid) => {
                let silent = &mut self.is_silent;
                grid.take(at, &mut |fault| say(of(fault, planned, silent)));
            }
            Pace::Bursts(bursts) => {
                if let Some(span) = bursts.take(at) {
                    let frames = bursts.frames + 1;
                    let span = time(Duration::from_ns(span));
                    let text = format!("{frames} in {span}, planned {}", planned.words());
                    say(Note::new(Deviation::Faster, text));
                }
            }
            Pace::Open => {}
        }
    }

    /// Compares size and tag.
    fn compare(&self, sight: &Sight<'_>, say: &mut dyn FnMut(Note)) {
        let (size, planned) = (sight.size(), self.way.size);
        let is_open = self.way.times == Times::Open;
        if !is_open && (size > planned || (self.is_fixed && size != planned)) {
            let text = format!("{} octets, planned {}", size.get(), planned.get());
            say(Note::new(Deviation::Size, text));
        }
        let (pcp, vid) = sight.tag().unwrap_or_default();
        let (planned_pcp, planned_vid) = self.way.tag.unwrap_or_default();
        if pcp != planned_pcp {
            let text = format!("priority {pcp}, planned {planned_pcp}");
            say(Note::new(Deviation::Priority, text));
        }
        if vid != planned_vid {
            let text = format!("VLAN {vid}, planned {planned_vid}");
            say(Note::new(Deviation::Vlan, text));
        }
    }

    /// Looks whether it should have sent by now.
    pub(super) fn check(&mut self, now: i64, say: &mut dyn FnMut(Note)) {
        let planned = self.way.times;
        if let (true, Pace::Grid(grid)) = (self.is_bound, &mut self.pace) {
            let silent = &mut self.is_silent;
            grid.check(now, &mut |fault| say(of(fault, planned, silent)));
        }
    }

    /// Counts a deviation; returns whether it is to be told, since the last one is long ago by a clock
    /// that is never set.
    pub(super) fn note(&mut self, clock: i64, note: &Note, pause: i64) -> bool {
        let Some(deviation) = note.deviation else {
            return true;
        };
        let found = self.found.entry(deviation);
        let found = found.or_insert(Found { count: 0, last: clock });
        let is_new = found.count == 0 || clock - found.last > pause;
        found.count = found.count.saturating_add(note.count);
        found.last = clock;
        is_new
    }
}

/// Says what a fault means for a flow.
fn of(fault: Fault, planned: Times, is_silent: &mut bool) -> Note {
    let words = |ns: i64| time(Duration::from_ns(ns));
    let planned = || planned.words();
    match fault {
        Fault::Late(by) => Note::new(Deviation::Late, format!("{} behind its period", words(by))),
        Fault::Lost(frames) => Note {
            count: u64::try_from(frames).unwrap_or(1),
            ..Note::new(Deviation::Missing, plural(usize::try_from(frames).unwrap_or(1), "frame"))
        },
        Fault::Extra => {
            let text = format!("a frame too many, planned {}", planned());
            Note::new(Deviation::Faster, text)
        }
        Fault::Faster(period) => {
            let text = format!("every {}, planned {}", words(period), planned());
            Note::new(Deviation::Faster, text)
        }
        Fault::Slower(period) => {
            let text = format!("every {}, planned {}", words(period), planned());
            Note::new(Deviation::Slower, text)
        }
        Fault::Silent(span) => {
            *is_silent = true;
            Note::new(Deviation::Missing, format!("no frame for {}", words(span)))
        }
        Fault::Back(span) => {
            *is_silent = false;
            Note { deviation: None, text: format!("back after {}", words(span)), count: 0 }
        }
    }
}
