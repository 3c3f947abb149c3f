//! Options of an emulator, and why it may fail.

use std::io;

use rtether_model::flow::Flow;
use rtether_model::network::{Link, Network, NodeId};
use rtether_model::quantity::Duration;
use rtether_model::wire::MIN_FRAME;
use rtether_sim::emulation::{Draws, EmulationError};

use super::OffloadError;
use crate::clock::Clock;
use crate::link::{DeviceError, MacAddress};
use crate::wait::Waiting;

/// Smallest guard: senders interrupted for longer are rare.
const GUARD_MIN: Duration = Duration::from_us(10);
/// Largest guard: the longest interruptions on a host that is not stopped altogether.
const GUARD_MAX: Duration = Duration::from_us(40);

/// A station, and the device that leads to the host that plays it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The station.
    pub station: NodeId,
    /// Name of the emulator's end of the pair.
    pub device: String,
    /// Ethernet address of the host's end.
    pub address: MacAddress,
}

/// Treatment of a frame for an address that no station has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// It is dropped and counted.
    #[default]
    Drop,
    /// It goes to all stations, as from a switch that does not know the address.
    Flood,
}

/// Options of an emulator.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clock of the run; its origin is that of all times.
    pub clock: Clock,
    /// Seed of back-offs and bit errors.
    pub seed: u64,
    /// How back-offs are drawn.
    pub draws: Draws,
    /// Whether the thread spins.
    pub waiting: Waiting,
    /// How long to wait for frames that have a stamp but are not in the socket yet; frames that
    /// arrive later are late. Between stamp and socket lies a microsecond, plus any interruption of
    /// the sender.
    ///
    /// It delays no frame whose transmission on its last link takes at least as long, or 10 us
    /// longer on a shared medium: its arrival is known in advance. `None` for the time of the
    /// shortest frame on the fastest link of a station, between 10 us and 40 us.
    pub guard: Option<Duration>,
    /// Largest number of frames under way; more are dropped and counted. Each takes 1.5 KiB.
    pub frames: u32,
    /// Largest number of arrivals, and of ends of copies, recorded; zero for no recording and no
    /// comparison. Each takes some 150 octets.
    pub recording: usize,
    /// Groups with known listeners; other group frames go to the whole VLAN.
    pub groups: Vec<Group>,
    /// Treatment of frames for unknown addresses.
    pub unknown: Unknown,
    /// Whether hosts are told of their collisions.
    pub reports_collisions: bool,
    /// Whether hosts on shared media are told of each of their frames sent or given up. For a frame
    /// to a host behind a switch the report is late: it comes when the frame arrives there.
    pub reports_completions: bool,
}

impl Options {
    /// Returns the defaults: a spinning thread, a guard derived from the link rates, 4096 frames
    /// under way, a recording of a million, no known groups.
    pub const fn new(clock: Clock, seed: u64) -> Self {
        Self {
            clock,
            seed,
            draws: Draws::ByFrame,
            waiting: Waiting::Spin,
            guard: None,
            frames: 4_096,
            recording: 1_000_000,
            groups: Vec::new(),
            unknown: Unknown::Drop,
            reports_collisions: false,
            reports_completions: false,
        }
    }
}

/// A group address and the multicast flow that its talker sends to it.
///
/// A switch that manages multicast forwards such frames only to the flow's listeners; other group
/// frames go to the whole VLAN.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The address.
    pub address: MacAddress,
    /// The flow.
    pub flow: Flow,
}

/// Why a network cannot be emulated on this host, or not any longer.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The network cannot be emulated.
    #[error(transparent)]
    Network(#[from] EmulationError),
    /// A device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An offload cannot be turned off.
    #[error(transparent)]
    Offload(#[from] OffloadError),
    /// An invalid port.
    #[error("port `{device}`: {reason}")]
    Port {
        /// Name of the device.
        device: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// An invalid group.
    #[error("`{flow}` is not a multicast flow to a group address ({address})")]
    Group {
        /// Name of the flow.
        flow: String,
        /// The address.
        address: MacAddress,
    },
    /// No right to packet sockets, or no memory for them.
    #[error(
        "cannot open a packet socket: {source}; run as root, or \
         `sudo setcap cap_net_raw,cap_net_admin+ep` on the program"
    )]
    Socket {
        /// The error of the system.
        source: io::Error,
    },
    /// A device was removed or shut down while the emulator ran.
    #[error("device `{device}` is gone: {source}; what was measured until then stands")]
    Gone {
        /// Name of the device.
        device: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The system refuses to wait or receive.
    #[error("cannot receive frames: {source}")]
    Receive {
        /// The error of the system.
        source: io::Error,
    },
}

/// Returns a guard that delays few frames and leaves few late.
pub(super) fn guard_for(network: &Network) -> Duration {
    let leads_to_station = |link: &&Link| {
        let mut ends = link.ends.iter();
        ends.any(|end| network.end_station(end.node).is_some())
    };
    let links = network.links.iter().filter(leads_to_station);
    let shortest = links.map(|link| link.rate.time_floor(MIN_FRAME)).min();
    let shortest = shortest.unwrap_or(GUARD_MAX);
    shortest.clamp(GUARD_MIN, GUARD_MAX)
}
