//! Frames pass through the shim, with and without tags.

use super::*;

/// Oracles: the hosts' own stacks, and the state of the near one. An existing connection continues
/// with the shim and after it.
#[test]
fn frames_pass_and_nothing_is_left_behind() {
    let Some(wire) = quiet_wire() else { return };
    let mut connection = Connection::open(&wire);
    connection.exchange(10_000);
    let cases = [
        (Layer::default(), Waiting::Block),
        (Layer::default(), Waiting::Spin),
        (receiving(ReceiveSelection::HighestFirst), Waiting::Block),
        (receiving(ReceiveSelection::PROMOTING), Waiting::Spin),
        (receiving(ReceiveSelection::LOW_FLAG), Waiting::Block),
    ];
    for (layer, waiting) in cases {
        let is_receiving = layer.receive.is_some();
        let settings = Settings { waiting, ..settings(layer, 1_000) };
        let ((), status) = with_shim(&wire, settings, |_| {
            assert_eq!(ping(&wire, 10), 10);
            assert_eq!(echo(&wire, 50, 1_400), 50);
            connection.exchange(1_000_000);
        });
        // 690 segments of 1448 octets each way.
        assert!(status.transmitted.frames > 690, "{status:?}");
        if is_receiving {
            assert!(status.received.frames > 690, "{status:?}");
        } else {
            assert_eq!(status.received.taken, 0, "there is nothing to do with them");
        }
        connection.exchange(10_000);
    }
}

/// Oracle: a packet socket at the far host.
#[test]
fn priorities_are_on_the_wire() {
    let Some(wire) = quiet_wire() else { return };
    let near = udp(&wire.near, (NEAR, PORT));
    let send = || {
        for port in [PORT, URGENT] {
            near.send_to(b"x", (FAR, port)).unwrap();
        }
    };
    let plain = vec![(None, PORT), (None, URGENT)];
    assert_eq!(datagrams(&wire.far, send), plain);
    for vid in [0, 7] {
        let settings = Settings { tags: tags(vid), ..settings(queued(4, 100), 100) };
        let (seen, _) = with_shim(&wire, settings, |_| datagrams(&wire.far, send));
        let expected = [(Some((2, vid)), PORT), (Some((6, vid)), URGENT)];
        assert_eq!(seen, expected);
    }
    let (seen, _) = with_shim(&wire, settings(layer(), 100), |_| datagrams(&wire.far, send));
    assert_eq!(seen, plain);
}

/// Oracle: a kernel drops frames with the tag of a VLAN that it does not know.
#[test]
fn two_shims_talk_in_a_vlan_that_their_stacks_do_not_see() {
    let Some(wire) = quiet_wire() else { return };
    let tagged = |layer| Settings { tags: tags(7), ..settings(layer, 1_000) };
    let before = state(&wire.far);
    // One removes tags in the kernel, the other one in the shim.
    let receiving = receiving(ReceiveSelection::HighestFirst);
    with_shim(&wire, tagged(layer()), |_| {
        shimmed(&wire.far, DEVICE, tagged(receiving), |_| {
            assert_eq!(ping(&wire, 10), 10);
            assert_eq!(echo(&wire, 20, 1_472), 20);
        });
    });
    assert_eq!(state(&wire.far), before);
    with_shim(&wire, tagged(layer()), |_| {
        let far = udp(&wire.far, (FAR, PORT));
        far.set_read_timeout(Some(Sleep::from_millis(200))).unwrap();
        let near = udp(&wire.near, (NEAR, PORT));
        near.send_to(b"x", (FAR, PORT)).unwrap();
        assert!(
            rtether_testkit::repeated(|| far.recv(&mut [0])).is_err(),
            "nobody takes the tag off"
        );
    });
}
