use alloc::vec::Vec;

use proptest::prelude::*;

use rtether_model::network::Selection;
use rtether_model::quantity::{BitRate, Duration};

use super::*;

const SIZE: Bytes = Bytes::new(100);
const MICROSECOND: Duration = Duration::from_us(1);

fn at(us: i64) -> Instant {
    Instant::ZERO + MICROSECOND * us
}

fn config(strategy: TransmitStrategy, classes: usize, ring_limit: u32) -> TransmitConfig {
    TransmitConfig { ring_limit, queue_limits: alloc::vec![8; classes], high_from: None, strategy }
}

/// Queues with a driver that takes frames as they enter, in order.
struct Host<F> {
    engine: TransmitQueues<F>,
    entered: Vec<Transmit<F>>,
    events: Vec<Event<F>>,
}

impl<F: Copy> Host<F> {
    fn new(config: &TransmitConfig) -> Self {
        Self {
            engine: TransmitQueues::new(config).unwrap(),
            entered: Vec::new(),
            events: Vec::new(),
        }
    }

    fn enqueue(&mut self, now: Instant, frame: F, class: u8) {
        self.engine.enqueue(now, frame, SIZE, class);
        self.settle(now);
    }

    fn complete(&mut self, now: Instant, ring: u8) -> bool {
        let was_sending = self.engine.handle_completion(now, ring);
        self.settle(now);
        was_sending
    }

    fn time_out(&mut self, now: Instant) {
        self.engine.handle_timeout(now);
        self.settle(now);
    }

    fn settle(&mut self, now: Instant) {
        self.engine.invariants();
        while let Some(transmit) = self.engine.poll_transmit(now) {
            self.entered.push(transmit);
        }
        self.events.extend(core::iter::from_fn(|| self.engine.poll_event()));
        self.engine.invariants();
    }

    fn frames(&self) -> Vec<F> {
        self.entered.iter().map(|transmit| transmit.frame).collect()
    }
}

#[test]
fn fifo_looks_at_no_class() {
    // Oracle: R81: first come, first served; a ring of two, by hand.
    let mut host = Host::new(&config(TransmitStrategy::Fifo, 2, 2));
    for (frame, class) in [("a", 0), ("b", 1), ("c", 0), ("d", 1)] {
        host.enqueue(at(0), frame, class);
    }
    assert_eq!(host.frames(), ["a", "b"]);
    assert_eq!(host.engine.ring_depth(0), 2);
    assert!(host.complete(at(7), 0));
    assert_eq!(host.frames(), ["a", "b", "c"]);
    assert!(host.complete(at(9), 0));
    assert_eq!(host.frames(), ["a", "b", "c", "d"]);
    assert_eq!(host.entered[3].class, 1);
    let stats = host.engine.stats(0);
    assert_eq!((stats.released, stats.waited_ps), (4, 16_000_000));
}

#[test]
fn moderate_waits_for_an_empty_ring() {
    // Oracle: catalogue S9, "whenever the hardware queue is empty": none waits, none is being sent.
    let mut host = Host::new(&config(TransmitStrategy::MODERATE, 2, 4));
    for (frame, class) in [("l1", 0), ("l2", 0), ("h1", 1), ("l3", 0)] {
        host.enqueue(at(0), frame, class);
    }
    assert_eq!(host.frames(), ["l1", "h1"]);
    assert!(host.complete(at(1), 0));
    assert_eq!(host.frames(), ["l1", "h1"]);
    assert!(host.complete(at(2), 0));
    assert_eq!(host.frames(), ["l1", "h1", "l2"]);
    assert!(host.complete(at(3), 0));
    assert_eq!(host.frames(), ["l1", "h1", "l2", "l3"]);
}

#[test]
fn moderate_with_the_other_meaning_of_empty() {
    // Oracle: catalogue S9, `ring_empty`: none waits, one may be in transmission.
    let strategy = TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting };
    let mut host = Host::new(&config(strategy, 2, 4));
    for (frame, class) in [("l1", 0), ("l2", 0), ("l3", 0), ("h1", 1)] {
        host.enqueue(at(0), frame, class);
    }
    assert_eq!(host.frames(), ["l1", "l2", "h1"]);
    assert!(host.complete(at(1), 0));
    assert_eq!(host.frames(), ["l1", "l2", "h1"]);
    assert!(host.complete(at(2), 0));
    assert_eq!(host.frames(), ["l1", "l2", "h1", "l3"]);
}

#[test]
fn literal_strict_moves_one_low_frame_behind_each_high_one() {
    // Oracle: catalogue S9, "whenever a high-priority packet has been put into the hardware queue,
    // move the first software packet behind it"; without high traffic low frames starve.
    let mut host = Host::new(&config(TransmitStrategy::STRICT_LITERAL, 2, 16));
    host.enqueue(at(0), "l1", 0);
    host.enqueue(at(0), "l2", 0);
    host.time_out(at(3_600_000_000));
    let hour = at(3_600_000_000);
    assert_eq!(host.engine.poll_timeout(), None);
    assert!(host.entered.is_empty());
    for frame in ["h1", "h2", "h3"] {
        host.enqueue(hour, frame, 1);
    }
    host.enqueue(hour, "l3", 0);
    assert_eq!(host.frames(), ["h1", "l1", "h2", "l2", "h3"]);
}

#[test]
fn strict_keeps_its_order_in_a_small_ring() {
    // Oracle: decision on a full ring: the low frame follows its high one before the next high one.
    let mut host = Host::new(&config(TransmitStrategy::STRICT_LITERAL, 2, 2));
    for frame in ["l1", "l2", "l3"] {
        host.enqueue(at(0), frame, 0);
    }
    for frame in ["h1", "h2", "h3"] {
        host.enqueue(at(0), frame, 1);
    }
    assert_eq!(host.frames(), ["h1", "l1"]);
    while host.complete(at(1), 0) {}
    assert_eq!(host.frames(), ["h1", "l1", "h2", "l2", "h3", "l3"]);
    assert_eq!(host.engine.spurious_completions(), 1);
}

#[test]
fn idle_release_of_strict() {
    // Oracle: catalogue S9: one low frame whenever no frame has entered for 1 ms; times in us.
    let mut host = Host::new(&config(TransmitStrategy::STRICT, 2, 16));
    let due = |us| Some((at(us), Timeout::IdleRelease));
    assert_eq!(host.engine.poll_timeout(), None);
    for frame in ["l1", "l2", "l3", "l4"] {
        host.enqueue(at(200), frame, 0);
    }
    assert_eq!(host.engine.poll_timeout(), due(1000));
    host.time_out(at(999));
    assert!(host.entered.is_empty());
    host.time_out(at(1000));
    assert_eq!(host.frames(), ["l1"]);
    assert_eq!(host.engine.poll_timeout(), due(2000));
    host.enqueue(at(1500), "h1", 1);
    assert_eq!(host.frames(), ["l1", "h1", "l2"]);
    assert_eq!(host.engine.poll_timeout(), due(2500));
    host.time_out(at(2500));
    host.time_out(at(3500));
    assert_eq!(host.frames(), ["l1", "h1", "l2", "l3", "l4"]);
    // After a long silence a low frame is due at once.
    host.enqueue(at(9000), "l5", 0);
    assert_eq!(host.engine.poll_timeout(), due(4500));
    host.time_out(at(9000));
    assert_eq!(host.frames()[5..], ["l5"]);
    assert_eq!(host.events, [Event::IdleRelease { queue: 0 }; 4]);
    let stats = host.engine.stats(0);
    assert_eq!((stats.idle_releases, stats.released), (4, 5));
    assert_eq!(stats.waited_max, MICROSECOND * 3300);
}

#[test]
fn no_idle_release_into_a_full_ring() {
    // Oracle: a ring holds no more than its limit; by hand.
    let mut host = Host::new(&config(TransmitStrategy::STRICT, 2, 1));
    host.enqueue(at(0), "h", 1);
    host.enqueue(at(0), "l", 0);
    assert_eq!(host.engine.poll_timeout(), None);
    host.time_out(at(5000));
    assert_eq!(host.frames(), ["h"]);
    assert!(host.complete(at(6000), 0));
    host.time_out(at(6000));
    assert_eq!(host.frames(), ["h", "l"]);
}

#[test]
fn more_than_two_levels() {
    // Oracle: catalogue S9: "the software side is itself a priority queue with algorithm A".
    let strict = config(TransmitStrategy::STRICT_LITERAL, 4, 16);
    let mut host = Host::new(&strict);
    for (frame, class) in [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("e", 7)] {
        host.enqueue(at(0), frame, class);
    }
    assert_eq!(host.frames(), ["d", "c", "e", "b"]);
    let two_high = TransmitConfig { high_from: Some(2), ..strict };
    let mut host = Host::new(&two_high);
    for (frame, class) in [("a", 0), ("b", 1), ("c", 2), ("d", 3)] {
        host.enqueue(at(0), frame, class);
    }
    assert_eq!(host.frames(), ["c", "b", "d", "a"]);
}

#[test]
fn several_hardware_queues() {
    // Oracle: R83, by hand: three classes on two rings of one descriptor; the top class has one.
    let strategy = TransmitStrategy::Rings { count: 2 };
    let mut host = Host::new(&config(strategy, 3, 1));
    for (frame, class) in [("l1", 0), ("l2", 0), ("m", 1), ("h1", 2), ("h2", 2)] {
        host.enqueue(at(0), frame, class);
    }
    assert_eq!(host.frames(), ["l1", "h1"]);
    assert!(host.complete(at(1), 0));
    assert!(host.complete(at(2), 1));
    assert!(host.complete(at(3), 0));
    assert_eq!(host.frames(), ["l1", "h1", "m", "h2", "l2"]);
    let rings: Vec<u8> = host.entered.iter().map(|transmit| transmit.ring).collect();
    assert_eq!(rings, [0, 1, 0, 1, 0]);
    assert!(!host.complete(at(4), 2));
    assert_eq!(host.engine.spurious_completions(), 1);
}

#[test]
fn full_queues_drop_the_tail_and_give_it_back() {
    // Oracle: by hand: a ring of one and queues of one.
    let mut host = Host::new(&TransmitConfig {
        queue_limits: alloc::vec![1, 1],
        ..config(TransmitStrategy::MODERATE, 2, 1)
    });
    for (frame, class) in [("l1", 0), ("l2", 0), ("l3", 0), ("h1", 1), ("h2", 1)] {
        host.enqueue(at(0), frame, class);
    }
    let lost = |frame, class| Event::Dropped { frame, class, place: QueueKind::Queue };
    assert_eq!(host.events, [lost("l3", 0), lost("h2", 1)]);
    let dropped = [0, 1].map(|queue| host.engine.stats(queue).dropped);
    assert_eq!(dropped, [1, 1]);
    while host.complete(at(1), 0) {}
    assert_eq!(host.frames(), ["l1", "h1", "l2"]);
}

#[test]
fn impossible_configurations_are_refused() {
    // Oracle: the documented limits.
    let make = |config: &TransmitConfig| TransmitQueues::<u32>::new(config).err();
    let good = config(TransmitStrategy::STRICT, 2, 16);
    assert_eq!(make(&good), None);
    assert_eq!(make(&config(TransmitStrategy::STRICT, 2, 0)), Some(ConfigError::ZeroLimit));
    for count in [0, 3] {
        let rings = config(TransmitStrategy::Rings { count }, 2, 1);
        assert_eq!(make(&rings), Some(ConfigError::RingCount { found: count }));
    }
    let high_from = TransmitConfig { high_from: Some(2), ..good };
    let wrong = ConfigError::ClassOutOfRange { class: 2, count: 2 };
    assert_eq!(make(&high_from), Some(wrong));
    let negative = TransmitStrategy::Strict { idle_release: Some(Duration::from_ns(-1)) };
    let negative = make(&config(negative, 2, 1));
    assert_eq!(negative, Some(ConfigError::NegativeTime));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "frames are drained before the next call")]
fn a_host_that_leaves_frames_behind_is_found() {
    // Oracle: the drain rule of the engines.
    let mut engine = TransmitQueues::new(&config(TransmitStrategy::Fifo, 1, 2)).unwrap();
    engine.enqueue(at(0), "a", SIZE, 0);
    engine.handle_completion(at(0), 0);
}

#[test]
#[cfg(not(debug_assertions))]
fn a_frame_that_was_not_handed_out_is_not_completed() {
    // Oracle: by hand; release builds do not assert the drain rule.
    let mut engine = TransmitQueues::new(&config(TransmitStrategy::Fifo, 1, 2)).unwrap();
    engine.enqueue(at(0), "a", SIZE, 0);
    assert!(!engine.handle_completion(at(0), 0));
    assert_eq!((engine.ring_depth(0), engine.spurious_completions()), (1, 1));
    assert!(engine.poll_transmit(at(0)).is_some());
    engine.invariants();
}

/// One step of a random history: time passes, then a frame arrives or a ring completes one.
type Step = (i64, Result<u8, u8>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let action = prop_oneof![3 => (0_u8..4).prop_map(Ok), 2 => (0_u8..3).prop_map(Err)];
    proptest::collection::vec((0_i64..400, action), 1..150)
}

fn any_strategy() -> impl Strategy<Value = TransmitStrategy> {
    let empty = prop_oneof![Just(RingEmpty::NoneWaiting), Just(RingEmpty::NoneWaitingOrSending)];
    prop_oneof![
        Just(TransmitStrategy::Fifo),
        empty.prop_map(|empty| TransmitStrategy::Moderate { empty }),
        proptest::option::of(0_i64..2000).prop_map(|idle| TransmitStrategy::Strict {
            idle_release: idle.map(Duration::from_us),
        }),
        (1_u8..5).prop_map(|count| TransmitStrategy::Rings { count }),
        Just(TransmitStrategy::Selection(Selection::StrictPriority)),
        Just(TransmitStrategy::Selection(Selection::Wrr { weights: [1, 2, 3, 1, 1, 1, 1, 1] })),
        Just(TransmitStrategy::Selection(Selection::Drr {
            quanta: [64, 300, 90, 100, 100, 100, 100, 100]
        })),
        (0_u64..40).prop_map(|mbps| TransmitStrategy::Selection(Selection::Cbs {
            idle_slopes: [0, 1, 5, mbps, 0, 0, 0, 0].map(BitRate::from_mbps)
        })),
        (0_u64..40).prop_map(|mbps| TransmitStrategy::Selection(Selection::CbsDrr {
            idle_slopes: [0, 0, 5, mbps, 0, 0, 0, 0].map(BitRate::from_mbps),
            quanta: [64, 300, 1, 1, 1, 1, 1, 1]
        })),
    ]
}

/// A frame: class and arrival number.
type Numbered = (u8, u32);

/// Plays a history with every timeout on time; returns the host and the time of the end.
fn play(config: &TransmitConfig, steps: &[Step]) -> (Host<Numbered>, u32, Instant) {
    let mut host = Host::new(config);
    let mut completed = 0;
    let mut now = Instant::ZERO;
    for (number, &(pause, action)) in (0..).zip(steps) {
        let next = now + MICROSECOND * pause;
        while let Some((due, _)) = host.engine.poll_timeout().filter(|(due, _)| *due <= next) {
            now = now.max(due);
            host.time_out(now);
        }
        now = next;
        match action {
            Ok(class) => host.enqueue(now, (class, number), class),
            Err(ring) => completed += u32::from(host.complete(now, ring)),
        }
    }
    (host, completed, now)
}

proptest! {
    #[test]
    fn nothing_is_lost_and_classes_keep_their_order(
        strategy in any_strategy(),
        ring_limit in 1_u32..5,
        limit in 1_u32..6,
        high_from in 0_u8..4,
        steps in steps(),
    ) {
        // Oracles: in = out + in the rings + waiting + dropped; each class is a FIFO into its ring.
        let config = TransmitConfig {
            queue_limits: alloc::vec![limit; 4],
            high_from: Some(high_from),
            ..config(strategy, 4, ring_limit)
        };
        let (host, completed, _) = play(&config, &steps);
        let arrived = steps.iter().filter(|(_, action)| action.is_ok()).count() as u64;
        let rings = match strategy {
            TransmitStrategy::Rings { count } => count,
            TransmitStrategy::Fifo
            | TransmitStrategy::Moderate { .. }
            | TransmitStrategy::Strict { .. }
            | TransmitStrategy::Selection(_) => 1,
        };
        let in_rings: u32 = (0..rings).map(|ring| host.engine.ring_depth(ring)).sum();
        let is_drop = |event: &&Event<_>| matches!(event, Event::Dropped { .. });
        let dropped = host.events.iter().filter(is_drop).count() as u64;
        let out = u64::from(completed) + u64::from(in_rings);
        prop_assert_eq!(arrived, out + host.engine.waiting() + dropped);
        prop_assert_eq!(host.entered.len() as u64, out);
        for class in 0..4 {
            let frames = host.frames();
            let own = frames.iter().filter(|frame| frame.0 == class);
            prop_assert!(own.is_sorted_by_key(|frame| frame.1));
        }
    }

    #[test]
    fn a_low_frame_of_literal_strict_follows_a_high_one(
        ring_limit in 1_u32..5,
        steps in steps(),
    ) {
        // Oracle: catalogue S9; classes 0 to 2 are low, so none of them is first or follows a low
        // one.
        let (host, _, _) = play(&config(TransmitStrategy::STRICT_LITERAL, 4, ring_limit), &steps);
        let frames = host.frames();
        prop_assert!(frames.first().is_none_or(|first| first.0 == 3));
        prop_assert!(frames.windows(2).all(|pair| pair[0].0 == 3 || pair[1].0 == 3));
    }

    #[test]
    fn a_low_frame_of_moderate_finds_the_ring_empty(
        ring_limit in 1_u32..5,
        steps in steps(),
    ) {
        // Oracle: catalogue S9: the descriptors in use when the frame entered, counted by the test.
        let mut host = Host::new(&config(TransmitStrategy::MODERATE, 4, ring_limit));
        let mut completed = 0;
        for (number, &(_, action)) in (0_u32..).zip(&steps) {
            let before = host.entered.len();
            match action {
                Ok(class) => host.enqueue(at(0), (class, number), class),
                Err(ring) => completed += usize::from(host.complete(at(0), ring)),
            }
            for position in before..host.entered.len() {
                let is_low = host.entered[position].class < 3;
                prop_assert!(!is_low || position == completed, "{} {}", position, completed);
            }
        }
    }

    #[test]
    fn idle_release_leaves_no_frame_behind(idle in 1_i64..2000, steps in steps()) {
        // Oracle: the bound in the module documentation: with a prompt driver, the k-th low frame
        // enters at most k idle releases after the last arrival.
        let span = Duration::from_us(idle);
        let strategy = TransmitStrategy::Strict { idle_release: Some(span) };
        let (mut host, _, stopped) = play(&config(strategy, 4, 4), &steps);
        let mut now = stopped;
        while host.complete(now, 0) {}
        let mut low = 0;
        while let Some((due, _)) = host.engine.poll_timeout() {
            now = now.max(due);
            host.time_out(now);
            low += 1;
            prop_assert!(now <= stopped + span * low);
            while host.complete(now, 0) {}
        }
        prop_assert_eq!(host.engine.waiting(), 0);
    }
}
