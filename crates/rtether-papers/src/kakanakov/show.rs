//! `kakanakov-icmp-a` to `-e` and `kakanakov-cndep-a` to `-e`: each one column of a table.

use super::boards::{Board, Protocol, measured};
use super::claims;
use super::matrix::column as results;
use super::matrix::{self, Cell, Effort};
use super::plant::{Load, Scenario};
use crate::prelude::*;

/// Effort of the run in which the generators alone fill the port.
const OVERLOADED: Effort = Effort { runs: 1, count: 1_000 };

/// Returns protocol and scenario of an experiment.
pub(crate) fn of(page: &Page) -> (Protocol, Scenario) {
    let cells = Protocol::ALL.into_iter();
    let mut cells = cells.flat_map(|protocol| Scenario::ALL.map(|scenario| (protocol, scenario)));
    let is_own = |cell: &(Protocol, Scenario)| {
        page.id() == format!("kakanakov-{}-{}", cell.0.name(), cell.1.letter())
    };
    cells.find(is_own).expect("an experiment of the matrix")
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    let (protocol, scenario) = of(page);
    let what = match protocol {
        Protocol::Icmp => "Echoes of",
        Protocol::Cndep | Protocol::Get => "Commands to",
    };
    let how = match scenario {
        Scenario::Direct => ", direct connection",
        Scenario::Switch => " through a switch",
        Scenario::OtherVlan => ", bulk in another VLAN",
        Scenario::SharedPort => ", bulk through the same egress port",
        Scenario::Priority => ", bulk through the same port with lower priority",
    };
    page.title(format!("{what} four boards{how}"));
    for cell in results(protocol, scenario, progress)? {
        for (statistic, ours) in statistics(protocol) {
            if let Some(paper) = measured(protocol, cell.board, scenario.letter(), statistic) {
                let quantity = format!("{}, {statistic}", cell.board.name());
                page.row(quantity, paper, ours(&cell), table(protocol));
            }
        }
    }
    if protocol == Protocol::Cndep {
        for cell in results(Protocol::Get, scenario, progress)? {
            let quantity = format!("{}, avg of GET", cell.board.name());
            let ours = format!("{}, median {}", cell.mean(), cell.median);
            page.row(quantity, "commands are not told apart", ours, table(protocol));
        }
    }
    claims::judge(page, progress)?;
    page.note(samples(protocol));
    page.note(basis(scenario));
    if (protocol, scenario) == (Protocol::Icmp, Scenario::SharedPort) {
        overloaded(page, progress)?;
        page.note(
            "What IPC and TINI have on top in the paper, priority does not take away either (column \
             e): it is not queueing at the port, and the simulation does not have it.",
        );
    }
    // The last column shows the whole table.
    let drawn = match scenario {
        Scenario::Priority => &Scenario::ALL[..],
        Scenario::Direct | Scenario::Switch | Scenario::OtherVlan | Scenario::SharedPort => {
            &[scenario]
        }
    };
    draw(page, protocol, drawn, progress)
}

fn samples(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Icmp => "Each value is of 100 000 echoes, 20 runs of 5 000.",
        Protocol::Cndep | Protocol::Get => {
            "Each value is of 20 runs of 101 commands, one every 100 ms: TEST, and in a second run GET, \
             whose four octets and the five of its reply fit the shortest frame too, so that boards \
             which take no time for the value itself answer alike. The paper's averages \
             rest on 101 commands with outliers up to 100 ms: its medians tell more. Because of such \
             outliers ours still vary by some 50 us from seed to seed."
        }
    }
}

fn basis(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Direct => {
            "The boards are calibrated on this very column; it shows how well the model of their \
             jitter fits. The test computer's share is in the boards' stacks."
        }
        Scenario::Switch => {
            "The switch adds a second transmission and 1.38 us for its fabric (8.8 Gbit/s), each \
             way. With the 25 to 45 us that the paper expects of it the difference to the direct \
             connection would be 68 us and more; the paper's own minima rise by 11 to 17 us."
        }
        Scenario::OtherVlan => {
            "Bulk fills another egress port and never meets the board's frames. What the paper's \
             columns b and c differ by lies outside the network."
        }
        Scenario::SharedPort => {
            "Two generators send frames of 1518 octets at a constant rate; with the board's answers \
             they fill the port to 100 %. If they did so alone the port would be overloaded, and \
             every answer would wait for all those before it, which the paper's maxima exclude."
        }
        Scenario::Priority => {
            "Priority does not interrupt a frame in transmission. An answer that comes at a random \
             moment waits 61 us for the rest of one in the mean; echoes that follow one another at \
             once are not quite random against bulk at a constant rate, hence more or less for \
             some boards."
        }
    }
}

type Statistic = (&'static str, fn(&Cell) -> Duration);

fn statistics(protocol: Protocol) -> [Statistic; 4] {
    let deviation: Statistic =
        ("mdev", |cell| cell.summary.standard_deviation().unwrap_or_default());
    let median: Statistic = ("median", |cell| cell.median);
    [
        ("min", |cell| cell.summary.min),
        match protocol {
            Protocol::Icmp => deviation,
            Protocol::Cndep | Protocol::Get => median,
        },
        ("avg", Cell::mean),
        ("max", |cell| cell.summary.max),
    ]
}

fn table(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Icmp => "001 Kakanakov Table 1",
        Protocol::Cndep | Protocol::Get => "001 Kakanakov Table 2",
    }
}

/// Shows why the generators are assumed not to fill the port by themselves.
fn overloaded(page: &mut Page, progress: &Progress) -> Outcome {
    let (protocol, board, scenario) = (Protocol::Icmp, Board::Ep9302, Scenario::SharedPort);
    let cell = matrix::cell(protocol, board, scenario, Load::Full, OVERLOADED, progress)?;
    let paper = measured(protocol, board, scenario.letter(), "max");
    let count = OVERLOADED.count;
    page.row(
        format!("EP9302, max of the first {count} echoes if bulk alone is 100 %"),
        format!("{} of 100 000", paper.unwrap_or_default()),
        cell.summary.max,
        table(protocol),
    );
    Ok(())
}

fn draw(
    page: &mut Page,
    protocol: Protocol,
    scenarios: &[Scenario],
    progress: &Progress,
) -> Outcome {
    let mut groups = Board::ALL.map(|board| (board.name().to_owned(), Vec::new()));
    for &scenario in scenarios {
        for (group, cell) in groups.iter_mut().zip(results(protocol, scenario, progress)?) {
            let paper = measured(protocol, cell.board, scenario.letter(), "avg");
            group.1.push(column(cell.mean(), paper));
        }
    }
    page.columns(
        format!("The counterpart of {}.", &table(protocol)[4..]),
        ["Round trips, averages", ""],
        Axis::time("round trip"),
        scenarios.iter().map(|scenario| scenario.letter()),
        groups.into(),
    );
    Ok(())
}
