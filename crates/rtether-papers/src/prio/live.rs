//! `skeie-prio-table1` to `-table3` on this host: master, slave and file server are namespaces with
//! this kernel's stacks, a shim is the layer of table 3, and the switch is emulated.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rtether_model::network::{NodeKind, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Record;

use super::super::live::lab;
use super::super::{Comparison, Judge, ReproduceError, Reproduction};
use super::plant::{self, Load, Setup};
use super::{Case, compare};
use rtether::run::Progress;
use rtether::scenario::Scenario;
use rtether_testbed::testbed::{Emulation, Measured};

/// Number of series, each of at least [`super::SAMPLES`] messages, as in the paper.
const SERIES: u64 = 4;
/// The first tenth is warm-up.
const DURATION: Duration = Duration::from_ms(4_500);

/// Measured case: the table, and the direction of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Baseline,
    /// The stations of table 3 without a file.
    Shims,
    One(Way),
    Two(Way),
    Three(Way),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Receive,
    Transmit,
}

/// A measured row.
#[derive(Clone, Debug)]
struct Found {
    case: Case,
    stalled: u64,
    lost: u64,
    emulation: Vec<Emulation>,
    /// Number of shim decisions replayed, and whether all agreed.
    replayed: (u64, bool),
}

/// Rows measured so far in this process; claims compare tables.
static KNOWN: Mutex<BTreeMap<Row, Found>> = Mutex::new(BTreeMap::new());

impl Row {
    fn setup(self) -> Setup {
        let load = |way| match way {
            Way::Receive => Load::Receive,
            Way::Transmit => Load::Transmit,
        };
        match self {
            Self::Baseline => Setup::plain(Load::None),
            Self::Shims => Setup::prioritized(Load::None),
            Self::One(way) => Setup::plain(load(way)),
            Self::Two(way) => Setup {
                is_tagged: true,
                ..Setup::plain(load(way))
            },
            Self::Three(way) => Setup::prioritized(load(way)),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Baseline => "no load",
            Self::Shims => "no load, shims in both nodes",
            Self::One(Way::Receive) => "table 1, receive load",
            Self::One(Way::Transmit) => "table 1, transmit load",
            Self::Two(Way::Receive) => "table 2, receive load",
            Self::Two(Way::Transmit) => "table 2, transmit load",
            Self::Three(Way::Receive) => "table 3, receive load",
            Self::Three(Way::Transmit) => "table 3, transmit load",
        }
    }
}

/// Measures a row, or returns the earlier measurement.
fn found(row: Row, progress: &Progress) -> Result<Found, ReproduceError> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&row) {
        return Ok(found.clone());
    }
    let measured = measure(&scenario(&row.setup()), progress)?;
    known.insert(row, measured.clone());
    Ok(measured)
}

/// Returns the simulated scenario with stacks at zero cost, since this host's stacks take their
/// place.
fn scenario(setup: &Setup) -> Scenario {
    let mut scenario = plant::scenario(setup);
    for node in &mut scenario.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.stack = Stack::Zero;
        }
    }
    scenario
}

fn measure(scenario: &Scenario, progress: &Progress) -> Result<Found, ReproduceError> {
    let mut records: Vec<Record> = Vec::new();
    let (mut stalled, mut lost, mut emulation) = (0, 0, Vec::new());
    let mut replayed = (0, true);
    for seed in 1..=SERIES {
        let measured = lab::run(scenario, DURATION, seed, progress)?;
        let messages = &measured.streams[plant::MESSAGE];
        stalled += messages.stalled;
        lost += messages.lost;
        for layer in &measured.layers {
            replayed.0 += layer.replayed.decisions;
            replayed.1 &= !layer.replayed.differs;
        }
        records.push(record(&measured, scenario));
        emulation.extend(measured.emulation);
    }
    Ok(Found {
        case: Case::of(&records),
        stalled,
        lost,
        emulation,
        replayed,
    })
}

/// Returns a series as a record, including the octets of the file that arrived.
fn record(measured: &Measured, scenario: &Scenario) -> Record {
    let mut record = measured.record(scenario);
    // How much of a file arrived during warm-up is unknown.
    record.warmup = Duration::ZERO;
    for stream in &mut record.streams {
        let delivered = stream.transfers.iter().map(|file| file.delivered);
        stream.payload_bytes = delivered.map(Bytes::get).sum();
    }
    record
}

impl Found {
    fn words(&self) -> String {
        let shims = match self.replayed {
            (0, _) => String::new(),
            (decisions, true) => format!(", {decisions} decisions of shims as in their replay"),
            (_, false) => ", a shim DECIDED OTHERWISE than its replay".into(),
        };
        format!(
            "{}; file {:.1} Mbit/s ({} left out: stalls; {} lost{shims})",
            self.case.words(),
            self.case.file_mbps(),
            self.stalled,
            self.lost
        )
    }
}

pub(in super::super) fn table1(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let title = "Untagged messages, FIFO stack, FTP load, measured";
    run("skeie-prio-table1", title, Row::One, progress)
}

pub(in super::super) fn table2(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let title = "Tagged messages, FIFO stack, FTP load, measured";
    run("skeie-prio-table2", title, Row::Two, progress)
}

pub(in super::super) fn table3(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let title = "Tagged messages, priority queues in the nodes, FTP load, measured";
    run("skeie-prio-table3", title, Row::Three, progress)
}

fn run(
    id: &'static str,
    title: &'static str,
    table: fn(Way) -> Row,
    progress: &Progress,
) -> Result<Reproduction, ReproduceError> {
    let mut judge = Judge::new(id);
    let claims: Vec<String> = judge.open.iter().map(|claim| claim.id.clone()).collect();
    for claim in claims {
        verdict(&mut judge, &claim, progress)?;
    }
    let rows = [Row::Baseline, table(Way::Receive), table(Way::Transmit)];
    let shims = (id == "skeie-prio-table3").then_some(Row::Shims);
    let mut comparisons = Vec::new();
    let mut emulations = Vec::new();
    for row in rows.into_iter().chain(shims) {
        let found = found(row, progress)?;
        comparisons.push(Comparison {
            quantity: row.words().into(),
            paper: "see below".into(),
            ours: found.words(),
            source: "000 Skeie IV".into(),
        });
        emulations.extend(found.emulation);
    }
    let [receive, transmit] =
        [table(Way::Receive), table(Way::Transmit)].map(|row| found(row, progress));
    let (receive, transmit) = (receive?.case, transmit?.case);
    comparisons.extend(compare(
        id,
        &[("receive", &receive), ("transmit", &transmit)],
    ));
    Ok(Reproduction {
        id,
        title,
        mode: "live",
        comparisons,
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![
            lab::fidelity(&emulations),
            means(progress)?,
            format!(
                "{SERIES} series of about {} messages, as in the paper, on the simulated experiment's \
                 network; the stacks are this host's, which take a tenth of the time. Standard \
                 deviations are the root mean square of those of the series. A file that is not \
                 throttled fills the master's link; in table 3 the strict strategy lets a frame of \
                 it go behind each message, and one for each millisecond without any.",
                super::SAMPLES
            ),
        ],
    })
}

/// Compares the means of table 3 with those without load.
fn means(progress: &Progress) -> Result<String, ReproduceError> {
    let mean = |row| found(row, progress).map(|found| found.case.mean_us());
    let [receive, transmit] = both(Row::Three, mean)?;
    let (baseline, shims) = (mean(Row::Baseline)?, mean(Row::Shims)?);
    Ok(format!(
        "Means of table 3 against no load: receive {:.3}, transmit {:.3} of that with shims, {:.3} \
         and {:.3} of that without; the shims of both nodes, two passages of each, take {:.1} us.",
        receive / shims,
        transmit / shims,
        receive / baseline,
        transmit / baseline,
        shims - baseline
    ))
}

/// Judges a claim if it can be measured.
fn verdict(judge: &mut Judge, claim: &str, progress: &Progress) -> Result<(), ReproduceError> {
    let case = |row| found(row, progress).map(|found| found.case);
    let (value, holds, reason) = match claim {
        "C023" => {
            let [receive, transmit] = both(Row::One, case)?;
            let ratio = transmit.mean_us() / receive.mean_us();
            (ratio, ratio >= 1.25, "transmit load hurts less")
        }
        "C024" => {
            let [receive, transmit] = both(Row::One, case)?;
            let ratio = transmit.deviation_us / receive.deviation_us;
            (ratio, ratio >= 3.0, "transmit load brings less jitter")
        }
        "C025" => {
            let (one, two) = (both(Row::One, case)?, both(Row::Two, case)?);
            let pairs = one.iter().zip(&two);
            let off = pairs.map(|(one, two)| (two.mean_us() / one.mean_us() - 1.0).abs());
            let off = off.fold(0.0, f64::max);
            (off, off <= 0.05, "tags change more")
        }
        "C026" => {
            let [one, three] = [Row::One, Row::Three].map(|row| case(row(Way::Transmit)));
            let ratio = three?.deviation_us / one?.deviation_us;
            (ratio, ratio <= 0.35, "priority queues cut less")
        }
        _ => return Ok(()),
    };
    judge.judge(claim, holds, format!("{value:.3}"), reason);
    Ok(())
}

fn both<T>(
    table: fn(Way) -> Row,
    of: impl Fn(Row) -> Result<T, ReproduceError>,
) -> Result<[T; 2], ReproduceError> {
    Ok([of(table(Way::Receive))?, of(table(Way::Transmit))?])
}
