//! Results of a run: the record that every engine fills, so that any two can be compared.
//!
//! A *stream* is one flow to one of its listeners. Latency runs from the release by the talker's
//! application to the delivery to the listener's application; for a flow with a reply, back to the
//! talker's. Latency splits into [`Segment`]s that add up to it exactly, packet by packet. The
//! *Ethernet delay* is the part between the two stacks: driver queue, wire and switches.

mod layer;
mod medium;
mod node;
mod port;
mod segment;
mod stream;
mod summary;
mod tally;

use alloc::vec::Vec;

use crate::quantity::Duration;

pub use layer::{ClassRecord, LayerRecord, SmootherRecord};
pub use medium::MediumRecord;
pub use node::{AdmissionRecord, ArpRecord, IngressRecord, NodeRecord};
pub use port::{AccessRecord, PortRecord, QueueRecord};
pub use segment::{Place, Segment};
pub use stream::{Bucket, ChannelRecord, SampleRecord, StreamRecord, TransferRecord, Worst};
pub use summary::Summary;
pub use tally::Tally;

/// Results of one run, or of several merged ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Simulated or measured time of the longest run, warm-up included.
    pub duration: Duration,
    /// The same, summed over all runs: the time base of the counters.
    pub observed: Duration,
    /// Start of every run that streams leave out.
    pub warmup: Duration,
    /// Length of a bucket of the time axis; zero for no buckets.
    pub bucket: Duration,
    /// Runs merged into this record.
    pub runs: u32,
    /// Streams in the order of flows and their listeners.
    pub streams: Vec<StreamRecord>,
    /// Ports with a link in use, in the order of nodes and ports.
    pub ports: Vec<PortRecord>,
    /// All nodes, in order.
    pub nodes: Vec<NodeRecord>,
    /// Collision domains, in the order of their first node.
    pub media: Vec<MediumRecord>,
    /// Events handled.
    pub events: u64,
}

impl Record {
    /// Adds another run of the same scenario. Merge in seed order: of equally bad packets the first
    /// is kept.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.duration = Ord::max(self.duration, other.duration);
        self.observed += other.observed;
        self.events += other.events;
        for (own, others) in self.streams.iter_mut().zip(&other.streams) {
            own.merge(others);
        }
        for (own, others) in self.ports.iter_mut().zip(&other.ports) {
            own.merge(others);
        }
        for (own, others) in self.nodes.iter_mut().zip(&other.nodes) {
            own.merge(others);
        }
        for (own, others) in self.media.iter_mut().zip(&other.media) {
            own.merge(others);
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a ratio for display and claims needs no 53rd bit")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
