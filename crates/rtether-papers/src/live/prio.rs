//! Paper 000 live: a switch that removes tags, and the task priority of the measuring program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Span, Instant};

use rtether_live::emulator::capture;
use rtether_model::endnode::{PriorityTable, Rule, TosMatch};
use rtether_model::flow::{Flow, Phase, Tag, Traffic};
use rtether_model::network::{Network, NodeKind, Pcp, Stack, TagHandling, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;
use rtether_proto::endnode::{Classifier, parse};

use super::super::judge::Judge;
use super::super::observe::ratio;
use super::super::plant::{self, Plant};
use super::super::{Comparison, ReproduceError, Reproduction};
use super::{Calm, lab};
use rtether::run::Progress;
use rtether_testbed::testbed::{DEVICE, Emulation};
use rtether_testbed::{Placement, Thread, Via};

const RATE: BitRate = BitRate::from_mbps(100);
/// Frames per case.
const COUNT: usize = 200;
const ROUND_TRIPS: u32 = 1_000;
const PERIOD: Duration = Duration::from_ms(5);
/// Ten times what the frames take.
const PATIENCE: Span = Span::from_secs(10);
const LOOK: Span = Span::from_millis(5);
/// DSCP and priority of the messages.
const DSCP: u8 = 46;
const PCP: u8 = 6;

fn network(strips: bool) -> Network {
    let mut plant = Plant::default();
    let stations = ["master", "slave"].map(|name| plant.station(name, Stack::Zero));
    let mut switch = plant::switch(2, Duration::from_us(2));
    if strips {
        switch.tags = TagHandling::Strip;
    }
    let switch = plant.add("switch", NodeKind::Switch(switch));
    for (port, station) in (0..).zip(stations) {
        plant.link((station, 0), (switch, port), RATE);
    }
    plant.network
}

/// Returns a classifier, with or without a rule for the type of service.
fn classifier(has_rules: bool) -> Classifier {
    let rule = Rule {
        tos: Some(TosMatch::dscp(DSCP)),
        class: 1,
        ..Rule::default()
    };
    let rules = if has_rules { vec![rule] } else { Vec::new() };
    Classifier::new(PriorityTable::HIGH_LOW, rules).expect("a class that exists")
}

/// Sends tagged messages over the switch; returns the frames received by the slave.
fn received(
    strips: bool,
    progress: &Progress,
) -> Result<(Vec<Vec<u8>>, Emulation), ReproduceError> {
    let network = network(strips);
    let ends = ["master", "slave"].map(|name| network.find(name).expect("both are there"));
    let traffic = Traffic::Periodic {
        period: PERIOD,
        phase: Phase::Fixed(Duration::ZERO),
        release_jitter: Duration::ZERO,
    };
    let form = (Encapsulation::Udp, Bytes::new(64));
    let messages = Flow {
        dscp: DSCP,
        tag: Some(Tag {
            pcp: Pcp::new(PCP).expect("a valid priority"),
            vid: Vid::PRIORITY_ONLY,
        }),
        ..plant::flow("messages", (ends[0], ends[1]), form, traffic)
    };
    lab::with(network, vec![messages], progress, |lab| {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let slave = scope.spawn(|| {
                lab.inside(ends[1], || {
                    let found = capture(DEVICE, COUNT, &is_over, || {});
                    found.map_err(|error| ReproduceError::Machine(error.to_string()))
                })
            });
            let begun = Instant::now();
            while !slave.is_finished() && begun.elapsed() < PATIENCE {
                std::thread::sleep(LOOK);
            }
            is_over.store(true, Ordering::Relaxed);
            let frames = slave.join();
            frames.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

pub(super) fn strip(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let (kept, first) = received(false, progress)?;
    let (stripped, second) = received(true, progress)?;
    let high = |frames: &[Vec<u8>], has_rules| {
        let classifier = classifier(has_rules);
        let classes = frames
            .iter()
            .map(|frame| classifier.classify(&parse(frame).key).class);
        classes.filter(|&class| class == 1).count()
    };
    let all = [&kept, &stripped, &stripped].map(Vec::len);
    let found = [
        high(&kept, false),
        high(&stripped, false),
        high(&stripped, true),
    ];
    let words = |at: usize| format!("{} of {}", found[at], all[at]);
    let mut judge = Judge::new("skeie-prio-switch-strip");
    judge.judge(
        "C031",
        all.iter().all(|&count| count == COUNT)
            && found[0] == COUNT
            && found[1] == 0
            && found[2] == COUNT,
        format!(
            "frames in the high class at the receiver: tags kept {}, stripped {}, stripped and \
             deduced from the type of service {}",
            words(0),
            words(1),
            words(2)
        ),
        "the classes at the receiver differ",
    );
    Ok(Reproduction {
        id: "skeie-prio-switch-strip",
        title: "A switch that takes tags off, measured",
        mode: "live",
        comparisons: Vec::new(),
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![
            lab::fidelity(&[first, second]),
            "UDP packets of an ordinary socket, tagged by the kernel, through an emulated switch; \
             captured at the receiver and classified by the engine of the end-node layer."
                .into(),
        ],
    })
}

/// Measures with the generator at a priority, while other programs keep its core busy.
fn generator(
    priority: Option<u8>,
    progress: &Progress,
) -> Result<(Calm, Emulation), ReproduceError> {
    let network = network(false);
    let ends = ["master", "slave"].map(|name| network.find(name).expect("both are there"));
    let mut options = lab::round_trips(Via::Udp, 64, ROUND_TRIPS);
    // The emulator runs on the last core.
    options.thread = Thread {
        placement: Placement {
            core: Some(0),
            priority,
            lock_memory: false,
        },
        ..Thread::default()
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..LOAD {
            scope.spawn(|| {
                let placement = Placement {
                    core: Some(0),
                    ..Placement::default()
                };
                // If pinning fails, the load spreads over cores and has less effect.
                let _ = placement.apply();
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let measured = lab::with(network, Vec::new(), progress, |lab| {
            lab.ping(ends, &options, &lab::answering(Via::Udp))
        });
        is_over.store(true, Ordering::Relaxed);
        let (found, emulation) = measured?;
        // Waiting for the core is the effect under test, so stalls are included in the mean.
        let all = found.all();
        let calm = Calm::of(&found);
        let mean = all.map_or(calm.mean, |all| all.mean);
        Ok((Calm { mean, ..calm }, emulation))
    })
}

/// Smaller differences of the means do not count as an effect on a machine with other load.
const EFFECT: f64 = 0.1;

/// Number of programs that keep the generator's core busy.
const LOAD: usize = 2;

pub(super) fn tasks(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let (high, first) = generator(Some(lab::PRIORITY), progress)?;
    let (default, second) = generator(None, progress)?;
    let mut judge = Judge::new("skeie-prio-taskprio");
    let effect = ratio(default.mean, high.mean) - 1.0;
    let holds = match effect {
        effect if effect >= EFFECT => Some(true),
        effect if effect > 0.0 => None,
        _ => Some(false),
    };
    judge.decide(
        "C032",
        holds,
        format!("default {}, high {}", default.mean, high.mean),
        "the means differ by less than a tenth, or are in the other order: today's scheduler lets a \
         program that slept go first, so that only some round trips wait",
    );
    let row = |name: &str, calm: &Calm| Comparison {
        quantity: format!("round trip, {name} task priority"),
        paper: "the generator is delayed whenever the load generator is busy".into(),
        ours: calm.words(),
        source: "000 Skeie IV Bugs b".into(),
    };
    Ok(Reproduction {
        id: "skeie-prio-taskprio",
        title: "Task priority of the test program, measured",
        mode: "live",
        comparisons: vec![row("default", &default), row("high", &high)],
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![
            lab::fidelity(&[first, second]),
            format!(
                "{LOAD} programs of ordinary priority keep the generator's core busy; high is \
                 `SCHED_FIFO` {}.",
                lab::PRIORITY
            ),
        ],
    })
}
