//! What is said of the hosts of a run.

use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

/// Method that gave the offset of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Exchanges over the connection.
    Exchanges,
    /// Both clocks of the day are synchronized, by PTP or NTP.
    Synchronized,
}

/// The clock of a host relative to that of the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostClock {
    /// The same clock.
    Same,
    /// A different clock.
    Apart {
        /// Offset at the start of the run, in nanoseconds, of the monotonic clocks; positive if
        /// ahead.
        offset_ns: i64,
        /// Largest error of the offset.
        uncertainty: Duration,
        /// Change of the offset from before the run to after it.
        moved: Duration,
        /// How it was determined.
        basis: Basis,
    },
}

/// A real host that took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// The node that it played.
    pub node: NodeId,
    /// Name of the host for ssh.
    pub target: String,
    /// Its device.
    pub device: String,
    /// IP and Ethernet addresses of the device.
    pub addresses: [String; 2],
    /// Its clock; `None` if it dropped out.
    pub clock: Option<HostClock>,
}
