//! Bounds from the diameter of the plant alone, beside those of the analysis.

use rtether_bounds::{Analysis, Diameter, DiameterObstacle, StreamBound};
use rtether_model::flow::Flow;
use rtether_model::quantity::Duration;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Screen, Table};
use rtether_report::text::{percent, plain_line, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::reason;
use crate::place::place_name;
use crate::scenario::Scenario;
use crate::touching::strictly;
use crate::words::Conclusion;

/// What the diameter of a scenario says, in all formats.
#[derive(Clone, Debug)]
pub struct ByDiameter<'a> {
    scenario: &'a Scenario,
    analysis: &'a Analysis,
    found: Result<Diameter, DiameterObstacle>,
}

/// What the longest way and the busiest place alone prove; `null` where they prove nothing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiameterJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// Places on the longest way.
    places: Option<u32>,
    /// Utilization of the busiest place.
    utilization_ratio: Option<f64>,
    /// Most work at once.
    burst_ns: Option<Ns>,
    /// Whether packets are sent in the order of their arrival everywhere.
    is_in_order: Option<bool>,
    /// The longest wait anywhere.
    wait_ns: Option<Ns>,
    /// These in words, or why they prove nothing.
    words: String,
    /// Each stream.
    streams: Vec<StreamJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct StreamJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// Places on its way.
    places: Option<u32>,
    /// Its bound by the diameter.
    diameter_ns: Option<Ns>,
    /// Its bound by analysis.
    bound_ns: Option<Ns>,
    /// Deadline of the flow.
    deadline_ns: Option<Ns>,
}

impl Document for DiameterJson<'_> {
    const SCHEMA: &'static str = "rtether.diameter/1";
}

impl<'a> ByDiameter<'a> {
    /// Takes the three numbers of the scenario; `analysis` is shown beside the result.
    ///
    /// # Panics
    /// As [`rtether_bounds::analyze`].
    pub fn new(scenario: &'a Scenario, analysis: &'a Analysis) -> Self {
        Self {
            scenario,
            analysis,
            found: rtether_bounds::diameter(&scenario.network, &scenario.flows),
        }
    }

    /// Returns whether all deadlines are met by the diameter alone; no answer if it says nothing of a
    /// stream with a deadline.
    pub fn conclusion(&self) -> Conclusion {
        strictly(self.scenario, Conclusion::meets(self.meets_deadlines()))
    }

    pub(crate) fn meets_deadlines(&self) -> Option<bool> {
        let rows = self.rows_of().into_iter();
        let answers = rows.filter_map(|row| Some((row.flow.deadline?, row)));
        let answers: Vec<Option<bool>> = answers
            .map(|(deadline, row)| match row.latency() {
                Some(latency) if latency > deadline => Some(false),
                latency => latency.filter(|_| row.is_proof).map(|_| true),
            })
            .collect();
        // One that is late outweighs any of which nothing is known, in whichever order they come.
        if answers.contains(&Some(false)) {
            return Some(false);
        }
        answers.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
    }

    fn rows_of(&self) -> Vec<Row<'_>> {
        let streams = self.analysis.judged().enumerate();
        let rows = streams.map(|(index, (stream, condition))| {
            let found = self.found.as_ref().ok();
            Row {
                flow: &self.scenario.flows[stream.flow.index()],
                stream,
                is_proof: condition.is_none(),
                found: found.and_then(|found| *found.streams.get(index)?),
            }
        });
        rows.collect()
    }

    fn name(&self, stream: &StreamBound) -> &str {
        &self.scenario.network.node(stream.listener).name
    }

    fn table(&self) -> Table {
        let talker = |row: &Row<'_>| &self.scenario.network.node(row.flow.talker).name;
        Table::of(self.rows_of())
            .both("flow", "flow", |row| row.flow.name.as_str())
            .shown("talker > listener", |row| {
                format!("{} > {}", talker(row), self.name(row.stream))
            })
            .rank(2)
            .file("talker", |row| talker(row).as_str())
            .file("listener", |row| self.name(row.stream))
            .number("places", "places", |row| row.found.map(|found| found.0))
            .number("by diameter", "diameter_ns", Row::latency)
            .number("bound", "bound_ns", Row::bound)
            .number("deadline", "deadline_ns", |row| row.flow.deadline)
            .done()
    }

    /// Returns the three numbers in words, or why they say nothing.
    pub fn said(&self) -> String {
        let found = match &self.found {
            Ok(found) => found,
            Err(obstacle) => return self.why_not(obstacle),
        };
        let order = if found.is_in_order { "in order of arrival" } else { "in any order" };
        format!(
            "The longest way has {} places, the busiest place {} of its time in use, and at most {} \
             of work arrives at one at once: served {order}, no packet waits anywhere for more than {}.",
            found.places,
            percent(share(found.utilization_ppm)),
            time(found.burst),
            time(found.wait),
        )
    }

    fn why_not(&self, obstacle: &DiameterObstacle) -> String {
        match obstacle {
            DiameterObstacle::Reason(why) => {
                format!("The diameter says nothing: {}.", reason(self.scenario, why))
            }
            DiameterObstacle::Discipline(place) => format!(
                "The diameter says nothing: the {} may let packets wait while it is idle, or \
                 interrupts one.",
                place_name(self.scenario, *place)
            ),
            DiameterObstacle::Rule => {
                "The diameter says nothing: rules of switches may drop or demote frames.".to_owned()
            }
            DiameterObstacle::Utilization { places, utilization_ppm, limit_ppm } => format!(
                "The diameter says nothing: with {places} places on the longest way, no place may be \
                 in use for {} of its time or more, and one is for {}.",
                percent(share(*limit_ppm)),
                percent(share(*utilization_ppm)),
            ),
        }
    }
}

/// Converts millionths to a share.
#[allow(clippy::cast_precision_loss, reason = "for display")]
fn share(ppm: u64) -> f64 {
    ppm as f64 / 1e6
}

/// A stream and what is said of it.
struct Row<'a> {
    flow: &'a Flow,
    stream: &'a StreamBound,
    /// Whether each packet arrives.
    is_proof: bool,
    found: Option<(u32, Duration)>,
}

impl Row<'_> {
    fn latency(&self) -> Option<Duration> {
        self.found.map(|found| found.1)
    }

    fn bound(&self) -> Option<Duration> {
        Some(self.stream.bound.as_ref().ok()?.latency)
    }
}

impl Render for ByDiameter<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        vec![
            format!("{}\n", plain_line(&self.scenario.name)).into(),
            self.table().into(),
            format!("\n{}\n", self.conclusion().sentence(&self.said())).into(),
        ]
    }

    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        let found = self.found.as_ref().ok();
        let streams = self.rows_of().into_iter().map(|row| StreamJson {
            flow: &row.flow.name,
            listener: self.name(row.stream),
            places: row.found.map(|found| found.0),
            diameter_ns: row.latency().map(Ns),
            bound_ns: row.bound().map(Ns),
            deadline_ns: row.flow.deadline.map(Ns),
        });
        document::text(&DiameterJson {
            scenario: &self.scenario.name,
            conclusion: self.conclusion(),
            places: found.map(|found| found.places),
            utilization_ratio: found.map(|found| share(found.utilization_ppm)),
            burst_ns: found.map(|found| Ns(found.burst)),
            is_in_order: found.map(|found| found.is_in_order),
            wait_ns: found.map(|found| Ns(found.wait)),
            words: self.said(),
            streams: streams.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    /// Oracle: by hand. 100 octets of a datagram are 166 on the wire, 13.28 us at 100 Mbit/s. Two
    /// ports are 2 places. The port of the switch to `c` gets 26.56 us of work every millisecond,
    /// the longest wait is 26.56 us / (1 - 0.02656 * 2) = 28.050 us, since strict priority is no
    /// order of arrival, twice, and the frames take twice 12.32 us without the gap between frames.
    #[test]
    fn two_flows_meet() {
        let text = "rtether: 1\nname: three\n\
            nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }\n\
            switches: { sw: { ports: 3 } }\n\
            links: [{ ends: [a, \"sw:1\"], rate: 100 Mbit/s }, \
                    { ends: [b, \"sw:2\"], rate: 100 Mbit/s }, \
                    { ends: [c, \"sw:3\"], rate: 100 Mbit/s }]\n\
            flows:\n  - { name: f, from: a, to: c, period: 1 ms, size: 100 B, deadline: 1 ms }\n\
            \x20 - { name: g, from: b, to: c, period: 1 ms, size: 100 B, deadline: 50 us }\n";
        let loaded = scenario::load("three.yaml", text);
        let scenario = loaded.into_scenario().expect("a good scenario");
        let analysis = super::super::analyze(&scenario);
        let found = ByDiameter::new(&scenario, &analysis);
        let diameter = found.found.as_ref().expect("a bound");
        assert_eq!((diameter.places, diameter.utilization_ppm), (2, 26_560));
        assert_eq!(diameter.burst, Duration::from_ns(26_560));
        assert!(!diameter.is_in_order);
        assert_eq!(diameter.wait.as_ps() / 1_000, 28_050);
        let latency = diameter.streams[0].expect("it arrives").1;
        let frames = Duration::from_ns(2 * 12_320);
        assert_eq!(latency, diameter.wait * 2 + frames);
        assert_eq!(found.meets_deadlines(), Some(false));
        assert!(found.said().contains("has 2 places"), "{}", found.said());
        // A stream that need not arrive is no answer, and hides no other that is late.
        let lossy =
            text.replace("\"sw:1\"], rate: 100 Mbit/s", "\"sw:1\"], rate: 100 Mbit/s, errors: 1 %");
        for (deadline, meets) in [("50 us", Some(false)), ("1 ms", None)] {
            let text = lossy.replace("50 us", deadline);
            let scenario = scenario::load("lossy.yaml", &text).into_scenario();
            let scenario = scenario.expect("a good scenario");
            let analysis = super::super::analyze(&scenario);
            let found = ByDiameter::new(&scenario, &analysis);
            assert_eq!(found.meets_deadlines(), meets, "{deadline}");
        }
    }
}
