//! Plants whose stations take their stacks from profiles of devices.

use std::fmt::Write as _;

use rtether::profile::{Method, Profile, Range, Series};
use rtether::scenario::{Scenario, load_from, render};
use rtether_bounds::analyze;
use rtether_model::network::Servers;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_proto::identify::{Exchange, Order};
use rtether_sim::observe::NoObserver;
use rtether_sim::{Config, Simulation};
use rtether_testkit::Dice;

use crate::bounds::{check, dice, for_each_case_up_to};

const CASES: [u64; 2] = [40, 5_000];
const RUNS: u64 = 3;

fn range(dice: &mut Dice, [least, most]: [i64; 2], wide: i64) -> Range {
    let value = Duration::from_ns(dice.time(least, most));
    let [below, above] = [(); 2].map(|()| Duration::from_ns(dice.time(0, wide)));
    Range { value, low: (value - below).max(Duration::ZERO), high: value + above }
}

/// A profile as it may have been identified: some figures are not known.
fn profile(dice: &mut Dice) -> Profile {
    let mut stack = Series::new("closed", Method::Load);
    let fixed = range(dice, [5_000, 300_000], 8_000);
    stack.fixed = Some(fixed);
    if dice.chance(60) {
        stack.request_octet = Some(range(dice, [0, 60], 3));
        stack.answer_octet = Some(range(dice, [0, 60], 3));
    } else if dice.chance(50) {
        stack.both_octets = Some(range(dice, [0, 120], 3));
    }
    if dice.chance(50) {
        stack.receive = Some(range(dice, [0, fixed.high.as_ps() / 1_000], 5_000));
    }
    if dice.chance(50) {
        let sizes = Exchange { request: Bytes::new(64), answer: Bytes::new(64) };
        let jitter = dice.time(0, 40_000);
        let trips: Vec<_> = (0..50)
            .map(|_| (sizes, fixed.value + Duration::from_ns(7_000 + dice.time(0, jitter))))
            .collect();
        stack.keep(&trips);
    } else {
        stack.jitter = Some(range(dice, [0, 20_000], 2_000));
    }
    stack.servers = dice.pick(&[None, Some(Servers::Shared), Some(Servers::PerDirection)]);
    stack.order = dice.pick(&[None, Some(Order::Arrival), Some(Order::Priority)]);
    stack.queue = dice.pick(&[None, None, Some(0), Some(8), Some(64)]);
    let mut reply = Series::new("modbus", Method::Quiet);
    reply.fixed = Some(range(dice, [300_000, 500_000], 8_000));
    if dice.chance(60) {
        reply.scan = Some(range(dice, [100_000, 10_000_000], 100));
    }
    let requests = vec![stack, reply];
    let (device, date) = ("device".to_owned(), "2026-11-30".to_owned());
    let mut profile = Profile { device, date, requests, ..Profile::default() };
    profile.stack_from = Some("closed".to_owned());
    profile.reply_from = dice.chance(70).then(|| "modbus".to_owned());
    profile
}

/// Three devices behind a switch, which a controller asks and two of which report to it.
fn scenario(number: u64) -> Scenario {
    let mut dice = dice(number.wrapping_add(9 << 50));
    let profiles = [(); 3].map(|()| profile(&mut dice).to_yaml());
    let mut text = String::from("rtether: 1\nstacks: { second: { stack: 1.yaml } }\nnodes:\n");
    text.push_str("  plc: { stack: { send: 5 us, receive: 5 us } }\n  d0: { stack: 0.yaml }\n");
    text.push_str("  d1: { stack: second }\n  d2: { stack: { stack: 2.yaml } }\n");
    text.push_str("switches: { sw: { ports: 4 } }\nlinks:\n");
    for (port, node) in (1..).zip(["plc", "d0", "d1", "d2"]) {
        let _ = writeln!(text, "  - {{ ends: [{node}, \"sw:{port}\"], rate: 100 Mbit/s }}");
    }
    text.push_str("flows:\n");
    for device in 0..3 {
        let period = dice.pick(&[3, 5, 12]);
        let [size, answer] = [(); 2].map(|()| dice.pick(&[20, 200, 1_400]));
        let _ = writeln!(
            text,
            "  - {{ name: ask{device}, from: plc, to: d{device}, period: {period} ms, pcp: {device}, \
             size: {size} B, reply: {{ size: {answer} B }} }}"
        );
        let to = if device == 2 { "d0" } else { "plc" };
        let _ = writeln!(
            text,
            "  - {{ name: tell{device}, from: d{device}, to: {to}, period: 4 ms, size: 100 B }}"
        );
    }
    let loaded = load_from(
        "plant.yaml",
        &text,
        &|path| {
            let number = path.strip_suffix(".yaml").and_then(|own| own.parse::<usize>().ok());
            Ok(profiles[number.expect("a profile")].clone())
        },
        &[],
        &[],
    );
    let words = loaded.text(render::Style::Plain);
    loaded.scenario.unwrap_or_else(|| panic!("{words}{text}{}", profiles.concat()))
}

/// Oracle: the simulator, which draws each constant between its ends.
#[test]
fn profiles_keep_to_their_bounds() {
    let test = "profiles_keep_to_their_bounds";
    let (mut bounded, mut answered) = (0, 0);
    for_each_case_up_to(CASES, test, |number| {
        let Scenario { network, flows, .. } = scenario(number);
        let analysis = analyze(&network, &flows);
        for stream in analysis.streams.iter().filter(|own| own.bound.is_ok()) {
            bounded += 1;
            answered += usize::from(flows[stream.flow.index()].reply.is_some());
        }
        for run in 0..RUNS {
            let seed = number ^ (run << 32);
            let config = Config { seed, warmup: Duration::ZERO, bucket: Duration::ZERO };
            let mut simulation = Simulation::new(&network, &flows, &config).unwrap();
            simulation.run_until(Instant::ZERO + Duration::from_ms(40), &mut NoObserver);
            check(&analysis, &simulation.finish());
        }
    });
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || (bounded > 150 && answered > 60), "{bounded} {answered}");
}
