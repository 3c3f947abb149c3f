//! Time of whole runs: star and hub of `benches/README.md`, the star with stacks, a substation.
#![allow(missing_docs, reason = "the macros make public functions")]

mod workload;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rtether_model::network::Stack;
use rtether_model::quantity::Duration;
use workload::Workload;

fn runs(criterion: &mut Criterion) {
    let second = Duration::from_secs(1);
    let service = Duration::from_us(20);
    let plants = [
        ("zero stacks, 10 s", workload::star(&Stack::Zero, second * 10)),
        ("IP rate, 1 s", workload::star(&Stack::IpRate { service }, second)),
        ("substation, 1 s", workload::substation(second)),
        ("hub, 1 s", workload::hub(second)),
    ];
    let mut group = criterion.benchmark_group("run");
    group.sample_size(20);
    for (name, plant) in &plants {
        let packets = workload::delivered(&plant.run());
        group.throughput(Throughput::Elements(packets));
        group.bench_with_input(*name, plant, |bencher, plant| {
            bencher.iter(|| Workload::run(plant));
        });
    }
    group.finish();
}

criterion_group!(benches, runs);
criterion_main!(benches);
