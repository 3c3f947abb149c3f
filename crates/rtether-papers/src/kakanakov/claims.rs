//! The paper's claims about its two tables.

use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::wire_time;

use super::super::observe::ratio;
use super::super::{Judge, ReproduceError};
use super::boards::{Board, Protocol};
use super::matrix::{Cell, Column, column};
use super::plant::Scenario;
use rtether::run::Progress;

/// Whether a claim holds, the observation, and the reason if it fails.
type Verdict = (bool, String, &'static str);

/// Judges all claims about an experiment; columns they need are computed.
pub(super) fn judge(judge: &mut Judge, progress: &Progress) -> Result<(), ReproduceError> {
    let ids: Vec<String> = judge.open.iter().map(|claim| claim.id.clone()).collect();
    for id in ids {
        let verdict = match id.as_str() {
            "C033" | "C034" | "C035" | "C036" | "C037" | "C043" => icmp(&id, progress)?,
            "C038" | "C039" => cndep(&id, progress)?,
            "C040" | "C041" | "C042" | "C044" => direct(&id, progress)?,
            _ => continue,
        };
        judge.judge(&id, verdict.0, verdict.1, verdict.2);
    }
    Ok(())
}

/// Judges a relation board by board; `words` describes one board's result.
fn every(
    [a, b]: [&Column; 2],
    holds: impl Fn(&Cell, &Cell) -> bool,
    words: impl Fn(&Cell, &Cell) -> String,
) -> (bool, String) {
    let pairs = || a.iter().zip(b);
    let all = pairs().map(|(a, b)| format!("{} {}", a.board.name(), words(a, b)));
    (
        pairs().all(|(a, b)| holds(a, b)),
        all.collect::<Vec<_>>().join(", "),
    )
}

fn difference(from: &Cell, to: &Cell) -> String {
    let difference = to.mean() - from.mean();
    format!("{difference}")
}

fn factor(from: &Cell, to: &Cell) -> String {
    format!("{:.3}", ratio(to.mean(), from.mean()))
}

fn icmp(id: &str, progress: &Progress) -> Result<Verdict, ReproduceError> {
    let of = |scenario| column(Protocol::Icmp, scenario, progress);
    let us = Duration::from_us;
    let b = of(Scenario::Switch)?;
    let ((holds, observed), reason) = match id {
        "C033" => {
            let range = us(-20)..=us(60);
            let inside = |a: &Cell, b: &Cell| range.contains(&(b.mean() - a.mean()));
            let pair = [&of(Scenario::Direct)?, &b];
            (
                every(pair, inside, difference),
                "a difference is outside the range",
            )
        }
        "C034" => {
            let near = |b: &Cell, c: &Cell| (ratio(c.mean(), b.mean()) - 1.0).abs() <= 0.05;
            let pair = [&b, &of(Scenario::OtherVlan)?];
            (every(pair, near, factor), "bulk in another VLAN is felt")
        }
        "C035" => {
            let pair = [&b, &of(Scenario::SharedPort)?];
            let more = |b: &Cell, d: &Cell| d.mean() > b.mean();
            (
                every(pair, more, difference),
                "bulk adds nothing for some board",
            )
        }
        "C036" => {
            let pair = [&of(Scenario::SharedPort)?, &of(Scenario::Priority)?];
            let not_worse = |d: &Cell, e: &Cell| ratio(e.mean(), d.mean()) <= 1.01;
            (
                every(pair, not_worse, factor),
                "priority is worse for some board",
            )
        }
        "C037" => {
            let frame = wire_time(Bytes::new(1518), BitRate::from_mbps(100));
            let bounded = |b: &Cell, e: &Cell| e.mean() - b.mean() <= frame;
            let pair = [&b, &of(Scenario::Priority)?];
            let (holds, words) = every(pair, bounded, difference);
            let words = format!("{words}; a frame takes {frame}");
            ((holds, words), "priority leaves more than one frame time")
        }
        _ => {
            let (mut lost, mut sent) = (0, 0);
            for scenario in Scenario::ALL {
                for cell in of(scenario)? {
                    lost += cell.lost;
                    sent += cell.summary.count;
                }
            }
            let words = format!("{lost} lost, {sent} answered");
            ((lost == 0, words), "packets were lost")
        }
    };
    Ok((holds, observed, reason))
}

fn cndep(id: &str, progress: &Progress) -> Result<Verdict, ReproduceError> {
    let of = |scenario| column(Protocol::Cndep, scenario, progress);
    let e = of(Scenario::Priority)?;
    Ok(if id == "C038" {
        let d = of(Scenario::SharedPort)?;
        let not_more = |d: &Cell, e: &Cell| e.mean() <= d.mean();
        let words = |d: &Cell, e: &Cell| {
            format!(
                "{} to {} (medians {} to {})",
                d.mean(),
                e.mean(),
                d.median,
                e.median
            )
        };
        let (holds, observed) = every([&d, &e], not_more, words);
        (holds, observed, "the mean rises for some board")
    } else {
        let b = of(Scenario::Switch)?;
        let near = |b: &Cell, e: &Cell| ratio(e.mean(), b.mean()) <= 1.15;
        let (holds, observed) = every([&b, &e], near, factor);
        (holds, observed, "it stays further away for some board")
    })
}

fn direct(id: &str, progress: &Progress) -> Result<Verdict, ReproduceError> {
    let of = |protocol| column(protocol, Scenario::Direct, progress);
    Ok(match id {
        "C040" => {
            let order = [Board::Ep9302, Board::Tini, Board::Pic, Board::Ipc];
            in_order(&of(Protocol::Icmp)?, order)
        }
        "C041" => {
            let order = [Board::Ep9302, Board::Pic, Board::Ipc, Board::Tini];
            in_order(&of(Protocol::Cndep)?, order)
        }
        "C042" => {
            let pair = [&of(Protocol::Icmp)?, &of(Protocol::Cndep)?];
            let dearer = |icmp: &Cell, cndep: &Cell| ratio(cndep.mean(), icmp.mean()) >= 1.5;
            let (holds, observed) = every(pair, dearer, factor);
            (holds, observed, "the factor is below 1.5 for some board")
        }
        _ => {
            let a = of(Protocol::Icmp)?;
            let part = |cell: &Cell| ratio(cell.mean(), cell.summary.min);
            let near = |cell: &Cell, _: &Cell| part(cell) <= 1.35;
            let words = |cell: &Cell, _: &Cell| format!("{:.3}", part(cell));
            let (holds, observed) = every([&a, &a], near, words);
            (holds, observed, "an average is further from its minimum")
        }
    })
}

fn in_order(column: &Column, order: [Board; 4]) -> Verdict {
    let means = order.map(|board| {
        let cell = column.iter().find(|cell| cell.board == board);
        cell.map(Cell::mean).unwrap_or_default()
    });
    let words = order.iter().zip(means);
    let words = words.map(|(board, mean)| format!("{} {mean}", board.name()));
    (
        means.is_sorted_by(|a, b| a < b),
        words.collect::<Vec<_>>().join(" < "),
        "the order is another one",
    )
}
