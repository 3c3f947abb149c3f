//! Network features of the kernel, probed in a namespace that is removed afterwards.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::xdp;
use crate::namespace::{CommandError, Namespace};

/// A probed feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Kind and name: `link.veth`, `qdisc.htb`, `filter.bpf`, `action.mirred`, `xdp.native`.
    pub id: String,
    /// Error of the system if it does not work.
    pub refusal: Option<String>,
}

/// The probed device; it has two queues each way.
const DEVICE: &str = "probe0";

const LINKS: [(&str, &str); 5] = [
    ("bridge", "ip link add probebr type bridge"),
    ("bridge-vlans", "ip link set probebr type bridge vlan_filtering 1"),
    ("vlan", "ip link add link probe0 name probev type vlan id 5"),
    ("tun", "ip tuntap add probet mode tap"),
    ("ifb", "ip link add probei type ifb"),
];

const QDISCS: [(&str, &str); 15] = [
    ("htb", "default 1"),
    ("tbf", "rate 100mbit burst 10kb latency 10ms"),
    ("pfifo", "limit 10"),
    ("prio", ""),
    ("fq", ""),
    ("fq_codel", ""),
    ("sfq", ""),
    ("drr", ""),
    ("ets", "bands 3"),
    ("etf", "clockid CLOCK_TAI delta 200000 skip_sock_check"),
    (
        "taprio",
        "num_tc 2 map 0 1 queues 1@0 1@1 base-time 0 sched-entry S 01 300000 sched-entry S 02 \
         300000 clockid CLOCK_TAI",
    ),
    ("mqprio", "num_tc 2 map 0 1 queues 1@0 1@1 hw 0"),
    ("cbs", "idleslope 98688 sendslope -901312 hicredit 153 locredit -1389"),
    ("netem", "delay 1ms"),
    ("clsact", ""),
];

/// Arguments after `tc filter add dev probe0 egress prio 1`; `~` stands for a space inside an
/// argument.
const FILTERS: [(&str, &str); 7] = [
    ("filter.bpf", "bpf bytecode 1,6~0~0~0 flowid 1:1"),
    ("filter.u32", "u32 match u32 0 0 flowid 1:1"),
    ("filter.flower", "flower action ok"),
    ("filter.matchall", "matchall action ok"),
    ("action.mirred", "u32 match u32 0 0 action mirred egress redirect dev probe1"),
    ("action.vlan", "u32 match u32 0 0 action vlan push id 5"),
    ("action.skbedit", "u32 match u32 0 0 action skbedit priority 1"),
];

/// Probes all features in a namespace of this name, which must not exist yet. Once `stop` is set,
/// the rest is skipped.
///
/// # Errors
/// If the namespace cannot be created.
pub fn probe(name: &str, stop: &AtomicBool) -> Result<Vec<Feature>, CommandError> {
    let scratch = Namespace::create(name)?;
    let mut found = vec![works("link.namespace")];
    let veth = "ip link add probe0 numtxqueues 2 numrxqueues 2 type veth peer name probe1 \
                numtxqueues 2 numrxqueues 2";
    let goes_on = || !stop.load(Ordering::Relaxed);
    let mut attempt = |id: String, command: &str| {
        if !goes_on() {
            return;
        }
        let refusal = run(&scratch, command).err();
        found.push(Feature { id, refusal });
    };
    attempt("link.veth".into(), veth);
    for (name, command) in LINKS {
        attempt(format!("link.{name}"), command);
    }
    for (name, options) in QDISCS {
        let place = if name == "clsact" { "" } else { "root" };
        let change = |verb| format!("tc qdisc {verb} dev {DEVICE} {place} {name}");
        attempt(format!("qdisc.{name}"), &format!("{} {options}", change("add")));
        if name != "clsact" && goes_on() {
            drop(run(&scratch, &format!("tc qdisc del dev {DEVICE} root")));
        }
    }
    for (id, what) in FILTERS {
        let place = format!("dev {DEVICE} egress prio 1");
        attempt(id.into(), &format!("tc filter add {place} protocol all {what}"));
        if goes_on() {
            drop(run(&scratch, &format!("tc filter del {place}")));
        }
    }
    if goes_on() {
        found.extend(try_xdp(&scratch));
    }
    Ok(found)
}

fn works(id: &str) -> Feature {
    Feature { id: id.to_owned(), refusal: None }
}

/// Probes XDP in a thread that stays in the namespace.
fn try_xdp(scratch: &Namespace) -> Vec<Feature> {
    let attempt = || {
        let inside = scratch.enter();
        let native = inside.and_then(|()| xdp::try_native(DEVICE));
        let results = [("xdp.native", native), ("xdp.socket", xdp::try_socket())];
        results.map(|(id, result)| Feature {
            id: id.to_owned(),
            refusal: result.err().map(|error| error.to_string()),
        })
    };
    let tried = std::thread::scope(|scope| scope.spawn(attempt).join());
    tried.map_or_else(|_| Vec::new(), Vec::from)
}

/// Runs a command in the namespace; returns the first line of its error.
fn run(scratch: &Namespace, command: &str) -> Result<(), String> {
    let words = command.split_whitespace().map(|word| word.replace('~', " "));
    let mut all = Command::new("ip");
    all.args(["netns", "exec", scratch.name()]).args(words);
    let output = all.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty());
    Err(line.unwrap_or("refused without a word").trim().to_owned())
}
