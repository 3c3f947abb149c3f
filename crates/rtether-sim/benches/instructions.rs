//! Instructions of whole runs, counted by callgrind: independent of other load on the machine.
//!
//! Needs valgrind and `gungraun-runner` in the version of `Cargo.lock`. Building the plant is not
//! counted. Divide by the packets in the name; for the hub their number is random, and the name has
//! the mean.
#![allow(
    missing_docs,
    clippy::exit,
    reason = "the macros make public functions, and one that exits"
)]

mod workload;

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use rtether_model::network::Stack;
use rtether_model::quantity::Duration;
use rtether_model::record::Record;
use rtether_sim::Simulation;
use workload::Workload;

const SECOND: Duration = Duration::from_secs(1);

fn prepare(plant: &Workload) -> (Simulation, Duration) {
    (plant.simulation(), plant.duration)
}

fn star(stack: &Stack) -> (Simulation, Duration) {
    prepare(&workload::star(stack, SECOND))
}

fn with_stacks() -> (Simulation, Duration) {
    star(&Stack::IpRate { service: Duration::from_us(20) })
}

fn hub() -> (Simulation, Duration) {
    prepare(&workload::hub(SECOND))
}

fn tree(stations: u32) -> (Simulation, Duration) {
    prepare(&workload::tree(stations, 100_000, SECOND, &Stack::Zero))
}

#[library_benchmark]
#[bench::star_46080(setup = star, args = (&Stack::Zero))]
#[bench::star_with_stacks_46080(setup = with_stacks)]
#[bench::hub_50000(setup = hub)]
#[bench::tree_of_10_100000(setup = tree, args = (10))]
#[bench::tree_of_100_100000(setup = tree, args = (100))]
#[bench::tree_of_1000_100000(setup = tree, args = (1_000))]
fn run((simulation, duration): (Simulation, Duration)) -> Record {
    black_box(workload::run(simulation, duration))
}

library_benchmark_group!(name = runs, benchmarks = run);
main!(library_benchmark_groups = runs);
