//! Traffic of sampled values, by multiplication: measurement points, phases, samples and destinations
//! (000 Skeie, section III; R3).
//!
//! What is sent to each destination in a packet of its own can be sent once to a group, and the
//! phases of a point can share a packet; [`Volume::rows`] has all four combinations.

use rtether_model::quantity::Bytes;
use rtether_model::wire::{Encapsulation, frame_size};
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Screen, Table};
use rtether_report::text::{percent, real};
use schemars::JsonSchema;
use serde::Serialize;

/// Rates of links that a volume is compared with, in Mbit/s.
const LINKS: [u64; 3] = [10, 100, 1000];

/// What a packet has beside its payload (R2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overhead {
    /// Headers and FCS of UDP over Ethernet, 46 octets, in a frame of at least 64.
    Udp,
    /// Header and FCS of Ethernet alone, 18 octets, in a frame of at least 64.
    Raw,
    /// This many octets, whatever the frame.
    Octets(u64),
}

impl Overhead {
    /// Octets that the paper adds: a round figure between 54, with preamble, and 66, with the gap
    /// between frames.
    pub const PRINTED: Self = Self::Octets(60);

    /// Returns the octets of a packet; `None` if its payload does not fit one frame.
    fn packet(self, payload: u64) -> Option<u64> {
        let payload = Bytes::new(payload);
        let (over, octets) = match self {
            Self::Udp => (Encapsulation::Udp, None),
            Self::Raw => (Encapsulation::Raw, None),
            Self::Octets(octets) => (Encapsulation::Raw, Some(octets)),
        };
        (payload <= over.max_payload()).then(|| match octets {
            Some(octets) => payload.get() + octets,
            None => frame_size(payload, over).get(),
        })
    }

    fn words(self) -> String {
        match self {
            Self::Udp => "the 46 B of UDP".into(),
            Self::Raw => "the 18 B of Ethernet".into(),
            Self::Octets(octets) => format!("{octets} B"),
        }
    }
}

/// Sampled values of a plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Measurement points.
    pub points: u64,
    /// Phases of each point, each with samples of its own.
    pub phases: u64,
    /// Samples of a phase in a second.
    pub samples: u64,
    /// Stations that need each sample.
    pub destinations: u64,
    /// Octets of a sample.
    pub payload: u64,
    /// What a packet has beside its payload.
    pub overhead: Overhead,
}

/// A way to send the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// In words.
    pub name: &'static str,
    /// Packets in a second.
    pub packets: u64,
    /// Bits of a packet.
    pub bits: u64,
}

impl Row {
    /// Returns the bits in a second.
    pub const fn bps(&self) -> u64 {
        self.packets.saturating_mul(self.bits)
    }

    /// Returns the share of a link of this rate in Mbit/s.
    fn share(&self, mbps: u64) -> f64 {
        real(self.bps()) / real(mbps * 1_000_000)
    }
}

impl Volume {
    /// The estimate that the paper prints, with the smaller number of points and the larger of
    /// destinations.
    pub const PRINTED: Self = Self {
        points: 8,
        phases: 3,
        samples: 1440,
        destinations: 4,
        payload: 32,
        overhead: Overhead::PRINTED,
    };

    /// Returns each way to send the samples; `None` if the phases of a point do not fit one frame.
    pub fn rows(&self) -> Option<[Row; 4]> {
        let row = |name, phases: u64, destinations: u64| {
            let together = self.phases / phases;
            let packets = [self.points, phases, destinations].into_iter();
            Some(Row {
                name,
                packets: packets.fold(self.samples, u64::saturating_mul),
                bits: self.overhead.packet(self.payload.checked_mul(together)?)? * 8,
            })
        };
        Some([
            row("unicast", self.phases, self.destinations)?,
            row("multicast", self.phases, 1)?,
            row("phases of a point together", 1, self.destinations)?,
            row("both", 1, 1)?,
        ])
    }
}

/// A volume with its rows, as shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    of: Volume,
    rows: [Row; 4],
}

/// Traffic of sampled values, and what was asked for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VolumeJson {
    /// Measurement points.
    points: u64,
    /// Phases of each point.
    phases: u64,
    /// Samples of a phase in a second.
    samples_per_second: u64,
    /// Stations that need each sample.
    destinations: u64,
    /// Octets of a sample.
    payload_bytes: u64,
    /// What a packet has beside its payload, in words.
    overhead: String,
    /// Each way to send the samples.
    volumes: Vec<RowJson>,
}

#[derive(Serialize, JsonSchema)]
struct RowJson {
    /// The way in words.
    sent: &'static str,
    /// Packets in a second.
    packets_per_second: u64,
    /// Bits of a packet.
    packet_bits: u64,
    /// Bits in a second.
    rate_bps: u64,
    /// Their share of a link of 10 Mbit/s.
    of_10_mbps_ratio: f64,
    /// Their share of a link of 100 Mbit/s.
    of_100_mbps_ratio: f64,
    /// Their share of a link of 1 Gbit/s.
    of_1000_mbps_ratio: f64,
}

impl Document for VolumeJson {
    const SCHEMA: &'static str = "rtether.volume/1";
}

impl RowJson {
    fn of(row: &Row) -> Self {
        let [of_10_mbps_ratio, of_100_mbps_ratio, of_1000_mbps_ratio] =
            LINKS.map(|mbps| row.share(mbps));
        Self {
            sent: row.name,
            packets_per_second: row.packets,
            packet_bits: row.bits,
            rate_bps: row.bps(),
            of_10_mbps_ratio,
            of_100_mbps_ratio,
            of_1000_mbps_ratio,
        }
    }
}

impl Shown {
    /// Returns a volume as it is shown; `None` if the phases of a point do not fit one frame.
    pub fn new(of: Volume) -> Option<Self> {
        Some(Self { of, rows: of.rows()? })
    }

    fn table(&self) -> Table {
        let mut table = Table::of(self.rows)
            .both("sent", "sent", |row| row.name)
            .number("packets/s", "packets_per_second", |row| row.packets)
            .number("bit", "packet_bits", |row| row.bits)
            .amount("Mbit/s", |row| format!("{:.1}", real(row.bps()) / 1e6))
            .file("rate_bps", Row::bps);
        for mbps in LINKS {
            table = table
                .amount(format!("of {mbps} Mbit/s"), move |row| percent(row.share(mbps)))
                .file(format!("of_{mbps}_mbps_ratio"), move |row| row.share(mbps));
        }
        table.done()
    }
}

impl Render for Shown {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let Volume { points, phases, samples, destinations, payload, overhead } = self.of;
        let words = format!(
            "{points} points of {phases} phases, {samples} samples a second of {payload} B, each for \
             {destinations} destinations, with {}:\n",
            overhead.words()
        );
        vec![words.into(), self.table().into()]
    }

    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        let Volume { points, phases, samples, destinations, payload, overhead } = self.of;
        document::text(&VolumeJson {
            points,
            phases,
            samples_per_second: samples,
            destinations,
            payload_bytes: payload,
            overhead: overhead.words(),
            volumes: self.rows.iter().map(RowJson::of).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand: 1440 * 3 * 8 * 4 = 138 240 packets of 92 octets; a group takes a quarter of
    /// them; three phases in one packet are 156 octets, a third of the packets.
    #[test]
    fn the_paper_by_hand() {
        let rows = Volume::PRINTED.rows().expect("fits a frame");
        let found = rows.map(|row| (row.packets, row.bits, row.bps()));
        let expected = [
            (138_240, 736, 101_744_640),
            (34_560, 736, 25_436_160),
            (46_080, 1248, 57_507_840),
            (11_520, 1248, 14_376_960),
        ];
        assert_eq!(found, expected);
    }

    /// Oracle: the overheads of R2, by hand: 32 + 46 = 78; 32 + 18 = 50, in the shortest frame of 64;
    /// 96 + 18 = 114.
    #[test]
    fn overheads_are_chosen() {
        let bits = |overhead| {
            let volume = Volume { overhead, ..Volume::PRINTED };
            volume.rows().expect("fits a frame").map(|row| row.bits / 8)
        };
        assert_eq!(bits(Overhead::Udp), [78, 78, 142, 142]);
        assert_eq!(bits(Overhead::Raw), [64, 64, 114, 114]);
        assert_eq!(bits(Overhead::Octets(60)), [92, 92, 156, 156]);
        // Three phases of 500 octets are 1500: a whole frame without UDP, too much with it.
        let long = |overhead| Volume { payload: 500, overhead, ..Volume::PRINTED };
        assert!(long(Overhead::Raw).rows().is_some());
        assert!(long(Overhead::Udp).rows().is_none());
    }

    /// Oracle: 101.74464 Mbit/s are 1017 % of 10 Mbit/s, 102 % of 100, and 10 % of a Gigabit.
    #[test]
    fn every_form_says_the_same() {
        let shown = Shown::new(Volume::PRINTED).expect("fits a frame");
        let text = shown.render(rtether_report::format::Format::Table, Screen::default());
        for part in ["138240", "101.7", "1017 %", "102 %", "10 %", "57.5"] {
            assert!(text.contains(part), "{text}");
        }
        let csv = shown.render(rtether_report::format::Format::Csv, Screen::default());
        assert!(csv.starts_with("sent,packets_per_second,packet_bits,rate_bps,of_10_mbps_ratio"));
        let json: serde_json::Value = serde_json::from_str(&shown.json()).expect("JSON");
        assert_eq!(json["volumes"][0]["rate_bps"], 101_744_640);
        assert_eq!(json["volumes"][0]["of_1000_mbps_ratio"], 0.101_744_64);
    }
}
