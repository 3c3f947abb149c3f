//! Cost of the kernel shim.

use super::*;

/// Cost and benefit of the shim: figures, not limits (`--ignored --nocapture`).
#[test]
#[ignore = "long"]
#[allow(clippy::print_stderr, reason = "figures are printed")]
fn figures() {
    let Some(wire) = quiet_wire() else { return };
    let report = |what: &str, mut trips: Vec<u128>| {
        trips.sort_unstable();
        let at = |share: usize| trips[trips.len() * share / 1_000 - 1];
        let [low, median, p99, last] = [100, 500, 990, 999].map(at);
        eprintln!("{what}: p10 {low} ns, median {median} ns, p99 {p99} ns, p99.9 {last} ns");
    };
    let himd = smoothed(Mode::Adaptive(Adaptive::HIMD), COLLISIONS);
    let all = [("without", None), ("two queues", Some(layer())), ("and a smoother", Some(himd))];
    let mut trips = [(); 3].map(|()| Vec::new());
    // Interleaved, so that other load on the host affects all of them.
    for _ in 0..20 {
        for ((_, layer), trips) in all.iter().zip(&mut trips) {
            let work = || round_trips(&wire, 1_000, Sleep::ZERO);
            trips.extend(match layer.clone() {
                None => work(),
                Some(layer) => {
                    let settings = Settings { tags: tags(0), ..settings(layer, 1_000) };
                    shimmed(&wire.near, DEVICE, settings, |_| work()).0
                }
            });
        }
    }
    for ((name, _), trips) in all.iter().zip(trips) {
        report(name, trips);
    }
    for mbps in [100, 10] {
        for (name, urgent_class) in [("one queue", 0), ("two queues", 1)] {
            let mut layer = layer();
            layer.rules[0].class = urgent_class;
            let (trips, ..) = shimmed(&wire.near, DEVICE, settings(layer, mbps), |_| {
                let unloaded = round_trips(&wire, 2_000, Sleep::from_millis(1));
                report(&format!("{mbps} Mbit/s, {name}, unloaded"), unloaded);
                under_load(&wire)
            });
            report(&format!("{mbps} Mbit/s, {name}, loaded"), trips);
        }
    }
}

/// Round trips of 64 octets to the urgent port.
fn round_trips(wire: &Wire, count: usize, pause: Sleep) -> Vec<u128> {
    let near = udp(&wire.near, (NEAR, 0));
    let far = udp(&wire.far, (FAR, URGENT));
    for socket in [&near, &far] {
        socket2::SockRef::from(socket).set_tos_v4(0xB8).unwrap();
    }
    let placement = Placement { priority: Some(50), ..Placement::default() };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            placement.apply().unwrap();
            let mut buffer = [0; 64];
            far.set_read_timeout(Some(Sleep::from_millis(100))).unwrap();
            while !stop.load(Ordering::Relaxed) {
                if let Ok((length, from)) = far.recv_from(&mut buffer) {
                    far.send_to(&buffer[..length], from).unwrap();
                }
            }
        });
        let ping = scope.spawn(|| {
            placement.apply().unwrap();
            let trips = (0..count).map(|_| {
                std::thread::sleep(pause);
                let start = Time::now();
                near.send_to(&[0; 64], (FAR, URGENT)).unwrap();
                receive(&near, &mut [0; 64]).unwrap();
                start.elapsed().as_nanos()
            });
            trips.collect()
        });
        let trips = ping.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        trips
    })
}

/// The same with bulk traffic always waiting.
fn under_load(wire: &Wire) -> Vec<u128> {
    let stop = AtomicBool::new(false);
    let _open = udp(&wire.far, (FAR, PORT));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let near = udp(&wire.near, (NEAR, PORT));
            while !stop.load(Ordering::Relaxed) {
                near.send_to(&[0; FULL], (FAR, PORT)).unwrap();
            }
        });
        std::thread::sleep(Sleep::from_millis(200));
        let trips = round_trips(wire, 2_000, Sleep::from_millis(1));
        stop.store(true, Ordering::Relaxed);
        trips
    })
}
