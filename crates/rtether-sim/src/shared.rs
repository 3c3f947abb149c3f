//! Shared media: the CSMA/CD engine of each collision domain with its hubs, and the ports on it.
//!
//! A port on a medium gives it the frame at the head of its queue, and the next one when that frame
//! has been sent or given up. A frame leaves through every hub of the domain by all other ports.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::{Bytes, Instant};
use rtether_model::record::{AccessRecord, MediumRecord, NodeRecord};

use crate::access::{AccessState, CONTROL_FRAME};
use crate::agenda::{Agenda, NEVER};
use crate::medium::{Event, Medium};
use crate::packet::{GROUP, NONE};
use crate::random::mix;

/// One collision domain.
pub(crate) struct Shared {
    medium: Medium,
    /// Indices of the attachments, in the order of the medium's stations.
    attachments: Range<u32>,
    hubs: Vec<HubState>,
    slot: u32,
    /// Seed from which the back-offs of each frame are drawn separately; `None` draws all from one
    /// sequence.
    seed_of_frames: Option<u64>,
    /// Buffer for the medium's events while they are handled.
    events: VecDeque<Event>,
    /// Who may send, if not by contention.
    access: Option<Box<AccessState>>,
    /// What its stations have sent since the counters were settled, by station of the medium.
    passed: Vec<Passed>,
    /// The end stations on it with their numbers on the medium, in order, if the interface of each
    /// alone decides what it takes in.
    plain: Vec<(u32, u32)>,
}

/// Frames of one station that every port and station of the domain counts, so that a frame costs the
/// same however many there are: see [`Shared::settle`].
#[derive(Clone, Copy, Default)]
struct Passed {
    frames: u64,
    /// Their octets, from the addresses to the check sequence.
    octets: u64,
    /// Those among them that all stations filter but one.
    single: u64,
    /// Those of other stations that this one has taken in and the others filter.
    taken: u64,
}

/// Who takes in a frame on a medium.
pub(crate) enum Receiver {
    /// Every station has to be asked.
    Unknown,
    /// This station of the medium alone.
    One(u32),
    /// No station.
    None,
}

/// One hub of a collision domain.
pub(crate) struct HubState {
    node: NodeId,
    /// Ports with a link in use.
    ports: Vec<u32>,
    /// By station of the medium: the port at which its frames enter.
    ingress: Vec<u32>,
    arrived: u64,
    copied: u64,
    /// Frames that arrived at the only port in use.
    filtered: u64,
    discarded: u64,
}

/// A port on a medium.
#[derive(Clone, Copy)]
pub(crate) struct Attachment {
    port: u32,
    domain: u32,
    station: u32,
    /// Frame held by the medium, or [`NONE`].
    frame: u32,
    /// Queue it comes from.
    queue: u8,
    /// The end station there if its interface alone decides what it takes in, else [`NONE`].
    plain: u32,
}

impl Shared {
    /// Creates an idle domain; `attachments` are those of the medium's stations.
    pub(crate) fn new(medium: Medium, attachments: Range<u32>, hubs: Vec<HubState>) -> Self {
        Self {
            medium,
            passed: alloc::vec![Passed::default(); attachments.len()],
            plain: Vec::new(),
            attachments,
            hubs,
            slot: NONE,
            seed_of_frames: None,
            events: VecDeque::new(),
            access: None,
        }
    }

    /// Lets its stations follow an access scheme.
    pub(crate) fn follow(&mut self, access: Box<AccessState>) {
        self.access = Some(access);
    }

    /// Returns the access scheme, if there is one.
    #[inline]
    pub(crate) fn scheme(&self) -> Option<&AccessState> {
        self.access.as_deref()
    }

    /// Returns the access scheme, if there is one.
    pub(crate) fn scheme_mut(&mut self) -> Option<&mut AccessState> {
        self.access.as_deref_mut()
    }

    /// Returns the medium and its access scheme.
    pub(crate) fn parts(&mut self) -> (&Medium, Option<&mut AccessState>) {
        (&self.medium, self.access.as_deref_mut())
    }

    /// Gives the medium its timer.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Draws the back-offs of each frame from this seed, its station and its release.
    pub(crate) const fn draw_by_frame(&mut self, seed: u64) {
        self.seed_of_frames = Some(seed);
    }

    /// Returns the attachments, in the order of the medium's stations.
    #[inline]
    pub(crate) fn attachments(&self) -> Range<u32> {
        self.attachments.clone()
    }

    /// Returns the attachment of a station of the medium.
    #[inline]
    pub(crate) const fn attachment(&self, station: u32) -> u32 {
        self.attachments.start + station
    }

    /// Gives the medium a frame of `size` octets with this release time.
    pub(crate) fn offer(&mut self, now: i64, station: u32, id: u32, size: u64, released_at: i64) {
        if let Some(seed) = self.seed_of_frames {
            let own = mix(&[seed, u64::from(station), released_at.unsigned_abs()]);
            self.medium.reseed(station, own);
        }
        let now = Instant::from_ps(now);
        self.medium.offer(now, station, id, Bytes::new(size));
    }

    /// Lets the medium report attempts only to those that take notice: an observer, an access scheme,
    /// or a station's layer.
    pub(crate) const fn set_observed(&mut self, is_observed: bool) {
        let has_layers = self.plain.is_empty();
        let takes_notice = is_observed || has_layers || self.access.is_some();
        self.medium.report_attempts(takes_notice);
    }

    /// Sets the timer for the next event of the medium.
    pub(crate) fn set_timer(&self, agenda: &mut Agenda) {
        let due = self.medium.poll_timeout().map_or(NEVER, Instant::as_ps);
        agenda.set(self.slot, due);
    }

    /// Lets the medium do what is due, and returns all its events; [`Self::keep`] takes the list
    /// back.
    pub(crate) fn wake(&mut self, now: i64) -> VecDeque<Event> {
        self.medium.handle_timeout(Instant::from_ps(now));
        let mut events = core::mem::take(&mut self.events);
        self.medium.swap_events(&mut events);
        events
    }

    /// Keeps the memory of a list of events.
    pub(crate) fn keep(&mut self, events: VecDeque<Event>) {
        self.events = events;
    }

    /// Returns the propagation delay between two stations of the medium, in picoseconds.
    pub(crate) fn propagation(&self, from: u32, to: u32) -> i64 {
        self.medium.propagation(from, to).as_ps()
    }

    /// Returns the frame of a station that can no longer collide, and its end.
    pub(crate) fn committed(&self, now: i64, station: u32) -> Option<(u32, Instant)> {
        let committed = self.medium.committed(Instant::from_ps(now), station);
        committed.filter(|(frame, _)| *frame != CONTROL_FRAME)
    }

    /// Notes that nothing but the interface of the end stations on it decides what they take in:
    /// pairs of an end station and its number on the medium, in order.
    pub(crate) fn set_plain(&mut self, stations: Vec<(u32, u32)>) {
        self.plain = stations;
    }

    /// Counts a frame that station `from` has sent, by whatever way it gets to others.
    #[inline]
    pub(crate) fn repeat(&mut self, from: u32, frame_size: i64) {
        let passed = &mut self.passed[from as usize];
        passed.frames += 1;
        passed.octets += frame_size.unsigned_abs();
    }

    /// Returns which station takes in a frame of `from` to this destination, and counts the frame at
    /// those that filter it.
    #[inline]
    pub(crate) fn receiver(&mut self, from: u32, destination: u32) -> Receiver {
        if self.plain.is_empty() || destination & GROUP != 0 {
            return Receiver::Unknown;
        }
        let place = self.plain.binary_search_by_key(&destination, |own| own.0);
        let receiver = place.ok().map(|place| self.plain[place].1);
        self.passed[from as usize].single += 1;
        match receiver.filter(|station| *station != from) {
            Some(station) => {
                self.passed[station as usize].taken += 1;
                Receiver::One(station)
            }
            None => Receiver::None,
        }
    }

    /// Enters what has been counted since the last call, by sender, where it belongs: at the hubs, at
    /// their ports (`repeated`: port, frames, octets), and at the end stations that have filtered
    /// frames (`filtered`: station, frames).
    pub(crate) fn settle(
        &mut self,
        mut repeated: impl FnMut(u32, u64, u64),
        mut filtered: impl FnMut(u32, u64),
    ) {
        let frames: u64 = self.passed.iter().map(|own| own.frames).sum();
        let octets: u64 = self.passed.iter().map(|own| own.octets).sum();
        let single: u64 = self.passed.iter().map(|own| own.single).sum();
        for hub in &mut self.hubs {
            hub.arrived += frames;
            match hub.ports.len() {
                0 | 1 => hub.filtered += frames,
                ports => hub.copied += frames * (ports as u64 - 2),
            }
            for &port in &hub.ports {
                let entered = hub.ingress.iter().zip(&self.passed);
                let entered = entered.filter(|(ingress, _)| **ingress == port);
                let own = entered.fold((0, 0), |sum: (u64, u64), (_, own)| {
                    (sum.0 + own.frames, sum.1 + own.octets)
                });
                repeated(port, frames - own.0, octets - own.1);
            }
        }
        for &(station, number) in &self.plain {
            let own = self.passed[number as usize];
            filtered(station, single - own.single - own.taken);
        }
        self.passed.fill(Passed::default());
    }

    /// Counts a garbled frame at the hub with this port, if there is one.
    pub(crate) fn note_garbled(&mut self, port: u32) {
        let hubs = self.hubs.iter_mut();
        for hub in hubs.filter(|hub| hub.ports.contains(&port)) {
            hub.arrived += 1;
            hub.discarded += 1;
        }
    }

    /// Returns the counters at the end of a run.
    pub(crate) fn record(&self, ports: impl Fn(u32) -> PortId) -> MediumRecord {
        let statistics = self.medium.statistics();
        let (control, control_time) =
            self.scheme().map_or_else(Default::default, AccessState::control);
        MediumRecord {
            ports: self.attachments().map(ports).collect(),
            collisions: statistics.collisions.to_vec(),
            carried: statistics.carried,
            wasted: statistics.wasted,
            control,
            control_time,
        }
    }

    /// Returns the counters of one station.
    pub(crate) fn access(&self, station: u32) -> AccessRecord {
        let counts = self.medium.station_statistics(station);
        AccessRecord {
            collisions: counts.collisions,
            sent_after_collision: counts.sent_after_collision,
            excessive_collisions: counts.excessive_collisions,
            late_collisions: counts.late_collisions,
        }
    }

    /// Enters the counters of its hubs in the records of their nodes, which are by number.
    pub(crate) fn count_in(&self, records: &mut [NodeRecord]) {
        for hub in &self.hubs {
            let record = &mut records[hub.node.index()];
            record.arrived = hub.arrived;
            record.copied = hub.copied;
            record.filtered = hub.filtered;
            record.discarded = hub.discarded;
        }
    }

    /// Checks the medium.
    pub(crate) fn invariants(&self) -> Result<(), &'static str> {
        self.medium.invariants()
    }
}

impl HubState {
    /// Creates a hub with these ports in use; `ingress` has, by station of the medium, the port at
    /// which its frames enter.
    pub(crate) const fn new(node: NodeId, ports: Vec<u32>, ingress: Vec<u32>) -> Self {
        Self { node, ports, ingress, arrived: 0, copied: 0, filtered: 0, discarded: 0 }
    }
}

impl Attachment {
    /// Attaches a port to a collision domain as this station of its medium.
    pub(crate) const fn new(port: u32, domain: u32, station: u32) -> Self {
        Self { port, domain, station, frame: NONE, queue: 0, plain: NONE }
    }

    /// Notes that the interface of this end station alone decides what it takes in.
    pub(crate) const fn set_plain(&mut self, station: u32) {
        self.plain = station;
    }

    /// Returns the end station there if its interface alone decides what it takes in.
    pub(crate) fn plain(self) -> Option<u32> {
        (self.plain != NONE).then_some(self.plain)
    }

    /// Returns the end station there whose interface filters frames to `destination`, if nothing
    /// but the address has to be looked at.
    #[inline]
    pub(crate) fn filtering(self, destination: u32) -> Option<u32> {
        let is_other = destination & GROUP == 0 && destination != self.plain;
        (is_other && self.plain != NONE).then_some(self.plain)
    }

    /// Returns the port.
    #[inline]
    pub(crate) const fn port(self) -> u32 {
        self.port
    }

    /// Returns the collision domain.
    #[inline]
    pub(crate) const fn domain(self) -> u32 {
        self.domain
    }

    /// Returns the number of the station within the domain.
    #[inline]
    pub(crate) const fn station(self) -> u32 {
        self.station
    }

    /// Returns the frame held by the medium.
    #[inline]
    pub(crate) fn frame(self) -> Option<u32> {
        (self.frame != NONE).then_some(self.frame)
    }

    /// Returns the queue of that frame.
    #[inline]
    pub(crate) const fn queue(self) -> u8 {
        self.queue
    }

    /// Notes that the medium holds a frame of this queue.
    pub(crate) const fn hold(&mut self, id: u32, queue: u8) {
        self.frame = id;
        self.queue = queue;
    }

    /// Notes that the medium is done with the frame.
    pub(crate) const fn free(&mut self) {
        self.frame = NONE;
    }
}
