//! Paper 001 live: one board, played by this host, over an emulated switch with bulk traffic.

use rtether_testbed::testbed::Emulation;
use rtether_testbed::{Interval, PingOptions, Via};

use super::Calm;
use crate::kakanakov::{self, Board, Load, Protocol, Scenario, measured};
use crate::lab;
use crate::observe::Known;
use crate::prelude::*;

/// Echoes; the paper has 100 000.
const ECHOES: u32 = 2_000;
/// CNDEP commands, as in the paper, and their interval, which is 100 ms there.
const COMMANDS: u32 = 101;
const INTERVAL: Duration = Duration::from_ms(20);
/// Payload of an echo in octets.
const PAYLOAD: u64 = 56;

/// Cells measured so far in this process; claims compare several.
static MEASURED: Known<(Protocol, Scenario), (Calm, Emulation)> = Known::new();

fn cell(
    protocol: Protocol,
    scenario: Scenario,
    progress: &Progress,
) -> Result<(Calm, Emulation), ReproduceError> {
    MEASURED.get((protocol, scenario), || {
        // The board's port has 100 Mbit/s; without the request, bulk remains.
        let (network, mut load) =
            kakanakov::cell(protocol, Board::Ep9302, scenario, Load::Remainder);
        load.remove(0);
        let ends = lab::ends(&network, ["test computer", "board"]);
        let options = options(protocol);
        let (found, emulation) = lab::with(network, load, progress, |lab| {
            lab.ping(ends, &options, &lab::answering(options.via))
        })?;
        Ok((Calm::of(&found)?, emulation))
    })
}

fn options(protocol: Protocol) -> PingOptions {
    match protocol {
        Protocol::Icmp => lab::round_trips(Via::Icmp, PAYLOAD, ECHOES),
        Protocol::Cndep | Protocol::Get => {
            let mut options = lab::round_trips(Via::Cndep, 0, COMMANDS);
            options.config.interval = Interval::Fixed(INTERVAL);
            options
        }
    }
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Round trips to a board that this host plays, measured");
    let (protocol, scenario) = kakanakov::of(page);
    let (calm, emulation) = cell(protocol, scenario, progress)?;
    let averages = Board::ALL.into_iter().filter_map(|board| {
        let average = measured(protocol, board, scenario.letter(), "avg")?;
        Some(format!("{} {average}", board.name()))
    });
    let quantity = format!("round trip, {} ({})", protocol.name(), scenario.letter());
    let source = "001 Kakanakov Tables 1 and 2";
    page.row(quantity, listed(averages, ", "), calm.words(), source);
    judge(page, progress)?;
    page.note(lab::fidelity(&[emulation]));
    page.note(format!(
        "{ECHOES} echoes instead of 100 000; {COMMANDS} commands every {INTERVAL} instead of \
         100 ms. ICMP is answered by this host's kernel, CNDEP by `rtether echo`, both \
         without the delay of a board."
    ));
    page.note(format!(
        "Echoes follow each other as soon as they are answered; commands are {INTERVAL} \
         apart, so that this host has gone to sleep before each and has to wake up. C042, \
         which compares the two, has that in its ratio."
    ));
    Ok(())
}

fn judge(page: &mut Page, progress: &Progress) -> Outcome {
    use Scenario::{Direct, OtherVlan, Priority, SharedPort, Switch};
    let mean = |protocol, scenario| cell(protocol, scenario, progress).map(|cell| cell.0.mean);
    let icmp = |scenario| mean(Protocol::Icmp, scenario);
    let cndep = |scenario| mean(Protocol::Cndep, scenario);
    for claim in page.claims() {
        let (holds, observed, reason) = match claim.as_str() {
            "C033" => {
                let more = icmp(Switch)? - icmp(Direct)?;
                let holds = page.accepts(&claim, [more]);
                (holds, more.to_string(), "the switch costs more or less")
            }
            "C034" => {
                let factor = ratio(icmp(OtherVlan)?, icmp(Switch)?);
                let holds = page.accepts(&claim, [(factor - 1.0).abs()]);
                let reason = "the means differ by more: on this host bulk in another VLAN also takes \
                              processor time from what measures, or keeps its cores awake";
                (holds, format!("{factor:.3}"), reason)
            }
            "C035" => {
                let more = icmp(SharedPort)? - icmp(Switch)?;
                (Some(more > Duration::ZERO), more.to_string(), "bulk adds nothing")
            }
            "C036" => {
                let factor = ratio(icmp(Priority)?, icmp(SharedPort)?);
                (Some(factor <= 1.01), format!("{factor:.3}"), "priority makes it worse")
            }
            "C038" => {
                let (d, e) = (cndep(SharedPort)?, cndep(Priority)?);
                (Some(e <= d), format!("{d} to {e}"), "the mean rises with priority")
            }
            "C042" => {
                let factor = ratio(cndep(Direct)?, icmp(Direct)?);
                let holds = page.accepts(&claim, [factor]).filter(|&holds| holds);
                let reason = "no board plays here: what its program takes is left out, and with it \
                              what the claim is about";
                (holds, format!("{factor:.2}"), reason)
            }
            "C043" => {
                let cells = Scenario::ALL.map(|scenario| cell(Protocol::Icmp, scenario, progress));
                let cells = cells.into_iter().collect::<Result<Vec<_>, _>>()?;
                let lost: u64 = cells.iter().map(|(calm, _)| calm.lost).sum();
                (Some(lost == 0), format!("{lost} lost"), "packets were lost")
            }
            _ => {
                let (calm, _) = cell(Protocol::Icmp, Direct, progress)?;
                let factor = ratio(calm.mean, calm.min);
                let reason = "the mean is further from the minimum: what wakes this host varies more \
                              than a board's program";
                (page.accepts(&claim, [factor]), format!("{factor:.3}"), reason)
            }
        };
        page.judge(&claim, holds, observed, reason);
    }
    Ok(())
}
