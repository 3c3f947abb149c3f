//! Who is blamed for transfers over TCP, in plants whose cause is known.

use rtether::run::{self, Progress};
use rtether::scenario::{self, Override, Scenario};
use rtether_model::quantity::Duration;
use rtether_model::record::{Segment, Worst};

fn load(text: &str, changes: &[&str]) -> Scenario {
    let changes: Vec<Override> =
        changes.iter().map(|change| Override::parse(change).unwrap()).collect();
    let loaded = scenario::load_with("plant.yaml", text, &changes).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

/// Returns the slowest packet of the flow with this name, and the name of the node that is blamed.
fn worst(scenario: &Scenario, flow: &str) -> (Worst, String) {
    let results = run::simulate(scenario, &Progress::default()).unwrap();
    let mut streams = results.record.streams.iter();
    let stream = streams.find(|own| scenario.flows[own.flow_id().index()].name == flow);
    let worst = stream.unwrap().worst.unwrap();
    let node = scenario.network.node(worst.responsible.0.port.node);
    (worst, node.name.clone())
}

/// Oracle: the same plant with other stacks. The camera at no cost changes the file by less than a
/// hundredth, and the receiver with half its cost makes it fast enough, so the receiver is the cause:
/// its one processor takes data and sends acknowledgments.
#[test]
fn a_file_waits_for_its_receiver() {
    let text = include_str!("blamed/bulk.yaml");
    let (slow, node) = worst(&load(text, &[]), "image");
    assert_eq!(node, "vision", "{slow:?}");
    let (place, blamed) = slow.responsible;
    assert!(
        matches!(
            place.segment,
            Segment::TalkerStack | Segment::ReceiveQueue | Segment::ReceiveStack
        ),
        "{place:?}"
    );
    assert!(blamed * 3 > slow.latency, "{slow:?}");
    let parts: Duration = slow.segments.into_iter().sum();
    let awaited: Duration = slow.awaited.into_iter().sum();
    assert_eq!(parts, slow.latency);
    assert_eq!(awaited, slow.segments[Segment::Protocol.index()]);

    let (as_slow, node) = worst(&load(text, &["nodes.camera.stack=zero"]), "image");
    assert_eq!(node, "vision");
    assert!(
        (slow.latency - as_slow.latency) * 100 < slow.latency,
        "{} {}",
        slow.latency,
        as_slow.latency
    );
    let (fast, _) = worst(&load(text, &["stacks.hmi.receive=50 us"]), "image");
    assert!(fast.latency < Duration::from_ms(250), "{}", fast.latency);
}

/// Oracle: the monitor takes no time and has nothing to wait for: its request is 50 octets, and the
/// answer of 1 MB waits behind the smoother of the PC and for the hub.
#[test]
fn an_answer_waits_where_it_is_sent() {
    let text = include_str!("blamed/reply.yaml");
    for flow in ["status1", "status2"] {
        let (slow, node) = worst(&load(text, &[]), flow);
        assert_eq!(node, flow.replace("status", "pc"), "{slow:?}");
    }
}
