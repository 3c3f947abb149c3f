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
/// Latency of the switch; the paper's equation has none.
const LATENCY: Duration = Duration::from_us(5);

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
    for (profile, class) in [("i586-166", HIGH), ("arm7-40", MEDIUM)] {
        for (size, stack) in stack_delays(class) {
            let sum = Sum::of(stack, size);
            let simulated = simulate_over_switch(profile, size, progress)?;
            page.row(
                format!("delay between two devices, {class}, {size}"),
                format!("{} by its equation", sum.of_paper()),
                format!("{} by link, {simulated} simulated", sum.by_link()),
                "001 Kakanakov 1.2",
            );
        }
    }
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

/// The terms of the delay between two equal devices at a switch, `D_E = D_S + D_Tx + 2 D_prop +
/// D_R + D_Q`, in a network without other traffic: `D_Q` is zero (R4).
#[derive(Clone, Copy, Debug)]
struct Sum {
    /// `D_S` and `D_R`.
    stack: Duration,
    size: Bytes,
}

impl Sum {
    const fn of(stack: Duration, size: Bytes) -> Self {
        Self { stack, size }
    }

    /// Returns the delay in the paper's form: one transmission, without a preamble, and a switch
    /// that takes no time.
    fn of_paper(self) -> Duration {
        self.stack * 2 + FAST.time_ceil(self.size) + common::PATCH * 2
    }

    /// Returns the delay with a transmission for each link and the latency of the switch.
    fn by_link(self) -> Duration {
        (self.stack + wire_time(self.size, FAST) + common::PATCH) * 2 + LATENCY
    }
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

/// Returns half the round trip between two devices at a switch.
fn simulate_over_switch(
    profile: &str,
    size: Bytes,
    progress: &Progress,
) -> Result<Duration, ReproduceError> {
    let device = profiles::find(profile).expect("a built-in stack").station();
    let mut plant = Plant::default();
    let ends = ["one", "other"].map(|name| plant.add(name, NodeKind::EndStation(device.clone())));
    let switch = plant.add("switch", NodeKind::Switch(common::switch(2, LATENCY)));
    for (port, end) in (0..).zip(ends) {
        plant.link((end, 0), (switch, port), FAST);
    }
    let form = (Encapsulation::Raw, size - Bytes::new(18));
    let flow = common::echoed(common::flow("echo", ends.into(), form, echo::ADAPTIVE));
    let echoes = echo::measure(&plant.network, &[flow], 10, 1, progress)?;
    Ok(echoes.summary().mean().unwrap_or_default() / 2)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand. 1000 octets take 80 us, with preamble 80.64 us; two patch cables 50 ns.
    #[test]
    fn the_equation_of_the_paper_lacks_a_transmission() {
        let stack = Duration::from_us(500);
        let sum = Sum::of(stack, Bytes::new(1_000));
        assert_eq!(sum.of_paper(), Duration::from_ns(1_080_050));
        assert_eq!(sum.by_link(), Duration::from_ns(1_166_330));
    }

    /// Oracle: the equation by link, with the simulated stack's own delay in place of the paper's.
    #[test]
    fn the_simulation_is_the_equation_by_link() {
        let progress = Progress::default();
        let size = Bytes::new(1_000);
        let stack = simulate("arm7-40", &[size], &progress).expect("a device")[0].1;
        let simulated = simulate_over_switch("arm7-40", size, &progress).expect("a device");
        assert_eq!(simulated, Sum::of(stack, size).by_link());
    }
}
