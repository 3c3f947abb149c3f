//! What the shim leaves alone, and what it refuses.

use super::*;

/// Oracle: `tc`, which lists filters by owner.
#[test]
fn what_others_have_put_at_the_device_is_kept_or_refused() {
    let Some(wire) = quiet_wire() else { return };
    let host = &wire.near;
    let plan = |settings: &Settings| inside(host, || Shim::prepare(DEVICE, settings));
    let (plain, settings) = (state(host), settings(layer(), 100));
    let prepared = plan(&settings).unwrap();
    assert_eq!(state(host), plain, "to prepare changes nothing");
    let commands = prepared.to_string();
    assert!(commands.contains(&format!("tc qdisc add dev {DEVICE} clsact\n")), "{commands}");
    assert_eq!(prepared.undo().len(), 1);

    // An existing `clsact` remains.
    host.run(&format!("tc qdisc add dev {DEVICE} clsact")).unwrap();
    let commands = plan(&settings).unwrap().to_string();
    assert!(!commands.contains(&format!("{DEVICE} clsact\n")), "{commands}");
    with_shim(&wire, settings.clone(), |_| {
        assert_eq!(echo(&wire, 5, 100), 5);
        let second = inside(host, || Shim::up(DEVICE, settings.clone()).map(drop));
        let message = second.unwrap_err().to_string();
        assert!(message.contains("rts2"), "{message}");
    });

    // An existing filter conflicts, also with filters placed after it.
    let filter = format!("tc filter add dev {DEVICE} ingress pref 5 bpf da bytecode");
    inside(host, || {
        let command = rtether_live::namespace::CommandLine::words(&filter);
        command.argument("1,6 0 0 4294967295".into()).run().unwrap();
    });
    let error = plan(&settings).unwrap_err();
    assert!(matches!(error, ShimError::Occupied { .. }), "{error}");
    assert!(error.to_string().contains("tc filter show dev wire ingress"), "{error}");
    let occupied = state(host);
    inside(host, || restore(DEVICE).unwrap());
    assert_eq!(state(host), occupied, "nothing of ours");
    host.run(&format!("tc qdisc del dev {DEVICE} clsact")).unwrap();
    host.run(&format!("tc qdisc add dev {DEVICE} ingress")).unwrap();
    let error = plan(&settings).unwrap_err();
    assert!(error.to_string().contains("qdisc del dev wire ingress"), "{error}");
    assert!(inside(host, || restore("nosuch")).is_err());
}

#[test]
fn what_this_back_end_cannot_do_is_refused_with_a_reason() {
    let Some(wire) = quiet_wire() else { return };
    // An adaptive mode: others use no detector.
    let smoothing = |detector| smoothed(Mode::Adaptive(Adaptive::HIMD), detector, layer());
    let collisions = Detector::OwnCollisions { visibility_per_million: 1_000_000 };
    let probe =
        Detector::ProbeDelay { excess: Duration::from_ms(1), epoch: Duration::from_secs(1) };
    let instances =
        Layer { receive: Some(Receive::Instances { queue_limits: vec![10, 10] }), ..layer() };
    let group = Settings {
        probes: Some(rtether_live::shim::Probing {
            to: vec![rtether_live::link::MacAddress([1, 0, 0, 0, 0, 1])],
            every: Duration::from_ms(10),
        }),
        ..settings(smoothing(probe), 100)
    };
    let cases = [
        (group, "`probes`"),
        (settings(layer(), 0), "`rate`"),
        (settings(instances, 100), "`receive`"),
        (settings(smoothing(collisions), 100), "`signal`"),
        (settings(smoothing(probe), 100), "`detector`"),
        (settings(queued(0, 10), 100), "layer"),
    ];
    inside(&wire.near, || {
        for (settings, expected) in cases {
            let message = Shim::prepare(DEVICE, &settings).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let unknown = Shim::prepare("nosuch", &settings(layer(), 100)).unwrap_err();
        assert!(unknown.to_string().contains("nosuch"), "{unknown}");
    });
}
