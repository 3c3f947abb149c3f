//! Tests of the shared segment; each names its oracle.

mod by_hand;
mod properties;
mod reference;
mod theory;

use alloc::collections::VecDeque;
use std::vec::Vec;

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};

use super::{Attachment, Backoff, Config, DropReason, Event, EventKind, Medium};

/// Bit time at 10 Mbit/s, the rate of all tests unless they give another.
const BIT: i64 = 100_000;

/// A frame that a station wants to send.
#[derive(Clone, Copy, Debug)]
struct Offer {
    at: i64,
    station: u32,
    octets: u64,
}

/// One transmission, in bit times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Transmission {
    start: i64,
    station: u32,
    end: i64,
    detected: Option<i64>,
    end_of_frame: Option<End>,
}

/// Outcome of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Sent(u32),
    Excessive,
    Late,
}

fn segment(backoff: Backoff, repeater_bits: i64, stations: &[(i64, u64)]) -> Medium {
    let (config, attachments) = parameters(backoff, repeater_bits, stations);
    Medium::new(&config, &attachments).unwrap()
}

/// Returns the same segment with the delay of each pair of stations.
fn segment_of_paths(backoff: Backoff, repeater_bits: i64, stations: &[(i64, u64)]) -> Medium {
    let (config, attachments) = parameters(backoff, repeater_bits, stations);
    let between = |from: u32, to: u32| {
        let distance = |station: u32| attachments[station as usize].distance;
        distance(from) + config.repeater_delay + distance(to)
    };
    Medium::with_paths(&config, &attachments, between).unwrap()
}

fn parameters(
    backoff: Backoff,
    repeater_bits: i64,
    stations: &[(i64, u64)],
) -> (Config, Vec<Attachment>) {
    let attachments = stations
        .iter()
        .map(|&(bits, seed)| Attachment { distance: Duration::from_ps(bits * BIT), seed })
        .collect();
    let config = Config {
        rate: BitRate::from_mbps(10),
        repeater_delay: Duration::from_ps(repeater_bits * BIT),
        backoff,
    };
    (config, attachments)
}

/// Runs offers, sorted by time, through stations with queues until `until`, all times in bits;
/// `offers_first` says whether an offer comes before or after other events of the same time.
fn run(medium: &mut Medium, offers: &[Offer], until: i64, offers_first: bool) -> Vec<Event> {
    let mut events = Vec::new();
    let mut queues = std::vec![VecDeque::<u64>::new(); medium.stations.len()];
    let mut is_busy = std::vec![false; queues.len()];
    let mut offers = offers.iter().peekable();
    let mut committed = std::vec![None; queues.len()];
    loop {
        let offer = offers.peek().map_or(i64::MAX, |offer| offer.at * BIT);
        let due = medium.poll_timeout().map_or(i64::MAX, Instant::as_ps);
        let now = offer.min(due);
        if now == i64::MAX || now > until * BIT {
            return events;
        }
        for (station, committed) in (0..).zip(&mut committed) {
            *committed = medium.committed(Instant::from_ps(now), station).or(*committed);
        }
        let mut free = None;
        if offer < due || (offer == due && offers_first) {
            let offer = offers.next().unwrap();
            queues[offer.station as usize].push_back(offer.octets);
            free = Some(offer.station);
        } else {
            medium.handle_timeout(Instant::from_ps(now));
        }
        let seen = events.len();
        events.extend(core::iter::from_fn(|| medium.poll_event()));
        check_committed(&mut committed, &events[seen..]);
        let ends = events[seen..].iter().filter(|event| is_end(event.kind));
        let freed: Vec<u32> = ends.map(|event| event.station).collect();
        for &station in &freed {
            is_busy[station as usize] = false;
        }
        for station in freed.into_iter().chain(free) {
            if is_busy[station as usize] {
                continue;
            }
            if let Some(octets) = queues[station as usize].pop_front() {
                is_busy[station as usize] = true;
                medium.offer(Instant::from_ps(now), station, 0, Bytes::new(octets));
            }
        }
        medium.invariants().unwrap();
    }
}

/// Asserts that the next event of a station with a committed frame is its end, as predicted.
fn check_committed(committed: &mut [Option<(u32, Instant)>], events: &[Event]) {
    for event in events {
        if let Some((frame, end)) = committed[event.station as usize].take() {
            assert!(matches!(event.kind, EventKind::Sent { .. }), "{event:?}");
            assert_eq!((event.frame, event.at), (frame, end));
        }
    }
}

fn is_end(kind: EventKind) -> bool {
    matches!(kind, EventKind::Sent { .. } | EventKind::Dropped { .. })
}

fn bits(at: Instant) -> i64 {
    assert_eq!(at.as_ps() % BIT, 0, "everything is in whole bits");
    at.as_ps() / BIT
}

/// Returns the transmissions in `events`, in the order of their starts.
fn transmissions(events: &[Event]) -> Vec<Transmission> {
    let mut all: Vec<Transmission> = Vec::new();
    for event in events {
        let at = bits(event.at);
        if event.kind == EventKind::Started {
            all.push(Transmission {
                start: at,
                station: event.station,
                end: i64::MAX,
                detected: None,
                end_of_frame: None,
            });
            continue;
        }
        let last = all.iter_mut().rfind(|t| t.station == event.station).unwrap();
        last.end = at;
        match event.kind {
            EventKind::Collision { detected, .. } => last.detected = Some(bits(detected)),
            EventKind::Sent { attempts } => last.end_of_frame = Some(End::Sent(attempts)),
            EventKind::Dropped { reason, .. } => {
                last.end_of_frame = Some(match reason {
                    DropReason::ExcessiveCollisions => End::Excessive,
                    DropReason::LateCollision => End::Late,
                });
            }
            EventKind::Started | EventKind::Delivered { .. } | EventKind::Garbled { .. } => {}
        }
    }
    all.sort_unstable();
    all
}
