//! Plants with costs that are not known: a bound holds for every constant between their ends.

use rtether_bounds::{Method, analyze};
use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{NodeKind, Partition};
use rtether_model::quantity::Duration;
use rtether_model::unknown::{CostName, Unknown};
use rtether_testkit::Dice;

use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{RUNS, Tightness, adversarial, check, dice, for_each_case_up_to, simulate};

const CASES: [u64; 2] = [100, 10_000];

impl Plant {
    /// Returns a plant of any variety in which costs of most nodes are not known.
    pub(crate) fn unknown(number: u64) -> Self {
        let varieties = [
            Variety::Full,
            Variety::Layered,
            Variety::Plain,
            Variety::Full,
            Variety::Deficit,
            Variety::Routed,
            Variety::Due,
            Variety::Internetwork,
            Variety::Shaped,
            Variety::Full,
        ];
        let variety = varieties[usize::try_from(number % 10).unwrap()];
        let mut plant = Self::random(number, variety);
        let mut dice = dice(number.wrapping_add(7 << 40));
        if plant.network.partition == Partition::Search {
            // It needs the latency of switches.
            plant.network.partition = Partition::Equal;
        }
        for node in &mut plant.network.nodes {
            match &mut node.kind {
                NodeKind::EndStation(station) => {
                    for cost in CostName::ALL {
                        let more = ends(&mut dice);
                        let Some(known) = station.cost_mut(cost).filter(|_| dice.chance(60)) else {
                            continue;
                        };
                        // Sometimes the least is nothing at all.
                        if dice.chance(20) {
                            *known = Duration::ZERO;
                        }
                        station.unknown.push(Unknown { cost, more });
                    }
                }
                NodeKind::Switch(switch) => {
                    let [latency, cost] = [(); 2].map(|()| ends(&mut dice));
                    if dice.chance(50) {
                        switch.unknown_latency = latency;
                    }
                    if let Some(router) = &mut switch.router {
                        router.unknown = cost;
                    }
                }
                NodeKind::Hub(_) => {}
            }
        }
        plant
    }

    /// Returns the plant for a run: its constants are left to the simulator, all at one end, or each
    /// at either.
    pub(crate) fn decided(&self, run: u64, dice: &mut Dice) -> Self {
        let network = match run % 4 {
            0 => self.network.clone(),
            1 => self.network.at_least(),
            2 => self.network.at_most(),
            _ => self
                .network
                .decided(|_, _, more| if dice.chance(50) { more } else { Duration::ZERO }),
        };
        Self { network, flows: self.flows.clone(), stations: self.stations.clone(), ..*self }
    }
}

/// Returns whether nothing limits the releases of a flow, or something on its way does.
fn is_open(flow: &Flow) -> bool {
    let is_limited = matches!(flow.traffic, Traffic::Periodic { .. } | Traffic::Sporadic { .. });
    !is_limited || flow.is_published() || flow.connection.is_some() || flow.gap.is_some()
}

/// Returns by how much a cost may be above its least.
fn ends(dice: &mut Dice) -> Duration {
    let most = dice.pick(&[1, 1_000, 20_000, 20_000, 100_000]);
    Duration::from_ns(dice.time(1, most))
}

/// Oracle: the simulator, with constants that it draws, at both ends, and with each at either end.
#[test]
fn bounds_hold_for_every_constant() {
    let mut tightness = Tightness::default();
    let mut intervals = 0;
    for_each_case_up_to(CASES, "bounds_hold_for_every_constant", |number| {
        let plant = Plant::unknown(number);
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        intervals += plant.network.intervals().len();
        for run in 0..RUNS {
            let known = plant.decided(run, &mut dice);
            let flows = adversarial(&known, &mut dice, run / 2 * 3 % 7);
            let record = simulate(&known, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    tightness.print("costs that are not known");
    let is_all = std::env::var_os("RTETHER_CASE").is_none();
    assert!(!is_all || tightness.bounded * 3 > tightness.streams && intervals > 500);
}

/// Oracle: the analysis with the constants known, which has tests of its own: that of the interval
/// is never below it by total flow, in plants without cycles and open flows. Other methods guess where
/// there is something to gain, and guess right with an interval where they do not with a constant
/// (`RTETHER_CASE=686`).
#[test]
fn an_interval_is_no_better_than_any_constant_of_it() {
    let (mut all, mut sums) = (0, [0.0; 2]);
    for_each_case_up_to(CASES, "an_interval_is_no_better_than", |number| {
        let plant = Plant::unknown(number);
        let flows = &plant.flows;
        let interval = analyze(&plant.network, flows);
        // A search for a fixed point may stop above the least one, and of two limits on an open flow
        // one is chosen that is not the better one everywhere: these are valid for all constants, but
        // not ordered.
        let mut bounds = interval.streams.iter().filter_map(|own| own.bound.as_ref().ok());
        let is_cyclic = bounds.any(|own| own.by_method[0].0 == Method::FixedPoint);
        if is_cyclic || flows.iter().any(is_open) {
            return;
        }
        let mut dice = dice(number);
        let random =
            plant.network.decided(|_, _, more| Duration::from_ps(dice.time(0, more.as_ps())));
        let upper = plant.network.at_most();
        for network in [plant.network.at_least(), random, upper] {
            let known = analyze(&network, flows);
            for (own, known) in interval.streams.iter().zip(&known.streams) {
                let Ok(own) = &own.bound else { continue };
                let Ok(known) = &known.bound else { panic!("no bound with a constant: {own:?}") };
                let [total, of_interval] = [known, own].map(|bound| bound.by_method[0]);
                assert_eq!((total.0, of_interval.0), (Method::TotalFlow, Method::TotalFlow));
                assert!(total.1 <= of_interval.1, "{total:?} with a constant, {own:?}");
                let known = known.latency;
                all += 1;
                sums[0] += own.latency.as_secs_f64() / known.as_secs_f64();
                sums[1] += 1.0;
            }
        }
    });
    assert!(all > 100 || std::env::var_os("RTETHER_CASE").is_some());
    let mean = sums[0] / f64::max(sums[1], 1.0);
    println!("{all} bounds, {mean:.3} times those of known constants in the mean");
}
