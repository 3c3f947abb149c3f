//! Measures the cost of this host's network stack and derives a profile of it for scenarios.

mod fit;
mod output;
mod yaml;

use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::calibrate::{Bench, Measured, Parts, Trial};
use rtether_live::host::files::Files;
use rtether_live::host::rights::{cores, try_fifo};
use rtether_live::thread::Placement;
use rtether_live::thread::keep_cores_awake;
use rtether_live::wait::Waiting;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{Encapsulation, frame_size};

use super::testbed::CALIBRATE;

pub use fit::{Fit, fit};
pub(crate) use output::CalibrateJson;
pub use rtether_live::calibrate::{
    CalibrateError, Measured as Raw, Path, Protocol, RoundTrip, SIZE_MAX, SIZE_MIN,
};
pub use yaml::yaml;

/// Priority of `SCHED_FIFO` used if the user gives none and the system grants it.
pub const PRIORITY: u8 = 50;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibrateOptions {
    /// Paths to measure over.
    pub paths: Vec<Path>,
    /// Protocols that carry the payload.
    pub protocols: Vec<Protocol>,
    /// Blocking, spinning or both.
    pub waitings: Vec<Waiting>,
    /// Payload sizes, in octets.
    pub sizes: Vec<usize>,
    /// Round trips per combination.
    pub samples: u32,
    /// Time between requests.
    pub interval: Duration,
    /// Cores of the two ends; `None` for the first two allowed ones.
    pub cores: Option<[usize; 2]>,
    /// Priority of `SCHED_FIFO`; `None` for [`PRIORITY`] if granted, 0 for an ordinary task.
    pub priority: Option<u8>,
    /// Keeps all cores out of deep sleep during the measurement, as in a test bed, if the system
    /// permits.
    pub awake: bool,
}

impl Default for CalibrateOptions {
    fn default() -> Self {
        Self {
            paths: vec![Path::Loopback, Path::Veth],
            protocols: vec![Protocol::Udp, Protocol::Raw, Protocol::Icmp],
            waitings: vec![Waiting::Block, Waiting::Spin],
            sizes: vec![64, 128, 256, 512, 1_024, 1_472],
            samples: 1_000,
            interval: Duration::from_ms(1),
            cores: None,
            priority: None,
            awake: false,
        }
    }
}

/// Result of one combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Path measured over.
    pub path: Path,
    /// Protocol that carried the payload.
    pub protocol: Protocol,
    /// Blocking or spinning.
    pub waiting: Waiting,
    /// Payload size, in octets.
    pub size: usize,
    /// The round trips.
    pub measured: Measured,
}

/// Result of a calibration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Name of the host.
    pub host: String,
    /// Version of its kernel.
    pub kernel: String,
    /// Number of processors.
    pub processors: usize,
    /// Priority of `SCHED_FIFO` of the two ends, if any.
    pub priority: Option<u8>,
    /// Cores of the two ends, if they were pinned.
    pub cores: Option<[usize; 2]>,
    /// Time between requests.
    pub interval: Duration,
    /// One row per combination.
    pub rows: Vec<Row>,
    /// Whether the calibration was stopped early.
    pub is_partial: bool,
    /// Whether all cores were kept out of deep sleep.
    pub is_awake: bool,
}

impl Row {
    /// Returns the round trips without a stall of the host.
    pub fn totals(&self) -> impl Iterator<Item = Duration> + '_ {
        let all = self.measured.round_trips.iter();
        all.map(|round_trip| Duration::from_ns(round_trip.total))
    }

    /// Returns the costs of sending, of both ends.
    pub fn sends(&self) -> impl Iterator<Item = Duration> + '_ {
        self.parts().flat_map(|parts| parts.send).map(Duration::from_ns)
    }

    /// Returns the costs of receiving, of both ends.
    pub fn receives(&self) -> impl Iterator<Item = Duration> + '_ {
        self.parts().flat_map(|parts| parts.receive).map(Duration::from_ns)
    }

    fn parts(&self) -> impl Iterator<Item = Parts> + '_ {
        let all = self.measured.round_trips.iter();
        all.filter_map(|round_trip| round_trip.parts)
    }

    /// Returns the size of the untagged frame that carried the payload, from addresses to FCS.
    pub fn frame(&self) -> Bytes {
        let encapsulation = match self.protocol {
            Protocol::Udp => Encapsulation::Udp,
            Protocol::Raw => Encapsulation::Raw,
            Protocol::Icmp => Encapsulation::Icmp,
        };
        frame_size(Bytes::new(self.size as u64), encapsulation)
    }
}

/// Returns the name used on the command line and in files.
pub const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Udp => "udp",
        Protocol::Raw => "raw",
        Protocol::Icmp => "icmp",
    }
}

/// Returns the name used on the command line and in files.
pub const fn path_name(path: Path) -> &'static str {
    match path {
        Path::Loopback => "loopback",
        Path::Veth => "veth",
    }
}

/// Returns the name used on the command line and in files.
pub const fn waiting_name(waiting: Waiting) -> &'static str {
    match waiting {
        Waiting::Block => "block",
        Waiting::Spin => "spin",
    }
}

/// Measures every combination; `watch` gets the number of combinations done, their total and the
/// name of the next one.
///
/// # Errors
/// If the system refuses a resource or no reply arrives. What was created is removed.
pub fn calibrate(
    options: &CalibrateOptions,
    stop: &AtomicBool,
    mut watch: impl FnMut(usize, usize, &str),
) -> Result<Calibration, CalibrateError> {
    let files = Files::default();
    let priority = match options.priority {
        Some(0) => None,
        Some(priority) => Some(priority),
        None => try_fifo(PRIORITY).is_ok().then_some(PRIORITY),
    };
    // Spinning ends of equal priority would starve each other on one core, and the system does not
    // always move them apart.
    let apart = || match cores().as_slice() {
        [near, far, ..] => Some([*near, *far]),
        _ => None,
    };
    let places = options.cores.or_else(apart);
    let place = |end: usize| Placement {
        core: places.map(|places| places[end]),
        priority,
        lock_memory: false,
    };
    let plans = plans(options, [place(0), place(1)]);
    let is_awake = options.awake && keep_cores_awake().is_ok();
    let bench = Bench::create(&format!("{CALIBRATE}{}", std::process::id()))?;
    let mut rows = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let what = format!(
            "{} {} {} {} B",
            path_name(plan.path),
            protocol_name(plan.protocol),
            waiting_name(plan.waiting),
            plan.size
        );
        watch(number, plans.len(), &what);
        let measured = bench.measure(plan, stop)?;
        if measured.round_trips.is_empty() && stop.load(Ordering::Relaxed) {
            // It was still warming up.
            break;
        }
        rows.push(Row {
            path: plan.path,
            protocol: plan.protocol,
            waiting: plan.waiting,
            size: plan.size,
            measured,
        });
    }
    let text = |path| files.text(path).unwrap_or_default();
    Ok(Calibration {
        host: text("proc/sys/kernel/hostname"),
        kernel: text("proc/sys/kernel/osrelease"),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        priority,
        cores: places,
        interval: options.interval,
        is_awake,
        is_partial: stop.load(Ordering::Relaxed),
        rows,
    })
}

/// Returns all combinations that can be measured.
fn plans(options: &CalibrateOptions, placements: [Placement; 2]) -> Vec<Trial> {
    let mut plans = Vec::new();
    for &path in &options.paths {
        for &protocol in &options.protocols {
            // On the single loopback device both ends would see each other's frames.
            if path == Path::Loopback && protocol == Protocol::Raw {
                continue;
            }
            for &waiting in &options.waitings {
                plans.extend(options.sizes.iter().map(|&size| Trial {
                    path,
                    protocol,
                    size,
                    waiting,
                    samples: options.samples,
                    interval: options.interval,
                    placements,
                }));
            }
        }
    }
    plans
}
