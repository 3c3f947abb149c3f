//! `skeie-prio-baseline` and `skeie-prio-table1` to `-table3`.

use super::super::{Comparison, Figure, Judge, ReproduceError, Reproduction, reference};
use super::plant::{Load, Setup};
use super::{Case, ablation, compare, measure};
use crate::profiles::VXWORKS_DATAGRAM as PASSAGE;
use crate::report::chart::{Axis, Column, ColumnChart};
use crate::run::Progress;

/// What is fitted and what is not reproduced.
const CALIBRATION: &str = "Fitted: the stack to the baseline, and the rate of a received file \
    (2 Mbit/s) to what the standard deviation of table 1 leaves room for. Not reproduced: receive \
    load adds about 50 us to every round trip of tables 1 and 2, also to the shortest, so it is \
    not queueing.";

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
    let one = Table::measure(table1, progress)?;
    let two = Table::measure(table2, progress)?;
    let three = Table::measure(Setup::prioritized, progress)?;
    let mut judge = Judge::new("skeie-prio-table1");
    let means = one.transmit.mean_us() / one.receive.mean_us();
    judge.judge(
        "C023",
        means >= 1.25,
        format!("{means:.2}"),
        "transmit load hurts less",
    );
    let deviations = one.transmit.deviation_us / one.receive.deviation_us;
    judge.judge(
        "C024",
        deviations >= 3.0,
        format!("{deviations:.2}"),
        "transmit load brings less jitter",
    );
    judge_tags(&mut judge, &one, &two);
    judge_reduction(&mut judge, &one, &three);
    Ok(reproduction(
        "skeie-prio-table1",
        "Untagged messages, FIFO stack, FTP load",
        &one,
        judge,
        Vec::new(),
    ))
}

fn judge_tags(judge: &mut Judge, one: &Table, two: &Table) {
    let off = |one: &Case, two: &Case| (two.mean_us() / one.mean_us() - 1.0).abs();
    let (receive, transmit) = (
        off(&one.receive, &two.receive),
        off(&one.transmit, &two.transmit),
    );
    judge.judge(
        "C025",
        receive.max(transmit) <= 0.05,
        format!("receive {receive:.3}, transmit {transmit:.3}"),
        "tags change more",
    );
}

fn judge_reduction(judge: &mut Judge, one: &Table, three: &Table) {
    let reduction = three.transmit.deviation_us / one.transmit.deviation_us;
    judge.judge(
        "C026",
        reduction <= 0.35,
        format!("{reduction:.2}"),
        "priority queues cut less",
    );
}

pub(in super::super) fn run_table2(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let one = Table::measure(table1, progress)?;
    let two = Table::measure(table2, progress)?;
    let three = Table::measure(Setup::prioritized, progress)?;
    let mut judge = Judge::new("skeie-prio-table2");
    judge_tags(&mut judge, &one, &two);
    judge_receive(&mut judge, &two, &three);
    Ok(reproduction(
        "skeie-prio-table2",
        "Tagged messages, FIFO stack, FTP load",
        &two,
        judge,
        Vec::new(),
    ))
}

fn judge_receive(judge: &mut Judge, two: &Table, three: &Table) {
    let change = (three.receive.deviation_us / two.receive.deviation_us - 1.0).abs();
    judge.judge(
        "C029",
        change <= 0.5,
        format!("{change:.2}"),
        "the jitter under receive load changes more",
    );
}

pub(in super::super) fn run_table3(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let baseline = measure(&Setup::plain(Load::None), progress)?;
    let one = Table::measure(table1, progress)?;
    let two = Table::measure(table2, progress)?;
    let three = Table::measure(Setup::prioritized, progress)?;
    let mut judge = Judge::new("skeie-prio-table3");
    judge_reduction(&mut judge, &one, &three);
    judge_receive(&mut judge, &two, &three);
    let means = three.cases().map(|(_, case)| case.mean_us());
    let apart = (means[1] - means[0]).abs() / f64::midpoint(means[0], means[1]);
    judge.judge(
        "C027",
        apart <= 0.03,
        format!("{apart:.3}"),
        "the direction of the load matters",
    );
    let above = means.map(|mean| mean / baseline.mean_us());
    judge.judge(
        "C028",
        above.iter().all(|&ratio| ratio <= 1.05),
        format!("receive {:.3}, transmit {:.3}", above[0], above[1]),
        "more than 5 % above the baseline",
    );
    let allowed = 122.08 + PASSAGE.as_us_f64();
    let excess = three
        .cases()
        .map(|(_, case)| case.max_us() - baseline.max_us());
    judge.judge(
        "C030",
        excess.iter().all(|&excess| excess <= allowed),
        format!(
            "receive {:.1} us, transmit {:.1} us; allowed {allowed:.1} us",
            excess[0], excess[1]
        ),
        "the largest round trip is further above that of the baseline",
    );
    let rows = ablation::measure_all(progress)?;
    let mut figures = vec![figure(&baseline, &one, &two, &three)];
    figures.push(ablation::figure(&rows));
    let mut reproduction = reproduction(
        "skeie-prio-table3",
        "Tagged messages, priority queues in the nodes, FTP load",
        &three,
        judge,
        figures,
    );
    reproduction
        .comparisons
        .extend(ablation::comparisons(&rows));
    reproduction.notes.push(ablation::note());
    Ok(reproduction)
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
            CALIBRATION.into(),
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

/// Standard deviations and means of all three tables beside the paper's.
fn figure(baseline: &Case, one: &Table, two: &Table, three: &Table) -> Figure {
    let paper = |id: &str, load: &str| {
        let values = reference::values(id).into_iter();
        let mut values = values.filter(|value| value.statistic == "mean");
        values
            .find(|value| value.subject.ends_with(&format!("{load}, combined, 800")))
            .and_then(|value| value.value.parse::<f64>().ok())
    };
    let column = |case: &Case, reference: Option<f64>| {
        Some(Column {
            value: case.mean_us() * 1e-6,
            reference: reference.map(|mean| mean * 1e-6),
            accepted: None,
        })
    };
    let mut groups = vec![(
        "baseline".to_owned(),
        vec![column(baseline, Some(700.0)), None],
    )];
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
