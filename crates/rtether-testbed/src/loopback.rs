//! Round trips over this host's loopback, for the method of Valentim.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use rtether_model::quantity::{BitRate, Bytes};
use rtether_model::wire::Encapsulation;
use rtether_proto::probe::Event;

use super::{EchoOptions, LiveError, Marks, PingOptions, Thread, Via, Waiting, echo, ping};
use rtether::meter::{Costs, Given, Measurement, Valentim};

/// Address of the loopback responder: a port that no other `rtether echo` uses.
const LOOPBACK: &str = "127.0.0.1:7256";
/// The loopback device, and the address that all stations on it share.
const DEVICE: &str = "lo";
const ADDRESS: &str = "00:00:00:00:00:00";

/// Measures over the network as [`ping()`] does, then over loopback, and splits half a round trip for
/// a wire of `rate`; the parts are in the measurement of the network.
///
/// Means are over round trips without a stall of the host, or over all if each had one.
///
/// # Errors
/// As for [`ping()`]; also for any `via` other than UDP and raw Ethernet.
pub fn valentim(
    options: &PingOptions,
    rate: BitRate,
    stop: &AtomicBool,
    mut watch: impl FnMut(&Event),
) -> Result<Measurement, LiveError> {
    let encapsulation = match options.via {
        Via::Udp => Encapsulation::Udp,
        Via::Raw => Encapsulation::Raw,
        Via::Xdp | Via::Icmp | Via::Cndep | Via::Tcp | Via::Rtps => {
            return Err(LiveError::Unsuited {
                option: "--valentim",
                via: options.via.name(),
                help: "loopback does not have it, use `--via udp` or `--via raw`",
            });
        }
    };
    let mut measurement = ping(options, stop, &mut watch)?;
    if measurement.ended.is_some() {
        return Ok(measurement);
    }
    let loopback = over_loopback(options, stop)?;
    let usual = |of: &Measurement| of.without_hit().or_else(|| of.all());
    let mean = |of: &Measurement| usual(of).map(|statistics| statistics.mean);
    if let (Some(round_trip), Some(loopback)) = (mean(&measurement), mean(&loopback)) {
        let payload = u64::try_from(measurement.subject.payload).unwrap_or(u64::MAX);
        let given =
            Given { round_trip, loopback, payload: Bytes::new(payload), encapsulation, rate };
        measurement.valentim = Some(Valentim { given, costs: Costs::of(&given) });
    }
    Ok(measurement)
}

/// Measures over loopback alone, with a responder in this process.
///
/// # Errors
/// As for [`ping()`].
pub fn over_loopback(options: &PingOptions, stop: &AtomicBool) -> Result<Measurement, LiveError> {
    let (target, device) = match options.via {
        Via::Raw => (ADDRESS, Some(DEVICE.to_owned())),
        Via::Udp | Via::Xdp | Via::Icmp | Via::Cndep | Via::Tcp | Via::Rtps => (LOOPBACK, None),
    };
    let near = PingOptions {
        target: target.to_owned(),
        device: device.clone(),
        stamps: false,
        one_way: false,
        ..options.clone()
    };
    let far = EchoOptions {
        listen: LOOPBACK.to_owned(),
        via: options.via,
        device,
        marks: Marks::default(),
        participant: options.participant.clone(),
        thread: if options.via == Via::Rtps && options.thread.waiting == Waiting::Block {
            // One node is one processor; the caller may keep both ends on it.
            options.thread
        } else {
            // Free to run on another core: a spinning meter on the same one would never let it
            // answer.
            Thread::default()
        },
        ..EchoOptions::default()
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (is_ready, ready) = mpsc::channel();
        let responder = scope.spawn(|| {
            let said = echo(&far, &is_over, |_| {
                // The other side waits, or has given up.
                let _ = is_ready.send(());
            });
            drop(is_ready);
            said
        });
        // Without a message the responder has failed; the join below gives the reason.
        let measured = ready.recv().ok().map(|()| ping(&near, stop, |_| {}));
        is_over.store(true, Ordering::Relaxed);
        let answered = responder.join();
        match (measured, answered) {
            (Some(measured), _) => measured,
            (None, Ok(Err(error))) => Err(error),
            (None, _) => Err(LiveError::socket(
                "answering over loopback".to_owned(),
                std::io::ErrorKind::Other.into(),
            )),
        }
    })
}
