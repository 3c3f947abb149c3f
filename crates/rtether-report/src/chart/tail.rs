//! Complementary distributions: how many packets take longer than a time.
//!
//! The vertical axis is logarithmic and ends at a single packet, so that the few slow packets, which
//! a deadline is about, get as much room as the many fast ones. Deadline and bound are on the same
//! axis as the data, however far they are.

use rtether_model::histogram::Histogram;
use rtether_model::quantity::Duration;
use rtether_model::record::Summary;

use super::super::markup::{Markup, element};
use super::super::text::{count, real, time};
use super::{Axis, LineChart, Plot, Rule, Series, Style, WIDTH, label};

/// Shares of packets whose latency a tooltip tells, as a fraction of whole numbers.
const QUANTILES: [(u64, u64, &str); 5] = [
    (1, 2, "50 %"),
    (9, 10, "90 %"),
    (99, 100, "99 %"),
    (999, 1_000, "99.9 %"),
    (9_999, 10_000, "99.99 %"),
];

/// One distribution.
#[derive(Clone, Debug)]
pub struct Tail<'a> {
    /// Name in the legend.
    pub name: String,
    /// How many packets took how long.
    pub histogram: &'a Histogram,
    /// Shortest and longest.
    pub latency: &'a Summary,
}

/// Distributions of latency with the limits for it; the first is counted in packets at the right.
#[derive(Clone, Debug)]
pub struct TailChart<'a> {
    /// Title.
    pub title: String,
    /// Note next to the title.
    pub note: String,
    /// Time; must span all limits.
    pub x: Axis,
    /// The distributions.
    pub tails: Vec<Tail<'a>>,
    /// Deadlines and bounds.
    pub rules: Vec<Rule>,
}

impl TailChart<'_> {
    /// Returns the chart as a figure with title and legend.
    pub fn render(&self) -> Markup {
        let most = self.tails.iter().map(|tail| tail.histogram.total()).max();
        // Half a decade below one packet, the last step is seen as a step.
        let least = 1.0 / (3.0 * real(most.unwrap_or(1).max(1)));
        let y = Axis::share("packets that take longer").log();
        LineChart {
            title: self.title.clone(),
            note: self.note.clone(),
            x: self.x.clone(),
            y: y.between(least, 1.0),
            series: self.tails.iter().map(|tail| tail.series(least)).collect(),
            rules: self.rules.clone(),
            bands: Vec::new(),
        }
        .render_with(|plot| self.packets(plot))
    }

    /// Writes numbers of packets at the grid lines and puts the tooltips on the curves.
    fn packets(&self, plot: &Plot) -> Markup {
        let mut all = Markup::default();
        let Some(first) = self.tails.first() else {
            return all;
        };
        let total = first.histogram.total();
        let powers = (0..20).map(|power| 10_u64.saturating_pow(power));
        // A number close below the total would run into it.
        let below = powers.take_while(|packets| *packets <= total * 2 / 5);
        for packets in below.chain([total]).filter(|packets| *packets > 0) {
            let y = plot.y(real(packets) / real(total)) + 9.0;
            let words = match packets {
                1 => "1 packet".to_owned(),
                all if all == total => format!("{} packets", count(all)),
                some => count(some),
            };
            let label = label(WIDTH - 2.0, y, "end").class("packets");
            all.push(label.text(words));
        }
        for tail in &self.tails {
            all.push(tail.tips(plot));
        }
        all
    }
}

impl Tail<'_> {
    /// Returns the share of packets that take longer than each time, down to `least`.
    fn series(&self, least: f64) -> Series {
        let total = real(self.histogram.total().max(1));
        let mut left = self.histogram.total();
        let first = self.latency.min.min(self.latency.max).as_secs_f64();
        let mut points = vec![(first, 1.0)];
        for (upper, packets) in self.histogram.bins() {
            left -= packets;
            let upper = upper.min(self.latency.max).as_secs_f64();
            points.push((upper.max(first), (real(left) / total).max(least)));
        }
        Series { name: self.name.clone(), points, style: Style::Steps }
    }

    fn tips(&self, plot: &Plot) -> Markup {
        let total = self.histogram.total();
        let quantiles = QUANTILES.into_iter().filter_map(|(part, whole, words)| {
            let at = self.histogram.quantile(part, whole)?.min(self.latency.max);
            let left = total - total * part / whole;
            (left > 1).then(|| (at, left, format!("{words} take at most {}", time(at))))
        });
        let slowest = format!("the slowest of {} takes {}", count(total), time(self.latency.max));
        let all = quantiles.chain([(self.latency.max, 1, slowest)]);
        let tips = all.map(|(at, left, words): (Duration, u64, String)| {
            let share = real(left) / real(total.max(1));
            let spot = element("circle")
                .class("tip")
                .attr("cx", format!("{:.1}", plot.x(at.as_secs_f64())))
                .attr("cy", format!("{:.1}", plot.y(share)))
                .attr("r", 6);
            spot.child(element("title").text(format!("{}: {words}", self.name)))
        });
        tips.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand. Of 1000 packets, 990 take 10 us, nine 20 us and one 80 us.
    #[test]
    fn the_tail_ends_at_one_packet() {
        let mut histogram = Histogram::default();
        let mut latency = Summary::default();
        for (packets, us) in [(990, 10), (9, 20), (1, 80)] {
            for _ in 0..packets {
                histogram.record(Duration::from_us(us));
                latency.record(Duration::from_us(us));
            }
        }
        let tail = Tail { name: "a".into(), histogram: &histogram, latency: &latency };
        let heights: Vec<f64> = tail.series(1e-4).points.iter().map(|point| point.1).collect();
        assert_eq!(heights, [1.0, 0.01, 0.001, 1e-4]);
        let chart = TailChart {
            title: "delays".into(),
            note: String::new(),
            x: Axis::time("latency").log().between(9e-6, 2e-3),
            tails: vec![tail],
            rules: Vec::new(),
        };
        let drawn = chart.render();
        let document = roxmltree::Document::parse(drawn.as_str()).unwrap();
        let texts = |class| {
            let nodes = document.descendants();
            let nodes = nodes.filter(move |node| node.attribute("class") == Some(class));
            nodes.filter_map(|node| {
                let title = node.descendants().find(roxmltree::Node::is_text)?;
                title.text().map(str::to_owned)
            })
        };
        let packets: Vec<String> = texts("packets").collect();
        assert_eq!(packets, ["1 packet", "10", "100", "1\u{a0}000 packets"]);
        let tips: Vec<String> = texts("tip").collect();
        // A bin of the histogram is up to 1 % wide.
        assert!(tips[0].starts_with("a: 50 % take at most 10"), "{}", tips[0]);
        assert_eq!(tips[tips.len() - 1], "a: the slowest of 1\u{a0}000 takes 80 us");
    }
}
