//! Stations with emulated stacks.

use super::*;

/// A linear stack with separate servers.
fn linear(send_us: i64, receive_us: i64, jitter: Jitter) -> Stack {
    let cost = |us| Cost { base: US * us, ..Cost::default() };
    Stack::Linear(LinearStack {
        send: cost(send_us),
        receive: cost(receive_us),
        interface: Cost::default(),
        jitter,
        servers: Servers::PerDirection,
    })
}

/// Oracle: by hand. 500 us to send, (8 + 64) octets of 80 ns twice, 4 octets more with a tag, 700
/// us to receive; the second frame waits for both servers.
#[test]
fn an_emulated_stack_takes_its_time_and_tells_ahead() {
    let (mut plant, nodes) = star(2);
    emulate(&mut plant, &linear(500, 700, Jitter::default()));
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    for token in [7, 8] {
        let frame = Foreign { tag: tagged(5, 0), ..frame(token, 64, Destination::One(nodes[1])) };
        emulation.inject(nodes[0], at(5), frame).unwrap();
    }
    let wire = Duration::from_ns(12_160);
    assert_eq!(outputs(&mut emulation, at(505) + wire), []);
    let delivered =
        |token, at| Output::Delivered { token, station: nodes[1], at, tag: tagged(5, 0) };
    // Reported when the stack begins to serve it, to the picosecond.
    let told = outputs(&mut emulation, at(505) + wire + Duration::from_ps(1));
    assert_eq!(told, [delivered(7, at(1_205) + wire)]);
    let finished = |token| Output::Finished { token };
    let told = outputs(&mut emulation, at(1_205) + wire + Duration::from_ps(1));
    assert_eq!(told, [delivered(8, at(1_905) + wire), finished(7)]);
    assert_eq!(outputs(&mut emulation, at(3_000)), [finished(8)]);
    // A station that is not emulated takes no time, regardless of its stack.
    for node in &mut plant.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.emulate = false;
        }
    }
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    let plain = frame(9, 64, Destination::One(nodes[1]));
    emulation.inject(nodes[0], at(5), plain).unwrap();
    let expected = Output::Delivered {
        token: 9,
        station: nodes[1],
        at: at(5) + Duration::from_ns(11_520),
        tag: None,
    };
    assert_eq!(outputs(&mut emulation, at(100)), [expected, finished(9)]);
}

/// Oracle: by hand. In either order nothing can interrupt a message in its task, so its delivery is
/// reported ahead.
#[test]
fn tasks_are_told_ahead_where_that_is_certain() {
    for messages_first in [true, false] {
        let (mut plant, nodes) = star(2);
        emulate(&mut plant, &Stack::Zero);
        if let NodeKind::EndStation(station) = &mut plant.network.nodes[nodes[1].index()].kind {
            station.tasks = Some(Tasks { message: US * 100, segment: US * 100, messages_first });
        }
        let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
        let frame = frame(7, 64, Destination::One(nodes[1]));
        emulation.inject(nodes[0], at(0), frame).unwrap();
        let arrived = at(0) + Duration::from_ns(11_520);
        let delivered =
            Output::Delivered { token: 7, station: nodes[1], at: arrived + US * 100, tag: None };
        let told = outputs(&mut emulation, arrived + US);
        assert_eq!(told, [delivered], "{messages_first}");
        let told = outputs(&mut emulation, at(1_000));
        assert_eq!(told, [Output::Finished { token: 7 }]);
    }
}

/// Oracle: frames that do not fit the queue of a stack are dropped there; frames are conserved.
#[test]
fn an_emulated_stack_drops_what_it_cannot_hold() {
    let (mut plant, nodes) = star(2);
    emulate(&mut plant, &linear(1, 700, Jitter::default()));
    if let NodeKind::EndStation(station) = &mut plant.network.nodes[nodes[1].index()].kind {
        station.stack_queue = 1;
    }
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    for token in 0..4 {
        let frame = frame(token, 64, Destination::One(nodes[1]));
        let time = at(100 * i64::try_from(token).unwrap());
        emulation.inject(nodes[0], time, frame).unwrap();
    }
    let outputs = outputs(&mut emulation, at(5_000));
    let dropped = outputs.iter().filter_map(|output| match *output {
        Output::Dropped { token, node, reason, .. } => Some((token, node, reason)),
        Output::Delivered { .. } | Output::Collision { .. } | Output::Finished { .. } => None,
    });
    let dropped: Vec<_> = dropped.collect();
    let full = DropReason::StackFull;
    assert_eq!(dropped, [(2, nodes[1], full), (3, nodes[1], full)]);
}

/// One frame in a hundred comes late into stacks that hold one frame, so that different frames are
/// lost than in the replay of the true times, which is the oracle. Drawn by frame, the jitter of
/// the others is unchanged; drawn in order, it shifts to other frames from the first such loss on.
#[test]
fn a_late_frame_changes_no_jitter_of_others() {
    let (mut plant, nodes) = star(10);
    let jitter = Jitter {
        spread: Spread::Uniform { max: US * 20 },
        outliers: Some(Outliers { per_million: 300_000, min: US, max: US * 40 }),
    };
    emulate(&mut plant, &linear(30, 300, jitter));
    for node in &mut plant.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.stack_queue = 0;
        }
    }
    let (_, mut arrivals) = hub_traffic(4_000);
    for arrival in &mut arrivals {
        let own = |node: NodeId| nodes[node.index() - 1];
        arrival.station = own(arrival.station);
        if let Destination::One(node) = &mut arrival.frame.destination {
            *node = own(*node);
        }
    }
    let setup = |draws| Setup { draws, ..Setup::new(&plant.network, 1) };
    let run = |draws| {
        let mut emulation = Emulation::new(&setup(draws)).unwrap();
        let mut recording = Recording::new(100_000);
        for (number, &arrival) in arrivals.iter().enumerate() {
            recording.note_arrival(arrival);
            if number % 100 == 50 {
                emulation.run_until(arrival.at + US * 200);
            }
            let Arrival { station, at, frame } = arrival;
            emulation.inject(station, at, frame).unwrap();
            while let Some(output) = emulation.poll_output() {
                recording.note_output(&output);
            }
        }
        let until = arrivals.last().unwrap().at + US * 100_000;
        for output in outputs(&mut emulation, until) {
            recording.note_output(&output);
        }
        let late = emulation.counters().late;
        let comparison = recording.compare(&setup(draws), until).unwrap();
        (late, comparison)
    };
    let (late, by_frame) = run(Draws::ByFrame);
    assert!(late > 20, "{late}");
    // Each late frame differs, unless it is lost in both, and may change the fate of another.
    let differing = by_frame.differing;
    assert!((late / 2..3 * late).contains(&differing), "{differing} of {late}");
    let (_, in_order) = run(Draws::InOrder);
    let differing = in_order.differing;
    assert!(differing > 10 * late, "{differing} of {late}");
}
