//! What a scheme does when something goes wrong, in short runs.

use rtether_model::access::Scheme;
use rtether_model::flow::Traffic;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Record, StreamRecord};
use rtether_sim::BuildError;
use rtether_sim::observe::{Delivery, Observer, PacketInfo};

use super::name;
use crate::run::{Progress, simulate_seed};
use crate::scenario::Scenario;

/// Control frames in a row of which each is lost in a run of its own.
const LOSSES: u64 = 4;
/// Longest run in which something goes wrong, after the warm-up.
const LONGEST: Duration = Duration::from_secs(1);

/// What goes wrong, beside a run of the same length in which nothing does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Without a fault; `None` if there is nothing that could fail.
    pub none: Option<Fault>,
    /// With one control frame lost; `None` without control frames.
    pub loss: Option<Fault>,
    /// With the first master, or else the first member, silent from the middle of the run on.
    pub death: Option<Fault>,
    /// Names of the stations that die, one on each medium.
    pub dead: Vec<String>,
}

/// What a fault does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Largest latency of all real-time packets that arrived.
    pub worst: Duration,
    /// Packets that missed their deadline, or were lost where there is none, beyond those of the
    /// run without a fault; of streams that can still be delivered.
    pub missed: u64,
    /// Longest time beyond the period in which a listener of a periodic real-time stream got
    /// nothing, of the same streams; `None` if there are none.
    pub silence: Option<Duration>,
}

/// Returns what the loss of one control frame and the death of a master do, where the stations send
/// this many control frames in the whole run.
pub(super) fn faults(
    scenario: &Scenario,
    control: u64,
    progress: &Progress,
) -> Result<Faults, BuildError> {
    let mut found = Faults::default();
    let short = short(scenario);
    let (killed, dead) = with_death(&short);
    if dead.is_empty() || progress.is_cancelled() {
        return Ok(found);
    }
    let usual = Run::new(&short, progress)?;
    found.none = Some(usual.fault(&short, &[], None));
    if control > 0 {
        let first = middle(scenario, &short, control);
        for number in first..first + LOSSES {
            let mut lossy = short.clone();
            for own in &mut lossy.network.access {
                own.faults.lost = vec![number];
            }
            let run = Run::new(&lossy, progress)?;
            let fault = run.fault(&lossy, &[], Some(&usual));
            found.loss = Some(found.loss.map_or(fault, |other| other.worse(fault)));
        }
    }
    let run = Run::new(&killed, progress)?;
    found.death = Some(run.fault(&killed, &dead, Some(&usual)));
    found.dead = dead.iter().map(|&dead| name(&scenario.network, dead)).collect();
    // What was cut off says nothing.
    Ok(if progress.is_cancelled() { Faults::default() } else { found })
}

/// Returns the plant with one short run.
fn short(scenario: &Scenario) -> Scenario {
    let mut short = scenario.clone();
    short.run.runs = 1;
    short.run.duration = short.run.duration.min(short.run.warmup + LONGEST);
    short
}

/// Returns the number of a control frame in the middle of the short run.
fn middle(scenario: &Scenario, short: &Scenario, control: u64) -> u64 {
    let length = short.run.duration.as_ps().max(1);
    let whole = scenario.run.duration.as_ps().max(1);
    let part = i128::from(control) * i128::from(length) / i128::from(whole) / 2;
    u64::try_from(part).unwrap_or(0).max(1)
}

/// Returns the plant in which a master on each medium dies, and these stations.
fn with_death(short: &Scenario) -> (Scenario, Vec<NodeId>) {
    let mut killed = short.clone();
    let plan = short.run;
    let middle = plan.warmup + (plan.duration - plan.warmup) / 2;
    let mut dead = Vec::new();
    for own in &mut killed.network.access {
        let master = match &own.scheme {
            Scheme::Tdma(own) => own.master,
            Scheme::Polling(own) => own.master,
            Scheme::Powerlink(own) => own.master,
            Scheme::Ftt(own) => own.master,
            Scheme::Summation(own) => own.master,
            Scheme::TimedToken(_) | Scheme::VirtualToken(_) | Scheme::DemandPriority(_) => 0,
        };
        if let Some(member) = own.members.get(master as usize) {
            own.faults.silent.push((member.node, middle));
            dead.push(member.node);
        }
    }
    (killed, dead)
}

impl Fault {
    fn worse(self, other: Self) -> Self {
        Self {
            worst: self.worst.max(other.worst),
            missed: self.missed.max(other.missed),
            silence: self.silence.max(other.silence),
        }
    }
}

/// One short run.
struct Run {
    record: Record,
    pauses: Pauses,
}

impl Run {
    fn new(scenario: &Scenario, progress: &Progress) -> Result<Self, BuildError> {
        let begin = Instant::ZERO + scenario.run.warmup;
        let streams = scenario.flows.iter().map(|flow| flow.listeners.len()).sum();
        let mut pauses =
            Pauses { last: vec![begin; streams], longest: vec![Duration::ZERO; streams] };
        let record = simulate_seed(scenario, scenario.run.seed, progress, &mut pauses)?;
        pauses.finish(Instant::ZERO + scenario.run.duration);
        Ok(Self { record, pauses })
    }

    /// Returns what is worse than in the usual run.
    fn fault(&self, scenario: &Scenario, dead: &[NodeId], usual: Option<&Self>) -> Fault {
        let streams = || self.record.streams.iter().enumerate();
        let flow = |own: &StreamRecord| &scenario.flows[own.flow_id().index()];
        let lives = |own: &StreamRecord| {
            !dead.contains(&flow(own).talker) && !dead.contains(&own.listener_id())
        };
        // What is lost, or has been under way for too long, counts as missed where there is a
        // deadline.
        let amiss = |own: &StreamRecord| own.missed.max(own.dropped);
        let usually = |number: usize| usual.map_or(0, |run| amiss(&run.record.streams[number]));
        let own = |(_, own): &(usize, &StreamRecord)| lives(own);
        let missed = streams().filter(own);
        let missed = missed.map(|(number, own)| amiss(own).saturating_sub(usually(number)));
        let silences = streams().filter(own).filter_map(|(number, own)| {
            let Traffic::Periodic { period, .. } = &flow(own).traffic else {
                return None;
            };
            let silence = self.pauses.longest[number] - *period;
            flow(own).is_real_time().then_some(silence.max(Duration::ZERO))
        });
        let arrived = |own: &&StreamRecord| own.latency.count > 0 && flow(own).is_real_time();
        let latencies = self.record.streams.iter().filter(arrived);
        Fault {
            worst: latencies.map(|own| own.latency.max).max().unwrap_or_default(),
            missed: missed.sum(),
            silence: silences.max(),
        }
    }
}

/// The longest time without a delivery, by stream.
struct Pauses {
    last: Vec<Instant>,
    longest: Vec<Duration>,
}

impl Pauses {
    fn note(&mut self, stream: usize, now: Instant) {
        let pause = now - self.last[stream];
        self.longest[stream] = self.longest[stream].max(pause);
        self.last[stream] = self.last[stream].max(now);
    }

    fn finish(&mut self, end: Instant) {
        for stream in 0..self.last.len() {
            self.note(stream, end);
        }
    }
}

impl Observer for Pauses {
    fn delivered(&mut self, now: Instant, _: &PacketInfo, delivery: &Delivery) {
        self.note(delivery.stream, now);
    }
}
