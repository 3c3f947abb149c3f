//! Plants whose listeners answer at the scans of their applications.

use rtether_bounds::analyze;
use rtether_model::flow::{Flow, Phase, Scan};
use rtether_model::quantity::Duration;
use rtether_testkit::Dice;

use crate::bounds::plant::Plant;
use crate::bounds::{RUNS, Tightness, adversarial, check, dice, for_each_case_up_to, simulate};

const CASES: [u64; 2] = [100, 10_000];

impl Plant {
    /// Returns a plant with polls, with messages over TCP, or with costs that are not known, in which
    /// most answers wait for a scan.
    pub(crate) fn scanned(number: u64) -> Self {
        let own = number.wrapping_add(1 << 49);
        let mut plant = match number % 4 {
            0 => Self::connected(own),
            1 => Self::unknown(own),
            _ => Self::polled(own),
        };
        let mut dice = dice(number.wrapping_add(1 << 50));
        for flow in &mut plant.flows {
            scan(&mut dice, flow);
        }
        plant
    }
}

/// Lets most answers of a flow wait for a scan.
fn scan(dice: &mut Dice, flow: &mut Flow) {
    let Some(reply) = flow.reply.as_mut().filter(|_| dice.chance(80)) else {
        return;
    };
    let period = Duration::from_us(dice.pick(&[1, 50, 700, 2_000, 10_000]));
    let phase = if dice.chance(50) {
        Phase::Random
    } else {
        Phase::Fixed(Duration::from_ps(dice.time(0, period.as_ps() * 2)))
    };
    reply.scan = Some(Scan { period, phase });
}

/// Oracle: the simulator, as in the other tests.
#[test]
fn answers_at_scans_keep_to_their_bounds() {
    let test = "answers_at_scans_keep_to_their_bounds";
    let (mut tightness, mut bounded) = (Tightness::default(), [0; 2]);
    for_each_case_up_to(CASES, test, |number| {
        let plant = Plant::scanned(number);
        let analysis = analyze(&plant.network, &plant.flows);
        for stream in analysis.streams.iter().filter(|stream| stream.bound.is_ok()) {
            let flow = &plant.flows[stream.flow.index()];
            if flow.reply.is_some_and(|reply| reply.scan.is_some()) {
                bounded[usize::from(flow.connection.is_some())] += 1;
            }
        }
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
    tightness.print("plants with scans");
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || (bounded[0] > 50 && bounded[1] > 5), "{bounded:?}");
}
