//! Random devices, and the network on which a prober asks them.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::endnode::{Layer, Receive, ReceiveConfig, ReceiveSelection};
use rtether_model::flow::{Phase, Reply, Scan};
use rtether_model::network::{
    Cost, EndStation, Jitter, LinearStack, NodeId, NodeKind, Outliers, Pcp, Servers, Spread, Stack,
    Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire::occupancy;
use rtether_proto::identify::{Ask, End, Path, Prober};
use rtether_sim::emulation::{Destination, Emulation, Foreign, Headers, Output, Setup};
use rtether_sim::thinking::Thinking;
use rtether_testkit::Dice;

use super::habit::Habit;
use crate::support::{Plant, plain_switch};

/// Rate of both links: a device is slower than its line.
const MBPS: u64 = 1_000;

/// What a device hides.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) stack: LinearStack,
    pub(super) queue: u32,
    /// The cycle of its application; zero if it answers at once.
    pub(super) cycle: Duration,
    pub(super) has_priority: bool,
}

impl Device {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        let sum = dice.time(5_000, 500_000);
        let receive = sum * dice.time(20, 80) / 100;
        let mean = Duration::from_ns(sum / 2 * dice.time(2, 20) / 100);
        let jitter = match dice.between(0, 2) {
            0 => Jitter { spread: Spread::Uniform { max: mean * 2 }, outliers: None },
            1 => Jitter { spread: Spread::Exponential { mean, max: mean * 10 }, outliers: None },
            _ => Jitter {
                spread: Spread::Uniform { max: mean * 2 },
                outliers: Some(Outliers { per_million: 10_000, min: mean * 5, max: mean * 20 }),
            },
        };
        Self {
            stack: LinearStack {
                send: Cost {
                    base: Duration::from_ns(sum - receive),
                    per_octet: Duration::from_ns(dice.time(0, 60)),
                },
                receive: Cost {
                    base: Duration::from_ns(receive),
                    per_octet: Duration::from_ns(dice.time(0, 60)),
                },
                interface: Cost::default(),
                jitter,
                servers: dice.pick(&[Servers::Shared, Servers::PerDirection]),
            },
            queue: dice.small::<u32>(1, 64),
            cycle: if dice.chance(20) {
                Duration::ZERO
            } else {
                Duration::from_ns(dice.time(0, 10_000_000))
            },
            has_priority: dice.chance(50),
        }
    }

    /// Returns the mean of its jitter in one direction.
    pub(super) fn jitter(&self) -> Duration {
        let Jitter { spread, outliers } = &self.stack.jitter;
        let rare = outliers.map_or(Duration::ZERO, |own| {
            (own.min + own.max) / 2 * i64::from(own.per_million) / 1_000_000
        });
        spread.mean(true) + rare
    }

    /// Returns quantiles of its fixed cost with the jitter of both directions, from many draws.
    pub(super) fn quantiles(&self, per_million: &[u32]) -> Vec<Duration> {
        let mut dice = Dice::new(1);
        let fixed = self.stack.send.base + self.stack.receive.base;
        let mut draws = vec![Duration::ZERO; 20_000];
        for draw in &mut draws {
            *draw = fixed + self.drawn(&mut dice) + self.drawn(&mut dice);
        }
        draws.sort_unstable();
        let places = per_million.iter().map(|share| u64::from(*share) * 20_000 / 1_000_000);
        places.map(|place| draws[usize::try_from(place).unwrap()]).collect()
    }

    /// Returns the jitter of one packet.
    fn drawn(&self, dice: &mut Dice) -> Duration {
        let Jitter { spread, outliers } = &self.stack.jitter;
        let everyday = match spread {
            Spread::Uniform { max } => Duration::from_ps(dice.time(0, max.as_ps())),
            Spread::Exponential { mean, max } => {
                let uniform = f64::from(dice.small::<u32>(1, 1_000_000)) / 1e6;
                (*mean / 1_000 * thousandths(-uniform.ln())).min(*max)
            }
            Spread::None | Spread::Empirical(_) => Duration::ZERO,
        };
        match outliers {
            Some(own) if dice.between(1, 1_000_000) <= u64::from(own.per_million) => {
                everyday + Duration::from_ps(dice.time(own.min.as_ps(), own.max.as_ps()))
            }
            _ => everyday,
        }
    }

    fn station(&self) -> EndStation {
        let receive = Receive::Queues(ReceiveConfig {
            input_limit: u32::MAX,
            queue_limits: vec![self.queue; 2],
            selection: ReceiveSelection::HighestFirst,
        });
        let layer = Layer { receive: Some(receive), ..Layer::default() };
        EndStation {
            stack_queue: self.queue,
            layer: self.has_priority.then(|| Box::new(layer)),
            emulate: true,
            ..EndStation::new(Stack::Linear(self.stack.clone()))
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "at most 14")]
fn thousandths(number: f64) -> i64 {
    (number * 1e3).round() as i64
}

/// Which of its parts answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// The stack, at once.
    AtOnce,
    /// The application, at its scan.
    AtScan,
}

/// What happens on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An answer of this packet reaches the prober.
    Arrives(u32),
    /// The device answers this packet.
    Leaves(u32),
}

/// Two links of a prober and a device at a switch.
pub(super) struct Bench {
    emulation: Emulation,
    prober: NodeId,
    device: NodeId,
    thinking: Thinking,
    /// What its application does beside that.
    habit: Option<Habit>,
    /// By time.
    events: BTreeSet<(Instant, Event)>,
    /// Answers: their octets and priority.
    asked: BTreeMap<u32, (Bytes, bool)>,
}

/// What the links take.
pub(super) fn path() -> Path {
    let octet = Duration::from_ns(8);
    // Two links each way, with eight octets of preamble.
    Path { constant: octet * 32, request_octet: octet * 2, answer_octet: octet * 2 }
}

impl Bench {
    pub(super) fn new(device: &Device, answers: Answers, seed: u64) -> Self {
        let mut plant = Plant::default();
        let switch = plant.switch(plain_switch());
        let prober = plant.station(Stack::Zero);
        let own = plant.network.add("device", NodeKind::EndStation(device.station()));
        plant.join(switch, prober, MBPS);
        plant.join(switch, own, MBPS);
        let is_at_scan = answers == Answers::AtScan && device.cycle > Duration::ZERO;
        let scan = Scan { period: device.cycle, phase: Phase::Random };
        let reply = Reply {
            payload: Bytes::new(60),
            after: Duration::ZERO,
            scan: is_at_scan.then_some(scan),
        };
        Self {
            emulation: Emulation::new(&Setup::new(&plant.network, seed)).unwrap(),
            prober,
            device: own,
            thinking: Thinking::new(&reply, "device", seed),
            habit: None,
            events: BTreeSet::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Gives the application of the device a habit.
    pub(super) fn with(mut self, habit: Habit) -> Self {
        self.habit = Some(habit);
        self
    }

    /// Lets a prober ask until it is done. Its host sends one packet behind the other.
    pub(super) fn run(&mut self, prober: &mut Prober) -> End {
        let rate = BitRate::from_mbps(MBPS);
        let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
        loop {
            let mut until = free;
            if now >= free {
                until = match prober.poll(now) {
                    Ask::Done(end) => return end,
                    Ask::Wait(until) => until,
                    Ask::Send(packet) => {
                        if let Some(answer) = packet.answer {
                            self.asked.insert(packet.id, (answer, packet.high));
                        }
                        self.send(self.prober, now, packet.id, packet.request, packet.high);
                        prober.sent(packet.id, now, packet.request);
                        free = now + occupancy(packet.request, rate);
                        continue;
                    }
                };
            }
            let first = self.events.first().map(|(at, _)| *at);
            let next = self.emulation.next_event().map(|at| at + Duration::from_ps(1));
            now = [Some(until), first, next].into_iter().flatten().min().unwrap().max(now);
            self.emulation.run_until(now);
            self.note();
            while self.events.first().is_some_and(|(at, _)| *at <= now) {
                let Some((at, event)) = self.events.pop_first() else { break };
                match event {
                    Event::Arrives(id) => prober.answered(id, at, self.asked[&id].0),
                    Event::Leaves(id) => {
                        let (answer, high) = self.asked[&id];
                        self.send(self.device, at, id, answer, high);
                    }
                }
            }
        }
    }

    fn send(&mut self, from: NodeId, at: Instant, id: u32, size: Bytes, high: bool) {
        let to = if from == self.prober { self.device } else { self.prober };
        let frame = Foreign {
            size,
            destination: Destination::One(to),
            tag: high.then(|| (Pcp::new(6).unwrap(), Vid::new(0).unwrap())),
            headers: Headers::default(),
            token: u64::from(id),
        };
        self.emulation.inject(from, at, frame).unwrap();
    }

    fn note(&mut self) {
        while let Some(output) = self.emulation.poll_output() {
            let Output::Delivered { token, station, at, .. } = output else { continue };
            let id = u32::try_from(token).unwrap();
            if station == self.prober {
                self.events.insert((at, Event::Arrives(id)));
            } else if self.asked.contains_key(&id) {
                let ready = at + self.thinking.takes(at);
                let leaves = self.habit.as_mut().map_or(ready, |habit| habit.leaves(ready));
                self.events.insert((leaves, Event::Leaves(id)));
            }
        }
    }
}
