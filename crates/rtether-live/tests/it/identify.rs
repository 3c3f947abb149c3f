//! Devices with hidden costs, played by the emulator, found by a prober on sockets.
//!
//! Oracle: what the emulated station hides. One whose costs are stated, asked before, tells what both
//! hosts, their kernels and the emulator take.

use std::sync::atomic::AtomicBool;

use rtether_live::clock::Clock;
use rtether_live::identify::{Interview, Pings};
use rtether_live::wait::Waiting;
use rtether_model::network::{Cost, EndStation, Jitter, LinearStack, NodeKind, Servers, Stack};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_proto::identify::request::Dialect;
use rtether_proto::identify::{Costs, End, Load, Observation, Order, Pace, Path, Prober};
use rtether_testkit::skip;

use crate::bed::{Bed, address, inside, star, switch};

/// Cost of sending and receiving in microseconds and nanoseconds for an octet, the queue, and whether
/// both directions share a server.
type Hidden = ([i64; 2], [i64; 2], u32, bool);

/// The station whose costs are stated.
const STATED: Hidden = ([300, 0], [300, 0], 8, true);

const DEVICES: [Hidden; 8] = [
    ([120, 10], [200, 40], 8, true),
    ([250, 60], [250, 60], 1, true),
    ([150, 0], [300, 20], 16, false),
    ([400, 30], [100, 30], 5, true),
    ([200, 50], [200, 0], 24, true),
    ([100, 20], [400, 50], 3, false),
    ([500, 0], [500, 0], 12, true),
    ([180, 5], [220, 15], 10, true),
];

fn cost([us, ns]: [i64; 2]) -> Cost {
    Cost { base: Duration::from_us(us), per_octet: Duration::from_ns(ns) }
}

fn station((send, receive, queue, is_shared): Hidden) -> EndStation {
    let stack = LinearStack {
        send: cost(send),
        receive: cost(receive),
        interface: Cost::default(),
        jitter: Jitter::default(),
        servers: if is_shared { Servers::Shared } else { Servers::PerDirection },
    };
    EndStation { stack_queue: queue, emulate: true, ..EndStation::new(Stack::Linear(stack)) }
}

/// What was observed of a device: requests alone, and bursts.
struct Asked {
    quiet: Vec<Observation>,
    loaded: Vec<Observation>,
}

/// Asks a device of a bed, with load if that is wished.
fn observe(hidden: Hidden, has_load: bool) -> Option<Asked> {
    let mut network = star(switch(2), 2, 1_000);
    network.nodes[2].kind = NodeKind::EndStation(station(hidden));
    let bed = Bed::new(network)?;
    let pace = Pace { requests: 120, gap: Duration::from_ms(125), burst: 32 };
    let (seen, report) = bed.run(
        |options| options.waiting = Waiting::Spin,
        || {
            inside(&bed.hosts[0], || {
                let dialect = Dialect::Echo { identifier: 7, most: Bytes::new(1_024) };
                let ask = |prober| {
                    let mut line = Pings::open(address(1)).unwrap();
                    let clock = Clock::start();
                    let mut interview = Interview::new(prober, &dialect, &mut line, clock);
                    let end = interview.run(&AtomicBool::new(false), |_| {}).unwrap();
                    assert!(matches!(end, Some(End::Complete | End::Losses)), "{end:?}");
                    interview.finish().0.observations().to_vec()
                };
                let (sizes, start) = (dialect.sizes(), Instant::ZERO);
                let quiet = ask(Prober::quiet(sizes, pace, 1, start));
                let fast = Pace { gap: Duration::from_ms(25), ..pace };
                let loaded =
                    if has_load { ask(Prober::load(sizes, fast, 1, start)) } else { Vec::new() };
                Asked { quiet, loaded }
            })
        },
    );
    report.unwrap();
    Some(seen)
}

/// Prints a cost next to what is hidden, and returns whether it is within a tenth.
fn is_near(name: &str, found: Duration, hidden: Duration) -> bool {
    println!("  {name}: {:.1} us for {:.1}", found.as_ns_f64() / 1e3, hidden.as_ns_f64() / 1e3);
    (found - hidden).as_ps().abs() * 10 <= hidden.as_ps()
}

/// Returns whether the fixed cost is known well enough to judge it; on a host that is busy with other
/// work it is not, and the test is skipped.
fn is_known(costs: &Costs, hidden: Duration) -> bool {
    let width = costs.fixed.map(|own| own.high - own.low);
    let is_known = width.is_ok_and(|width| width * 5 <= hidden);
    if !is_known {
        skip(&format!("the host is too busy: {:?}", costs.fixed));
    }
    is_known
}

/// Asserts what was found of a device; `own` is what the bed takes without it.
fn judge(number: usize, hidden: Hidden, seen: &Asked, own: Duration) {
    let ([send, send_octet], [receive, receive_octet], queue, is_shared) = hidden;
    println!("device {number}: {hidden:?}");
    let costs = Costs::estimate(&seen.quiet, &Path::default());
    if !is_known(&costs, Duration::from_us(send + receive)) {
        return;
    }
    let fixed = costs.fixed.unwrap().value - own;
    assert!(is_near("fixed", fixed, Duration::from_us(send + receive)), "{costs:?}");
    // What a frame of 1 kB costs more than the smallest: of small costs of an octet no more is known.
    let largest =
        Duration::from_us(send + receive) + Duration::from_ns((send_octet + receive_octet) * 1_024);
    let octets = costs.both_octets.unwrap().value * 1_024;
    assert!(is_near("of 1024 octets", fixed + octets, largest), "{costs:?}");
    let path = Path { constant: own, ..Path::default() };
    let load = Load::estimate(&seen.loaded, &path);
    println!("  {load:?}");
    let each = Duration::from_us(receive) + Duration::from_ns(receive_octet * 64);
    assert!(is_near("receive", load.receive.unwrap().value, each), "{load:?}");
    assert_eq!(load.queue, Ok(queue), "{load:?}");
    let servers = if is_shared { Servers::Shared } else { Servers::PerDirection };
    assert_eq!(load.servers, Ok(servers), "{load:?}");
    assert!(matches!(load.order, Ok(Order::Arrival) | Err(_)), "{load:?}");
}

#[test]
#[ignore = "long"]
fn emulated_devices_are_found() {
    let Some(stated) = observe(STATED, false) else { return };
    let costs = Costs::estimate(&stated.quiet, &Path::default());
    let known = Duration::from_us(STATED.0[0] + STATED.1[0]);
    if !is_known(&costs, known) {
        return;
    }
    let own = costs.fixed.unwrap().value - known;
    println!("the bed: {own:?}");
    let only = std::env::var("RTETHER_DEVICE").ok().and_then(|own| own.parse().ok());
    for (number, hidden) in DEVICES.into_iter().enumerate() {
        if only.is_none_or(|only: usize| only == number) {
            let seen = observe(hidden, true).unwrap();
            judge(number, hidden, &seen, own);
        }
    }
}
