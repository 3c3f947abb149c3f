//! Recordings replay to the same decisions, and differences are found.

use proptest::prelude::*;
use rtether_model::endnode::{Detector, Layer, TransmitStrategy};
use rtether_model::quantity::{Duration, Instant};
use rtether_model::smoother::{Adaptive, Mode};
use rtether_proto::egress::{
    Call, Comparison, Decision, Egress, EgressError, Entry, Recording, ReplayError, What, replay,
};
use rtether_proto::smoother::Class::{Bulk, RealTime};

use crate::egress::harness::{
    Host, IN_STEP, RATE, at, datagram, other, queued, smoothed, smoothing,
};
use crate::egress::properties::{Careless, layer, seeds, step};

const EVERY_COLLISION: Detector = Detector::OwnCollisions { visibility_per_million: 1_000_000 };

/// Returns the number of decisions.
fn decisions(entries: &[Entry]) -> u64 {
    let decisions = entries.iter().filter(|entry| matches!(entry.what, What::Decision(_)));
    u64::try_from(decisions.count()).expect("few")
}

/// A recorded run with a collision, a drop and a new layer.
fn recorded(limit: usize) -> (Recording, [Layer; 2]) {
    let layers = [
        smoothed(Mode::Adaptive(Adaptive::HIMD), 1, EVERY_COLLISION),
        queued(TransmitStrategy::MODERATE, 2, &[2, 2]),
    ];
    let egress = Egress::new(Instant::ZERO, &layers[0], RATE, IN_STEP).expect("a good layer");
    let mut host = Host::with(egress.recorded(limit));
    for octets in [1500, 1501, 800, 100] {
        host.offer(datagram(octets, Bulk, 0));
    }
    host.begin();
    host.wait_until(at(2_000));
    host.complete(3);
    host.offer(datagram(46, RealTime, 1));
    host.egress.set(host.now, &layers[1]).expect("a good layer");
    host.drain();
    for class in [0, 1, 0, 1] {
        host.offer(other(100, class));
    }
    host.send_until(at(50_000));
    (host.egress.take_recording().expect("it was recorded"), layers)
}

#[test]
fn a_recording_says_what_happened_when() {
    // By hand: the first packet leaves at once, the second is larger than the MTU, the third and
    // fourth wait for room below.
    let (recording, _) = recorded(1_000);
    let what: Vec<What> = recording.entries.iter().map(|entry| entry.what).collect();
    let offer = |octets| What::Call(Call::Offer(datagram(octets, Bulk, 0)));
    let poll = What::Call(Call::Poll);
    let by = rtether_proto::egress::Dropper::Smoother;
    assert_eq!(
        what[..9],
        [
            offer(1500),
            poll,
            What::Decision(Decision::Handed { frame: 0, ring: 0 }),
            poll,
            offer(1501),
            What::Decision(Decision::Dropped { frame: 1, by }),
            // No poll is recorded: a refused packet releases no other.
            offer(800),
            poll,
            offer(100),
        ]
    );
    let complete = recording
        .entries
        .iter()
        .find(|entry| entry.what == What::Call(Call::Complete { attempts: 3 }));
    assert_eq!(complete.map(|entry| entry.at), Some(at(2_000)));
    assert!(recording.entries.is_sorted_by_key(|entry| entry.at));
    assert_eq!(recording.lost, 0);
}

#[test]
fn a_replay_decides_the_same() {
    let (recording, layers) = recorded(1_000);
    let all = decisions(&recording.entries);
    assert_eq!(all, 9, "every frame was handed out or dropped");
    let calls = u64::try_from(recording.entries.len()).expect("few") - all;
    let expected = Comparison { calls, decisions: all, first_difference: None };
    assert_eq!(replay(&recording, &layers), Ok(expected));
}

#[test]
fn a_recording_that_was_cut_replays_as_far_as_it_goes() {
    let (whole, layers) = recorded(1_000);
    for limit in 0..whole.entries.len() {
        let (cut, _) = recorded(limit);
        assert_eq!(cut.entries, whole.entries[..limit]);
        let lost = whole.entries.len() - limit;
        assert_eq!(cut.lost, u64::try_from(lost).expect("few"));
        let comparison = replay(&cut, &layers).expect("good layers");
        assert_eq!(comparison.first_difference, None, "{limit} entries");
        assert_eq!(comparison.decisions, decisions(&cut.entries));
    }
}

#[test]
fn a_difference_is_found_where_it_is() {
    // If any decision is changed, removed or added, the replay stops there.
    let (whole, layers) = recorded(1_000);
    let is_decision = |entry: &Entry| matches!(entry.what, What::Decision(_));
    for index in 0..whole.entries.len() {
        let entry = whole.entries[index];
        let found = |recording: &Recording| {
            let comparison = replay(recording, &layers).expect("good layers");
            comparison.first_difference.map(|difference| difference.entry)
        };
        let mut more = whole.clone();
        let what = What::Decision(Decision::Handed { frame: 99, ring: 0 });
        more.entries.insert(index, Entry { what, ..entry });
        assert_eq!(found(&more), Some(index), "one more");
        if !is_decision(&entry) {
            continue;
        }
        let mut other = whole.clone();
        other.entries[index] = Entry { what, ..entry };
        assert_eq!(found(&other), Some(index), "another");
        let mut less = whole.clone();
        less.entries.remove(index);
        assert_eq!(found(&less), Some(index), "one less");
        let mut late = whole.clone();
        late.entries[index].at += Duration::from_ps(1);
        assert_eq!(found(&late), Some(index), "later");
    }
}

#[test]
fn another_policy_decides_otherwise() {
    // Oracle: with a shorter queue for bulk packets the fourth is dropped: entries 8 and 9 are its
    // offer and its fate.
    let (recording, [mut first, second]) = recorded(1_000);
    let mut narrow = smoothing(Mode::Adaptive(Adaptive::HIMD), 1, EVERY_COLLISION);
    narrow.config.limits.bulk_packets = 1;
    first.smoother = Some(narrow);
    let comparison = replay(&recording, &[first, second]).expect("good layers");
    let difference = comparison.first_difference.expect("they differ");
    assert_eq!(difference.entry, 9);
    let what = difference.replayed.map(|entry| entry.what);
    assert!(matches!(what, Some(What::Decision(Decision::Dropped { frame: 3, .. }))));
}

#[test]
fn layers_must_be_there_and_good() {
    let (recording, [first, _]) = recorded(1_000);
    let missing = ReplayError::NoLayer { number: 1, given: 1 };
    assert_eq!(replay(&recording, &[first]), Err(missing));
    let bad = smoothed(Mode::None, 0, EVERY_COLLISION);
    let refused = ReplayError::Layer { number: 0, source: EgressError::NoRoomBelow };
    assert_eq!(replay(&recording, &[bad]), Err(refused));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Oracle: the recorded engine itself, for any calls of its host.
    #[test]
    fn any_run_replays(
        first in layer(),
        seeds in seeds(),
        start in 0..1_000_000_i64,
        steps in prop::collection::vec(step(), 0..200),
        limit in prop_oneof![Just(1_000_usize), 0..300_usize],
    ) {
        let egress = Egress::new(at(start), &first, RATE, seeds).expect("a good layer");
        let mut host = Careless::new(egress.recorded(limit), first);
        for step in steps {
            host.take(step);
        }
        let recording = host.egress.recording().expect("it is recorded");
        prop_assert!(recording.entries.len() <= limit);
        let comparison = replay(recording, &host.layers).expect("good layers");
        prop_assert_eq!(comparison.first_difference, None);
        prop_assert_eq!(comparison.decisions, decisions(&recording.entries));
        if recording.lost == 0 {
            let statistics = host.egress.statistics();
            let dropped = statistics.dropped_by_smoother + statistics.dropped_by_queues;
            prop_assert_eq!(comparison.decisions, statistics.handed + dropped);
        }
    }
}
