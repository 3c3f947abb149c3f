//! Forwarding by destination address.

use super::*;

#[test]
fn frames_for_nobody_are_counted_or_flooded() {
    let network = star(switch(3), 3, 100);
    let Some(bed) = Bed::new(network) else { return };
    let nobody = MacAddress([2, 0, 0, 0, 0, 0xAA]);
    let work = || {
        send(&bed, 0, nobody, 0, 1, 3, 100);
        std::thread::sleep(Sleep::from_millis(500));
    };
    let ((), report) = bed.run(|_| {}, work);
    let counts = report.unwrap().counts;
    assert_eq!((counts.unknown, counts.sent), (3, 0), "{counts:?}");
    let ((), report) = bed.run(|options| options.unknown = Unknown::Flood, work);
    let counts = report.unwrap().counts;
    assert_eq!((counts.unknown, counts.sent), (0, 6), "{counts:?}");
    // One place: the others find no room while the first one waits for its time.
    let work = || {
        send(&bed, 0, bed.addresses[1], 0, 1, 50, 1_400);
        std::thread::sleep(Sleep::from_millis(500));
    };
    let ((), report) = bed.run(|options| options.frames = 1, work);
    let counts = report.unwrap().counts;
    assert_eq!(counts.received, 50);
    assert_eq!(counts.sent + counts.no_room, 50, "{counts:?}");
    assert!(counts.no_room > 0, "{counts:?}");
}

/// Oracle: the rule for registered groups (IEEE 802.1Q-2022, 8.8.4). The port to a host that has
/// not joined sends none of the two hundred frames, only a few that hosts send when they join and
/// leave.
#[test]
fn a_registered_group_passes_by_who_does_not_listen() {
    let mut center = switch(3);
    if let NodeKind::Switch(switch) = &mut center {
        switch.multicast = MulticastForwarding::Managed;
    }
    let Some(bed) = Bed::new(star(center, 3, 100)) else {
        return;
    };
    let flow = Flow {
        delivery: Delivery::Multicast,
        ..Flow::new(
            "group".into(),
            NodeId(1),
            vec![NodeId(2)],
            Bytes::new(64),
            Traffic::Flood { interval: Duration::from_ms(1) },
        )
    };
    // RFC 1112, 6.4: the lower 23 bits of 239.77.0.5.
    let address = MacAddress([0x01, 0x00, 0x5E, 77, 0, 5]);
    let ip = Ipv4Addr::new(239, 77, 0, 5);
    let talk = || {
        let listener = inside(&bed.hosts[1], || {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).unwrap();
            socket.join_multicast_v4(&ip, &crate::bed::address(1)).unwrap();
            socket.set_read_timeout(Some(Sleep::from_secs(10))).unwrap();
            socket
        });
        let talker = inside(&bed.hosts[0], || {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
            socket.set_multicast_if_v4(&crate::bed::address(0)).unwrap();
            UdpSocket::from(socket)
        });
        let mut buffer = [0; 128];
        for _ in 0..200 {
            talker.send_to(&[7; 64], (ip, PORT)).unwrap();
            assert_eq!(rtether_testkit::repeated(|| listener.recv(&mut buffer)).unwrap(), 64);
        }
    };
    let ((), report) = bed.run(|options| options.groups = vec![Group { address, flow }], talk);
    let report = report.unwrap();
    check(&report);
    let sent = |port| {
        let mut ports = report.record.ports.iter();
        let port = ports.find(|own| (own.port.node, own.port.port) == (NodeId(0), port));
        port.unwrap().sent
    };
    assert!(sent(1) >= 200, "{}", sent(1));
    assert!(sent(2) < 20, "{}", sent(2));
}
