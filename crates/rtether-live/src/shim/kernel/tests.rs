//! State of a device before, during and after a shim, in separate namespaces.

use std::os::fd::AsFd;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use rtether_model::endnode::{Detector, Layer, TransmitConfig, TransmitStrategy};
use rtether_model::network::{Pcp, Vid};
use rtether_model::smoother::{Adaptive, Config, Mode, Rule};
use rtether_testkit::skip;

use super::*;
use crate::namespace::{CommandLine, Namespace};
use crate::shim::Tags;

/// Two connected devices, both in the namespace of the calling thread.
struct Bed {
    namespace: Namespace,
}

const DEVICE: &str = "near";

impl Bed {
    /// Moves the calling thread to a new namespace; reports if that is not possible.
    fn enter() -> Option<Self> {
        let make = || -> Result<Self, Box<dyn std::error::Error>> {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let namespace = Namespace::create(&format!("sk{}-{number}", process::id()))?;
            namespace.run("ip link add near type veth peer name far")?;
            namespace.run("ip link set near up")?;
            namespace.run("ip link set far up")?;
            // The kernel reports a different state until it has detected the carriers.
            for device in ["near", "far"] {
                let show = format!("ip -br link show {device}");
                while !namespace.run(&show)?.contains(" UP ") {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            }
            namespace.enter()?;
            // Automatic addresses would change the state that is compared.
            std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")?;
            Ok(Self { namespace })
        };
        make().inspect_err(|error| skip(&error.to_string())).ok()
    }

    /// Returns the state of everything that a shim touches.
    fn state(&self) -> String {
        let commands = [
            "tc qdisc show".to_owned(),
            format!("tc class show dev {DEVICE}"),
            format!("tc filter show dev {DEVICE} egress"),
            format!("tc filter show dev {DEVICE} ingress"),
            "ip -d address".to_owned(),
        ];
        let run = |command: &String| self.namespace.run(command).unwrap();
        let shown: Vec<String> = commands.iter().map(run).collect();
        shown.join("\n")
    }
}

/// Settings that use everything that leaves traces: queues, smoother, tags in both directions.
fn settings() -> Settings {
    let layer = Layer {
        transmit: Some(TransmitConfig {
            ring_limit: 16,
            queue_limits: vec![100, 50],
            high_from: None,
            strategy: TransmitStrategy::MODERATE,
        }),
        smoother: Some(Smoothing {
            config: Config::new(Mode::Adaptive(Adaptive::HIMD)),
            rule: Rule::LINUX,
            ring: 1,
            detector: Detector::OwnCollisions { visibility_per_million: 1_000_000 },
        }),
        ..Layer::default()
    };
    Settings {
        tags: Tags { insert: Some([Pcp::default(); 8]), vid: Vid::PRIORITY_ONLY, strip: true },
        ..Settings::new(layer, BitRate::from_mbps(100))
    }
}

/// Oracle: the output of `tc`, `ip` and the driver before.
#[test]
fn the_device_is_restored() {
    let Some(bed) = Bed::enter() else { return };
    let foreign = "tc filter add dev near egress pref 7 protocol all u32 match u32 0 0 classid 1:1";
    for has_clsact in [false, true] {
        if has_clsact {
            bed.namespace.run("tc qdisc add dev near clsact").unwrap();
            bed.namespace.run(foreign).unwrap();
        }
        let before = bed.state();
        let shim = Shim::up(DEVICE, settings()).unwrap();
        let meanwhile = bed.state();
        assert!(meanwhile.contains("qdisc htb 5254: dev near root"), "{meanwhile}");
        assert!(meanwhile.contains("qdisc clsact"), "{meanwhile}");
        let again = Shim::up(DEVICE, settings());
        assert!(matches!(again, Err(ShimError::Up { .. })), "{again:?}");
        shim.down().unwrap();
        assert_eq!(bed.state(), before);
        // Dropped in another thread, which may never have been in the namespace.
        let shim = Shim::up(DEVICE, settings()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let outside = std::fs::File::open("/proc/self/ns/net").unwrap();
                let kind = Some(rustix::thread::LinkNameSpaceType::Network);
                rustix::thread::move_into_link_name_space(outside.as_fd(), kind).unwrap();
                drop(shim);
            });
        });
        assert_eq!(bed.state(), before);
    }
}

/// Oracle: the state before. A process that is killed leaves everything in place, as does one that
/// leaks its shim.
#[test]
fn what_a_dead_shim_has_left_is_removed() {
    let Some(bed) = Bed::enter() else { return };
    let before = bed.state();
    std::mem::forget(Shim::up(DEVICE, settings()).unwrap());
    assert_ne!(bed.state(), before);
    assert!(restore(DEVICE).unwrap());
    assert_eq!(bed.state(), before);
    assert!(!restore(DEVICE).unwrap(), "nothing is left");
}

/// Oracle: the state before, whichever step fails.
#[test]
fn a_set_up_that_fails_half_way_leaves_nothing() {
    let Some(bed) = Bed::enter() else { return };
    let before = bed.state();
    let steps = Shim::prepare(DEVICE, &settings()).unwrap().queues.len();
    assert!(steps > 10, "{steps}");
    let counts = Counts::new().unwrap();
    for step in 0..=steps {
        let mut plan = Shim::prepare(DEVICE, &settings()).unwrap();
        plan.queues.insert(step, CommandLine::words("tc nonsense"));
        let echoes = program::Echoes::new().unwrap();
        let programs = Programs::load(&settings(), &plan.shape, &counts, &echoes).unwrap();
        let error = plan.run(&programs).expect_err("a command fails");
        assert!(matches!(error, ShimError::Command(_)), "{error}");
        assert_eq!(bed.state(), before, "step {step}");
    }
}

/// Oracle: `tc` shows the same after the commands of a dry run as after `up`.
#[test]
fn the_commands_of_a_dry_run_do_the_same() {
    let Some(bed) = Bed::enter() else { return };
    let before = bed.state();
    let plan = Shim::prepare(DEVICE, &settings()).unwrap();
    assert_eq!(bed.state(), before, "a plan changes nothing");
    let classes = || bed.namespace.run("tc class show dev near").unwrap();
    let queues = || bed.namespace.run("tc qdisc show dev near").unwrap();
    let is_tc = |command: &&CommandLine| {
        let text = command.to_string();
        text.starts_with("tc ") && !text.contains("object-pinned")
    };
    let commands = plan.commands();
    for command in commands.iter().filter(is_tc) {
        command.run().unwrap();
    }
    let by_hand = (classes(), queues());
    bed.namespace.run("tc qdisc del dev near root").unwrap();
    bed.namespace.run("tc qdisc del dev near clsact").unwrap();
    assert_eq!(bed.state(), before);
    let shim = Shim::up(DEVICE, settings()).unwrap();
    assert_eq!((classes(), queues()), by_hand);
    shim.down().unwrap();
    assert_eq!(bed.state(), before);
}

/// Oracle: a root queue with another administrator's parameters.
#[test]
fn a_root_queue_of_somebody_else_is_refused() {
    let Some(bed) = Bed::enter() else { return };
    bed.namespace.run("tc qdisc add dev near root handle 1: pfifo limit 7").unwrap();
    let before = bed.state();
    let refused = Shim::up(DEVICE, settings()).expect_err("it is refused");
    let text = refused.to_string();
    assert!(text.contains("`pfifo` at its root"), "{text}");
    assert!(text.contains("tc qdisc del dev near root"), "{text}");
    assert_eq!(bed.state(), before);
}

/// Oracle: `tc` shows the rate that was set through the socket.
#[test]
fn a_rate_is_set() {
    let Some(bed) = Bed::enter() else { return };
    let mut shim = Shim::up(DEVICE, settings()).unwrap();
    let class = || bed.namespace.run("tc class show dev near").unwrap();
    let has = |text: &str, rate: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.contains("htb 5254:2 ") && line.contains(rate))
    };
    assert!(has(&class(), "ceil 4Mbit"), "{}", class());
    let rate = BitRate::from_bps(1_234_000);
    let (index, burst) = (shim.plan.index, Bytes::new(1_500));
    shim.netlink.set_rate(index, rate, burst).unwrap();
    assert!(has(&class(), "ceil 1234Kbit"), "{}", class());
    assert!(has(&class(), "cburst 1499b") || has(&class(), "cburst 1500b"), "{}", class());
}

/// The cost of one step of the control law: a figure, not a limit (`--ignored --nocapture`).
#[test]
#[ignore = "long"]
#[allow(clippy::print_stderr, reason = "a figure is printed")]
fn figures() {
    let Some(_bed) = Bed::enter() else { return };
    let mut shim = Shim::up(DEVICE, settings()).unwrap();
    let index = shim.plan.index;
    let mut measure = |what: &str, work: &mut dyn FnMut(&mut Shim, u64)| {
        let mut times: Vec<u128> = (0..20_000)
            .map(|number| {
                let start = std::time::Instant::now();
                work(&mut shim, number);
                start.elapsed().as_nanos()
            })
            .collect();
        times.sort_unstable();
        let [median, p99] = [times.len() / 2, times.len() * 99 / 100].map(|at| times[at]);
        eprintln!("{what}: median {median} ns, p99 {p99} ns");
    };
    measure("rate of a class", &mut |shim, number| {
        let rate = BitRate::from_bps(1_000_000 + 8 * number);
        shim.netlink.set_rate(index, rate, Bytes::new(1_500)).unwrap();
    });
    measure("counters of 9 classes", &mut |shim, _| {
        shim.read_classes().unwrap();
    });
    measure("counters of a device", &mut |shim, _| {
        shim.netlink.device(index).unwrap();
    });
    measure("status", &mut |shim, _| {
        shim.status().unwrap();
    });
    measure("a step of the law", &mut |shim, _| {
        let now = shim.clock.now();
        shim.step(now).unwrap();
    });
}
