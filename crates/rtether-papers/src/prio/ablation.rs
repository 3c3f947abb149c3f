//! Every selection algorithm with every transmit strategy (catalogue 1b, last rows; R84).

use rtether_model::endnode::{LowTurn, ReceiveSelection, TransmitStrategy};

use super::super::{Comparison, Figure, ReproduceError};
use super::plant::{Load, Setup};
use super::{Case, measure};
use rtether::report::chart::{Axis, Column, ColumnChart};
use rtether::run::Progress;

const SELECTIONS: [(&str, ReceiveSelection); 4] = [
    ("A", ReceiveSelection::HighestFirst),
    ("B", ReceiveSelection::PROMOTING),
    ("C", ReceiveSelection::LOW_FLAG),
    (
        "C below top",
        ReceiveSelection::LowFlag {
            idle_release: Some(rtether_model::endnode::DEFAULT_IDLE_RELEASE),
            low_turn: LowTurn::BelowTop,
        },
    ),
];

const STRATEGIES: [(&str, TransmitStrategy); 4] = [
    ("FIFO", TransmitStrategy::Fifo),
    ("moderate", TransmitStrategy::MODERATE),
    ("strict", TransmitStrategy::STRICT),
    ("strict, literal", TransmitStrategy::STRICT_LITERAL),
];

/// One combination under both loads.
pub(super) struct Row {
    name: String,
    receive: Case,
    transmit: Case,
}

pub(super) fn measure_all(progress: &Progress) -> Result<Vec<Row>, ReproduceError> {
    let mut rows = Vec::new();
    for (algorithm, selection) in SELECTIONS {
        for (name, strategy) in STRATEGIES {
            let [receive, transmit] = Load::BOTH.map(|load| {
                let setup = Setup {
                    queues: Some((selection, strategy)),
                    is_saturated: true,
                    ..Setup::prioritized(load)
                };
                measure(&setup, progress)
            });
            rows.push(Row {
                name: format!("{algorithm}, {name}"),
                receive: receive?,
                transmit: transmit?,
            });
        }
    }
    Ok(rows)
}

pub(super) fn comparisons(rows: &[Row]) -> Vec<Comparison> {
    let words = |case: &Case| format!("{}, file {:.2} Mbit/s", case.words(), case.file_mbps());
    let compared = rows.iter().map(|row| Comparison {
        quantity: format!("{}, saturating load", row.name),
        paper: "combination not stated".into(),
        ours: format!(
            "receive: {}; transmit: {}",
            words(&row.receive),
            words(&row.transmit)
        ),
        source: "000 Skeie Table 3".into(),
    });
    compared.collect()
}

pub(super) fn notes(rows: &[Row]) -> [String; 2] {
    [
        "The paper does not say which algorithm and strategy table 3 used; the claims are judged for \
         A and strict with an idle release of 1 ms. In the comparison of all combinations files come \
         and go as fast as they can. `literal` has no idle release: low frames leave only behind high \
         ones, and the file practically stops."
            .into(),
        promotions(rows),
    ]
}

/// Describes how B differs from A.
fn promotions(rows: &[Row]) -> String {
    let of = |algorithm: &str| {
        let begins = format!("{algorithm}, ");
        rows.iter().filter(move |row| row.name.starts_with(&begins))
    };
    let promoted: u64 = of("B")
        .map(|row| row.receive.promoted() + row.transmit.promoted())
        .sum();
    let differ = of("A").zip(of("B")).filter(|(a, b)| {
        a.receive.words() != b.receive.words() || a.transmit.words() != b.transmit.words()
    });
    format!(
        "Algorithm B moved {promoted} frames up and gave other round trips than A in {} of {} \
         combinations. With one message at a time in the high queue there is nothing to overtake.",
        differ.count(),
        of("A").count()
    )
}

/// Draws the standard deviations of all combinations.
pub(super) fn figure(rows: &[Row]) -> Figure {
    let column = |case: &Case| {
        Some(Column {
            value: case.deviation_us * 1e-6,
            reference: None,
            accepted: None,
        })
    };
    let groups = rows.iter().filter(|row| !row.name.contains("below"));
    let groups = groups.map(|row| {
        let columns = vec![column(&row.receive), column(&row.transmit)];
        (row.name.replace(", ", " "), columns)
    });
    let chart = ColumnChart {
        title: "Standard deviation of round trips".into(),
        note: "by algorithm and strategy".into(),
        y: Axis::time("standard deviation"),
        series: Load::BOTH
            .map(|load| format!("{} load", load.name()))
            .into(),
        groups: groups.collect(),
        reference_name: String::new(),
    };
    Figure {
        caption: "Receive algorithms A, B, C with transmit strategies.".into(),
        drawing: chart.render(),
    }
}
