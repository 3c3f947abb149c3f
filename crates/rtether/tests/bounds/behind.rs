//! Plants whose packets meet at a port and again at the receive stack behind it.

use rtether::adversary::{self, Target};
use rtether_bounds::{Analysis, Method, analyze};
use rtether_model::endnode::{Layer, PriorityTable, Receive, ReceiveConfig, ReceiveSelection};
use rtether_model::flow::{Flow, Tag, Traffic};
use rtether_model::network::{
    Cost, Jitter, LinearStack, NodeId, NodeKind, Pcp, QueueMap, Selection, Servers, Spread, Stack,
    Vid,
};
use rtether_model::quantity::Duration;
use rtether_testkit::Dice;

use crate::bounds::draw::shaped;
use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{
    CASES, NIGHTLY_CASES, RUNS, Tightness, adversarial, check, dice, for_each_case_up_to, searched,
    simulate,
};

/// Packets that wait in any queue of a layer.
const PLENTY: u32 = 1 << 20;

impl Plant {
    /// Returns a full plant, every fourth with polls, most of whose flows go to one or two stations
    /// with busy stacks.
    pub(crate) fn behind(number: u64) -> Self {
        let mut plant = match number % 4 {
            3 => Self::polled(number.wrapping_add(1 << 51)),
            _ => Self::random(number.wrapping_add(1 << 51), Variety::Full),
        };
        let mut dice = dice(number.wrapping_add(1 << 52));
        for node in &mut plant.network.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind
                && dice.chance(70)
            {
                let shaped = shaped(&mut dice, 100);
                let plain = [Selection::Fcfs, Selection::StrictPriority];
                switch.selection = if dice.chance(25) { shaped } else { dice.pick(&plain) };
            }
        }
        let count = 1 + dice.index(2);
        let busy: Vec<NodeId> = (0..count).map(|_| dice.pick(&plant.stations)).collect();
        for flow in &mut plant.flows {
            let to = dice.pick(&busy);
            if dice.chance(75) && flow.talker != to && !flow.listeners.contains(&to) {
                flow.listeners[0] = to;
            }
            hurry(&mut dice, flow);
        }
        for node in busy {
            plant.load(&mut dice, node);
        }
        plant
    }

    /// Gives a station a stack that its packets keep busy for a share of the time.
    fn load(&mut self, dice: &mut Dice, node: NodeId) {
        let packets = self.flows.iter().map(|flow| flow_rate(flow, node));
        let each_second: i64 = packets.sum();
        let percent = dice.time(20, 96);
        let share = Duration::from_ms(10 * percent) / each_second.max(1);
        let service = share.min(Duration::from_us(150));
        let NodeKind::EndStation(station) = &mut self.network.nodes[node.index()].kind else {
            return;
        };
        station.stack = match dice.index(3) {
            0 | 1 => Stack::IpRate { service },
            _ => Stack::Linear(LinearStack {
                send: Cost { base: service / 4, ..Cost::default() },
                receive: Cost {
                    base: service / 2,
                    per_octet: Duration::from_ps(dice.time(0, 2_000)),
                },
                interface: Cost {
                    base: Duration::from_ns(dice.pick(&[0, 3_000])),
                    per_octet: Duration::from_ps(dice.pick(&[0, 0, 5_000])),
                },
                jitter: Jitter {
                    spread: Spread::Uniform { max: service / 2 },
                    ..Jitter::default()
                },
                servers: dice.pick(&[Servers::Shared, Servers::PerDirection]),
            }),
        };
        if dice.chance(50) {
            let classes = u8::try_from(dice.between(2, 4)).unwrap();
            let table = QueueMap::standard(classes).unwrap();
            station.layer = Some(Box::new(Layer {
                table: PriorityTable::new(table, 0).unwrap(),
                receive: Some(receive(dice, classes.into())),
                ..Layer::default()
            }));
        }
    }
}

/// Returns stack instances, or receive queues of which the highest goes first.
fn receive(dice: &mut Dice, classes: usize) -> Receive {
    let queue_limits = vec![PLENTY; classes];
    if dice.chance(60) {
        return Receive::Instances { queue_limits };
    }
    let selection = ReceiveSelection::HighestFirst;
    Receive::Queues(ReceiveConfig { input_limit: PLENTY, queue_limits, selection })
}

/// Makes a flow one whose bursts meet others of its own: often released, late, or tagged.
fn hurry(dice: &mut Dice, flow: &mut Flow) {
    if let Traffic::Periodic { period, release_jitter, .. } = &mut flow.traffic
        && dice.chance(60)
    {
        *period = *period / dice.pick(&[1, 2, 3]);
        *release_jitter = *period * dice.pick(&[0, 0, 1, 3, 7]) / 4;
    }
    if dice.chance(50) {
        flow.tag = Some(Tag {
            pcp: Pcp::new(u8::try_from(dice.between(0, 7)).unwrap()).unwrap(),
            vid: Vid::PRIORITY_ONLY,
        });
    }
}

/// Returns about how many packets a flow brings to the stack of a station each second.
fn flow_rate(flow: &Flow, node: NodeId) -> i64 {
    let ends = flow.listeners.iter().chain([&flow.talker]);
    let visits = i64::try_from(ends.filter(|&&end| end == node).count()).unwrap();
    let Some(releases) = flow.traffic.releases() else {
        return 100 * visits;
    };
    let answers = 1 + i64::from(flow.reply.is_some());
    let frames = i64::from(flow.frames(flow.payload).count);
    let each = i64::from(releases.burst) * frames * answers * visits;
    each * (Duration::from_secs(1).as_ps() / releases.period.as_ps().max(1))
}

/// Returns the stream that this method improves most over all others.
fn gaining(analysis: &Analysis) -> Option<usize> {
    let streams = analysis.streams.iter().enumerate().filter_map(|(index, stream)| {
        let bound = stream.bound.as_ref().ok()?;
        let others = bound.by_method.iter().filter(|own| own.0 != Method::PortAndStack);
        let other = others.map(|own| own.1).min()?;
        (bound.method == Method::PortAndStack).then_some((other - bound.latency, index))
    });
    streams.max().map(|(_, index)| index)
}

/// Oracle: the simulator, as in the other tests.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn ports_and_stacks_keep_to_their_bounds() {
    let test = "ports_and_stacks_keep_to_their_bounds";
    let mut tightness = Tightness::default();
    for_each_case_up_to([CASES, NIGHTLY_CASES], test, |number| {
        let plant = Plant::behind(number);
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    tightness.print("plants with busy stacks");
    let least = tightness.methods.get(Method::PortAndStack.name()).map_or(0, |own| own.0);
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || least * 10 > tightness.bounded, "{least} of {}", tightness.bounded);
}

/// Oracle: the simulator, with releases that a search finds for the stream that gains most.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn no_climb_exceeds_a_bound_of_port_and_stack() {
    let test = "no_climb_exceeds_a_bound_of_port_and_stack";
    let (mut climbed, mut found_before, mut tightness) = (0u64, 0.0, 0.0);
    for_each_case_up_to([64, NIGHTLY_CASES], test, |number| {
        let plant = Plant::behind(number);
        let analysis = analyze(&plant.network, &plant.flows);
        let Some(stream) = gaining(&analysis) else { return };
        let bound = analysis.streams[stream].bound.as_ref().unwrap();
        let open =
            adversary::Plant { network: &plant.network, flows: &plant.flows, run: searched() };
        let target = Target::all(&plant.flows)[stream];
        let Some(found) = adversary::search(open, target, Some(bound.latency), 60) else { return };
        assert!(found.latency <= bound.latency, "{found:?} beyond {bound:?}");
        climbed += 1;
        let seen = found.latency.as_secs_f64();
        let others = bound.by_method.iter().filter(|own| own.0 != Method::PortAndStack);
        found_before += others.map(|own| own.1).min().unwrap().as_secs_f64() / seen;
        tightness += bound.latency.as_secs_f64() / seen;
    });
    let plants = climbed.max(1) as f64;
    println!(
        "{climbed} plants climbed; bound / found in the mean: {:.3}, without this method {:.3}",
        tightness / plants,
        found_before / plants,
    );
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || climbed >= 16, "{climbed}");
}
