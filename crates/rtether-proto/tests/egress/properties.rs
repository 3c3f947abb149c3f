//! Properties for any traffic and any host.

#![allow(clippy::wildcard_enum_match_arm, reason = "a property takes the steps that concern it")]

use proptest::prelude::*;
use rtether_model::endnode::{
    Detector, Layer, RingEmpty, Smoothing, TransmitConfig, TransmitStrategy,
};
use rtether_model::network::Selection;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::{
    Adaptive, Config, Doubling, Fixed, Limits, Mode, Nt, Rule, TurnBucket,
};
use rtether_proto::egress::{Egress, Marked, Offered, Seeds};
use rtether_proto::smoother::Class::{Bulk, RealTime};

use crate::egress::harness::{Host, RATE, datagram, other};

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Offer(Offered),
    Poll,
    Dropped,
    Begin(u8),
    Attempt,
    Complete(u32),
    Refuse(u8),
    Hear(u64),
    Probe(u8, Option<i64>),
    Mark(u64, bool),
    Timeout,
    /// Time passes; if negative, the host's clock is wrong.
    Wait(i64),
    Set(Box<Layer>),
}

pub(crate) fn offered() -> impl Strategy<Value = Offered> {
    let octets = prop_oneof![Just(1500_u64), 1..=1600_u64, Just(28)];
    (octets, 0..9_u8, 0..5_u8).prop_map(|(octets, class, kind)| match kind {
        0 => other(octets.max(64), class),
        1 | 2 => datagram(octets, RealTime, class),
        _ => datagram(octets, Bulk, class),
    })
}

fn transmit() -> impl Strategy<Value = TransmitConfig> {
    let strategy = prop_oneof![
        Just(TransmitStrategy::Fifo),
        Just(TransmitStrategy::MODERATE),
        Just(TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting }),
        Just(TransmitStrategy::STRICT),
        Just(TransmitStrategy::STRICT_LITERAL),
        (1..=8_u8).prop_map(|count| TransmitStrategy::Rings { count }),
        Just(TransmitStrategy::Selection(Selection::StrictPriority)),
        Just(TransmitStrategy::Selection(Selection::Wrr { weights: [1, 2, 3, 1, 4, 1, 1, 2] })),
        Just(TransmitStrategy::Selection(Selection::Drr {
            quanta: [64, 1_522, 500, 64, 3_000, 100, 1_522, 64]
        })),
        Just(TransmitStrategy::Selection(Selection::Cbs {
            idle_slopes: [0, 10, 0, 3, 20, 0, 40, 5].map(BitRate::from_mbps)
        })),
        Just(TransmitStrategy::Selection(Selection::CbsDrr {
            idle_slopes: [0, 0, 10, 3, 20, 0, 40, 5].map(BitRate::from_mbps),
            quanta: [64, 1_522, 1, 1, 1, 1, 1, 1]
        })),
    ];
    let limits = prop::collection::vec(1..6_u32, 1..=8);
    (1..5_u32, limits, strategy).prop_map(|(ring_limit, queue_limits, strategy)| {
        let classes = u8::try_from(queue_limits.len()).expect("eight");
        TransmitConfig {
            ring_limit,
            queue_limits,
            high_from: None,
            strategy: match strategy {
                TransmitStrategy::Rings { count } => {
                    TransmitStrategy::Rings { count: count.min(classes) }
                }
                strategy @ (TransmitStrategy::Fifo
                | TransmitStrategy::Moderate { .. }
                | TransmitStrategy::Strict { .. }
                | TransmitStrategy::Selection(_)) => strategy,
            },
        }
    })
}

fn smoothing() -> impl Strategy<Value = Smoothing> {
    let literal = Adaptive { doubling: Doubling::PerCall, ..Adaptive::HIMD };
    let mode = prop::sample::select(vec![
        Mode::None,
        Mode::Fixed(Fixed::PAPER),
        Mode::Adaptive(Adaptive::HIMD),
        Mode::Adaptive(literal),
        Mode::Adaptive(Adaptive::SLOW_START),
        Mode::Nt(Nt::paper(1)),
        Mode::Rtether(TurnBucket::DEFAULT),
    ]);
    let window = Duration::from_ms(1);
    let threshold_percent = 50;
    let detector = prop::sample::select(vec![
        Detector::OwnCollisions { visibility_per_million: 500_000 },
        Detector::ClearingRate { floor: BitRate::from_mbps(5) },
        Detector::Backlog { low: Bytes::new(1500), high: Bytes::new(3000) },
        Detector::Utilization { threshold_percent, window },
        Detector::ProbeDelay { excess: Duration::from_us(100), epoch: window },
        Detector::Marks { threshold_percent, window },
    ]);
    (mode, detector, 1..4_u32, 1..8_usize).prop_map(|(mode, detector, ring, packets)| Smoothing {
        config: Config {
            mode,
            limits: Limits {
                real_time_packets: packets,
                bulk_packets: packets,
                ..Limits::default()
            },
        },
        rule: Rule::LINUX,
        ring,
        detector,
    })
}

pub(crate) fn layer() -> impl Strategy<Value = Layer> {
    (prop::option::of(transmit()), prop::option::of(smoothing()))
        .prop_map(|(transmit, smoother)| Layer { transmit, smoother, ..Layer::default() })
}

pub(crate) fn seeds() -> impl Strategy<Value = Seeds> {
    any::<u64>().prop_map(Seeds::new)
}

/// Any action of a host, in any order.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => offered().prop_map(Step::Offer),
        6 => Just(Step::Poll),
        1 => Just(Step::Dropped),
        4 => (0..10_u8).prop_map(Step::Begin),
        1 => Just(Step::Attempt),
        4 => (1..17_u32).prop_map(Step::Complete),
        1 => (0..10_u8).prop_map(Step::Refuse),
        1 => (64..1600_u64).prop_map(Step::Hear),
        1 => (0..10_u8, prop::option::of(-500..2_000_i64)).prop_map(|(path, delay)| Step::Probe(path, delay)),
        1 => (1..1600_u64, any::<bool>()).prop_map(|(size, mark)| Step::Mark(size, mark)),
        3 => Just(Step::Timeout),
        4 => prop_oneof![0..2_000_i64, -5_000..50_000_i64].prop_map(Step::Wait),
        1 => layer().prop_map(|layer| Step::Set(Box::new(layer))),
    ]
}

/// A host that drains only when told, and whose clock may run backwards.
pub(crate) struct Careless {
    pub(crate) egress: Egress<u64>,
    pub(crate) now: Instant,
    pub(crate) layers: Vec<Layer>,
    fetched: u64,
    dropped: u64,
}

impl Careless {
    pub(crate) fn new(egress: Egress<u64>, layer: Layer) -> Self {
        Self { egress, now: Instant::ZERO, layers: vec![layer], fetched: 0, dropped: 0 }
    }

    pub(crate) fn take(&mut self, step: Step) {
        let now = self.now;
        match step {
            Step::Offer(offered) => {
                let frame = self.egress.statistics().offered;
                self.egress.offer(now, frame, offered);
            }
            Step::Poll => self.fetched += u64::from(self.egress.poll_transmit(now).is_some()),
            Step::Dropped => self.dropped += u64::from(self.egress.poll_dropped().is_some()),
            Step::Begin(ring) => self.egress.begin(now, ring),
            Step::Attempt => self.egress.attempt(now),
            Step::Complete(attempts) => self.egress.handle_completion(now, attempts),
            Step::Refuse(ring) => self.egress.refuse(now, ring),
            Step::Hear(size) => self.egress.hear(now, Bytes::new(size)),
            Step::Probe(path, delay) => self.egress.probe(now, path, delay.map(Duration::from_us)),
            Step::Mark(size, is_marked) => {
                let size = Bytes::new(size);
                self.egress.mark(now, Marked { size, is_marked });
            }
            Step::Timeout => self.egress.handle_timeout(now),
            Step::Wait(us) => self.now += Duration::from_us(us),
            Step::Set(layer) => {
                self.egress.set(now, &layer).expect("a good layer");
                self.layers.push(*layer);
            }
        }
    }

    fn check(&self) {
        self.egress.invariants();
        let statistics = self.egress.statistics();
        assert_eq!(statistics.handed, self.fetched);
        let dropped = statistics.dropped_by_smoother + statistics.dropped_by_queues;
        let waiting = u64::try_from(self.egress.waiting()).expect("few");
        assert_eq!(statistics.offered, self.fetched + dropped + waiting);
        assert!(self.dropped <= dropped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Oracle: the host's accounts, frame by frame.
    #[test]
    fn frames_are_conserved_and_limits_hold(
        layer in layer(),
        room in prop_oneof![Just(usize::MAX), 0..4_usize],
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let mut host = Host::new(&layer);
        host.room = room;
        let mut limit = limit_of(&layer);
        for step in steps {
            match step {
                Step::Offer(offered) => { host.offer(offered); }
                Step::Begin(_) => { host.begin(); }
                Step::Attempt => host.egress.attempt(host.now),
                Step::Complete(attempts) => { host.complete(attempts); }
                Step::Hear(size) => host.egress.hear(host.now, Bytes::new(size)),
                Step::Probe(path, delay) => {
                    host.egress.probe(host.now, path, delay.map(Duration::from_us));
                    host.drain();
                }
                Step::Mark(size, is_marked) => {
                    host.egress.mark(host.now, Marked { size: Bytes::new(size), is_marked });
                    host.drain();
                }
                Step::Wait(us) => host.wait_until(host.now + Duration::from_us(us.max(0))),
                Step::Set(layer) => {
                    host.egress.set(host.now, &layer).expect("a good layer");
                    limit = limit.max(limit_of(&layer));
                    host.drain();
                }
                Step::Poll | Step::Dropped | Step::Refuse(_) | Step::Timeout => host.drain(),
            }
            prop_assert!(host.longest_ring() <= limit.min(room));
        }
    }

    /// Oracle: the frames offered before. Frames of one kind never overtake each other.
    #[test]
    fn frames_of_one_kind_stay_in_order(
        layer in layer(),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let mut host = Host::new(&layer);
        for step in steps {
            match step {
                Step::Offer(offered) => { host.offer(offered); }
                Step::Begin(_) => { host.begin(); }
                Step::Complete(attempts) => { host.complete(attempts); }
                Step::Wait(us) => host.wait_until(host.now + Duration::from_us(us.max(0))),
                Step::Set(layer) => {
                    host.egress.set(host.now, &layer).expect("a good layer");
                    host.drain();
                }
                _ => host.drain(),
            }
        }
        let order = host.order();
        let kind = |frame: usize| {
            let Offered { class, datagram, .. } = host.offered[frame];
            (class, datagram.map(|(_, class)| class))
        };
        for (index, &late) in order.iter().enumerate() {
            let is_overtaken = |&&early: &&usize| early > late && kind(early) == kind(late);
            prop_assert_eq!(order[..index].iter().find(is_overtaken), None, "{} late", late);
        }
    }

    /// Oracle: the waiting frames. No bulk packet leaves while a real-time packet waits in the
    /// smoother, and no more frames are below it than there is room for.
    #[test]
    fn real_time_goes_first(
        smoothing in smoothing(),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let ring = usize::try_from(smoothing.ring).expect("few");
        let layer = Layer { smoother: Some(smoothing), ..Layer::default() };
        let mut host = Host::new(&layer);
        for step in steps {
            let before = host.handed.len();
            match step {
                Step::Offer(offered) if offered.datagram.is_some() => { host.offer(offered); }
                Step::Begin(_) => { host.begin(); }
                Step::Complete(attempts) => { host.complete(attempts); }
                Step::Wait(us) => host.wait_until(host.now + Duration::from_us(us.max(0))),
                _ => host.drain(),
            }
            let class = |frame: usize| host.offered[frame].datagram.map(|(_, class)| class);
            let is_waiting = host.egress.frames().any(|&f| class(f) == Some(RealTime));
            let new = &host.handed[before..];
            let has_bulk = new.iter().any(|&(_, frame)| class(frame) == Some(Bulk));
            prop_assert!(!(is_waiting && has_bulk), "bulk went before real-time");
            prop_assert!(host.egress.in_rings() <= ring);
            // With room below, a real-time packet never waits.
            prop_assert!(!is_waiting || host.egress.in_rings() == ring);
        }
    }

    /// Oracle: the engine's invariants, and the host's count of the frames it fetched.
    #[test]
    fn any_order_of_calls_does_no_harm(
        layer in layer(),
        seeds in seeds(),
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let egress = Egress::new(Instant::ZERO, &layer, RATE, seeds).expect("a good layer");
        let mut host = Careless::new(egress, layer);
        for step in steps {
            host.take(step);
            host.check();
        }
    }
}

/// Returns the limit of a ring.
fn limit_of(layer: &Layer) -> usize {
    layer
        .transmit
        .as_ref()
        .map_or(usize::MAX, |transmit| usize::try_from(transmit.ring_limit).expect("few"))
}
