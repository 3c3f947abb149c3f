//! What both back ends are told, and why they may refuse it.

use rtether_model::endnode::{Detector, Layer};
use rtether_model::network::{Pcp, Vid};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::smoother::Mode;

use crate::link::MacAddress;
use crate::thread::Placement;
use crate::wait::Waiting;

/// How a shim treats the frames of its device.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Classes, queues, smoother.
    pub layer: Layer,
    /// Of the link. The shim is the bottleneck, so that nothing queues below it.
    pub rate: BitRate,
    /// Priorities on the wire.
    pub tags: Tags,
    /// What the smoother's detector is fed with.
    pub signal: Signal,
    /// Probes between shims; none are sent or answered if not given.
    pub probes: Option<Probing>,
    /// The core of the shim's thread; any if not given.
    pub core: Option<usize>,
    /// Its priority of `SCHED_FIFO`, 1 to 99; an ordinary thread if not given.
    pub priority: Option<u8>,
    /// Whether it spins.
    pub waiting: Waiting,
}

impl Settings {
    /// Returns settings that leave tags alone, take signals from the port itself, and let an
    /// ordinary thread sleep while there is nothing to do.
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

    /// Returns whether smoother or detector look at received frames.
    pub(super) fn hears(&self) -> bool {
        let detector = self.layer.smoother.map(|smoothing| smoothing.detector);
        self.listens() || matches!(detector, Some(Detector::Marks { .. }))
    }

    /// Returns whether it also wants those for others.
    pub(super) fn listens(&self) -> bool {
        self.layer.smoother.is_some_and(|smoothing| {
            matches!(smoothing.config.mode, Mode::Rtether(_))
                || matches!(smoothing.detector, Detector::Utilization { .. })
        })
    }

    /// Returns what the shim's thread asks the system for.
    pub fn placement(&self) -> Placement {
        Placement {
            core: self.core,
            priority: self.priority,
            lock_memory: self.priority.is_some(),
        }
    }
}

/// IEEE 802.1Q tags that the stack does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// The priority that an untagged frame of each class gets on its way out; no tag if not given.
    pub insert: Option<[Pcp; 8]>,
    /// The VLAN of the tags; [`Vid::PRIORITY_ONLY`] for none.
    pub vid: Vid,
    /// Whether tags are taken off received frames: those of this VLAN, and those of none.
    pub strip: bool,
}

impl Default for Tags {
    /// Nothing is put in and nothing taken off.
    fn default() -> Self {
        Self {
            insert: None,
            vid: Vid::PRIORITY_ONLY,
            strip: false,
        }
    }
}

/// Where a detector of congestion gets what it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// What the port knows itself: sizes, times, and what waits. No collision is ever seen.
    #[default]
    Port,
    /// The driver's counter of collisions, read so often: a frame has collided if it has grown
    /// since the frame before.
    DriverCollisions {
        /// Between two readings.
        every: Duration,
    },
    /// The reports of an emulated hub ([`crate::emulator::CollisionReport`]), which say how many
    /// attempts each frame took and when it was out.
    Reports,
}

/// Probes whose one-way delay a detector of probe delay is fed with. A shim that has them answers
/// those of others, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probing {
    /// The stations that are asked, at most [`rtether_proto::probe::PATHS_MAX`]; none only answers.
    pub to: Vec<MacAddress>,
    /// Between two probes to one of them.
    pub every: Duration,
}

/// A way to carry out the settings.
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

/// An option that a back end cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("back end `{}` cannot do `{option}`: {reason}", backend.name())]
pub struct Refusal {
    /// The back end.
    pub backend: Backend,
    /// The option, as configurations call it.
    pub option: &'static str,
    /// Why not, and what to do instead.
    pub reason: &'static str,
}
