//! Worked examples.

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_proto::smoother::Class::{Bulk, RealTime};
use rtether_proto::smoother::{
    Adaptive, Config, ConfigError, Doubling, DropReason, Event, Fixed, Limits, Mode, Nt, Reason,
    Signal, Smoother,
};

use crate::smoother::harness::{Driver, fixed, unlimited};

/// Back to back from a full bucket: packets that leave one credit, then the largest packet.
fn burst(depth: u64, period: Duration) -> (u64, Driver) {
    let mut driver = Driver::with(unlimited(fixed(depth, period)));
    let mut credits = depth;
    while credits > 1 {
        let size = (credits - 1).min(1500);
        assert!(driver.enqueue(Bulk, size));
        credits -= size;
    }
    driver.enqueue(Bulk, 1500);
    driver.enqueue(Bulk, 1500);
    (driver.sent(Bulk), driver)
}

#[test]
fn the_longest_burst_is_that_of_the_paper() {
    // Oracle: 002 Kweon 2: 1499 + 1500 and 149 999 + 1500.
    assert_eq!(burst(1500, Duration::from_us(4_800)).0, 2_999);
    assert_eq!(burst(150_000, Duration::from_ms(480)).0, 151_499);
}

#[test]
fn a_burst_at_a_refresh_is_longer_by_one_packet() {
    // By hand: 2999 octets leave just before the refresh, which raises -1499 to 1; the waiting
    // packet leaves at once. 2 * D - 1 + M = 4499.
    let (first, mut driver) = burst(1500, Duration::from_us(4_800));
    assert_eq!(first, 2_999);
    driver.advance(Duration::from_us(4_800));
    assert_eq!(driver.sent(Bulk), 4_499);
}

#[test]
fn the_mean_rate_is_depth_over_period() {
    // Oracle: 002 Kweon 2: 312 500 octet/s either way. In ten seconds the bucket is refreshed 10 /
    // 0.0048 = 2083 or 10 / 0.48 = 20 times; with the full bucket at the start, that allows 2084 or
    // 21 times the depth, and the last packet may borrow.
    for (depth, period, refreshes) in
        [(1500, Duration::from_us(4_800), 2_083), (150_000, Duration::from_ms(480), 20)]
    {
        let mut driver = Driver::with(unlimited(fixed(depth, period)));
        let rate = driver.smoother.state().rate;
        assert_eq!(rate, Some(BitRate::from_bps(2_500_000)));
        for _ in 0..2_200 {
            driver.enqueue(Bulk, 1500);
        }
        driver.advance(Duration::from_secs(10));
        assert_eq!(driver.refreshed.len(), refreshes);
        let allowed = (u64::try_from(refreshes).expect("small") + 1) * depth;
        assert_eq!(driver.sent(Bulk), allowed);
    }
}

#[test]
fn real_time_goes_first_at_any_credit_and_is_charged() {
    // By hand: 1500 - 1500 = 0: bulk waits. Three real-time packets of 600 leave at -600, -1200,
    // -1800. Refreshes: -300, 1200: bulk leaves at the second, 72 ms, to -300.
    let mut driver = Driver::new(Mode::Fixed(Fixed::PAPER));
    driver.enqueue(Bulk, 1500);
    driver.enqueue(Bulk, 1500);
    for _ in 0..3 {
        driver.enqueue(RealTime, 600);
    }
    assert_eq!(driver.smoother.state().credits, Some(-1800));
    driver.advance(Duration::from_ms(100));
    let last = driver.departures.last().expect("departures");
    assert_eq!((last.class, last.frame), (Bulk, 1));
    assert_eq!(last.waited, Duration::from_ms(72));
    assert_eq!(driver.smoother.state().credits, Some(-300));
    let statistics = driver.smoother.statistics();
    assert_eq!(statistics.real_time.waited_max, Duration::ZERO);
    assert_eq!(statistics.bulk.waited, Duration::from_ms(72));
}

#[test]
fn real_time_overtakes_even_without_smoothing() {
    let mut driver = Driver::new(Mode::None);
    driver.enqueue_with_room(Bulk, 1500, 0);
    driver.enqueue_with_room(Bulk, 1500, 0);
    driver.enqueue_with_room(RealTime, 100, usize::MAX);
    let order: Vec<_> = driver.departures.iter().map(|d| d.frame).collect();
    assert_eq!(order, [2, 0, 1]);
    assert_eq!(driver.smoother.poll_timeout(), None);
    assert_eq!(driver.smoother.state().credits, None);
}

#[test]
fn himd_over_one_collision() {
    // By hand: full packets at 0 (from the full bucket), 3, 6, ... ms, since RP is 3 ms. Collision
    // reported at 7 ms: RP is 6 ms at once, and nothing leaves until after 17 ms. The credits of
    // the refresh at 9 ms are removed; the next is due at 9 + (6 - 0.2) = 14.8, tick 15, and
    // removed too; RP is then 6 - 0.8 = 5.2: due 20.2, tick 21: a packet.
    let mut driver = Driver::with(unlimited(Mode::Adaptive(Adaptive::HIMD)));
    for _ in 0..20 {
        driver.enqueue(Bulk, 1500);
    }
    driver.advance(Duration::from_ms(7));
    driver.signal(Signal::Congestion);
    assert_eq!(driver.smoother.state().period, Some(Duration::from_ms(6)));
    driver.advance(Duration::from_ms(14));
    let times: Vec<_> = driver.departures.iter().map(|d| d.at.as_ps() / 1_000_000_000).collect();
    assert_eq!(times, [0, 3, 6, 21]);
    assert_eq!(driver.smoother.statistics().decreases, 1);
    assert_eq!(driver.smoother.statistics().reports, 1);
}

#[test]
fn taken_literally_one_collision_doubles_at_every_call() {
    // By hand: the calls at 7 ms (the report) and at the ticks 8..=17 are eleven; 3 ms doubled
    // eleven times is beyond 100 ms. Per report it is one doubling and ten ticks of 0.1 ms: 5 ms.
    for (doubling, decreases, period) in [
        (Doubling::PerReport, 1, Duration::from_ms(5)),
        // 100 ms from the sixth call on; each tick subtracts 0.1 ms before the call doubles.
        (Doubling::PerCall, 11, Duration::from_ms(100)),
    ] {
        let parameters = Adaptive { doubling, ..Adaptive::HIMD };
        let mut driver = Driver::with(unlimited(Mode::Adaptive(parameters)));
        for _ in 0..20 {
            driver.enqueue(Bulk, 1500);
        }
        driver.advance(Duration::from_ms(7));
        driver.signal(Signal::Congestion);
        driver.advance(Duration::from_ms(10));
        assert_eq!(driver.smoother.statistics().decreases, decreases);
        assert_eq!(driver.smoother.statistics().holds, 11);
        assert_eq!(driver.smoother.state().period, Some(period));
    }
}

#[test]
fn a_report_without_bulk_traffic_expires() {
    // The procedure looks at collisions only for a bulk packet at the head.
    let mut driver = Driver::new(Mode::Adaptive(Adaptive::HIMD));
    driver.signal(Signal::Congestion);
    driver.enqueue(RealTime, 100);
    driver.advance(Duration::from_us(10_001));
    driver.enqueue(Bulk, 1500);
    assert_eq!(driver.sent(Bulk), 1500);
    assert_eq!(driver.smoother.statistics().decreases, 0);
}

#[test]
fn nt_releases_three_packets_at_most() {
    // By hand: depth 1500, 3000, 4500, 4500 at 10, 20, 30, 40 ms: 1 + 2 + 3 + 3 packets; real-time
    // packets pass uncharged. 4500 octets every 10 ms are 3.6 Mbit/s.
    let parameters = Nt { jitter: Duration::ZERO, ..Nt::paper(1) };
    let mut driver = Driver::with(unlimited(Mode::Nt(parameters)));
    for _ in 0..20 {
        driver.enqueue(Bulk, 1500);
    }
    driver.enqueue(RealTime, 100);
    driver.advance(Duration::from_ms(40));
    let times: Vec<_> = driver.departures.iter().map(|d| d.at.as_ps() / 1_000_000_000).collect();
    assert_eq!(times, [0, 10, 20, 20, 30, 30, 30, 40, 40, 40]);
    let state = driver.smoother.state();
    assert_eq!(state.rate, Some(BitRate::from_bps(3_600_000)));
    driver.signal(Signal::Congestion);
    driver.advance(Duration::from_ms(20));
    assert_eq!(driver.smoother.state().depth, Some(Bytes::new(1500)));
    driver.signal(Signal::Clear);
    driver.advance(Duration::from_ms(10));
    assert_eq!(driver.smoother.state().depth, Some(Bytes::new(3000)));
}

#[test]
fn parameters_change_while_running() {
    let mut driver = Driver::with(unlimited(Mode::Fixed(Fixed::PAPER)));
    for _ in 0..10 {
        driver.enqueue(Bulk, 1500);
    }
    driver.advance(Duration::from_ms(5));
    // By hand: the refresh due at 36 ms is now due one new period after the last one, at 10 ms.
    driver.set(unlimited(fixed(1500, Duration::from_ms(10))));
    let due = driver.smoother.poll_timeout().expect("a refresh");
    assert_eq!((due.0.since_start(), due.1), (Duration::from_ms(10), Reason::Refresh));
    driver.advance(Duration::from_ms(5));
    assert_eq!(driver.sent(Bulk), 3_000);
    // Another mode releases waiting packets by its own rules, at once if it has none.
    driver.set(unlimited(Mode::None));
    assert_eq!(driver.sent(Bulk), 15_000);
    let error = driver.smoother.set(driver.now, Config::new(fixed(0, Duration::from_ms(1))));
    assert_eq!(error, Err(ConfigError::NotPositive("depth")));
    assert_eq!(driver.smoother.poll_timeout(), None);
}

#[test]
fn setting_the_same_again_changes_nothing() {
    for mode in [
        Mode::Fixed(Fixed::PAPER),
        Mode::Adaptive(Adaptive::HIMD),
        Mode::Adaptive(Adaptive::SLOW_START),
        Mode::Adaptive(Adaptive::LINEAR),
        Mode::Nt(Nt::paper(5)),
    ] {
        let run = |set_at: Option<i64>| {
            let mut driver = Driver::with(unlimited(mode));
            for ms in 0..200 {
                driver.enqueue(Bulk, 1500);
                if ms == 20 {
                    driver.signal(Signal::Congestion);
                }
                if set_at == Some(ms) {
                    driver.set(unlimited(mode));
                }
                driver.advance(Duration::from_us(1_001));
            }
            driver.departures
        };
        assert_eq!(run(Some(33)), run(None), "{mode:?}");
    }
}

#[test]
fn what_does_not_fit_is_given_back_and_counted() {
    let limits = Limits { bulk_packets: 2, ..Limits::default() };
    let mode = Mode::Fixed(Fixed::PAPER);
    let mut driver = Driver::with(Config { mode, limits });
    // One leaves, two wait, and the fourth is dropped.
    let taken: Vec<_> = (0..4).map(|_| driver.enqueue(Bulk, 1500)).collect();
    assert_eq!(taken, [true, true, true, false]);
    assert!(!driver.enqueue(RealTime, 1501));
    let statistics = driver.smoother.statistics();
    let bulk = &statistics.bulk;
    assert_eq!((bulk.offered, bulk.sent, bulk.dropped, bulk.queued_max), (4, 1, 1, 2));
    assert_eq!(statistics.real_time.dropped_size, Bytes::new(1501));
    let mut reasons = Vec::new();
    for event in &driver.events {
        if let Event::Dropped { class, reason, .. } = event {
            reasons.push((*class, *reason));
        }
    }
    assert_eq!(reasons, [(Bulk, DropReason::QueueFull), (RealTime, DropReason::TooLarge)]);
    let mut smoother = Smoother::new(driver.now, Config { mode, limits }).expect("good");
    let refused = smoother.enqueue(driver.now, "frame", Bytes::new(2000), Bulk);
    assert_eq!(refused, Err("frame"));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "events must be drained")]
fn the_drain_rule_is_checked() {
    let now = rtether_model::quantity::Instant::ZERO;
    let mut smoother = Smoother::new(now, Config::new(Mode::None)).expect("good");
    let _ = smoother.enqueue(now, (), Bytes::new(100), Bulk);
    assert!(smoother.poll_transmit(now).is_some());
    let _ = smoother.enqueue(now, (), Bytes::new(100), Bulk);
}

#[test]
fn the_sum_of_waits_stays_at_its_largest_value() {
    // Two waits of 2^62 ps, 53 days each, add up to one more than fits.
    let mut smoother =
        Smoother::new(Instant::ZERO, unlimited(Mode::Adaptive(Adaptive::HIMD))).unwrap();
    for frame in 0..2 {
        let size = Bytes::new(100);
        smoother.enqueue(Instant::ZERO, frame, size, RealTime).unwrap();
    }
    let late = Instant::ZERO + Duration::from_ps(1 << 62);
    for _ in 0..2 {
        assert!(smoother.poll_transmit(late).is_some());
    }
    assert_eq!(smoother.statistics().real_time.waited, Duration::MAX);
}
