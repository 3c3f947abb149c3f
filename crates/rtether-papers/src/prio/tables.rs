//! `skeie-prio-baseline` and `skeie-prio-table1` to `-table3`.

use super::super::{Comparison, Figure, Judge, ReproduceError, Reproduction, reference};
use super::plant::{Load, Setup};
use super::{Case, ablation, compare, measure};
use rtether::profiles::VXWORKS_DATAGRAM as PASSAGE;
use rtether::report::chart::{Axis, Column, ColumnChart};
use rtether::run::Progress;

/// What is not reproduced.
const MISSING: &str = "Not reproduced: receive load adds about 50 us to every round trip of tables 1 \
    and 2, also to the shortest, so it is not queueing.";

/// Both directions of load for one kind of stack.
struct Table {
    receive: Case,
    transmit: Case,
}

impl Table {
    fn measure(setup: impl Fn(Load) -> Setup, progress: &Progress) -> Result<Self, ReproduceError> {
        Ok(Self {
            receive: measure(&setup(Load::Receive), progress)?,
            transmit: measure(&setup(Load::Transmit), progress)?,
        })
    }

    fn cases(&self) -> [(&'static str, &Case); 2] {
        [("receive", &self.receive), ("transmit", &self.transmit)]
    }

    fn words(&self) -> String {
        let words = self
            .cases()
            .map(|(load, case)| format!("{load}: {}", case.words()));
        words.join("; ")
    }
}

/// The three tables of the paper.
struct Tables {
    one: Table,
    two: Table,
    three: Table,
}

impl Tables {
    /// Measures with a received file at its fitted rate, or as fast as possible.
    fn measure(is_saturated: bool, progress: &Progress) -> Result<Self, ReproduceError> {
        let table = |setup: fn(Load) -> Setup| {
            let setup = |load| Setup {
                is_saturated,
                ..setup(load)
            };
            Table::measure(setup, progress)
        };
        Ok(Self {
            one: table(table1)?,
            two: table(table2)?,
            three: table(Setup::prioritized)?,
        })
    }
}

/// The tables with the received file at its fitted rate, and unthrottled.
struct Both {
    fitted: Tables,
    unthrottled: Tables,
}

impl Both {
    fn measure(progress: &Progress) -> Result<Self, ReproduceError> {
        Ok(Self {
            fitted: Tables::measure(false, progress)?,
            unthrottled: Tables::measure(true, progress)?,
        })
    }

    /// Judges a value at the fitted rate, and reports the verdict without that rate.
    fn judge(
        &self,
        judge: &mut Judge,
        id: &str,
        value: impl Fn(&Tables) -> f64,
        holds: impl Fn(f64) -> bool,
        reason: &str,
    ) {
        let [own, other] = [&self.fitted, &self.unthrottled].map(value);
        let verdict = if holds(other) {
            "holds"
        } else {
            "does not hold"
        };
        judge.judge(
            id,
            holds(own),
            format!(
                "{own:.3}; with a received file that is not throttled {other:.3}, which {verdict}"
            ),
            reason,
        );
    }
}

const fn table1(load: Load) -> Setup {
    Setup::plain(load)
}

const fn table2(load: Load) -> Setup {
    Setup {
        is_tagged: true,
        ..Setup::plain(load)
    }
}

pub(in super::super) fn run_baseline(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let case = measure(&Setup::plain(Load::None), progress)?;
    let values = reference::values("skeie-prio-baseline").into_iter();
    let values = values.filter(|value| value.subject.starts_with("rtt"));
    let compared = values.filter_map(|value| {
        Some(Comparison {
            quantity: format!("round trip without load, {}", value.statistic),
            paper: value.words(),
            ours: format!("{:.1} us", case.statistic(&value.statistic)?),
            source: value.source,
        })
    });
    Ok(Reproduction {
        id: "skeie-prio-baseline",
        title: "Round trip without load: the calibration of the stack",
        mode: "sim",
        comparisons: compared.collect(),
        claims: Judge::new("skeie-prio-baseline").finish(),
        figures: Vec::new(),
        notes: vec![format!(
            "Calibrated here: four passages of a stack of {PASSAGE} each with a uniform jitter. \
             {}.",
            case.words()
        )],
    })
}

pub(in super::super) fn run_table1(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let both = Both::measure(progress)?;
    let mut judge = Judge::new("skeie-prio-table1");
    both.judge(
        &mut judge,
        "C023",
        |tables| tables.one.transmit.mean_us() / tables.one.receive.mean_us(),
        |ratio| ratio >= 1.25,
        "transmit load hurts less",
    );
    both.judge(
        &mut judge,
        "C024",
        |tables| tables.one.transmit.deviation_us / tables.one.receive.deviation_us,
        |ratio| ratio >= 3.0,
        "transmit load brings less jitter",
    );
    judge_tags(&mut judge, &both);
    judge_reduction(&mut judge, &both);
    Ok(reproduction(
        "skeie-prio-table1",
        "Untagged messages, FIFO stack, FTP load",
        &both.fitted.one,
        judge,
        Vec::new(),
    ))
}

fn judge_tags(judge: &mut Judge, both: &Both) {
    let off = |one: &Case, two: &Case| (two.mean_us() / one.mean_us() - 1.0).abs();
    both.judge(
        judge,
        "C025",
        |Tables { one, two, .. }| {
            off(&one.receive, &two.receive).max(off(&one.transmit, &two.transmit))
        },
        |off| off <= 0.05,
        "tags change more",
    );
}

fn judge_reduction(judge: &mut Judge, both: &Both) {
    both.judge(
        judge,
        "C026",
        |Tables { one, three, .. }| three.transmit.deviation_us / one.transmit.deviation_us,
        |reduction| reduction <= 0.35,
        "priority queues cut less",
    );
}

pub(in super::super) fn run_table2(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let both = Both::measure(progress)?;
    let mut judge = Judge::new("skeie-prio-table2");
    judge_tags(&mut judge, &both);
    judge_receive(&mut judge, &both);
    Ok(reproduction(
        "skeie-prio-table2",
        "Tagged messages, FIFO stack, FTP load",
        &both.fitted.two,
        judge,
        Vec::new(),
    ))
}

fn judge_receive(judge: &mut Judge, both: &Both) {
    both.judge(
        judge,
        "C029",
        |Tables { two, three, .. }| {
            (three.receive.deviation_us / two.receive.deviation_us - 1.0).abs()
        },
        |change| change <= 0.5,
        "the jitter under receive load changes more",
    );
}

pub(in super::super) fn run_table3(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let baseline = measure(&Setup::plain(Load::None), progress)?;
    let both = Both::measure(progress)?;
    let mut judge = Judge::new("skeie-prio-table3");
    judge_reduction(&mut judge, &both);
    judge_receive(&mut judge, &both);
    judge_table3(&mut judge, &baseline, &both);
    let rows = ablation::measure_all(progress)?;
    let Tables { one, two, three } = &both.fitted;
    let mut figures = vec![figure(&baseline, one, two, three)];
    figures.push(ablation::figure(&rows));
    let mut reproduction = reproduction(
        "skeie-prio-table3",
        "Tagged messages, priority queues in the nodes, FTP load",
        three,
        judge,
        figures,
    );
    reproduction
        .comparisons
        .extend(ablation::comparisons(&rows));
    reproduction.notes.extend(ablation::notes(&rows));
    Ok(reproduction)
}

fn judge_table3(judge: &mut Judge, baseline: &Case, both: &Both) {
    both.judge(
        judge,
        "C027",
        |tables| {
            let means = tables.three.cases().map(|(_, case)| case.mean_us());
            (means[1] - means[0]).abs() / f64::midpoint(means[0], means[1])
        },
        |apart| apart <= 0.03,
        "the direction of the load matters",
    );
    let largest = |tables: &Tables, value: &dyn Fn(&Case) -> f64| {
        let [receive, transmit] = tables.three.cases().map(|(_, case)| value(case));
        receive.max(transmit)
    };
    both.judge(
        judge,
        "C028",
        |tables| largest(tables, &|case| case.mean_us() / baseline.mean_us()),
        |ratio| ratio <= 1.05,
        "more than 5 % above the baseline",
    );
    // One full frame on the wire, and one service.
    let allowed = 122.08 + PASSAGE.as_us_f64();
    both.judge(
        judge,
        "C030",
        |tables| largest(tables, &|case| case.max_us() - baseline.max_us()),
        |excess| excess <= allowed,
        "the largest round trip is further above that of the baseline",
    );
}

fn reproduction(
    id: &'static str,
    title: &'static str,
    table: &Table,
    judge: Judge,
    figures: Vec<Figure>,
) -> Reproduction {
    Reproduction {
        id,
        title,
        mode: "sim",
        comparisons: compare(id, &table.cases()),
        claims: judge.finish(),
        figures,
        notes: vec![
            MISSING.into(),
            format!(
                "{}. Standard deviations are the root mean square of those of the series, as in the \
             paper; {} series of {} samples where the paper has 4.",
                table.words(),
                super::SERIES,
                super::SAMPLES
            ),
        ],
    }
}

/// Draws standard deviations and means of all three tables next to the paper's.
fn figure(baseline: &Case, one: &Table, two: &Table, three: &Table) -> Figure {
    let paper = |id: &str, load: &str| {
        let values = reference::values(id).into_iter();
        let mut values = values.filter(|value| value.statistic == "mean");
        values
            .find(|value| value.subject.ends_with(&format!("{load}, combined, 800")))
            .and_then(|value| value.value.parse::<f64>().ok())
    };
    let quiet = reference::values("skeie-prio-baseline").into_iter();
    let mut quiet = quiet.filter(|value| value.subject.starts_with("rtt"));
    let quiet = quiet.find(|value| value.statistic == "mean");
    let quiet = quiet.and_then(|value| value.value.parse::<f64>().ok());
    let column = |case: &Case, reference: Option<f64>| {
        Some(Column {
            value: case.mean_us() * 1e-6,
            reference: reference.map(|mean| mean * 1e-6),
            accepted: None,
        })
    };
    let mut groups = vec![("baseline".to_owned(), vec![column(baseline, quiet), None])];
    for (id, name, table) in [
        ("skeie-prio-table1", "table 1", one),
        ("skeie-prio-table2", "table 2", two),
        ("skeie-prio-table3", "table 3", three),
    ] {
        let columns = table
            .cases()
            .map(|(load, case)| column(case, paper(id, load)));
        groups.push((name.to_owned(), columns.into()));
    }
    let chart = ColumnChart {
        title: "Mean round trip".into(),
        note: String::new(),
        y: Axis::time("round trip"),
        series: Load::BOTH
            .map(|load| format!("{} load", load.name()))
            .into(),
        groups,
        reference_name: "paper".into(),
    };
    Figure {
        caption: "Tables 1 to 3: means under FTP load in either direction.".into(),
        drawing: chart.render(),
    }
}
