//! Closed forms; those of the literature are in `validation/shared-medium.rs`.

use super::super::backoff::Dice;
use super::*;

/// Asserts that `hits` of `trials` fit a probability within 5 standard errors.
fn assert_share(hits: u64, trials: u64, probability: f64, what: &str) {
    let n = to_f64(trials);
    let error = (probability * (1.0 - probability) / n).sqrt();
    let share = to_f64(hits) / n;
    assert!(
        (share - probability).abs() < 5.0 * error,
        "{what}: {share} of {trials}, expected {probability}"
    );
}

fn to_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

#[test]
fn the_winner_of_a_collision_tends_to_win_the_next() {
    // Oracle: after one win the winner draws from {0, 1}, the loser from {0, 1, 2, 3}; the lower
    // draw wins: 5 of 8 pairs for the winner, 1 for the loser, 2 are ties. Frames are longer than
    // four slots, so that the loser's back-off ends within the winner's frame.
    let (trials, octets) = (40_000, Bytes::new(1518));
    let (mut again, mut loses, mut ties, mut cases) = (0, 0, 0, 0);
    for trial in 0..trials {
        let mut medium = segment(Backoff::Standard, 2, &[(5, 2 * trial), (5, 2 * trial + 1)]);
        medium.offer(Instant::ZERO, 0, 0, octets);
        medium.offer(Instant::ZERO, 1, 0, octets);
        // Each station always has another frame. The second encounter counts.
        let mut order = Vec::new();
        while order.len() < 8 {
            let due = medium.poll_timeout().unwrap();
            medium.handle_timeout(due);
            for event in core::iter::from_fn(|| medium.poll_event()).collect::<Vec<_>>() {
                order.push((event.station, event.kind));
                if is_end(event.kind) {
                    medium.offer(event.at, event.station, 0, octets);
                    order.retain(|(_, kind)| {
                        matches!(kind, EventKind::Sent { .. } | EventKind::Collision { .. })
                    });
                }
            }
            order.retain(|(_, kind)| {
                !matches!(kind, EventKind::Started | EventKind::Delivered { .. })
            });
        }
        // Two collisions, a win, two collisions, and the outcome; cases with a first tie are
        // skipped.
        let (Some(&(winner, EventKind::Sent { attempts: 2 })), Some(next)) =
            (order.get(2), order.get(5))
        else {
            continue;
        };
        cases += 1;
        match next {
            (station, EventKind::Sent { .. }) if *station == winner => again += 1,
            (_, EventKind::Sent { .. }) => loses += 1,
            _ => ties += 1,
        }
    }
    assert_share(cases, trials, 0.5, "one of two wins after the first collision");
    assert_share(again, cases, 5.0 / 8.0, "wins again");
    assert_share(loses, cases, 1.0 / 8.0, "loses");
    assert_share(ties, cases, 2.0 / 8.0, "ties");
}

/// Runs stations that always have a frame; returns the medium and the time in bits.
fn saturate(stations: u32, octets: u64, bits: i64) -> Medium {
    let attachments: Vec<_> = (0..stations).map(|n| (5, u64::from(n) + 100)).collect();
    let mut medium = segment(Backoff::Standard, 2, &attachments);
    for station in 0..stations {
        medium.offer(Instant::ZERO, station, 0, Bytes::new(octets));
    }
    while let Some(due) = medium.poll_timeout().filter(|due| due.as_ps() < bits * BIT) {
        medium.handle_timeout(due);
        let events: Vec<_> = core::iter::from_fn(|| medium.poll_event()).collect();
        for event in events.into_iter().filter(|event| is_end(event.kind)) {
            medium.offer(due, event.station, 0, Bytes::new(octets));
        }
    }
    medium.invariants().unwrap();
    medium
}

/// Mean time, in bits, from the end of the jam of the `n`-th collision of two stations to the end
/// of the second frame, over all pairs of draws.
fn mean_resolution(n: u32, frame: i64, delay: i64) -> f64 {
    if n == 8 {
        return 0.0; // 2^-28 of all cases
    }
    let (mut sum, range) = (0.0, 1i64 << n);
    let again = mean_resolution(n + 1, frame, delay);
    for (a, b) in (0..range).flat_map(|a| (0..range).map(move |b| (a, b))) {
        let first = (512 * a.min(b)).max(delay + 96);
        sum += if a == b {
            f64::from(i32::try_from(first + 96).unwrap()) + again
        } else {
            let second = (512 * a.max(b)).max(first + frame + delay + 96);
            f64::from(i32::try_from(second + frame).unwrap())
        };
    }
    sum / f64::from(u32::try_from(range * range).unwrap())
}

#[test]
fn time_to_resolve_a_collision_of_two() {
    // Oracle: the mean over all draws, see above; delay 12 bits, fragments of 96 bits.
    for octets in [64u64, 128, 1518] {
        let frame = i64::try_from((octets + 8) * 8).unwrap();
        let expected = 96.0 + mean_resolution(1, frame, 12);
        let trials = 50_000u32;
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut medium = segment(Backoff::Standard, 2, &[(5, 21), (5, 22)]);
        for trial in 0..i64::from(trials) {
            let at = Instant::from_ps(trial * 30_000_000 * BIT);
            medium.offer(at, 0, 0, Bytes::new(octets));
            medium.offer(at, 1, 0, Bytes::new(octets));
            let mut end = at;
            while let Some(due) = medium.poll_timeout() {
                medium.handle_timeout(due);
                while medium.poll_event().is_some() {}
                end = due;
            }
            let bits = (end - at).as_ns_f64() / 100.0;
            sum += bits;
            squares += bits * bits;
        }
        let n = f64::from(trials);
        let (mean, error) = (sum / n, (squares / n - (sum / n).powi(2)).sqrt() / n.sqrt());
        assert!(
            (mean - expected).abs() < 5.0 * error,
            "{octets}: {mean}, expected {expected}, standard error {error}"
        );
    }
}

#[test]
fn stations_share_in_the_long_run_and_starve_in_the_short() {
    // Symmetry: 10 equal stations, each within 20 % of its share after 1e5 frames. Capture: more
    // than half of all frames are sent without any collision, while other stations use up their
    // attempts.
    let medium = saturate(10, 512, 600_000_000);
    let all: Vec<_> = (0..10).map(|s| medium.station_statistics(s)).collect();
    let total: u64 = all.iter().map(|s| s.sent).sum();
    for station in &all {
        let tenth = station.sent * 10;
        assert!(tenth > total * 8 / 10 && tenth < total * 12 / 10, "{all:?}");
    }
    let dropped: u64 = all.iter().map(|s| s.excessive_collisions).sum();
    assert!(dropped * 100 > total, "{dropped} of {total} starve");
    let at_once: u64 = all.iter().map(|s| s.sent - s.sent_after_collision).sum();
    assert!(at_once * 2 > total, "{at_once} of {total} without any collision");
}

#[test]
fn one_station_alone_sends_back_to_back() {
    // Oracle: frame time over occupancy (gap included); in 1 s floor((10^7 + 96) / 672).
    let medium = saturate(1, 64, 10_000_000);
    assert_eq!(medium.station_statistics(0).sent, 14_881);
    assert_eq!(medium.statistics().collisions, [0; 16]);
}

#[test]
fn dice_of_two_stations_are_independent() {
    // Oracle: equal draws of two seeds from 1024 values happen once in 1024.
    let (mut a, mut b) = (Dice::new(1), Dice::new(2));
    let equal =
        (0..200_000).filter(|_| a.slots(Backoff::Standard, 10) == b.slots(Backoff::Standard, 12));
    assert_share(equal.count() as u64, 200_000, 1.0 / 1024.0, "equal draws");
}
