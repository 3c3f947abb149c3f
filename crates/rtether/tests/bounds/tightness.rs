//! Tightness of the bounds, compared with recorded figures: ratio of bound to the largest latency
//! found by a search for bad phases.
//!
//! The ratio is an upper limit on the pessimism, since the search may miss the worst case. Plants,
//! search and simulation are deterministic, so the figures are the same everywhere. The table has
//! ratios in ten-thousandths.

use std::fmt::Write as _;
use std::path::PathBuf;

use rtether::adversary::{self, Target};
use rtether_bounds::{Analysis, analyze};
use rtether_model::flow::{Flow, Traffic};
use rtether_model::quantity::Duration;

use crate::bounds::plant::Plant;
use crate::bounds::published::{KINDS, Kind};
use crate::bounds::{check, dice, searched, simulate, with_phases};

const PLANTS: u64 = 10;
const STEPS: u64 = 200;
const NIGHTLY_PLANTS: u64 = 30;
const NIGHTLY_STEPS: u64 = 1_000;
/// Approximate number of streams searched per plant.
const STREAMS: usize = 10;
/// By how much figures may be better than recorded, in ten-thousandths.
const LEEWAY: u64 = 20;

/// Figures for one kind of network; ratios in ten-thousandths, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figures {
    streams: u64,
    median: u64,
    p95: u64,
    mean: u64,
}

impl Figures {
    fn of(kind: &Kind, plants: u64, steps: u64) -> Self {
        let mut quotients = Vec::new();
        for number in 0..plants {
            let mut dice = dice(number);
            let plant = (kind.build)(&mut dice);
            let analysis = analyze(&plant.network, &plant.flows);
            let streams = analysis.streams.len();
            for stream in (0..streams).step_by((streams / STREAMS).max(1)) {
                let seen = search(&plant, &analysis, stream, steps);
                let bound = analysis.streams[stream].bound.as_ref().unwrap().latency;
                let [bound, seen] = [bound, seen].map(|time| u64::try_from(time.as_ps()).unwrap());
                quotients.push((bound * 10_000).div_ceil(seen));
            }
        }
        quotients.sort_unstable();
        let at = |percent: usize| quotients[(quotients.len() - 1) * percent / 100];
        let streams = quotients.len() as u64;
        Self {
            streams,
            median: at(50),
            p95: at(95),
            mean: quotients.iter().sum::<u64>().div_ceil(streams),
        }
    }

    fn read(text: &str) -> Self {
        let mut numbers = text.split(',').skip(1).map(|n| n.parse().unwrap());
        let mut next = || numbers.next().unwrap();
        Self { streams: next(), median: next(), p95: next(), mean: next() }
    }

    /// Compares with the recorded figures.
    fn compare(self, recorded: Self, name: &str) {
        assert_eq!(self.streams, recorded.streams, "{name}: other plants");
        let pairs = [
            ("median", self.median, recorded.median),
            ("p95", self.p95, recorded.p95),
            ("mean", self.mean, recorded.mean),
        ];
        for (what, now, then) in pairs {
            assert!(now <= then, "{name}: {what} was {then}, is {now}: worse");
            assert!(
                now + LEEWAY >= then,
                "{name}: {what} was {then}, is {now}: better, record it with RTETHER_BLESS=1"
            );
        }
    }
}

/// Returns flows with the same arrival curves of which every release may be chosen, so that a search may
/// do all that the bounds allow for.
fn sporadic(flows: &[Flow]) -> Vec<Flow> {
    let mut flows = flows.to_vec();
    for flow in &mut flows {
        if let Traffic::Periodic { period, release_jitter: Duration::ZERO, .. } = flow.traffic {
            flow.traffic = Traffic::Sporadic { min_gap: period, mean_gap: period, burst: 1 };
        }
    }
    flows
}

/// Returns the largest latency of a stream found in `steps` steps, also in what follows in the whole
/// plant, and checks all streams there.
fn search(plant: &Plant, analysis: &Analysis, stream: usize, steps: u64) -> Duration {
    let bound = analysis.streams[stream].bound.as_ref().unwrap().latency;
    let flows = sporadic(&plant.flows);
    let open = adversary::Plant { network: &plant.network, flows: &flows, run: searched() };
    let target = Target::all(&flows)[stream];
    let found = adversary::search(open, target, Some(bound), steps).unwrap();
    let first = |flow: usize| {
        let mut releases = found.releases.iter();
        let (_, times) = releases.find(|(own, _)| own.index() == flow)?;
        times.first().copied()
    };
    let never = Duration::from_secs(1);
    let flows = with_phases(&plant.flows, |flow, _| first(flow).unwrap_or(never));
    let seen = check(analysis, &simulate(plant, &flows, 0))[stream];
    assert!(found.latency <= bound, "{found:?} beyond {bound}");
    seen.max(found.latency)
}

/// Formats ten-thousandths with three decimals.
fn decimal(figure: u64) -> String {
    let thousandths = (figure + 5) / 10;
    format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
}

fn table(rows: &[(&Kind, Figures)]) -> String {
    let mut text = String::from("kind,streams,median,p95,mean\n");
    for (kind, figures) in rows {
        let name = kind.name;
        let Figures { streams, median, p95, mean } = figures;
        writeln!(text, "{name},{streams},{median},{p95},{mean}").unwrap();
    }
    text
}

/// Returns the figures as a Markdown table.
fn section(rows: &[(&Kind, Figures)]) -> String {
    let mut text = String::from(
        "| network | streams | median | p95 | mean | published mean |\n|---|---|---|---|---|---|\n",
    );
    for (kind, figures) in rows {
        let published = kind.published.map_or_else(|| "none".into(), decimal);
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            kind.name,
            figures.streams,
            decimal(figures.median),
            decimal(figures.p95),
            decimal(figures.mean),
            published.trim_end_matches('0'),
        )
        .unwrap();
    }
    text
}

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)
}

const TABLE: &str = "tests/bounds/tightness.csv";
const PAGE: &str = "../../docs/models/bounds.md";
const BEGIN: &str = "<!-- tightness: begin -->\n";
const END: &str = "<!-- tightness: end -->";

/// Oracle: the simulator, recorded figures, and published figures.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn bounds_are_as_tight_as_recorded() {
    let is_nightly = std::env::var("RTETHER_NIGHTLY").is_ok_and(|value| value == "1");
    let (plants, steps) =
        if is_nightly { (NIGHTLY_PLANTS, NIGHTLY_STEPS) } else { (PLANTS, STEPS) };
    let rows = KINDS.each_ref().map(|kind| (kind, Figures::of(kind, plants, steps)));
    let found = section(&rows);
    println!("{found}");
    for (kind, figures) in &rows {
        if let Some(published) = kind.published {
            assert!(figures.mean <= published, "{}: {figures:?}", kind.name);
        }
    }
    if is_nightly {
        return;
    }
    let page = std::fs::read_to_string(path(PAGE)).unwrap();
    let begin = page.find(BEGIN).unwrap() + BEGIN.len();
    let end = page.find(END).unwrap();
    if std::env::var_os("RTETHER_BLESS").is_some() {
        std::fs::write(path(TABLE), table(&rows)).unwrap();
        let page = format!("{}{found}{}", &page[..begin], &page[end..]);
        std::fs::write(path(PAGE), page).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(path(TABLE)).unwrap();
    let recorded: Vec<Figures> = recorded.lines().skip(1).map(Figures::read).collect();
    assert_eq!(recorded.len(), rows.len(), "run with RTETHER_BLESS=1");
    let mut old = rows;
    for (row, recorded) in old.iter_mut().zip(&recorded) {
        row.1.compare(*recorded, row.0.name);
        row.1 = *recorded;
    }
    assert_eq!(&page[begin..end], section(&old), "the page is not the table");
}
