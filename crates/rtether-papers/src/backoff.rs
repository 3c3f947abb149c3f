//! `dolejs-backoff`: how likely collisions make a frame late on shared Ethernet (003 Dolejs 2; R26).

use rtether::csma::Ranges;

use crate::prelude::*;

/// The frame of the paper's hub experiment: 128 octets over UDP.
const FRAME: Bytes = Bytes::new(174);

/// The deadlines shown; the paper leaves the choice to the reader.
const DEADLINES: [(i64, u64); 6] = [(1, 100), (5, 100), (10, 100), (5, 10), (10, 10), (50, 10)];

/// Collisions in the figure.
const DRAWN: u32 = 10;

#[allow(clippy::unnecessary_wraps, reason = "all experiments have this signature")]
pub(crate) fn run(page: &mut Page, _: &Progress) -> Outcome {
    page.analysis("Probability of repeated collisions");
    for value in reference::printed("dolejs-backoff") {
        let numbers = value.subject.parse::<u32>().ok().zip(value.value.parse::<f64>().ok());
        let Some((collisions, printed)) = numbers.filter(|_| value.statistic == "p_err_paper")
        else {
            continue;
        };
        let plural = if collisions == 1 { "" } else { "s" };
        page.row(
            format!("{collisions} collision{plural} in a row, two stations"),
            format!("{printed:.3e} by its formula"),
            format!("{:.3e}", Ranges::Standard.repeated(collisions)),
            value.source,
        );
    }
    for (ms, mbps) in DEADLINES {
        let (deadline, rate) = (Duration::from_ms(ms), BitRate::from_mbps(mbps));
        let quantity = format!("deadline {deadline} missed at {rate}, {FRAME} frame");
        page.row(quantity, "method only", missed(deadline, rate), "003 Dolejs 2");
    }
    let series = |name, ranges: Ranges| {
        let points = (1..=DRAWN).map(|n| (u64::from(n), ranges.repeated(n)));
        curve(name, Style::LineAndMarkers, points)
    };
    page.lines(
        "The paper's formula and that of the standard.",
        ["Repeated collisions of two stations", "probability"],
        [Axis::number("collisions in a row").between(0.0, 10.0), Axis::number("probability").log()],
        vec![series("IEEE 802.3", Ranges::Standard), series("printed ranges", Ranges::Printed)],
    );
    page.note(
        "The paper's ranges 0 to 2^n have one number too many: IEEE 802.3 draws from 0 to \
         2^n - 1. Its formula therefore gives too small a probability, by a factor of 1.5 for \
         one collision and 2.4 for ten. Its values are shown and never a target.",
    );
    page.note(
        "A deadline stands for the least number of collisions after which it can be missed: \
         longest back-offs, a slot and a gap for each collision, the frame. The probability \
         errs high, since not every such run of collisions is late, and it leaves a third \
         station out.",
    );
    Ok(())
}

/// Describes the probability that a deadline is missed, for the number of collisions that takes.
fn missed(deadline: Duration, rate: BitRate) -> String {
    let least = |ranges: Ranges| ranges.least_collisions(deadline, FRAME, rate);
    let (standard, printed) = (least(Ranges::Standard), least(Ranges::Printed));
    let collisions = if standard == printed {
        format!("{standard} collisions")
    } else {
        format!("{standard} or {printed} collisions")
    };
    format!(
        "{collisions}: {:.3e} (IEEE 802.3), {:.3e} (printed ranges)",
        Ranges::Standard.repeated(standard),
        Ranges::Printed.repeated(printed)
    )
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
