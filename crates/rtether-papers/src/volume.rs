//! `skeie-volume`: traffic volume of a substation (000 Skeie, section III; R3).

use crate::prelude::*;

/// Sampled values in a substation.
///
/// The paper's arithmetic uses 60 octets of overhead per packet, a round figure between 54 (with
/// preamble) and 66 (with gap).
struct Volume {
    samples_per_second: u64,
    phases: u64,
    points: u64,
    destinations: u64,
    payload: u64,
}

const OVERHEAD: u64 = 60;

/// Packets per second in the paper, rounded up for administrative data.
const PAPER_PACKETS: u64 = 140_000;

const UNICAST: Volume = Volume {
    samples_per_second: 1440,
    phases: 3,
    points: 8,
    destinations: 4,
    payload: 32,
};
/// One frame goes to all destinations.
const MULTICAST: Volume = Volume {
    destinations: 1,
    ..UNICAST
};
/// All three phases are in one packet.
const THREE_PHASE: Volume = Volume {
    phases: 1,
    payload: UNICAST.payload * UNICAST.phases,
    ..UNICAST
};

impl Volume {
    const fn packets_per_second(&self) -> u64 {
        self.samples_per_second * self.phases * self.points * self.destinations
    }

    const fn bits_per_packet(&self) -> u64 {
        (self.payload + OVERHEAD) * 8
    }

    fn mbps(&self) -> f64 {
        count_f64(self.packets_per_second() * self.bits_per_packet()) / 1e6
    }
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "all experiments have this signature"
)]
pub(crate) fn run(page: &mut Page, _: &Progress) -> Outcome {
    page.analysis("Traffic volume of a substation");
    let bits = UNICAST.bits_per_packet();
    let rounded = count_f64(PAPER_PACKETS * bits) / 1e6;
    let product = format!("{PAPER_PACKETS} packets/s x {bits} bit = {rounded:.1} Mbit/s");
    page.check("C001", [rounded], product);
    let volumes = [MULTICAST, THREE_PHASE, UNICAST].map(|volume| volume.mbps());
    let [multicast, three_phase, unicast] = volumes.map(|mbps| format!("{mbps:.1} Mbit/s"));
    page.judge(
        "C002",
        volumes.is_sorted_by(|a, b| a < b),
        format!("{multicast} < {three_phase} < {unicast}"),
        "the remedies are not in this order",
    );
    page.compare(reference::values("skeie-volume"), |value| {
        let ours = match (&*value.subject, &*value.condition) {
            ("sampling_rate", _) => format!("{} Hz", UNICAST.samples_per_second),
            ("packet_rate", _) => format!("{} packets/s", UNICAST.packets_per_second()),
            ("packet_size", _) => format!("{bits} bit"),
            ("data_volume", "unicast") => unicast.clone(),
            ("data_volume", "multicast") => multicast.clone(),
            ("data_volume", "three phases per node") => three_phase.clone(),
            _ => return None,
        };
        Some((value.name(), ours))
    });
    page.note(
        "The printed 50 Mbit/s for three phases in one packet is 57.5 Mbit/s by the paper's own \
         arithmetic; the printed 140 000 packets/s round 138 240 up for administrative data.",
    );
    Ok(())
}
