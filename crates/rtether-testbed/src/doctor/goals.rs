//! What can be done on a host.

use super::{Finding, Report};

/// A task that needs more of a host than the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Name on the command line.
    pub name: &'static str,
    /// What the task is.
    pub description: &'static str,
    /// Ids of the findings that must be there.
    needs: &'static [&'static str],
}

const TESTBED: &[&str] =
    &["rights.net-admin", "rights.sys-admin", "tool.ip", "tool.tc", "link.namespace", "link.veth"];

/// All goals.
pub const GOALS: [Goal; 12] = [
    Goal { name: "ping-raw", description: "round trips of raw frames", needs: &["rights.net-raw"] },
    Goal { name: "ping-icmp", description: "round trips of ICMP echo", needs: &["rights.net-raw"] },
    Goal {
        name: "ping-xdp",
        description: "round trips over AF_XDP",
        needs: &["rights.net-admin", "rights.bpf", "rights.net-raw", "xdp.socket"],
    },
    Goal {
        name: "realtime",
        description: "measuring threads that nothing holds up",
        needs: &["realtime.fifo", "memory.lock"],
    },
    Goal {
        name: "testbed-kernel",
        description: "links and switches by the kernel",
        needs: &[
            "rights.net-admin",
            "rights.sys-admin",
            "tool.ip",
            "tool.tc",
            "link.namespace",
            "link.veth",
            "link.bridge",
            "qdisc.htb",
            "qdisc.clsact",
            "filter.bpf",
        ],
    },
    Goal {
        name: "testbed-emulated",
        description: "links and switches by rtether itself",
        needs: &[
            "rights.net-admin",
            "rights.sys-admin",
            "rights.net-raw",
            "tool.ip",
            "link.namespace",
            "link.veth",
            "realtime.fifo",
        ],
    },
    Goal { name: "calibrate", description: "costs of this host's stack", needs: TESTBED },
    Goal {
        name: "timestamps-sw",
        description: "stamps by the kernel on a network card",
        needs: &["timestamps.software"],
    },
    Goal {
        name: "timestamps-hw",
        description: "stamps by the network card",
        needs: &["timestamps.hardware", "clock.hardware"],
    },
    Goal {
        name: "confinement",
        description: "services that give up user, files and system calls",
        needs: &["confine.user", "confine.files", "confine.calls"],
    },
    Goal {
        name: "rtps",
        description: "samples of the size of --sample over RTPS",
        needs: &["rtps.reliable", "rtps.best-effort"],
    },
    Goal {
        name: "one-way",
        description: "one-way delays between hosts",
        needs: &["clock.synchronized"],
    },
];

/// Returns the goal named `name`.
pub fn goal(name: &str) -> Option<&'static Goal> {
    GOALS.iter().find(|goal| goal.name == name)
}

/// A requirement of a goal that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle<'a> {
    /// Id of the finding.
    pub need: &'static str,
    /// What was found instead; `None` if it was not examined.
    pub finding: Option<&'a Finding>,
}

impl Goal {
    /// Returns what is missing; empty if the goal is possible.
    pub fn obstacles<'a>(&self, report: &'a Report) -> Vec<Obstacle<'a>> {
        let needs = self.needs.iter().map(|need| Obstacle { need, finding: report.find(need) });
        needs.filter(|obstacle| !obstacle.finding.is_some_and(|finding| finding.is_there)).collect()
    }
}
