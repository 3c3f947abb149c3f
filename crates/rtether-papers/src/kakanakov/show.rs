//! `kakanakov-icmp-a` to `-e` and `kakanakov-cndep-a` to `-e`: each one column of a table.

#[cfg(target_os = "linux")]
use rtether_model::flow::Flow;
#[cfg(target_os = "linux")]
use rtether_model::network::Network;
use rtether_model::quantity::Duration;

use super::super::{Comparison, Figure, Judge, ReproduceError, Reproduction};
use super::boards::{Board, Protocol, measured};
use super::claims;
use super::matrix::{self, Cell, Column, Effort, column};
#[cfg(target_os = "linux")]
use super::plant;
use super::plant::{Load, Scenario};
use rtether::report::chart::{Axis, Column as Bar, ColumnChart};
use rtether::run::Progress;

const NAMES: [[&str; 5]; 2] = [
    [
        "kakanakov-icmp-a",
        "kakanakov-icmp-b",
        "kakanakov-icmp-c",
        "kakanakov-icmp-d",
        "kakanakov-icmp-e",
    ],
    [
        "kakanakov-cndep-a",
        "kakanakov-cndep-b",
        "kakanakov-cndep-c",
        "kakanakov-cndep-d",
        "kakanakov-cndep-e",
    ],
];

const TITLES: [[&str; 5]; 2] = [
    [
        "Echoes of four boards, direct connection",
        "Echoes of four boards through a switch",
        "Echoes of four boards, bulk in another VLAN",
        "Echoes of four boards, bulk through the same egress port",
        "Echoes of four boards, bulk through the same port with lower priority",
    ],
    [
        "Commands to four boards, direct connection",
        "Commands to four boards through a switch",
        "Commands to four boards, bulk in another VLAN",
        "Commands to four boards, bulk through the same egress port",
        "Commands to four boards, bulk through the same port with lower priority",
    ],
];

/// Effort of the run in which the generators alone fill the port.
const OVERLOADED: Effort = Effort {
    runs: 1,
    count: 1_000,
};

/// Returns the id of an experiment.
pub(in super::super) const fn experiment(protocol: Protocol, scenario: Scenario) -> &'static str {
    NAMES[protocol as usize][scenario as usize]
}

/// Returns the network and the bulk traffic of a cell, with a board whose port has 100 Mbit/s.
#[cfg(target_os = "linux")]
pub(in super::super) fn live_cell(protocol: Protocol, scenario: Scenario) -> (Network, Vec<Flow>) {
    let (network, mut flows) = plant::cell(protocol, Board::Ep9302, scenario, Load::Remainder);
    flows.remove(0);
    (network, flows)
}

/// Returns the paper's averages for all boards, in words.
#[cfg(target_os = "linux")]
pub(in super::super) fn measured_average(protocol: Protocol, scenario: Scenario) -> String {
    let of = |board: &Board| {
        let average = measured(protocol, *board, scenario.letter(), "avg")?;
        Some(format!("{} {average}", board.name()))
    };
    Board::ALL
        .iter()
        .filter_map(of)
        .collect::<Vec<_>>()
        .join(", ")
}

pub(in super::super) fn run(
    protocol: Protocol,
    scenario: Scenario,
    progress: &Progress,
) -> Result<Reproduction, ReproduceError> {
    let id = experiment(protocol, scenario);
    let own = column(protocol, scenario, progress)?;
    let mut judge = Judge::new(id);
    claims::judge(&mut judge, progress)?;
    let mut comparisons = comparisons(protocol, scenario, &own);
    if (protocol, scenario) == (Protocol::Icmp, Scenario::SharedPort) {
        comparisons.push(overloaded(progress)?);
    }
    // The last column shows the whole table.
    let drawn = if scenario == Scenario::Priority {
        Scenario::ALL.to_vec()
    } else {
        vec![scenario]
    };
    Ok(Reproduction {
        id,
        title: TITLES[protocol as usize][scenario as usize],
        mode: "sim",
        comparisons,
        claims: judge.finish(),
        figures: vec![figure(protocol, &drawn, progress)?],
        notes: notes(protocol, scenario),
    })
}

fn notes(protocol: Protocol, scenario: Scenario) -> Vec<String> {
    let mut notes = vec![samples(protocol).into(), basis(scenario).into()];
    if (protocol, scenario) == (Protocol::Icmp, Scenario::SharedPort) {
        notes.push(
            "What IPC and TINI have on top in the paper, priority does not take away either (column \
             e): it is not queueing at the port, and the simulation does not have it."
                .into(),
        );
    }
    notes
}

fn samples(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Icmp => "Each value is of 100 000 echoes, 20 runs of 5 000.",
        Protocol::Cndep => {
            "Each value is of 20 runs of 101 commands TEST, one every 100 ms. The paper's averages \
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
    let deviation: Statistic = ("mdev", |cell| {
        cell.summary.standard_deviation().unwrap_or_default()
    });
    let median: Statistic = ("median", |cell| cell.median);
    [
        ("min", |cell| cell.summary.min),
        match protocol {
            Protocol::Icmp => deviation,
            Protocol::Cndep => median,
        },
        ("avg", Cell::mean),
        ("max", |cell| cell.summary.max),
    ]
}

fn table(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Icmp => "001 Kakanakov Table 1",
        Protocol::Cndep => "001 Kakanakov Table 2",
    }
}

fn comparisons(protocol: Protocol, scenario: Scenario, column: &Column) -> Vec<Comparison> {
    let statistics = statistics(protocol);
    let rows = column.iter().flat_map(|cell| {
        statistics.iter().filter_map(move |(statistic, ours)| {
            let paper = measured(protocol, cell.board, scenario.letter(), statistic)?;
            Some(Comparison {
                quantity: format!("{}, {statistic}", cell.board.name()),
                paper: paper.to_string(),
                ours: ours(cell).to_string(),
                source: table(protocol).into(),
            })
        })
    });
    rows.collect()
}

/// Shows why the generators are assumed not to fill the port by themselves.
fn overloaded(progress: &Progress) -> Result<Comparison, ReproduceError> {
    let (protocol, board, scenario) = (Protocol::Icmp, Board::Ep9302, Scenario::SharedPort);
    let cell = matrix::cell(protocol, board, scenario, Load::Full, OVERLOADED, progress)?;
    let paper = measured(protocol, board, scenario.letter(), "max");
    Ok(Comparison {
        quantity: format!(
            "EP9302, max of the first {} echoes if bulk alone is 100 %",
            OVERLOADED.count
        ),
        paper: format!("{} of 100 000", paper.unwrap_or_default()),
        ours: cell.summary.max.to_string(),
        source: table(protocol).into(),
    })
}

fn figure(
    protocol: Protocol,
    scenarios: &[Scenario],
    progress: &Progress,
) -> Result<Figure, ReproduceError> {
    let mut groups: Vec<(String, Vec<Option<Bar>>)> = Board::ALL
        .map(|board| (board.name().to_owned(), Vec::new()))
        .into();
    for &scenario in scenarios {
        for (group, cell) in groups.iter_mut().zip(column(protocol, scenario, progress)?) {
            let paper = measured(protocol, cell.board, scenario.letter(), "avg");
            group.1.push(Some(Bar {
                value: cell.mean().as_secs_f64(),
                reference: paper.map(Duration::as_secs_f64),
                accepted: None,
            }));
        }
    }
    let chart = ColumnChart {
        title: "Round trips, averages".into(),
        note: String::new(),
        y: Axis::time("round trip"),
        series: scenarios.iter().map(|s| s.letter().to_string()).collect(),
        groups,
        reference_name: "paper".into(),
    };
    Ok(Figure {
        caption: format!("The counterpart of {}.", &table(protocol)[4..]),
        drawing: chart.render(),
    })
}
