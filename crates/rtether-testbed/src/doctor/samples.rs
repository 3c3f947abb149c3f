//! Whether samples of a size pass this host: buffers of sockets, reassembly of fragments, and the
//! MTU, with the arithmetic, and samples that are sent.

use std::fmt::Write;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time;

use rtether_live::host::files::Files;
use rtether_model::quantity::Duration;
use rtether_model::wire::{FCS, HEADER, wire_size};

use super::{Finding, State};
use crate::topics::{
    History, ParticipantOptions, Peer, PublishOptions, Qos, Reliability, Representation, Said,
    SubscribeOptions, Summary, TopicOptions, TopicType, Values, publish, subscribe,
};
use crate::{LiveError, Thread};

/// What the kernel charges for a datagram of one frame, in octets: 1500 octets in a buffer of 2048,
/// with its header (`SKB_TRUESIZE`).
const CHARGE: u64 = 2_304;
/// Payload of our datagrams, with headers of RTPS about 72 octets less.
const DATAGRAM: u64 = 1_400;
/// Largest datagrams, as Fast DDS sends them, and the fragments of IP that each has at 1500.
const LARGE: u64 = 65_500;
const IP_PAYLOAD: u64 = 1_480;
/// The domain of the samples that are sent, and how many.
const DOMAIN: u16 = 231;
const SAMPLES: u64 = 5;
const TOPIC: &str = "rtether/doctor";

/// Returns what is in the way of samples of `size` octets.
pub(super) fn findings(files: &Files, size: u64, stop: &AtomicBool) -> Vec<Finding> {
    let mut findings = vec![buffers(files, size), reassembly(files, size)];
    findings.extend(devices(files, size));
    findings.push(burst(size));
    for reliability in [Reliability::Reliable, Reliability::BestEffort] {
        if !stop.load(Ordering::Relaxed) {
            findings.push(sent(size, reliability, stop));
        }
    }
    findings
}

fn number(files: &Files, path: &str) -> Option<u64> {
    files.number(path).and_then(|number| number.try_into().ok())
}

/// Octets for people, in decimal units.
fn octets(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} octets"),
        10_000..10_000_000 => format!("{} kB", count / 1_000),
        _ => format!("{} MB", count / 1_000_000),
    }
}

/// Compares the largest buffer of a socket with what a sample takes there.
pub(super) fn buffers(files: &Files, size: u64) -> Finding {
    let id = "rtps.buffer";
    let max = number(files, "proc/sys/net/core/rmem_max").unwrap_or(212_992);
    let datagrams = size.div_ceil(DATAGRAM);
    let need = datagrams.saturating_mul(CHARGE);
    // The kernel doubles what is asked for, since it counts its own overhead.
    let limit = max.saturating_mul(2);
    let found = format!(
        "net.core.rmem_max {max}, so a buffer of {}; {} in {datagrams} datagrams of {DATAGRAM} take \
         {datagrams} x {CHARGE} = {}",
        octets(limit),
        octets(size),
        octets(need)
    );
    if limit >= need {
        return Finding::ok(id, found, "a whole sample fits, however late the reader is");
    }
    Finding::note(
        id,
        found,
        "what comes while the reader does not run is lost beyond the buffer: best-effort samples are \
         then lost whole, reliable ones wait for repairs",
        &format!("`sudo sysctl -w net.core.rmem_max={}`", need.div_ceil(2)),
    )
}

/// Compares the memory for fragments of IP with what datagrams of 64 kB take there.
pub(super) fn reassembly(files: &Files, size: u64) -> Finding {
    let id = "rtps.fragments";
    let limit = number(files, "proc/sys/net/ipv4/ipfrag_high_thresh");
    let limit = limit.unwrap_or(4 << 20).max(1);
    let seconds = number(files, "proc/sys/net/ipv4/ipfrag_time").unwrap_or(30);
    let fragments = LARGE.div_ceil(IP_PAYLOAD);
    let each = fragments * CHARGE;
    let incomplete = limit / each;
    let datagrams = size.div_ceil(LARGE);
    let found = format!(
        "ipfrag_high_thresh {limit}, ipfrag_time {seconds} s; a datagram of {LARGE} has {fragments} \
         fragments, {fragments} x {CHARGE} = {}, so {incomplete} incomplete ones fit, and {} are \
         {datagrams} datagrams",
        octets(each),
        octets(size)
    );
    let meaning = format!(
        "of implementations that send such datagrams, as Fast DDS does: {incomplete} lost fragments \
         within {seconds} s stop all fragmented datagrams until their time is over; ours are never \
         fragmented by IP"
    );
    if incomplete >= datagrams.saturating_mul(2) {
        return Finding::ok(id, found, &meaning);
    }
    let wanted = datagrams.saturating_mul(2).saturating_mul(each);
    Finding::note(
        id,
        found,
        &meaning,
        &format!(
            "`sudo sysctl -w net.ipv4.ipfrag_high_thresh={wanted} net.ipv4.ipfrag_time=3`, or \
             datagrams of at most 1472 octets in the peer"
        ),
    )
}

/// Tells for each device that is up what a sample costs on its link.
pub(super) fn devices(files: &Files, size: u64) -> Vec<Finding> {
    let names = files.names("sys/class/net");
    let up = names.iter().filter(|name| {
        let state = files.text(&format!("sys/class/net/{name}/operstate"));
        name.as_str() != "lo" && state.is_some_and(|state| state == "up")
    });
    let each = up.filter_map(|name| {
        let mtu = number(files, &format!("sys/class/net/{name}/mtu"))?;
        let speed = number(files, &format!("sys/class/net/{name}/speed"));
        Some(device(name, mtu, speed.filter(|speed| *speed > 0), size))
    });
    each.collect()
}

fn device(name: &str, mtu: u64, speed: Option<u64>, size: u64) -> Finding {
    // Of each frame: headers of IP, UDP and RTPS inside the MTU; outside preamble, header, FCS, gap.
    let payload = mtu.saturating_sub(28 + 72).clamp(1, DATAGRAM);
    let frames = size.div_ceil(payload);
    let around = wire_size(HEADER + FCS);
    let wire = size.saturating_add(frames.saturating_mul(28 + 72 + around.get()));
    let mut found = format!("MTU {mtu}: {frames} frames, {} on the wire", octets(wire));
    if let Some(speed) = speed {
        let us = wire.saturating_mul(8) / speed;
        let (ms, rest) = (us / 1_000, us % 1_000);
        _ = write!(found, ", {ms}.{rest:03} ms at {speed} Mbit/s");
    }
    let id = format!("rtps.device-{name}");
    if mtu < 1_500 {
        let meaning = "datagrams of 1472 octets do not fit: IP cuts each in two";
        return Finding::note(id, found, meaning, "an MTU of 1500 on the whole way");
    }
    Finding::ok(id, found, "the least time between two samples on this link")
}

/// Sends the datagrams of a sample to a socket whose reader sleeps, and counts those that are there
/// afterwards.
fn burst(size: u64) -> Finding {
    let id = "rtps.burst";
    let datagrams = size.div_ceil(DATAGRAM);
    match received(datagrams) {
        Ok(received) => {
            let found = format!("{received} of {datagrams} datagrams sent at once have arrived");
            if received == datagrams {
                return Finding::ok(id, found, "with the usual buffer, the reader asleep");
            }
            Finding::note(
                id,
                found,
                "with the usual buffer, while the reader sleeps: programs that ask for no larger one \
                 lose the rest",
                "`sudo sysctl -w net.core.rmem_default=N`, or a larger buffer in the program",
            )
        }
        Err(error) => Finding::missing(
            id,
            State::Note,
            format!("sending to 127.0.0.1: {error}"),
            "what fits a buffer cannot be tried",
            "`ip link set lo up`",
        ),
    }
}

fn received(datagrams: u64) -> std::io::Result<u64> {
    let reader = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let writer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let to = reader.local_addr()?;
    let octets = [0; 1_472];
    for _ in 0..datagrams {
        // A full buffer of the reader is no error of the writer.
        writer.send_to(&octets, to)?;
    }
    reader.set_read_timeout(Some(time::Duration::from_millis(50)))?;
    let (mut count, mut buffer) = (0, [0; 1_472]);
    while count < datagrams && reader.recv_from(&mut buffer).is_ok() {
        count += 1;
    }
    Ok(count)
}

/// Sends samples between two participants over loopback.
fn sent(size: u64, reliability: Reliability, stop: &AtomicBool) -> Finding {
    let id = format!("rtps.{}", reliability.name().replace(' ', "-"));
    let what = "samples of this size between two participants of rtether on this host";
    let remedy = "what `rtps.buffer` says; then look at the processor";
    match exchange(size, reliability, stop) {
        Ok((read, took)) => {
            let found = format!(
                "{} of {SAMPLES} samples of {} arrived, {} lost, in {took} ms",
                read.samples,
                octets(size),
                read.lost
            );
            if read.samples >= SAMPLES {
                Finding::ok(id, found, what)
            } else {
                let finding = Finding::missing(id, State::Note, found, what, remedy);
                if reliability == Reliability::Reliable { finding.worse() } else { finding }
            }
        }
        Err(error) => Finding::missing(id, State::Note, error.to_string(), what, remedy),
    }
}

fn exchange(
    size: u64,
    reliability: Reliability,
    stop: &AtomicBool,
) -> Result<(Summary, u128), LiveError> {
    let options = |duration| TopicOptions {
        participant: ParticipantOptions {
            domain: DOMAIN,
            interface: Some(Ipv4Addr::LOCALHOST),
            peers: vec![Peer::Host(Ipv4Addr::LOCALHOST)],
            multicast: false,
            ..ParticipantOptions::default()
        },
        thread: Thread::default(),
        topic: TOPIC.to_owned(),
        kind: TopicType::Octets,
        qos: Qos {
            reliability,
            history: History::KeepLast(u32::try_from(SAMPLES).unwrap_or(1)),
            representations: vec![Representation::Xcdr1],
            ..Qos::writer()
        },
        count: Some(SAMPLES),
        duration: Some(duration),
    };
    let is_over = AtomicBool::new(false);
    let write = PublishOptions {
        topic: options(Duration::from_secs(12)),
        period: Duration::from_ms(200),
        size: u32::try_from(size).unwrap_or(u32::MAX),
        linger: Duration::from_secs(5),
        color: String::new(),
        describes: false,
    };
    let read = SubscribeOptions {
        topic: options(Duration::from_secs(8)),
        delay: false,
        clock_error: None,
    };
    thread::scope(|scope| {
        let writing = scope.spawn(|| publish(&write, Values::Made, &is_over, |_: Said<'_>| ()));
        let begin = time::Instant::now();
        let came = subscribe(&read, stop, |_| ());
        let took = begin.elapsed().as_millis();
        is_over.store(true, Ordering::Relaxed);
        let written = writing.join();
        let written = written.map_err(|_| LiveError::Topic("the writer failed".to_owned()))?;
        written?;
        Ok((came?, took))
    })
}
