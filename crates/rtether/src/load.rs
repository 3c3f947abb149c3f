//! Offered load of flows, and flows scaled to another load.

use rtether_model::flow::{Delivery, Flow, FlowId, Traffic};
use rtether_model::network::NodeId;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::{self, Frames};
use rtether_report::text::{real, real_len};

use crate::scenario::Scenario;

/// Mean load that one flow puts on one station.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Offer {
    /// Frames per second.
    pub(crate) frames_per_second: f64,
    /// Bits per second on the wire, preambles and gaps included.
    pub(crate) wire_bps: f64,
    /// The same as IP datagrams, the unit of a traffic smoother.
    pub(crate) datagram_bps: f64,
}

impl Offer {
    pub(crate) fn add(&mut self, other: Self) {
        self.frames_per_second += other.frames_per_second;
        self.wire_bps += other.wire_bps;
        self.datagram_bps += other.datagram_bps;
    }

    fn new(flow: &Flow, payload: Bytes, packets_per_second: f64) -> Self {
        let tag = flow.tag.map_or(Bytes::ZERO, |_| wire::TAG);
        let frames = Frames::of_packet(payload, flow.encapsulation);
        let wire_bits = |frame| real(wire::wire_size(frame + tag).bits());
        let others = frames.count - 1;
        let wire = wire_bits(frames.full) * f64::from(others) + wire_bits(frames.last);
        // Each fragment has its own IP header.
        let more = wire::IP * u64::from(others);
        let datagram = flow.encapsulation.header_size() + payload + more;
        Self {
            frames_per_second: packets_per_second * f64::from(frames.count),
            wire_bps: wire * packets_per_second,
            datagram_bps: real(datagram.bits()) * packets_per_second,
        }
    }

    /// Returns the load of a station that always has a full frame.
    pub(crate) fn always(rate: BitRate) -> Self {
        let frame = wire::HEADER + wire::MAX_FRAME_PAYLOAD + wire::FCS;
        let bits = real(wire::wire_size(frame).bits());
        let frames_per_second = real(rate.as_bps()) / bits;
        Self {
            frames_per_second,
            wire_bps: real(rate.as_bps()),
            datagram_bps: real(wire::MAX_FRAME_PAYLOAD.bits()) * frames_per_second,
        }
    }

    /// Returns the load of `per_second` TCP acknowledgements per second, in frames of the smallest
    /// size.
    pub(crate) fn acknowledgements(per_second: f64) -> Self {
        Self {
            frames_per_second: per_second,
            wire_bps: real(wire::wire_size(wire::MIN_FRAME).bits()) * per_second,
            datagram_bps: 40.0 * 8.0 * per_second,
        }
    }

    fn times(self, factor: f64) -> Self {
        Self {
            frames_per_second: self.frames_per_second * factor,
            wire_bps: self.wire_bps * factor,
            datagram_bps: self.datagram_bps * factor,
        }
    }
}

/// Returns the load that each station sends for a flow; empty if the network decides.
pub(super) fn offers(flow: &Flow) -> Vec<(NodeId, Offer)> {
    let Some((sent, answer)) = of_one_listener(flow) else {
        return Vec::new();
    };
    let copies = match flow.delivery {
        Delivery::Unicast => real_len(flow.listeners.len()),
        Delivery::Multicast => 1.0,
    };
    let mut all = vec![(flow.talker, sent.times(copies))];
    if let Some(answer) = answer {
        all.extend(flow.listeners.iter().map(|&listener| (listener, answer)));
    }
    all
}

/// Returns the load that a flow's talker sends to one listener, and that of the listener's answers;
/// `None` if the network decides.
pub(crate) fn of_one_listener(flow: &Flow) -> Option<(Offer, Option<Offer>)> {
    let (interval, payload) = interval_and_payload(flow)?;
    let per_second = 1.0 / interval;
    let answer = flow.reply;
    let answer = answer.map(|reply| split_up(flow, reply.payload, per_second));
    Some((split_up(flow, payload, per_second), answer))
}

/// A message over a connection may need several segments, and a sample several datagrams.
fn split_up(flow: &Flow, payload: Bytes, per_second: f64) -> Offer {
    let segment = match flow.connection {
        Some(tcp) => tcp.segment,
        None if flow.is_published() => flow.encapsulation.max_payload(),
        None => payload,
    };
    if payload <= segment || segment == Bytes::ZERO {
        return Offer::new(flow, payload, per_second);
    }
    let whole = payload.get() / segment.get();
    let mut all = Offer::new(flow, segment, per_second * real(whole));
    let rest = Bytes::new(payload.get() % segment.get());
    if rest > Bytes::ZERO {
        all.add(Offer::new(flow, rest, per_second));
    }
    all
}

/// Returns the mean time between packets in seconds, and their payload.
fn interval_and_payload(flow: &Flow) -> Option<(f64, Bytes)> {
    if let Traffic::Bulk(bulk) = &flow.traffic {
        let segment = bulk.tcp.segment;
        let of_bursts = bulk.bursts.and_then(|bursts| {
            let segments = real(bursts.size.get()) / real(segment.get());
            Some(bursts.mean_gap?.as_secs_f64() / segments)
        });
        let of_rate = bulk.rate.map(|rate| real(segment.bits()) / real(rate.as_bps()));
        return Some((of_bursts.or(of_rate)?, segment));
    }
    Some((flow.mean_interval()?.as_secs_f64(), flow.payload))
}

/// Returns the total load of some flows, in bits per second on the wire.
pub(super) fn total_bps(scenario: &Scenario, flows: &[FlowId]) -> f64 {
    let offers = flows.iter().flat_map(|id| offers(&scenario.flows[id.index()]));
    offers.map(|(_, offer)| offer.wire_bps).sum()
}

/// Returns a flow that offers `factor` times as much, or the reason why that is not possible.
pub(super) fn scaled(flow: &Flow, factor: f64) -> Result<Flow, &'static str> {
    let mut flow = flow.clone();
    let stretch = |time: &mut Duration| *time = stretched(*time, factor);
    match &mut flow.traffic {
        Traffic::Periodic { period, release_jitter, .. } => {
            stretch(period);
            // A release must not be later than the next point of the grid.
            stretch(release_jitter);
        }
        Traffic::Sporadic { min_gap, mean_gap, .. } => {
            stretch(min_gap);
            stretch(mean_gap);
        }
        Traffic::Poisson { mean_interval } => stretch(mean_interval),
        Traffic::Flood { interval } => stretch(interval),
        Traffic::Adaptive { .. } => {
            return Err(
                "its requests follow the answers, so the network determines its load; give it a \
                 `period`",
            );
        }
        Traffic::Bulk(bulk) => {
            let gap = bulk.bursts.as_mut().and_then(|b| b.mean_gap.as_mut());
            match (gap, &mut bulk.rate) {
                (Some(gap), _) => stretch(gap),
                (None, Some(rate)) => {
                    *rate = BitRate::from_bps(rounded(real(rate.as_bps()) * factor).max(1));
                }
                (None, None) => {
                    return Err("it sends as fast as the network allows; give it a `rate`");
                }
            }
        }
    }
    Ok(flow)
}

/// Returns the time divided by the factor, rounded to a picosecond and never to zero.
fn stretched(time: Duration, factor: f64) -> Duration {
    if time <= Duration::ZERO {
        return time;
    }
    let ps = rounded(real(time.as_ps().unsigned_abs()) / factor);
    Duration::from_ps(i64::try_from(ps.max(1)).unwrap_or(i64::MAX))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and a cast saturates"
)]
pub(super) fn rounded(value: f64) -> u64 {
    value.round() as u64
}
