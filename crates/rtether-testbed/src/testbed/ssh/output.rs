//! Output about the hosts of a run.

use rtether_model::flow::Flow;
use rtether_model::wire::Encapsulation;
use schemars::JsonSchema;
use serde::Serialize;

use super::clocks::EXCHANGES;
use super::{Basis, HostClock, HostReport};
use crate::testbed::Measured;
use rtether::report::text::{plain_line, plural, time};
use rtether::scenario::Scenario;
use rtether::verdict::{Assessment, Verdict};

/// Returns facts about the hosts, one line each.
pub(in crate::testbed) fn lines(scenario: &Scenario, measured: &Measured) -> Vec<String> {
    let hosts = &measured.hosts;
    if hosts.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "network        the real one between {}: links and switches of the scenario are not made",
        plural(hosts.len(), "host")
    )];
    let is_asked_for = |flow: &&Flow| {
        let is_ip = matches!(flow.encapsulation, Encapsulation::Udp | Encapsulation::Tcp);
        flow.tag.is_some() && is_ip
    };
    if scenario.flows.iter().any(|flow| is_asked_for(&flow)) {
        lines.push(
            "tags           UDP and TCP flows ask their host for the priority (SO_PRIORITY); only a \
             VLAN device makes it a tag"
                .into(),
        );
    }
    lines.extend(hosts.iter().map(|host| line(scenario, host)));
    lines
}

fn line(scenario: &Scenario, host: &HostReport) -> String {
    let name = &scenario.network.node(host.node).name;
    let [ip, mac] = &host.addresses;
    let clock = match host.clock {
        None => "fell out".into(),
        Some(HostClock::Same) => "clock of this host".into(),
        Some(HostClock::Apart { offset_ns, uncertainty, moved, basis }) => {
            let basis = match basis {
                Basis::Exchanges => format!("{EXCHANGES} exchanges over ssh, before and after"),
                Basis::Synchronized => "both synchronized".into(),
            };
            format!(
                "clock offset {}, error at most {} ({basis}), moved by {}",
                seconds(offset_ns),
                time(uncertainty),
                time(moved)
            )
        }
    };
    plain_line(&format!(
        "host           {name} on {}, {} ({ip}, {mac}): {clock}",
        host.target, host.device
    ))
}

/// Formats nanoseconds as seconds, exactly: clocks may be years apart.
fn seconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, rest) = (ns.unsigned_abs() / 1_000_000_000, ns.unsigned_abs() % 1_000_000_000);
    format!("{sign}{whole}.{rest:09} s")
}

/// A host that takes part.
#[derive(Serialize, JsonSchema)]
pub(in crate::testbed) struct HostJson<'a> {
    /// The station that it plays.
    node: &'a str,
    /// Its name for ssh.
    target: &'a str,
    /// Its device.
    device: &'a str,
    /// IP address of the device.
    ip: &'a str,
    /// Ethernet address of the device.
    mac: &'a str,
    /// Its clock; `null` for a host that fell out.
    clock: Option<ClockJson>,
}

#[derive(Serialize, JsonSchema)]
struct ClockJson {
    /// Whether it is that of the coordinator.
    same: bool,
    #[serde(flatten)]
    apart: Option<ApartJson>,
}

#[derive(Serialize, JsonSchema)]
struct ApartJson {
    /// How far it is ahead of that of the coordinator, at the start of the run.
    offset_ns: i64,
    /// Largest error of the offset.
    uncertainty_ns: i64,
    /// How much the offset changed during the run.
    moved_ns: i64,
    /// How the offset was found: `exchanges` over the connection, or `synchronized` clocks.
    basis: &'static str,
}

/// Returns the hosts as documents have them.
pub(in crate::testbed) fn json<'a>(
    scenario: &'a Scenario,
    measured: &'a Measured,
) -> Vec<HostJson<'a>> {
    measured.hosts.iter().map(|host| HostJson::of(scenario, host)).collect()
}

impl<'a> HostJson<'a> {
    fn of(scenario: &'a Scenario, host: &'a HostReport) -> Self {
        let [ip, mac] = &host.addresses;
        Self {
            node: &scenario.network.node(host.node).name,
            target: &host.target,
            device: &host.device,
            ip,
            mac,
            clock: host.clock.map(ClockJson::of),
        }
    }
}

impl ClockJson {
    fn of(clock: HostClock) -> Self {
        let apart = match clock {
            HostClock::Same => None,
            HostClock::Apart { offset_ns, uncertainty, moved, basis } => Some(ApartJson {
                offset_ns,
                uncertainty_ns: uncertainty.as_ns_floor(),
                moved_ns: moved.as_ns_floor(),
                basis: match basis {
                    Basis::Exchanges => "exchanges",
                    Basis::Synchronized => "synchronized",
                },
            }),
        };
        Self { same: apart.is_none(), apart }
    }
}

/// Marks a stream without delays as not answered, unless lost packets already decide its verdict.
pub(in crate::testbed) fn leave_open(
    scenario: &Scenario,
    flow: &Flow,
    why: &str,
    assessment: &mut Assessment,
) {
    let is_due =
        flow.deadline.is_some() && scenario.accept.iter().any(|line| line.judges_deadline(flow));
    if is_due {
        assessment.verdict = assessment.verdict.max(Verdict::NoAnswer);
    }
    if assessment.verdict == Verdict::NoAnswer {
        // The reason would claim that nothing was delivered.
        assessment.reasons.clear();
    }
    assessment.reasons.push(why.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_shown_whole() {
        assert_eq!(seconds(-1_000_000_001), "-1.000000001 s");
        assert_eq!(seconds(86_400_000_000_000), "86400.000000000 s");
    }
}
