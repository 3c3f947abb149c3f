//! `skeie-substation` and `skeie-substation-slow`: a comprehensive substation on one Ethernet
//! (000 Skeie, section III, figures 4 to 7).
//!
//! The paper's maxima are maxima of averaged curves: here the mean over all streams of a class and
//! over buckets of 1.6 s (about 100 points a run). Single packets reach about twice that, and so
//! does the mean of the one stream whose phase is unluckiest: all sources are periodic, so a phase
//! that makes a packet wait makes all of them wait. What file transfers do is seen best at the PISA
//! that uploads; averaged over all PISAs it nearly vanishes.

pub(super) mod bounds;
mod figures;

use rtether_model::quantity::Duration;
use rtether_model::record::{Bucket, Record, StreamRecord};
use rtether_sim::observe::NoObserver;

use super::observe::{load, median, ratio, run_one};
use super::{Comparison, Judge, ReproduceError, Reproduction, reference};
use crate::run::Progress;
use crate::scenario::Scenario;
use figures::{figure, slow_figure};

const SCENARIO: &str = include_str!("../../../../scenarios/substation.yaml");

const CT_TO_PU: &str = "ct-vt to protection unit";
const PU_TO_CB: &str = "protection unit to circuit breaker";
const CT_TO_BUSBAR: &str = "ct-vt to busbar";
const BUSBAR_TO_CB: &str = "busbar to circuit breaker";
/// The four classes of the figures; the first two stay inside a bay.
const CLASSES: [&str; 4] = [CT_TO_PU, PU_TO_CB, CT_TO_BUSBAR, BUSBAR_TO_CB];

/// The PISA that uploads, and its stream to the Busbar unit.
const UPLOADER: &str = "bay01.ct2 > busbar";

/// As in the paper: one file every two seconds, the upload after the last of the first bays.
const DURATION_S: i64 = 190;
const UPLOAD_AT: Duration = Duration::from_secs(100);
const BUCKET: Duration = Duration::from_ms(1_600);
/// The first two seconds, in which queues fill, are not compared.
const SETTLED: Duration = Duration::from_secs(2);
/// Quiet runs, each with other phases; nothing changes within one, so they are short.
const QUIET_RUNS: u64 = 16;
const QUIET_DURATION_S: i64 = 8;

/// One run of the plant.
struct Run {
    scenario: Scenario,
    record: Record,
}

impl Run {
    fn new(
        seed: u64,
        seconds: i64,
        set: &[&str],
        progress: &Progress,
    ) -> Result<Self, ReproduceError> {
        let mut overrides = vec![
            format!("run.for={seconds} s"),
            "run.warmup=0 s".to_owned(),
            "run.bucket=1.6 s".to_owned(),
            "generate.substation.upload_at=100 s".to_owned(),
        ];
        overrides.extend(set.iter().map(|&set| set.to_owned()));
        let scenario = load("substation.yaml", SCENARIO, &overrides)?;
        let record = run_one(&scenario, seed, progress, &mut NoObserver)?;
        Ok(Self { scenario, record })
    }

    fn quiet(seed: u64, progress: &Progress) -> Result<Self, ReproduceError> {
        Self::new(
            seed,
            QUIET_DURATION_S,
            &["generate.substation.files=false"],
            progress,
        )
    }

    /// Returns the streams of a class, or the one stream of this name.
    fn streams(&self, name: &'static str) -> impl Iterator<Item = &StreamRecord> {
        let flow = |stream: &StreamRecord| &self.scenario.flows[stream.flow_id().index()];
        self.record
            .streams
            .iter()
            .filter(move |s| flow(s).class == name || flow(s).name == name)
    }

    /// Returns the mean of each bucket over the streams of a class.
    fn curve(&self, class: &'static str) -> Vec<Duration> {
        let mut sums: Vec<Bucket> = Vec::new();
        for stream in self.streams(class) {
            if sums.len() < stream.buckets.len() {
                sums.resize(stream.buckets.len(), Bucket::default());
            }
            for (sum, bucket) in sums.iter_mut().zip(&stream.buckets) {
                sum.count += bucket.count;
                sum.sum_ps += bucket.sum_ps;
            }
        }
        sums.iter()
            .map(|sum| sum.mean().unwrap_or_default())
            .collect()
    }

    /// Returns the largest bucket mean of a class in a part of the run.
    fn peak(&self, class: &'static str, within: impl Fn(Duration) -> bool) -> Duration {
        let curve = self.curve(class);
        let at = (0i64..).map(|bucket| BUCKET * bucket);
        let inside = at
            .zip(curve)
            .filter(|(at, _)| *at >= SETTLED && within(*at));
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
        self.streams(class)
            .map(|stream| stream.latency.max)
            .max()
            .unwrap_or_default()
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
        let transfers = self
            .streams("file from pisa")
            .flat_map(|stream| &stream.transfers);
        let end = transfers.filter_map(|transfer| transfer.finished_at).max();
        (
            UPLOAD_AT,
            end.map_or(UPLOAD_AT, rtether_model::quantity::Instant::since_start),
        )
    }

    /// Returns the peaks of a class during the upload and outside of it.
    fn peaks(&self, class: &'static str) -> (Duration, Duration) {
        let (from, until) = self.upload();
        let is_upload = |at: Duration| at + BUCKET > from && at <= until;
        (
            self.peak(class, is_upload),
            self.peak(class, |at| !is_upload(at)),
        )
    }
}

/// Runs without and with file transfers.
struct Plant {
    /// Maxima of the averaged curves without transfers, by class, averaged over seeds.
    quiet: [Duration; 4],
    /// The same plant as `files`, without transfers.
    twin: Run,
    files: Run,
    node_shares: [f64; 4],
    packet_maxima: [Duration; 4],
}

impl Plant {
    fn new(progress: &Progress) -> Result<Self, ReproduceError> {
        let (files, quiet) = rayon::join(
            || Run::new(1, DURATION_S, &[], progress),
            || {
                (1..=QUIET_RUNS)
                    .map(|seed| Run::quiet(seed, progress))
                    .collect::<Result<Vec<_>, _>>()
            },
        );
        let mut quiet = quiet?.into_iter();
        let twin = quiet.next().expect("at least one quiet run");
        let node_shares = CLASSES.map(|class| twin.node_share(class));
        let mut sums = CLASSES.map(|class| twin.maximum(class));
        let mut packet_maxima = CLASSES.map(|class| twin.packet_maximum(class));
        for run in quiet {
            for (number, class) in CLASSES.into_iter().enumerate() {
                sums[number] += run.maximum(class);
                packet_maxima[number] = packet_maxima[number].max(run.packet_maximum(class));
            }
        }
        let runs = i64::try_from(QUIET_RUNS).unwrap_or(1);
        Ok(Self {
            quiet: sums.map(|sum| sum / runs),
            twin,
            files: files?,
            node_shares,
            packet_maxima,
        })
    }

    /// Returns what transfers add to the maximum of a class.
    fn increase(&self, class: &'static str) -> Duration {
        self.files.maximum(class) - self.twin.maximum(class)
    }
}

pub(super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let plant = Plant::new(progress)?;
    let mut judge = Judge::new("skeie-substation");
    judge_quiet(&mut judge, &plant);
    judge_files(&mut judge, &plant);
    let files = &plant.files;
    let pairs = CLASSES.into_iter().zip(plant.packet_maxima);
    let maxima = pairs
        .map(|(class, max)| format!("{class} {max}"))
        .collect::<Vec<_>>()
        .join(", ");
    Ok(Reproduction {
        id: "skeie-substation",
        title: "A substation of ten bays on one switched Ethernet",
        mode: "sim",
        comparisons: comparisons(&plant),
        claims: judge.finish(),
        figures: vec![
            figure(
                "Inside a bay",
                files,
                &[CT_TO_PU, PU_TO_CB],
                160,
                "figure 5",
            ),
            figure(
                "Between bays",
                files,
                &[CT_TO_BUSBAR, BUSBAR_TO_CB, UPLOADER],
                180,
                "figure 6",
            ),
        ],
        notes: vec![
            format!("Quiet values are means over {QUIET_RUNS} draws of the phases."),
            format!(
                "Largest single packet of any stream and draw, without transfers: {maxima}; the \
                 paper's maxima are those of averaged curves."
            ),
        ],
    })
}

fn judge_quiet(judge: &mut Judge, plant: &Plant) {
    let us = Duration::from_us;
    let maxima = plant.quiet;
    let words = |range: std::ops::Range<usize>| {
        let pairs = CLASSES[range.clone()].iter().zip(&maxima[range]);
        pairs
            .map(|(class, max)| format!("{class} {max}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let inside = maxima[..2]
        .iter()
        .all(|max| (us(130)..=us(195)).contains(max));
    judge.judge(
        "C014",
        inside,
        words(0..2),
        "a maximum inside the bay is outside the range",
    );
    let between = maxima[2..]
        .iter()
        .all(|max| (us(140)..=us(215)).contains(max));
    judge.judge(
        "C015",
        between,
        words(2..4),
        "a maximum between bays is outside the range",
    );
    let shares = plant.node_shares;
    judge.judge(
        "C012",
        shares.iter().all(|&share| share >= 0.8),
        shares
            .map(|share| format!("{:.0} %", share * 100.0))
            .join(", "),
        "less than 80 % of the delay is inside the nodes",
    );
}

fn judge_files(judge: &mut Judge, plant: &Plant) {
    let files = &plant.files;
    let increases = [CT_TO_PU, PU_TO_CB].map(|class| plant.increase(class));
    judge.judge(
        "C016",
        increases
            .iter()
            .all(|&increase| increase < Duration::from_us(20)),
        increases.map(|increase| increase.to_string()).join(", "),
        "file transfers add more than 20 us inside a bay",
    );
    let between = [CT_TO_BUSBAR, BUSBAR_TO_CB, UPLOADER].map(|class| files.maximum(class));
    judge.judge(
        "C017",
        between.iter().all(|&max| max < Duration::from_us(300)),
        format!(
            "{}, {}; uploading PISA {}",
            between[0], between[1], between[2]
        ),
        "a bucket mean between bays reaches 300 us",
    );
    let sum = between[2].max(between[0]) + between[1];
    judge.judge(
        "C018",
        sum < Duration::from_ms(1),
        format!("{sum}"),
        "the sum is too large",
    );
    let (upload, download) = files.peaks(UPLOADER);
    judge.judge(
        "C019",
        upload > download,
        format!("{upload} against {download} at the uploading PISA"),
        "the upload does not make the largest peak",
    );
}

fn comparisons(plant: &Plant) -> Vec<Comparison> {
    let files = &plant.files;
    let [ct_to_pu, pu_to_cb, ct_to_busbar, busbar_to_cb] = plant.quiet;
    let values = reference::values("skeie-substation").into_iter();
    let rows = values.filter_map(|value| {
        let subject = value.subject.split(", ").next().unwrap_or_default();
        let ours = match (subject, value.condition.as_str()) {
            ("ctvt_pisa_to_protection_unit", _) => ct_to_pu.to_string(),
            ("protection_unit_to_cb_pisa", _) => pu_to_cb.to_string(),
            ("intrabay", "FTP") => {
                format!("{}, {}", plant.increase(CT_TO_PU), plant.increase(PU_TO_CB))
            }
            ("ctvt_pisa_to_busbar", "no FTP") => ct_to_busbar.to_string(),
            ("busbar_to_cb_pisa", "no FTP") => busbar_to_cb.to_string(),
            ("ctvt_pisa_to_busbar", "FTP") => {
                format!(
                    "{} (uploading PISA {})",
                    files.maximum(CT_TO_BUSBAR),
                    files.maximum(UPLOADER)
                )
            }
            ("busbar_to_cb_pisa", "FTP") => files.maximum(BUSBAR_TO_CB).to_string(),
            _ => return None,
        };
        Some(Comparison {
            quantity: format!(
                "{} ({}, {})",
                subject.replace('_', " "),
                value.condition,
                value.statistic
            ),
            paper: value.words(),
            ours,
            source: value.source,
        })
    });
    rows.collect()
}

pub(super) fn run_slow(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let slower = [
        "generate.substation.pisa_rate=5000 packets/s",
        "generate.substation.busbar_rate=40000 packets/s",
    ];
    let (fast, slow) = rayon::join(
        || Run::new(1, DURATION_S, &[], progress),
        || Run::new(1, DURATION_S, &slower, progress),
    );
    let (fast, slow) = (fast?, slow?);
    let mut judge = Judge::new("skeie-substation-slow");
    let steady = ratio(slow.median(CT_TO_BUSBAR), fast.median(CT_TO_BUSBAR));
    judge.judge(
        "C020",
        steady <= 2.5,
        format!("{steady:.2}"),
        "the steady state is much slower",
    );
    let (slow_peak, _) = slow.peaks(UPLOADER);
    let (fast_peak, _) = fast.peaks(UPLOADER);
    let peaks = ratio(slow_peak, fast_peak);
    judge.judge(
        "C021",
        peaks >= 2.0,
        format!("{slow_peak} / {fast_peak} = {peaks:.2}"),
        "the peak of the upload is not twice as high",
    );
    let ethernet = slow.ethernet_share(CT_TO_BUSBAR);
    judge.judge(
        "C022",
        ethernet <= 0.2,
        format!("{:.1} %", ethernet * 100.0),
        "it is significant",
    );
    Ok(Reproduction {
        id: "skeie-substation-slow",
        title: "The same substation with slower nodes",
        mode: "sim",
        comparisons: Vec::new(),
        claims: judge.finish(),
        figures: vec![slow_figure(&fast, &slow)],
        notes: vec![
            "The paper prints no numbers for this run; the order is what is judged.".into(),
        ],
    })
}
