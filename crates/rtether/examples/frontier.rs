//! Sweeps laws of the smoother.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use rayon::prelude::*;
use rtether::reproduce::try_law;
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::smoother::{Adaptive, Increase, Mode};

fn main() {
    let us = Duration::from_us;
    let mut laws = Vec::new();
    for growth_percent in [130, 200] {
        for depth in [1_500u64, 3_000, 4_500, 9_000] {
            for (step, tick) in [
                (2_000u64, 1_000),
                (4_000, 1_000),
                (10_000, 1_000),
                (400, 100),
                (1000, 100),
            ] {
                laws.push(Adaptive {
                    growth_percent,
                    hold: us(2_000),
                    depth: rtether_model::quantity::Bytes::new(depth),
                    period_min: us(1_500) * (depth as i64) / 1500,
                    period_max: us(100_000) * (depth as i64) / 1500,
                    tick: us(tick),
                    increase: Increase::Linear(BitRate::from_bps(step)),
                    ..Adaptive::HIMD
                });
            }
        }
    }
    let lines: Vec<String> = laws
        .par_iter()
        .map(|law| {
            let mut line = format!(
                "{} d{} {} {:?}",
                law.growth_percent, law.depth, law.tick, law.increase
            );
            for active in [4, 10] {
                let found = try_law(Mode::Adaptive(*law), active, 1).expect("runs");
                line += &format!(
                    " | {active}: {:.3} miss {} coll {:.2} p999 {}",
                    found.throughput, found.messages.1, found.collisions, found.p999
                );
            }
            line
        })
        .collect();
    for line in lines {
        println!("{line}");
    }
}
