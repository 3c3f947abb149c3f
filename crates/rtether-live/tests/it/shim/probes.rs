//! Probes between shims.

use rtether_live::shim::{ProbeStatus, Probing};

use super::*;

/// Threshold above the shortest delay: sixteen full frames, so that a busy machine counts as idle.
const EXCESS: Duration = Duration::from_ms(20);

fn probing(to: &[rtether_live::link::MacAddress], layer: Layer) -> Settings {
    Settings {
        probes: Some(Probing { to: to.to_vec(), every: Duration::from_ms(10) }),
        ..settings(layer, 10)
    }
}

/// A layer whose smoother only hears of congestion by probes.
fn asking() -> Layer {
    let detector = Detector::ProbeDelay { excess: EXCESS, epoch: Duration::from_secs(10) };
    smoothed(Mode::Adaptive(Adaptive::HIMD), detector, queued(4, 100))
}

/// Oracle: the emulated switch. Two stations that each send ten datagrams of 1066 octets on the
/// wire every 10 ms offer 17 Mbit/s to a port of 10 Mbit/s, so that after half a second frames wait
/// there for more than 0.3 s; without them for at most one frame.
#[test]
fn a_queue_in_a_switch_is_congestion_to_those_who_probe_through_it() {
    let network = star(bed::switch(4), 4, 10);
    let Some(bed) = Bed::new(network) else { return };
    let near = probing(&bed.addresses[1..2], asking());
    let far = probing(&[], layer());
    let flood = || {
        let _far = udp(&bed.hosts[1], (address(1), PORT));
        let others = [2, 3].map(|host| udp(&bed.hosts[host], (address(host), 0)));
        let start = Time::now();
        for number in 0..500 {
            std::thread::sleep(Sleep::from_millis(number).saturating_sub(start.elapsed()));
            for other in &others {
                other.send_to(&[0; 1_000], (address(1), PORT)).unwrap();
            }
        }
    };
    let pause = || std::thread::sleep(Sleep::from_millis(500));
    let cases: [(&(dyn Fn() + Sync), bool); 2] = [(&pause, false), (&flood, true)];
    for (work, is_congested) in cases {
        let run = || {
            // The answering shim runs before and after.
            let mut inner = None;
            let ((), outer) = shimmed(&bed.hosts[1], bed::DEVICE, far.clone(), |_| {
                let ((), status) = shimmed(&bed.hosts[0], bed::DEVICE, near.clone(), |_| work());
                inner = Some(status);
            });
            (inner.unwrap(), outer)
        };
        let ((near, far), _) = bed.run(|_| (), run);
        let reports = near.smoother.unwrap().statistics.reports;
        assert_eq!(reports > 0, is_congested, "{near:?} {far:?}");
        let [asked, answered] = [near.probes, far.probes].map(Option::unwrap);
        // 50 in half a second, minus any that a busy machine skips.
        assert!(asked.own.answered >= 10, "{asked:?}");
        assert!(answered.answers >= asked.own.answered, "{answered:?}");
        let ProbeStatus { forged, malformed, .. } = asked;
        assert_eq!((forged, malformed), (0, 0), "{asked:?}");
        assert_eq!(answered.own.sent, 0);
    }
}

/// Oracle: the far host, which has no shim. Its silence is not congestion.
#[test]
fn who_never_answered_is_absent() {
    let Some(wire) = quiet_wire() else { return };
    let far = inside(&wire.far, || Device::named(DEVICE).unwrap().address());
    let before = received(&wire.far);
    let ((), status) = with_shim(&wire, probing(&[far], asking()), |_| {
        std::thread::sleep(Sleep::from_millis(400));
    });
    let probes = status.probes.unwrap();
    assert!(probes.own.sent >= 10, "{probes:?}");
    assert_eq!(received(&wire.far) - before, probes.own.sent);
    assert!(probes.own.lost > 0, "{probes:?}");
    assert_eq!(probes.own.absent, probes.own.lost, "{probes:?}");
    assert_eq!(status.smoother.unwrap().statistics.reports, 0);
}
