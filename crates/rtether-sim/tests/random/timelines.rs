//! The timelines of all packets of random plants.

use std::sync::Mutex;

use rtether_model::flow::{Flow, FlowId, Reply, Traffic};
use rtether_model::network::{PortId, Stack};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::Segment;
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Delivery, Observer, PacketInfo};
use rtether_sim::timeline::{Part, Timeline, Trails};

use super::for_each_case;
use crate::support::{Plant, periodic, plain_switch};

/// Follows every packet.
pub(crate) type Timelines = (Trails<fn(&PacketInfo, &Delivery) -> bool>, Deliveries);

/// What the simulation itself says of each packet.
#[derive(Default)]
pub(crate) struct Deliveries(Vec<(Instant, FlowId, Delivery)>);

impl Observer for Deliveries {
    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        self.0.push((now, packet.flow, *delivery));
    }
}

/// How many timelines were checked, and how many parts behind other frames at ports of switches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) timelines: u64,
    pub(crate) queued: u64,
}

pub(crate) fn follow_all(plant: &Plant) -> Timelines {
    let (network, flows) = (&plant.network, &plant.flows);
    let trails = Trails::new(network, flows, None, Instant::ZERO, all as fn(&_, &_) -> _);
    (trails, Deliveries::default())
}

const fn all(_: &PacketInfo, _: &Delivery) -> bool {
    true
}

/// Oracle: the record's own parts, and a port that never pauses while a frame waits.
pub(crate) fn check_all((trails, deliveries): Timelines, plant: &Plant, seen: &mut Seen) {
    let network = &plant.network;
    let links = network.links.iter();
    let shared = links.filter(|link| network.is_half_duplex(link));
    let shared: Vec<PortId> = shared.flat_map(|link| link.ends).collect();
    let timelines = trails.into_found();
    assert_eq!(timelines.len(), deliveries.0.len());
    for (timeline, (now, flow, delivery)) in timelines.iter().zip(&deliveries.0) {
        let is_awaited = timeline.parts.iter().any(|part| part.is_awaited);
        assert!(!is_awaited || !is_one_frame(&plant.flows[flow.index()]));
        seen.queued += check(timeline, *now, delivery, &shared);
        seen.timelines += 1;
    }
}

/// Checks a timeline, and returns how many of its parts are waits at ports of switches.
fn check(timeline: &Timeline, now: Instant, delivery: &Delivery, shared: &[PortId]) -> u64 {
    let mut queued = 0;
    let mut cursor = timeline.released_at;
    let mut spent = [Duration::ZERO; Segment::COUNT];
    let mut awaited = spent;
    for part in &timeline.parts {
        assert_eq!(part.enter, cursor, "a gap in {timeline:?}");
        assert!(part.time() > Duration::ZERO, "an empty part in {timeline:?}");
        assert!(!part.is_partial, "memory is enough for these plants");
        if part.is_awaited {
            awaited[part.place.segment.index()] += part.time();
            spent[Segment::Protocol.index()] += part.time();
        } else {
            spent[part.place.segment.index()] += part.time();
        }
        cursor = part.leave;
        for wait in &part.waits {
            assert!(wait.time > Duration::ZERO && wait.time <= part.time());
        }
        let is_queue = part.place.segment == Segment::SwitchQueue;
        if is_queue && !shared.contains(&part.place.port) {
            let waits: Duration = part.waits.iter().map(|wait| wait.time).sum();
            assert_eq!(waits, part.time(), "a pause in {part:?}");
            queued += 1;
        }
    }
    assert_eq!((cursor, spent), (now, delivery.segments), "{timeline:?}");
    assert_eq!(timeline.latency, delivery.latency);
    // The record books in the protocol what it does not know the place of: the rest of one segment in
    // the network, and what an application writes at its own pace.
    for segment in Segment::ALL {
        let index = segment.index();
        let is_coarse = matches!(segment, Segment::Protocol | Segment::Application);
        assert!(
            is_coarse || delivery.awaited[index] <= awaited[index],
            "{segment:?}: {:?} {timeline:?}",
            delivery.awaited
        );
    }
    queued
}

fn is_one_frame(flow: &Flow) -> bool {
    let fits = |payload: Bytes| payload <= Bytes::new(1_472);
    let is_plain = !matches!(flow.encapsulation, Encapsulation::Tcp | Encapsulation::Rtps { .. });
    let reply = flow.reply.as_ref();
    is_plain
        && !matches!(flow.traffic, Traffic::Bulk(_))
        && fits(flow.payload)
        && reply.is_none_or(|reply| fits(reply.payload))
}

/// Oracle: by hand. Request and data reach the listener together; its stack takes 50 us for each
/// packet, so that the answer, which the application hands down when the request is served, waits
/// for the data.
#[test]
fn an_answer_waits_behind_what_its_stack_serves() {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let service = Duration::from_us(50);
    let [a, c] = [(); 2].map(|()| plant.station(Stack::Zero));
    let b = plant.station(Stack::IpRate { service });
    for station in [a, b, c] {
        plant.join(switch, station, 100);
    }
    plant.flow(periodic("asked", a, b)).reply = Some(Reply::new(Bytes::new(60), Duration::ZERO));
    plant.flow(periodic("data", c, b));
    let mut seen = follow_all(&plant);
    let mut simulation = plant.simulation(1);
    simulation.run_until(Instant::ZERO + Duration::from_us(900), &mut seen);
    let timelines = seen.0.into_found();
    let of_stack = |segment: Segment| {
        let parts = timelines.iter().flat_map(|timeline| &timeline.parts);
        let own = parts.filter(move |part| part.place.segment == segment);
        let waits = |part: &Part| part.waits.iter().map(|wait| (wait.flow, wait.time)).collect();
        own.map(|part| (part.time(), waits(part))).collect::<Vec<(Duration, Vec<_>)>>()
    };
    let behind_data = vec![(FlowId(1), service)];
    assert_eq!(of_stack(Segment::TalkerStack), [(service * 2, behind_data)]);
    let first = vec![(FlowId(0), service - Duration::from_ns(10_080))];
    assert_eq!(of_stack(Segment::ReceiveQueue), [(service - Duration::from_ns(10_080), first)]);
}

#[test]
fn every_timeline_adds_up_and_every_wait_has_its_frames() {
    let seen = Mutex::new(Seen::default());
    for_each_case(|case| {
        let mut timelines = follow_all(&case.plant);
        case.run(&mut timelines);
        let mut own = Seen::default();
        check_all(timelines, &case.plant, &mut own);
        let mut seen = seen.lock().unwrap();
        seen.timelines += own.timelines;
        seen.queued += own.queued;
    });
    let is_whole = std::env::var_os("RTETHER_CASE").is_none();
    let Seen { timelines, queued } = seen.into_inner().unwrap();
    assert!(!is_whole || (timelines > 10_000 && queued > 1_000));
}
