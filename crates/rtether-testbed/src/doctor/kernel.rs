//! The kernel and its network features.

use std::sync::atomic::AtomicBool;

use rtether_live::host::features::{Feature, probe};
use rtether_live::host::files::Files;

use super::{Finding, NAMES, State};

/// Id of a feature, its use, and how to get it.
const FEATURES: [(&str, &str, &str); 33] = [
    ("link.namespace", "hosts of a test bed", "CONFIG_NET_NS"),
    ("link.veth", "links of a test bed", "CONFIG_VETH"),
    ("link.bridge", "switches of a test bed", "CONFIG_BRIDGE"),
    ("link.bridge-vlans", "switches that tell VLANs apart", "CONFIG_BRIDGE_VLAN_FILTERING"),
    ("link.vlan", "tags by the kernel", "CONFIG_VLAN_8021Q"),
    ("link.tun", "smoother in user space", "CONFIG_TUN"),
    ("link.ifb", "shaping of received frames", "CONFIG_IFB"),
    ("qdisc.htb", "link rates and priorities of a test bed", "CONFIG_NET_SCH_HTB"),
    ("qdisc.tbf", "a rate for one link", "CONFIG_NET_SCH_TBF"),
    ("qdisc.pfifo", "queues of a given length", "CONFIG_NET_SCHED"),
    ("qdisc.prio", "strict priority", "CONFIG_NET_SCH_PRIO"),
    ("qdisc.fq", "pacing by flow", "CONFIG_NET_SCH_FQ"),
    ("qdisc.fq_codel", "fair queues", "CONFIG_NET_SCH_FQ_CODEL"),
    ("qdisc.sfq", "fair queues", "CONFIG_NET_SCH_SFQ"),
    ("qdisc.drr", "weighted queues", "CONFIG_NET_SCH_DRR"),
    ("qdisc.ets", "802.1Q weighted queues", "CONFIG_NET_SCH_ETS"),
    ("qdisc.etf", "sending at a given time", "CONFIG_NET_SCH_ETF"),
    ("qdisc.taprio", "802.1Qbv gates", "CONFIG_NET_SCH_TAPRIO"),
    ("qdisc.mqprio", "queues of the device by priority", "CONFIG_NET_SCH_MQPRIO"),
    ("qdisc.cbs", "802.1Qav credit", "CONFIG_NET_SCH_CBS"),
    ("qdisc.netem", "artificial loss and delay", "CONFIG_NET_SCH_NETEM"),
    ("qdisc.clsact", "classifiers without a queue", "CONFIG_NET_CLS_ACT"),
    ("filter.bpf", "priorities by DSCP and PCP", "CONFIG_NET_CLS_BPF"),
    ("filter.u32", "priorities by octets", "CONFIG_NET_CLS_U32"),
    ("filter.flower", "priorities by fields", "CONFIG_NET_CLS_FLOWER"),
    ("filter.matchall", "all frames of a device", "CONFIG_NET_CLS_MATCHALL"),
    ("action.mirred", "copies to another device", "CONFIG_NET_ACT_MIRRED"),
    ("action.vlan", "tags pushed by a classifier", "CONFIG_NET_ACT_VLAN"),
    ("action.skbedit", "priorities set by a classifier", "CONFIG_NET_ACT_SKBEDIT"),
    ("xdp.native", "AF_XDP without a copy of the socket buffer", "CONFIG_BPF_SYSCALL"),
    ("xdp.socket", "`--via xdp`", "CONFIG_XDP_SOCKETS"),
    ("tool.ip", "builds test beds", "iproute2"),
    ("tool.tc", "builds test beds", "iproute2"),
];

pub(super) fn findings(files: &Files, stop: &AtomicBool) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(release) = files.text("proc/sys/kernel/osrelease") {
        findings.push(version(files, &release));
    }
    let tools = ["ip", "tc"].map(|name| Feature {
        id: format!("tool.{name}"),
        refusal: rtether_live::namespace::run(&format!("{name} -V"))
            .err()
            .map(|error| error.message),
    });
    findings.extend(tools.iter().map(of_feature));
    let name = format!("{NAMES}{}", std::process::id());
    match probe(&name, stop) {
        Ok(features) => findings.extend(features.iter().map(of_feature)),
        Err(error) => findings.push(Finding::missing(
            "link.namespace",
            State::Note,
            error.to_string(),
            "hosts of a test bed; without one nothing below can be tried",
            "run as root, with iproute2 installed and CONFIG_NET_NS in the kernel",
        )),
    }
    findings
}

fn version(files: &Files, release: &str) -> Finding {
    let version = files.text("proc/sys/kernel/version").unwrap_or_default();
    let found = format!("{release} {version}");
    let is_real_time = version.contains("PREEMPT_RT");
    if is_real_time {
        Finding::ok("kernel.version", found, "fully preemptible")
    } else {
        Finding::note(
            "kernel.version",
            found,
            "not fully preemptible: a real-time thread may wait for kernel code",
            "a kernel with PREEMPT_RT, for example `apt install linux-image-rt-amd64`",
        )
    }
}

pub(super) fn of_feature(feature: &Feature) -> Finding {
    let known = FEATURES.iter().find(|(id, ..)| *id == feature.id);
    let (what, source) = known.map_or(("", "a kernel with it"), |(_, what, source)| (what, source));
    let id = feature.id.clone();
    let Some(refusal) = &feature.refusal else {
        return Finding::ok(id, "works", what);
    };
    let remedy = if id.starts_with("tool.") {
        format!("install {source}")
    } else if refusal.contains("permitted") || refusal.contains("denied") {
        "run as root".to_owned()
    } else {
        format!("a kernel with {source} (`modprobe` if it is a module)")
    };
    Finding::missing(id, State::Note, refusal.clone(), what, &remedy)
}
