//! Paper 000 live: a switch that removes tags, and the task priority of the measuring program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Span, Instant};

use rtether_live::emulator::capture;
use rtether_model::endnode::{HeaderMatch, PriorityTable, Rule, TosMatch};
use rtether_model::flow::{Flow, Tag};
use rtether_model::network::{Network, NodeKind, Pcp, Stack, TagHandling, Vid};
use rtether_model::wire::Encapsulation;
use rtether_proto::endnode::{Classifier, parse};
use rtether_testbed::testbed::{DEVICE, Emulation};
use rtether_testbed::{Placement, Thread, Via};

use super::Calm;
use crate::lab;
use crate::plant::{self, Plant};
use crate::prelude::*;
use crate::prio::tasks::{PAPER, is_slower};

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
        headers: HeaderMatch { tos: Some(TosMatch::dscp(DSCP)), ..HeaderMatch::default() },
        class: 1,
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
    let ends = lab::ends(&network, ["master", "slave"]);
    let form = (Encapsulation::Udp, Bytes::new(64));
    let messages = Flow {
        dscp: DSCP,
        tag: Some(Tag { pcp: Pcp::new(PCP).expect("a valid priority"), vid: Vid::PRIORITY_ONLY }),
        ..plant::flow("messages", (ends[0], ends[1]), form, plant::periodic(PERIOD))
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

pub(crate) fn strip(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("A switch that takes tags off, measured");
    let (kept, first) = received(false, progress)?;
    let (stripped, second) = received(true, progress)?;
    let high = |frames: &[Vec<u8>], has_rules| {
        let classifier = classifier(has_rules);
        let frames = frames.iter();
        let classes = frames.map(|frame| classifier.classify(&parse(frame).key).class);
        classes.filter(|&class| class == 1).count()
    };
    let found = [high(&kept, false), high(&stripped, false), high(&stripped, true)];
    let all = [&kept, &stripped, &stripped].map(Vec::len);
    let is_complete = all.iter().all(|&count| count == COUNT);
    let [kept, lost, deduced] = [0, 1, 2].map(|at| format!("{} of {}", found[at], all[at]));
    page.judge(
        "C031",
        is_complete && found == [COUNT, 0, COUNT],
        format!(
            "frames in the high class at the receiver: tags kept {kept}, stripped {lost}, stripped \
             and deduced from the type of service {deduced}"
        ),
        "the classes at the receiver differ",
    );
    page.note(lab::fidelity(&[first, second]));
    page.note(
        "UDP packets of an ordinary socket, tagged by the kernel, through an emulated switch; \
         captured at the receiver and classified by the engine of the end-node layer.",
    );
    Ok(())
}

/// Measures with the generator at a priority, while other programs keep its core busy.
fn generator(
    priority: Option<u8>,
    progress: &Progress,
) -> Result<(Calm, Emulation), ReproduceError> {
    let network = network(false);
    let ends = lab::ends(&network, ["master", "slave"]);
    let mut options = lab::round_trips(Via::Udp, 64, ROUND_TRIPS);
    // The emulator runs on the last core.
    options.thread = Thread {
        placement: Placement { core: Some(0), priority, lock_memory: false },
        ..Thread::default()
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..LOAD {
            scope.spawn(|| {
                let placement = Placement { core: Some(0), ..Placement::default() };
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
        let calm = Calm::of(&found)?;
        let mean = all.map_or(calm.mean, |all| all.mean);
        Ok((Calm { mean, ..calm }, emulation))
    })
}

/// Smaller differences of the means do not count as an effect on a machine with other load.
const EFFECT: f64 = 0.1;

/// Number of programs that keep the generator's core busy.
const LOAD: usize = 2;

pub(crate) fn tasks(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Task priority of the test program, measured");
    let (high, first) = generator(Some(lab::PRIORITY), progress)?;
    let (default, second) = generator(None, progress)?;
    for (name, calm) in [("default", &default), ("high", &high)] {
        let quantity = format!("round trip, {name} task priority");
        page.row(quantity, PAPER, calm.words(), "000 Skeie IV Bugs b");
    }
    page.judge(
        "C032",
        is_slower(ratio(default.mean, high.mean) - 1.0, EFFECT),
        format!("default {}, high {}", default.mean, high.mean),
        "the means differ by less than a tenth, or are in the other order: today's scheduler lets a \
         program that slept go first, so that only some round trips wait",
    );
    page.note(lab::fidelity(&[first, second]));
    page.note(format!(
        "{LOAD} programs of ordinary priority keep the generator's core busy; high is \
         `SCHED_FIFO` {}.",
        lab::PRIORITY
    ));
    Ok(())
}
