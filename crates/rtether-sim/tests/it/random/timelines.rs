//! The timelines of all packets of random plants.

use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::Segment;
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Delivery, DropReason, Observer, PacketInfo, Service};
use rtether_sim::timeline::{Timeline, Trails};

use super::for_each_case;
use crate::support::Plant;

/// Follows every packet, and checks its timeline when it is delivered.
pub(crate) struct Timelines {
    trails: Trails,
    /// Ports of shared media.
    shared: Vec<PortId>,
    /// Whether each message of a flow is one frame.
    is_one_frame: Vec<bool>,
    pub(crate) seen: u64,
    /// Parts behind other frames at ports of switches.
    pub(crate) queued: u64,
}

impl Timelines {
    pub(crate) fn new(plant: &Plant) -> Self {
        let network = &plant.network;
        let links = network.links.iter();
        let shared = links.filter(|link| network.is_half_duplex(link));
        Self {
            trails: Trails::new(network, &plant.flows, None, Instant::ZERO),
            shared: shared.flat_map(|link| link.ends).collect(),
            is_one_frame: plant.flows.iter().map(is_one_frame).collect(),
            seen: 0,
            queued: 0,
        }
    }

    /// Oracle: the record's own parts, and a port that never pauses while a frame waits.
    fn check(
        &mut self,
        now: Instant,
        packet: &PacketInfo,
        timeline: &Timeline,
        delivery: &Delivery,
    ) {
        let is_protocol = timeline.parts.iter().any(|part| part.is_protocol);
        assert!(!is_protocol || !self.is_one_frame[packet.flow.index()]);
        let mut cursor = timeline.released_at;
        let mut spent = [Duration::ZERO; Segment::COUNT];
        for part in &timeline.parts {
            assert_eq!(part.enter, cursor, "a gap in {timeline:?}");
            assert!(
                part.time() > Duration::ZERO,
                "an empty part in {timeline:?}"
            );
            spent[part.place.segment.index()] += part.time();
            cursor = part.leave;
            for wait in &part.waits {
                assert!(wait.time > Duration::ZERO && wait.time <= part.time());
            }
            let is_queue = part.place.segment == Segment::SwitchQueue;
            if is_queue && !self.shared.contains(&part.place.port) {
                let waits: Duration = part.waits.iter().map(|wait| wait.time).sum();
                assert_eq!(waits, part.time(), "a pause in {part:?}");
                self.queued += 1;
            }
        }
        assert_eq!((cursor, spent), (now, delivery.segments), "{timeline:?}");
        assert_eq!(timeline.latency, delivery.latency);
        self.seen += 1;
    }
}

fn is_one_frame(flow: &Flow) -> bool {
    let fits = |payload: Bytes| payload <= Bytes::new(1_472);
    let is_plain = !matches!(
        flow.encapsulation,
        Encapsulation::Tcp | Encapsulation::Rtps { .. }
    );
    let reply = flow.reply.as_ref();
    is_plain
        && !matches!(flow.traffic, Traffic::Bulk(_))
        && fits(flow.payload)
        && reply.is_none_or(|reply| fits(reply.payload))
}

impl Observer for Timelines {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        self.trails.released(now, packet);
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        self.trails.transmitted(now, port, packet);
    }

    fn collided(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        self.trails.collided(now, port, packet);
    }

    fn received(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.trails.received(now, station, packet);
    }

    fn served(&mut self, service: &Service, packet: &PacketInfo) {
        self.trails.served(service, packet);
    }

    fn reached(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.trails.reached(now, station, packet);
    }

    fn copied(&mut self, now: Instant, original: u32, packet: &PacketInfo) {
        self.trails.copied(now, original, packet);
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        self.trails.dropped(now, node, packet, reason);
    }

    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        let timeline = self.trails.timeline(now, packet, delivery);
        self.check(now, packet, &timeline, delivery);
    }
}

#[test]
fn every_timeline_adds_up_and_every_wait_has_its_frames() {
    let (seen, queued) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_each_case(|case| {
        let mut timelines = Timelines::new(&case.plant);
        case.run(&mut timelines);
        seen.set(seen.get() + timelines.seen);
        queued.set(queued.get() + timelines.queued);
    });
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    assert!(!is_whole || (seen.get() > 10_000 && queued.get() > 1_000));
}
