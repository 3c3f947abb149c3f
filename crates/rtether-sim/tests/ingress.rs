//! Rules of switches for frames that arrive: marks and policers, worked out by hand.

use rtether_model::endnode::{HeaderMatch, PortRange, TosMatch};
use rtether_model::flow::{Phase, Reply, Traffic};
use rtether_model::ingress::{Cause, Exceed, Filter, IngressRule, Police};
use rtether_model::network::{
    ForwardingMode, NodeId, NodeKind, Pcp, QueueMap, Selection, Stack, Switch,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::{NodeRecord, Record};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{DropReason, Observer, PacketInfo};

use crate::support::{Plant, periodic, plain_switch, tag};

const NS: fn(i64) -> Duration = Duration::from_ns;
/// A frame of 106 octets over 100 Mbit/s, without its gap.
const FRAME: Duration = Duration::from_ns(9_120);

fn pcp(value: u8) -> Pcp {
    Pcp::new(value).unwrap()
}

/// A switch with two queues, and stations with one flow from each to the last one.
fn star(stations: usize, rules: Vec<IngressRule>) -> (Plant, NodeId, Vec<NodeId>) {
    let mut plant = Plant::default();
    let switch = plant.switch(Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection: Selection::StrictPriority,
        ingress: rules,
        ..plain_switch()
    });
    let stations: Vec<NodeId> = (0..stations).map(|_| plant.station(Stack::Zero)).collect();
    for &station in &stations {
        plant.join(switch, station, 100);
    }
    let (last, talkers) = stations.split_last().unwrap();
    for &talker in talkers {
        plant.flow(periodic(&format!("f{}", talker.0), talker, *last));
    }
    (plant, switch, stations)
}

fn change(plant: &mut Plant, switch: NodeId) -> &mut Switch {
    match &mut plant.network.nodes[switch.index()].kind {
        NodeKind::Switch(switch) => switch,
        NodeKind::EndStation(_) | NodeKind::Hub(_) => unreachable!("a switch"),
    }
}

fn from(station: NodeId) -> IngressRule {
    IngressRule { from: vec![station], ..IngressRule::default() }
}

/// An octet each microsecond.
fn police(octets: u64, exceed: Exceed) -> Police {
    Police { rate: BitRate::from_mbps(8), burst: Bytes::new(octets), exceed }
}

/// Frames sent from each queue of the port to a station.
fn sent_to(record: &Record, switch: NodeId, port: u16) -> [u64; 2] {
    let ports = record.ports.iter();
    let mut own = ports.filter(|own| own.port.node == switch && own.port.port == port);
    let own = own.next().unwrap();
    [own.queues[0].sent, own.queues[1].sent]
}

/// Frames that each rule decided on, by port and rule, and those that it stopped or demoted by cause.
fn counted(node: &NodeRecord) -> Vec<(u16, u16, u64, [u64; Cause::ALL.len()])> {
    let own = node.ingress.iter();
    own.map(|own| (own.port, own.rule, own.counts.matched, Cause::ALL.map(|of| own.counts.of(of))))
        .collect()
}

#[test]
fn rules_choose_the_queue() {
    // The second flow is marked by its DSCP; all three are untagged and arrive together.
    let (mut plant, switch, stations) = star(4, Vec::new());
    let marked = IngressRule {
        headers: HeaderMatch { tos: Some(TosMatch::dscp(46)), ..HeaderMatch::default() },
        mark: Some(pcp(5)),
        ..IngressRule::default()
    };
    change(&mut plant, switch).ingress = vec![marked.clone()];
    plant.flows[2].dscp = 46;
    let record = plant.run(10);
    assert_eq!(sent_to(&record, switch, 3), [20, 10]);
    // The marked flow 2 goes first, then flows 0 and 1; 126 octets with the gap.
    let most = record.streams.iter().map(|stream| stream.latency.max);
    let expected = [1, 2, 0].map(|before| FRAME * 2 + NS(10_080) * before);
    assert!(most.eq(expected));
    // A port has its own rules in place of those of the switch.
    change(&mut plant, switch).ports[2].ingress = Some(Vec::new());
    assert_eq!(sent_to(&plant.run(10), switch, 3), [30, 0]);
    change(&mut plant, switch).ports[2].ingress =
        Some(vec![IngressRule { to: vec![stations[3]], ..marked }]);
    assert_eq!(sent_to(&plant.run(10), switch, 3), [20, 10]);
}

#[test]
fn a_mark_goes_on_in_the_tag() {
    // The first switch marks by the priority that frames come with; the second has no rules.
    let rule = IngressRule { pcp: Some(pcp(1)), mark: Some(pcp(6)), ..IngressRule::default() };
    let (mut plant, first, stations) = star(2, vec![rule]);
    let second = plant.switch(Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection: Selection::StrictPriority,
        ..plain_switch()
    });
    let far = plant.station(Stack::Zero);
    plant.join(first, second, 100);
    plant.join(second, far, 100);
    for (name, pcp) in [("tagged", Some(1)), ("other", Some(0)), ("untagged", None)] {
        let flow = plant.flow(periodic(name, stations[0], far));
        flow.tag = pcp.and_then(|pcp| tag(pcp, 0));
    }
    let record = plant.run(10);
    assert_eq!(sent_to(&record, first, 2), [20, 10]);
    assert_eq!(sent_to(&record, second, 1), [20, 10]);
}

#[test]
fn a_mark_of_dscp_goes_on_and_ends_with_the_packet() {
    // The first switch gives DSCP 10 to what comes with 46; the second puts 10 into its higher queue.
    // Answers come with the DSCP of their flow again, and ARP or raw frames have none to mark.
    let remark = IngressRule {
        headers: HeaderMatch { tos: Some(TosMatch::dscp(46)), ..HeaderMatch::default() },
        mark_dscp: Some(10),
        ..IngressRule::default()
    };
    let (mut plant, first, stations) = star(2, Vec::new());
    let by_dscp = |dscp| IngressRule {
        headers: HeaderMatch { tos: Some(TosMatch::dscp(dscp)), ..HeaderMatch::default() },
        mark: Some(pcp(5)),
        ..IngressRule::default()
    };
    let second = plant.switch(Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection: Selection::StrictPriority,
        ingress: vec![by_dscp(10)],
        ..plain_switch()
    });
    let far = plant.station(Stack::Zero);
    plant.join(first, second, 100);
    plant.join(second, far, 100);
    change(&mut plant, first).ports[0].ingress = Some(vec![remark]);
    let flow = plant.flow(periodic("udp", stations[0], far));
    flow.dscp = 46;
    flow.reply = Some(Reply::new(Bytes::new(60), Duration::ZERO));
    let flow = plant.flow(periodic("raw", stations[0], far));
    flow.encapsulation = Encapsulation::Raw;
    flow.dscp = 46;
    let record = plant.run(10);
    assert_eq!(sent_to(&record, second, 1), [10, 10]);
    // Back at the first switch, answers with 46 again would fall under a rule for it.
    change(&mut plant, first).ports[2].ingress = Some(vec![by_dscp(46)]);
    let record = plant.run(10);
    assert_eq!(sent_to(&record, first, 0), [0, 10]);
}

/// Counts drops by reason.
#[derive(Default)]
struct Dropped(Vec<(NodeId, DropReason)>);

impl Observer for Dropped {
    fn dropped(&mut self, _: Instant, node: NodeId, _: &PacketInfo, reason: DropReason) {
        self.0.push((node, reason));
    }
}

#[test]
fn what_exceeds_the_burst_is_dropped() {
    // Bursts of five frames of 106 octets every 10 ms, 10.08 us apart: of 300 octets two are taken at
    // once, and 30 us later 88 + 30.24 suffice for the fourth; 12.24 + 10.08 are left for the fifth.
    let (mut plant, switch, stations) = star(2, Vec::new());
    change(&mut plant, switch).ingress =
        vec![IngressRule { police: Some(police(300, Exceed::Drop)), ..from(stations[0]) }];
    plant.flows[0].traffic = Traffic::Sporadic {
        min_gap: Duration::from_ms(10),
        mean_gap: Duration::from_ms(10),
        burst: 5,
    };
    let mut dropped = Dropped::default();
    let record = plant.run_with(40, 1, &mut dropped);
    let stream = &record.streams[0];
    let (delivered, lost) = (stream.delivered, stream.dropped);
    assert_eq!((stream.released, delivered, lost), (20, 12, 8));
    assert_eq!(dropped.0, [(switch, DropReason::Rule(Cause::Exceeded)); 8]);
    let node = &record.nodes[switch.index()];
    assert_eq!((node.arrived, node.policed, node.discarded), (20, 8, 0));
    assert_eq!(counted(node), [(0, 0, 20, [8, 0, 0]), (1, 0, 0, [0; 3])]);
}

#[test]
fn what_exceeds_the_burst_is_demoted() {
    // As above: frames 2 and 4 of each burst lose their priority, none is lost. At the egress a long
    // frame of another station is being sent, and the marked ones overtake the demoted ones.
    let (mut plant, switch, stations) = star(2, Vec::new());
    change(&mut plant, switch).ingress = vec![IngressRule {
        mark: Some(pcp(7)),
        police: Some(police(300, Exceed::Demote(pcp(0)))),
        ..from(stations[0])
    }];
    plant.flows[0].traffic = Traffic::Sporadic {
        min_gap: Duration::from_ms(10),
        mean_gap: Duration::from_ms(10),
        burst: 5,
    };
    let record = plant.run(40);
    assert_eq!((record.streams[0].delivered, record.streams[0].dropped), (20, 0));
    assert_eq!(sent_to(&record, switch, 1), [8, 12]);
    assert_eq!(record.nodes[switch.index()].policed, 0);
    assert_eq!(record.nodes[switch.index()].ingress[0].counts.of(Cause::Exceeded), 8);
}

#[test]
fn what_is_larger_than_a_filter_is_dropped() {
    // Frames of 106 octets have an SDU of 88, with a tag as well: the second flow has one.
    for (max_sdu, delivered) in [(88, 10), (87, 0)] {
        let filter = Some(Filter { max_sdu: Bytes::new(max_sdu), block: false });
        let rule = IngressRule { filter, ..IngressRule::default() };
        let (mut plant, switch, _) = star(3, vec![rule]);
        plant.flows[1].tag = tag(0, 0);
        let mut dropped = Dropped::default();
        let record = plant.run_with(10, 1, &mut dropped);
        let lost = 10 - delivered;
        assert!(record.streams.iter().all(|own| (own.delivered, own.dropped) == (delivered, lost)));
        let node = &record.nodes[switch.index()];
        let all = [0, lost, 0];
        assert_eq!(counted(node), [(0, 0, 10, all), (1, 0, 10, all), (2, 0, 0, [0; 3])]);
        assert_eq!(node.policed, 2 * lost);
        assert!(dropped.0.iter().all(|own| *own == (switch, DropReason::Rule(Cause::Oversize))));
    }
}

#[test]
fn a_filter_blocks_its_stream_at_its_port() {
    // Frames of 106 octets each millisecond from 0 on, and one of 218 at 4.96 ms, before the sixth of
    // them. Without `block` it is lost alone: were it metered, 12 of 230 octets would be left, and
    // 31.04 us later 43 are not enough for the sixth. With `block` the sixth to tenth are lost too, and
    // those of the other station, which come to another port, are not.
    for (block, delivered) in [(false, 10), (true, 5)] {
        let filter = Some(Filter { max_sdu: Bytes::new(88), block });
        let rule = IngressRule {
            filter,
            police: Some(police(230, Exceed::Drop)),
            ..IngressRule::default()
        };
        let (mut plant, switch, stations) = star(3, vec![rule]);
        let long = plant.flow(periodic("long", stations[0], stations[2]));
        long.payload += Bytes::new(112);
        long.traffic =
            Traffic::periodic(Duration::from_ms(100), Phase::Fixed(Duration::from_us(4_960)));
        let record = plant.run(10);
        let found = record.streams.iter().map(|own| own.delivered);
        assert!(found.eq([delivered, 10, 0]), "{block}");
        let blocked = 10 - delivered;
        let node = &record.nodes[switch.index()];
        let (long, other) = ((0, 0, 11, [0, 1, blocked]), (1, 0, 10, [0; 3]));
        assert_eq!(counted(node), [long, other, (2, 0, 0, [0; 3])]);
    }
}

#[test]
fn each_port_has_a_bucket_of_its_own() {
    // One frame at each of two ports takes all of a bucket.
    let rule = IngressRule {
        police: Some(Police {
            rate: BitRate::from_bps(8_000),
            burst: Bytes::new(106),
            exceed: Exceed::Drop,
        }),
        ..IngressRule::default()
    };
    let (plant, switch, _) = star(3, vec![rule]);
    let record = plant.run(10);
    let delivered = record.streams.iter().map(|stream| stream.delivered);
    assert!(delivered.eq([1, 1]));
    let exceeded = record.nodes[switch.index()].ingress.iter();
    assert!(exceeded.map(|rule| rule.counts.of(Cause::Exceeded)).eq([9, 9, 0]));
}

#[test]
fn a_switch_may_not_see_icmp() {
    let rule = IngressRule { mark: Some(pcp(7)), ..IngressRule::default() };
    let (mut plant, switch, _) = star(3, vec![rule]);
    plant.flows[1].encapsulation = Encapsulation::Icmp;
    assert_eq!(sent_to(&plant.run(10), switch, 2), [0, 20]);
    change(&mut plant, switch).icmp_unclassified = true;
    assert_eq!(sent_to(&plant.run(10), switch, 2), [10, 10]);
}

#[test]
fn rules_by_port_match_the_first_fragment() {
    // 3000 octets are three fragments; the first has the ports.
    let rule = IngressRule {
        headers: HeaderMatch {
            destination_port: Some(PortRange { first: 49_152, last: 49_152 }),
            ..HeaderMatch::default()
        },
        mark: Some(pcp(7)),
        ..IngressRule::default()
    };
    let (mut plant, switch, _) = star(2, vec![rule]);
    plant.flows[0].payload = Bytes::new(3_000);
    assert_eq!(sent_to(&plant.run(10), switch, 1), [20, 10]);
}

#[test]
fn groups_lose_what_is_policed_once() {
    // A frame to two listeners arrives once, and each of them loses it.
    let (mut plant, switch, stations) = star(3, Vec::new());
    plant.flows.truncate(1);
    plant.flows[0].listeners = vec![stations[1], stations[2]];
    plant.flows[0].delivery = rtether_model::flow::Delivery::Multicast;
    change(&mut plant, switch).ingress = vec![IngressRule {
        police: Some(Police {
            rate: BitRate::from_bps(8_000),
            burst: Bytes::new(106),
            exceed: Exceed::Drop,
        }),
        ..IngressRule::default()
    }];
    let record = plant.run(10);
    assert_eq!(record.nodes[switch.index()].policed, 9);
    let lost = record.streams.iter().map(|stream| stream.dropped);
    assert!(lost.eq([9, 9]));
}

#[test]
fn a_cut_through_switch_polices_after_the_header() {
    // The 22nd octet is there after 1.76 us; the frame goes on at once, or is dropped.
    let (mut plant, switch, stations) = star(2, Vec::new());
    change(&mut plant, switch).mode = ForwardingMode::CutThrough;
    change(&mut plant, switch).ingress =
        vec![IngressRule { police: Some(police(106, Exceed::Drop)), ..from(stations[0]) }];
    let record = plant.run(10);
    assert_eq!(record.streams[0].delivered, 10);
    assert_eq!(record.streams[0].latency.max, FRAME + NS(1_760));
}
