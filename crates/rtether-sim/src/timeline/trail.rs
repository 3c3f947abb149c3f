//! An observer that follows packets, and keeps what every server was doing meanwhile.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::observe::{Delivery, DropReason, Observer, PacketInfo, Service};
use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, NodeId, PortId};
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Place, Segment};
use rtether_model::wire;

use super::server::{Port, Server, ports};
use super::works::{Work, Works};
use super::{Cause, Part, Timeline, Wait};

type Spent = [Duration; Segment::COUNT];

/// Octets of preamble and jam (IEEE 802.3, 4.2.3.2.4).
const JAMMED_OCTETS: i64 = 12;

/// Frames that are known at once, of all servers.
const WORKS: usize = 1 << 20;

/// Segments that have arrived and are known at once.
const ARRIVED: usize = 1 << 16;

/// How many packets back the request of an answer is looked for.
const REQUESTS: usize = 256;

const NOTHING: Spent = [Duration::ZERO; Segment::COUNT];

/// The parts in the order in which a packet passes them between two events of its trail: it comes
/// over a link, is received, or is sent on.
const ORDER: [Segment; Segment::COUNT] = [
    Segment::Protocol,
    Segment::Wire,
    Segment::SwitchLatency,
    Segment::ReceiveQueue,
    Segment::ReceiveStack,
    Segment::Application,
    Segment::TalkerStack,
    Segment::SwitchQueue,
    Segment::DriverQueue,
    Segment::MediumAccess,
];

/// Where a packet was seen.
#[derive(Clone, Copy, Debug)]
enum Seen {
    At(NodeId),
    /// Its first bit left a port.
    Sent(PortId),
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// When; of a frame that is sent, its first bit.
    at: Instant,
    seen: Seen,
    spent: Spent,
}

/// What is known of a packet in transit.
#[derive(Clone, Debug, Default)]
struct Trail {
    steps: Vec<Step>,
    /// Servers of stacks that worked on it.
    services: Vec<Service>,
    /// Where it goes.
    to: Option<NodeId>,
    /// How many segments had arrived when it was sent.
    after: u64,
}

/// A segment that has arrived at an end of a connection.
struct Arrived {
    flow: FlowId,
    number: u64,
    trail: Trail,
}

impl Trail {
    fn begin(&self) -> Option<Instant> {
        Some(self.steps.first()?.at)
    }

    fn end(&self) -> Option<Instant> {
        Some(self.steps.last()?.at)
    }

    /// Returns the station that sent it.
    fn from(&self) -> Option<NodeId> {
        match self.steps.first()?.seen {
            Seen::At(node) => Some(node),
            Seen::Sent(_) => None,
        }
    }

    /// Returns what its packet has spent since it was released.
    fn spent(&self) -> Spent {
        self.steps.last().map_or(NOTHING, |step| step.spent)
    }
}

/// Follows the packets of one flow, or of all, and keeps the timelines of those that are wanted.
pub struct Trails<W> {
    flow: Option<FlowId>,
    wants: W,
    found: Vec<Timeline>,
    ports: BTreeMap<PortId, Port>,
    talkers: Vec<NodeId>,
    in_transit: BTreeMap<u32, Trail>,
    works: Works,
    /// The packet that reached its application last, and when.
    reached: Option<(Instant, PacketInfo)>,
    /// Trails of the last packets that reached a listener, which may answer.
    requests: VecDeque<Trail>,
    /// Segments of the flows followed, in the order of their arrival.
    arrived: VecDeque<Arrived>,
    arrivals: u64,
}

impl<W: FnMut(&PacketInfo, &Delivery) -> bool> Trails<W> {
    /// Follows a flow, or all flows; waits are known from `since` on. `wants` is asked at each
    /// delivery whether its timeline is kept.
    pub fn new(
        network: &Network,
        flows: &[Flow],
        flow: Option<FlowId>,
        since: Instant,
        wants: W,
    ) -> Self {
        Self {
            flow,
            wants,
            found: Vec::new(),
            ports: ports(network),
            talkers: flows.iter().map(|flow| flow.talker).collect(),
            in_transit: BTreeMap::new(),
            works: Works::new(since, WORKS),
            reached: None,
            requests: VecDeque::new(),
            arrived: VecDeque::new(),
            arrivals: 0,
        }
    }
}

impl<W> Trails<W> {
    /// Returns the timelines kept so far, in the order of their deliveries.
    pub fn found(&self) -> &[Timeline] {
        &self.found
    }

    /// Returns the timelines that were kept, in the order of their deliveries.
    pub fn into_found(self) -> Vec<Timeline> {
        self.found
    }

    /// Returns the timeline of a packet that has just been delivered.
    fn timeline(&self, now: Instant, packet: &PacketInfo, delivery: &Delivery) -> Timeline {
        let last = self.reached.filter(|(at, last)| *at == now && last.flow == packet.flow);
        let trail = last.and_then(|(_, last)| self.in_transit.get(&last.id));
        let empty = Trail::default();
        let trail = trail.unwrap_or(&empty);
        let rest = minus(&delivery.segments, &trail.spent());
        let talker = Seen::At(self.talkers[packet.flow.index()]);
        let chain = packet.tcp.and_then(|_| self.chain(now, packet, delivery, trail));
        let parts = chain.or_else(|| self.join(packet.released_at, rest, trail));
        let parts = parts.unwrap_or_else(|| {
            let mut parts = Parts::new(self, packet.released_at);
            let is_early = rest.iter().any(|part| part.is_negative());
            // Sent before the message was written, its parts say nothing about the message.
            let (first, then) =
                if is_early { (&delivery.segments, &empty) } else { (&rest, trail) };
            parts.add_all(first, talker, true);
            parts.follow(then);
            parts
        });
        Timeline {
            number: packet.number,
            released_at: packet.released_at,
            latency: delivery.latency,
            parts: parts.found,
        }
    }

    /// Returns the parts of a packet, and of the request that it answers, with the time of the
    /// protocol between them; `None` if they do not fit.
    fn join(&self, released_at: Instant, mut rest: Spent, trail: &Trail) -> Option<Parts<'_, W>> {
        let request = self.requests.iter().rev().find(|request| {
            let differs =
                |segment: &Segment| rest[segment.index()] != request.spent()[segment.index()];
            let mut differing = Segment::ALL.iter().filter(|segment| differs(segment));
            rest != NOTHING
                && request.begin() >= Some(released_at)
                && differing
                    .all(|segment| matches!(segment, Segment::Protocol | Segment::Application))
        });
        if let Some(request) = request {
            rest = minus(&rest, &request.spent());
        }
        let mut parts = Parts::new(self, released_at);
        for (position, trail) in request.into_iter().chain([trail]).enumerate() {
            let mut gap = trail.begin()? - parts.cursor;
            let at = trail.steps.first()?.seen;
            // The application answers between both.
            let pauses = [Segment::Application, Segment::Protocol];
            for segment in &pauses[usize::from(position == 0)..] {
                let segment = *segment;
                let time = Ord::min(gap, rest[segment.index()]);
                if time > Duration::ZERO {
                    parts.add(segment, time, at, None, trail, true);
                    rest[segment.index()] -= time;
                    gap -= time;
                }
            }
            if gap != Duration::ZERO {
                return None;
            }
            parts.follow(trail);
        }
        (rest == NOTHING).then_some(parts)
    }

    /// Returns the parts of a message over TCP: the segment that completed it, and before that, back to
    /// the release, the segments that it waited for; `None` if these are no longer known.
    fn chain(
        &self,
        now: Instant,
        packet: &PacketInfo,
        delivery: &Delivery,
        trail: &Trail,
    ) -> Option<Parts<'_, W>> {
        let mut parts = Parts::new(self, packet.released_at);
        if let Some([requested, answered]) = delivery.answer {
            let done = packet.released_at + requested;
            let listener = trail.from()?;
            let mut arrived = self.arrived.iter().rev();
            let request = arrived.find(|own| {
                own.flow == packet.flow
                    && own.trail.to == Some(listener)
                    && own.trail.end() == Some(done)
            })?;
            parts.follow_chain(packet.flow, &request.trail)?;
            if answered > Duration::ZERO {
                let at = Seen::At(listener);
                parts.add(Segment::Application, answered, at, None, trail, false);
            }
        }
        parts.follow_chain(packet.flow, trail)?;
        (parts.cursor == now).then_some(parts)
    }

    /// Returns the segment that arrived last at the end that sent this one, before it did.
    fn cause(&self, flow: FlowId, trail: &Trail) -> Option<&Trail> {
        let (here, peer) = (trail.from()?, trail.to);
        let mut arrived = self.arrived.iter().rev();
        let found = arrived.find(|own| {
            own.flow == flow
                && own.number < trail.after
                && own.trail.to == Some(here)
                && own.trail.from() == peer
        })?;
        Some(&found.trail)
    }

    fn follows(&self, packet: &PacketInfo) -> bool {
        self.flow.is_none_or(|flow| flow == packet.flow)
    }

    fn step(&mut self, at: Instant, seen: Seen, packet: &PacketInfo) {
        if self.follows(packet) {
            let trail = self.in_transit.entry(packet.id).or_default();
            trail.steps.push(Step { at, seen, spent: packet.spent });
        }
    }

    /// Begins a trail. An answer goes on with that of its request if it takes over what this has
    /// spent; the number of a packet that has ended may be that of a new one.
    fn begin(&mut self, now: Instant, packet: &PacketInfo) {
        let goes_on = |trail: &Trail| {
            let last = trail.steps.last();
            last.is_some_and(|last| {
                let more = minus(&packet.spent, &last.spent);
                let mut others = Segment::ALL.into_iter();
                packet.is_reverse
                    && last.spent != NOTHING
                    && others.all(|own| {
                        own == Segment::Application || more[own.index()] == Duration::ZERO
                    })
            })
        };
        if !self.in_transit.get(&packet.id).is_some_and(goes_on) {
            self.in_transit.remove(&packet.id);
        }
        self.step(now, Seen::At(packet.source), packet);
        if let Some(trail) = self.in_transit.get_mut(&packet.id) {
            (trail.to, trail.after) = (packet.destination, self.arrivals);
        }
    }

    /// Keeps the trail of a segment that has arrived at an end of its connection.
    fn arrive(&mut self, packet: &PacketInfo) {
        let trail = self.in_transit.get(&packet.id);
        let Some(trail) = trail.filter(|_| packet.tcp.is_some()).cloned() else {
            return;
        };
        if self.arrived.len() == ARRIVED {
            self.arrived.pop_front();
        }
        self.arrived.push_back(Arrived { flow: packet.flow, number: self.arrivals, trail });
        self.arrivals += 1;
    }

    /// Notes that a frame occupies a port from `begin` on.
    fn occupy(&mut self, port: PortId, begin: Instant, packet: &PacketInfo, has_collided: bool) {
        let Some(own) = self.ports.get(&port).copied() else {
            return;
        };
        let octets = wire::wire_size(packet.frame_size).get();
        let time = own.octet.as_ps().saturating_mul(i64::try_from(octets).unwrap_or(i64::MAX));
        let end = begin + Duration::from_ps(time);
        self.works.add(own.server, work_of(packet, begin, end, has_collided));
    }

    fn is_shared(&self, port: PortId) -> bool {
        let own = self.ports.get(&port);
        own.is_some_and(|own| matches!(own.server, Server::Medium(_)))
    }

    /// Returns when a frame whose last bit has left a port now began.
    fn begin_of(&self, port: PortId, now: Instant, packet: &PacketInfo) -> Instant {
        let octet = self.ports.get(&port).map_or(Duration::ZERO, |own| own.octet);
        let octets = (wire::PREAMBLE + packet.frame_size).get();
        now - Duration::from_ps(octet.as_ps() * i64::try_from(octets).unwrap_or(0))
    }

    /// Returns the waits of a packet for a server during a part of its timeline; `own` is the service that
    /// it waited for.
    fn waits(
        &self,
        server: Server,
        enter: Instant,
        leave: Instant,
        own: Option<&Service>,
    ) -> Vec<Wait> {
        let is_own =
            |work: &Work| own.is_some_and(|own| (own.begin, own.end) == (work.begin, work.end));
        // Behind its own service a packet may only wait for an address.
        let leave = own.map_or(leave, |work| Ord::min(leave, Ord::max(work.end, enter)));
        let works = self.works.between(server, enter, leave);
        let others = works.filter(|work| !is_own(work));
        let waits = others.map(|work| Wait {
            flow: work.flow,
            number: work.number,
            is_reverse: work.is_reverse,
            octets: work.octets.get(),
            priority: work.priority,
            cause: if work.has_collided {
                Cause::Collision
            } else if work.begin < enter {
                Cause::InService
            } else {
                Cause::Ahead
            },
            since: work.begin,
            time: Ord::min(work.end, leave) - Ord::max(work.begin, enter),
        });
        waits.collect()
    }
}

fn work_of(packet: &PacketInfo, begin: Instant, end: Instant, has_collided: bool) -> Work {
    Work {
        begin,
        end,
        flow: packet.flow,
        number: packet.number,
        is_reverse: packet.is_reverse,
        octets: packet.frame_size,
        priority: packet.tag.map(|(priority, _)| priority),
        has_collided,
    }
}

fn minus(a: &Spent, b: &Spent) -> Spent {
    core::array::from_fn(|index| a[index] - b[index])
}

/// The parts of a timeline, as far as they are known.
struct Parts<'a, W> {
    trails: &'a Trails<W>,
    cursor: Instant,
    /// Parts before this time are left out.
    since: Instant,
    /// Whether parts are of what the packet waits for.
    is_awaited: bool,
    found: Vec<Part>,
}

impl<'a, W> Parts<'a, W> {
    const fn new(trails: &'a Trails<W>, cursor: Instant) -> Self {
        Self { trails, cursor, since: cursor, is_awaited: false, found: Vec::new() }
    }

    /// Adds what is waited for from here on until a segment is sent, and its parts.
    fn follow_chain(&mut self, flow: FlowId, last: &Trail) -> Option<()> {
        self.since = self.cursor;
        let mut legs = alloc::vec![last];
        let mut leg = last;
        while leg.begin()? > self.since {
            let cause = self.trails.cause(flow, leg);
            let Some(cause) = cause.filter(|own| own.end() > Some(self.since)) else {
                break;
            };
            legs.push(cause);
            leg = cause;
        }
        for (left, leg) in legs.iter().enumerate().rev() {
            let begin = leg.begin()?;
            if begin > self.cursor {
                // For a timer, or for the application to write.
                let at = Seen::At(leg.from()?);
                self.add(Segment::Protocol, begin - self.cursor, at, None, leg, true);
            }
            self.cursor = begin;
            self.is_awaited = left > 0 || begin < self.since;
            self.follow(leg);
        }
        self.is_awaited = false;
        Some(())
    }

    /// Adds the parts between the events of a trail.
    fn follow(&mut self, trail: &Trail) {
        let mut station = None;
        let mut sent: Option<PortId> = None;
        let mut before = NOTHING;
        for step in &trail.steps {
            if let Seen::At(node) = step.seen {
                station = Some(node);
            }
            let spent = minus(&step.spent, &before);
            let at = station.map_or(step.seen, Seen::At);
            let port = match step.seen {
                Seen::Sent(port) => Some(port),
                Seen::At(_) => sent,
            };
            self.add_between(&spent, at, (sent, port), trail);
            debug_assert_eq!(self.cursor, step.at, "the parts up to {:?}", step.seen);
            before = step.spent;
            if let Seen::Sent(port) = step.seen {
                sent = Some(port);
            }
        }
    }

    fn add_between(
        &mut self,
        spent: &Spent,
        at: Seen,
        (from, to): (Option<PortId>, Option<PortId>),
        trail: &Trail,
    ) {
        for segment in ORDER {
            let time = spent[segment.index()];
            if time <= Duration::ZERO {
                continue;
            }
            let port = match segment {
                Segment::Wire | Segment::SwitchLatency => from,
                Segment::TalkerStack
                | Segment::DriverQueue
                | Segment::MediumAccess
                | Segment::SwitchQueue
                | Segment::ReceiveQueue
                | Segment::ReceiveStack
                | Segment::Application
                | Segment::Protocol => to,
            };
            let is_awaited = self.is_awaited;
            self.add(segment, time, at, port, trail, is_awaited);
        }
    }

    /// Adds parts of which only the sums are known.
    fn add_all(&mut self, spent: &Spent, at: Seen, is_awaited: bool) {
        let trail = Trail::default();
        for segment in ORDER {
            let time = spent[segment.index()];
            if time > Duration::ZERO {
                self.add(segment, time, at, None, &trail, is_awaited);
            }
        }
    }

    fn add(
        &mut self,
        segment: Segment,
        time: Duration,
        at: Seen,
        port: Option<PortId>,
        trail: &Trail,
        is_awaited: bool,
    ) {
        let (enter, leave) = (Ord::max(self.cursor, self.since), self.cursor + time);
        self.cursor = leave;
        if enter >= leave {
            return;
        }
        let station = match at {
            Seen::At(node) => node,
            Seen::Sent(port) => port.node,
        };
        let ports = &self.trails.ports;
        let of_port = || port.and_then(|port| ports.get(&port));
        let mut server = None;
        let mut service = None;
        let mut place = PortId::first(station);
        match segment {
            Segment::Wire => place = port.unwrap_or(place),
            Segment::SwitchLatency => place.node = of_port().map_or(station, |own| own.peer),
            Segment::SwitchQueue | Segment::DriverQueue | Segment::MediumAccess => {
                place = port.unwrap_or(place);
                server = of_port().map(|own| own.server);
            }
            Segment::TalkerStack | Segment::ReceiveQueue => {
                // What ends where the part begins served the request of this answer.
                let is_own = |own: &&Service| {
                    own.station == station && own.end > enter && own.begin <= leave
                };
                service = trail.services.iter().find(is_own);
                server = service.map(|own| Server::Stack(station, own.server));
            }
            Segment::ReceiveStack | Segment::Application | Segment::Protocol => {}
        }
        let trails = self.trails;
        let waits = server.map(|server| trails.waits(server, enter, leave, service));
        self.found.push(Part {
            place: Place { segment, port: place },
            enter,
            leave,
            waits: waits.unwrap_or_default(),
            is_partial: server.is_some_and(|server| !trails.works.is_known(server, enter)),
            is_awaited,
        });
    }
}

impl<W: FnMut(&PacketInfo, &Delivery) -> bool> Observer for Trails<W> {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        if self.follows(packet) {
            self.begin(now, packet);
        }
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        let begin = if self.is_shared(port) { self.begin_of(port, now, packet) } else { now };
        self.step(begin, Seen::Sent(port), packet);
        self.occupy(port, begin, packet, false);
    }

    fn collided(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        // When the attempt began is not told; the shortest remnant is preamble and jam.
        let octet = self.ports.get(&port).map_or(Duration::ZERO, |own| own.octet);
        let time = Duration::from_ps(octet.as_ps() * JAMMED_OCTETS);
        if let Some(server) = self.ports.get(&port).map(|own| own.server) {
            self.works.add(server, work_of(packet, now - time, now, true));
        }
    }

    fn received(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.step(now, Seen::At(station), packet);
    }

    fn served(&mut self, service: &Service, packet: &PacketInfo) {
        if self.follows(packet)
            && let Some(trail) = self.in_transit.get_mut(&packet.id)
        {
            trail.services.push(*service);
        }
        let server = Server::Stack(service.station, service.server);
        self.works.add(server, work_of(packet, service.begin, service.end, false));
    }

    fn reached(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.step(now, Seen::At(station), packet);
        if self.follows(packet) {
            self.reached = Some((now, *packet));
            self.arrive(packet);
            let trail = self.in_transit.get(&packet.id).filter(|_| !packet.is_reverse);
            if let Some(trail) = trail.cloned() {
                if self.requests.len() == REQUESTS {
                    self.requests.pop_front();
                }
                self.requests.push_back(trail);
            }
        }
    }

    fn copied(&mut self, _now: Instant, original: u32, packet: &PacketInfo) {
        if let Some(trail) = self.in_transit.get(&original).filter(|_| self.follows(packet)) {
            let trail = trail.clone();
            self.in_transit.insert(packet.id, trail);
        }
    }

    fn dropped(&mut self, _now: Instant, _node: NodeId, packet: &PacketInfo, _: DropReason) {
        if self.follows(packet) {
            self.in_transit.remove(&packet.id);
        }
    }

    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        if self.follows(packet) && (self.wants)(packet, delivery) {
            self.found.push(self.timeline(now, packet, delivery));
        }
    }
}
