//! How to emulate, and why that may fail.

use std::io;

use rtether_model::network::{Link, Network, NodeId};
use rtether_model::quantity::Duration;
use rtether_model::wire::MIN_FRAME;
use rtether_sim::emulation::{Draws, EmulationError};

use super::{Group, OffloadError};
use crate::clock::Clock;
use crate::link::{DeviceError, MacAddress};
use crate::wait::Waiting;

/// Where senders are interrupted once in some thousand frames, few are for longer.
const GUARD_MIN: Duration = Duration::from_us(10);
/// The longest interrupts of a host that is not stopped altogether.
const GUARD_MAX: Duration = Duration::from_us(40);

/// A station and the device that leads to the host that plays it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The station.
    pub station: NodeId,
    /// Name of the emulator's end of the pair.
    pub device: String,
    /// Ethernet address of the host's end.
    pub address: MacAddress,
}

/// What happens to a frame for an address that no station has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// It is dropped and counted.
    #[default]
    Drop,
    /// It goes to all stations, as from a switch that does not know the address.
    Flood,
}

/// How to emulate.
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
    /// How long the emulator waits for frames that have a stamp and are not in the socket yet; what
    /// comes later still is late. Between stamp and socket lies a microsecond, and whatever
    /// interrupts the sender there.
    ///
    /// It delays no frame that takes as long on its last link, or 10 us longer on a shared medium:
    /// such a frame is known ahead. `None` for the time of the shortest frame on the fastest link
    /// of a station, between 10 us and 40 us.
    pub guard: Option<Duration>,
    /// Frames under way and not yet due; more are dropped and counted. Each takes 1.5 KiB.
    pub frames: u32,
    /// Arrivals, and ends of copies, that are recorded; zero for no recording and no comparison.
    /// Each takes some 150 octets.
    pub recording: usize,
    /// Groups of which the listeners are known; other frames for groups go to the whole VLAN.
    pub groups: Vec<Group>,
    /// What happens to frames for unknown addresses.
    pub unknown: Unknown,
    /// Whether hosts are told of their collisions.
    pub reports_collisions: bool,
    /// Whether hosts on shared media are told of each of their frames that is out or given up. It
    /// is told late of a frame for a host behind a switch: when it arrives there.
    pub reports_completions: bool,
}

impl Options {
    /// Returns the defaults: a spinning thread, a guard by the rate, 4096 frames under way, a
    /// recording of a million, no known groups.
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

/// Why a network cannot be emulated here, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The network cannot be emulated.
    #[error(transparent)]
    Network(#[from] EmulationError),
    /// A device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An offload stays on.
    #[error(transparent)]
    Offload(#[from] OffloadError),
    /// A port that makes no sense.
    #[error("port `{device}`: {reason}")]
    Port {
        /// Name of the device.
        device: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A group that makes no sense.
    #[error("`{flow}` is no multicast flow to a group address ({address})")]
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
        /// What the system says.
        source: io::Error,
    },
    /// A device has been removed or shut down while the emulator ran.
    #[error("device `{device}` is gone: {source}; what was measured until then stands")]
    Gone {
        /// Name of the device.
        device: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses to wait or receive.
    #[error("cannot receive frames: {source}")]
    Receive {
        /// What the system says.
        source: io::Error,
    },
}

/// Returns what delays few frames and leaves few late.
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
