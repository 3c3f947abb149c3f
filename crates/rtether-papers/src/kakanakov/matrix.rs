//! The matrix of round trips, each column computed once (R165).

use rayon::prelude::*;
use rtether_model::record::Summary;

use super::boards::{Board, Protocol};
use super::plant::{self, Load, Scenario};
use crate::echo::{self, Echoes};
use crate::observe::{Known, median};
use crate::prelude::*;

/// Number of replications, and round trips in each. Bulk generators start at random, so one run
/// would represent a single offset between the two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) runs: u64,
    pub(crate) count: usize,
}

impl Effort {
    /// The paper's 100 000 echoes in 20 runs; 20 times its 101 commands.
    const fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Icmp => Self { runs: 20, count: 5_000 },
            Protocol::Cndep | Protocol::Get => Self { runs: 20, count: 101 },
        }
    }
}

/// Round trips to one board in one scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) board: Board,
    pub(crate) summary: Summary,
    pub(crate) median: Duration,
    pub(crate) lost: usize,
}

impl Cell {
    pub(crate) fn mean(&self) -> Duration {
        self.summary.mean().unwrap_or_default()
    }
}

/// One column of a table: all boards in one scenario.
pub(crate) type Column = [Cell; 4];

/// Columns computed so far: several experiments judge claims on the same ones.
static COLUMNS: Known<(Protocol, Scenario), Column> = Known::new();

/// Returns a column of a protocol's table.
pub(crate) fn column(
    protocol: Protocol,
    scenario: Scenario,
    progress: &Progress,
) -> Result<Column, ReproduceError> {
    COLUMNS.get((protocol, scenario), || {
        let effort = Effort::of(protocol);
        let cell = |board| cell(protocol, board, scenario, Load::Remainder, effort, progress);
        let [ep9302, pic, ipc, tini] = Board::ALL.map(cell);
        Ok([ep9302?, pic?, ipc?, tini?])
    })
}

/// Simulates one cell, with its runs in parallel.
///
/// Run by run, the boards draw the same jitter in every scenario, so that differences between
/// scenarios are due to the network and not to chance.
pub(crate) fn cell(
    protocol: Protocol,
    board: Board,
    scenario: Scenario,
    load: Load,
    effort: Effort,
    progress: &Progress,
) -> Result<Cell, ReproduceError> {
    let (network, flows) = plant::cell(protocol, board, scenario, load);
    let runs = (1..=effort.runs).into_par_iter();
    let runs = runs.map(|seed| echo::measure(&network, &flows, effort.count, seed, progress));
    let mut all = Echoes::default();
    for run in runs.collect::<Result<Vec<Echoes>, ReproduceError>>()? {
        all.append(run);
    }
    Ok(Cell {
        board,
        summary: all.summary(),
        lost: all.lost,
        median: median(all.times).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Effort = Effort { runs: 4, count: 250 };

    fn means(protocol: Protocol, board: Board) -> Vec<Cell> {
        let progress = Progress::default();
        let cell = |scenario| cell(protocol, board, scenario, Load::Remainder, FEW, &progress);
        Scenario::ALL.map(|scenario| cell(scenario).unwrap()).into()
    }

    #[test]
    fn commands_with_data_take_as_long() {
        // Oracle: R165: 4 octets there and 5 back are padded to the frame that 3 have, so that run by
        // run, with the same jitter, a second run with GET takes the same times.
        let progress = Progress::default();
        let cell = |protocol| {
            let (board, scenario) = (Board::Ep9302, Scenario::Priority);
            cell(protocol, board, scenario, Load::Remainder, FEW, &progress).unwrap()
        };
        let [test, get] = [Protocol::Cndep, Protocol::Get].map(cell);
        assert_eq!((get.summary, get.median), (test.summary, test.median));
        assert_eq!(Protocol::Get.form().1, Bytes::new(4));
        assert_eq!(Protocol::Get.answer(), Bytes::new(5));
    }

    #[test]
    fn the_switch_adds_a_second_transmission_each_way() {
        // By hand: 102 octets of ICMP with preamble at 100 Mbit/s take 8.8 us, the switch 1.38 us
        // and a patch cable 25 ns; two passes. This also holds behind a port of 10 Mbit/s.
        for board in [Board::Ep9302, Board::Pic] {
            let cells = means(Protocol::Icmp, board);
            let added = cells[1].mean() - cells[0].mean();
            let expected = Duration::from_ns(2 * (8_800 + 1_380 + 25));
            assert!((added - expected).as_ps().abs() <= 1, "{added}");
            assert_eq!(cells[2].mean(), cells[1].mean(), "another VLAN is not felt");
            let blocked = cells[4].mean() - cells[1].mean();
            assert!(blocked > Duration::ZERO && blocked < Duration::from_ns(123_040), "{blocked}");
            assert!(cells[3].mean() >= cells[4].mean());
            assert!(cells.iter().all(|cell| cell.lost == 0));
        }
    }
}
