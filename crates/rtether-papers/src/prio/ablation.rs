//! Every selection algorithm with every transmit strategy (catalogue 1b, last rows; R84).

use rtether_model::endnode::{DEFAULT_IDLE_RELEASE, LowTurn, ReceiveSelection, TransmitStrategy};

use super::plant::{Load, Setup};
use super::{Case, measure};
use crate::prelude::*;

const SELECTIONS: [(&str, ReceiveSelection); 4] = [
    ("A", ReceiveSelection::HighestFirst),
    ("B", ReceiveSelection::PROMOTING),
    ("C", ReceiveSelection::LOW_FLAG),
    (
        "C below top",
        ReceiveSelection::LowFlag {
            idle_release: Some(DEFAULT_IDLE_RELEASE),
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
struct Row {
    name: String,
    receive: Case,
    transmit: Case,
}

/// Compares all combinations while files come and go as fast as they can.
pub(super) fn show(page: &mut Page, progress: &Progress) -> Outcome {
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
    let words = |case: &Case| format!("{}, file {:.2} Mbit/s", case.words(), case.file_mbps());
    for Row { name, receive, transmit } in &rows {
        let quantity = format!("{name}, saturating load");
        let ours = format!("receive: {}; transmit: {}", words(receive), words(transmit));
        page.row(quantity, "combination not stated", ours, "000 Skeie Table 3");
    }
    let groups = rows.iter().filter(|row| !row.name.contains("below"));
    let groups = groups.map(|row| {
        let columns = [&row.receive, &row.transmit];
        let columns = columns.map(|case| column(case.deviation_us * 1e-6, None));
        (row.name.replace(", ", " "), columns.into())
    });
    page.columns(
        "Receive algorithms A, B, C with transmit strategies.",
        ["Standard deviation of round trips", "by algorithm and strategy"],
        Axis::time("standard deviation"),
        Load::BOTH.map(|load| format!("{} load", load.name())),
        groups.collect(),
    );
    page.note(
        "The paper does not say which algorithm and strategy table 3 used; the claims are judged for \
         A and strict with an idle release of 1 ms. In the comparison of all combinations files come \
         and go as fast as they can. `literal` has no idle release: low frames leave only behind high \
         ones, and the file practically stops.",
    );
    page.note(promotions(&rows));
    Ok(())
}

/// Describes how B differs from A.
fn promotions(rows: &[Row]) -> String {
    let of = |algorithm: &str| {
        let begins = format!("{algorithm}, ");
        rows.iter().filter(move |row| row.name.starts_with(&begins))
    };
    let promoted = of("B").map(|row| row.receive.promoted() + row.transmit.promoted());
    let differ = of("A").zip(of("B")).filter(|(a, b)| {
        a.receive.words() != b.receive.words() || a.transmit.words() != b.transmit.words()
    });
    format!(
        "Algorithm B moved {} frames up and gave other round trips than A in {} of {} \
         combinations. With one message at a time in the high queue there is nothing to overtake.",
        promoted.sum::<u64>(),
        differ.count(),
        of("A").count()
    )
}
