//! What the stations recorded.

use std::collections::BTreeMap;

use rtether_live::clock::Clock;
use rtether_live::stall::Stalls;
use rtether_live::station::tcp::FileLog;
use rtether_live::station::{Answered, Arrived, Log, Sent};
use rtether_model::network::NodeId;

/// Logs of all stations of a run.
#[derive(Default)]
pub(crate) struct StationLogs {
    pub(super) logs: Vec<(NodeId, Log)>,
    pub(super) files: Vec<FileLog>,
    pub(super) errors: Vec<String>,
    /// Failures that the station survived.
    pub(super) failures: Vec<String>,
    /// Stalls of each host, with the nodes it plays.
    pub(super) stalls: Vec<(Vec<NodeId>, Stalls)>,
    /// Clock of the run, if it began.
    pub(super) clock: Option<Clock>,
}

/// Records of the packets of one stream, by number.
#[derive(Default)]
pub(super) struct Records {
    pub(super) sent: BTreeMap<u32, Sent>,
    pub(super) answered: BTreeMap<u32, Answered>,
    pub(super) arrived: BTreeMap<u32, Arrived>,
    pub(super) highest: Option<u32>,
}
