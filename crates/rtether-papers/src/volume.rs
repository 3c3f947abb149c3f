//! `skeie-volume`: traffic volume of a substation (000 Skeie, section III; R3), by
//! [`rtether::volume`], whose parameters `rtether volume` takes.

use rtether::volume::Volume;

use crate::prelude::*;

/// Packets per second in the paper, rounded up for administrative data.
const PAPER_PACKETS: u64 = 140_000;

#[allow(clippy::unnecessary_wraps, reason = "all experiments have this signature")]
pub(crate) fn run(page: &mut Page, _: &Progress) -> Outcome {
    page.analysis("Traffic volume of a substation");
    let rows = Volume::PRINTED.rows();
    let [unicast, multicast, three_phase, _] = rows.expect("three samples fit a frame");
    let bits = unicast.bits;
    let rounded = count_f64(PAPER_PACKETS * bits) / 1e6;
    let product = format!("{PAPER_PACKETS} packets/s x {bits} bit = {rounded:.1} Mbit/s");
    page.check("C001", [rounded], product);
    let volumes = [multicast, three_phase, unicast].map(|row| count_f64(row.bps()) / 1e6);
    let packets = unicast.packets;
    let [multicast, three_phase, unicast] = volumes.map(|mbps| format!("{mbps:.1} Mbit/s"));
    page.judge(
        "C002",
        volumes.is_sorted_by(|a, b| a < b),
        format!("{multicast} < {three_phase} < {unicast}"),
        "the remedies are not in this order",
    );
    page.compare(reference::values("skeie-volume"), |value| {
        let ours = match (&*value.subject, &*value.condition) {
            ("sampling_rate", _) => format!("{} Hz", Volume::PRINTED.samples),
            ("packet_rate", _) => format!("{packets} packets/s"),
            ("packet_size", _) => format!("{bits} bit"),
            ("data_volume", "unicast") => unicast.clone(),
            ("data_volume", "multicast") => multicast.clone(),
            ("data_volume", "three phases per node") => three_phase.clone(),
            _ => return None,
        };
        Some((value.name(), ours))
    });
    page.row(
        "share of Gigabit Ethernet, unicast",
        "named as a remedy, no number",
        format!("{:.0} %", volumes[2] / 10.0),
        "000 Skeie III",
    );
    page.note(
        "The printed 50 Mbit/s for three phases in one packet is 57.5 Mbit/s by the paper's own \
         arithmetic; the printed 140 000 packets/s round 138 240 up for administrative data.",
    );
    Ok(())
}
