//! `skeie-prio-table1` to `-table3` on this host: master, slave and file server are namespaces with
//! this kernel's stacks, a shim is the layer of table 3, and the switch is emulated.

use rtether_model::network::{NodeKind, Stack};
use rtether_model::record::Record;
use rtether_testbed::testbed::{Emulation, Measured};

use super::Case;
use super::plant::{self, Load, Setup};
use super::tables::{Table, compare, value};
use crate::lab;
use crate::observe::Known;
use crate::prelude::*;

/// Number of series, each of at least [`super::SAMPLES`] messages, as in the paper.
const SERIES: u64 = 4;
/// The first tenth is warm-up.
const DURATION: Duration = Duration::from_ms(4_500);

/// A measured row.
#[derive(Clone, Debug)]
struct MeasuredRow {
    case: Case,
    stalled: u64,
    lost: u64,
    emulation: Vec<Emulation>,
    /// Number of shim decisions replayed, and whether all agreed.
    replayed: (u64, bool),
}

/// Rows measured so far in this process; claims compare tables.
static KNOWN: Known<(Table, Load), MeasuredRow> = Known::new();

fn found(table: Table, load: Load, progress: &Progress) -> Result<MeasuredRow, ReproduceError> {
    KNOWN.get((table, load), || measure(&scenario(&table.setup(load)), progress))
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

fn measure(scenario: &Scenario, progress: &Progress) -> Result<MeasuredRow, ReproduceError> {
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
    Ok(MeasuredRow { case: Case::of(&records), stalled, lost, emulation, replayed })
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

impl MeasuredRow {
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

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    let table = Table::of(page);
    page.title(format!("{}, measured", table.title()));
    let case = |table, load| found(table, load, progress).map(|found| found.case);
    for claim in page.claims() {
        if let Some((value, reason)) = value(&claim, &case)? {
            page.check_or(&claim, [value], format!("{value:.3}"), reason);
        }
    }
    let mut emulations = Vec::new();
    let shims = (table == Table::Three).then_some((table, Load::None));
    let rows = [(Table::One, Load::None), (table, Load::Receive), (table, Load::Transmit)];
    for (table, load) in rows.into_iter().chain(shims) {
        let name = match (table, load) {
            (Table::Three, Load::None) => "no load, shims in both nodes".to_owned(),
            (_, Load::None) => "no load".to_owned(),
            (_, load) => format!("table {}, {} load", table.number(), load.name()),
        };
        let found = found(table, load, progress)?;
        page.row(name, "see below", found.words(), "000 Skeie IV");
        emulations.extend(found.emulation);
    }
    compare(page, &case(table, Load::Receive)?, &case(table, Load::Transmit)?);
    page.note(lab::fidelity(&emulations));
    let mean = |table, load| case(table, load).map(|case| case.mean_us());
    let (receive, transmit) =
        (mean(Table::Three, Load::Receive)?, mean(Table::Three, Load::Transmit)?);
    let (baseline, shims) = (mean(Table::One, Load::None)?, mean(Table::Three, Load::None)?);
    page.note(format!(
        "Means of table 3 against no load: receive {:.3}, transmit {:.3} of that with shims, {:.3} \
         and {:.3} of that without; the shims of both nodes, two passages of each, take {:.1} us.",
        receive / shims,
        transmit / shims,
        receive / baseline,
        transmit / baseline,
        shims - baseline
    ));
    page.note(format!(
        "{SERIES} series of about {} messages, as in the paper, on the simulated experiment's \
         network; the stacks are this host's, which take a tenth of the time. Standard \
         deviations are the root mean square of those of the series. A file that is not \
         throttled fills the master's link; in table 3 the strict strategy lets a frame of \
         it go behind each message, and one for each millisecond without any.",
        super::SAMPLES
    ));
    Ok(())
}
