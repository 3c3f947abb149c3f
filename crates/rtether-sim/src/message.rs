//! Messages, files and samples that are more than one packet: how their latency is booked.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::record::Segment;

use crate::packet::{COUNTED, Packet, Way, place_code};

/// The parts of a latency: those of the packets that carried the message, and what it waited for.
#[derive(Clone, Default)]
pub(crate) struct Spent {
    /// On the way.
    own: [i64; Segment::OF_PACKETS],
    /// In the protocol, by the segment in which was meanwhile what the message waited for.
    awaited: [i64; Segment::COUNT],
    /// The sum of both.
    total: i64,
    /// Time at places.
    places: Vec<(u32, i64)>,
    /// What was spent until the listener had the request, and what its application took then.
    answer: Option<[i64; 2]>,
}

impl Spent {
    /// Returns the time in all parts.
    pub(crate) const fn total(&self) -> i64 {
        self.total
    }

    /// Returns what was waited for, by segment.
    pub(crate) const fn awaited(&self) -> &[i64; Segment::COUNT] {
        &self.awaited
    }

    /// Returns what was spent until the listener had the request, and what its application took then.
    pub(crate) const fn answered(&self) -> Option<[i64; 2]> {
        self.answer
    }

    /// Adds the packet that carried a message released at `since`; if it was sent before, it was waited
    /// for. `stations` are those of its sender and its receiver.
    pub(crate) fn carry(&mut self, since: i64, packet: &Way, stations: [u32; 2]) {
        if packet.begin < since {
            return self.wait_for(since, packet, stations);
        }
        for (sum, part) in self.own.iter_mut().zip(packet.segments) {
            *sum += part;
            self.total += part;
        }
        self.places_of(packet, &packet.segments, stations);
    }

    /// Adds time of an application; of the one that answers it is the message's own.
    pub(crate) fn answer(&mut self, station: u32, time: i64) {
        self.answer = Some([self.total, time]);
        self.own[Segment::Application.index()] += time;
        self.total += time;
        self.place(Segment::Application, station, time);
    }

    /// Adds time in which an end waited for a timer or its application.
    pub(crate) fn pause(&mut self, segment: Segment, station: u32, time: i64) {
        if time > 0 {
            self.awaited[segment.index()] += time;
            self.total += time;
            self.place(segment, station, time);
        }
    }

    /// Adds a packet that was waited for, as far as it was under way from `since` on.
    pub(crate) fn wait_for(&mut self, since: i64, packet: &Way, stations: [u32; 2]) {
        let (parts, unknown) = rest(&packet.segments, since - packet.begin);
        for (sum, part) in self.awaited.iter_mut().zip(parts) {
            *sum += part;
            self.total += part;
        }
        self.places_of(packet, &parts, stations);
        let certain = certain(packet, unknown);
        self.wait_at(packet.worst_place, certain);
        self.pause(Segment::Protocol, stations[0], unknown - certain);
    }

    /// Adds time in which what was waited for was at a place.
    fn wait_at(&mut self, code: u32, time: i64) {
        self.awaited[segment_of(code).index()] += time;
        self.total += time;
        self.add_place(code, time);
    }

    /// Adds the parts of a packet to those of their places: at both stations all of them, between them
    /// only the largest, since that is known.
    fn places_of(
        &mut self,
        packet: &Way,
        parts: &[i64; Segment::OF_PACKETS],
        [sender, receiver]: [u32; 2],
    ) {
        let of_stations = [
            (Segment::TalkerStack, sender),
            (Segment::ReceiveQueue, receiver),
            (Segment::ReceiveStack, receiver),
        ];
        for (segment, station) in of_stations {
            self.place(segment, station, parts[segment.index()]);
        }
        let segment = segment_of(packet.worst_place);
        let is_between = !of_stations.iter().any(|(own, _)| *own == segment);
        if is_between && parts[segment.index()] == packet.segments[segment.index()] {
            self.add_place(packet.worst_place, packet.worst);
        }
    }

    fn place(&mut self, segment: Segment, index: u32, time: i64) {
        self.add_place(place_code(segment, index), time);
    }

    fn add_place(&mut self, code: u32, time: i64) {
        if time == 0 {
            return;
        }
        match self.places.iter_mut().find(|(own, _)| *own == code) {
            Some((_, sum)) => *sum += time,
            None => self.places.push((code, time)),
        }
    }

    /// Adds what came later.
    pub(crate) fn add(&mut self, later: &Self) {
        for (sum, part) in self.own.iter_mut().zip(later.own) {
            *sum += part;
        }
        for (sum, part) in self.awaited.iter_mut().zip(later.awaited) {
            *sum += part;
        }
        self.total += later.total;
        for &(code, time) in &later.places {
            self.add_place(code, time);
        }
    }

    /// Returns the place with the largest share, the first of equals.
    fn worst(&self) -> (u32, i64) {
        let worst = self.places.iter().rev().max_by_key(|(_, time)| *time);
        worst.copied().unwrap_or_default()
    }
}

/// Returns the segment of a place.
fn segment_of(code: u32) -> Segment {
    Segment::ALL[(code >> crate::packet::PLACE_INDEX_BITS) as usize % Segment::COUNT]
}

/// The segments between the ports of a packet's ends.
const BETWEEN: [Segment; 4] =
    [Segment::MediumAccess, Segment::Wire, Segment::SwitchLatency, Segment::SwitchQueue];

/// Returns how much of the last part of a packet's time in the network it spent for certain at the
/// place where it was longest: all but what can have been before.
fn certain(packet: &Way, left: i64) -> i64 {
    if left == 0 || !BETWEEN.contains(&segment_of(packet.worst_place)) {
        return 0;
    }
    let all = BETWEEN.iter().map(|own| packet.segments[own.index()]);
    let before = all.sum::<i64>() - left;
    (packet.worst - before).max(0)
}

/// Takes `cut` away from the front of the parts of a packet. Returns what is left, by part, and what is
/// left of its time in the network where the cut fell there.
fn rest(parts: &[i64; Segment::OF_PACKETS], cut: i64) -> ([i64; Segment::OF_PACKETS], i64) {
    let mut left = *parts;
    let mut cut = cut.max(0);
    if cut == 0 {
        return (left, 0);
    }
    if left[Segment::Application.index()] > 0 {
        // A task at either station, before or behind the others.
        let all: i64 = left.iter().sum();
        return ([0; Segment::OF_PACKETS], (all - cut).max(0));
    }
    for segment in [Segment::TalkerStack, Segment::DriverQueue] {
        take(&mut left[segment.index()], &mut cut);
    }
    let mut unknown = 0;
    if cut > 0 {
        for segment in BETWEEN {
            unknown += core::mem::take(&mut left[segment.index()]);
        }
        take(&mut unknown, &mut cut);
    }
    for segment in [Segment::ReceiveQueue, Segment::ReceiveStack] {
        take(&mut left[segment.index()], &mut cut);
    }
    (left, unknown)
}

/// Takes as much of `cut` from a part as it has.
const fn take(part: &mut i64, cut: &mut i64) {
    let time = if *cut < *part { *cut } else { *part };
    *part -= time;
    *cut -= time;
}

/// A message as released by the application.
#[derive(Clone)]
pub(crate) struct Released {
    pub(crate) at: i64,
    pub(crate) number: u32,
    pub(crate) is_counted: bool,
    /// What was spent up to the listener's answer, if the listener answers.
    pub(crate) spent: Option<Box<Spent>>,
}

impl Released {
    /// Returns a message that has just been released.
    pub(crate) const fn new(at: i64, number: u32, is_counted: bool) -> Self {
        Self { at, number, is_counted, spent: None }
    }

    /// Returns when what is on its way now was released: the message, or its answer.
    pub(crate) fn since(&self) -> i64 {
        self.at + self.spent.as_ref().map_or(0, |spent| spent.total)
    }

    /// Returns all parts, with the last ones.
    pub(crate) fn all(&self, last: Spent) -> Spent {
        let Some(mut spent) = self.spent.as_deref().cloned() else {
            return last;
        };
        spent.add(&last);
        spent
    }

    /// Turns a copy of the packet that completed this message into the message, as it is booked.
    pub(crate) fn put_into(&self, packet: &mut Packet, spent: &Spent) {
        packet.segments = spent.own;
        (packet.worst_place, packet.worst) = spent.worst();
        packet.released_at = self.at;
        packet.number = self.number;
        packet.put(COUNTED, self.is_counted);
    }
}
