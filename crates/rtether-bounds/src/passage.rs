//! Policers of switches, and the frames that pass them.

use rtether_model::ingress::Police;
use rtether_model::network::PortId;

use crate::gap::Gap;

/// The policer of a rule at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Policer {
    pub(crate) port: PortId,
    pub(crate) rule: u16,
}

/// Frames of a flow at a policer that is taken for kept.
#[derive(Clone, Debug)]
pub(crate) struct Passage {
    pub(crate) policer: Policer,
    pub(crate) police: Police,
    pub(crate) flow: u32,
    /// The visit before, and the time from the beginning of service there.
    pub(crate) parent: u32,
    pub(crate) gap: Gap,
    /// Octets of the largest frame, and frames per message.
    pub(crate) size: i64,
    pub(crate) frames: i64,
    /// The visits behind the policer.
    pub(crate) visits: [u32; 2],
}

impl Passage {
    /// Returns the passage of a flow with another number, with its visits moved.
    pub(crate) fn moved(&self, flow: u32, visit: impl Fn(u32) -> u32) -> Self {
        Self { flow, parent: visit(self.parent), visits: self.visits.map(visit), ..self.clone() }
    }
}
