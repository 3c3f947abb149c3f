//! The measurement as one self-contained HTML page: verdicts, distributions, time spent in this
//! host.

use rtether_model::histogram::Histogram;
use rtether_model::quantity::Duration;

use super::Measured;
use super::judged::{Row, rows};
use super::output::facts;
use rtether::report::html::{
    DELAYS_NOTE, distributions, mark_cell, name_cell, number, reasons, table, time_cell, transfers,
    verdict,
};
use rtether::report::markup::{Markup, element};
use rtether::report::page::{Page, TableCell, details, figures};
use rtether::report::text::{count, time};
use rtether::report::{Checked, Stream};
use rtether::scenario::Scenario;
use rtether::verdict::Assessment;

const VERDICT_NOTE: &str = "Latency runs from the call that sends to the return of the call that \
    receives; with a reply, back to the talker. Packets that a stall of the host touched are \
    counted, and left out of p50 to max; where they make a difference, figures with them stand beside. \
    The longer a packet is under way, the surer it meets a stall, so those left are the quick ones.";
const HOST_NOTE: &str = "Sending is the call that sends, receiving runs from the kernel\u{2019}s \
    receive stamp to the application. How late the release was is not part of the latency.";
const TRANSFERS_NOTE: &str =
    "Files over TCP, from the opening of the connection to the last octet.";

/// Returns the page; `source` is the text of the scenario file, shown with the results.
pub fn html(
    scenario: &Scenario,
    measured: &Measured,
    assessments: &[Assessment],
    source: Option<&str>,
) -> String {
    let results = measured.results(scenario);
    let checked = Checked::new(scenario.clone(), results, assessments.to_vec());
    let all: Vec<Row<'_>> = rows(scenario, measured, assessments).collect();
    let mut page = Page::new(&scenario.name)
        .kicker("Delay from application to application, measured on this host")
        .lead(lead(&checked, measured))
        .section("verdict", "Verdict", VERDICT_NOTE, verdicts(&checked, &all));
    let charts = distributions(&checked);
    if !charts.is_empty() {
        page = page.section("delays", "Delay distribution", DELAYS_NOTE, charts);
    }
    page = page.section("host", "In this host", HOST_NOTE, host(&checked, &all));
    let files = transfers(&checked);
    if !files.is_empty() {
        page = page.section("transfers", "Transfers", TRANSFERS_NOTE, files);
    }
    page.section("run", "About this run", "", about(measured, source)).render()
}

fn lead(checked: &Checked, measured: &Measured) -> Markup {
    let counts = checked.counts();
    let sum =
        |value: fn(&super::MeasuredStream) -> u64| count(measured.streams.iter().map(value).sum());
    let tiles = [
        (counts.streams.to_string(), "streams"),
        (counts.held.to_string(), "held, not proved"),
        (counts.no_deadline.to_string(), "without a deadline"),
        (counts.late.to_string(), "late"),
        (counts.lost.to_string(), "with losses"),
        (sum(|stream| stream.delivered), "packets delivered"),
        (sum(|stream| stream.lost), "packets lost"),
        (sum(|stream| stream.stalled), "left out: stalls"),
        (time(measured.duration), "measured"),
    ];
    let mut lead = verdict(checked);
    lead.push(figures(&tiles.map(|(number, what)| (number, what.into()))));
    lead
}

/// Returns the streams with their measured figures, worst first.
fn worst_first<'a>(
    checked: &'a Checked,
    all: &'a [Row<'a>],
) -> impl Iterator<Item = (Stream<'a>, &'a Row<'a>)> {
    let order = checked.worst_first().into_iter();
    order.map(move |index| (checked.stream(index), &all[index]))
}

/// Returns a name with its notes below it.
fn named(checked: &Checked, stream: &Stream<'_>) -> TableCell {
    name_cell(&checked.stream_name(stream), &checked.notes(stream))
}

fn verdicts(checked: &Checked, all: &[Row<'_>]) -> Markup {
    let names = [
        ("verdict", false),
        ("stream", false),
        ("sent", true),
        ("lost", true),
        ("stalled", true),
        ("late or lost", true),
        ("p50", true),
        ("p99", true),
        ("p99.9", true),
        ("max", true),
        ("p50 with stalls", true),
        ("p99 with stalls", true),
        ("deadline", true),
        ("margin", true),
    ];
    let rows = worst_first(checked, all).map(|(stream, Row { stream: own, .. })| {
        let room = stream.flow.deadline.zip(stream.max());
        let margin = room.map(|(deadline, max)| deadline - max);
        let is_over = margin.is_some_and(Duration::is_negative);
        let mark = |cell: TableCell| if is_over { cell.class("n over") } else { cell };
        let cells = vec![
            mark_cell(stream.standing()),
            named(checked, &stream),
            number(own.released),
            number(own.lost),
            number(own.stalled),
            number(own.missed),
            time_cell(own.quantile(1, 2)),
            time_cell(own.quantile(99, 100)),
            time_cell(own.quantile(999, 1_000)),
            mark(time_cell(stream.max())),
            time_cell(own.with_stalls.quantile(1, 2)),
            time_cell(own.with_stalls.quantile(99, 100)),
            time_cell(stream.flow.deadline),
            mark(time_cell(margin)),
        ];
        (cells, stream.verdict().is_failure())
    });
    let mut body = table(&names, rows.collect());
    let reasons = reasons(checked);
    if !reasons.is_empty() {
        body.push(details(Markup::text("What failed"), reasons, false));
    }
    body
}

fn host(checked: &Checked, all: &[Row<'_>]) -> Markup {
    let names = [
        ("stream", false),
        ("sending p50", true),
        ("p99", true),
        ("receiving p50", true),
        ("p99", true),
        ("late release p50", true),
        ("p99", true),
        ("outside the stated profile", true),
        ("held up by the emulator", true),
    ];
    let rows = worst_first(checked, all).map(|(stream, Row { stream: own, .. })| {
        let of = |histogram: &Histogram| {
            [(1, 2), (99, 100)].map(|(part, whole)| time_cell(histogram.quantile(part, whole)))
        };
        let mut cells = vec![named(checked, &stream)];
        for histogram in [&own.send, &own.receive, &own.late] {
            cells.extend(of(histogram));
        }
        cells.extend([number(own.outside), number(own.held_up)]);
        (cells, false)
    });
    table(&names, rows.collect())
}

fn about(measured: &Measured, source: Option<&str>) -> Markup {
    let mut facts = facts(measured);
    facts.push(("version", format!("rtether {}", env!("CARGO_PKG_VERSION"))));
    let entries = facts
        .into_iter()
        .flat_map(|(name, text)| [element("dt").text(name), element("dd").text(text)]);
    let mut all = Markup::from(element("dl").children(entries));
    if let Some(source) = source {
        let text = element("pre").child(element("code").text(source));
        all.push(details(Markup::text("Scenario"), text, false));
    }
    all
}

#[cfg(test)]
mod tests {
    use rtether_model::record::Summary;

    use super::super::{Backend, MeasuredStream, Oddities, Packets};
    use super::*;

    const SCENARIO: &str = "
rtether: 1
name: <page>
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows: [{ name: f, from: a, to: b, period: 1 ms, size: 64 B, deadline: 250 us }]
";

    /// A stream of four packets that took 100, 200, 300 and 400 us.
    fn measured() -> Measured {
        let mut stream = MeasuredStream {
            released: 4,
            delivered: 4,
            missed: 2,
            latency: Summary::default(),
            ..MeasuredStream::default()
        };
        for latency in [100, 200, 300, 400].map(Duration::from_us) {
            stream.latency.record(latency);
            stream.histogram.record(latency);
            stream.with_stalls.record(latency);
            stream.less_stalls.record(latency);
        }
        Measured {
            backend: Backend::Kernel,
            duration: Duration::from_secs(1),
            warmup: Duration::ZERO,
            streams: vec![stream],
            stalls: 0,
            longest_stall: None,
            watched_in_real_time: true,
            awake: Ok(()),
            emulation: None,
            tolerance: Duration::ZERO,
            is_partial: false,
            packets: Packets::default(),
            failures: Vec::new(),
            layers: Vec::new(),
            hosts: Vec::new(),
            errors: vec!["b: <gone>".into()],
            oddities: Oddities::default(),
        }
    }

    fn numbers(path: &str) -> Vec<f64> {
        let parts = path.split(|c: char| c.is_alphabetic() || c == ' ');
        let numbers = parts.filter(|part| !part.is_empty());
        numbers.map(|part| part.parse().unwrap()).collect()
    }

    /// Oracle: by hand; the four steps of the curve have equal heights and widths, within the
    /// resolution of the histogram (0.8 %) and of the drawing (0.1), and the deadline is in the
    /// middle of the third.
    #[test]
    fn the_picture_is_that_of_the_packets() {
        let loaded = rtether::scenario::load("page.yaml", SCENARIO);
        let scenario = loaded.scenario.unwrap();
        let measured = measured();
        let assessments = measured.assess(&scenario);
        let page = html(&scenario, &measured, &assessments, Some(SCENARIO));
        let options =
            roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
        let document = roxmltree::Document::parse_with_options(&page, options).unwrap();
        let section = |id| {
            let mut all = document.descendants();
            all.find(|node| node.attribute("id") == Some(id)).unwrap()
        };
        let line = |class: &str| {
            let mut all = section("delays").descendants();
            let found = all.find(|node| node.attribute("class") == Some(class));
            numbers(found.unwrap().attribute("d").unwrap())
        };
        let curve = line("line");
        let (x, y): (Vec<f64>, Vec<f64>) = curve.chunks(2).map(|p| (p[0], p[1])).unzip();
        // By hand: all four packets take 100 us or more, three take longer, then two, one and none;
        // a logarithmic axis shows none as a third of a packet.
        assert_eq!(x.len(), 5, "{curve:?}");
        let (width, height) = ((x[4] - x[0]) / 3.0, (y[4] - y[0]) / 12_f64.ln());
        for (number, step) in [0.0, 0.0, 1.0, 2.0, 3.0].into_iter().enumerate() {
            assert!((x[number] - x[0] - step * width).abs() < 0.04 * width, "{x:?}");
        }
        for (number, packets) in [4.0_f64, 3.0, 2.0, 1.0, 1.0 / 3.0].into_iter().enumerate() {
            let below = (4.0 / packets).ln() * height;
            assert!((y[number] - y[0] - below).abs() < 0.2, "{y:?}");
        }
        let words = |id| {
            let texts = section(id).descendants().filter_map(|node| node.text());
            texts.collect::<String>()
        };
        assert!(words("verdict").contains("-150 us"), "{}", words("verdict"));
        assert!(words("run").contains("b: <gone>"), "{}", words("run"));
    }
}
