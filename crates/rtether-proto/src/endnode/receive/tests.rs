use alloc::vec::Vec;

use proptest::prelude::*;

use core::num::NonZeroU32;

use rtether_model::quantity::Duration;

use super::*;

const MICROSECOND: Duration = Duration::from_us(1);

fn at(us: i64) -> Instant {
    Instant::ZERO + MICROSECOND * us
}

fn queues<F>(selection: ReceiveSelection, count: usize, limit: u32) -> ReceiveQueues<F> {
    ReceiveQueues::new(&ReceiveConfig {
        input_limit: 1000,
        queue_limits: alloc::vec![limit; count],
        selection,
    })
    .unwrap()
}

/// Queues whose events are drained and whose invariants are checked after each call.
struct Host<F> {
    engine: ReceiveQueues<F>,
    events: Vec<Event<F>>,
}

impl<F: Copy> Host<F> {
    fn new(engine: ReceiveQueues<F>) -> Self {
        let events = Vec::new();
        Self { engine, events }
    }

    fn arrive(&mut self, now: Instant, frame: F, class: u8) {
        self.engine.handle_frame(now, frame, class);
        self.settle();
    }

    fn select(&mut self, now: Instant) -> Option<F> {
        let selected = self.engine.select(now);
        self.settle();
        selected
    }

    fn select_all(&mut self, now: Instant) -> Vec<F> {
        core::iter::from_fn(|| self.select(now)).collect()
    }

    fn settle(&mut self) {
        self.events.extend(core::iter::from_fn(|| self.engine.poll_event()));
        self.engine.invariants();
    }

    fn dropped(&self) -> usize {
        let is_drop = |event: &&Event<F>| matches!(event, Event::Dropped { .. });
        self.events.iter().filter(is_drop).count()
    }
}

fn picks(count: u32) -> ReceiveSelection {
    let picks = NonZeroU32::new(count).unwrap();
    ReceiveSelection::Promoting { picks }
}

#[test]
fn algorithm_a_takes_the_highest_first() {
    // Oracle: catalogue S8, A, by hand.
    let mut host = Host::new(queues(ReceiveSelection::HighestFirst, 3, 8));
    for (frame, class) in [("a", 0), ("b", 1), ("c", 2), ("d", 2), ("e", 0)] {
        host.arrive(at(0), frame, class);
    }
    assert_eq!(host.select(at(1)), Some("c"));
    host.arrive(at(2), "f", 1);
    assert_eq!(host.select_all(at(3)), ["d", "b", "f", "a", "e"]);
    assert_eq!(host.events, []);
}

#[test]
fn algorithm_b_promotes_after_each_n_picks() {
    // Oracle: catalogue S8, B, by hand with N = 2. Queues from high to low after each round:
    // h1 h2 | -> h3 h4 m1, m2 l1, l2; h5 h6 arrive behind m1
    // h3 h4 | -> m1 h5 h6 m2, l1 l2, -
    // m1 h5 | -> h6 m2 l1, l2, -
    // h6 m2 | -> l1 l2, -, -
    let mut host = Host::new(queues(picks(2), 3, 8));
    for (frame, class) in [("l1", 0), ("l2", 0), ("m1", 1), ("m2", 1)] {
        host.arrive(at(0), frame, class);
    }
    for frame in ["h1", "h2", "h3", "h4"] {
        host.arrive(at(0), frame, 2);
    }
    assert_eq!(host.select(at(1)), Some("h1"));
    assert_eq!(host.select(at(2)), Some("h2"));
    host.arrive(at(3), "h5", 2);
    host.arrive(at(3), "h6", 2);
    let rest = host.select_all(at(4));
    assert_eq!(rest, ["h3", "h4", "m1", "h5", "h6", "m2", "l1", "l2"]);
    let from = [1, 0, 1, 0, 1, 1].map(|from| Event::Promoted { from });
    assert_eq!(host.events, from);
    // m1, m2, l1, l2 rose from the middle queue, l1 and l2 from the lowest.
    let stats = [0, 1, 2].map(|queue| host.engine.stats(queue));
    assert_eq!(stats.map(|stats| stats.promotions), [2, 4, 0]);
    // Times in us: l1 and l2 arrived at 0 and left at 4; h1 at 1, h2 at 2, h3 and h4 at 4 from 0,
    // h5 and h6 at 4 from 3.
    let waited = stats.map(|stats| stats.waited_ps / 1_000_000);
    assert_eq!(waited, [8, 8, 1 + 2 + 4 + 4 + 1 + 1]);
    assert_eq!(stats[2].waited_max, MICROSECOND * 4);
}

#[test]
fn a_promoted_frame_rises_one_step_a_round() {
    // Oracle: catalogue S8, B: "move from high to low so that a packet rises one step only".
    let mut host = Host::new(queues(picks(1), 3, 8));
    host.arrive(at(0), "l", 0);
    for frame in ["h1", "h2", "h3"] {
        host.arrive(at(0), frame, 2);
    }
    assert_eq!(host.select(at(1)), Some("h1"));
    assert_eq!(host.events, [Event::Promoted { from: 0 }]);
    assert_eq!(host.select(at(1)), Some("h2"));
    assert_eq!(host.events[1..], [Event::Promoted { from: 1 }]);
    assert_eq!(host.select_all(at(1)), ["h3", "l"]);
}

#[test]
fn asking_in_vain_changes_nothing_in_algorithm_b() {
    // Oracle: catalogue S8, B: the counter counts packets processed.
    let mut host = Host::new(queues(picks(2), 2, 8));
    host.arrive(at(0), "h1", 1);
    assert_eq!(host.select_all(at(0)), ["h1"]);
    assert_eq!((host.select(at(1)), host.select(at(2))), (None, None));
    for (frame, class) in [("l", 0), ("h2", 1), ("h3", 1)] {
        host.arrive(at(3), frame, class);
    }
    // h2 is the second pick, so l is promoted behind h3.
    assert_eq!(host.select(at(3)), Some("h2"));
    assert_eq!(host.events, [Event::Promoted { from: 0 }]);
}

#[test]
fn literal_algorithm_c_starves_low_queues_without_top_traffic() {
    // Oracle: catalogue S8, C, open point 2: "with no top traffic the literal algorithm never
    // serves low queues".
    let mut host = Host::new(queues(ReceiveSelection::LOW_FLAG_LITERAL, 2, 8));
    for frame in ["l1", "l2", "l3"] {
        host.arrive(at(0), frame, 0);
    }
    let hour = at(3_600_000_000);
    assert_eq!(host.select(hour), None);
    assert_eq!(host.engine.poll_timeout(), None);
    host.engine.handle_timeout(hour);
    assert_eq!(host.select(hour), None);
    // One top frame lets one low frame pass.
    host.arrive(hour, "h1", 1);
    assert_eq!(host.select_all(hour), ["h1", "l1"]);
    // Two top frames: LOW is checked first and cleared, and the highest queue is the top one.
    host.arrive(hour, "h2", 1);
    host.arrive(hour, "h3", 1);
    assert_eq!(host.select_all(hour), ["h2", "h3"]);
    host.arrive(hour, "h4", 1);
    assert_eq!(host.select_all(hour), ["h4", "l2"]);
    assert_eq!(host.engine.waiting(), 1);
}

#[test]
fn algorithm_c_with_turns_below_the_top_alternates() {
    // Oracle: catalogue S8, C, open point 1: low traffic gets at most every second turn; by hand.
    let selection = ReceiveSelection::LowFlag { idle_release: None, low_turn: LowTurn::BelowTop };
    let mut host = Host::new(queues(selection, 3, 8));
    for (frame, class) in [("l1", 0), ("m1", 1), ("l2", 0)] {
        host.arrive(at(0), frame, class);
    }
    for frame in ["h1", "h2", "h3", "h4", "h5"] {
        host.arrive(at(0), frame, 2);
    }
    let order = ["h1", "m1", "h2", "l1", "h3", "l2", "h4", "h5"];
    assert_eq!(host.select_all(at(0)), order);
}

#[test]
fn low_stays_set_while_all_queues_are_empty() {
    // Oracle: catalogue S8, C, open point 3: "LOW on and everything empty: keep LOW".
    let mut host = Host::new(queues(ReceiveSelection::LOW_FLAG_LITERAL, 2, 8));
    host.arrive(at(0), "h", 1);
    assert_eq!(host.select_all(at(0)), ["h"]);
    assert_eq!(host.select(at(9)), None);
    host.arrive(at(10), "l", 0);
    assert_eq!(host.select(at(10)), Some("l"));
}

#[test]
fn idle_release_of_algorithm_c() {
    // Oracle: catalogue S8, C, open point 2, by hand; times in us.
    let mut host = Host::new(queues(ReceiveSelection::LOW_FLAG, 2, 8));
    host.arrive(at(200), "l1", 0);
    assert_eq!(host.select(at(200)), None);
    let due = |us| Some((at(us), Timeout::IdleRelease));
    assert_eq!(host.engine.poll_timeout(), due(1000));
    host.arrive(at(500), "h", 1);
    host.arrive(at(500), "l2", 0);
    assert_eq!(host.select_all(at(500)), ["h", "l1"]);
    assert_eq!(host.engine.poll_timeout(), due(1500));
    assert_eq!(host.select(at(1499)), None);
    assert_eq!(host.engine.stats(0).idle_releases, 0);
    host.engine.handle_timeout(at(1500));
    assert_eq!(host.select(at(1500)), Some("l2"));
    // There is still no top frame, so the next low frame need not wait.
    host.arrive(at(1700), "l3", 0);
    assert_eq!(host.select(at(1700)), Some("l3"));
    assert_eq!(host.events, [Event::IdleRelease { queue: 0 }; 2]);
    assert_eq!(host.engine.stats(0).idle_releases, 2);
    assert_eq!(host.engine.poll_timeout(), None);
}

#[test]
fn the_idle_clock_goes_by_arrivals() {
    // Oracle: catalogue S8, C: a top frame that arrives after 0.9 ms stops the idle clock even if
    // the stack polls after 1.2 ms; LOW is then off, and on afterwards.
    let mut host = Host::new(queues(ReceiveSelection::LOW_FLAG, 2, 8));
    host.arrive(at(100), "l", 0);
    host.arrive(at(900), "h", 1);
    assert_eq!(host.select_all(at(1200)), ["h", "l"]);
    assert_eq!(host.events, []);
    // One that arrives after 2.3 ms, 1.1 ms after the last, finds LOW on and clears it.
    host.arrive(at(2300), "h", 1);
    host.arrive(at(2300), "l", 0);
    assert_eq!(host.select_all(at(2300)), ["h"]);
    assert_eq!(host.engine.poll_timeout(), Some((at(3300), Timeout::IdleRelease)));
}

#[test]
fn full_queues_drop_the_tail_and_give_it_back() {
    // Oracle: by hand: an input queue of 3 and queues of 2.
    let engine = ReceiveQueues::new(&ReceiveConfig {
        input_limit: 3,
        queue_limits: alloc::vec![2, 2],
        selection: ReceiveSelection::HighestFirst,
    });
    let mut host = Host::new(engine.unwrap());
    for frame in ["a", "b", "c", "d"] {
        host.arrive(at(0), frame, 0);
    }
    let lost = |frame, place| Event::Dropped { frame, class: 0, place };
    assert_eq!(host.events, [lost("d", QueueKind::Input)]);
    assert_eq!(host.select_all(at(5)), ["a", "b"]);
    assert_eq!(host.events[1..], [lost("c", QueueKind::Queue)]);
    let input = host.engine.input_stats();
    assert_eq!((input.accepted, input.dropped), (3, 1));
    assert_eq!((input.depth_max, input.waited_ps), (3, 15_000_000));
    let low = host.engine.stats(0);
    assert_eq!((low.accepted, low.dropped, low.depth_max), (2, 1, 2));
}

#[test]
fn one_queue_is_the_standard_stack() {
    // Oracle: R81: first come, first served, regardless of class.
    let mut host = Host::new(queues(ReceiveSelection::HighestFirst, 1, 8));
    for (frame, class) in [("a", 3), ("b", 7), ("c", 0)] {
        host.arrive(at(0), frame, class);
    }
    assert_eq!(host.select_all(at(0)), ["a", "b", "c"]);
}

#[test]
fn impossible_configurations_are_refused() {
    // Oracle: the documented limits.
    let make = |limits: &[u32], selection| {
        let config = ReceiveConfig { input_limit: 1, queue_limits: limits.to_vec(), selection };
        ReceiveQueues::<u32>::new(&config).err()
    };
    let first = ReceiveSelection::HighestFirst;
    let found = |found| Some(ConfigError::QueueCount { found });
    assert_eq!(make(&[], first), found(0));
    assert_eq!(make(&[1; 9], first), found(9));
    assert_eq!(make(&[1, 0], first), Some(ConfigError::ZeroLimit));
    let negative = ReceiveSelection::LowFlag {
        idle_release: Some(Duration::from_ns(-1)),
        low_turn: LowTurn::AllQueues,
    };
    assert_eq!(make(&[1], negative), Some(ConfigError::NegativeTime));
    assert_eq!(make(&[1; 8], ReceiveSelection::LOW_FLAG), None);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "time goes back")]
fn a_clock_that_goes_back_is_found() {
    // Oracle: the contract of the engines: `now` never decreases.
    let mut engine = queues(ReceiveSelection::HighestFirst, 1, 1);
    engine.handle_frame(at(2), "a", 0);
    engine.select(at(1));
}

#[test]
#[cfg(not(debug_assertions))]
fn events_left_behind_are_counted_and_not_kept() {
    // Oracle: by hand; release builds do not assert the drain rule.
    let mut engine = queues(ReceiveSelection::HighestFirst, 1, 1);
    for frame in ["a", "b", "c"] {
        engine.handle_frame(at(0), frame, 0);
    }
    assert_eq!(engine.select(at(0)), Some("a"));
    assert_eq!(engine.select(at(0)), None);
    assert_eq!((engine.events_lost(), engine.poll_event()), (2, None));
}

/// One step of a random history: time passes, then a frame arrives or the stack polls.
type Step = (i64, Option<u8>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0_i64..400, proptest::option::weighted(0.55, 0_u8..4));
    proptest::collection::vec(step, 1..150)
}

fn any_selection() -> impl Strategy<Value = ReceiveSelection> {
    let low_turn = prop_oneof![Just(LowTurn::AllQueues), Just(LowTurn::BelowTop)];
    prop_oneof![
        Just(ReceiveSelection::HighestFirst),
        (1_u32..6).prop_map(picks),
        (proptest::option::of(0_i64..2000), low_turn).prop_map(|(idle, low_turn)| {
            ReceiveSelection::LowFlag { idle_release: idle.map(Duration::from_us), low_turn }
        }),
    ]
}

/// A frame: class and arrival number.
type Numbered = (u8, u32);

/// Plays a history; returns the host, the frames selected, and the time of the last step.
fn play(
    engine: ReceiveQueues<Numbered>,
    steps: &[Step],
) -> (Host<Numbered>, Vec<Numbered>, Instant) {
    let mut host = Host::new(engine);
    let mut selected = Vec::new();
    let mut now = Instant::ZERO;
    for (number, &(pause, class)) in (0..).zip(steps) {
        now += MICROSECOND * pause;
        match class {
            Some(class) => host.arrive(now, (class, number), class),
            None => selected.extend(host.select(now)),
        }
    }
    (host, selected, now)
}

fn arrivals(steps: &[Step]) -> usize {
    steps.iter().filter(|(_, class)| class.is_some()).count()
}

fn is_fifo_within_class(frames: &[Numbered]) -> bool {
    (0..4).all(|class| {
        let own = frames.iter().filter(|frame| frame.0 == class);
        own.is_sorted_by_key(|frame| frame.1)
    })
}

proptest! {
    #[test]
    fn nothing_is_lost_and_classes_keep_their_order(
        selection in any_selection(),
        limit in 1_u32..6,
        steps in steps(),
    ) {
        // Oracles: in = out + waiting + dropped; a frame in a higher queue, or ahead in the same
        // queue, leaves first, which promotion preserves.
        let (host, selected, _) = play(queues(selection, 4, limit), &steps);
        let waiting = usize::try_from(host.engine.waiting()).unwrap();
        prop_assert_eq!(arrivals(&steps), selected.len() + waiting + host.dropped());
        prop_assert!(is_fifo_within_class(&selected));
        prop_assert_eq!(host.engine.events_lost(), 0);
    }

    #[test]
    fn algorithm_a_agrees_with_a_sorted_list(steps in steps()) {
        // Oracle: the waiting frame of the highest class that arrived first, found by searching one
        // list.
        let mut host = Host::new(queues(ReceiveSelection::HighestFirst, 4, 1000));
        let mut list: Vec<Numbered> = Vec::new();
        for (number, &(_, class)) in (0_u32..).zip(&steps) {
            if let Some(class) = class {
                host.arrive(at(0), (class, number), class);
                list.push((class, number));
            } else {
                let best = list.iter().copied().max_by_key(|&(c, n)| (c, u32::MAX - n));
                prop_assert_eq!(host.select(at(0)), best);
                list.retain(|&frame| Some(frame) != best);
            }
        }
    }

    #[test]
    fn algorithm_b_moves_each_frame_up_one_step_a_round(n in 1_u32..6, steps in steps()) {
        // Oracle: catalogue S8, B: a round follows every N-th pick, runs from high to low, and
        // moves one frame per queue.
        let mut host = Host::new(queues(picks(n), 4, 3));
        let mut picked = 0;
        for (number, &(_, class)) in (0_u32..).zip(&steps) {
            host.events.clear();
            if let Some(class) = class {
                host.arrive(at(0), number, class);
                continue;
            }
            let depth: Vec<u32> = (0..4).map(|q| host.engine.stats(q).depth).collect();
            picked += u32::from(host.select(at(0)).is_some());
            let from: Vec<u8> = host.events.iter().filter_map(|event| match event {
                Event::Promoted { from } => Some(*from),
                Event::Dropped { .. } | Event::IdleRelease { .. } | Event::Preempted { .. } => None,
            }).collect();
            prop_assert!(from.is_sorted_by(|a, b| a > b) && !from.contains(&3));
            prop_assert!(from.is_empty() || picked.is_multiple_of(n), "{:?} {:?}", from, depth);
        }
    }

    #[test]
    fn algorithm_b_serves_every_frame_under_top_overload(
        n in 1_u32..6,
        limits in proptest::collection::vec(1_u32..5, 2..5),
    ) {
        // Oracle: the bound in the module documentation: `picks` times the limits below the top,
        // plus the limit of the top queue. The top queue is full before every selection.
        let top = u8::try_from(limits.len() - 1).unwrap();
        let config = ReceiveConfig {
            input_limit: 1000,
            queue_limits: limits.clone(),
            selection: picks(n),
        };
        let mut host = Host::new(ReceiveQueues::new(&config).unwrap());
        for class in 0..top {
            for _ in 0..limits[usize::from(class)] {
                host.arrive(at(0), class, class);
            }
        }
        let (last, below) = limits.split_last().unwrap();
        let bound = n * below.iter().sum::<u32>() + last;
        let mut left = below.iter().sum::<u32>();
        for _ in 0..bound {
            for _ in 0..=*last {
                host.arrive(at(0), top, top);
            }
            left -= u32::from(host.select(at(0)).unwrap() < top);
        }
        prop_assert_eq!(left, 0);
    }

    #[test]
    fn algorithm_c_gives_low_frames_at_most_every_second_turn(
        below in any::<bool>(),
        steps in steps(),
    ) {
        // Oracle: catalogue S8, C, open point 1; without idle release, two frames below the top
        // class are never consecutive.
        let low_turn = if below { LowTurn::BelowTop } else { LowTurn::AllQueues };
        let selection = ReceiveSelection::LowFlag { idle_release: None, low_turn };
        let (_, selected, _) = play(queues(selection, 4, 50), &steps);
        prop_assert!(selected.first().is_none_or(|first| first.0 == 3));
        prop_assert!(selected.windows(2).all(|pair| pair[0].0 == 3 || pair[1].0 == 3));
    }

    #[test]
    fn idle_release_leaves_no_frame_behind(
        below in any::<bool>(),
        idle in 0_i64..3000,
        steps in steps(),
    ) {
        // Oracle: the bound in the module documentation: once arrivals stop, a stack that is always
        // ready has everything after one idle release.
        let low_turn = if below { LowTurn::BelowTop } else { LowTurn::AllQueues };
        let span = Duration::from_us(idle);
        let selection = ReceiveSelection::LowFlag { idle_release: Some(span), low_turn };
        let (mut host, _, stopped) = play(queues(selection, 4, 50), &steps);
        let mut now = stopped;
        host.select_all(now);
        while let Some((due, _)) = host.engine.poll_timeout() {
            now = now.max(due);
            host.engine.handle_timeout(now);
            prop_assert!(!host.select_all(now).is_empty());
        }
        prop_assert_eq!(host.engine.waiting(), 0);
        prop_assert!(now <= stopped + span);
    }
}
