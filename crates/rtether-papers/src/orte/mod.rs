//! Response time of publish-subscribe applications (003 Dolejs, 4.1, figures 9, 10, 12 to 14).
//!
//! Publication 1 on one node, subscription 2 and publication 2 on the other, subscription 1 on the
//! first: the response time is half the round trip. Over loopback all four are on one node, which
//! leaves only processing (catalogue, D6). The repetition time is the pause from a reply to the
//! next issue.

mod plant;

use rtether::meter::Statistics;
use rtether::report::chart::ColumnChart;

use crate::prelude::*;
pub(crate) use plant::RTPS;
#[cfg(target_os = "linux")]
pub(crate) use plant::network;
use plant::{simulate, within_one_node};

/// Octets of an issue (catalogue 4b, open points).
pub(crate) const SIZES: [u64; 5] = [64, 128, 256, 512, 1024];
/// Repetition times in milliseconds; zero is as fast as possible.
pub(crate) const REPETITIONS: [i64; 8] = [0, 1, 2, 5, 10, 20, 50, 100];
/// The paper's main operating point: octets, and milliseconds.
pub(crate) const SIZE: u64 = 1024;
pub(crate) const REPETITION: i64 = 10;
/// Issues in a series of the paper, and in one point of a simulated figure.
const ISSUES: u32 = 5_000;
const FEWER: u32 = 1_000;
/// Measured times within this ratio count as equal: repeated runs of one size differ as much.
const FLAT: f64 = 1.1;
/// How close a prediction must be to the paper's mean (catalogue 4c).
const NEAR: Duration = Duration::from_us(50);

/// One-way response times and their parts.
#[derive(Clone, Copy, Debug)]
struct Series {
    response: Statistics,
    processing: Statistics,
    communication: Statistics,
}

/// One point of figures 12 to 14: a simulated mean or a measured median.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    size: u64,
    pub(crate) repetition: Duration,
    pub(crate) time: Duration,
}

/// Returns points for these sizes and repetition times.
pub(crate) fn points(
    sizes: &[u64],
    repetitions: &[i64],
    measure: impl Fn(u64, Duration) -> Result<Duration, ReproduceError>,
) -> Result<Vec<Point>, ReproduceError> {
    let all = sizes.iter().flat_map(|&size| repetitions.iter().map(move |&ms| (size, ms)));
    let point = |(size, ms)| {
        let repetition = Duration::from_ms(ms);
        let time = measure(size, repetition)?;
        Ok(Point { size, repetition, time })
    };
    all.map(point).collect()
}

/// Returns simulated points.
fn simulated(
    sizes: &[u64],
    repetitions: &[i64],
    progress: &Progress,
) -> Result<Vec<Point>, ReproduceError> {
    points(sizes, repetitions, |size, repetition| {
        Ok(simulate(size, repetition, FEWER, progress)?.response.mean)
    })
}

/// `dolejs-orte-4nodes` and `dolejs-orte-loopback`.
pub(crate) fn parts(page: &mut Page, progress: &Progress) -> Outcome {
    page.title(titles(page));
    let found = simulate(SIZE, Duration::from_ms(REPETITION), ISSUES, progress)?;
    let alone = within_one_node(SIZE, Duration::from_ms(REPETITION), ISSUES, progress)?;
    let difference = found.response.mean - alone.mean;
    let words = format!("{} less {}: {difference}", found.response.mean, alone.mean);
    page.check("C077", [difference], words);
    let communication = found.communication;
    judge_parts(page, &found.response, &alone, communication.standard_deviation);
    page.row(
        "communication time, mean",
        "0.17 ms (difference of the means), 0.19 ms (simulated)",
        communication.mean,
        "003 Dolejs 4.1",
    );
    let paper = |id| Some(reference::time(id, "mean"));
    let groups = [
        ("processing", &alone, paper("dolejs-orte-loopback")),
        ("communication", &communication, paper("dolejs-sim-4nodes")),
        ("response", &found.response, paper("dolejs-orte-4nodes")),
    ];
    let groups = groups.map(|(name, part, paper)| {
        let columns = vec![column(part.mean, paper), column(part.standard_deviation, None)];
        (name.to_owned(), columns)
    });
    let chart = ColumnChart {
        title: "Where the response time goes".into(),
        note: "simulated".into(),
        y: Axis::time("one way"),
        series: vec!["mean".into(), "standard deviation".into()],
        groups: groups.into(),
        reference_name: "paper, mean".into(),
    };
    page.draw("The counterpart of figures 9 to 11.", chart.render());
    let paper = reference::time("dolejs-orte-4nodes", "mean");
    let mean = found.response.mean;
    let is_near = (mean - paper).as_ps().abs() <= NEAR.as_ps();
    let verdict = if is_near { "" } else { "not " };
    page.row(
        "time in the stacks of four nodes, mean",
        "taken for that of loopback",
        found.processing.mean,
        "003 Dolejs 4.1",
    );
    page.note(format!(
        "A stack that suits loopback predicts {mean} for four nodes, {verdict}within {NEAR} of the \
         paper's {paper}. The engine of RTPS is the real one, in version 1.0 as the paper's: 48 octets of \
         headers before the value, with HEARTBEAT and ACK."
    ));
    Ok(())
}

/// Returns the title of one of the two experiments that [`judge_parts`] judges.
pub(crate) fn titles(page: &Page) -> &'static str {
    if page.id() == "dolejs-orte-4nodes" {
        "Response time over a switch, four nodes"
    } else {
        "Response time within one node"
    }
}

/// Compares and judges four nodes and loopback; each experiment shows one and needs both.
/// `network` is the standard deviation of the communication time.
pub(crate) fn judge_parts(
    page: &mut Page,
    response: &Statistics,
    processing: &Statistics,
    network: Duration,
) {
    let id = page.id();
    let (own, source) = if id == "dolejs-orte-4nodes" {
        (response, "003 Dolejs Fig. 9")
    } else {
        (processing, "003 Dolejs Fig. 10")
    };
    for (name, metric, ours) in [
        ("least", "min", own.min),
        ("mean", "mean", own.mean),
        ("most", "max", own.max),
        ("standard deviation", "std", own.standard_deviation),
    ] {
        let paper = reference::times(id, metric).into_values().next();
        let paper = paper.map_or_else(|| "not printed".into(), |time| time.to_string());
        page.row(format!("response time, {name}"), paper, ours, source);
    }
    if page.has("C078") {
        let share = ratio(processing.mean, response.mean);
        let words = format!("{:.0} % of {}", share * 100.0, response.mean);
        page.check_or("C078", [share], words, "processing is not 70 % of the response time");
    }
    let (whole, alone) = (response.standard_deviation, processing.standard_deviation);
    page.judge(
        "C079",
        (0.8..=1.25).contains(&ratio(whole, alone)) && ratio(network, alone) <= 0.2,
        format!(
            "standard deviation: four nodes {whole}, processing {alone}, communication {network}"
        ),
        "the jitter is not that of the processing",
    );
}

pub(crate) fn repetition(page: &mut Page, progress: &Progress) -> Outcome {
    let found = simulated(&[SIZE], &REPETITIONS, progress)?;
    judge_repetition(page, &found);
    show(page, "Response time against repetition time", "mean", &found);
    Ok(())
}

/// Judges that the repetition time has little effect (C080).
pub(crate) fn judge_repetition(page: &mut Page, points: &[Point]) {
    let (least, most) = extremes(points.iter().map(|point| point.time));
    let spread = ratio(most, least);
    let words = format!("{least} to {most}: {spread:.2}");
    page.check_or("C080", [spread], words, "means differ by more than half");
}

pub(crate) fn size(page: &mut Page, progress: &Progress) -> Outcome {
    let found = simulated(&SIZES, &[REPETITION], progress)?;
    judge_size(page, &found);
    show(page, "Response time against size", "mean", &found);
    Ok(())
}

/// Judges that the response time grows slowly with size (C081).
pub(crate) fn judge_size(page: &mut Page, points: &[Point]) {
    let times: Vec<Duration> = points.iter().map(|point| point.time).collect();
    let (first, last) = (times[0], times[times.len() - 1]);
    let growth = ratio(last, first);
    let (least, most) = extremes(times.iter().copied());
    let holds = page.accepts("C081", [growth]) == Some(true) && times.is_sorted();
    let (holds, reason) = if ratio(most, least) <= FLAT && !holds {
        (None, "sizes differ by less than one does from run to run")
    } else {
        (Some(holds), "does not grow everywhere, or by more than double")
    };
    page.judge("C081", holds, format!("{first} to {last}: {growth:.2}"), reason);
}

pub(crate) fn surface(page: &mut Page, progress: &Progress) -> Outcome {
    let found = simulated(&SIZES, &REPETITIONS, progress)?;
    show(page, "Response time against size and repetition time", "mean", &found);
    page.note(
        "The paper's growth with the repetition time comes from caches that grow cold, which \
         the simulator does not model; `--live` measures it.",
    );
    Ok(())
}

/// Shows points, `what` says of what kind, as a table and a figure.
pub(crate) fn show(page: &mut Page, title: &str, what: &str, points: &[Point]) {
    page.title(title);
    for Point { size, repetition, time } in points {
        let quantity = format!("response time, {size} B every {repetition}");
        page.row(
            quantity,
            "drawn, not printed",
            format!("{what} {time}"),
            "003 Dolejs Fig. 12 to 14",
        );
    }
    let is_over_size = points.windows(2).all(|pair| pair[0].repetition == pair[1].repetition);
    let (x, series) = if is_over_size {
        let over_size = points.iter().map(|one| (one.size, one.time));
        (Axis::number("payload, octets"), vec![curve(what, Style::Line, over_size)])
    } else {
        let curves = SIZES.iter().map(|&size| {
            let own = points.iter().filter(|one| one.size == size);
            let own = own.map(|one| (one.repetition, one.time));
            curve(format!("{size} B"), Style::Line, own)
        });
        let drawn = curves.filter(|curve| !curve.points.is_empty());
        (Axis::time("repetition time"), drawn.collect())
    };
    let axes = [x, Axis::time("one way")];
    page.lines("The counterpart of figures 12 to 14.", [title, what], axes, series);
}
