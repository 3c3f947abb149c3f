//! `skeie-substation` and `skeie-substation-slow`: a comprehensive substation on one Ethernet
//! (000 Skeie, section III, figures 4 to 7).
//!
//! The paper's maxima are maxima of averaged curves: means over buckets of 1.6 s (about 100 points
//! a run), the largest over all nodes of a class. Single packets reach about twice that.

use rtether_model::quantity::Duration;
use rtether_model::record::{Bucket, Record, StreamRecord};
use rtether_sim::observe::NoObserver;

use super::observe::{load, median, ratio, run_one};
use super::{Comparison, Figure, Judge, ReproduceError, Reproduction, reference};
use crate::report::chart::{Axis, LineChart, Rule, RuleKind, Series, Style};
use crate::run::Progress;
use crate::scenario::Scenario;

const SCENARIO: &str = include_str!("../../../../scenarios/substation.yaml");

const CT_TO_PU: &str = "ct-vt to protection unit";
const PU_TO_CB: &str = "protection unit to circuit breaker";
const CT_TO_BUSBAR: &str = "ct-vt to busbar";
const BUSBAR_TO_CB: &str = "busbar to circuit breaker";
/// The four classes of the figures; the first two stay inside a bay.
const CLASSES: [&str; 4] = [CT_TO_PU, PU_TO_CB, CT_TO_BUSBAR, BUSBAR_TO_CB];

/// The upload begins at 100 s; downloads come every two seconds all along.
const DURATION_S: i64 = 190;
const UPLOAD_AT: Duration = Duration::from_secs(100);
const BUCKET: Duration = Duration::from_ms(1_600);
/// The first two seconds, in which queues fill and connections open, are not compared.
const SETTLED: Duration = Duration::from_secs(2);

/// One run of the plant.
struct Run {
    scenario: Scenario,
    record: Record,
}

impl Run {
    fn new(set: &[&str], progress: &Progress) -> Result<Self, ReproduceError> {
        let mut overrides = vec![
            format!("run.for={DURATION_S} s"),
            "run.warmup=0 s".to_owned(),
            "run.bucket=1.6 s".to_owned(),
        ];
        overrides.extend(set.iter().map(|&set| set.to_owned()));
        let scenario = load("substation.yaml", SCENARIO, &overrides)?;
        let record = run_one(&scenario, scenario.run.seed, progress, &mut NoObserver)?;
        Ok(Self { scenario, record })
    }

    fn streams(&self, class: &'static str) -> impl Iterator<Item = &StreamRecord> {
        let flows = &self.scenario.flows;
        self.record.streams.iter().filter(move |s| flows[s.flow_id().index()].class == class)
    }

    /// Returns for each bucket the largest of its means over the streams of a class.
    fn curve(&self, class: &'static str) -> Vec<Duration> {
        let mut curve = Vec::new();
        for stream in self.streams(class) {
            if curve.len() < stream.buckets.len() {
                curve.resize(stream.buckets.len(), Duration::ZERO);
            }
            for (largest, mean) in curve.iter_mut().zip(stream.buckets.iter().map(Bucket::mean)) {
                *largest = (*largest).max(mean.unwrap_or_default());
            }
        }
        curve
    }

    /// Returns the largest bucket mean of a class in a part of the run.
    fn peak(&self, class: &'static str, within: impl Fn(Duration) -> bool) -> Duration {
        let curve = self.curve(class);
        let at = (0i64..).map(|bucket| BUCKET * bucket);
        let inside = at.zip(curve).filter(|(at, _)| *at >= SETTLED && within(*at));
        inside.map(|(_, mean)| mean).max().unwrap_or_default()
    }

    fn maximum(&self, class: &'static str) -> Duration {
        self.peak(class, |_| true)
    }

    /// Returns the median over streams and buckets of the bucket means of a class.
    fn median(&self, class: &'static str) -> Duration {
        let streams = self.streams(class);
        let means = streams.flat_map(|stream| stream.buckets.iter().filter_map(Bucket::mean));
        median(means.collect()).unwrap_or_default()
    }

    /// Returns the largest latency of a single packet of a class.
    fn packet_maximum(&self, class: &'static str) -> Duration {
        self.streams(class).map(|stream| stream.latency.max).max().unwrap_or_default()
    }

    /// Returns the share of the delay of a class that is not Ethernet delay.
    fn node_share(&self, class: &'static str) -> f64 {
        1.0 - self.ethernet_share(class)
    }

    fn ethernet_share(&self, class: &'static str) -> f64 {
        let (mut ethernet, mut total) = (0i128, 0i128);
        for stream in self.streams(class) {
            ethernet += stream.ethernet.sum_ps;
            total += stream.latency.sum_ps;
        }
        #[allow(clippy::cast_precision_loss, reason = "a share with three digits")]
        let share = ethernet as f64 / total as f64;
        share
    }

    /// Returns when the upload was running; downloads at the same time are part of it.
    fn upload(&self) -> (Duration, Duration) {
        let transfers = self.streams("file from pisa").flat_map(|stream| &stream.transfers);
        let end = transfers.filter_map(|transfer| transfer.finished_at).max();
        (UPLOAD_AT, end.map_or(UPLOAD_AT, rtether_model::quantity::Instant::since_start))
    }

    /// Returns the peaks of a class during the upload and outside of it.
    fn peaks(&self, class: &'static str) -> (Duration, Duration) {
        let (from, until) = self.upload();
        let is_upload = |at: Duration| at + BUCKET > from && at <= until;
        (self.peak(class, is_upload), self.peak(class, |at| !is_upload(at)))
    }
}

pub(super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let quiet = Run::new(&["generate.substation.files=false"], progress)?;
    let files = Run::new(&[], progress)?;
    let mut judge = Judge::new("skeie-substation");
    judge_quiet(&mut judge, &quiet);
    judge_files(&mut judge, &quiet, &files);
    Ok(Reproduction {
        id: "skeie-substation",
        title: "A substation of ten bays on one switched Ethernet",
        mode: "sim",
        comparisons: comparisons(&quiet, &files),
        claims: judge.finish(),
        figures: vec![
            figure("Inside a bay", &files, [CT_TO_PU, PU_TO_CB], 160, "figure 5"),
            figure("Between bays", &files, [CT_TO_BUSBAR, BUSBAR_TO_CB], 180, "figure 6"),
        ],
        notes: vec![format!(
            "Largest single packets without and with file transfers: {}. The paper's maxima are \
             those of averaged curves.",
            CLASSES
                .map(|class| {
                    let [quiet, files] = [&quiet, &files].map(|run| run.packet_maximum(class));
                    format!("{class} {quiet} and {files}")
                })
                .join(", ")
        )],
    })
}

fn judge_quiet(judge: &mut Judge, quiet: &Run) {
    let us = Duration::from_us;
    let maxima = CLASSES.map(|class| quiet.maximum(class));
    let words = |range: std::ops::Range<usize>| {
        let pairs = CLASSES[range.clone()].iter().zip(&maxima[range]);
        pairs.map(|(class, max)| format!("{class} {max}")).collect::<Vec<_>>().join(", ")
    };
    let inside = maxima[..2].iter().all(|max| (us(130)..=us(195)).contains(max));
    judge.judge("C014", inside, words(0..2), "a maximum inside the bay is outside the range");
    let between = maxima[2..].iter().all(|max| (us(140)..=us(215)).contains(max));
    judge.judge("C015", between, words(2..4), "a maximum between bays is outside the range");
    let sum = maxima[2] + maxima[3];
    judge.judge("C018", sum < Duration::from_ms(1), format!("{sum}"), "the sum is too large");
    let shares = CLASSES.map(|class| quiet.node_share(class));
    judge.judge(
        "C012",
        shares.iter().all(|&share| share >= 0.8),
        shares.map(|share| format!("{:.0} %", share * 100.0)).join(", "),
        "less than 80 % of the delay is inside the nodes",
    );
}

fn judge_files(judge: &mut Judge, quiet: &Run, files: &Run) {
    let increases = [CT_TO_PU, PU_TO_CB].map(|class| files.maximum(class) - quiet.maximum(class));
    judge.judge(
        "C016",
        increases.iter().all(|&increase| increase < Duration::from_us(20)),
        increases.map(|increase| increase.to_string()).join(", "),
        "file transfers add more than 20 us inside a bay",
    );
    let between = [CT_TO_BUSBAR, BUSBAR_TO_CB].map(|class| files.maximum(class));
    judge.judge(
        "C017",
        between.iter().all(|&max| max < Duration::from_us(300)),
        between.map(|max| max.to_string()).join(", "),
        "a bucket mean between bays reaches 300 us",
    );
    let (upload, download) = files.peaks(CT_TO_BUSBAR);
    judge.judge(
        "C019",
        upload > download,
        format!("{upload} against {download}"),
        "the upload does not make the largest peak",
    );
}

fn comparisons(quiet: &Run, files: &Run) -> Vec<Comparison> {
    let values = reference::values("skeie-substation").into_iter();
    let rows = values.filter_map(|value| {
        let subject = value.subject.split(", ").next().unwrap_or_default();
        let increase = |class| format!("{}", files.maximum(class) - quiet.maximum(class));
        let ours = match (subject, value.condition.as_str()) {
            ("ctvt_pisa_to_protection_unit", _) => quiet.maximum(CT_TO_PU).to_string(),
            ("protection_unit_to_cb_pisa", _) => quiet.maximum(PU_TO_CB).to_string(),
            ("intrabay", "FTP") => format!("{}, {}", increase(CT_TO_PU), increase(PU_TO_CB)),
            ("ctvt_pisa_to_busbar", "no FTP") => quiet.maximum(CT_TO_BUSBAR).to_string(),
            ("busbar_to_cb_pisa", "no FTP") => quiet.maximum(BUSBAR_TO_CB).to_string(),
            ("ctvt_pisa_to_busbar", "FTP") => files.maximum(CT_TO_BUSBAR).to_string(),
            ("busbar_to_cb_pisa", "FTP") => files.maximum(BUSBAR_TO_CB).to_string(),
            _ => return None,
        };
        Some(Comparison {
            quantity: format!("{} ({}, {})", subject.replace('_', " "), value.condition, value.statistic),
            paper: value.words(),
            ours,
            source: value.source,
        })
    });
    rows.collect()
}

pub(super) fn run_slow(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let fast = Run::new(&[], progress)?;
    let slow = Run::new(
        &[
            "generate.substation.pisa_rate=5000 packets/s",
            "generate.substation.busbar_rate=40000 packets/s",
        ],
        progress,
    )?;
    let mut judge = Judge::new("skeie-substation-slow");
    let steady = ratio(slow.median(CT_TO_BUSBAR), fast.median(CT_TO_BUSBAR));
    judge.judge("C020", steady <= 2.5, format!("{steady:.2}"), "the steady state is much slower");
    let (slow_peak, _) = slow.peaks(CT_TO_BUSBAR);
    let (fast_peak, _) = fast.peaks(CT_TO_BUSBAR);
    let peaks = ratio(slow_peak, fast_peak);
    judge.judge(
        "C021",
        peaks >= 2.0,
        format!("{slow_peak} / {fast_peak} = {peaks:.2}"),
        "the peak of the upload is not twice as high",
    );
    let ethernet = slow.ethernet_share(CT_TO_BUSBAR);
    judge.judge("C022", ethernet <= 0.2, format!("{:.1} %", ethernet * 100.0), "it is significant");
    Ok(Reproduction {
        id: "skeie-substation-slow",
        title: "The same substation with slower nodes",
        mode: "sim",
        comparisons: Vec::new(),
        claims: judge.finish(),
        figures: vec![slow_figure(&fast, &slow)],
        notes: vec!["The paper prints no numbers for this run; the order is what is judged.".into()],
    })
}

/// Returns the points of a curve in seconds.
fn points(curve: &[Duration]) -> Vec<(f64, f64)> {
    let at = (0i64..).map(|bucket| (BUCKET * bucket + BUCKET / 2).as_secs_f64());
    at.zip(curve.iter().map(|mean| mean.as_secs_f64())).collect()
}

fn figure(
    title: &str,
    run: &Run,
    classes: [&'static str; 2],
    paper_us: i64,
    counterpart: &str,
) -> Figure {
    let mut series: Vec<Series> = classes
        .iter()
        .map(|&class| Series {
            name: class.to_owned(),
            points: points(&run.curve(class)),
            style: Style::Line,
        })
        .collect();
    let paper = Duration::from_us(paper_us).as_secs_f64();
    series.push(Series {
        name: "paper, maximum without transfers".into(),
        points: vec![(0.0, paper), (160.0, paper)],
        style: Style::LineAndMarkers,
    });
    let chart = LineChart {
        title: title.into(),
        note: "largest mean of any node, buckets of 1.6 s".into(),
        x: Axis::time("time of the run"),
        y: Axis::time("delay"),
        series,
        rules: vec![Rule {
            at: UPLOAD_AT.as_secs_f64(),
            label: "upload".into(),
            kind: RuleKind::Bound,
        }],
        bands: Vec::new(),
    };
    let caption = format!("The counterpart of {counterpart}, with file transfers.");
    Figure { caption, drawing: chart.render() }
}

fn slow_figure(fast: &Run, slow: &Run) -> Figure {
    let series = [("fast nodes", fast), ("slow nodes", slow)].map(|(name, run)| Series {
        name: name.into(),
        points: points(&run.curve(CT_TO_BUSBAR)),
        style: Style::Line,
    });
    let chart = LineChart {
        title: "CT/VT to Busbar".into(),
        note: "largest mean of any node, buckets of 1.6 s".into(),
        x: Axis::time("time of the run"),
        y: Axis::time("delay").log(),
        series: series.to_vec(),
        ..LineChart::default()
    };
    Figure { caption: "The counterpart of figure 7.".into(), drawing: chart.render() }
}
