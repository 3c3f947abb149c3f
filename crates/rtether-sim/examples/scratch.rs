//! Scratch timing.
#![allow(missing_docs)]
#[path = "../tests/it/support.rs"]
#[allow(dead_code)]
mod support;
use rtether_model::flow::*;
use rtether_model::network::*;
use rtether_model::quantity::*;
use rtether_sim::observe::NoObserver;
fn main() {
    let mut plant = support::Plant::default();
    let sw = plant.switch(support::plain_switch());
    let st: Vec<_> = (0..18).map(|_| plant.station(Stack::Zero)).collect();
    for &s in &st {
        plant.join(sw, s, 100);
    }
    for i in 0..16 {
        for r in 0..2 {
            let mut f = support::periodic(&format!("f{i}-{r}"), st[i], st[16 + r]);
            f.traffic = Traffic::Periodic {
                period: Duration::from_ps(694_444_444),
                phase: Phase::Random,
                release_jitter: Duration::ZERO,
            };
            plant.flow(f);
        }
    }
    let t = std::time::Instant::now();
    let mut sim = plant.simulation(1);
    sim.run_until(Instant::ZERO + Duration::from_secs(10), &mut NoObserver);
    let ev = sim.events();
    let r = sim.finish();
    let d: u64 = r.streams.iter().map(|s| s.delivered).sum();
    let e = t.elapsed().as_secs_f64();
    println!(
        "{d} packets {ev} events {e:.4} s  {:.2} M packets/s",
        d as f64 / e / 1e6
    );
}
