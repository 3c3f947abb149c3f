//! `skeie-volume`: traffic volume of a substation (000 Skeie, section III; R3).

use super::{Comparison, Judge, ReproduceError, Reproduction, reference};
use rtether::run::Progress;

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

impl Volume {
    const PAPER: Self = Self {
        samples_per_second: 1440,
        phases: 3,
        points: 8,
        destinations: 4,
        payload: 32,
    };

    const fn packets_per_second(&self) -> u64 {
        self.samples_per_second * self.phases * self.points * self.destinations
    }

    const fn bits_per_packet(&self) -> u64 {
        (self.payload + OVERHEAD) * 8
    }

    const fn bits_per_second(&self) -> u64 {
        self.packets_per_second() * self.bits_per_packet()
    }

    /// Sends one frame to all destinations.
    const fn multicast(self) -> Self {
        Self {
            destinations: 1,
            ..self
        }
    }

    /// Sends all three phases in one packet.
    const fn three_phase(self) -> Self {
        Self {
            phases: 1,
            payload: self.payload * self.phases,
            ..self
        }
    }
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "all experiments have this signature"
)]
pub(super) fn run(_: &Progress) -> Result<Reproduction, ReproduceError> {
    let unicast = Volume::PAPER;
    let multicast = Volume::PAPER.multicast();
    let three_phase = Volume::PAPER.three_phase();
    let rounded = PAPER_PACKETS * unicast.bits_per_packet();

    let mut judge = Judge::new("skeie-volume");
    judge.judge(
        "C001",
        rounded.abs_diff(103_000_000) <= 1_000_000,
        format!(
            "{} packets/s x {} bit = {}",
            PAPER_PACKETS,
            unicast.bits_per_packet(),
            mbps(rounded)
        ),
        "the product differs from the printed one",
    );
    let volumes = [
        multicast.bits_per_second(),
        three_phase.bits_per_second(),
        unicast.bits_per_second(),
    ];
    judge.judge(
        "C002",
        volumes.is_sorted() && volumes[0] < volumes[1] && volumes[1] < volumes[2],
        volumes.map(mbps).join(" < "),
        "the remedies are not in this order",
    );
    let ours = |subject: &str, condition: &str| match (subject, condition) {
        ("sampling_rate", _) => Some(format!("{} Hz", unicast.samples_per_second)),
        ("packet_rate", _) => Some(format!("{} packets/s", unicast.packets_per_second())),
        ("packet_size", _) => Some(format!("{} bit", unicast.bits_per_packet())),
        ("data_volume", "unicast") => Some(mbps(unicast.bits_per_second())),
        ("data_volume", "multicast") => Some(mbps(multicast.bits_per_second())),
        ("data_volume", "three phases per node") => Some(mbps(three_phase.bits_per_second())),
        _ => None,
    };
    let comparisons = reference::values("skeie-volume")
        .into_iter()
        .filter_map(|value| {
            Some(Comparison {
                ours: ours(&value.subject, &value.condition)?,
                quantity: format!("{} ({})", value.subject.replace('_', " "), value.condition),
                paper: value.words(),
                source: value.source,
            })
        });
    Ok(Reproduction {
        id: "skeie-volume",
        title: "Traffic volume of a substation",
        mode: "analysis",
        comparisons: comparisons.collect(),
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![
            "The printed 50 Mbit/s for three phases in one packet is 57.5 Mbit/s by the paper's own \
             arithmetic; the printed 140 000 packets/s round 138 240 up for administrative data."
                .into(),
        ],
    })
}

#[allow(clippy::cast_precision_loss, reason = "three digits for display")]
fn mbps(bits_per_second: u64) -> String {
    format!("{:.1} Mbit/s", bits_per_second as f64 / 1e6)
}
