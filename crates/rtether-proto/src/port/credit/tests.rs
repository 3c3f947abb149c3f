use std::collections::VecDeque;
use std::vec::Vec;

use proptest::prelude::*;
use rtether_model::network::{PortPlan, Selection};

use super::*;
use crate::port::{Selector, Unlimited};

/// Octets of preamble and gap.
const OVERHEAD: u32 = 20;

/// Picoseconds for an octet at 100 Mbit/s, and that rate.
const OCTET: i64 = 80_000;
const RATE: i128 = 100_000_000;

/// A frame that comes to a queue: time in picoseconds, queue, octets.
type Arrival = (i64, u8, u32);

struct Queues(Vec<VecDeque<(Instant, u32)>>);

impl Waiting for Queues {
    fn has_frame(&self, queue: u8) -> bool {
        !self.0[usize::from(queue)].is_empty()
    }

    fn head_size(&self, queue: u8) -> u32 {
        self.0[usize::from(queue)].front().map_or(0, |head| head.1)
    }

    fn head_since(&self, queue: u8) -> Instant {
        let head = self.0[usize::from(queue)].front();
        head.map_or(Instant::ZERO, |head| head.0)
    }
}

/// A port of 100 Mbit/s that follows the credits as the standard describes them, in bits times a
/// picosecond per second, and compares each decision of the engine with them.
struct Port {
    engine: Selector,
    slopes: [i128; 8],
    credits: [i128; 8],
    waiting: Queues,
    /// Queue of the frame being sent.
    sending: Option<u8>,
    now: i64,
    /// Beginning and queue of each frame sent, and its octets.
    sent: Vec<(i64, u8, u32)>,
    polls: u32,
}

impl Port {
    fn new(slopes: &[u64]) -> Self {
        let mut idle_slopes = [BitRate::default(); 8];
        for (own, &slope) in idle_slopes.iter_mut().zip(slopes) {
            *own = BitRate::from_bps(slope);
        }
        let queues = u8::try_from(slopes.len()).unwrap();
        Self {
            engine: Selector::new(&PortPlan::new(Selection::Cbs { idle_slopes }, queues), None),
            slopes: idle_slopes.map(|slope| slope.as_bps().into()),
            credits: [0; 8],
            waiting: Queues(slopes.iter().map(|_| VecDeque::new()).collect()),
            sending: None,
            now: 0,
            sent: Vec::new(),
            polls: 0,
        }
    }

    /// Plays all arrivals, in order of time, until nothing waits.
    fn play(&mut self, arrivals: &[Arrival]) {
        let mut coming = arrivals.iter().peekable();
        let (mut free_at, mut wake) = (0, None);
        loop {
            let next = coming.peek().map(|arrival| arrival.0);
            let end = self.sending.map(|_| free_at);
            let Some(time) = [next, end, wake].into_iter().flatten().min() else {
                break;
            };
            self.pass(time);
            if end == Some(time) {
                self.end_frame();
            }
            while let Some(&(_, queue, octets)) = coming.next_if(|arrival| arrival.0 == time) {
                let since = Instant::from_ps(time);
                self.waiting.0[usize::from(queue)].push_back((since, octets));
            }
            wake = None;
            if self.sending.is_none() {
                match self.decide() {
                    Ok(until) => free_at = until,
                    Err(not_before) => wake = not_before,
                }
            }
        }
    }

    /// Moves the credits on to `time`.
    fn pass(&mut self, time: i64) {
        let span = i128::from(time - self.now);
        self.now = time;
        for queue in 0u8..8 {
            let index = usize::from(queue);
            if self.sending == Some(queue) {
                self.credits[index] -= (RATE - self.slopes[index]) * span;
                continue;
            }
            let grown = self.credits[index] + self.slopes[index] * span;
            let waits = self.waiting.0.get(index).is_some_and(|own| !own.is_empty());
            self.credits[index] = if waits { grown } else { grown.min(0) };
        }
    }

    fn end_frame(&mut self) {
        let queue = self.sending.take().unwrap();
        let credit = &mut self.credits[usize::from(queue)];
        if !self.waiting.has_frame(queue) {
            *credit = (*credit).min(0);
        }
    }

    /// Asks the engine, and returns when the port is free again, or when it is asked again.
    fn decide(&mut self) -> Result<i64, Option<i64>> {
        self.polls += 1;
        let found = self.engine.poll(Instant::from_ps(self.now), &Unlimited, &self.waiting);
        let waiting = (0..8).filter(|&queue| usize::from(queue) < self.waiting.0.len());
        let waiting: Vec<u8> = waiting.filter(|&q| self.waiting.has_frame(q)).collect();
        let credit = |queue: u8| match self.slopes[usize::from(queue)] {
            0 => 0,
            _ => self.credits[usize::from(queue)],
        };
        let ready = waiting.iter().copied().rev().find(|&queue| credit(queue) >= 0);
        if let Some(queue) = ready {
            assert_eq!(found, Decision::Send(queue), "at {} ps", self.now);
            let (_, octets) = self.waiting.0[usize::from(queue)].pop_front().unwrap();
            self.sent.push((self.now, queue, octets));
            self.sending = Some(queue);
            return Ok(self.now + i64::from(octets + OVERHEAD) * OCTET);
        }
        let rest = |queue: u8| {
            let slope = self.slopes[usize::from(queue)];
            i64::try_from((-credit(queue) + slope - 1) / slope).unwrap()
        };
        let Some(rest) = waiting.into_iter().map(rest).min() else {
            assert_eq!(found, Decision::Empty);
            return Err(None);
        };
        let time = self.now + rest;
        assert_eq!(found, Decision::NotBefore(Instant::from_ps(time)));
        Err(Some(time))
    }

    /// Returns the beginnings of the frames of a queue in nanoseconds.
    fn starts(&self, of: u8) -> Vec<i64> {
        let own = self.sent.iter().filter(|(_, queue, _)| *queue == of);
        own.map(|(start, ..)| start / 1_000).collect()
    }
}

const US: i64 = 1_000_000;
const MBIT: u64 = 1_000_000;

/// Oracle: by hand. A frame of 1000 octets takes 81.6 us and costs 6120 bit of credit, which come
/// back at 25 Mbit/s in 244.8 us.
#[test]
fn a_burst_leaves_at_the_idle_slope() {
    let mut port = Port::new(&[0, 25 * MBIT]);
    port.play(&[(0, 1, 1_000); 4]);
    assert_eq!(port.starts(1), [0, 326_400, 652_800, 979_200]);
    // One question when the frames came, one at the end of each, and one when each was due.
    assert_eq!(port.polls, 1 + 4 + 3);
}

/// Oracle: by hand. Behind 1518 octets until 123.04 us the credit rises to 3051 bit from 1 us on;
/// each frame costs 1320 bit: the third ends at 175.84 us with -909 bit, back after 36.36 us.
#[test]
fn credit_rises_while_frames_wait() {
    let mut port = Port::new(&[0, 25 * MBIT]);
    let mut arrivals = std::vec![(0, 0, 1_518)];
    arrivals.extend([(US, 1, 200); 4]);
    port.play(&arrivals);
    assert_eq!(port.starts(1), [123_040, 140_640, 158_240, 212_200]);
}

/// Oracle: by hand. The frame that begins at 123.04 us ends at 140.64 us with 1731 bit. Nothing
/// waits then, so they are lost: of two frames at 150 us, the second waits until 220.4 us. If a
/// frame has come before the end, they are kept, and it leaves at once.
#[test]
fn credit_is_lost_when_the_queue_is_empty() {
    let before = [(0, 0, 1_518), (US, 1, 200)];
    let mut lost = Port::new(&[0, 25 * MBIT]);
    lost.play(&[before.as_slice(), &[(150 * US, 1, 200); 2]].concat());
    assert_eq!(lost.starts(1), [123_040, 150_000, 220_400]);
    let mut kept = Port::new(&[0, 25 * MBIT]);
    kept.play(&[before.as_slice(), &[(130 * US, 1, 200); 2]].concat());
    assert_eq!(kept.starts(1), [123_040, 140_640, 158_240]);
    // At the very end nothing waits yet.
    let mut end = Port::new(&[0, 25 * MBIT]);
    end.play(&[before.as_slice(), &[(140_640_000, 1, 200); 2]].concat());
    assert_eq!(end.starts(1), [123_040, 140_640, 211_040]);
}

/// Oracle: by hand. While another frame is sent, a queue that was empty gets credit from the time at
/// which its frame comes, not from the beginning of the other.
#[test]
fn an_empty_queue_gains_no_credit() {
    let mut port = Port::new(&[0, 25 * MBIT]);
    // From 100 us to 123.04 us: 576 bit, then 1320 less: -744, back after 29.76 us.
    port.play(&[(0, 0, 1_518), (100 * US, 1, 200), (100 * US, 1, 200)]);
    assert_eq!(port.starts(1), [123_040, 170_400]);
}

/// Oracle: by hand. 120 octets are 960 bit; at 7 Mbit/s these take 137.142857.. us, and no rest of a
/// picosecond is carried on.
#[test]
fn the_port_is_asked_when_the_credit_is_zero() {
    let mut port = Port::new(&[7 * MBIT]);
    port.play(&[(0, 0, 100); 3]);
    let starts: Vec<i64> = port.sent.iter().map(|sent| sent.0).collect();
    assert_eq!(starts, [0, 137_142_858, 274_285_715]);
}

/// Oracle: by hand. A lower queue sends while the credit is below zero, one without a shaper above
/// goes first, and both delay the shaped one.
#[test]
fn queues_without_a_shaper_are_strict() {
    let mut port = Port::new(&[0, 25 * MBIT, 0]);
    port.play(&[(0, 1, 1_000), (0, 1, 1_000), (0, 0, 1_518), (200 * US, 0, 1_518)]);
    // -6120 bit at 81.6 us, zero at 326.4 us; the second long frame ends at 327.68 us.
    assert_eq!(port.starts(0), [81_600, 204_640]);
    assert_eq!(port.starts(1), [0, 327_680]);
    let mut port = Port::new(&[0, 25 * MBIT, 0]);
    port.play(&[(0, 1, 1_000), (0, 2, 1_000)]);
    assert_eq!((port.starts(2), port.starts(1)), (std::vec![0], std::vec![81_600]));
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let size = prop_oneof![Just(64_u32), Just(1_518), 64_u32..1_519];
    let pause = prop_oneof![3 => Just(0_i64), 2 => 0_i64..400 * US, 1 => (0_i64..50).prop_map(|n| n * 160_000)];
    let one = (pause, 0_u8..3, size);
    proptest::collection::vec(one, 1..120).prop_map(|steps| {
        let mut now = 0;
        let step = |(pause, queue, octets)| {
            now += pause;
            (now, queue, octets)
        };
        steps.into_iter().map(step).collect()
    })
}

fn slopes() -> impl Strategy<Value = [u64; 3]> {
    let slope = || prop_oneof![Just(0), Just(25 * MBIT), 1_u64..40 * MBIT];
    [slope(), slope(), slope()]
}

proptest! {
    /// Oracles: the credits of the standard, followed beside the engine (see [`Port`]); in = out;
    /// each queue keeps its order.
    #[test]
    fn decisions_are_those_of_the_standard(slopes in slopes(), arrivals in arrivals()) {
        let mut port = Port::new(&slopes);
        port.play(&arrivals);
        prop_assert_eq!(port.sent.len(), arrivals.len());
        for queue in 0..3 {
            let came = arrivals.iter().filter(|frame| frame.1 == queue).map(|frame| frame.2);
            let left = port.sent.iter().filter(|frame| frame.1 == queue).map(|frame| frame.2);
            prop_assert!(came.eq(left));
        }
    }

    /// Oracle: by hand. The credit of the only shaped queue never exceeds what it gains during the
    /// longest other frame, and falls by one frame below zero at most: in no span more leaves than
    /// the idle slope times the span and these two.
    #[test]
    fn a_shaped_queue_keeps_to_its_slope(slope in 1_u64..100, arrivals in arrivals()) {
        let mut port = Port::new(&[0, slope * MBIT]);
        let two = arrivals.iter().map(|&(time, queue, octets)| (time, queue.min(1), octets));
        port.play(&two.collect::<Vec<_>>());
        let slope = i128::from(slope * MBIT);
        let longest = i128::from(1_518 + OVERHEAD) * 8;
        // Bits times picoseconds per second.
        let burst = longest * slope / RATE * BITS + longest * (RATE - slope) / RATE * BITS + 2 * BITS;
        let own: Vec<_> = port.sent.iter().filter(|sent| sent.1 == 1).collect();
        for (index, first) in own.iter().enumerate() {
            let mut bits = 0;
            for last in &own[index..] {
                let octets = i128::from(last.2 + OVERHEAD);
                bits += octets * 8 * BITS;
                let span = i128::from(last.0 - first.0) + octets * i128::from(OCTET);
                prop_assert!(bits <= slope * span + burst);
            }
        }
    }
}
