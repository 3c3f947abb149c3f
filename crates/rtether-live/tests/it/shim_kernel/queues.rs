//! Tags and queues.

use super::*;

/// Oracle: a packet socket at the far host.
#[test]
fn the_kernel_puts_priorities_on_the_wire() {
    let Some(wire) = quiet_wire() else { return };
    let near = udp(&wire.near, (NEAR, PORT));
    let own = RawOptions { tag: Some((Pcp::new(5).unwrap(), Vid::new(9).unwrap())) };
    let to = wire.far_address();
    let mut raw = inside(&wire.near, || Raw::connect(DEVICE, to, own).unwrap());
    let mut send = || {
        for port in [PORT, URGENT] {
            near.send_to(b"x", (FAR, port)).unwrap();
        }
        raw.send(&[0; 46]).unwrap();
    };
    let measured = 0x88B5;
    let tagged = (Some((5, 9)), measured);
    let plain = [(None, PORT), (None, URGENT), tagged];
    assert_eq!(frames(&wire.far, &mut send), plain);
    for vid in [0, 7] {
        let settings = Settings { tags: tags(vid), ..settings(layer(), 100) };
        let work = |handle: &Handle| {
            let seen = frames(&wire.far, &mut send);
            (seen, fresh(handle))
        };
        let ((seen, status), ..) = shimmed(&wire.near, DEVICE, settings, work);
        // An existing tag is kept.
        let expected = [(Some((2, vid)), PORT), (Some((6, vid)), URGENT), tagged];
        assert_eq!(seen, expected);
        let released = status.queues.iter().map(|queue| queue.released);
        // Address resolution is of the lower class.
        let released: Vec<u64> = released.collect();
        assert!((1..3).contains(&released[0]), "{released:?}");
        assert_eq!(released[1], 2, "the urgent one, and priority 5");
        let well_formed = status.malformed.well_formed();
        assert_eq!(well_formed, released.iter().sum::<u64>());
    }
    let (seen, ..) =
        shimmed(&wire.near, DEVICE, settings(layer(), 100), |_| frames(&wire.far, &mut send));
    assert_eq!(seen, plain);
}

/// Oracle: a kernel drops frames with the tag of a VLAN that it does not know.
#[test]
fn the_kernel_takes_tags_off() {
    let Some(wire) = quiet_wire() else { return };
    let [near, far] = [udp(&wire.near, (NEAR, PORT)), udp(&wire.far, (FAR, PORT))];
    let tagged = || Settings { tags: tags(7), ..settings(layer(), 100) };
    shimmed(&wire.near, DEVICE, tagged(), |_| {
        let short = Some(Sleep::from_millis(200));
        far.set_read_timeout(short).unwrap();
        near.send_to(b"x", (FAR, PORT)).unwrap();
        assert!(receive(&far, &mut [0]).is_err(), "nobody takes the tag off");
        shimmed(&wire.far, DEVICE, tagged(), |_| {
            near.send_to(b"y", (FAR, PORT)).unwrap();
            let mut octet = [0];
            assert_eq!(receive(&far, &mut octet).unwrap(), 1);
            assert_eq!(octet, *b"y");
        });
    });
}

/// Sends a burst of full frames, then a small one of the higher class; returns how many arrive
/// before it, and how many after.
fn overtake(wire: &Wire, count: usize, handle: &Handle) -> (usize, usize) {
    let _open = [PORT, URGENT].map(|port| udp(&wire.far, (FAR, port)));
    let urgent = udp(&wire.near, (NEAR, 0));
    let seen = frames(&wire.far, || {
        burst(wire, PORT, count);
        urgent.send_to(b"now", (FAR, URGENT)).unwrap();
        drained(handle);
    });
    let before = seen.iter().position(|&(_, port)| port == URGENT).unwrap();
    (before, seen.len() - before - 1)
}

/// Oracle: strict priority. Of 100 full frames at 1 Mbit/s, which take 1.2 s, most have not left
/// when the small one arrives; with one queue all of them go first.
#[test]
fn urgent_frames_overtake() {
    let Some(wire) = quiet_wire() else { return };
    let mut one_queue = layer();
    if let Some(transmit) = &mut one_queue.transmit {
        transmit.strategy = TransmitStrategy::Fifo;
    }
    for (layer, most) in [(layer(), 50), (one_queue, 100)] {
        let is_last = most == 100;
        let settings = settings(layer, 1);
        let work = |handle: &Handle| overtake(&wire, 100, handle);
        let ((before, behind), ..) = shimmed(&wire.near, DEVICE, settings, work);
        assert_eq!(before + behind, 100);
        assert!(before <= most, "{before} frames went first");
        assert_eq!(before == 100, is_last, "{before} frames went first");
    }
}

/// Oracle: the datagrams received, and the limit of the queue.
#[test]
fn frames_are_conserved() {
    const SENT: usize = 500;
    let Some(wire) = quiet_wire() else { return };
    let _open = udp(&wire.far, (FAR, URGENT));
    let work = |handle: &Handle| {
        let mut status = None;
        let received = frames(&wire.far, || {
            burst(&wire, URGENT, SENT);
            status = Some(drained(handle));
        });
        (received.len(), status.unwrap())
    };
    let ((received, status), ..) = shimmed(&wire.near, DEVICE, settings(layer(), 10), work);
    let queue = status.queues[1];
    assert_eq!(queue.released, received as u64);
    assert_eq!(queue.dropped + queue.released, SENT as u64, "{status:?}");
    assert!(received >= 100 && queue.dropped > 0, "{status:?}");
    // Addresses and type, without frame check sequence.
    let octets = (received * (FULL + HEADERS + 14)) as u64;
    let rest = status.transmitted.octets - octets;
    assert!(rest < 1_000, "address resolution: {rest}");
}

/// Oracle: no frame is longer than the device allows, although TCP passes several segments at once;
/// the data arrives.
#[test]
fn what_tcp_hands_over_at_once_is_split() {
    let Some(wire) = quiet_wire() else { return };
    // Opened before, like a management connection to the host.
    let listener = inside(&wire.far, || TcpListener::bind((FAR, PORT)).unwrap());
    let mut near = inside(&wire.near, || TcpStream::connect((FAR, PORT)).unwrap());
    let (mut far, _) = listener.accept().unwrap();
    far.set_read_timeout(Some(Sleep::from_secs(10))).unwrap();
    let stream: Vec<u8> = (0..2_000_000_u32).flat_map(u32::to_be_bytes).collect();
    let (longest, status, _) = shimmed(&wire.near, DEVICE, settings(layer(), 1_000), |_| {
        let mut received = vec![0; stream.len()];
        let lengths = lengths(&wire.far, || {
            std::thread::scope(|scope| {
                scope.spawn(|| near.write_all(&stream).unwrap());
                far.read_exact(&mut received).unwrap();
            });
        });
        assert!(received == stream, "the octets are others");
        lengths.into_iter().max().unwrap()
    });
    assert_eq!(longest, 1_514);
    let least = stream.len() / 1_460;
    assert!(status.queues[0].released >= least as u64, "{status:?}");
}

/// Oracle: frames of the new length arrive, once the shim has seen it; the law still runs.
#[test]
fn the_link_may_go_down_and_up_and_change_its_mtu() {
    let Some(wire) = quiet_wire() else { return };
    let far = udp(&wire.far, (FAR, PORT));
    let near = udp(&wire.near, (NEAR, PORT));
    far.set_read_timeout(Some(Sleep::from_millis(100))).unwrap();
    let mut layer = smoothed(Mode::Adaptive(Adaptive::HIMD), COLLISIONS);
    if let Some(smoothing) = &mut layer.smoother {
        smoothing.config.limits.mtu = Bytes::new(9_000);
    }
    let settings = Settings { signal: Signal::Reports, ..settings(layer, 100) };
    let link = |host: &Namespace, what: String| {
        host.run(&format!("ip link set {DEVICE} {what}")).unwrap();
    };
    shimmed(&wire.near, DEVICE, settings, |handle| {
        for mtu in [1_500, 9_000, 1_500] {
            link(&wire.near, "down".to_owned());
            for host in [&wire.far, &wire.near] {
                link(host, format!("mtu {mtu}"));
            }
            link(&wire.near, "up".to_owned());
            let (start, payload) = (Time::now(), vec![7; mtu - HEADERS]);
            loop {
                // There is no route before the link is up.
                let _ = near.send_to(&payload, (FAR, PORT));
                if receive(&far, &mut [0; 10_000]).is_ok_and(|length| length == payload.len()) {
                    break;
                }
                assert!(start.elapsed() < Sleep::from_secs(10), "MTU {mtu}");
            }
        }
        let refreshes = || fresh(handle).smoother.unwrap().statistics.refreshes;
        assert!(refreshes() < refreshes());
    });
}

/// Oracle: the datagrams received, and the splitters that `tc` lists. A frame longer than its
/// splitter allows would stay at the head of its queue and block all others.
#[test]
fn what_waits_leaves_when_the_mtu_becomes_smaller() {
    let Some(wire) = quiet_wire() else { return };
    let _open = udp(&wire.far, (FAR, PORT));
    // 50 full frames at 1 Mbit/s take 0.6 s.
    let queues = || wire.near.run("tc qdisc show").unwrap();
    let work = |handle: &Handle| {
        let before = queues();
        let seen = frames(&wire.far, || {
            burst(&wire, PORT, 50);
            let command = format!("ip link set {DEVICE} mtu 1280");
            wire.near.run(&command).unwrap();
            drained(handle);
        });
        let start = Time::now();
        while queues() == before {
            assert!(start.elapsed() < Sleep::from_secs(10), "{}", queues());
            std::thread::sleep(Sleep::from_millis(20));
        }
        seen.len()
    };
    let (received, ..) = shimmed(&wire.near, DEVICE, settings(layer(), 1), work);
    assert_eq!(received, 50);
}
