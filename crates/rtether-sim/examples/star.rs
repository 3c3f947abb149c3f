//! Runs the star of `benches/README.md` and prints what arrived, for comparison with ns-3.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

#[path = "../benches/workload/mod.rs"]
mod workload;

use rtether_model::network::Stack;
use rtether_model::quantity::Duration;

fn main() {
    let record = workload::star(&Stack::Zero, Duration::from_secs(10)).run();
    let received = workload::delivered(&record);
    let sum: i128 = record.streams.iter().map(|stream| stream.latency.sum_ps).sum();
    let max = record.streams.iter().map(|stream| stream.latency.max.as_ps()).max();
    println!(
        "{{\"received\": {received}, \"events\": {}, \"delay_mean_ps\": {}, \"delay_max_ps\": {}}}",
        record.events,
        sum / i128::from(received),
        max.unwrap_or(0)
    );
}
