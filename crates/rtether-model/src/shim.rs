//! Settings of a shim, which is the end-node layer on a device of a host.

use alloc::vec::Vec;

use crate::endnode::Layer;
use crate::mac::MacAddress;
use crate::network::{Pcp, Vid};
use crate::quantity::{BitRate, Duration};

/// What a thread does while it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Sleeps in the kernel.
    #[default]
    Block,
    /// Polls, which takes a whole core but saves the wake-up.
    Spin,
}

/// How a shim treats the frames of its device.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Classes, queues, smoother.
    pub layer: Layer,
    /// Link rate. The shim is the bottleneck, so that nothing queues below it.
    pub rate: BitRate,
    /// Tags added and removed.
    pub tags: Tags,
    /// Source of the detector's signals.
    pub signal: Signal,
    /// Probes between shims; `None` neither sends nor answers any.
    pub probes: Option<Probing>,
    /// Core of the shim's thread; `None` for any.
    pub core: Option<usize>,
    /// Its `SCHED_FIFO` priority, 1 to 99; `None` for an ordinary thread.
    pub priority: Option<u8>,
    /// Whether the thread spins or blocks while it waits.
    pub waiting: Waiting,
}

impl Settings {
    /// Returns settings that leave tags alone, take signals from the port itself, and run in an
    /// ordinary thread that sleeps when idle.
    pub fn new(layer: Layer, rate: BitRate) -> Self {
        Self {
            layer,
            rate,
            tags: Tags::default(),
            signal: Signal::default(),
            probes: None,
            core: None,
            priority: None,
            waiting: Waiting::Block,
        }
    }
}

/// IEEE 802.1Q tags that the stack does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// PCP for untagged outgoing frames, by class; `None` adds no tag.
    pub insert: Option<[Pcp; 8]>,
    /// VLAN of the tags; [`Vid::PRIORITY_ONLY`] for priority tags.
    pub vid: Vid,
    /// Whether tags of this VLAN and priority tags are removed from received frames.
    pub strip: bool,
}

impl Default for Tags {
    /// Neither adds nor removes tags.
    fn default() -> Self {
        Self { insert: None, vid: Vid::PRIORITY_ONLY, strip: false }
    }
}

/// Source of a congestion detector's input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// What the port itself knows: sizes, times and backlog. Collisions are not seen.
    #[default]
    Port,
    /// The driver's collision counter: a frame collided if the counter has grown since the previous
    /// frame.
    DriverCollisions {
        /// Interval between two readings.
        every: Duration,
    },
    /// The reports of an emulated hub, with the number of
    /// attempts of each frame and the time it was out.
    Reports,
}

/// Probes whose one-way delay feeds a probe-delay detector. A shim with probes also answers those
/// of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probing {
    /// The stations to probe, at most `rtether_proto::probe::PATHS_MAX`; if empty, the shim only
    /// answers.
    pub to: Vec<MacAddress>,
    /// Interval between two probes to the same station.
    pub every: Duration,
}

/// Implementation that carries out the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Filters and queues of the kernel.
    Kernel,
    /// The engines in a thread of this process.
    User,
}

impl Backend {
    /// Returns its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::User => "user",
        }
    }
}
