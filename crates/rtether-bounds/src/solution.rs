//! Solutions: the jitter and the wait of every visit, and why some are infinite.

use alloc::vec::Vec;

use crate::analysis::LayerPart;
use crate::components::Components;
use crate::edit::Edit;
use crate::plant::Plant;
use crate::source::Source;

/// Why a wait is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The place has an obstacle.
    Obstacle(u32),
    /// The layer at a place guarantees nothing.
    Layer(u32, LayerPart),
    /// A place has too much to do: place, millionths.
    Overload(u32, u64),
    /// A flow is unlimited.
    Flow(u32),
    /// No fixed point was found: place.
    Cycle(u32),
    /// A number is beyond exact arithmetic.
    OutOfRange,
}

impl Cause {
    /// Returns the cause with the number of its flow after an edit.
    pub(crate) fn renumbered(self, edit: &Edit) -> Self {
        match self {
            Self::Flow(flow) => Self::Flow(edit.renumber(flow)),
            Self::Obstacle(_)
            | Self::Layer(..)
            | Self::Overload(..)
            | Self::Cycle(_)
            | Self::OutOfRange => self,
        }
    }
}

/// Jitter and wait of every visit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solution {
    pub(crate) jitter: Vec<i64>,
    /// How much longer a packet may have been under way since its flow was limited.
    pub(crate) drift: Vec<i64>,
    pub(crate) wait: Vec<i64>,
    /// Cause of an infinite wait.
    pub(crate) cause: Vec<Option<Cause>>,
    /// Cause of an infinite jitter.
    pub(crate) jitter_cause: Vec<Option<Cause>>,
    pub(crate) evaluations: u64,
    pub(crate) is_cyclic: bool,
    pub(crate) components: Components,
    /// By place: whether its input equals that of the previous solution.
    pub(crate) is_kept: Vec<bool>,
}

/// A solution and the releases it was found with.
#[derive(Clone, Copy)]
pub(crate) struct Before<'a> {
    pub(crate) plant: &'a Plant,
    /// The edit from its flows to the current ones.
    pub(crate) edit: &'a Edit,
    pub(crate) sources: &'a [Source],
    pub(crate) solution: &'a Solution,
}

/// An intermediate solution; each further stage assumes that more flows give up.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    pub(crate) sources: Vec<Source>,
    pub(crate) solution: Solution,
}
