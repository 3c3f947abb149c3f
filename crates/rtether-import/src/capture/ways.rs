//! Frames that were seen at several points of one capture, and the time between.
//!
//! Only points of one file are compared, since these share a clock. The last frames are remembered
//! by what is in them; one that is seen again at another point has come from the first.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::frame::{Frame, Path};

/// Frames that are remembered, and pairs of points for each stream.
const MAX_FRAMES: usize = 1 << 16;
const MAX_WAYS: usize = 20_000;
/// Longest time between two points, in nanoseconds: what is later is another frame.
const LONGEST: i64 = 1_000_000_000;
/// Octets that tell frames apart; more would only take longer.
const TOLD_BY: usize = 128;

/// Times from one point to another, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    pub(super) frames: u64,
    pub(super) least: i64,
    pub(super) most: i64,
    sum: i128,
}

impl Delay {
    pub(super) fn mean(&self) -> i64 {
        let mean = self.sum / i128::from(self.frames.max(1));
        i64::try_from(mean).unwrap_or(i64::MAX)
    }
}

/// A frame at the point where it was seen first.
#[derive(Clone, Copy, Debug)]
struct First {
    interface: usize,
    at: i64,
    number: u64,
}

/// Ways so far.
#[derive(Debug, Default)]
pub(super) struct Ways {
    recent: HashMap<u64, First>,
    order: VecDeque<(u64, u64)>,
    number: u64,
    known: BTreeMap<(Path, usize, usize), Delay>,
}

impl Ways {
    /// Takes a frame at a point.
    pub(super) fn take(&mut self, interface: usize, at: i64, frame: &Frame<'_>) {
        let mut hasher = DefaultHasher::new();
        frame.path.hash(&mut hasher);
        hasher.write(&frame.inside[..frame.inside.len().min(TOLD_BY)]);
        let id = hasher.finish();
        let first = self.recent.get(&id).copied();
        if let Some(first) = first.filter(|first| first.interface != interface) {
            let span = at.saturating_sub(first.at);
            if (0..=LONGEST).contains(&span) {
                self.add((frame.path, first.interface, interface), span);
                return;
            }
        }
        self.number += 1;
        let number = self.number;
        self.recent.insert(id, First { interface, at, number });
        self.order.push_back((id, number));
        if self.order.len() > MAX_FRAMES
            && let Some((oldest, number)) = self.order.pop_front()
            && self.recent.get(&oldest).is_some_and(|first| first.number == number)
        {
            self.recent.remove(&oldest);
        }
    }

    fn add(&mut self, way: (Path, usize, usize), span: i64) {
        if self.known.len() >= MAX_WAYS && !self.known.contains_key(&way) {
            return;
        }
        let delay =
            self.known.entry(way).or_insert(Delay { frames: 0, least: span, most: span, sum: 0 });
        delay.frames += 1;
        delay.least = delay.least.min(span);
        delay.most = delay.most.max(span);
        delay.sum += i128::from(span);
    }

    /// Forgets the frames of a file, whose clock others do not share.
    pub(super) fn end_file(&mut self) {
        self.recent.clear();
        self.order.clear();
    }

    /// Returns where frames went from a point, by the mean time.
    pub(super) fn from(&self, path: &Path, interface: usize) -> Vec<(usize, Delay)> {
        let range = (*path, interface, 0)..=(*path, interface, usize::MAX);
        let ways = self.known.range(range);
        let mut ways: Vec<(usize, Delay)> = ways.map(|((_, _, to), delay)| (*to, *delay)).collect();
        ways.sort_by_key(|(to, delay)| (delay.mean(), *to));
        ways
    }
}
