//! Round trips over hubs and a switch (004 Valentim): the two PCs, the networks between them, and
//! the calibration of their stacks.
//!
//! In the paper, half a round trip is `T_frame + T_stack / 2 + T_NIC`: the frame on the wire, half
//! the round trip over the loopback device, and the rest, which it attributes to the network cards.
//! Stack and card become straight lines through the paper's measurements over loopback and on the
//! 100 Mbit/s hub. The other two networks are predictions.

pub(crate) mod decomposition;
pub(crate) mod loopback;
pub(crate) mod rtt;
pub(crate) mod switch_hub;

use std::collections::BTreeMap;

use rtether_model::network::{Hub, Jitter, LinearStack, Network, NodeKind, Servers, Stack};
use rtether_model::record::Segment;
use rtether_model::wire::{Encapsulation, frame_size, wire_time};

use crate::plant::{self, PATCH, Plant};
use crate::prelude::*;
use crate::{echo, fit};

/// Payloads of the paper, in octets.
pub(crate) const SIZES: [u64; 5] = [64, 128, 256, 512, 1024];
/// Round trips per point (004 II.C).
const COUNT: usize = 1000;
/// Every round trip ends before the next begins.
const PERIOD: Duration = Duration::from_ms(5);

pub(crate) const FAST: BitRate = BitRate::from_mbps(100);
const SLOW: BitRate = BitRate::from_mbps(10);

/// The network between the two PCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    FastHub,
    FastSwitch,
    SlowHub,
}

impl Medium {
    pub(crate) const ALL: [Self; 3] = [Self::FastHub, Self::FastSwitch, Self::SlowHub];

    /// Returns the name in the paper's table.
    const fn key(self) -> &'static str {
        match self {
            Self::FastHub => "100M_hub",
            Self::FastSwitch => "100M_switch",
            Self::SlowHub => "10M_hub",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FastHub => "100 Mbit/s hub",
            Self::FastSwitch => "100 Mbit/s switch",
            Self::SlowHub => "10 Mbit/s hub",
        }
    }

    const fn rate(self) -> BitRate {
        match self {
            Self::FastHub | Self::FastSwitch => FAST,
            Self::SlowHub => SLOW,
        }
    }

    /// Returns the longest repeater delay: 46 bit times for class II at 100 Mbit/s (IEEE
    /// 802.3-2022, 27.3.1.4), 8 bit times at 10 Mbit/s (9.5.5).
    const fn repeater_delay(self) -> Duration {
        match self {
            Self::FastHub | Self::FastSwitch => Duration::from_ns(460),
            Self::SlowHub => Duration::from_ns(800),
        }
    }
}

/// Protocol between the PCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    Udp,
    Raw,
}

impl Protocol {
    pub(crate) const ALL: [Self; 2] = [Self::Udp, Self::Raw];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Udp => "UDP",
            Self::Raw => "RAW",
        }
    }

    pub(crate) const fn encapsulation(self) -> Encapsulation {
        match self {
            Self::Udp => Encapsulation::Udp,
            Self::Raw => Encapsulation::Raw,
        }
    }

    /// Returns the frame size for a payload.
    pub(crate) fn frame(self, payload: u64) -> Bytes {
        frame_size(Bytes::new(payload), self.encapsulation())
    }
}

/// A point of the paper's table, and times by point.
pub(crate) type Key = (Protocol, u64);
pub(crate) type Times = BTreeMap<Key, Duration>;

/// Returns all points of a network.
pub(crate) fn keys() -> impl Iterator<Item = Key> {
    let protocols = Protocol::ALL.into_iter();
    protocols.flat_map(|protocol| SIZES.map(|size| (protocol, size)))
}

/// Names a point; simulated and measured values of one point have the same name.
pub(crate) fn quantity(network: &str, (protocol, size): Key) -> String {
    format!("{network}, {}, {size} B", protocol.name())
}

/// Returns the paper's comparable measurements on a network.
fn measured(experiment: &str, statistic: &str, network: &str) -> Times {
    let times = reference::times(experiment, statistic);
    let points = keys().filter_map(|(protocol, size)| {
        let key = format!("{network}, {}, {size}", protocol.name());
        Some(((protocol, size), *times.get(&key)?))
    });
    points.collect()
}

/// Returns the half round trips of the paper's table.
pub(crate) fn half_round_trips(medium: Medium) -> Times {
    measured("valentim-rtt", "mean_half_rtt", medium.key())
}

/// Returns round trips over the loopback device, without the misprinted one.
pub(crate) fn loopbacks() -> Times {
    measured("valentim-loopback", "mean_loopback", "loopback")
}

/// Returns the time of a frame from PC to PC over a hub, without the cards.
fn through_hub(medium: Medium, frame: Bytes) -> Duration {
    wire_time(frame, medium.rate()) + medium.repeater_delay() + PATCH * 2
}

/// Returns the stack and network card of the paper's PCs, a Pentium III of 800 MHz.
///
/// The paper does not separate sending from receiving: both get the same. A loopback round trip
/// passes the stack four times; half a network round trip passes stack and card once down and once
/// up.
pub(crate) fn stack(protocol: Protocol) -> LinearStack {
    let frame = |payload: u64| protocol.frame(payload);
    let own = |all: &Times| -> Vec<(u64, Duration)> {
        let own = all.iter().filter(|((of, _), _)| *of == protocol);
        own.map(|(&(_, payload), &time)| (payload, time)).collect()
    };
    let loopbacks = loopbacks();
    let passages = own(&loopbacks).into_iter();
    let passages: Vec<_> = passages.map(|(payload, time)| (frame(payload), time / 4)).collect();
    let halves = own(&half_round_trips(Medium::FastHub)).into_iter();
    let cards = halves.filter_map(|(payload, half)| {
        let stacks = *loopbacks.get(&(protocol, payload))? / 2;
        let known = through_hub(Medium::FastHub, frame(payload)) + stacks;
        Some((frame(payload), (half - known) / 2))
    });
    let cards: Vec<_> = cards.collect();
    let line = |points: &[_]| fit::line(points).expect("the table has several sizes");
    let passage = line(&passages);
    LinearStack {
        send: passage,
        receive: passage,
        interface: line(&cards),
        jitter: Jitter::default(),
        servers: Servers::Shared,
    }
}

/// Returns the latency of the paper's unnamed switch: how much longer the smallest payload takes
/// than over the hub, minus one frame time, plus the delay of the hub; mean of both protocols.
fn switch_latency() -> Duration {
    let (hub, switch) = (half_round_trips(Medium::FastHub), half_round_trips(Medium::FastSwitch));
    let more = Protocol::ALL.map(|protocol| {
        let (key, frame) = ((protocol, SIZES[0]), protocol.frame(SIZES[0]));
        let rest = switch[&key] - hub[&key] - wire_time(frame, FAST);
        rest + Medium::FastHub.repeater_delay()
    });
    (more[0] + more[1]) / 2
}

/// Returns the two PCs with a network between them.
pub(crate) fn network(medium: Medium, protocol: Protocol) -> Network {
    let mut plant = Plant::default();
    let pcs = ["client", "server"].map(|name| plant.station(name, Stack::Linear(stack(protocol))));
    let middle = match medium {
        Medium::FastSwitch => NodeKind::Switch(plant::switch(2, switch_latency())),
        Medium::FastHub | Medium::SlowHub => {
            NodeKind::Hub(Hub { delay: medium.repeater_delay(), ..Hub::new(medium.rate(), 2) })
        }
    };
    let middle = plant.add("middle", middle);
    for (port, pc) in (0..).zip(pcs) {
        plant.link((pc, 0), (middle, port), medium.rate());
    }
    plant.network
}

/// Simulated means.
#[derive(Clone, Copy, Debug)]
struct Means {
    /// Half a round trip.
    half: Duration,
    /// A round trip over loopback: all passages of the stacks.
    stack: Duration,
    /// Time on the wire and in network cards in half a round trip.
    wire: Duration,
    lost: usize,
}

/// Simulates one point.
fn simulate(
    medium: Medium,
    protocol: Protocol,
    payload: u64,
    progress: &Progress,
) -> Result<Means, ReproduceError> {
    let network = network(medium, protocol);
    let ends = network.find("client").zip(network.find("server"));
    let ends = ends.expect("the network has both");
    let form = (protocol.encapsulation(), Bytes::new(payload));
    let flow = plant::echoed(plant::flow("round trip", ends, form, plant::periodic(PERIOD)));
    let echoes = echo::measure(&network, &[flow], COUNT, 1, progress)?;
    Ok(Means {
        half: echoes.summary().mean().unwrap_or_default() / 2,
        stack: echoes.mean_of(&[
            Segment::TalkerStack,
            Segment::ReceiveQueue,
            Segment::ReceiveStack,
        ]),
        wire: echoes.mean_of(&[Segment::Wire]) / 2,
        lost: echoes.lost,
    })
}

/// Simulated points of one network.
type Points = BTreeMap<Key, Means>;

/// Simulates all points of one network.
fn simulate_all(medium: Medium, progress: &Progress) -> Result<Points, ReproduceError> {
    let points = keys().map(|key| Ok((key, simulate(medium, key.0, key.1, progress)?)));
    points.collect()
}

/// Returns the largest difference between values with the same key.
fn largest_distance(ours: &Points, theirs: &Times) -> Option<Duration> {
    let common = theirs.iter().filter_map(|(key, &theirs)| {
        let distance = ours.get(key)?.half - theirs;
        Some(Duration::from_ps(distance.as_ps().abs()))
    });
    common.reduce(Duration::max)
}

/// Judges whether round trips over loopback do not depend on the size for raw frames, and are
/// dearer and grow for UDP (C086, C087); `udp_words` describes the latter.
pub(crate) fn judge_loopback(
    page: &mut Page,
    [udp, raw]: [[Duration; 5]; 2],
    udp_words: &str,
    reasons: [&str; 2],
) {
    let (least, most) = extremes(raw);
    let spread = ratio(most, least);
    page.check_or("C086", [spread], format!("{least} to {most}: {spread:.2}"), reasons[0]);
    let factors = udp.iter().zip(raw).map(|(&udp, raw)| ratio(udp, raw));
    let least = factors.fold(f64::INFINITY, f64::min);
    let holds = page.accepts("C087", [least]) == Some(true) && udp.is_sorted();
    page.judge("C087", holds, format!("at least {least:.2}; UDP {udp_words}"), reasons[1]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fit_gives_the_hub_back() {
        // Oracle: 004 table II, column 100 Mbit/s hub, and section 5b of the catalogue, which has
        // cards of 21.6 to 28.8 us (UDP) and 25.3 to 38.0 us (RAW) for both ends.
        for protocol in Protocol::ALL {
            let stack = stack(protocol);
            for (&(of, payload), &half) in &half_round_trips(Medium::FastHub) {
                let frame = protocol.frame(payload);
                let cost = stack.send.of(frame) + stack.receive.of(frame);
                let ours =
                    through_hub(Medium::FastHub, frame) + cost + stack.interface.of(frame) * 2;
                let distance = Duration::from_ps((ours - half).as_ps().abs());
                let what = format!("{protocol:?} {payload}: {ours} against {half}");
                assert!(of != protocol || distance <= Duration::from_us(1), "{what}");
                let card = stack.interface.of(frame) * 2;
                assert!(card > Duration::from_us(20) && card < Duration::from_us(39), "{card}");
            }
        }
    }

    #[test]
    fn the_switch_is_predicted_from_the_hub() {
        // Oracle: table II; the catalogue asks for 4 us.
        let ours = simulate_all(Medium::FastSwitch, &Progress::default()).unwrap();
        let theirs = half_round_trips(Medium::FastSwitch);
        assert_eq!(theirs.len(), 10);
        let distance = largest_distance(&ours, &theirs).unwrap();
        assert!(distance <= Duration::from_us(4), "{distance}");
        assert!(ours.values().all(|found| found.lost == 0));
    }
    #[test]
    fn the_experiments_hold() {
        // Oracle: the claims, as checked by the catalogue on the reconstructed table; and its 10 us
        // for the 10 Mbit/s hub.
        use super::super::{Mode, Status, reproduce};
        for (id, judged) in [
            ("valentim-rtt", 3),
            ("valentim-loopback", 2),
            ("valentim-decomposition", 2),
            ("valentim-switch-hub", 2),
        ] {
            let found = reproduce(id, Mode::Sim, &Progress::default()).expect("can be repeated");
            let statuses: Vec<_> = found.claims.iter().map(|claim| claim.status).collect();
            assert_eq!(statuses, vec![Status::Pass; judged], "{id}");
        }
        let ours = simulate_all(Medium::SlowHub, &Progress::default()).unwrap();
        let theirs = rtt::comparable(Medium::SlowHub);
        assert_eq!(theirs.len(), 8, "the rows of 128 B are lost");
        let distance = largest_distance(&ours, &theirs).unwrap();
        assert!(distance <= Duration::from_us(10), "{distance}");
    }
}
