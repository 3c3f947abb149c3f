//! Paper 001 live: one board, played by this host, over an emulated switch with bulk traffic.

use std::sync::Mutex;
use std::sync::PoisonError;

use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::super::judge::Judge;
use super::super::kakanakov::{Protocol, Scenario, experiment, live_cell, measured_average};
use super::super::observe::ratio;
use super::super::{Comparison, ReproduceError, Reproduction};
use super::{Calm, lab};
use rtether::run::Progress;
use rtether_testbed::testbed::Emulation;
use rtether_testbed::{Interval, PingOptions, Via};

/// Echoes; the paper has 100 000.
const ECHOES: u32 = 2_000;
/// CNDEP commands, as in the paper, and their interval, which is 100 ms there.
const COMMANDS: u32 = 101;
const INTERVAL: Duration = Duration::from_ms(20);
/// Payload of an echo in octets.
const PAYLOAD: u64 = 56;

/// Cells measured so far in this process; claims compare several.
static MEASURED: Mutex<Vec<(Protocol, Scenario, Calm, Emulation)>> = Mutex::new(Vec::new());

fn cell(
    protocol: Protocol,
    scenario: Scenario,
    progress: &Progress,
) -> Result<(Calm, Emulation), ReproduceError> {
    let known = |found: &[(Protocol, Scenario, Calm, Emulation)]| {
        let mut own = found
            .iter()
            .filter(|cell| (cell.0, cell.1) == (protocol, scenario));
        own.next().map(|cell| (cell.2, cell.3.clone()))
    };
    let mut cells = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known(&cells) {
        return Ok(found);
    }
    let (network, load) = live_cell(protocol, scenario);
    let ends: [NodeId; 2] =
        ["test computer", "board"].map(|name| network.find(name).expect("both are there"));
    let (via, options) = options(protocol);
    let (found, emulation) = lab::with(network, load, progress, |lab| {
        lab.ping(ends, &options, &lab::answering(via))
    })?;
    let calm = Calm::of(&found);
    cells.push((protocol, scenario, calm, emulation.clone()));
    Ok((calm, emulation))
}

fn options(protocol: Protocol) -> (Via, PingOptions) {
    match protocol {
        Protocol::Icmp => (Via::Icmp, lab::round_trips(Via::Icmp, PAYLOAD, ECHOES)),
        Protocol::Cndep => {
            let mut options = lab::round_trips(Via::Cndep, 0, COMMANDS);
            options.config.interval = Interval::Fixed(INTERVAL);
            (Via::Cndep, options)
        }
    }
}

pub(super) fn run(
    protocol: Protocol,
    scenario: Scenario,
    progress: &Progress,
) -> Result<Reproduction, ReproduceError> {
    let (calm, emulation) = cell(protocol, scenario, progress)?;
    let id = experiment(protocol, scenario);
    let mut judge = Judge::new(id);
    judge_all(&mut judge, progress)?;
    let boards = measured_average(protocol, scenario);
    let comparison = Comparison {
        quantity: format!("round trip, {} ({})", protocol.name(), scenario.letter()),
        paper: boards,
        ours: calm.words(),
        source: "001 Kakanakov Tables 1 and 2".into(),
    };
    Ok(Reproduction {
        id,
        title: "Round trips to a board that this host plays, measured",
        mode: "live",
        comparisons: vec![comparison],
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![
            lab::fidelity(&[emulation]),
            format!(
                "{ECHOES} echoes instead of 100 000; {COMMANDS} commands every {INTERVAL} instead of \
                 100 ms. ICMP is answered by this host's kernel, CNDEP by `rtether echo`, both \
                 without the delay of a board."
            ),
            format!(
                "Echoes follow each other as soon as they are answered; commands are {INTERVAL} \
                 apart, so that this host has gone to sleep before each and has to wake up. C042, \
                 which compares the two, has that in its ratio."
            ),
        ],
    })
}

/// Whether a claim holds (if known), the observation, and the reason if it fails.
type Verdict = (Option<bool>, String, &'static str);

fn judge_all(judge: &mut Judge, progress: &Progress) -> Result<(), ReproduceError> {
    let ids: Vec<String> = judge.open.iter().map(|claim| claim.id.clone()).collect();
    for id in ids {
        let verdict = match id.as_str() {
            "C033" | "C034" | "C035" | "C036" => networks(&id, progress)?,
            "C038" | "C042" | "C043" | "C044" => answers(&id, progress)?,
            _ => continue,
        };
        judge.decide(&id, verdict.0, verdict.1, verdict.2);
    }
    Ok(())
}

fn mean(
    protocol: Protocol,
    scenario: Scenario,
    progress: &Progress,
) -> Result<Duration, ReproduceError> {
    cell(protocol, scenario, progress).map(|(calm, _)| calm.mean)
}

/// Judges claims about echoes over different networks.
fn networks(id: &str, progress: &Progress) -> Result<Verdict, ReproduceError> {
    let icmp = |scenario| mean(Protocol::Icmp, scenario, progress);
    let us = Duration::from_us;
    let switch = icmp(Scenario::Switch)?;
    Ok(match id {
        "C033" => {
            let more = switch - icmp(Scenario::Direct)?;
            let holds = (us(-20)..=us(60)).contains(&more);
            (
                Some(holds),
                more.to_string(),
                "the switch costs more or less",
            )
        }
        "C034" => {
            let factor = ratio(icmp(Scenario::OtherVlan)?, switch);
            let holds = (factor - 1.0).abs() <= 0.05;
            let reason = "the means differ by more: on this host bulk in another VLAN also takes \
                          processor time from what measures, or keeps its cores awake";
            (Some(holds), format!("{factor:.3}"), reason)
        }
        "C035" => {
            let more = icmp(Scenario::SharedPort)? - switch;
            (
                Some(more > Duration::ZERO),
                more.to_string(),
                "bulk adds nothing",
            )
        }
        _ => {
            let factor = ratio(icmp(Scenario::Priority)?, icmp(Scenario::SharedPort)?);
            (
                Some(factor <= 1.01),
                format!("{factor:.3}"),
                "priority makes it worse",
            )
        }
    })
}

/// Judges claims about commands, losses and spread.
fn answers(id: &str, progress: &Progress) -> Result<Verdict, ReproduceError> {
    let of = |protocol, scenario| mean(protocol, scenario, progress);
    Ok(match id {
        "C038" => {
            let d = of(Protocol::Cndep, Scenario::SharedPort)?;
            let e = of(Protocol::Cndep, Scenario::Priority)?;
            (
                Some(e <= d),
                format!("{d} to {e}"),
                "the mean rises with priority",
            )
        }
        "C042" => {
            let cndep = of(Protocol::Cndep, Scenario::Direct)?;
            let factor = ratio(cndep, of(Protocol::Icmp, Scenario::Direct)?);
            let reason = "no board plays here: what its program takes is left out, and with it what \
                          the claim is about";
            let holds = if factor >= 1.5 { Some(true) } else { None };
            (holds, format!("{factor:.2}"), reason)
        }
        "C043" => {
            let mut lost = 0;
            for scenario in Scenario::ALL {
                lost += cell(Protocol::Icmp, scenario, progress)?.0.lost;
            }
            (Some(lost == 0), format!("{lost} lost"), "packets were lost")
        }
        _ => {
            let (calm, _) = cell(Protocol::Icmp, Scenario::Direct, progress)?;
            let factor = ratio(calm.mean, calm.min);
            let reason = "the mean is further from the minimum: what wakes this host varies more \
                          than a board's program";
            (Some(factor <= 1.35), format!("{factor:.3}"), reason)
        }
    })
}
