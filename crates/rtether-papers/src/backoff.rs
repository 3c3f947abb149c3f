//! `dolejs-backoff`: how likely collisions make a frame late on shared Ethernet (003 Dolejs 2; R26).

use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::observe::count_f64;
use super::{Comparison, Figure, ReproduceError, Reproduction, reference};
use rtether::csma::Ranges;
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

/// The frame of the paper's hub experiment: 128 octets over UDP.
const FRAME: Bytes = Bytes::new(174);

/// The deadlines shown; the paper leaves the choice to the reader.
const DEADLINES: [(i64, u64); 6] = [(1, 100), (5, 100), (10, 100), (5, 10), (10, 10), (50, 10)];

/// Collisions in the figure.
const DRAWN: u32 = 10;

#[allow(
    clippy::unnecessary_wraps,
    reason = "all experiments have this signature"
)]
pub(super) fn run(_: &Progress) -> Result<Reproduction, ReproduceError> {
    let mut comparisons: Vec<Comparison> = reference::printed("dolejs-backoff")
        .into_iter()
        .filter(|value| value.statistic == "p_err_paper")
        .filter_map(|value| {
            let collisions: u32 = value.subject.parse().ok()?;
            let printed: f64 = value.value.parse().ok()?;
            let plural = if collisions == 1 { "" } else { "s" };
            Some(Comparison {
                quantity: format!("{collisions} collision{plural} in a row, two stations"),
                paper: format!("{printed:.3e} by its formula"),
                ours: format!("{:.3e}", Ranges::Standard.repeated(collisions)),
                source: value.source,
            })
        })
        .collect();
    comparisons.extend(DEADLINES.map(|(ms, mbps)| deadline(ms, mbps)));
    Ok(Reproduction {
        id: "dolejs-backoff",
        title: "Probability of repeated collisions",
        mode: "analysis",
        comparisons,
        claims: Vec::new(),
        figures: vec![figure()],
        notes: vec![
            "The paper's ranges 0 to 2^n have one number too many: IEEE 802.3 draws from 0 to \
             2^n - 1. Its formula therefore gives too small a probability, by a factor of 1.5 for \
             one collision and 2.4 for ten. Its values are shown and never a target."
                .into(),
            "A deadline stands for the least number of collisions after which it can be missed: \
             longest back-offs, a slot and a gap for each collision, the frame. The probability \
             errs high, since not every such run of collisions is late, and it leaves a third \
             station out."
                .into(),
        ],
    })
}

/// Formats the probabilities for the number of collisions each range needs.
fn both(standard: u32, printed: u32) -> String {
    let (standard, printed) = (
        Ranges::Standard.repeated(standard),
        Ranges::Printed.repeated(printed),
    );
    format!("{standard:.3e} (IEEE 802.3), {printed:.3e} (printed ranges)")
}

fn deadline(ms: i64, mbps: u64) -> Comparison {
    let (deadline, rate) = (Duration::from_ms(ms), BitRate::from_mbps(mbps));
    let least = |ranges: Ranges| ranges.least_collisions(deadline, FRAME, rate);
    let (standard, printed) = (least(Ranges::Standard), least(Ranges::Printed));
    let collisions = if standard == printed {
        format!("{standard} collisions")
    } else {
        format!("{standard} or {printed} collisions")
    };
    Comparison {
        quantity: format!("deadline {deadline} missed at {rate}, {FRAME} frame"),
        paper: "method only".into(),
        ours: format!("{collisions}: {}", both(standard, printed)),
        source: "003 Dolejs 2".into(),
    }
}

fn figure() -> Figure {
    let series = |name: &str, ranges: Ranges| Series {
        name: name.into(),
        points: (1..=DRAWN)
            .map(|n| (count_f64(u64::from(n)), ranges.repeated(n)))
            .collect(),
        style: Style::LineAndMarkers,
    };
    let chart = LineChart {
        title: "Repeated collisions of two stations".into(),
        note: "probability".into(),
        x: Axis::number("collisions in a row").between(0.0, 10.0),
        y: Axis::number("probability").log(),
        series: vec![
            series("IEEE 802.3", Ranges::Standard),
            series("printed ranges", Ranges::Printed),
        ],
        rules: Vec::new(),
        bands: Vec::new(),
    };
    Figure {
        caption: "The paper's formula and that of the standard.".into(),
        drawing: chart.render(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_catalogue() {
        let printed = reference::printed("dolejs-backoff");
        assert_eq!(printed.len(), 20);
        for value in printed {
            let ranges = match value.statistic.as_str() {
                "p_err_paper" => Ranges::Printed,
                "p_err_ieee8023" => Ranges::Standard,
                other => panic!("an unknown statistic: {other}"),
            };
            let collisions = value.subject.parse().expect("a number of collisions");
            let expected: f64 = value.value.parse().expect("a probability");
            let off = (ranges.repeated(collisions) / expected - 1.0).abs();
            assert!(off < 1e-6, "{value:?}");
        }
    }
}
