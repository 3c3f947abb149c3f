//! Traffic of a small plant, and faults in it, for what compares traffic with a plan.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::Dice;

/// The plant.
pub const BAY: &str = "rtether: 1
name: bay
nodes:
  mu: { stack: zero }
  relay: { stack: zero }
  plc: { stack: zero }
  drive: { stack: zero }
switches:
  sw: { ports: 4, queues: 8 }
links:
  - { ends: [mu, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [relay, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [plc, \"sw:3\"], rate: 100 Mbit/s }
  - { ends: [drive, \"sw:4\"], rate: 100 Mbit/s }
flows:
  - { name: samples, from: mu, to: [relay], over: sv, rate: 1000 /s, size: 94 B, pcp: 4, vlan: 100, deadline: 3 ms }
  - { name: heartbeat, from: relay, to: [plc], over: goose, period: 500 ms, size: 140 B, pcp: 4, vlan: 100, deadline: 3 ms }
  - { name: trip, from: mu, to: [relay], over: goose, min_gap: 20 ms, mean_gap: 60 ms, burst: 3, size: 150 B, pcp: 7, vlan: 100, deadline: 3 ms }
  - { name: setpoint, from: plc, to: drive, period: 10 ms, size: 64 B, pcp: 6, vlan: 5, deadline: 5 ms }
  - { name: status, from: drive, to: plc, period: 20 ms, size: 200 B, pcp: 5, vlan: 5, deadline: 20 ms }
  - { name: alarm, from: drive, to: plc, min_gap: 100 ms, mean_gap: 900 s, size: 90 B, pcp: 6, vlan: 5 }
run: { for: 3 s, warmup: 0 s }
";

/// The stream of samples under another address of its talker.
pub const STRANGER: &str = "02-00-00-00-00-55 > 03-00-00-00-00-00 SV 4000";
const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// A frame and when it comes, in nanoseconds.
pub type Arrival = (i64, Vec<u8>);

/// What a fault does to traffic.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// The next frame comes later.
    Shift(i64),
    /// The next frames do not come.
    Remove(usize),
    /// A copy of the next frame comes this much later.
    Copy(i64),
    /// All following periods are longer by this, in thousandths.
    Pace(i64),
    /// The next frame is another one.
    Change(fn(&mut Vec<u8>)),
}

/// A fault of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The flow.
    pub flow: &'static str,
    /// What happens to it.
    pub does: Does,
    /// How it deviates, by the word of results.
    pub deviation: &'static str,
    /// In which time that is found, in nanoseconds.
    pub within: i64,
}

/// Traffic of the plant.
#[derive(Clone, Debug)]
pub struct Bay {
    /// One frame of each flow.
    pub frames: BTreeMap<&'static str, Vec<u8>>,
    /// Period of the samples, in nanoseconds.
    pub samples: i64,
}

/// Returns the frames of a capture (pcapng), one for each size and interface, by its name.
fn frames_of(octets: &[u8]) -> BTreeMap<(String, usize), Vec<u8>> {
    let mut names: Vec<String> = Vec::new();
    let mut found = BTreeMap::new();
    let word = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().expect("four"));
    let mut at = 0;
    while at < octets.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        if kind == 1 {
            // The name is the option with code 2.
            let mut option = at + 16;
            while option < at + length - 4 && octets[option] != 2 {
                option += 4 + usize::from(octets[option + 2]).div_ceil(4) * 4;
            }
            let size = usize::from(octets[option + 2]);
            let name = &octets[option + 4..option + 4 + size];
            names.push(String::from_utf8_lossy(name).into_owned());
        } else if kind == 6 {
            let (interface, size) = (word(at + 8) as usize, word(at + 20) as usize);
            let frame = octets[at + 28..at + 28 + size].to_vec();
            found.insert((names[interface].clone(), size), frame);
        }
        at += length;
    }
    found
}

impl Bay {
    /// Returns the scenario for a capture that shows all its flows.
    pub fn shown() -> String {
        BAY.replace("mean_gap: 900 s", "mean_gap: 200 ms")
    }

    /// Takes the frames from a capture of [`Self::shown`], as the simulator writes it.
    pub fn of(capture: &[u8]) -> Self {
        let found = frames_of(capture);
        let of = |station: &str, is: &dyn Fn(&[u8]) -> bool| {
            let mut all = found.iter();
            let own = all.find(|((name, _), frame)| name == station && is(frame));
            own.expect("the capture shows it").1.clone()
        };
        let is_type = |frame: &[u8], kind: [u8; 2]| frame[16..18] == kind;
        let udp = |size: usize| move |f: &[u8]| is_type(f, [8, 0]) && f.len() == 18 + 28 + size;
        let frames = BTreeMap::from([
            ("samples", of("mu", &|f| is_type(f, [0x88, 0xba]))),
            ("heartbeat", of("relay", &|f| is_type(f, [0x88, 0xb8]))),
            ("trip", of("mu", &|f| is_type(f, [0x88, 0xb8]))),
            ("setpoint", of("plc", &udp(64))),
            ("status", of("drive", &udp(200))),
            ("alarm", of("drive", &udp(90))),
        ]);
        Self { frames, samples: MS }
    }

    /// Returns the traffic between two seconds, in order; `begin` is the time of second zero.
    pub fn traffic(&self, begin: i64, seconds: Range<i64>, seed: u64) -> Vec<Arrival> {
        let mut dice = Dice::new(seed);
        let mut all = Vec::new();
        for (name, period, most) in [
            ("samples", self.samples, 300_000),
            ("heartbeat", 500 * MS, 2 * MS),
            ("setpoint", 10 * MS, 4 * MS),
            ("status", 20 * MS, 15 * MS),
        ] {
            let mut last = 0;
            // Two clocks: one is off by 80 ppm.
            let drift = if name == "setpoint" { period / 12_500 } else { 0 };
            let own = period + drift;
            let first = (seconds.start * SECOND + own - 1) / own;
            for n in first..=(seconds.end * SECOND - 1) / own {
                // Seldom much, mostly little.
                let most = if dice.index(1000) == 0 { most } else { most / 20 };
                last = (begin + n * own + dice.time(0, most)).max(last + 1000);
                all.push((last, self.frames[name].clone()));
            }
        }
        let mut at = begin + seconds.start * SECOND + 500 * MS;
        while at < begin + seconds.end * SECOND - 500 * MS {
            all.extend((0..3).map(|n| (at + n * 20_000, self.frames["trip"].clone())));
            at += 121 * MS + dice.time(0, 90 * MS);
        }
        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// Does something to the first frame of a flow after a time; returns when that was.
    pub fn spoil(&self, all: &mut Vec<Arrival>, flow: &str, does: Does, after: i64) -> i64 {
        let template = &self.frames[flow];
        let next = |all: &[Arrival]| {
            let is = |(at, frame): &Arrival| *at > after && frame == template;
            all.iter().position(is).expect("it is there")
        };
        let first = next(all);
        let when = all[first].0;
        let end = all.last().map_or(when, |(at, _)| *at);
        match does {
            Does::Shift(by) => all[first].0 += by,
            Does::Remove(frames) => {
                for _ in 0..frames {
                    all.remove(next(all));
                }
            }
            Does::Copy(by) => all.push((when + by, template.clone())),
            Does::Pace(parts) => {
                for (at, frame) in &mut *all {
                    if *at > after && frame == template {
                        *at += (*at - after) / 1000 * parts;
                    }
                }
            }
            Does::Change(change) => change(&mut all[first].1),
        }
        all.sort_by_key(|(at, _)| *at);
        // Nothing comes after the others have ended.
        all.retain(|(at, _)| *at <= end);
        when
    }

    /// Returns a fault of each kind.
    pub fn faults() -> Vec<Fault> {
        use Does::{Change, Copy, Pace, Remove, Shift};
        let of = |flow, does, deviation, within| Fault { flow, does, deviation, within };
        vec![
            of("setpoint", Shift(7 * MS), "late", SECOND),
            of("heartbeat", Shift(40 * MS), "late", SECOND),
            of("samples", Remove(1), "missing", SECOND),
            of("setpoint", Remove(2), "missing", SECOND),
            of("status", Remove(500), "missing", SECOND),
            of("samples", Copy(120_000), "faster", SECOND),
            of("trip", Copy(100_000), "faster", SECOND),
            of("status", Pace(10), "slower", 30 * SECOND),
            of("setpoint", Pace(-10), "faster", 30 * SECOND),
            of("samples", Change(|frame| frame[14] ^= 0x20), "priority", MS),
            of("status", Change(|frame| frame[15] ^= 1), "vlan", MS),
            of("setpoint", Change(|frame| longer(frame, 20)), "size", MS),
            of("samples", Change(|frame| frame[11] ^= 0x55), "not-planned", MS),
        ]
    }
}

/// Adds octets to a frame of UDP, as its headers say.
fn longer(frame: &mut Vec<u8>, octets: u16) {
    frame.extend(vec![0; usize::from(octets)]);
    for at in [20, 42] {
        let length = u16::from_be_bytes([frame[at], frame[at + 1]]) + octets;
        frame[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
}
