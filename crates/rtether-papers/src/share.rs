//! `skeie-share`: how much of a transfer is spent on the network, and what priorities in switches alone
//! change (000 Skeie IV, "High Priority Packets Get High Priority Treatment").

use rtether::profiles::PROFILES;
use rtether_model::flow::{Tag, Traffic};
use rtether_model::network::{NodeKind, Pcp, QueueMap, Selection, Stack, Vid};
use rtether_model::record::StreamRecord;
use rtether_model::wire::{Encapsulation, wire_time};
use rtether_sim::observe::NoObserver;

use crate::observe::run_one;
use crate::plant::{self, Plant, flow};
use crate::prelude::*;

const FAST: BitRate = BitRate::from_mbps(100);
/// A short message, as in section III.
const MESSAGE: (Encapsulation, Bytes) = (Encapsulation::Udp, Bytes::new(60));
const PERIOD: Duration = Duration::from_ms(20);
const DURATION: Duration = Duration::from_secs(200);
/// Stations that send full frames to the receiver of the messages, at random times: a tenth of its
/// link together.
const OTHERS: i64 = 8;
const GAP: Duration = Duration::from_us(123 * 10 * OTHERS);

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("The network in the time between applications, at 100 Mbit/s");
    let mut shares = Vec::new();
    for profile in PROFILES {
        let kind = || NodeKind::EndStation(profile.station());
        let stream = alone([kind(), kind()], progress)?;
        let (Some(whole), Some(network)) = (stream.latency.mean(), stream.ethernet.mean()) else {
            return Err(ReproduceError::Scenario("no message arrived".into()));
        };
        let share = ratio(network, whole);
        if share < 1.0 {
            page.row(
                format!("share of the network between two of `{}`", profile.name),
                "0.1 to 20 %",
                format!("{:.2} % of {whole}", share * 100.0),
                "000 Skeie IV",
            );
            shares.push(share);
        }
    }
    let words = listed(shares.iter().map(|share| format!("{:.2} %", share * 100.0)), ", ");
    page.check_or("C093", shares, words, "some devices spend another share");
    let [plain, first] = [false, true].map(|has_priority| loaded(has_priority, progress));
    let (plain, first) = (plain?, first?);
    let mean = |stream: &StreamRecord| stream.latency.mean().unwrap_or_default();
    // What the paper says it leaves: one frame in front, of those that the worst case has.
    let frame = wire_time(Bytes::new(1518), FAST);
    let is_little = (ratio(mean(&first), mean(&plain)) - 1.0).abs() <= 0.05;
    let saved = plain.latency.max - first.latency.max;
    let words = format!(
        "mean {} to {}, largest {} to {}",
        mean(&plain),
        mean(&first),
        plain.latency.max,
        first.latency.max
    );
    page.judge(
        "C094",
        is_little && saved >= frame,
        words,
        "the mean changes by more than 5 %, or the worst case by less than a frame",
    );
    page.note(
        "The share is that of messages of 60 octets through one switch. Messages of full frames spend \
         more, 244 us over two links; so do PCs, whose stacks take less than those of paper 000.",
    );
    page.note(format!(
        "Priorities: two nodes of the system of section IV, and {OTHERS} stations that send full \
         frames to the receiver at random times, a tenth of its link. The messages have the higher \
         queue of the switch; stacks know no priority."
    ));
    Ok(())
}

/// Two stations at a switch with two queues, and their messages.
fn pair(kinds: [NodeKind; 2], ports: usize) -> (Plant, rtether_model::flow::Flow) {
    let mut plant = Plant::default();
    let mut kinds = kinds.into_iter();
    let mut station = |name| plant.add(name, kinds.next().expect("two stations"));
    let ends = (station("one"), station("other"));
    let mut switch = plant::switch(ports, Duration::from_us(1));
    switch.queues = QueueMap::standard(2).expect("two queues");
    switch.selection = Selection::StrictPriority;
    let switch = plant.add("switch", NodeKind::Switch(switch));
    plant.link((ends.0, 0), (switch, 0), FAST);
    plant.link((ends.1, 0), (switch, 1), FAST);
    let traffic = plant::periodic(PERIOD);
    let flow = flow("message", ends, MESSAGE, traffic);
    (plant, flow)
}

fn simulate(
    (plant, flows): (Plant, Vec<rtether_model::flow::Flow>),
    progress: &Progress,
) -> Result<StreamRecord, ReproduceError> {
    let times = (DURATION, Duration::ZERO);
    let scenario = plant::scenario("share of the network", plant.network, flows, times);
    let record = run_one(&scenario, 1, progress, &mut NoObserver)?;
    let first = record.streams.into_iter().next();
    first.ok_or_else(|| ReproduceError::Scenario("no stream".into()))
}

fn alone(kinds: [NodeKind; 2], progress: &Progress) -> Result<StreamRecord, ReproduceError> {
    let (plant, flow) = pair(kinds, 2);
    simulate((plant, vec![flow]), progress)
}

/// The same beside others, with or without a tag for the higher queue.
fn loaded(has_priority: bool, progress: &Progress) -> Result<StreamRecord, ReproduceError> {
    let profile = rtether::profiles::find("skeie-vxworks").expect("a built-in stack");
    let kind = || NodeKind::EndStation(profile.station());
    let ports = usize::try_from(OTHERS).unwrap_or(0) + 2;
    let (mut plant, mut message) = pair([kind(), kind()], ports);
    let (receiver, switch) = (message.listeners[0], rtether_model::network::NodeId(2));
    if has_priority {
        message.tag = Pcp::new(6).map(|pcp| Tag { pcp, vid: Vid::PRIORITY_ONLY });
    }
    let mut flows = vec![message];
    for port in (2..).take(ports - 2) {
        let name = format!("bulk {}", port - 1);
        let other = plant.station(&name, Stack::Zero);
        plant.link((other, 0), (switch, port), FAST);
        let traffic = Traffic::Poisson { mean_interval: GAP };
        let form = (Encapsulation::Raw, Bytes::new(1500));
        let own = flow(&name, (other, receiver), form, traffic);
        flows.push(own);
    }
    simulate((plant, flows), progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand: 60 octets over UDP are 114 on the wire, 9.12 us; twice that, a switch of 1 us
    /// and two cables of 25 ns, beside two passages of 200 us.
    #[test]
    fn the_share_of_one_device_by_hand() {
        let kind = || {
            NodeKind::EndStation(rtether_model::network::EndStation::new(Stack::IpRate {
                service: Duration::from_us(200),
            }))
        };
        let stream = alone([kind(), kind()], &Progress::default()).expect("runs");
        assert_eq!(stream.ethernet.mean(), Some(Duration::from_ns(19_290)));
        assert_eq!(stream.latency.mean(), Some(Duration::from_ns(419_290)));
    }
}
