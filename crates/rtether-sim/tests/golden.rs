//! Fixed plants with known fingerprints: any change of a trajectory shows here.
//!
//! Figures change only together with the heading *Results may change* of the changelog.

use std::fmt::Write;

use rtether_model::flow::{Bulk, Delivery, Flow, Phase, Reply, TcpParameters, Traffic, Transfer};
use rtether_model::network::{
    AddressTable, Cost, ForwardingMode, Jitter, LinearStack, MulticastForwarding, NodeId, Outliers,
    QueueMap, Selection, Servers, Spread, Stack, Switch,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::StreamRecord;
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::Fingerprint;

use crate::support::{Plant, periodic, plain_switch, tag};

/// Runs for 200 ms and returns the results as text.
fn table(plant: &Plant) -> String {
    let mut fingerprint = Fingerprint::default();
    let record = plant.run_with(200, 1, &mut fingerprint);
    let mut text = format!("fingerprint {:016x}, {} events\n", fingerprint.value(), record.events);
    text += "stream released delivered dropped missed in-flight min_ps mean_ps p99_ps max_ps\n";
    for stream in &record.streams {
        let ps = |time: Option<Duration>| time.map_or(0, Duration::as_ps);
        let name = &plant.flows[stream.flow_id().index()].name;
        let StreamRecord { released, delivered, dropped, missed, in_flight, latency, .. } = stream;
        writeln!(
            text,
            "{name}>{} {released} {delivered} {dropped} {missed} {in_flight} {} {} {} {}",
            stream.listener,
            ps((*delivered > 0).then_some(latency.min)),
            ps(latency.mean()),
            ps(stream.quantile(99, 100)),
            latency.max.as_ps(),
        )
        .unwrap();
        for transfer in &stream.transfers {
            let end = transfer.finished_at.map_or(-1, Instant::as_ps);
            writeln!(
                text,
                "  transfer to {end} octets {} again {} timeouts {}",
                transfer.delivered.get(),
                transfer.retransmissions,
                transfer.timeouts
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn synchronized_star() {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let stations = [(); 6].map(|()| plant.station(Stack::Zero));
    for station in stations {
        plant.join(switch, station, 100);
    }
    for talker in &stations[..4] {
        for listener in &stations[4..] {
            plant.flow(periodic(&format!("f{}-{}", talker.0, listener.0), *talker, *listener));
        }
    }
    insta::assert_snapshot!(table(&plant));
}

fn jittery() -> Stack {
    let us = Duration::from_us;
    let cost = |base| Cost { base: us(base), per_octet: Duration::from_ns(5) };
    Stack::Linear(LinearStack {
        send: cost(20),
        receive: cost(30),
        interface: cost(2),
        jitter: Jitter {
            spread: Spread::Exponential { mean: us(5), max: us(50) },
            outliers: Some(Outliers { per_million: 2_000, min: us(200), max: us(500) }),
        },
        servers: Servers::PerDirection,
    })
}

/// Three switches in a line, two stations at each.
fn line(switch: &Switch, stack: &Stack) -> (Plant, [NodeId; 6]) {
    let mut plant = Plant::default();
    let switches = [(); 3].map(|()| plant.switch(switch.clone()));
    plant.join(switches[0], switches[1], 100);
    plant.join(switches[1], switches[2], 1_000);
    let mut stations = [NodeId(0); 6];
    for (index, station) in stations.iter_mut().enumerate() {
        *station = plant.station(stack.clone());
        let propagation = Duration::from_ns(100);
        plant.join(switches[index / 2], *station, 100).propagation = propagation;
    }
    (plant, stations)
}

#[test]
fn priorities_jitter_and_errors() {
    let switch = Switch {
        queues: QueueMap::standard(4).unwrap(),
        selection: Selection::StrictPriority,
        latency: Duration::from_us(3),
        ..plain_switch()
    };
    let (mut plant, s) = line(&switch, &jittery());
    plant.network.links[0].errors_per_billion = 5_000_000;
    for (number, pcp) in [0, 3, 6].into_iter().enumerate() {
        let flow = plant.flow(periodic(&format!("pcp{pcp}"), s[number], s[5 - number]));
        flow.tag = tag(pcp, 0);
        flow.payload = Bytes::new(400);
        flow.deadline = Some(Duration::from_us(400));
    }
    let flow = plant.flow(periodic("burst", s[1], s[4]));
    flow.payload = Bytes::new(1_472);
    flow.traffic = Traffic::Sporadic {
        min_gap: Duration::from_ms(2),
        mean_gap: Duration::from_ms(5),
        burst: 10,
    };
    insta::assert_snapshot!(table(&plant));
}

#[test]
fn cut_through_multicast_and_replies() {
    let switch = Switch {
        mode: ForwardingMode::CutThrough,
        addresses: AddressTable::Learning { aging: Duration::from_ms(20) },
        multicast: MulticastForwarding::Unmanaged,
        selection: Selection::StrictWrr { weights: [1, 2, 3, 1, 1, 1, 1, 1] },
        queues: QueueMap::standard(4).unwrap(),
        ..plain_switch()
    };
    let service = Duration::from_us(20);
    let (mut plant, s) = line(&switch, &Stack::IpRate { service });
    let group = plant.flow(periodic("group", s[0], s[3]));
    group.delivery = Delivery::Multicast;
    group.listeners.push(s[5]);
    group.tag = tag(5, 0);
    let poll = plant.flow(periodic("poll", s[2], s[1]));
    poll.listeners.push(s[4]);
    poll.reply = Some(Reply::new(Bytes::new(200), Duration::from_us(50)));
    plant.flow(periodic("noise", s[4], s[0])).traffic =
        Traffic::Poisson { mean_interval: Duration::from_us(300) };
    insta::assert_snapshot!(table(&plant));
}

#[test]
fn transfers_through_a_small_buffer() {
    let mut switch = plain_switch();
    switch.buffer.per_port = Bytes::new(20_000);
    switch.buffer.shared = Some(Bytes::new(30_000));
    let (mut plant, s) = line(&switch, &Stack::Zero);
    let bulk = |name: &str, talker, rate: Option<u64>, sizes: &[u64]| Flow {
        encapsulation: Encapsulation::Tcp,
        traffic: Traffic::Bulk(Bulk {
            bursts: None,
            transfers: sizes
                .iter()
                .map(|&size| Transfer {
                    start: Duration::from_ms(1),
                    size: (size > 0).then(|| Bytes::new(size)),
                })
                .collect(),
            rate: rate.map(BitRate::from_mbps),
            tcp: TcpParameters { min_rto: Duration::from_ms(10), ..TcpParameters::default() },
        }),
        ..periodic(name, talker, s[5])
    };
    plant.flow(bulk("files", s[0], None, &[300_000, 10, 200_000]));
    plant.flow(bulk("endless", s[1], None, &[0]));
    plant.flow(bulk("camera", s[2], Some(5), &[0]));
    let cyclic = plant.flow(periodic("cyclic", s[3], s[5]));
    cyclic.traffic = Traffic::Periodic {
        period: Duration::from_ms(1),
        phase: Phase::Random,
        release_jitter: Duration::from_us(20),
    };
    cyclic.deadline = Some(Duration::from_ms(1));
    insta::assert_snapshot!(table(&plant));
}
