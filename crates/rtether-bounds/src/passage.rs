//! Steps of rules of switches that may stop frames, and the frames that pass them.

use rtether_model::ingress::{Cause, Police};
use rtether_model::network::PortId;

use crate::gap::Gap;

/// A step of a rule at a port, named by why it stops frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleStep {
    pub(crate) port: PortId,
    pub(crate) rule: u16,
    pub(crate) cause: Cause,
}

/// Frames of a flow at a step that is taken to let them pass.
#[derive(Clone, Debug)]
pub(crate) struct Passage {
    pub(crate) step: RuleStep,
    /// The limit that they have to keep; none if one of them is stopped however they arrive.
    pub(crate) police: Option<Police>,
    pub(crate) flow: u32,
    /// The visit before, and the time from the beginning of service there.
    pub(crate) parent: u32,
    pub(crate) gap: Gap,
    /// Octets of the largest frame, and frames per message.
    pub(crate) size: i64,
    pub(crate) frames: i64,
    /// The visits behind the step.
    pub(crate) visits: [u32; 2],
}

impl Passage {
    /// Returns the passage of a flow with another number, with its visits moved.
    pub(crate) fn moved(&self, flow: u32, visit: impl Fn(u32) -> u32) -> Self {
        Self { flow, parent: visit(self.parent), visits: self.visits.map(visit), ..self.clone() }
    }
}
