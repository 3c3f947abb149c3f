//! `skeie-buses`: three buses against one network (000 Skeie III, figure 1).
//!
//! On three buses a value passes a node of each level: the process bus of a bay ends at its
//! controller, which sends the value on over the interbay bus, and files stay on the station bus. In
//! one network stations send directly, and files of the process interfaces cross all of it.

use rtether_model::flow::{Bulk, Flow, Phase, TcpParameters, Traffic, Transfer};
use rtether_model::network::{NodeId, NodeKind, Stack};
use rtether_model::record::{Record, StreamRecord};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::NoObserver;

use crate::observe::{merge, run_one};
use crate::plant::{self, Plant, flow};
use crate::prelude::*;

const FAST: BitRate = BitRate::from_mbps(100);
const BAYS: u16 = 4;
/// Current and voltage interfaces of a bay, as in section III.
const PISAS: u16 = 3;
/// Sampled values of section III, and a file of a tenth of its files.
const VALUE: (Encapsulation, Bytes) = (Encapsulation::Udp, Bytes::new(32));
const PERIOD: Duration = Duration::from_ms(1);
const FILE: Bytes = Bytes::new(101_000);
const LENGTH: Duration = Duration::from_secs(4);
const FILE_AT: Duration = Duration::from_secs(1);

/// A node that handles this many packets a second.
const fn rate(packets_per_second: i64) -> Stack {
    Stack::IpRate { service: Duration::from_ps(1_000_000_000_000 / packets_per_second) }
}
const PISA: Stack = rate(10_000);
const CONTROLLER: Stack = rate(20_000);
const BUSBAR: Stack = rate(50_000);

/// Ways of values through a plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    ThreeBuses,
    OneNetwork,
}

/// A plant with its flows; the first of them are those of values, part by part of their way.
struct Built {
    plant: Plant,
    /// Flows of each part of the way.
    parts: Vec<Vec<Flow>>,
    files: Vec<Flow>,
}

fn values(name: &str, ends: (NodeId, NodeId)) -> Flow {
    let traffic = Traffic::periodic(PERIOD, Phase::Random);
    flow(name, ends, VALUE, traffic)
}

fn file(ends: (NodeId, NodeId)) -> Flow {
    // The window of the other experiments of section III.
    let tcp = TcpParameters { window: Bytes::new(7_300), ..TcpParameters::default() };
    let traffic = Traffic::Bulk(Bulk {
        transfers: vec![Transfer { start: FILE_AT, size: Some(FILE) }],
        bursts: None,
        rate: None,
        tcp,
    });
    flow("file", ends, (Encapsulation::Tcp, tcp.segment), traffic)
}

impl Layout {
    fn build(self) -> Built {
        let mut plant = Plant::default();
        let bus = |plant: &mut Plant, name: &str, ports: u16| {
            let switch = plant::switch(usize::from(ports), Duration::from_us(1));
            plant.add(name, NodeKind::Switch(switch))
        };
        let attach = |plant: &mut Plant, name: &str, stack: &Stack, at: (NodeId, u16)| {
            let station = plant.station(name, stack.clone());
            plant.link((station, 0), at, FAST);
            station
        };
        let top = bus(&mut plant, "interbay bus", BAYS + 3);
        let busbar = attach(&mut plant, "busbar", &BUSBAR, (top, BAYS));
        let mut parts = match self {
            Self::ThreeBuses => vec![Vec::new(), Vec::new()],
            Self::OneNetwork => vec![Vec::new()],
        };
        let mut uploader = busbar;
        for bay in 0..BAYS {
            let own = bus(&mut plant, &format!("bus of bay {bay}"), PISAS + 2);
            let controller = format!("controller {bay}");
            let controller = attach(&mut plant, &controller, &CONTROLLER, (own, PISAS));
            let above = match self {
                Self::OneNetwork => {
                    plant.link((own, PISAS + 1), (top, bay), FAST);
                    controller
                }
                // Its second interface, with a stack of its own.
                Self::ThreeBuses => {
                    let name = format!("controller {bay}, interbay");
                    attach(&mut plant, &name, &CONTROLLER, (top, bay))
                }
            };
            for number in 0..PISAS {
                let name = format!("ct/vt {bay}.{number}");
                let pisa = attach(&mut plant, &name, &PISA, (own, number));
                let inside = values(&format!("{name} inside"), (pisa, controller));
                match self {
                    Self::OneNetwork => {
                        parts[0].push(values(&format!("{name} to busbar"), (pisa, busbar)));
                        parts[0].push(inside);
                        uploader = pisa;
                    }
                    Self::ThreeBuses => {
                        parts[0].push(inside);
                        parts[1].push(values(&format!("{name} sent on"), (above, busbar)));
                    }
                }
            }
        }
        let server = match self {
            Self::OneNetwork => attach(&mut plant, "server", &BUSBAR, (top, BAYS + 1)),
            Self::ThreeBuses => {
                let station = bus(&mut plant, "station bus", 2);
                uploader = attach(&mut plant, "gateway", &CONTROLLER, (station, 0));
                attach(&mut plant, "server", &BUSBAR, (station, 1))
            }
        };
        Built { plant, parts, files: vec![file((uploader, server))] }
    }

    /// Simulates it with or without a file, and returns the streams of values of each part.
    fn simulate(
        self,
        has_file: bool,
        progress: &Progress,
    ) -> Result<Vec<StreamRecord>, ReproduceError> {
        let built = self.build();
        let sizes: Vec<usize> = built.parts.iter().map(Vec::len).collect();
        let mut flows: Vec<Flow> = built.parts.into_iter().flatten().collect();
        if has_file {
            flows.extend(built.files);
        }
        let times = (LENGTH, Duration::ZERO);
        let scenario = plant::scenario("substation by buses", built.plant.network, flows, times);
        let Record { streams, .. } = run_one(&scenario, 1, progress, &mut NoObserver)?;
        let mut rest = &streams[..];
        let parts = sizes.into_iter().map(|size| {
            let (own, others) = rest.split_at(size);
            rest = others;
            merge(own)
        });
        Ok(parts.collect())
    }
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Values from the process to the station: three buses, and one network");
    let mut means = Vec::new();
    let mut longest = Vec::new();
    for (layout, name) in [(Layout::ThreeBuses, "three buses"), (Layout::OneNetwork, "one network")]
    {
        for has_file in [false, true] {
            let parts = layout.simulate(has_file, progress)?;
            let mean: Duration = parts.iter().filter_map(|part| part.latency.mean()).sum();
            let most: Duration = parts.iter().map(|part| part.latency.max).sum();
            let load = if has_file { "with a file" } else { "quiet" };
            page.row(
                format!("interface to busbar, {name}, {load}"),
                "drawn, no number",
                format!("mean {mean}, at most {most}"),
                "000 Skeie III Fig. 1",
            );
            means.push(mean);
            longest.push(most);
        }
    }
    let words = format!("mean {} on three buses, {} in one network", means[0], means[2]);
    let is_shorter = means[2] < means[0];
    page.judge("C095", is_shorter, words, "the way over three buses is not longer");
    page.check("C096", [longest[2], longest[3]], listed(&longest[2..], " quiet, with a file "));
    page.note(
        "Three buses: a controller passes values on by a second interface with a stack of its own; the \
         time of its program is left out, and the largest times of both parts are added. The file is \
         sent on the station bus and meets no value. In one network a process interface sends it.",
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand, for the smallest: 32 octets over UDP are 78 of a frame, 86 on the wire, 6.88
    /// us a link. Over the process bus 100 us, two links, 1 us, 50 ns of cable and 50 us; over the
    /// interbay bus 50 us, the same way, and 20 us.
    #[test]
    fn a_value_alone_by_hand() {
        let parts = Layout::ThreeBuses.simulate(false, &Progress::default()).expect("runs");
        let wires = Duration::from_ns(2 * 6_880 + 1_000 + 50);
        let least = [150, 70].map(|us| Duration::from_us(us) + wires);
        let found: Vec<Duration> = parts.iter().map(|part| part.latency.min).collect();
        assert_eq!(found, least);
    }

    /// Oracle: how they are built: no value meets the file on three buses.
    #[test]
    fn files_stay_on_the_station_bus() {
        let both = [false, true].map(|has_file| {
            let parts = Layout::ThreeBuses.simulate(has_file, &Progress::default());
            let parts = parts.expect("runs").into_iter();
            parts.map(|part| part.latency).collect::<Vec<_>>()
        });
        assert_eq!(both[0], both[1]);
    }
}
