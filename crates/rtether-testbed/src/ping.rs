//! The requester.

use std::io;
use std::sync::atomic::AtomicBool;

use rtether_live::clock::Clock;
use rtether_live::host::rights::cores;
use rtether_live::link::{Icmp, Link, Raw, Tcp, Udp, Xdp};
use rtether_live::meter::Meter;
use rtether_model::quantity::Instant;
use rtether_proto::probe::cndep::Profile;
use rtether_proto::probe::{Codec, Command, Event, Prober, Request, details};

use super::watchers::{gaps, watchers};
use super::{
    LiveError, PORT, PingOptions, Via, address, address_v4, keep_cores_awake, mac_address, paths,
    round_trip, session,
};
use rtether::meter::{INTERRUPTED, Measurement, Subject};

/// Measures until all samples are taken, `stop` is set, or the socket fails; what was measured is
/// returned in every case.
///
/// `watch` is called with each event and must be quick.
///
/// # Errors
/// If nothing could be measured.
pub fn ping(
    options: &PingOptions,
    stop: &AtomicBool,
    mut watch: impl FnMut(&Event),
) -> Result<Measurement, LiveError> {
    // Report mistakes of the user first.
    Prober::new(options.config, Instant::ZERO)?;
    check(options)?;
    let message = Codec::Message { session: session() };
    let opened = |error| opening(options, error);
    match options.via {
        Via::Udp => {
            let peer = address(&options.target, PORT, options.via)?;
            let link = Udp::connect(peer, options.marks.udp()).map_err(opened)?;
            measure(options, link, message, stop, &mut watch)
        }
        Via::Raw => {
            let (device, peer) = (device(options)?, mac_address(&options.target, options.via)?);
            let link = Raw::connect(device, peer, options.marks.raw())?;
            check_size(options, device, link.payload_max())?;
            measure(options, link, message, stop, &mut watch)
        }
        Via::Xdp => {
            let (device, peer) = (device(options)?, mac_address(&options.target, options.via)?);
            let link = Xdp::connect(device, peer, options.marks.raw())?;
            check_size(options, device, link.payload_max())?;
            measure(options, link, message, stop, &mut watch)
        }
        Via::Tcp => {
            let peer = address(&options.target, PORT, options.via)?;
            let link = Tcp::connect(peer, options.marks.udp()).map_err(opened)?;
            measure(options, link, message, stop, &mut watch)
        }
        Via::Icmp => {
            let peer = address_v4(&options.target, options.via)?;
            let link = Icmp::connect(peer, options.marks.dscp).map_err(opened)?;
            let [_, _, high, low] = session().to_be_bytes();
            let identifier = u16::from_be_bytes([high, low]);
            measure(options, link, Codec::Icmp { identifier }, stop, &mut watch)
        }
        Via::Cndep => {
            let peer = address(&options.target, Profile::PORT, options.via)?;
            let link = Udp::connect(peer, options.marks.udp()).map_err(opened)?;
            let codec = Codec::Cndep { profile: options.profile, command: options.command.clone() };
            measure(options, link, codec, stop, &mut watch)
        }
        Via::Rtps => round_trip::ask(options, stop, &mut watch),
    }
}

/// Refuses options that `via` does not support.
fn check(options: &PingOptions) -> Result<(), LiveError> {
    let unsuited = |option, help| LiveError::Unsuited { option, via: options.via.name(), help };
    match options.via {
        // Topics have checks of their own.
        Via::Udp | Via::Raw | Via::Rtps => Ok(()),
        Via::Xdp | Via::Tcp if options.stamps => Err(unsuited(
            "--stamps",
            "the kernel cannot stamp individual messages there, use `--via udp` or `--via raw`",
        )),
        Via::Icmp | Via::Cndep if options.stamps => Err(unsuited(
            "--stamps",
            "the message has no room for them, use `--via udp` or `--via raw`",
        )),
        Via::Icmp | Via::Cndep if options.one_way => Err(unsuited(
            "--one-way",
            "the message has no room for times, use udp, raw, xdp or tcp",
        )),
        Via::Xdp | Via::Tcp | Via::Icmp | Via::Cndep => Ok(()),
    }
}

fn device(options: &PingOptions) -> Result<&str, LiveError> {
    let via = options.via.name();
    options.device.as_deref().ok_or(LiveError::NoDevice { via })
}

fn check_size(options: &PingOptions, device: &str, max: usize) -> Result<(), LiveError> {
    if options.payload <= max {
        return Ok(());
    }
    Err(LiveError::TooLarge { device: device.to_owned(), payload: options.payload, max })
}

fn opening(options: &PingOptions, error: io::Error) -> LiveError {
    let doing = format!("a socket to `{}` via {}", options.target, options.via.name());
    LiveError::socket(doing, error)
}

/// Returns the payload size of a request, in octets.
fn payload(options: &PingOptions, codec: &Codec) -> usize {
    let least = if options.stamps || options.one_way { details::SIZE } else { codec.size_min() };
    let mut request = vec![0; options.payload.max(least)];
    let first = Request { sequence: 0, series: 0 };
    // A command has a fixed length.
    codec.write(first, &mut request);
    request.len()
}

/// Returns the command of CNDEP as tables name it; empty for other protocols.
fn command(options: &PingOptions) -> String {
    if options.via != Via::Cndep {
        return String::new();
    }
    match &options.command {
        Command::Test => "TEST".to_owned(),
        Command::Get(id) => format!("GET {id}"),
        Command::Set(id, _) => format!("SET {id}"),
    }
}

fn measure<L: Link>(
    options: &PingOptions,
    link: L,
    codec: Codec,
    stop: &AtomicBool,
    watch: &mut impl FnMut(&Event),
) -> Result<Measurement, LiveError> {
    if options.thread.awake {
        // A caller that needs to know the result has called it before.
        let _ = keep_cores_awake();
    }
    // Listed before this thread is pinned to one.
    let cores = cores();
    options.thread.placement.apply()?;
    let payload = payload(options, &codec);
    let mut measurement = Measurement::new(Subject {
        target: options.target.clone(),
        via: options.via.name().to_owned(),
        command: command(options),
        payload,
        series: options.config.series,
        samples: options.config.samples,
        deadline: options.deadline,
    });
    let clock = Clock::start();
    let link = if options.one_way { paths::ask(options, link, &codec, stop)? } else { link };
    let prober = Prober::new(options.config, clock.now())?;
    let mut meter = Meter::new(link, codec, prober, clock, options.thread.waiting, payload);
    if options.stamps {
        let stamped = meter.with_stamps();
        meter = stamped.map_err(|error| super::no_stamps(options.via, &error))?;
    } else if options.one_way {
        meter = meter.with_details();
    }
    let watchers = watchers(options, &cores, clock, meter.awaited());
    let ended = meter.run(stop, |event| {
        watch(&event);
        measurement.record(event);
    });
    measurement.gaps = gaps(meter.stalls(), watchers);
    if let Some(collector) = meter.take_collector() {
        paths::take(options, collector, &mut measurement);
    }
    finish(&meter, ended, &mut measurement);
    Ok(measurement)
}

fn finish<L: Link>(meter: &Meter<L>, ended: io::Result<()>, measurement: &mut Measurement) {
    measurement.counters = meter.prober().counters();
    let oddities = meter.oddities();
    measurement.oddities.extend([
        ("malformed", oddities.malformed),
        ("foreign", oddities.foreign),
        ("refusals", oddities.refusals),
        ("unreachable", oddities.unreachable),
        ("unsent", oddities.unsent),
        ("rests", oddities.rests),
    ]);
    measurement.ended = match ended {
        Err(error) => Some(super::why_ended(&error)),
        Ok(()) if !meter.prober().is_finished() => Some(INTERRUPTED.to_owned()),
        Ok(()) => None,
    };
}
