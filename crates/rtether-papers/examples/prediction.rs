//! Compares the prediction from this host's calibrated profile with a measurement in the same
//! session.
//!
//! Calibrates the stack, simulates two scenarios with it, runs them live over emulated networks and
//! prints both. Needs root.
//!
//! ```sh
//! cargo run --release -p rtether-papers --example prediction
//! ```
//!
//! Target: medians within 15 % and 99th percentiles within 30 % of each other, without packets that a
//! stall of the host affected; how far all delivered packets are off stands beside, since the longer a
//! packet is under way, the surer it meets a stall. Exits with 1 if a target is missed.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example for the terminal")]

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("needs Linux");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::process::ExitCode;
    use std::sync::atomic::AtomicBool;

    use rtether::run;
    use rtether::scenario::{self, Scenario};
    use rtether_testbed::calibrate::{self, CalibrateOptions, Path, Protocol};
    use rtether_testbed::testbed::{self, Backend, Options, Plan, Progress};
    use rtether_testbed::{Duration, Waiting};

    type Failure = Box<dyn std::error::Error>;

    /// Real-time priority for calibration and stations.
    const PRIORITY: u8 = 40;
    /// Interval between requests, in calibration and in the scenarios.
    const PERIOD: &str = "2 ms";
    const MEDIAN: f64 = 0.15;
    const P99: f64 = 0.30;

    const TWO: &str = "
nodes: { a: { stack: host-udp-block }, b: { stack: host-udp-block } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows:
  - { name: small, from: a, to: b, period: 2 ms, phase: 0 us, size: 64 B, reply: { size: 64 B } }
  - { name: large, from: a, to: b, period: 2 ms, phase: 1 ms, size: 1024 B, reply: { size: 1024 B } }
";
    const FOUR: &str = "
nodes:
  a: { stack: host-udp-block }
  b: { stack: host-udp-block }
  c: { stack: host-udp-block }
  d: { stack: host-udp-block }
switches: { sw: { ports: 4, latency: 2 us } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
  - { ends: [d, \"sw:4\"], rate: 100 Mbit/s }
flows:
  - { name: loop 1, from: a, to: b, period: 4 ms, phase: 0 us, size: 64 B, reply: { size: 64 B } }
  - { name: loop 2, from: c, to: d, period: 4 ms, phase: 1 ms, size: 256 B, reply: { size: 256 B } }
  - { name: report, from: b, to: d, period: 4 ms, phase: 2 ms, size: 1024 B }
  - { name: image, from: c, to: a, period: 4 ms, phase: 3 ms, size: 1400 B }
";

    pub(crate) fn main() -> ExitCode {
        match compare() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::from(4)
            }
        }
    }

    fn compare() -> Result<bool, Failure> {
        let profile = profile()?;
        println!(
            "| scenario | flow | p50 simulated | measured | off | p99 simulated | measured | off | stalled | with stalls: p50 | off | p99 | off |"
        );
        println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
        let mut holds = true;
        for (name, plant) in [("two nodes", TWO), ("four nodes", FOUR)] {
            let text = format!("rtether: 1\nname: {name}\n{profile}{plant}run: {{ for: 20 s }}\n");
            let scenario = scenario::load("prediction.yaml", &text).into_scenario()?;
            holds &= rows(&scenario)?;
        }
        Ok(holds)
    }

    /// Calibrates the stack of this host and returns it as scenario text.
    fn profile() -> Result<String, Failure> {
        let options = CalibrateOptions {
            paths: vec![Path::Veth],
            protocols: vec![Protocol::Udp],
            waitings: vec![Waiting::Block],
            sizes: vec![64, 256, 1_024, 1_400],
            samples: 3_000,
            interval: scenario::time(PERIOD)?,
            priority: Some(PRIORITY),
            awake: true,
            ..CalibrateOptions::default()
        };
        let never = AtomicBool::new(false);
        let found = calibrate::calibrate(&options, &never, |_, _, what| {
            eprintln!("calibrating {what}");
        })?;
        Ok(calibrate::yaml(&found, "host"))
    }

    fn rows(scenario: &Scenario) -> Result<bool, Failure> {
        let simulated = run::simulate(scenario, &run::Progress::default())?;
        let options = Options {
            backend: Backend::Emulated,
            duration: scenario.run.duration,
            seed: scenario.run.seed,
            priority: Some(PRIORITY),
        };
        eprintln!("measuring {}", scenario.name);
        let tag = std::process::id().to_string();
        let plan = Plan::new(scenario, options.backend, &tag)?;
        let measured = testbed::run(scenario, &plan, &options, &Progress::default())?;
        let mut holds = true;
        let streams = simulated.record.streams.iter().zip(&measured.streams);
        for ((predicted, found), flow) in streams.zip(&scenario.flows) {
            let of = |part, whole| predicted.quantile(part, whole).zip(found.quantile(part, whole));
            let (median, p99) = of(1, 2).zip(of(99, 100)).ok_or("nothing arrived")?;
            let off = |(simulated, measured): (Duration, Duration)| {
                measured.as_ns_f64() / simulated.as_ns_f64() - 1.0
            };
            holds &= off(median).abs() <= MEDIAN && off(p99).abs() <= P99;
            let of = |part, whole| {
                predicted.quantile(part, whole).zip(found.with_stalls.quantile(part, whole))
            };
            let all = of(1, 2).zip(of(99, 100)).ok_or("nothing arrived")?;
            println!(
                "| {} | {} | {} | {} | {:+.1} % | {} | {} | {:+.1} % | {} of {} | {} | {:+.1} % | {} | {:+.1} % |",
                scenario.name,
                flow.name,
                median.0,
                median.1,
                off(median) * 100.0,
                p99.0,
                p99.1,
                off(p99) * 100.0,
                found.stalled,
                found.delivered,
                all.0.1,
                off(all.0) * 100.0,
                all.1.1,
                off(all.1) * 100.0
            );
        }
        if let Some(emulation) = &measured.emulation {
            let frames = emulation.frames;
            match emulation.differing {
                Some(differing) => {
                    eprintln!(
                        "{frames} frames emulated, {differing} decided otherwise than their replay"
                    );
                }
                None => {
                    eprintln!("{frames} frames emulated, not all of them recorded for a replay");
                }
            }
        }
        Ok(holds)
    }
}
