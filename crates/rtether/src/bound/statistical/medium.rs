//! Probability that attempts collide on one collision domain, from the offered load.
//!
//! Stations are 1-persistent: a station that finds the medium busy sends as soon as it becomes
//! idle. With L arrivals per second at the other stations, each of E attempts, and T the time of a
//! frame as seen at a random instant (its mean square over its mean), another station waits for the
//! same moment with probability q = 1 - exp(-L E T), and begins within the same slot S of an idle
//! medium with probability w = 1 - exp(-L E S).
//!
//! - The first attempt finds the medium busy with probability u, its utilization: it collides with
//!   probability u q + (1 - u) w.
//! - Attempt n + 1 follows n collisions of two stations. The other one draws the same of the m(n)
//!   numbers with probability 1 / m(n). If it drew a smaller one, it is still sending if the
//!   difference is at most the T / S slots of a frame, which adds to the probability of a busy
//!   medium: b = u + (1 - u) c(n), with c(n) counted. So the attempt collides with probability
//!   1 / m(n) + (1 - 1 / m(n)) (b q + (1 - b) w).
//!
//! A frame that collides repeatedly is in a crowd: newcomers replace the first partner and draw
//! from few numbers. In simulations the share of attempts that collide hardly falls after the third
//! attempt, although the ranges alone would let it fall. So the probability of a row of collisions
//! is the product with m(n) limited to m(2) = 4; the mean E uses the unlimited m(n).
//!
//! E follows from the probabilities and they from E: the least fixed point, from E = 1 upwards. At
//! most sixteen attempts are made, so that a fixed point always exists. The utilization u is the
//! offered load plus a slot for each attempt that collides. Where it approaches one the model is
//! not useful: every attempt collides.

use std::collections::BTreeMap;

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{Backoff, Network, PortId};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::route::Routing;
use rtether_model::wire::{self, FCS, HEADER, MAX_FRAME_PAYLOAD, MIN_FRAME, TAG};
use rtether_report::text::real;

use super::way::{self, Access};
use crate::csma::{ATTEMPTS_MAX, Ranges, slot_time};
use crate::load::{self, Offer};
use crate::scenario::{Domains, Scenario};

/// Largest number of rounds towards the fixed point; near it, each round changes E by less than the
/// previous one.
const ROUNDS_MAX: u32 = 1_000;

/// Collisions in a row after which further attempts are assumed to collide no less often.
const CROWD: u32 = 2;

/// One collision domain and its offered load.
pub(super) struct Medium {
    rate: BitRate,
    ranges: Ranges,
    /// Offered load by sending port.
    senders: BTreeMap<PortId, Sender>,
    /// The longest frame.
    longest: Bytes,
}

/// Load offered by one port.
#[derive(Clone, Copy, Default)]
struct Sender {
    /// Frames per second.
    frames: f64,
    /// Share of time that they take, gaps included.
    share: f64,
    /// The share, weighted with the duration of a frame in seconds.
    weighted: f64,
}

impl Medium {
    /// Returns all collision domains, in the order of `domains`.
    pub(super) fn all(scenario: &Scenario, domains: &Domains, routing: &Routing) -> Vec<Self> {
        let network = &scenario.network;
        let media = domains.iter().map(|domain| {
            let hub = domain.hubs.first().and_then(|&hub| network.hub(hub));
            Self {
                rate: domain.rate,
                ranges: match hub.map(|hub| hub.backoff) {
                    Some(Backoff::UpperEndIncluded) => Ranges::Printed,
                    Some(Backoff::Standard) | None => Ranges::Standard,
                },
                senders: BTreeMap::new(),
                longest: MIN_FRAME,
            }
        });
        let mut media: Vec<Self> = media.collect();
        for flow in &scenario.flows {
            offer(network, (domains, routing), flow, &mut media);
        }
        media
    }

    /// Returns the least number of collisions after which an access may take longer than `limit`.
    pub(super) fn least_collisions(&self, limit: Duration) -> u32 {
        let longest = |collisions: u32| {
            let worst = self.ranges.worst_case(collisions + 1, self.longest, self.rate);
            worst.0 + worst.1
        };
        let is_beyond = |&collisions: &u32| longest(collisions) > limit;
        (0..ATTEMPTS_MAX).find(is_beyond).unwrap_or(ATTEMPTS_MAX)
    }

    /// Returns the probability that a frame of a port collides `collisions` times in a row.
    pub(super) fn repeated(&self, port: PortId, collisions: u32) -> f64 {
        let own = self.senders.get(&port).map_or(0.0, |sender| sender.frames);
        let others = (self.sum(|sender| sender.frames) - own).max(0.0);
        let mut attempts = 1.0;
        let mut shares = self.shares(others, attempts, ATTEMPTS_MAX);
        for _ in 0..ROUNDS_MAX {
            let next = attempts_of(&shares);
            if next - attempts < 1e-9 {
                break;
            }
            attempts = next;
            shares = self.shares(others, attempts, ATTEMPTS_MAX);
        }
        let shares = self.shares(others, attempts, CROWD);
        let made = usize::try_from(collisions).unwrap_or(usize::MAX);
        shares.iter().take(made).product()
    }

    fn sum(&self, value: impl Fn(&Sender) -> f64) -> f64 {
        self.senders.values().map(value).sum()
    }

    /// Returns the probability that each attempt collides, first attempt first; the ranges of
    /// back-off grow for at most `growth` collisions.
    fn shares(&self, others: f64, attempts: f64, growth: u32) -> Vec<f64> {
        let slot = slot_time(self.rate).as_secs_f64();
        let offered = self.sum(|sender| sender.share);
        let frame = self.sum(|sender| sender.weighted) / offered.max(f64::MIN_POSITIVE);
        let wasted = self.sum(|sender| sender.frames) * (attempts - 1.0) * slot;
        let in_use = (offered + wasted).min(1.0);
        let within = |span: f64| 1.0 - (-others * attempts * span).exp();
        let (waits, begins) = (within(frame), within(slot));
        let collides = |busy: f64| busy * waits + (1.0 - busy) * begins;
        let later = (1..ATTEMPTS_MAX).map(|collisions| {
            let values = self.ranges.longest(collisions.min(growth)) + 1;
            let same = 1.0 / real(values.unsigned_abs());
            let busy = in_use + (1.0 - in_use) * still_sending(values, frame / slot);
            same + (1.0 - same) * collides(busy)
        });
        std::iter::once(collides(in_use)).chain(later).collect()
    }

    fn add(&mut self, port: PortId, offer: Offer, longest: Bytes) {
        let sender = self.senders.entry(port).or_default();
        let share = offer.wire_bps / real(self.rate.as_bps());
        if offer.frames_per_second > 0.0 {
            sender.frames += offer.frames_per_second;
            sender.share += share;
            sender.weighted += share * share / offer.frames_per_second;
        }
        self.longest = self.longest.max(longest);
    }
}

/// Returns the probability that, of two stations that each draw one of `values` slots, the other
/// one drew a smaller number and is still sending: less than a frame and a slot before.
fn still_sending(values: i64, frame_slots: f64) -> f64 {
    let pairs = |difference: i64| real((values - difference).unsigned_abs());
    let before = (1..values).take_while(|&d| real(d.unsigned_abs()) <= frame_slots + 1.0);
    let all = real(values.unsigned_abs());
    before.map(pairs).sum::<f64>() / (all * all)
}

/// Returns the mean number of attempts of a frame.
fn attempts_of(shares: &[f64]) -> f64 {
    let mut made = 1.0;
    let mut again = 1.0;
    // No attempt follows the last collision.
    for share in shares.iter().take(shares.len().saturating_sub(1)) {
        again *= share;
        made += again;
    }
    made
}

/// Adds the load of a flow on each medium on its path and back.
fn offer(
    network: &Network,
    (domains, routing): (&Domains, &Routing),
    flow: &Flow,
    media: &mut [Medium],
) {
    let sent = load::of_one_listener(flow);
    let mut there: Vec<Access> = Vec::new();
    let mut back: Vec<Access> = Vec::new();
    let ways = |hops| way::between(network, domains, hops).unwrap_or_default();
    for &listener in &flow.listeners {
        there.extend(ways(routing.flow_path(network, flow, listener)));
        back.extend(ways(routing.answer_path(network, flow, listener)));
    }
    if flow.delivery == Delivery::Multicast {
        // One frame for all listeners behind a port.
        there.sort_unstable();
        there.dedup();
    }
    let (forward, answer) = sent.map_or((None, None), |(sent, answer)| (Some(sent), answer));
    for access in there {
        let medium = &mut media[access.domain];
        let always = Offer::always(medium.rate);
        medium.add(access.port, forward.unwrap_or(always), longest(flow, false));
    }
    for access in back {
        let medium = &mut media[access.domain];
        if let Some(answer) = answer {
            medium.add(access.port, answer, longest(flow, true));
        } else if flow.reply.is_some() {
            medium.add(access.port, Offer::always(medium.rate), longest(flow, true));
        }
        if flow.is_acknowledged() {
            // One for each message, or for every `ack_every` segments of a file.
            let every = if let Traffic::Bulk(bulk) = &flow.traffic {
                f64::from(bulk.tcp.ack_every.max(1))
            } else {
                1.0
            };
            let sent = forward.unwrap_or(Offer::always(medium.rate));
            let acknowledged = sent.frames_per_second / every;
            medium.add(access.port, Offer::acknowledgements(acknowledged), MIN_FRAME);
        }
    }
}

/// Returns the longest frame of a flow or of its answers.
fn longest(flow: &Flow, is_answer: bool) -> Bytes {
    let payload = match (&flow.traffic, flow.reply) {
        (Traffic::Bulk(bulk), _) => bulk.tcp.segment,
        (_, Some(reply)) if is_answer => reply.payload,
        _ => flow.payload,
    };
    let segment = flow.connection.map_or(payload, |tcp| tcp.segment);
    let tag = flow.tag.map_or(Bytes::ZERO, |_| TAG);
    let most = HEADER + MAX_FRAME_PAYLOAD + FCS;
    (wire::frame_size(payload.min(segment), flow.encapsulation).min(most)) + tag
}

#[cfg(test)]
mod tests {
    use rtether_model::network::NodeId;

    use super::*;

    /// Two stations that each send `frames` frames of 64 octets per second at 10 Mbit/s.
    fn two(frames: f64) -> Medium {
        let port = |node| PortId::first(NodeId(node));
        let mut medium = Medium {
            rate: BitRate::from_mbps(10),
            ranges: Ranges::Standard,
            senders: BTreeMap::new(),
            longest: MIN_FRAME,
        };
        for node in 0..2 {
            medium.add(port(node), Offer::acknowledgements(frames), MIN_FRAME);
        }
        medium
    }

    const FIRST: PortId = PortId::first(NodeId(0));

    /// Oracle: at very low load only the two stations that collided meet again, as in 003 Dolejs:
    /// 1/2 * 1/4 after the first collision; from then on 1/4 each time.
    #[test]
    fn two_stations_at_hardly_any_load() {
        let medium = two(1e-3);
        let first = medium.repeated(FIRST, 1);
        let ratio = medium.repeated(FIRST, 4) / first;
        assert!((ratio * 32.0 - 1.0).abs() < 1e-3, "{ratio}");
        // Another station begins within a slot: 1e-3 per second in 51.2 us.
        assert!((first / 5.12e-8 - 1.0).abs() < 1e-2, "{first}");
        assert!((medium.repeated(FIRST, 0) - 1.0).abs() < 1e-12);
    }

    /// Oracle: more load collides more often, and a probability is at most one.
    #[test]
    fn load_makes_collisions_more_likely() {
        let mut last = 0.0;
        for frames in [1.0, 10.0, 100.0, 1_000.0, 3_000.0, 100_000.0] {
            let found = two(frames).repeated(FIRST, 10);
            assert!(found > last && found <= 1.0, "{frames}: {found} after {last}");
            last = found;
        }
        assert!(last > 0.99, "{last}");
        // Of two that draw one of four and send for one slot, the other is ahead by one or two in
        // five of sixteen cases.
        assert!((still_sending(4, 1.0) - 5.0 / 16.0).abs() < 1e-12);
        // No other station: no collisions.
        let mut alone = two(100.0);
        alone.senders.retain(|port, _| *port == FIRST);
        assert!(alone.repeated(FIRST, 1).abs() < 1e-12);
    }
}
