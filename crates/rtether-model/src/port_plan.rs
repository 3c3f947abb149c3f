//! The plan of a port: an algorithm for each of its queues (IEEE 802.1Q-2022, 8.6.8), and what it
//! asks of the engine, host or file that carries it out.
//!
//! A scenario names one [`Selection`] for a port. It becomes a plan in one place,
//! [`PortPlan::new`]; engines, bounds, exporters and test beds see only the plan.

use crate::quantity::BitRate;
use crate::selection::Selection;

/// When a queue that has a frame may send it. Without a word about order, the highest queue that
/// may goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Always (8.6.8.1).
    Strict,
    /// In turns with the other queues that have this algorithm, highest first in each round.
    Wrr {
        /// Frames per turn.
        weight: u8,
    },
    /// In turns with the other queues that have this algorithm, highest first in each round.
    Drr {
        /// Octets per turn, of frames from addresses to FCS.
        quantum: u16,
    },
    /// At a credit of zero or more (8.6.8.2). Frames count with preamble and gap.
    Cbs {
        /// Rate at which the credit rises; zero for a queue that has no shaper next to others that
        /// have one.
        idle_slope: BitRate,
    },
    /// Always, the frame with the earliest local deadline instead of the first that came.
    EarliestDeadline,
}

/// What a plan asks of a port beyond sending frames in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Frames wait in the queues of their priorities.
    Queues,
    /// Queues take turns that count frames.
    FrameTurns,
    /// Queues take turns that count octets.
    OctetTurns,
    /// Queues have credits.
    Credits,
    /// Frames are sorted by local deadlines.
    Deadlines,
}

/// How a port chooses among its queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    /// From 1 to 8.
    queues: u8,
    /// Whether frames of all priorities share queue 0, also if their priorities were known.
    is_shared: bool,
    /// Indexed by queue; [`Algorithm::Strict`] beyond the last.
    algorithms: [Algorithm; 8],
}

impl Algorithm {
    /// Returns what a port needs for this algorithm.
    const fn feature(self) -> Option<Feature> {
        match self {
            Self::Strict => None,
            Self::Wrr { .. } => Some(Feature::FrameTurns),
            Self::Drr { .. } => Some(Feature::OctetTurns),
            Self::Cbs { .. } => Some(Feature::Credits),
            Self::EarliestDeadline => Some(Feature::Deadlines),
        }
    }
}

impl PortPlan {
    /// Returns the plan of a port with this selection, and with `queues` queues, from 1 to 8, if
    /// the selection uses them.
    pub fn new(selection: Selection, queues: u8) -> Self {
        let is_shared = !selection.uses_queues();
        let queues = if is_shared { 1 } else { queues };
        let mut algorithms = [Algorithm::Strict; 8];
        for (queue, own) in (0..queues).zip(&mut algorithms) {
            *own = Self::algorithm_of(selection, queue, queues);
        }
        Self { queues, is_shared, algorithms }
    }

    fn algorithm_of(selection: Selection, queue: u8, queues: u8) -> Algorithm {
        let at = usize::from(queue);
        match selection {
            Selection::Fcfs | Selection::StrictPriority => Algorithm::Strict,
            // A single queue has none below it and takes turns with itself.
            Selection::StrictWrr { .. } if queue > 0 && queue + 1 == queues => Algorithm::Strict,
            Selection::Wrr { weights } | Selection::StrictWrr { weights } => {
                Algorithm::Wrr { weight: weights[at] }
            }
            Selection::Drr { quanta } => Algorithm::Drr { quantum: quanta[at] },
            Selection::CbsDrr { idle_slopes, quanta }
                if idle_slopes[..=at].iter().all(|slope| slope.as_bps() == 0) =>
            {
                Algorithm::Drr { quantum: quanta[at] }
            }
            Selection::Cbs { idle_slopes } | Selection::CbsDrr { idle_slopes, .. } => {
                Algorithm::Cbs { idle_slope: idle_slopes[at] }
            }
            Selection::EarliestDeadline => Algorithm::EarliestDeadline,
        }
    }

    /// Returns the number of queues, from 1 to 8.
    pub const fn queues(&self) -> u8 {
        self.queues
    }

    /// Returns whether the port needs something.
    pub fn needs(&self, feature: Feature) -> bool {
        self.features().any(|needed| needed == feature)
    }

    /// Returns whether the port needs nothing else than these. An exporter that can write only some
    /// plans asks this, so that it refuses what comes later.
    pub fn needs_only(&self, known: &[Feature]) -> bool {
        self.features().all(|needed| known.contains(&needed))
    }

    fn features(&self) -> impl Iterator<Item = Feature> + '_ {
        let queues = (!self.is_shared).then_some(Feature::Queues);
        queues.into_iter().chain(self.algorithms.iter().filter_map(|own| own.feature()))
    }

    /// Returns the algorithm of a queue; strict beyond the last queue.
    pub fn algorithm(&self, queue: u8) -> Algorithm {
        self.algorithms.get(usize::from(queue)).copied().unwrap_or(Algorithm::Strict)
    }

    /// Returns how many queues take turns of octets; they are the lowest ones.
    pub fn octet_turns(&self) -> u8 {
        let own = self.algorithms.iter();
        own.take_while(|own| matches!(own, Algorithm::Drr { .. })).map(|_| 1).sum()
    }

    /// Returns whether two queues take turns with each other.
    pub fn take_turns(&self, one: u8, other: u8) -> bool {
        matches!(
            (self.algorithm(one), self.algorithm(other)),
            (Algorithm::Wrr { .. }, Algorithm::Wrr { .. })
                | (Algorithm::Drr { .. }, Algorithm::Drr { .. })
        )
    }

    /// Returns the frames per turn of each queue; zero without such turns.
    pub fn weights(&self) -> [u8; 8] {
        self.algorithms.map(|own| if let Algorithm::Wrr { weight } = own { weight } else { 0 })
    }

    /// Returns the octets per turn of each queue; zero without such turns.
    pub fn quanta(&self) -> [u16; 8] {
        self.algorithms.map(|own| if let Algorithm::Drr { quantum } = own { quantum } else { 0 })
    }

    /// Returns the idle slope of each queue; zero without a shaper.
    pub fn idle_slopes(&self) -> [BitRate; 8] {
        self.algorithms.map(|own| {
            if let Algorithm::Cbs { idle_slope } = own { idle_slope } else { BitRate::default() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES: [Feature; 5] = [
        Feature::Queues,
        Feature::FrameTurns,
        Feature::OctetTurns,
        Feature::Credits,
        Feature::Deadlines,
    ];

    fn needs(plan: &PortPlan) -> [bool; 5] {
        FEATURES.map(|feature| plan.needs(feature))
    }

    /// Oracle: the table, from the meaning of each word.
    #[test]
    fn each_selection_asks_for_what_it_means() {
        let idle_slopes = [0, 0, 0, 25, 0, 0, 0, 9].map(BitRate::from_mbps);
        let none = [BitRate::default(); 8];
        let yes = true;
        for (selection, queues, needed) in [
            (Selection::Fcfs, 1, [false, false, false, false, false]),
            (Selection::StrictPriority, 4, [yes, false, false, false, false]),
            (Selection::Wrr { weights: [1; 8] }, 4, [yes, yes, false, false, false]),
            (Selection::StrictWrr { weights: [1; 8] }, 4, [yes, yes, false, false, false]),
            (Selection::Drr { quanta: [1_522; 8] }, 4, [yes, false, yes, false, false]),
            (Selection::Cbs { idle_slopes }, 4, [yes, false, false, yes, false]),
            (Selection::Cbs { idle_slopes: none }, 4, [yes, false, false, yes, false]),
            (Selection::EarliestDeadline, 1, [false, false, false, false, yes]),
        ] {
            let plan = PortPlan::new(selection, 4);
            assert_eq!((plan.queues(), needs(&plan)), (queues, needed), "{selection:?}");
            let known: std::vec::Vec<Feature> =
                FEATURES.into_iter().filter(|&feature| plan.needs(feature)).collect();
            assert!(plan.needs_only(&known) && plan.needs_only(&FEATURES));
            let less = known.get(1..).unwrap_or_default();
            assert_eq!(plan.needs_only(less), known.is_empty(), "{selection:?}");
        }
    }

    #[test]
    fn values_go_to_their_queues() {
        let weights = [4, 3, 2, 1, 9, 9, 9, 9];
        let wrr = PortPlan::new(Selection::Wrr { weights }, 4);
        assert_eq!(wrr.weights(), [4, 3, 2, 1, 0, 0, 0, 0]);
        // The highest queue is strict, whatever its weight.
        let below = PortPlan::new(Selection::StrictWrr { weights }, 4);
        assert_eq!(below.weights(), [4, 3, 2, 0, 0, 0, 0, 0]);
        assert_eq!(below.algorithm(3), Algorithm::Strict);
        assert!(below.take_turns(0, 2) && !below.take_turns(3, 2));
        let alone = PortPlan::new(Selection::StrictWrr { weights }, 1);
        assert_eq!(alone.algorithm(0), Algorithm::Wrr { weight: 4 });
        let quanta = [64, 128, 256, 512, 9, 9, 9, 9];
        let drr = PortPlan::new(Selection::Drr { quanta }, 3);
        assert_eq!(drr.quanta(), [64, 128, 256, 0, 0, 0, 0, 0]);
        let idle_slopes = [0, 25, 0, 9, 7, 7, 7, 7].map(BitRate::from_mbps);
        let cbs = PortPlan::new(Selection::Cbs { idle_slopes }, 4);
        assert_eq!(cbs.idle_slopes(), [0, 25, 0, 9, 0, 0, 0, 0].map(BitRate::from_mbps));
        assert_eq!(cbs.algorithm(0), Algorithm::Cbs { idle_slope: BitRate::default() });
        assert_eq!(cbs.algorithm(4), Algorithm::Strict);
        assert!(drr.take_turns(0, 2) && !cbs.take_turns(0, 1));
    }

    /// Oracle: by hand. Turns end at the lowest queue with an idle slope; one above it has none, and
    /// is strict.
    #[test]
    fn queues_have_algorithms_of_their_own() {
        let idle_slopes = [0, 0, 0, 0, 0, 10, 0, 10].map(BitRate::from_mbps);
        let quanta = [1_522, 1_522, 1_522, 1_522, 3_044, 9, 9, 9];
        let plan = PortPlan::new(Selection::CbsDrr { idle_slopes, quanta }, 8);
        assert_eq!(needs(&plan), [true, false, true, true, false]);
        assert_eq!(plan.quanta(), [1_522, 1_522, 1_522, 1_522, 3_044, 0, 0, 0]);
        assert_eq!(plan.idle_slopes()[4..], [0, 10, 0, 10].map(BitRate::from_mbps));
        assert_eq!(plan.algorithm(6), Algorithm::Cbs { idle_slope: BitRate::default() });
        assert_eq!(plan.octet_turns(), 5);
        let few = PortPlan::new(Selection::CbsDrr { idle_slopes, quanta }, 4);
        assert_eq!(needs(&few), [true, false, true, false, false]);
        assert_eq!(few.octet_turns(), 4);
        assert!(!plan.needs_only(&[Feature::Queues, Feature::Credits]));
        assert!(plan.take_turns(0, 4) && !plan.take_turns(4, 5) && !plan.take_turns(5, 6));
    }
}
