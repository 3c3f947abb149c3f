//! Network devices: time stamping, offloads, interrupts.

use rtether_live::host::device::{Coalescing, Settings, Stamping, settings};
use rtether_live::host::files::Files;

use super::{Finding, State};

/// Largest number of devices examined; a host may have thousands of virtual ones.
const MOST: usize = 16;
/// Interrupt delay of a frame, in microseconds, above which it counts as a problem.
const WAIT_LIMIT: u32 = 20;

pub(super) fn findings(files: &Files) -> Vec<Finding> {
    let mut names = files.names("sys/class/net");
    names.retain(|name| name != "lo");
    names.truncate(MOST);
    let devices: Vec<(String, Settings)> =
        names.into_iter().filter_map(|name| Some((name.clone(), settings(&name).ok()?))).collect();
    let mut findings = stamping(&devices);
    for (name, settings) in &devices {
        findings.extend(of_device(name, settings));
        findings.extend(interrupts(files, name));
    }
    findings
}

/// Whether any device stamps frames; loopback and veth stamp in software without reporting it.
pub(super) fn stamping(devices: &[(String, Settings)]) -> Vec<Finding> {
    let having = |has: fn(Stamping) -> bool| {
        let with = devices.iter().filter(|(_, of)| of.stamping.is_some_and(has));
        let names: Vec<&str> = with.map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    };
    let hardware = having(Stamping::is_hardware);
    let hardware = if hardware.is_empty() {
        Finding::missing(
            "timestamps.hardware",
            State::Note,
            "no device",
            "delays of the kernel and of the wire cannot be told apart at the device",
            "a network card with IEEE 1588 time stamping, for example Intel I210 or I225",
        )
    } else {
        let what = "frames are stamped at the device";
        Finding::ok("timestamps.hardware", hardware, what)
    };
    let both = having(|of| of.is_software_sent() && of.is_software_received());
    let received = having(Stamping::is_software_received);
    let what = "delays of the stack and of the application can be told apart";
    let software = if !both.is_empty() {
        Finding::ok("timestamps.software", both, what)
    } else if received.is_empty() {
        Finding::missing(
            "timestamps.software",
            State::Note,
            "no device but loopback and veth",
            what,
            "a device whose driver stamps frames (`ethtool -T NAME`)",
        )
    } else {
        let remedy = "a device whose driver stamps frames that are sent too (`ethtool -T NAME`)";
        let found = format!("received frames only: {received}");
        Finding::note("timestamps.software", found, what, remedy)
    };
    vec![software, hardware]
}

fn of_device(name: &str, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let offloads = [("tso", settings.tso), ("gso", settings.gso), ("gro", settings.gro)];
    let on: Vec<&str> = offloads
        .into_iter()
        .filter_map(|(name, state)| (state == Some(true)).then_some(name))
        .collect();
    let id = format!("device.{name}.offloads");
    let what = "segments of TCP pass the stack in bundles, so that a real-time frame may wait for \
        up to 64 KiB, and captures show frames that are never on the wire";
    if on.is_empty() {
        findings.push(Finding::ok(id, "none", what));
    } else {
        let off: Vec<String> = on.iter().map(|name| format!("{name} off")).collect();
        let remedy = format!("`sudo ethtool -K {name} {}`", off.join(" "));
        findings.push(Finding::note(id, on.join(", "), what, &remedy));
    }
    if let Some(coalescing) = settings.coalescing {
        findings.push(moderation(name, coalescing));
    }
    findings
}

pub(super) fn moderation(name: &str, of: Coalescing) -> Finding {
    let id = format!("device.{name}.interrupts-moderated");
    let adaptive = if of.is_adaptive { ", adaptive" } else { "" };
    let found =
        format!("received frames wait {} us, sent ones {} us{adaptive}", of.receive_us, of.send_us);
    let what = "every received frame may wait this long for its interrupt";
    if of.receive_us == 0 && !of.is_adaptive {
        return Finding::ok(id, found, what);
    }
    let remedy = format!("`sudo ethtool -C {name} adaptive-rx off rx-usecs 0 tx-usecs 0`");
    let note = Finding::note(id, found, what, &remedy);
    if of.receive_us > WAIT_LIMIT { note.worse() } else { note }
}

/// Cores that serve the interrupts of a device.
fn interrupts(files: &Files, name: &str) -> Option<Finding> {
    let numbers = files.names(&format!("sys/class/net/{name}/device/msi_irqs"));
    let cores: Vec<String> = numbers
        .iter()
        .take(MOST)
        .filter_map(|number| files.text(&format!("proc/irq/{number}/smp_affinity_list")))
        .collect();
    if cores.is_empty() {
        return None;
    }
    let mut distinct = cores;
    distinct.dedup();
    Some(Finding::note(
        format!("device.{name}.interrupt-cores"),
        format!("cores {}", distinct.join("; ")),
        "an interrupt on the core of a spinning thread takes time from it; one on another core \
         wakes a sleeping thread from there",
        "stop irqbalance, then `echo CORE | sudo tee /proc/irq/N/smp_affinity_list`",
    ))
}
