//! `kakanakov-stack`: components of the delay between two devices (001 Kakanakov 1.2; K1).
//!
//! `D_E = D_S + D_Tx + 2 D_prop + D_R + D_Q`: source stack, transmission, propagation, destination
//! stack, queueing. Here transmission counts once per link: a switch transmits again.

use rtether_model::network::{NodeKind, Stack};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::{Encapsulation, wire_time};

use super::super::plant::{self as common, Plant};
use super::super::{
    Comparison, Figure, Judge, ReproduceError, Reproduction, echo, observe, reference,
};
use rtether::profiles;
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

const PLACE: &str = "001 Kakanakov 1.2";
const FAST: BitRate = BitRate::from_mbps(100);

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let mut comparisons = Vec::new();
    let mut series = Vec::new();
    for (profile, class) in [("i586-166", HIGH), ("arm7-40", MEDIUM)] {
        let sizes = [128, 500, 1000].map(Bytes::new);
        let simulated = simulate(profile, &sizes, progress)?;
        let paper = stack_delays(class);
        for (size, found) in &simulated {
            let printed = paper.iter().find(|(of, _)| of == size);
            comparisons.push(Comparison {
                quantity: format!("stack delay, {class}, {size}"),
                paper: printed.map_or_else(|| "size misprinted".into(), |p| p.1.to_string()),
                ours: found.to_string(),
                source: PLACE.into(),
            });
        }
        let points = |all: &[(Bytes, Duration)]| {
            let all = all.iter();
            all.map(|(size, time)| (observe::count_f64(size.get()), time.as_secs_f64()))
                .collect()
        };
        series.push(Series {
            name: profile.into(),
            points: points(&simulated),
            style: Style::Line,
        });
        series.push(Series {
            name: format!("paper, {class}"),
            points: points(&paper),
            style: Style::Markers,
        });
    }
    comparisons.extend(transmissions());
    Ok(Reproduction {
        id: "kakanakov-stack",
        title: "Stack and transmission delays of devices",
        mode: "sim",
        comparisons,
        claims: Judge::new("kakanakov-stack").finish(),
        figures: vec![figure(series)],
        notes: vec![
            "Stacks are lines through the paper's delays. For the medium class the line has two \
             points, since the paper prints 4.65 ms \"for 100 bytes\"; it meets that value at 1000."
                .into(),
            "The paper's transmission delays leave the preamble out. Its 5.12 us for 64 octets at \
             Gigabit are not compared: a carrier-extended slot takes 4.096 us."
                .into(),
            "The paper's formula counts one transmission between two devices; a store-and-forward \
             switch in between adds another, as the simulation has it."
                .into(),
        ],
    })
}

/// Names of the device classes.
pub(in super::super) const HIGH: &str = "high performance";
pub(in super::super) const MEDIUM: &str = "medium performance";

/// Returns the stack delays of a device class by size, without the one with a misprinted size.
pub(in super::super) fn stack_delays(class: &str) -> Vec<(Bytes, Duration)> {
    let values = reference::values("kakanakov-stack").into_iter();
    values
        .filter(|value| value.condition.starts_with(class))
        .filter_map(|value| {
            let (_, size) = value.condition.rsplit_once("; ")?;
            let octets = size.strip_suffix(" byte")?.parse().ok()?;
            Some((Bytes::new(octets), value.time()?))
        })
        .collect()
}

/// Returns the stack delay for frames of some sizes: the time an echo spends in it each way.
fn simulate(
    profile: &str,
    sizes: &[Bytes],
    progress: &Progress,
) -> Result<Vec<(Bytes, Duration)>, ReproduceError> {
    let unknown = || ReproduceError::Scenario(format!("no profile `{profile}`"));
    let station = profiles::find(profile).ok_or_else(unknown)?.station();
    let mut plant = Plant::default();
    let peer = plant.station("peer", Stack::Zero);
    let device = plant.add("device", NodeKind::EndStation(station));
    plant.link((peer, 0), (device, 0), FAST);
    let sizes = sizes.iter().map(|&size| {
        let payload = Bytes::new(size.get() - 18);
        let form = (Encapsulation::Raw, payload);
        let flow = common::echoed(common::flow("echo", (peer, device), form, echo::ADAPTIVE));
        let echoes = echo::measure(&plant.network, &[flow], 10, 1, progress)?;
        let wires = (wire_time(size, FAST) + common::PATCH) * 2;
        let round_trip = echoes.summary().mean().unwrap_or_default();
        Ok((size, (round_trip - wires) / 2))
    });
    sizes.collect()
}

fn transmissions() -> Vec<Comparison> {
    let values = reference::values("kakanakov-stack").into_iter();
    let rows = values.filter(|value| value.subject == "transmission_delay");
    let rows = rows.filter_map(|value| {
        let (size, network) = value.condition.split_once(" byte, ")?;
        let size = Bytes::new(size.parse().ok()?);
        let rate = match network {
            "Fast Ethernet" => FAST,
            "Gigabit Ethernet" => BitRate::from_mbps(1000),
            _ => return None,
        };
        let (bare, whole) = (rate.time_ceil(size), wire_time(size, rate));
        Some(Comparison {
            quantity: format!("transmission, {}", value.condition),
            paper: value.words(),
            ours: format!("{bare}, with preamble {whole}"),
            source: value.source,
        })
    });
    rows.collect()
}

fn figure(series: Vec<Series>) -> Figure {
    let chart = LineChart {
        title: "Stack delay by size".into(),
        note: "one passage".into(),
        x: Axis::number("frame, octets"),
        y: Axis::time("delay"),
        series,
        ..LineChart::default()
    };
    Figure {
        caption: "The delays of section 1.2.".into(),
        drawing: chart.render(),
    }
}
