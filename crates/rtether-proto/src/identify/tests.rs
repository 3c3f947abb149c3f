//! The prober against a scripted device, in virtual time.

use std::collections::BTreeMap;
use std::vec::Vec;

use rtether_model::quantity::{Bytes, Duration, Instant};

use super::*;

const SPAN: Span = Span { least: Bytes::new(64), most: Bytes::new(1_518) };
const FREE: Sizes = Sizes::Free { request: SPAN, answer: SPAN };

/// Runs a prober to its end with a device that answers each packet after these times; returns when
/// packets were sent, too.
fn run(prober: Prober, device: impl Fn(Packet) -> Vec<Duration>) -> (Prober, End, Vec<Instant>) {
    run_with(prober, device, |packet| packet.answer.unwrap_or(SPAN.least))
}

/// The same with a device whose answers have other sizes than those that were planned.
fn run_with(
    mut prober: Prober,
    device: impl Fn(Packet) -> Vec<Duration>,
    size: impl Fn(Packet) -> Bytes,
) -> (Prober, End, Vec<Instant>) {
    let mut answers: BTreeMap<(Instant, u32, usize), Packet> = BTreeMap::new();
    let (mut now, mut sent) = (Instant::ZERO, Vec::new());
    loop {
        let until = match prober.poll(now) {
            Ask::Done(end) => return (prober, end, sent),
            Ask::Send(packet) => {
                for (number, after) in device(packet).into_iter().enumerate() {
                    answers.insert((now + after, packet.id, number), packet);
                }
                prober.sent(packet.id, now, packet.request);
                sent.push(now);
                continue;
            }
            Ask::Wait(until) => until,
        };
        match answers.first_entry().filter(|first| first.key().0 <= until) {
            Some(first) => {
                now = first.key().0;
                let packet = first.remove();
                prober.answered(packet.id, now, size(packet));
            }
            None => now = until,
        }
    }
}

fn us(us: i64) -> Duration {
    Duration::from_us(us)
}

fn quiet(requests: u16) -> Prober {
    let pace = Pace { requests, ..Pace::default() };
    Prober::quiet(FREE, pace, 1, Instant::ZERO)
}

fn loaded() -> Prober {
    Prober::load(FREE, Pace::default(), 1, Instant::ZERO)
}

/// Oracle: the rules: all sizes equally often and in random order, at most ten in any second, one
/// outstanding, gaps that differ.
#[test]
fn requests_come_slowly_one_by_one_and_at_random() {
    let (prober, end, sent) = run(quiet(270), |_| std::vec![us(300)]);
    assert_eq!(end, End::Complete);
    let mut sizes = BTreeMap::new();
    for own in prober.observations() {
        *sizes.entry(own.volley.sizes).or_insert(0) += 1;
    }
    assert!(sizes.len() == 9 && sizes.values().all(|&number| number == 30));
    let order: Vec<Exchange> = prober.observations().iter().map(|own| own.volley.sizes).collect();
    assert!(!order.is_sorted() && order[..9] != order[9..18]);
    assert!(sent.windows(11).all(|own| own[10] - own[0] >= Duration::from_secs(1)));
    let gaps: Vec<Duration> = sent.windows(2).map(|own| own[1] - own[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= us(62_500)));
    assert!(gaps.iter().any(|gap| *gap < us(70_000)) && gaps.iter().any(|gap| *gap > us(180_000)));
    assert_eq!(prober.counters().answered, 270);
}

/// Oracle: by hand.
#[test]
fn losses_and_a_slower_device_end_it() {
    let (prober, end, _) =
        run(quiet(270), |own| if own.id % 40 == 39 { Vec::new() } else { std::vec![us(300)] });
    assert_eq!((end, prober.counters().sent, prober.counters().lost), (End::Losses, 120, 3));
    let (prober, end, _) =
        run(quiet(270), |own| std::vec![us(if own.id < 100 { 300 } else { 601 })]);
    // The eighteenth of the latest twenty.
    assert_eq!((end, prober.counters().sent), (End::Slower, 118));
    let (_, end, _) = run(quiet(270), |own| std::vec![us(if own.id < 100 { 300 } else { 599 })]);
    assert_eq!(end, End::Complete);
}

/// Oracle: by hand. What is late, doubled or unknown is counted, and changes no measured time.
#[test]
fn odd_answers_are_counted_and_dropped() {
    let (prober, end, _) = run(quiet(100), |own| match own.id {
        // Late: in the next request's time, and long after.
        10 => std::vec![us(2_010_000)],
        20 => std::vec![us(60_000_000)],
        // Doubled: while nothing is outstanding.
        30 => std::vec![us(300), us(310)],
        _ => std::vec![us(300)],
    });
    let counters = prober.counters();
    assert_eq!((end, counters.sent, counters.answered), (End::Complete, 100, 98));
    assert_eq!((counters.lost, counters.late, counters.doubled), (2, 1, 1));
    let trips = prober.observations().iter().filter_map(Observation::single);
    assert!(trips.clone().count() == 98 && trips.into_iter().all(|(at, to)| to - at == us(300)));
    let mut prober = quiet(2);
    let size = SPAN.least;
    prober.answered(0, Instant::ZERO, size);
    let Ask::Send(packet) = prober.poll(Instant::ZERO) else { panic!("the first is due at once") };
    prober.sent(packet.id, Instant::ZERO + us(50), size);
    prober.answered(packet.id, Instant::ZERO + us(49), size);
    prober.answered(7, Instant::ZERO + us(60), size);
    assert_eq!(prober.counters().unknown, 3);
    prober.answered(packet.id, Instant::ZERO + us(80), size);
    prober.answered(packet.id, Instant::ZERO + us(81), size);
    assert_eq!((prober.counters().answered, prober.counters().doubled), (1, 1));
    prober.poll(Instant::ZERO + us(90));
    let single = prober.observations()[0].single();
    assert_eq!(single, Some((Instant::ZERO + us(50), Instant::ZERO + us(80))));
}

/// Answers of a device with 320 us and 56 and 26 ns for each octet, the network's share included.
fn on_line(own: Packet) -> Vec<Duration> {
    let [request, answer] =
        [own.request, own.answer.unwrap()].map(|size| i64::try_from(size.get()).unwrap());
    std::vec![us(320) + Duration::from_ns(56 * request + 26 * answer)]
}

fn near(own: Figure, ns: i64) {
    let off = own.value - Duration::from_ns(ns);
    assert!(off.as_ps().abs() <= 1 && own.holds(own.value), "{own:?}");
}

/// Oracle: the device's own line, exactly, and by the network's share less.
#[test]
fn a_device_without_jitter_is_found_exactly() {
    let (prober, ..) = run(quiet(270), on_line);
    let path = Path {
        constant: us(2),
        request_octet: Duration::from_ns(16),
        answer_octet: Duration::from_ns(16),
    };
    let costs = Costs::estimate(prober.observations(), &path);
    let [fixed, request, answer] =
        [costs.fixed, costs.request_octet, costs.answer_octet].map(|own| own.unwrap());
    near(fixed, 318_000);
    near(request, 40);
    near(answer, 10);
    assert_eq!(costs.both_octets, Err(Unidentified::SizesFixed));
    assert_eq!(Cycle::estimate(prober.observations()), Err(Unidentified::NoCycle));
    let alike = Prober::quiet(Sizes::Alike(SPAN), Pace::default(), 1, Instant::ZERO);
    let (prober, ..) = run(alike, on_line);
    let costs = Costs::estimate(prober.observations(), &path);
    near(costs.both_octets.unwrap(), 50);
    near(costs.fixed.unwrap(), 318_000);
    assert_eq!(costs.request_octet, Err(Unidentified::SizesFixed));
}

fn half(size: Bytes) -> Bytes {
    Bytes::new(u64::midpoint(size.get(), 64))
}

/// Oracle: the device's own line over the octets that it sends in truth: half of what was planned
/// above the smallest frame, and of requests that the protocol cannot make as large.
#[test]
fn slopes_rest_on_the_sizes_that_came() {
    let (prober, ..) = run_with(
        quiet(270),
        |own: Packet| on_line(Packet { answer: own.answer.map(half), ..own }),
        |own| half(own.answer.unwrap()),
    );
    let costs = Costs::estimate(prober.observations(), &Path::default());
    near(costs.request_octet.unwrap(), 56);
    near(costs.answer_octet.unwrap(), 26);
    near(costs.fixed.unwrap(), 320_000);
    let sizes = prober.observations()[0].sizes();
    let planned = prober.observations()[0].volley.sizes;
    assert_eq!((sizes.request, sizes.answer), (planned.request, half(planned.answer)));
}

/// Oracle: by hand: the latest name not above the last with these lower bits.
#[test]
fn names_are_found_by_their_lower_bits() {
    let mut prober = Prober::load(FREE, Pace::default(), 1, Instant::ZERO);
    assert_eq!(prober.named(0, 0xFF), None);
    let mut now = Instant::ZERO;
    while prober.counters().sent < 300 {
        match prober.poll(now) {
            Ask::Send(packet) => prober.answered(packet.id, now, SPAN.least),
            Ask::Wait(until) => now = until,
            Ask::Done(end) => panic!("{end:?}"),
        }
    }
    // The last is 299, 0x12B.
    assert_eq!(prober.named(0x2B, 0xFF), Some(299));
    assert_eq!(prober.named(0x2C, 0xFF), Some(0x2C));
    assert_eq!(prober.named(0x00, 0xFF), Some(0x100));
    assert_eq!(prober.named(299, u32::MAX), Some(299));
    assert_eq!(prober.named(300, u32::MAX), None);
    assert_eq!(prober.named(0x100, 0xFF), None);
}

/// Oracle: the rules. Bursts double, with five seconds behind each; the device loses none, so that
/// neither the end of its queue nor its speed can be seen.
#[test]
fn a_device_that_holds_every_burst_is_not_identified() {
    let (prober, end, _) = run(loaded(), |own| std::vec![us(if own.high { 290 } else { 300 })]);
    assert_eq!((end, prober.counters().lost), (End::Complete, 0));
    let bursts = prober.observations().iter().take(9).map(|own| own.volley.requests);
    assert!(bursts.eq([1, 2, 4, 8, 16, 32, 64, 128, 256]));
    let starts = prober.observations().iter().take(9).map(|own| own.packets[0].at);
    let starts: Vec<Instant> = starts.collect();
    assert!(starts.windows(2).all(|own| own[1] - own[0] >= Duration::from_secs(5)));
    let load = Load::estimate(prober.observations(), &Path::default());
    assert_eq!(load.queue, Err(Unidentified::NoLoss { longest: 256 }));
    assert_eq!(load.receive, Err(Unidentified::FasterThanLine));
    assert_eq!(load.order, Ok(Order::Priority));
}

/// Oracle: the rules. Losses end a load where none are expected, and a device that answers nothing
/// is left alone.
#[test]
fn losses_under_load_end_it() {
    let (prober, end, _) = run(loaded(), |_| Vec::new());
    assert_eq!((end, prober.counters().sent), (End::Complete, 1));
    let sent_in_bursts = 511;
    let (prober, end, _) =
        run(loaded(), |own| if own.id < sent_in_bursts { std::vec![us(300)] } else { Vec::new() });
    assert!(end == End::Losses && prober.counters().lost >= 3);
}
