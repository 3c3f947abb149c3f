//! Plants whose switches filter, police and mark frames as they arrive, and mirror some of them.

use rtether_bounds::analyze;
use rtether_model::endnode::{PortRange, TosMatch};
use rtether_model::flow::{Flow, Traffic};
use rtether_model::ingress::{Cause, Exceed, Filter, IngressRule, Police};
use rtether_model::network::{
    Mirror, MirrorDirection, NodeId, NodeKind, Pcp, QueueMap, Selection, Stack,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::record::Record;
use rtether_testkit::Dice;

use crate::bounds::dice;
use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{
    CASES, NIGHTLY_CASES, RUNS, Tightness, adversarial, check, for_each_case_up_to, simulate,
};

impl Plant {
    /// Returns a full plant, one with polls, one with messages over TCP or one with layers, in which
    /// most switches have rules for arriving frames.
    pub(crate) fn policed(number: u64) -> Self {
        let mut plant = match number % 5 {
            0 => Self::polled(number.wrapping_add(1 << 45)),
            1 => Self::connected(number.wrapping_add(1 << 45)),
            2 => Self::random(number.wrapping_add(1 << 45), Variety::Layered),
            _ => Self::random(number.wrapping_add(1 << 45), Variety::Full),
        };
        let mut dice = dice(number.wrapping_add(1 << 46));
        for flow in &mut plant.flows {
            flow.dscp = dice.pick(&[0, 0, 46]);
            rush(&mut dice, flow);
        }
        let mut rules: Vec<IngressRule> = (0..4).map(|_| rule(&mut dice, &plant)).collect();
        filter(&mut rules, number);
        for node in &mut plant.network.nodes {
            let NodeKind::Switch(switch) = &mut node.kind else {
                continue;
            };
            if dice.chance(60) {
                switch.queues = QueueMap::standard(dice.pick(&[2, 4, 8])).unwrap();
                switch.selection = Selection::StrictPriority;
            }
            switch.icmp_unclassified = dice.chance(20);
            // The same rules in several switches, as in a plant of one hand.
            let count = dice.index(4);
            switch.ingress = rules[..count].to_vec();
            for port in &mut switch.ports {
                let own = dice.index(4);
                port.ingress = dice.chance(30).then(|| rules[own..].to_vec());
            }
        }
        plant.look_on(&mut dice);
        plant
    }

    /// Gives some switches a mirror port, with a station behind it that takes no part.
    fn look_on(&mut self, dice: &mut Dice) {
        let nodes = self.network.iter_nodes();
        let switches = nodes.filter(|(id, _)| self.network.switch(*id).is_some());
        let switches: Vec<NodeId> = switches.map(|(id, _)| id).collect();
        for switch in switches {
            if !dice.chance(25) {
                continue;
            }
            let monitor = self.station(Stack::Zero);
            self.join(monitor, switch, dice.pick(&[10, 100, 1000]), false);
            if let NodeKind::Switch(switch) = &mut self.network.nodes[switch.index()].kind {
                let to = u16::try_from(switch.ports.len() - 1).unwrap();
                switch.mirror = Some(Mirror {
                    to,
                    ports: (0..to).filter(|_| dice.chance(60)).collect(),
                    direction: dice.pick(&[
                        MirrorDirection::Both,
                        MirrorDirection::Received,
                        MirrorDirection::Sent,
                    ]),
                });
            }
        }
    }
}

/// Lets some flows bring more than they would, so that policers have work.
fn rush(dice: &mut Dice, flow: &mut Flow) {
    if !dice.chance(15) {
        return;
    }
    match &mut flow.traffic {
        Traffic::Periodic { period, .. } => *period = *period / 4,
        Traffic::Flood { interval } => *interval = *interval / 10,
        Traffic::Sporadic { burst, .. } => *burst *= 3,
        Traffic::Poisson { .. } | Traffic::Adaptive { .. } | Traffic::Bulk(_) => {}
    }
}

/// Gives some rules a filter.
fn filter(rules: &mut [IngressRule], number: u64) {
    let mut dice = dice(number.wrapping_add(1 << 48));
    for rule in rules {
        rule.filter = dice.chance(35).then(|| Filter {
            max_sdu: Bytes::new(dice.pick(&[46, 100, 400, 1_000, 1_499, 1_500])),
            block: dice.chance(40),
        });
    }
}

fn pcp(dice: &mut Dice) -> Pcp {
    Pcp::new(u8::try_from(dice.between(0, 7)).unwrap()).unwrap()
}

fn rule(dice: &mut Dice, plant: &Plant) -> IngressRule {
    let mut rule = IngressRule {
        mark: dice.chance(50).then(|| pcp(dice)),
        mark_dscp: dice.chance(25).then(|| dice.pick(&[0, 10, 46])),
        ..IngressRule::default()
    };
    match dice.index(8) {
        0 | 1 => rule.from = vec![dice.pick(&plant.stations)],
        2 => rule.to = vec![dice.pick(&plant.stations)],
        3 => rule.pcp = Some(pcp(dice)),
        4 => rule.headers.tos = Some(TosMatch::dscp(dice.pick(&[0, 10, 46]))),
        5 => rule.headers.protocol = Some(dice.pick(&[1, 6, 17])),
        6 => {
            let first = 49_152 + u16::try_from(dice.between(0, 8)).unwrap();
            let last = first + 4;
            rule.headers.source_port = Some(PortRange { first, last });
        }
        _ => {}
    }
    if dice.chance(75) {
        rule.police = Some(Police {
            rate: BitRate::from_bps(
                dice.pick(&[100_000, 800_000, 3_000_000, 3_000_001, 10_000_000, 40_000_000]),
            ),
            burst: Bytes::new(dice.pick(&[64, 300, 1_600, 5_000, 20_000])),
            exceed: if dice.chance(70) { Exceed::Drop } else { Exceed::Demote(pcp(dice)) },
        });
    }
    rule
}

/// Frames that a policer let through or refused.
#[derive(Default)]
pub(crate) struct Met {
    pub(crate) kept: usize,
    /// Frames that policers refused, and how many did.
    refused: [u64; 2],
    /// The same of filters, and frames that they blocked.
    filtered: [u64; 2],
    blocked: u64,
    /// Streams with a bound that lost packets to a policer.
    bounded_with_losses: usize,
}

impl Met {
    /// Checks that policers proved to be kept refused no frame.
    fn check(&mut self, analysis: &rtether_bounds::Analysis, record: &Record) {
        for policer in &analysis.policers {
            let node = &record.nodes[policer.port.node.index()];
            let mut own = node.ingress.iter();
            let own = own.find(|own| own.port == policer.port.port && own.rule == policer.rule);
            let exceeded = own.unwrap().counts.of(policer.cause);
            if policer.is_kept {
                assert_eq!(exceeded, 0, "{policer:?} is kept");
                self.kept += 1;
            } else {
                let is_filter = policer.cause == Cause::Oversize;
                let [refused, refusing] =
                    if is_filter { &mut self.filtered } else { &mut self.refused };
                *refused += exceeded;
                *refusing += u64::from(exceeded > 0);
                self.blocked += own.unwrap().counts.of(Cause::Blocked);
            }
        }
        // Policers that no flow is followed to refuse nothing either, nor filters that no frame is too
        // large for.
        let passed = |node: u32, port: u16, rule: u16, cause: Cause| {
            let mut known = analysis.policers.iter();
            let cause = if cause == Cause::Blocked { Cause::Oversize } else { cause };
            known.any(|own| {
                (own.port.node.0, own.port.port, own.rule, own.cause) == (node, port, rule, cause)
            })
        };
        for (number, node) in (0..).zip(&record.nodes) {
            for own in &node.ingress {
                for cause in Cause::ALL.into_iter().filter(|&cause| own.counts.of(cause) > 0) {
                    assert!(passed(number, own.port, own.rule, cause), "{own:?} of {number}");
                }
            }
        }
        let streams = analysis.streams.iter().zip(&record.streams);
        let lost = streams.filter(|(bound, seen)| bound.bound.is_ok() && seen.dropped > 0);
        self.bounded_with_losses += lost.count();
    }
}

/// Checks the bounds and policers of many plants.
pub(crate) fn soundness(
    cases: [u64; 2],
    test: &'static str,
    plant: fn(u64) -> Plant,
) -> (Tightness, Met) {
    let (mut tightness, mut met) = (Tightness::default(), Met::default());
    for_each_case_up_to(cases, test, |number| {
        let plant = plant(number);
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            met.check(&analysis, &record);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    (tightness, met)
}

/// Oracle: the simulator, as in the other tests; and its policers, which refuse nothing where the
/// analysis proves that.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn policed_flows_keep_to_their_bounds() {
    let test = "policed_flows_keep_to_their_bounds";
    let (mut tightness, met) = soundness([CASES, NIGHTLY_CASES], test, Plant::policed);
    tightness.print("plants with policers");
    println!(
        "policers in runs: {} kept, {} refuse {} frames; {} filters drop {} and block {}; \
         {} streams with losses have a bound",
        met.kept,
        met.refused[1],
        met.refused[0],
        met.filtered[1],
        met.filtered[0],
        met.blocked,
        met.bounded_with_losses
    );
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || tightness.bounded * 3 > tightness.streams);
    assert!(is_one || (met.filtered[1] > 100 && met.blocked > 100));
    assert!(is_one || (met.kept > 100 && met.refused[1] > 100 && met.bounded_with_losses > 100));
}
