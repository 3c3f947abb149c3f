//! The paper's claims about its two tables.

use rtether_model::wire::wire_time;

use super::boards::{Board, Protocol};
use super::matrix::{Cell, Column, column};
use super::plant::Scenario;
use crate::prelude::*;

/// Whether a claim holds, the observation, and the reason if it fails.
type Verdict = (bool, String, &'static str);

/// Judges all claims about an experiment; columns they need are computed.
pub(super) fn judge(page: &mut Page, progress: &Progress) -> Outcome {
    let icmp = |scenario| column(Protocol::Icmp, scenario, progress);
    let cndep = |scenario| column(Protocol::Cndep, scenario, progress);
    for claim in page.claims() {
        let (holds, observed, reason) = match claim.as_str() {
            "C040" => {
                let order = [Board::Ep9302, Board::Tini, Board::Pic, Board::Ipc];
                in_order(&icmp(Scenario::Direct)?, order)
            }
            "C041" => {
                let order = [Board::Ep9302, Board::Pic, Board::Ipc, Board::Tini];
                in_order(&cndep(Scenario::Direct)?, order)
            }
            "C043" => {
                let columns = Scenario::ALL.map(icmp);
                let columns = columns.into_iter().collect::<Result<Vec<_>, _>>()?;
                let lost: usize = columns.iter().flatten().map(|cell| cell.lost).sum();
                let sent: u64 = columns.iter().flatten().map(|cell| cell.summary.count).sum();
                let words = format!("{lost} lost, {sent} answered");
                (lost == 0, words, "packets were lost")
            }
            _ => relation(page, &claim, icmp, cndep)?,
        };
        page.judge(&claim, holds, observed, reason);
    }
    Ok(())
}

/// Judges a relation between two columns, board by board.
fn relation(
    page: &Page,
    claim: &str,
    icmp: impl Fn(Scenario) -> Result<Column, ReproduceError>,
    cndep: impl Fn(Scenario) -> Result<Column, ReproduceError>,
) -> Result<Verdict, ReproduceError> {
    use Scenario::{Direct, OtherVlan, Priority, SharedPort, Switch};
    let difference = |a: &Cell, b: &Cell| b.mean() - a.mean();
    let factor = |a: &Cell, b: &Cell| ratio(b.mean(), a.mean());
    let times = |a: &Cell, b: &Cell| format!("{:.3}", factor(a, b));
    let more = |a: &Cell, b: &Cell| difference(a, b).to_string();
    let frame = wire_time(Bytes::new(1518), BitRate::from_mbps(100));
    Ok(match claim {
        "C033" => {
            let holds = |a: &Cell, b: &Cell| page.accepts(claim, [difference(a, b)]) == Some(true);
            let reason = "a difference is outside the range";
            every([icmp(Direct)?, icmp(Switch)?], holds, more, reason)
        }
        "C034" => {
            let off = |b: &Cell, c: &Cell| (factor(b, c) - 1.0).abs();
            let holds = |b: &Cell, c: &Cell| page.accepts(claim, [off(b, c)]) == Some(true);
            let reason = "bulk in another VLAN is felt";
            every([icmp(Switch)?, icmp(OtherVlan)?], holds, times, reason)
        }
        "C035" => {
            let holds = |b: &Cell, d: &Cell| d.mean() > b.mean();
            let reason = "bulk adds nothing for some board";
            every([icmp(Switch)?, icmp(SharedPort)?], holds, more, reason)
        }
        "C036" => {
            let holds = |d: &Cell, e: &Cell| factor(d, e) <= 1.01;
            let reason = "priority is worse for some board";
            every([icmp(SharedPort)?, icmp(Priority)?], holds, times, reason)
        }
        "C037" => {
            let holds = |b: &Cell, e: &Cell| difference(b, e) <= frame;
            let reason = "priority leaves more than one frame time";
            let verdict = every([icmp(Switch)?, icmp(Priority)?], holds, more, reason);
            (verdict.0, format!("{}; a frame takes {frame}", verdict.1), reason)
        }
        "C038" => {
            let holds = |d: &Cell, e: &Cell| e.mean() <= d.mean();
            let medians = |d: &Cell, e: &Cell| format!("(medians {} to {})", d.median, e.median);
            let words =
                |d: &Cell, e: &Cell| format!("{} to {} {}", d.mean(), e.mean(), medians(d, e));
            let reason = "the mean rises for some board";
            every([cndep(SharedPort)?, cndep(Priority)?], holds, words, reason)
        }
        "C039" => {
            let holds = |b: &Cell, e: &Cell| page.accepts(claim, [factor(b, e)]) == Some(true);
            let reason = "it stays further away for some board";
            every([cndep(Switch)?, cndep(Priority)?], holds, times, reason)
        }
        "C042" => {
            let holds = |a: &Cell, b: &Cell| page.accepts(claim, [factor(a, b)]) == Some(true);
            let reason = "the factor is below 1.5 for some board";
            every([icmp(Direct)?, cndep(Direct)?], holds, times, reason)
        }
        _ => {
            let part = |cell: &Cell| ratio(cell.mean(), cell.summary.min);
            let holds = |cell: &Cell, _: &Cell| page.accepts(claim, [part(cell)]) == Some(true);
            let words = |cell: &Cell, _: &Cell| format!("{:.3}", part(cell));
            let reason = "an average is further from its minimum";
            every([icmp(Direct)?; 2], holds, words, reason)
        }
    })
}

/// Judges a relation for each board; `words` describes one board's result.
fn every(
    [a, b]: [Column; 2],
    holds: impl Fn(&Cell, &Cell) -> bool,
    words: impl Fn(&Cell, &Cell) -> String,
    reason: &'static str,
) -> Verdict {
    let pairs = || a.iter().zip(&b);
    let all = pairs().map(|(a, b)| format!("{} {}", a.board.name(), words(a, b)));
    (pairs().all(|(a, b)| holds(a, b)), listed(all, ", "), reason)
}

fn in_order(column: &Column, order: [Board; 4]) -> Verdict {
    let means = order.map(|board| {
        let cell = column.iter().find(|cell| cell.board == board);
        cell.map(Cell::mean).unwrap_or_default()
    });
    let words = order.iter().zip(means);
    let words = words.map(|(board, mean)| format!("{} {mean}", board.name()));
    let is_sorted = means.is_sorted_by(|a, b| a < b);
    (is_sorted, listed(words, " < "), "the order is another one")
}
