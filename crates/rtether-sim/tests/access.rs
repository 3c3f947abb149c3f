//! Access schemes on a hub: timelines by hand.

mod asked;
mod ftt;
mod published;
mod rings;
mod summation;
mod tdma;

use rtether_model::access::{Access, Domain, Faults, Member, Scheme};
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{NodeId, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Record;

use crate::support::Plant;

/// Stations at one hub, cables without length.
pub(super) fn plant(mbps: u64, stations: usize) -> (Plant, NodeId, Vec<NodeId>) {
    let mut plant = Plant::default();
    let hub = plant.hub(mbps, Duration::ZERO);
    let ends: Vec<NodeId> = (0..stations).map(|_| plant.station(Stack::Zero)).collect();
    for &end in &ends {
        plant.join(hub, end, mbps);
    }
    (plant, hub, ends)
}

/// A frame of `size` octets, addresses to FCS, released once at `at`.
pub(super) fn once(name: &str, [from, to]: [NodeId; 2], size: u64, at: Duration) -> Flow {
    let day = Duration::from_secs(86_400);
    Flow {
        start: at,
        ..Flow::new(
            name.into(),
            from,
            vec![to],
            Bytes::new(size - 46),
            Traffic::periodic(day, Phase::Fixed(Duration::ZERO)),
        )
    }
}

/// The same in a flow that counts as ordinary.
pub(super) fn ordinary(name: &str, ends: [NodeId; 2], size: u64, at: Duration) -> Flow {
    // The first release of a flood is anywhere in its interval.
    let interval = Duration::from_ps(1);
    Flow {
        traffic: Traffic::Flood { interval },
        stop: Some(at + interval),
        ..once(name, ends, size, at)
    }
}

/// Lets all stations of a hub follow a scheme, which may send frames of any size.
pub(super) fn follow(plant: &mut Plant, hub: NodeId, scheme: Scheme) -> &mut Access {
    let domain = Domain::of(&plant.network, hub).unwrap();
    let members = domain.nodes.iter().map(|&node| Member { node, largest: [Bytes::new(1_518); 2] });
    plant.network.access.push(Access {
        hub,
        scheme,
        members: members.collect(),
        response: Duration::from_us(1),
        faults: Faults::default(),
    });
    plant.network.access.last_mut().unwrap()
}

/// Returns the latency of each flow that has one packet; `None` if it was not delivered.
pub(super) fn latencies(record: &Record) -> Vec<Option<Duration>> {
    let of = |stream: &rtether_model::record::StreamRecord| {
        (stream.delivered == 1).then_some(stream.latency.max)
    };
    record.streams.iter().map(of).collect()
}

pub(super) const fn us(us: i64) -> Duration {
    Duration::from_us(us)
}

pub(super) const fn ns(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

/// A frame that is larger than its station may send is dropped and counted.
#[test]
fn frames_that_are_too_large_are_dropped() {
    let (mut plant, hub, ends) = plant(10, 2);
    plant.flow(once("a", [ends[1], ends[0]], 106, us(100)));
    plant.flow(once("b", [ends[1], ends[0]], 107, us(50)));
    let domain = Domain::of(&plant.network, hub).unwrap();
    let member = |&node: &NodeId| Member { node, largest: [Bytes::ZERO, Bytes::new(106)] };
    let members: Vec<Member> = ends.iter().map(member).collect();
    let tdma = rtether_model::access::Tdma::plan(&domain, &members, 0, None);
    follow(&mut plant, hub, Scheme::Tdma(tdma)).members = members;
    let record = plant.run(10);
    assert_eq!(record.streams[0].delivered, 1);
    assert_eq!(record.streams[1].delivered, 0);
    assert_eq!(record.streams[1].dropped, 1);
}
