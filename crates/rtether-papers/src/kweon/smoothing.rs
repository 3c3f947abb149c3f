//! `kweon-smoothing`: what a smoother makes of a burst over time (2.1, figure 2), and where it stands
//! (2, figure 1).

use std::collections::VecDeque;

use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::Instant;
use rtether_sim::observe::{Observer, PacketInfo};
use rtether_sim::{Config, Simulation};

use super::Scheme;
use super::plant::{Station, burst};
use crate::prelude::*;

/// Interval of the curves of figure 2.
const STEP: Duration = Duration::from_ms(50);
const SHOWN: Duration = Duration::from_secs(9);
/// While the second PC sends, and before, in the same file of the first.
const ALONE: [Duration; 2] = [Duration::from_ms(1_500), Duration::from_ms(3_000)];
const BESIDE: [Duration; 2] = [Duration::from_ms(3_100), Duration::from_ms(4_600)];
/// Period of the fixed rate.
const PERIOD: Duration = Duration::from_ms(36);
/// Time in which a file is sent at the fixed rate.
const LONG: Duration = Duration::from_secs(30);

/// What a station sends, packet by packet: octets of IP, without messages.
struct Sent {
    station: NodeId,
    /// Flows of messages come first.
    messages: u32,
    packets: Vec<(Instant, u64)>,
    without_data: u64,
}

impl Observer for Sent {
    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        if port.node == self.station && packet.flow.0 >= self.messages {
            // 18 octets of Ethernet around the datagram.
            self.packets.push((now, packet.frame_size.get() - 18));
            let is_bare = packet.tcp.is_some_and(|segment| segment.len == 0);
            self.without_data += u64::from(is_bare);
        }
    }
}

/// A run, step by step.
struct Run {
    sent: Sent,
    /// Input limit of the station's smoother at the end of each step.
    limits: Vec<(Duration, Option<BitRate>)>,
}

impl Run {
    fn new(
        station: Station,
        length: Duration,
        progress: &Progress,
    ) -> Result<Self, ReproduceError> {
        let (scenario, messages, pc) = burst(station, length);
        let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
        let mut simulation = Simulation::new(&scenario.network, &scenario.flows, &config)
            .map_err(|error| ReproduceError::Scenario(error.to_string()))?;
        let mut sent = Sent { station: pc, messages, packets: Vec::new(), without_data: 0 };
        let mut limits = Vec::new();
        let mut now = Duration::ZERO;
        while now < length {
            if progress.is_cancelled() {
                return Err(ReproduceError::Interrupted);
            }
            now += STEP;
            simulation.run_until(Instant::ZERO + now, &mut sent);
            let state = simulation.smoother(pc);
            limits.push((now, state.and_then(|state| state.rate)));
        }
        Ok(Self { sent, limits })
    }

    /// Returns the rate in each step, in Mbit/s.
    fn rates(&self) -> Vec<(Duration, f64)> {
        let steps = self.limits.iter().map(|(end, _)| *end);
        let rate = |end: Duration| {
            let from = Instant::ZERO + (end - STEP);
            let inside = |at: &Instant| *at >= from && *at < Instant::ZERO + end;
            let octets = self.sent.packets.iter().filter(|(at, _)| inside(at));
            let octets: u64 = octets.map(|(_, octets)| octets).sum();
            (end, count_f64(octets * 8) / STEP.as_secs_f64() / 1e6)
        };
        steps.map(rate).collect()
    }

    /// Returns the mean input limit in a part of the run, in Mbit/s.
    fn limit(&self, [from, until]: [Duration; 2]) -> f64 {
        let own = self.limits.iter().filter(|(at, _)| (from..until).contains(at));
        let rates: Vec<f64> =
            own.filter_map(|(_, rate)| Some(count_f64(rate.as_ref()?.as_bps()) / 1e6)).collect();
        rates.iter().sum::<f64>() / count_f64(rates.len().max(1) as u64)
    }
}

/// Returns the most octets in any window of this length.
fn densest(packets: &[(Instant, u64)], length: Duration) -> u64 {
    let mut window: VecDeque<(Instant, u64)> = VecDeque::new();
    let (mut sum, mut most) = (0, 0);
    for &(at, octets) in packets {
        window.push_back((at, octets));
        sum += octets;
        while let Some(&(first, old)) = window.front().filter(|(first, _)| at - *first >= length) {
            debug_assert!(first <= at, "in order of time");
            sum -= old;
            window.pop_front();
        }
        most = most.max(sum);
    }
    most
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("A burst behind a smoother, and above TCP");
    let figure = [Scheme::None, Scheme::Fixed, Scheme::Himd];
    let mut series = Vec::new();
    for scheme in figure {
        let run = Run::new(Station::Below(scheme), SHOWN, progress)?;
        series.push(curve(scheme.name(), Style::Steps, run.rates()));
        if scheme == Scheme::Himd {
            let limits = run.limits.iter();
            let limits = limits
                .filter_map(|(at, rate)| Some((*at, count_f64(rate.as_ref()?.as_bps()) / 1e6)));
            series.push(curve("adaptive, input limit", Style::Line, limits));
            let [alone, beside] = [ALONE, BESIDE].map(|part| run.limit(part));
            let words = format!("{alone:.2} Mbit/s alone, {beside:.2} beside another");
            page.check("C098", [beside / alone], words);
        }
    }
    page.lines(
        "The counterpart of figure 2: a file of 3 MB from 1 s on; another station sends 1 MB from 3 s on.",
        ["Arrival rate of a burst", "of the first station"],
        [Axis::time("time"), Axis::number("Mbit/s")],
        series,
    );
    let mut most = Vec::new();
    for (station, name) in
        [(Station::Below(Scheme::Fixed), "below IP"), (Station::AboveTcp, "above TCP")]
    {
        let Sent { packets, without_data, .. } = Run::new(station, LONG, progress)?.sent;
        let octets = densest(&packets, PERIOD);
        page.row(
            format!("most octets in a period of {PERIOD}, smoother {name}"),
            "no number",
            format!("{octets}, in {} packets, {without_data} of them without data", packets.len()),
            "002 Kweon 2",
        );
        most.push(octets);
    }
    let words = format!("{} octets below IP, {} above TCP", most[0], most[1]);
    page.check("C099", [count_f64(most[1]) / count_f64(most[0])], words);
    page.note(
        "Above TCP the program writes at the rate of the fixed smoother, 1500 octets every 36 ms; \
         acknowledgments of a file that the station receives meanwhile, and what TCP sends after \
         a loss, go out as they come.",
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_by_hand() {
        // Oracle: 3 and 4 within 10 ms; 4, 5 and 1 too, but not 3 with 5.
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let packets = [(at(0), 3), (at(6), 4), (at(10), 5), (at(15), 1), (at(30), 9)];
        assert_eq!(densest(&packets, Duration::from_ms(10)), 10);
        assert_eq!(densest(&packets, Duration::from_ms(1)), 9);
        assert_eq!(densest(&[], PERIOD), 0);
    }
}
