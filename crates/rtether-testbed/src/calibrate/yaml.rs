//! The profile of a host, to be pasted into a scenario.

use std::fmt::Write;

use rtether_live::calibrate::Path;
use rtether_live::wait::Waiting;
use rtether_model::empirical::Quantiles;
use rtether_model::network::Cost;
use rtether_model::quantity::{Bytes, Duration};

use super::{Calibration, Fit, Protocol, Row, fit, path_name, protocol_name, waiting_name};
use rtether::report::text::exact_ns;

/// Returns a `stacks:` entry for each combination measured with both ends; the names of all start
/// with `name`. Times are exact, so no precision is lost between measurement and simulation.
pub fn yaml(calibration: &Calibration, name: &str) -> String {
    let mut text = String::new();
    let priority = calibration.priority.map_or_else(
        || "at ordinary priority".to_owned(),
        |priority| format!("under SCHED_FIFO at priority {priority}"),
    );
    let cores = calibration
        .cores
        .map_or_else(String::new, |[near, far]| format!(", on cores {near} and {far}"));
    _ = writeln!(
        text,
        "# Measured by `rtether calibrate` on {}, Linux {}, {priority}, one request every {}{cores}{}.\n\
         # `send` ends when the frame reaches the device, `receive` when the application has it.",
        calibration.host,
        calibration.kernel,
        calibration.interval,
        if calibration.is_awake { ", cores kept awake" } else { "" }
    );
    if calibration.is_partial {
        text.push_str("# It was ended early.\n");
    }
    text.push_str("stacks:\n");
    let mut stacks = 0;
    for path in [Path::Veth, Path::Loopback] {
        for protocol in [Protocol::Udp, Protocol::Raw] {
            for waiting in [Waiting::Block, Waiting::Spin] {
                let rows = calibration.rows.iter().filter(|row| {
                    row.path == path && row.protocol == protocol && row.waiting == waiting
                });
                let rows: Vec<&Row> = rows.collect();
                let parts = |of: fn(&Row) -> Vec<Duration>| {
                    let sizes = rows.iter().map(|row| (row.frame(), of(row)));
                    fit(&sizes.collect::<Vec<(Bytes, Vec<Duration>)>>())
                };
                let send = parts(|row| row.sends().collect());
                let receive = parts(|row| row.receives().collect());
                if let (Some(send), Some(receive)) = (send, receive) {
                    let place = match path {
                        Path::Veth => String::new(),
                        Path::Loopback => format!("-{}", path_name(path)),
                    };
                    let (protocol, waiting) = (protocol_name(protocol), waiting_name(waiting));
                    _ = writeln!(text, "  {name}-{protocol}-{waiting}{place}:");
                    stack(&mut text, [&send, &receive], calibration.processors);
                    stacks += 1;
                }
            }
        }
    }
    if stacks == 0 {
        text.push_str("  {} # no combination was measured with both ends\n");
    }
    text
}

fn stack(text: &mut String, [send, receive]: [&Fit; 2], processors: usize) {
    // With one processor, sending and receiving share a server.
    let servers = if processors > 1 { "per-direction" } else { "shared" };
    _ = writeln!(text, "    send: {}", cost(send.cost));
    _ = writeln!(text, "    receive: {}", cost(receive.cost));
    _ = writeln!(text, "    servers: {servers}");
    _ = writeln!(text, "    jitter:");
    for (name, fit) in [("send", send), ("receive", receive)] {
        _ = writeln!(text, "      {name}:");
        points(text, &fit.additions);
    }
}

fn cost(cost: Cost) -> String {
    let base = exact_ns(cost.base.as_ps());
    format!("{base} ns + {} ps/B", cost.per_octet.as_ps())
}

fn points(text: &mut String, of: &Quantiles) {
    for point in of.points() {
        let value = exact_ns(point.value.as_ps());
        _ = writeln!(text, "        - {{ share: {} ppm, add: {value} ns }}", point.per_million);
    }
}

#[cfg(test)]
mod tests {
    use rtether_live::calibrate::{Measured, Parts, RoundTrip};
    use rtether_model::network::{Servers, Spread, Stack};

    use super::*;

    /// A host with known costs.
    fn calibration() -> Calibration {
        let row = |size: usize| {
            let round_trip = |number: i64| {
                let octets = i64::try_from(size).expect("small");
                let (send, receive) = (3_000 + octets, 9_000 + 2 * octets + number);
                RoundTrip {
                    total: 2 * (send + receive),
                    parts: Some(Parts { send: [send; 2], receive: [receive; 2] }),
                }
            };
            Row {
                path: Path::Veth,
                protocol: Protocol::Udp,
                waiting: Waiting::Block,
                size,
                measured: Measured {
                    round_trips: (0..500).map(round_trip).collect(),
                    ..Measured::default()
                },
            }
        };
        Calibration {
            host: "test".into(),
            kernel: "6.0".into(),
            processors: 2,
            priority: None,
            cores: Some([0, 1]),
            interval: Duration::from_ms(1),
            rows: [64, 500, 1_400].map(row).into(),
            is_partial: false,
            is_awake: false,
        }
    }

    #[test]
    fn a_scenario_takes_the_profile() {
        // Oracle: the costs from which the round trips were made. A payload is 46 octets shorter
        // than its frame.
        let profile = yaml(&calibration(), "host");
        let text = format!(
            "rtether: 1\n{profile}nodes:\n  a: {{ stack: host-udp-block }}\n  b: {{ stack: \
             host-udp-block }}\nlinks:\n  - {{ ends: [a, b], rate: 1 Gbit/s }}\nflows:\n  - {{ \
             name: f, from: a, to: b, period: 1 ms, size: 60 B }}\nrun: {{ for: 1 s }}\n"
        );
        let loaded = rtether::scenario::load("profile.yaml", &text).into_scenario();
        let scenario = loaded.unwrap_or_else(|words| panic!("{words}"));
        let id = scenario.network.find("a").expect("declared");
        let station = scenario.network.end_station(id).expect("a station");
        let Stack::Linear(stack) = &station.stack else { panic!("{:?}", station.stack) };
        assert_eq!(stack.servers, Servers::PerDirection);
        assert_eq!(stack.send.base, Duration::from_ns(3_000 - 46));
        assert_eq!(stack.send.per_octet, Duration::from_ns(1));
        assert_eq!(stack.receive.base, Duration::from_ns(9_000 - 2 * 46));
        let Spread::Empirical(measured) = &stack.jitter.spread else {
            panic!("{:?}", stack.jitter)
        };
        assert_eq!(measured.send.max(), Duration::ZERO);
        assert_eq!(measured.receive.max(), Duration::from_ns(499));
    }

    #[test]
    fn without_both_ends_there_is_no_stack() {
        let mut calibration = calibration();
        calibration.rows.clear();
        assert!(yaml(&calibration, "host").contains("stacks:\n  {}"));
    }
}
