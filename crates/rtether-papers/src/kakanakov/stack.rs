//! `kakanakov-stack`: components of the delay between two devices (001 Kakanakov 1.2; K1).
//!
//! `D_E = D_S + D_Tx + 2 D_prop + D_R + D_Q`: source stack, transmission, propagation, destination
//! stack, queueing. Here transmission counts once per link: a switch transmits again.

use rtether::profiles;
use rtether_model::network::{NodeKind, Stack};
use rtether_model::wire::{Encapsulation, wire_time};

use crate::echo;
use crate::plant::{self as common, Plant};
use crate::prelude::*;

const FAST: BitRate = BitRate::from_mbps(100);

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Stack and transmission delays of devices");
    let mut series = Vec::new();
    for (profile, class) in [("i586-166", HIGH), ("arm7-40", MEDIUM)] {
        let simulated = simulate(profile, &[128, 500, 1000].map(Bytes::new), progress)?;
        let paper = stack_delays(class);
        for (size, found) in &simulated {
            let printed = paper.iter().find(|(of, _)| of == size);
            let printed = printed.map_or_else(|| "size misprinted".into(), |p| p.1.to_string());
            let quantity = format!("stack delay, {class}, {size}");
            page.row(quantity, printed, found, "001 Kakanakov 1.2");
        }
        series.push(curve(profile, Style::Line, simulated));
        series.push(curve(format!("paper, {class}"), Style::Markers, paper));
    }
    page.compare(reference::values("kakanakov-stack"), |value| {
        let (size, network) = value.condition.split_once(" byte, ")?;
        let size = Bytes::new(size.parse().ok()?);
        let rate = match network {
            "Fast Ethernet" => FAST,
            "Gigabit Ethernet" => BitRate::from_mbps(1000),
            _ => return None,
        };
        let (bare, whole) = (rate.time_ceil(size), wire_time(size, rate));
        let quantity = format!("transmission, {}", value.condition);
        let is_transmission = value.subject == "transmission_delay";
        is_transmission.then(|| (quantity, format!("{bare}, with preamble {whole}")))
    });
    page.lines(
        "The delays of section 1.2.",
        ["Stack delay by size", "one passage"],
        [Axis::number("frame, octets"), Axis::time("delay")],
        series,
    );
    page.note(
        "Stacks are lines through the paper's delays. For the medium class the line has two \
         points, since the paper prints 4.65 ms \"for 100 bytes\"; it meets that value at 1000.",
    );
    page.note(
        "The paper's transmission delays leave the preamble out. Its 5.12 us for 64 octets at \
         Gigabit are not compared: a carrier-extended slot takes 4.096 us.",
    );
    page.note(
        "The paper's formula counts one transmission between two devices; a store-and-forward \
         switch in between adds another, as the simulation has it.",
    );
    Ok(())
}

/// Names of the device classes.
pub(crate) const HIGH: &str = "high performance";
pub(crate) const MEDIUM: &str = "medium performance";

/// Returns the stack delays of a device class by size, without the one with a misprinted size.
pub(crate) fn stack_delays(class: &str) -> Vec<(Bytes, Duration)> {
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
