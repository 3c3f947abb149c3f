//! `skeie-substation` and `skeie-substation-slow`: a comprehensive substation on one Ethernet
//! (000 Skeie, section III, figures 4 to 7).
//!
//! The paper's maxima are maxima of averaged curves: without transfers, the mean over all streams
//! of a class and over buckets of 1.6 s (about 100 points per run). Single packets reach about
//! twice that, and so does the mean of the one stream with the worst phase: all sources are
//! periodic, so a phase that delays one packet delays all of them.
//!
//! With file transfers, single streams are judged, and the increase due to transfers is taken per
//! stream: the paper gives the maximum "taken over all CT/VT PISAs", and only one PISA transfers at
//! a time, so an average over thirty of them hides it.

pub(crate) mod bounds;
mod figures;

use rtether_model::quantity::Instant;
use rtether_model::record::{Bucket, Record, StreamRecord};
use rtether_sim::observe::NoObserver;

use crate::observe::{load, median, run_one};
use crate::prelude::*;
use figures::{compare, draw};

const SCENARIO: &str = include_str!("../scenarios/substation.yaml");

const CT_TO_PU: &str = "ct-vt to protection unit";
const PU_TO_CB: &str = "protection unit to circuit breaker";
const CT_TO_BUSBAR: &str = "ct-vt to busbar";
const BUSBAR_TO_CB: &str = "busbar to circuit breaker";
/// The four classes of the figures; the first two stay inside a bay.
const CLASSES: [&str; 4] = [CT_TO_PU, PU_TO_CB, CT_TO_BUSBAR, BUSBAR_TO_CB];

/// The PISA that uploads, and its stream to the Busbar unit.
const UPLOADER: &str = "bay01.ct2 > busbar";

/// As in the paper: a download every two seconds for each of 90 PISAs, and one upload at 100 s.
const DURATION_S: i64 = 190;
const UPLOAD_AT: Duration = Duration::from_secs(100);
const BUCKET: Duration = Duration::from_ms(1_600);
/// The first bucket, in which queues fill, is not compared. The second has the first transfer.
const SETTLED: Duration = BUCKET;
/// Quiet runs, each with other phases; they are short, since nothing changes within a run.
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
        let set = ["generate.substation.files=false"];
        Self::new(seed, QUIET_DURATION_S, &set, progress)
    }

    /// Returns the streams of a class, or the one stream with this name.
    fn streams(&self, name: &'static str) -> impl Iterator<Item = &StreamRecord> {
        let flow = |stream: &StreamRecord| &self.scenario.flows[stream.flow_id().index()];
        self.record.streams.iter().filter(move |s| flow(s).class == name || flow(s).name == name)
    }

    /// Returns start and mean of each bucket with packets, over the streams of a class.
    fn curve(&self, class: &'static str) -> Vec<(Duration, Duration)> {
        bucket_means(self.streams(class))
    }

    /// Returns the largest bucket mean of a class in part of the run.
    fn peak(
        &self,
        class: &'static str,
        within: impl Fn(Duration) -> bool,
    ) -> Result<Duration, ReproduceError> {
        let curve = self.curve(class).into_iter();
        let inside = curve.filter(|(at, _)| *at >= SETTLED && within(*at));
        let means = inside.map(|(_, mean)| mean);
        means.max().ok_or_else(|| nothing(class))
    }

    fn maximum(&self, class: &'static str) -> Result<Duration, ReproduceError> {
        self.peak(class, |_| true)
    }

    /// Returns the largest bucket mean of each stream of a class, in stream order.
    fn stream_maxima(&self, class: &'static str) -> Result<Vec<Duration>, ReproduceError> {
        let maxima = self.streams(class).map(|stream| {
            let curve = bucket_means(std::iter::once(stream)).into_iter();
            let means = curve.filter(|(at, _)| *at >= SETTLED).map(|(_, mean)| mean);
            means.max().ok_or_else(|| nothing(class))
        });
        maxima.collect()
    }

    /// Returns the median of the bucket means over all streams and buckets of a class.
    fn median(&self, class: &'static str) -> Result<Duration, ReproduceError> {
        let streams = self.streams(class);
        let means = streams.flat_map(|stream| stream.buckets.iter().filter_map(Bucket::mean));
        median(means.collect()).ok_or_else(|| nothing(class))
    }

    /// Returns the largest latency of a single packet of a class.
    fn packet_maximum(&self, class: &'static str) -> Duration {
        self.streams(class).map(|stream| stream.latency.max).max().unwrap_or_default()
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

    /// Returns start and end of the upload; concurrent downloads are included.
    fn upload(&self) -> (Duration, Duration) {
        let transfers = self.streams("file from pisa").flat_map(|stream| &stream.transfers);
        let end = transfers.filter_map(|transfer| transfer.finished_at).max();
        (UPLOAD_AT, end.map_or(UPLOAD_AT, Instant::since_start))
    }

    /// Returns the peaks of a class during the upload and outside it.
    fn peaks(&self, class: &'static str) -> Result<(Duration, Duration), ReproduceError> {
        let (from, until) = self.upload();
        let is_upload = |at: Duration| at + BUCKET > from && at <= until;
        Ok((self.peak(class, is_upload)?, self.peak(class, |at| !is_upload(at))?))
    }
}

/// Returns start and mean of each bucket with packets, over some streams.
fn bucket_means<'a>(streams: impl Iterator<Item = &'a StreamRecord>) -> Vec<(Duration, Duration)> {
    let mut sums: Vec<Bucket> = Vec::new();
    for stream in streams {
        if sums.len() < stream.buckets.len() {
            sums.resize(stream.buckets.len(), Bucket::default());
        }
        for (sum, bucket) in sums.iter_mut().zip(&stream.buckets) {
            sum.count += bucket.count;
            sum.sum_ps += bucket.sum_ps;
        }
    }
    let at = (0i64..).map(|number| BUCKET * number);
    at.zip(sums).filter_map(|(at, sum)| Some((at, sum.mean()?))).collect()
}

fn nothing(class: &str) -> ReproduceError {
    ReproduceError::Scenario(format!("no packets of `{class}` where they are compared"))
}

/// Increase of the largest bucket means of a class due to transfers.
#[derive(Clone, Copy)]
struct Increase {
    /// For the most affected stream.
    stream: Duration,
    /// For the mean over all streams.
    class: Duration,
}

/// Runs without and with file transfers.
struct Plant {
    /// Maxima of the averaged curves without transfers, by class, averaged over seeds.
    quiet: [Duration; 4],
    /// The largest bucket mean of any stream and seed without transfers, by class.
    quiet_streams: [Duration; 4],
    files: Run,
    increases: [Increase; 4],
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
        let (files, quiet) = (files?, quiet?);
        // The same plant as `files`, with the same phases.
        let twin = quiet.first().expect("at least one quiet run");
        let runs = i64::try_from(QUIET_RUNS).unwrap_or(1);
        let [mut mean, mut streams, mut packets] = [[Duration::ZERO; 4]; 3];
        let mut increases = Vec::new();
        for (number, class) in CLASSES.into_iter().enumerate() {
            for run in &quiet {
                mean[number] += run.maximum(class)? / runs;
                let maxima = run.stream_maxima(class)?;
                streams[number] = maxima.into_iter().fold(streams[number], Duration::max);
                packets[number] = packets[number].max(run.packet_maximum(class));
            }
            let pairs = files.stream_maxima(class)?.into_iter();
            let pairs = pairs.zip(twin.stream_maxima(class)?);
            let most = pairs.map(|(loaded, quiet)| loaded - quiet).max();
            increases.push(Increase {
                stream: most.ok_or_else(|| nothing(class))?,
                class: files.maximum(class)? - twin.maximum(class)?,
            });
        }
        Ok(Self {
            quiet: mean,
            quiet_streams: streams,
            node_shares: CLASSES.map(|class| 1.0 - twin.ethernet_share(class)),
            increases: increases.try_into().unwrap_or_else(|_| unreachable!("one a class")),
            files,
            packet_maxima: packets,
        })
    }
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("A substation of ten bays on one switched Ethernet");
    let plant = Plant::new(progress)?;
    compare(page, &plant)?;
    judge_quiet(page, &plant);
    judge_files(page, &plant)?;
    let files = &plant.files;
    draw(page, "Inside a bay", files, &[CT_TO_PU, PU_TO_CB], "figure 5");
    let between = [CT_TO_BUSBAR, BUSBAR_TO_CB, UPLOADER];
    draw(page, "Between bays", files, &between, "figure 6");
    page.note(format!("Quiet values are means over {QUIET_RUNS} draws of the phases."));
    let pairs = CLASSES.into_iter().zip(plant.packet_maxima);
    let maxima = pairs.map(|(class, max)| format!("{class} {max}"));
    page.note(format!(
        "Largest single packet of any stream and draw, without transfers: {}; the \
         paper's maxima are those of averaged curves.",
        listed(maxima, ", ")
    ));
    Ok(())
}

fn judge_quiet(page: &mut Page, plant: &Plant) {
    let words = CLASSES.iter().zip(plant.quiet).zip(plant.quiet_streams);
    let words = words.map(|((class, mean), stream)| {
        format!("{class}: class mean {mean}, largest stream mean {stream}")
    });
    let words: Vec<String> = words.collect();
    page.check("C014", plant.quiet[..2].iter().copied(), words[..2].join("; "));
    page.check("C015", plant.quiet[2..].iter().copied(), words[2..].join("; "));
    let shares = plant.node_shares;
    let words = shares.map(|share| format!("{:.0} %", share * 100.0));
    page.check("C012", shares, words.join(", "));
}

fn judge_files(page: &mut Page, plant: &Plant) -> Outcome {
    let files = &plant.files;
    let inside = [0, 1].map(|at| plant.increases[at]);
    let words = CLASSES.iter().zip(inside).map(|(class, Increase { stream, class: mean })| {
        format!("{class}: {stream} more at the stream that gains most, {mean} in the class mean")
    });
    page.check_or(
        "C016",
        inside.map(|increase| increase.stream),
        listed(words, "; "),
        "not reproduced: the stream of the PISA that transfers gains 20 us or more; the paper speaks \
         of the maximum delay and not of a mean over PISAs, so single streams are judged",
    );
    let largest = |class| {
        let maxima = files.stream_maxima(class)?.into_iter();
        maxima.max().ok_or_else(|| nothing(class))
    };
    let between = [largest(CT_TO_BUSBAR)?, largest(BUSBAR_TO_CB)?];
    let means = [files.maximum(CT_TO_BUSBAR)?, files.maximum(BUSBAR_TO_CB)?];
    page.check_or(
        "C017",
        between,
        format!(
            "largest bucket mean of a stream: {CT_TO_BUSBAR} {} (class mean {}), {BUSBAR_TO_CB} {} \
             (class mean {})",
            between[0], means[0], between[1], means[1]
        ),
        "a bucket mean of a stream between bays reaches 300 us; as for C016 the paper speaks of the \
         maximum delay over all PISAs, so single streams are judged",
    );
    let sum = between[0] + between[1];
    page.check("C018", [sum], sum);
    let (upload, download) = files.peaks(UPLOADER)?;
    page.judge(
        "C019",
        upload > download,
        format!("{upload} against {download} at the uploading PISA"),
        "the upload does not make the largest peak",
    );
    Ok(())
}

pub(crate) fn run_slow(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("The same substation with slower nodes");
    let slower = [
        "generate.substation.pisa_rate=5000 packets/s",
        "generate.substation.busbar_rate=40000 packets/s",
    ];
    let (fast, slow) = rayon::join(
        || Run::new(1, DURATION_S, &[], progress),
        || Run::new(1, DURATION_S, &slower, progress),
    );
    let (fast, slow) = (fast?, slow?);
    let steady = ratio(slow.median(CT_TO_BUSBAR)?, fast.median(CT_TO_BUSBAR)?);
    page.check("C020", [steady], format!("{steady:.2}"));
    let (slow_peak, _) = slow.peaks(UPLOADER)?;
    let (fast_peak, _) = fast.peaks(UPLOADER)?;
    let peaks = ratio(slow_peak, fast_peak);
    page.check("C021", [peaks], format!("{slow_peak} / {fast_peak} = {peaks:.2}"));
    let ethernet = slow.ethernet_share(CT_TO_BUSBAR);
    page.check("C022", [ethernet], format!("{:.1} %", ethernet * 100.0));
    let uploader = |name, run: &Run| curve(name, Style::Line, figures::points(run, UPLOADER));
    page.lines(
        "The counterpart of figure 7.",
        ["Uploading CT/VT to Busbar", "means over 1.6 s"],
        [Axis::time("time of the run"), Axis::time("delay")],
        vec![uploader("fast nodes", &fast), uploader("slow nodes", &slow)],
    );
    page.note("The paper prints no numbers for this run; the order is what is judged.");
    Ok(())
}
