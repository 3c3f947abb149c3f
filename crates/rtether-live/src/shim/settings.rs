//! Settings of both back ends, and refusals.

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

    /// Returns whether smoother or detector process received frames.
    pub(super) fn hears(&self) -> bool {
        let detector = self.layer.smoother.map(|smoothing| smoothing.detector);
        self.listens() || matches!(detector, Some(Detector::Marks { .. }))
    }

    /// Returns whether they also need frames for other stations.
    pub(super) fn listens(&self) -> bool {
        self.layer.smoother.is_some_and(|smoothing| {
            matches!(smoothing.config.mode, Mode::Rtether(_))
                || matches!(smoothing.detector, Detector::Utilization { .. })
        })
    }

    /// Returns the placement of the shim's thread.
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
        Self {
            insert: None,
            vid: Vid::PRIORITY_ONLY,
            strip: false,
        }
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
    /// The reports of an emulated hub ([`crate::emulator::CollisionReport`]), with the number of
    /// attempts of each frame and the time it was out.
    Reports,
}

/// Probes whose one-way delay feeds a probe-delay detector. A shim with probes also answers those
/// of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probing {
    /// The stations to probe, at most [`rtether_proto::probe::PATHS_MAX`]; if empty, the shim only
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

/// An option that a back end cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("back end `{}` cannot do `{option}`: {reason}", backend.name())]
pub struct Refusal {
    /// The back end.
    pub backend: Backend,
    /// Name of the option in the configuration.
    pub option: &'static str,
    /// Why not, and what to do instead.
    pub reason: &'static str,
}
