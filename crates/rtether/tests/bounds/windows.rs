//! Plants in which files and long messages over TCP go below other priorities: their windows limit what
//! waits for memory at any place.

use rtether_bounds::{Analysis, analyze};
use rtether_model::flow::{Bulk, Bursts, Delivery, Flow, Tag, TcpParameters, Traffic, Transfer};
use rtether_model::network::{AddressTable, NodeKind, Pcp, QueueMap, Selection, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;
use rtether_testkit::Dice;

use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{RUNS, adversarial, check, dice, for_each_case, simulate};

impl Plant {
    /// Returns a plant in which about half of the flows are files or long messages of low priority,
    /// every second plant with layers.
    fn windowed(number: u64) -> Self {
        let variety = if number % 2 == 1 { Variety::Layered } else { Variety::Full };
        let mut plant = Self::random(number.wrapping_add(1 << 45), variety);
        let mut dice = dice(number.wrapping_add(1 << 46));
        let has_rate =
            |flow: &Flow| !matches!(flow.traffic, Traffic::Poisson { .. }) && !flow.is_published();
        plant.flows.retain(has_rate);
        let has_priorities = dice.chance(80);
        // Copies circulate in a ring.
        let is_tree = plant.network.links.len() < plant.network.nodes.len();
        for node in &mut plant.network.nodes {
            let NodeKind::Switch(switch) = &mut node.kind else {
                continue;
            };
            if has_priorities && switch.router.is_none() {
                switch.selection = Selection::StrictPriority;
                switch.queues = QueueMap::standard(4).unwrap();
            }
            if is_tree && dice.chance(40) {
                let aging = Duration::from_secs(300);
                switch.addresses = AddressTable::Learning { aging };
            }
        }
        let mut is_any = false;
        for flow in &mut plant.flows {
            let is_file = dice.chance(50);
            is_any |= is_file;
            if is_file || matches!(flow.traffic, Traffic::Bulk(_)) {
                carry(&mut dice, flow);
            }
            let pcp = if is_file { 0 } else { dice.between(2, 7) };
            flow.tag = Some(Tag {
                pcp: Pcp::new(u8::try_from(pcp).unwrap()).unwrap(),
                vid: Vid::PRIORITY_ONLY,
            });
        }
        plant.flows.retain(|_| is_any);
        plant
    }
}

/// Lets a flow carry files, or messages that may have to wait for their window.
fn carry(dice: &mut Dice, flow: &mut Flow) {
    let us = Duration::from_us;
    let tcp = TcpParameters {
        segment: Bytes::new(dice.pick(&[536, 1_000, 1_460])),
        window: Bytes::new(dice.pick(&[1_000, 4_000, 7_300, 20_000])),
        initial_window: u32::try_from(dice.pick(&[1, 4, 10])).unwrap(),
        ack_every: u32::try_from(dice.between(1, 3)).unwrap(),
        ack_delay: us(dice.pick(&[0, 100, 1_000, 5_000])),
        min_rto: us(dice.pick(&[20_000, 200_000])),
    };
    flow.encapsulation = Encapsulation::Tcp;
    flow.delivery = Delivery::Unicast;
    let is_message = !matches!(flow.traffic, Traffic::Bulk(_) | Traffic::Adaptive { .. });
    if is_message && dice.chance(30) {
        flow.payload = Bytes::new(dice.between(2_000, 20_000));
        flow.connection = Some(tcp);
        // TCP sends no answer that is empty, as a datagram may be.
        if let Some(reply) = &mut flow.reply {
            reply.payload = reply.payload.max(Bytes::new(1));
        }
        return;
    }
    flow.listeners.truncate(1);
    flow.payload = Bytes::ZERO;
    flow.connection = None;
    flow.reply = None;
    let files = (0..dice.between(1, 4)).map(|_| Transfer {
        start: us(dice.time(0, 15_000)),
        size: dice.chance(80).then(|| Bytes::new(dice.between(1, 60_000))),
    });
    flow.traffic = Traffic::Bulk(Bulk {
        transfers: files.collect(),
        bursts: dice
            .chance(30)
            .then(|| Bursts { size: Bytes::new(dice.between(1, 9_000)), mean_gap: None }),
        rate: dice.chance(20).then(|| BitRate::from_mbps(dice.between(1, 50))),
        tcp,
    });
}

/// Returns how many places have a bound on what waits, and how many there are.
fn bounded(analysis: &Analysis) -> [usize; 2] {
    let ports = analysis.ports.iter().map(|port| port.backlog.is_some());
    let stacks = analysis.stacks.iter().map(|stack| stack.waiting.is_some());
    let all: Vec<bool> = ports.chain(stacks).collect();
    [all.iter().filter(|&&is_known| is_known).count(), all.len()]
}

/// Oracle: the simulator, for latencies and for the largest backlog of each port, queue and stack.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn windows_limit_what_waits() {
    let (mut known, mut all, mut seen) = (0, 0, 0);
    for_each_case("windows_limit_what_waits", |number| {
        let plant = Plant::windowed(number);
        if plant.flows.is_empty() {
            return;
        }
        let analysis = analyze(&plant.network, &plant.flows);
        let [own, places] = bounded(&analysis);
        (known, all) = (known + own, all + places);
        let mut dice = dice(!number);
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            check(&analysis, &record);
            seen += record.ports.iter().filter(|port| port.backlog_max > Bytes::ZERO).count();
        }
    });
    println!("{known} of {all} places have a bound; {seen} times frames waited at a port");
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || (known * 100 > all * 40 && seen > 1_000), "{known} {all} {seen}");
}
