//! Properties for any traffic.

use proptest::prelude::*;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_proto::smoother::Class::{Bulk, RealTime};
use rtether_proto::smoother::{
    Adaptive, Class, Config, Doubling, Fixed, Increase, Limits, Mode, Nt, Signal, TurnBucket,
};

use crate::smoother::harness::{Departure, Driver, fixed, unlimited};

/// Largest packet.
const MTU: u64 = 1500;

#[derive(Clone, Debug)]
enum Step {
    Arrive(Class, u64),
    /// Arrives while the driver has room for this many packets.
    ArriveAtFullCard(Class, u64, usize),
    Wait(Duration),
    Report(Signal),
    /// A packet is out that started this long ago, after this many attempts.
    Complete(Class, Duration, u32),
    /// A station kept the medium busy for this time.
    Hear(Duration),
    Set(Mode),
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![Just(MTU), 1..=MTU, Just(1)]
}

fn wait() -> impl Strategy<Value = Step> {
    prop_oneof![0..2_000i64, 0..60_000i64].prop_map(|us| Step::Wait(Duration::from_us(us)))
}

/// Traffic in which `real_time` of ten packets are real-time.
fn traffic(real_time: u32) -> impl Strategy<Value = Step> {
    let class = prop_oneof![10 - real_time => Just(Bulk), real_time => Just(RealTime)];
    prop_oneof![
        6 => (class, size()).prop_map(|(class, size)| Step::Arrive(class, size)),
        3 => wait(),
        1 => prop_oneof![Just(Signal::Congestion), Just(Signal::Clear)].prop_map(Step::Report),
        1 => (prop_oneof![Just(Bulk), Just(RealTime)], 0..3_000i64, 1..17u32)
            .prop_map(|(class, us, attempts)| {
                Step::Complete(class, Duration::from_us(us), attempts)
            }),
        1 => (0..5_000i64).prop_map(|us| Step::Hear(Duration::from_us(us))),
    ]
}

fn adaptive() -> impl Strategy<Value = Adaptive> {
    let increase = prop_oneof![
        Just(Adaptive::HIMD.increase),
        Just(Adaptive::SLOW_START.increase),
        Just(Adaptive::LINEAR.increase),
        (0..5_000i64).prop_map(|us| Increase::Harmonic(Duration::from_us(us))),
    ];
    let ms = Duration::from_ms;
    (
        increase,
        (any::<bool>(), any::<bool>(), 100..=400u16),
        1..6_000u64,
        1..20i64,
        0..100i64,
        100..5_000i64,
    )
        .prop_map(
            move |(
                increase,
                (per_call, shift_refresh, growth_percent),
                depth,
                min,
                more,
                tick_us,
            )| Adaptive {
                depth: Bytes::new(depth),
                hold: ms(10),
                tick: Duration::from_us(tick_us),
                period_min: ms(min),
                period_max: ms(min + more),
                increase,
                growth_percent,
                doubling: if per_call { Doubling::PerCall } else { Doubling::PerReport },
                shift_refresh,
                forgive_debt: false,
            },
        )
}

fn nt() -> impl Strategy<Value = Nt> {
    (any::<u64>(), 0..3u64, 1..30i64, 0..100i64).prop_map(|(seed, steps, min, more)| Nt {
        depth_max: Bytes::new(1500 + 1500 * steps),
        period_min: Duration::from_ms(min),
        period_max: Duration::from_ms(min + more),
        ..Nt::paper(seed)
    })
}

fn places() -> impl Strategy<Value = TurnBucket> {
    let ms = Duration::from_ms;
    let periods = (1..20i64, 0..100i64);
    let shares = (1..=100u8, 1..=100u8, 0..=100u16, 100..=400u16);
    let times = (0..5_000i64, 1..100_000i64);
    (1..6_000u64, periods, times, shares, 1..100_000_000u64).prop_map(
        move |(depth, (min, more), (guard, window), shares, step)| TurnBucket {
            depth: Bytes::new(depth),
            period_min: ms(min),
            period_max: ms(min + more),
            guard: Duration::from_us(guard),
            window: Duration::from_us(window),
            target_percent: shares.0,
            threshold_percent: shares.1,
            gain_percent: shares.2,
            growth_percent: shares.3,
            step: BitRate::from_bps(step),
        },
    )
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        Just(Mode::None),
        (1..6_000u64, 100..40_000i64).prop_map(|(depth, us)| fixed(depth, Duration::from_us(us))),
        adaptive().prop_map(Mode::Adaptive),
        nt().prop_map(Mode::Nt),
        places().prop_map(Mode::Rtether),
    ]
}

fn take(driver: &mut Driver, step: &Step) {
    match step {
        Step::Arrive(class, size) => {
            driver.enqueue(*class, *size);
        }
        Step::ArriveAtFullCard(class, size, room) => {
            driver.enqueue_with_room(*class, *size, *room);
        }
        Step::Wait(span) => driver.advance(*span),
        Step::Report(signal) => driver.signal(*signal),
        Step::Complete(class, ago, attempts) => driver.complete(*class, *ago, *attempts),
        Step::Hear(busy) => driver.hear(*busy),
        Step::Set(mode) => driver.set(Config { mode: *mode, limits: small() }),
    }
}

fn small() -> Limits {
    Limits { real_time_packets: 5, bulk_packets: 20, ..Limits::default() }
}

/// Compares departures with the theorem in every window that ends with a bulk packet: octets of
/// both classes against `(n + 1) * D - 1 + M`, with the actual number of refreshes and with the
/// number that fits into the length of the window.
fn stays_below_its_curve(driver: &Driver, depth: u64, period: Duration) {
    let departures = &driver.departures;
    for (first, start) in departures.iter().enumerate() {
        let mut octets = 0;
        for end in &departures[first..] {
            octets += end.size;
            if end.class == RealTime {
                continue;
            }
            let length = (end.at - start.at).as_ps();
            let fit = u64::try_from(length / period.as_ps()).expect("positive");
            let seen = count(end.refreshes - start.refreshes);
            assert!(seen <= fit + 1, "refreshes too dense: {start:?} {end:?}");
            assert!(octets < (seen + 1) * depth + MTU, "{start:?} {end:?}");
            assert!(octets < (fit + 2) * depth + MTU, "{start:?} {end:?}");
        }
    }
    // Windows that begin just after a refresh.
    for (index, refreshed) in driver.refreshed.iter().enumerate() {
        let after = departures.iter().filter(|d| d.refreshes > index);
        let mut octets = 0;
        for end in after {
            octets += end.size;
            let length = (end.at - *refreshed).as_ps();
            let fit = u64::try_from(length / period.as_ps()).expect("positive");
            let is_allowed = octets < (fit + 1) * depth + MTU;
            assert!(end.class == RealTime || is_allowed, "{refreshed:?} {end:?}");
        }
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).expect("fits")
}

/// Packets of one class leave in order of arrival.
fn is_fifo(departures: &[Departure], class: Class) -> bool {
    let of_class = departures.iter().filter(|d| d.class == class);
    of_class.map(|departure| departure.frame).is_sorted()
}

proptest! {
    #[test]
    fn fixed_output_stays_below_its_curve(
        steps in prop::collection::vec(traffic(0), 1..150),
        depth in prop_oneof![Just(1500u64), 1..6_000u64],
        period in (100..40_000i64).prop_map(Duration::from_us),
        late in prop_oneof![Just(0), 0..50_000i64],
    ) {
        let mut driver = Driver::with(unlimited(fixed(depth, period)));
        driver.lateness = Duration::from_us(late);
        for step in &steps {
            take(&mut driver, step);
        }
        stays_below_its_curve(&driver, depth, period);
    }

    #[test]
    fn bulk_makes_room_for_the_real_time_traffic_that_was_charged(
        steps in prop::collection::vec(traffic(3), 1..150),
        period in (100..40_000i64).prop_map(Duration::from_us),
    ) {
        let mut driver = Driver::with(unlimited(fixed(1500, period)));
        for step in &steps {
            take(&mut driver, step);
        }
        stays_below_its_curve(&driver, 1500, period);
    }

    #[test]
    fn adaptive_output_stays_below_the_curve_of_its_shortest_period(
        steps in prop::collection::vec(traffic(2), 1..150),
        parameters in adaptive(),
        late in prop_oneof![Just(0), 0..50_000i64],
    ) {
        let mut driver = Driver::with(unlimited(Mode::Adaptive(parameters)));
        driver.lateness = Duration::from_us(late);
        for step in &steps {
            take(&mut driver, step);
        }
        stays_below_its_curve(&driver, parameters.depth.get(), parameters.period_min);
    }

    #[test]
    fn rtether_output_stays_below_the_curve_of_its_shortest_period(
        steps in prop::collection::vec(traffic(2), 1..150),
        parameters in places(),
        late in prop_oneof![Just(0), 0..50_000i64],
    ) {
        let mut driver = Driver::with(unlimited(Mode::Rtether(parameters)));
        driver.lateness = Duration::from_us(late);
        for step in &steps {
            take(&mut driver, step);
        }
        stays_below_its_curve(&driver, parameters.depth.get(), parameters.period_min);
    }

    #[test]
    fn nt_releases_no_more_than_its_depth_each_period(
        steps in prop::collection::vec(traffic(2), 1..150),
        parameters in nt(),
    ) {
        let mut driver = Driver::with(unlimited(Mode::Nt(parameters)));
        for step in &steps {
            take(&mut driver, step);
        }
        let bulk = driver.departures.iter().filter(|d| d.class == Bulk);
        let bulk: Vec<_> = bulk.collect();
        for (first, start) in bulk.iter().enumerate() {
            let mut octets = 0;
            for end in &bulk[first..] {
                octets += end.size;
                let length = (end.at - start.at).as_ps();
                let fit = length / parameters.period_min.as_ps();
                let fit = u64::try_from(fit).expect("positive");
                prop_assert!(octets <= (fit + 2) * parameters.depth_max.get());
            }
        }
    }

    #[test]
    fn real_time_never_waits_for_credits(
        steps in prop::collection::vec(traffic(5), 1..150),
        mode in any_mode(),
    ) {
        let mut driver = Driver::new(mode);
        for step in &steps {
            take(&mut driver, step);
            prop_assert_eq!(driver.smoother.state().real_time_packets, 0);
        }
        let waited = driver.smoother.statistics().real_time.waited;
        prop_assert_eq!(waited, Duration::ZERO);
    }

    /// The driver checks the invariants (conservation, ranges) after every step.
    #[test]
    fn nothing_is_lost_or_reordered_whatever_happens(
        steps in prop::collection::vec(
            prop_oneof![
                8 => traffic(4),
                2 => (prop_oneof![Just(Bulk), Just(RealTime)], 1..1_600u64, 0..3usize)
                    .prop_map(|(class, size, room)| Step::ArriveAtFullCard(class, size, room)),
                1 => any_mode().prop_map(Step::Set),
            ],
            1..200,
        ),
        mode in any_mode(),
    ) {
        let mut driver = Driver::with(Config { mode, limits: small() });
        let mut arrivals = 0;
        for step in &steps {
            let before = driver.departures.len();
            let waiting = driver.smoother.state().real_time_packets;
            take(&mut driver, step);
            arrivals += u64::from(matches!(step, Step::Arrive(..) | Step::ArriveAtFullCard(..)));
            // Waiting packets of the first class leave before any of the second.
            let left = &driver.departures[before..];
            let first = left.iter().take(waiting);
            prop_assert!(first.map(|d| d.class).all(|class| class == RealTime));
            prop_assert!(driver.smoother.state().bulk_packets <= 20);
        }
        let statistics = driver.smoother.statistics();
        prop_assert_eq!(statistics.real_time.offered + statistics.bulk.offered, arrivals);
        prop_assert_eq!(statistics.events_lost, 0);
        prop_assert!(is_fifo(&driver.departures, RealTime));
        prop_assert!(is_fifo(&driver.departures, Bulk));
    }

    /// While bulk packets wait no credit is lost, so both classes together use all credits.
    #[test]
    fn bulk_gets_what_real_time_leaves(
        real_time in 0..1_499u64,
        bulk in 1..=MTU,
        periods in 1..60u64,
    ) {
        let period = Duration::from_ms(36);
        let mut driver = Driver::with(unlimited(Mode::Fixed(Fixed::PAPER)));
        for _ in 0..1_500 * (periods + 1) / bulk + 2 {
            driver.enqueue(Bulk, bulk);
        }
        for _ in 0..periods {
            driver.enqueue(RealTime, real_time.max(1));
            driver.advance(period);
        }
        let both = driver.sent(Bulk) + driver.sent(RealTime);
        let granted = 1_500 * (periods + 1);
        // At least the granted octets were sent, unless real-time traffic of the last period is
        // unpaid.
        prop_assert!(both >= granted, "{both} of {granted}");
        prop_assert!(both < granted + MTU + real_time);
        prop_assert_eq!(driver.smoother.statistics().credits_lost, 0);
    }

    /// Once reports end, a bulk packet leaves within the hold, the longest period and two ticks.
    #[test]
    fn bulk_is_not_starved_after_the_last_report(
        parameters in adaptive(),
        reports in prop::collection::vec(0..30_000i64, 1..20),
    ) {
        let mut driver = Driver::with(unlimited(Mode::Adaptive(parameters)));
        let size = parameters.depth.get().min(MTU);
        let fill = |driver: &mut Driver| {
            while driver.smoother.state().bulk_packets == 0 {
                driver.enqueue(Bulk, size);
            }
        };
        for us in reports {
            fill(&mut driver);
            driver.signal(Signal::Congestion);
            driver.advance(Duration::from_us(us));
        }
        fill(&mut driver);
        let before = driver.sent(Bulk);
        let tick = parameters.tick;
        driver.advance(parameters.hold + parameters.period_max + tick + tick);
        prop_assert!(driver.sent(Bulk) > before);
    }
}
