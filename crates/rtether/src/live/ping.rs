//! The side that asks.

use std::io;
use std::sync::atomic::AtomicBool;

use rtether_live::clock::Clock;
use rtether_live::link::{Icmp, Link, Raw, Udp};
use rtether_live::meter::Meter;
use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::cndep::Profile;
use rtether_proto::probe::{Codec, Command, Config, Event, Interval, Prober};

use super::{LiveError, Marks, PORT, Thread, Via, address, address_v4, mac_address};
use crate::meter::{Measurement, Subject};

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PingOptions {
    /// Address, host name or Ethernet address.
    pub target: String,
    /// How payloads travel.
    pub via: Via,
    /// Device for raw frames.
    pub device: Option<String>,
    /// Series, samples, interval, pause and timeout.
    pub config: Config,
    /// Octets of the payload; as many as the format needs if fewer.
    pub payload: usize,
    /// DSCP, PCP, VLAN.
    pub marks: Marks,
    /// Core, priority, waiting.
    pub thread: Thread,
    /// Largest round trip that is no miss.
    pub deadline: Option<Duration>,
    /// CNDEP command and octet values.
    pub command: Command,
    /// CNDEP octet values.
    pub profile: Profile,
}

impl Default for PingOptions {
    fn default() -> Self {
        Self {
            target: String::new(),
            via: Via::Udp,
            device: None,
            config: Config {
                series: 1,
                samples: 1_000,
                interval: Interval::Fixed(Duration::from_ms(1)),
                pause: Duration::ZERO,
                timeout: Duration::from_secs(1),
            },
            payload: 64,
            marks: Marks::default(),
            thread: Thread::default(),
            deadline: None,
            command: Command::Test,
            profile: Profile::DEFAULT,
        }
    }
}

/// Measures until all samples are there, until `stop`, or until the socket fails; what was
/// measured is returned in any case.
///
/// `watch` sees each event as it happens; it must be quick.
///
/// # Errors
/// If nothing could be measured at all.
pub fn ping(
    options: &PingOptions,
    stop: &AtomicBool,
    mut watch: impl FnMut(&Event),
) -> Result<Measurement, LiveError> {
    let prober = Prober::new(options.config, Instant::ZERO)?;
    // Sockets first: their mistakes are the user's, and the thread is placed only then.
    match options.via {
        Via::Udp => {
            let peer = address(&options.target, PORT, options.via)?;
            let link = Udp::connect(peer, options.marks.udp());
            let link = link.map_err(|error| opening(options, error))?;
            let codec = Codec::Message { session: session() };
            measure(options, link, codec, prober, stop, &mut watch)
        }
        Via::Raw => {
            let device = options.device.as_deref().ok_or(LiveError::NoDevice)?;
            let peer = mac_address(&options.target)?;
            let link = Raw::connect(device, peer, options.marks.raw())?;
            let codec = Codec::Message { session: session() };
            measure(options, link, codec, prober, stop, &mut watch)
        }
        Via::Icmp => {
            let peer = address_v4(&options.target, options.via)?;
            let link = Icmp::connect(peer, options.marks.dscp);
            let link = link.map_err(|error| opening(options, error))?;
            let [_, _, high, low] = session().to_be_bytes();
            let identifier = u16::from_be_bytes([high, low]);
            measure(
                options,
                link,
                Codec::Icmp { identifier },
                prober,
                stop,
                &mut watch,
            )
        }
        Via::Cndep => {
            let peer = address(&options.target, Profile::PORT, options.via)?;
            let link = Udp::connect(peer, options.marks.udp());
            let link = link.map_err(|error| opening(options, error))?;
            let codec = Codec::Cndep {
                profile: options.profile,
                command: options.command.clone(),
            };
            measure(options, link, codec, prober, stop, &mut watch)
        }
    }
}

fn opening(options: &PingOptions, error: io::Error) -> LiveError {
    let doing = format!(
        "a socket to `{}` via {}",
        options.target,
        options.via.name()
    );
    LiveError::socket(doing, error)
}

/// Returns a number that tells this run from others, of this host and of others.
fn session() -> u32 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.subsec_nanos());
    ns.rotate_left(8) ^ std::process::id()
}

fn measure<L: Link>(
    options: &PingOptions,
    link: L,
    codec: Codec,
    prober: Prober,
    stop: &AtomicBool,
    watch: &mut impl FnMut(&Event),
) -> Result<Measurement, LiveError> {
    options.thread.placement.apply()?;
    let payload = match codec {
        // A command has the length it needs.
        Codec::Cndep { .. } => 0,
        Codec::Message { .. } | Codec::Icmp { .. } => options.payload.max(codec.size_min()),
    };
    let mut measurement = Measurement::new(Subject {
        target: options.target.clone(),
        via: options.via.name().to_owned(),
        payload,
        series: options.config.series,
        samples: options.config.samples,
        deadline: options.deadline,
    });
    let clock = Clock::start();
    let mut meter = Meter::new(link, codec, prober, clock, options.thread.waiting, payload);
    let ended = meter.run(stop, |event| {
        watch(&event);
        measurement.record(event);
    });
    measurement.counters = meter.prober().counters();
    let oddities = meter.oddities();
    measurement.oddities = vec![
        ("malformed", oddities.malformed),
        ("foreign", oddities.foreign),
        ("refusals", oddities.refusals),
        ("unreachable", oddities.unreachable),
        ("unsent", oddities.unsent),
        ("rests", oddities.rests),
    ];
    measurement.ended = match ended {
        Err(error) => Some(error.to_string()),
        Ok(()) if !meter.prober().is_finished() => Some("interrupted".to_owned()),
        Ok(()) => None,
    };
    Ok(measurement)
}
