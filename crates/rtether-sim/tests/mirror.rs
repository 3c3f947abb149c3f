//! Mirror ports, worked out by hand: what the station behind one sees, and that nobody else notices.

use rtether_model::network::{
    ForwardingMode, Mirror, MirrorDirection, NodeId, NodeKind, QueueMap, Selection, Stack, Switch,
};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_sim::emulation::{Destination, Emulation, Foreign, Headers, Output, Setup};
use rtether_sim::observe::{Observer, PacketInfo};

use crate::support::{Plant, periodic, plain_switch, tag};

/// Three stations and a monitor at the last port of a switch.
fn watched(direction: MirrorDirection, ports: &[u16], change: fn(&mut Switch)) -> Plant {
    let mut plant = Plant::default();
    let mut switch = plain_switch();
    change(&mut switch);
    switch.mirror = Some(Mirror { to: 3, ports: ports.to_vec(), direction });
    let switch = plant.switch(switch);
    let stations = [(); 4].map(|()| plant.station(Stack::Zero));
    for station in stations {
        plant.join(switch, station, 100);
    }
    let [a, b, c, _] = stations;
    plant.flow(periodic("ab", a, b));
    plant.flow(periodic("cb", c, b)).start = Duration::from_us(100);
    plant
}

/// The same without a mirror.
fn unwatched(mut plant: Plant) -> Plant {
    if let NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind {
        switch.mirror = None;
    }
    plant
}

const MONITOR: NodeId = NodeId(4);

/// What a plant does apart from its monitor and the counters of the mirror port.
fn apart_from_the_monitor(record: &Record) -> String {
    let streams = &record.streams;
    let ports = record.ports.iter();
    let ports: Vec<_> =
        ports.filter(|port| (port.port.node, port.port.port) != (NodeId(0), 3)).collect();
    format!("{streams:?} {ports:?}")
}

/// When a frame of which flow leaves, with its tag.
type Leaving = (Instant, u32, Option<(u8, u16)>);

/// Frames that leave by a port of the switch.
struct Sent(u16, Vec<Leaving>);

impl Observer for Sent {
    fn transmitted(
        &mut self,
        now: Instant,
        port: rtether_model::network::PortId,
        packet: &PacketInfo,
    ) {
        if (port.node, port.port) == (NodeId(0), self.0) {
            self.1.push((now, packet.flow.0, packet.tag));
        }
    }
}

#[test]
fn a_monitor_sees_what_a_port_receives_or_sends() {
    // Frames of 106 octets take 9.12 us; they leave the switch at once.
    let ns = |ns| Instant::ZERO + Duration::from_ns(ns);
    let cases = [
        // Received from `a`: the copy leaves as the frame has come.
        (MirrorDirection::Received, [0].as_slice(), vec![(9_120, 0)]),
        // Sent to `b`, and received at none of the two.
        (MirrorDirection::Sent, &[1], vec![(9_120, 0), (109_120, 1)]),
        (MirrorDirection::Sent, &[0, 2], vec![]),
        // Both ends of `ab`: each frame twice, one after the other, 126 octets apart.
        (MirrorDirection::Both, &[0, 1], vec![(9_120, 0), (19_200, 0), (109_120, 1)]),
    ];
    for (direction, ports, first) in cases {
        let plant = watched(direction, ports, |_| {});
        let mut sent = Sent(3, Vec::new());
        let record = plant.run_with(10, 1, &mut sent);
        let expected: Vec<_> = (0..10)
            .flat_map(|ms| first.iter().map(move |&(at, flow)| (ms * 1_000_000 + at, flow)))
            .map(|(at, flow)| (ns(at), flow, None))
            .collect();
        assert_eq!(sent.1, expected, "{direction:?} {ports:?}");
        let monitor = &record.nodes[MONITOR.index()];
        let copies = expected.len() as u64;
        assert_eq!((monitor.arrived, monitor.filtered), (copies, copies));
        assert_eq!(record.nodes[0].copied, copies);
        let alone = unwatched(plant).run(10);
        assert_eq!(apart_from_the_monitor(&record), apart_from_the_monitor(&alone));
    }
}

#[test]
fn copies_that_find_no_room_are_nobodys_loss() {
    // The mirror port has a link of 10 Mbit/s, too slow for 60 frames of 106 octets a millisecond.
    let mut plant = watched(MirrorDirection::Received, &[0, 1, 2], |switch| {
        switch.buffer.per_port = Bytes::new(2_000);
    });
    plant.network.links[3].rate = rtether_model::quantity::BitRate::from_mbps(10);
    for number in 0..20 {
        plant.flows.push(periodic(&format!("f{number}"), NodeId(1), NodeId(2)));
    }
    let record = plant.run(10);
    let lost = record.streams.iter().map(|stream| stream.dropped).sum::<u64>();
    assert_eq!(lost, 0);
    let ports = record.ports.iter();
    let mut mirror = ports.filter(|port| (port.port.node, port.port.port) == (NodeId(0), 3));
    assert!(mirror.next().unwrap().dropped > 0);
    let alone = unwatched(plant).run(10);
    assert_eq!(apart_from_the_monitor(&record), apart_from_the_monitor(&alone));
}

#[test]
fn copies_keep_the_tag_and_its_queue() {
    // The marked frame is copied as it came; the copy of what is sent has the tag that is sent. A
    // cut-through switch stores it for a faster mirror port: its last bit comes 7.36 us after the
    // 26th octet.
    for mode in [ForwardingMode::StoreAndForward, ForwardingMode::CutThrough] {
        let mut plant = watched(MirrorDirection::Received, &[0], |switch| {
            switch.queues = QueueMap::standard(2).unwrap();
            switch.selection = Selection::StrictPriority;
        });
        if let NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind {
            switch.mode = mode;
        }
        plant.network.links[3].rate = rtether_model::quantity::BitRate::from_mbps(1_000);
        plant.flows[0].tag = tag(6, 0);
        let mut sent = Sent(3, Vec::new());
        plant.run_with(1, 1, &mut sent);
        let last_bit = Instant::ZERO + Duration::from_ns(9_440);
        assert_eq!(sent.1, [(last_bit, 0, Some((6, 0)))], "{mode:?}");
    }
}

#[test]
fn floods_and_groups_leave_the_mirror_port_out() {
    let mut plant = watched(MirrorDirection::Sent, &[], |switch| {
        switch.multicast = rtether_model::network::MulticastForwarding::Unmanaged;
        switch.addresses =
            rtether_model::network::AddressTable::Learning { aging: Duration::from_secs(1) };
    });
    plant.flows[1].delivery = rtether_model::flow::Delivery::Multicast;
    let record = plant.run(10);
    assert_eq!(record.nodes[MONITOR.index()].arrived, 0);
}

#[test]
fn an_emulated_monitor_gets_the_copies() {
    let plant = watched(MirrorDirection::Received, &[0], |_| {});
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    let frame = Foreign {
        size: Bytes::new(106),
        destination: Destination::One(NodeId(2)),
        tag: None,
        headers: Headers::default(),
        token: 7,
    };
    emulation.inject(NodeId(1), Instant::ZERO, frame).unwrap();
    emulation.run_until(Instant::ZERO + Duration::from_ms(1));
    emulation.invariants().unwrap();
    let outputs: Vec<Output> = core::iter::from_fn(|| emulation.poll_output()).collect();
    let at = Instant::ZERO + Duration::from_ns(2 * 9_120);
    let to = |station| Output::Delivered { token: 7, station, at, tag: None };
    assert_eq!(outputs, [to(MONITOR), to(NodeId(2)), Output::Finished { token: 7 }]);
}
