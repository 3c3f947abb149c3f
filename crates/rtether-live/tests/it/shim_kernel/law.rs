//! The law of the smoother.

use super::*;

/// Octets of the datagrams that arrived.
#[derive(Debug, Default)]
struct Arrived {
    bulk: usize,
    real_time: usize,
    /// Both kinds, when the last bulk datagram arrived.
    both: usize,
    /// Time from the first datagram sent until then.
    time: Sleep,
}

/// Sends bulk datagrams for a time, and real-time ones at the given times.
fn both_kinds(wire: &Wire, time: Sleep, real_time: &[Sleep]) -> Arrived {
    let near = udp(&wire.near, (NEAR, PORT));
    let ahead = udp(&wire.near, (NEAR, URGENT));
    // Expedited forwarding: real-time for the smoother.
    socket2::SockRef::from(&ahead).set_tos_v4(0xB8).unwrap();
    let [bulk, urgent] = [PORT, URGENT].map(|port| udp(&wire.far, (FAR, port)));
    for socket in [&near, &bulk, &urgent] {
        socket.set_nonblocking(true).unwrap();
    }
    let (start, mut seen, mut sent) = (Time::now(), Arrived::default(), 0);
    let mut buffer = [0; 2_000];
    while start.elapsed() < time || seen.real_time < real_time.len() * 1_500 {
        // Bulk traffic always waits; what finds no room is not sent.
        let _ = near.send_to(&[0; FULL], (FAR, PORT));
        if real_time.get(sent).is_some_and(|&at| start.elapsed() >= at) {
            ahead.send_to(&[0; FULL], (FAR, URGENT)).unwrap();
            sent += 1;
        }
        while let Ok(length) = receive(&urgent, &mut buffer) {
            seen.real_time += length + HEADERS;
        }
        while let Ok(length) = receive(&bulk, &mut buffer) {
            seen.bulk += length + HEADERS;
            (seen.both, seen.time) = (seen.bulk + seen.real_time, start.elapsed());
        }
        assert!(start.elapsed() < time * 10, "real-time packets are lost");
        std::thread::sleep(Sleep::from_micros(500));
    }
    seen
}

/// Oracle: the theorem of `rtether_proto::smoother`: at most `2 D - 1 + M + D floor(t / P)` octets
/// of both kinds up to and including the last bulk packet; a class that always has something to
/// send gets its rate, minus what a busy host takes from it.
#[test]
fn the_bucket_lets_pass_what_it_has() {
    const DEPTH: usize = 1_500;
    let Some(wire) = quiet_wire() else { return };
    // 2 Mbit/s.
    let period = Sleep::from_millis(6);
    let fixed =
        Mode::Fixed(Fixed { depth: Bytes::new(DEPTH as u64), period: Duration::from_ms(6) });
    let some: Vec<Sleep> = (1..80).map(|number| Sleep::from_millis(12) * number).collect();
    let mut alone = 0;
    for real_time in [&[][..], &some] {
        let settings = settings(smoothed(fixed, COLLISIONS), 100);
        let work = |_: &Handle| both_kinds(&wire, Sleep::from_secs(1), real_time);
        let (seen, status, _) = shimmed(&wire.near, DEVICE, settings, work);
        let periods = usize::try_from(seen.time.as_micros() / period.as_micros()).unwrap();
        let most = 2 * DEPTH - 1 + 1_500 + DEPTH * periods;
        // A packet right behind the last bulk packet may have been read before it.
        let behind = if real_time.is_empty() { 0 } else { 1_500 };
        assert!(seen.both <= most + behind, "{seen:?} of {most}");
        assert!(seen.both > most * 8 / 10, "{seen:?} of {most}");
        // All of them passed ahead, regardless of credits.
        assert_eq!(seen.real_time, real_time.len() * 1_500, "{status:?}");
        let statistics = status.smoother.unwrap().statistics;
        assert_eq!(statistics.real_time.sent, real_time.len() as u64);
        assert!(statistics.bulk.sent_size.get() >= seen.bulk as u64);
        let each_period = seen.bulk / periods;
        if real_time.is_empty() {
            alone = each_period;
        } else {
            assert!(each_period < alone * 7 / 10, "{seen:?}: credits are shared");
        }
    }
}

/// Oracle: a fresh engine, given the recorded observations; the emulated hub, which counts
/// collisions.
#[test]
fn the_rate_follows_the_law() {
    let Some(bed) = Bed::new(star(hub(3), 3, 10)) else {
        return;
    };
    let adaptive = Mode::Adaptive(Adaptive::HIMD);
    let settings =
        Settings { signal: Signal::Reports, ..settings(smoothed(adaptive, COLLISIONS), 10) };
    let work = || {
        shimmed(&bed.hosts[0], bed::DEVICE, settings, |handle| {
            flood(&bed, Sleep::from_secs(2));
            fresh(handle)
        })
    };
    let ((live, _, recording), report) = bed.run(|options| options.reports_collisions = true, work);
    let recording = recording.unwrap();
    let replayed = recording.replay().unwrap();
    assert_eq!(replayed.difference, None);
    assert_eq!(replayed.lost, 0);
    assert!(replayed.decisions > 500, "{replayed:?}");
    let collisions: u64 = recording.observations().map(|(seen, _)| seen.collisions).sum();
    let all = report.unwrap().counts.collisions;
    assert!(collisions > 0 && collisions <= all, "{collisions} of {all}");
    let statistics = live.smoother.unwrap().statistics;
    assert!(statistics.reports > 0 && statistics.decreases > 0, "{statistics:?}");
    let rates = recording.observations().map(|(_, rate)| rate.as_bps());
    let (least, most) =
        rates.fold((u64::MAX, 0), |(least, most), rate| (least.min(rate), most.max(rate)));
    assert!(least < most && most <= 4_000_000, "{least} to {most}");
}

/// Oracle: the shares of the medium, by hand. Bulk packets alone take 4 Mbit/s of 10 and some
/// overhead; together with real-time packets of 6 Mbit/s it is more than 60 %.
#[test]
fn a_busy_medium_slows_bulk_packets_down() {
    let Some(wire) = quiet_wire() else { return };
    let himd = Mode::Adaptive(Adaptive::HIMD);
    let utilization =
        Detector::Utilization { threshold_percent: 60, window: Duration::from_ms(50) };
    let many: Vec<Sleep> = (1..500).map(|number| Sleep::from_millis(2) * number).collect();
    for real_time in [&[][..], &many] {
        let settings = settings(smoothed(himd, utilization), 10);
        let work = |_: &Handle| both_kinds(&wire, Sleep::from_secs(1), real_time);
        let (_, status, recording) = shimmed(&wire.near, DEVICE, settings, work);
        let statistics = status.smoother.unwrap().statistics;
        assert_eq!(statistics.reports > 0, !real_time.is_empty(), "{statistics:?}");
        assert_eq!(statistics.decreases > 0, !real_time.is_empty(), "{statistics:?}");
        assert_eq!(recording.unwrap().replay().unwrap().difference, None);
    }
}

/// Oracle: what the far host sends: segments that echo congestion marks, or their absence. The rate
/// follows only the former, and a fresh engine computes the same rates.
#[test]
fn marks_that_come_back_slow_bulk_packets_down() {
    let Some(wire) = quiet_wire() else { return };
    let marks = Detector::Marks { threshold_percent: 50, window: Duration::from_ms(20) };
    let tcp =
        inside(&wire.far, || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::TCP)).unwrap());
    let segment = |flags| {
        let mut header = [0; 20];
        (header[12], header[13]) = (5 << 4, flags);
        let to = SocketAddr::from((NEAR, 0));
        tcp.send_to(&header, &to.into()).unwrap();
    };
    for (flags, is_marked) in [(0x10, false), (0x50, true)] {
        let settings = Settings {
            // Both parts of the program at once.
            tags: tags(0),
            ..settings(smoothed(Mode::Adaptive(Adaptive::HIMD), marks), 10)
        };
        let work = |_: &Handle| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..400 {
                        segment(flags);
                        std::thread::sleep(Sleep::from_millis(1));
                    }
                });
                both_kinds(&wire, Sleep::from_millis(500), &[]);
            });
        };
        let ((), status, recording) = shimmed(&wire.near, DEVICE, settings, work);
        let recording = recording.unwrap();
        let seen = recording.observations().map(|(seen, _)| seen);
        let (returned, marked) = seen.fold((0, 0), |(all, marked), seen| {
            (all + seen.returned.get(), marked + seen.marked.get())
        });
        // Headers of 40 octets; this device does not pad.
        assert_eq!(returned, 400 * 40, "{status:?}");
        assert_eq!(marked, if is_marked { returned } else { 0 });
        let statistics = status.smoother.unwrap().statistics;
        assert_eq!(statistics.reports > 0, is_marked, "{statistics:?}");
        assert_eq!(statistics.decreases > 0, is_marked, "{statistics:?}");
        assert_eq!(recording.replay().unwrap().difference, None);
    }
}

/// Bulk traffic of two hosts to the third.
fn flood(bed: &Bed, time: Sleep) {
    let sockets = [0, 1].map(|host| {
        let socket = udp(&bed.hosts[host], (bed::address(host), PORT));
        socket.set_nonblocking(true).unwrap();
        socket
    });
    let start = Time::now();
    while start.elapsed() < time {
        for socket in &sockets {
            let _ = socket.send_to(&[0; FULL], (bed::address(2), PORT));
        }
        std::thread::sleep(Sleep::from_micros(1_500));
    }
}

/// Oracle: the datagrams received before, during and after; a change loses none.
#[test]
fn settings_change_without_loss() {
    let Some(wire) = quiet_wire() else { return };
    let _open = udp(&wire.far, (FAR, PORT));
    let faster = Settings { tags: tags(0), ..settings(layer(), 50) };
    let ((), status, _) = shimmed(&wire.near, DEVICE, settings(layer(), 5), |handle| {
        let received = frames(&wire.far, || {
            // At 5 Mbit/s they take half a second.
            burst(&wire, PORT, 200);
            let program = || {
                let filters = format!("tc filter show dev {DEVICE} egress");
                wire.near.run(&filters).unwrap()
            };
            let before = program();
            handle.set(faster.clone()).unwrap();
            // The program is the last to change.
            while program() == before {
                std::thread::sleep(Sleep::from_millis(20));
            }
            burst(&wire, PORT, 100);
            drained(handle);
        });
        assert_eq!(received.len(), 300);
        let tags: Vec<bool> = received.iter().map(|(tag, _)| tag.is_some()).collect();
        assert_eq!(tags, [[false; 200].as_slice(), &[true; 100]].concat());
        // Another number of queues would lose waiting frames.
        let mut other = layer();
        other.transmit = None;
        let refused = handle.set(settings(other, 5));
        assert!(matches!(refused, Err(ShimError::Shape { .. })), "{refused:?}");
    });
    assert_eq!(status.drops.transmit_full + status.drops.abandoned, 0);
}

/// Oracle: the device no longer exists.
#[test]
fn a_device_that_goes_away_ends_the_law() {
    let Some(wire) = quiet_wire() else { return };
    let himd = Mode::Adaptive(Adaptive::HIMD);
    let ended = inside(&wire.near, || {
        let mut shim = Shim::up(DEVICE, settings(smoothed(himd, COLLISIONS), 10)).unwrap();
        wire.near.run(&format!("ip link delete {DEVICE}")).unwrap();
        shim.run()
    });
    let error = ended.expect_err("it is gone");
    assert!(matches!(error, ShimError::Gone { .. }), "{error}");
}
