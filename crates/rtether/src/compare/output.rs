//! Comparisons in all formats.

use serde_json::{Value, json};

use super::{Comparison, Fault, Row};
use crate::report::format::{Part, Render};
use crate::report::table::{Cell, Screen, Table};
use crate::report::text::{count, percent, plural, time, wrapped};
use rtether_report::number::ns;

/// Name and version of the JSON format.
const SCHEMA: &str = "rtether.compare/1";

impl Comparison {
    fn table(&self) -> Table {
        let judged = self.judged;
        let kept = |row: &&Row| {
            let cell = Cell::from(row.kept);
            match row.obstacle {
                Some(_) => cell.shown("-"),
                None => cell.shown(format!("{} of {judged}", row.kept)),
            }
        };
        let is_run = |row: &Row| row.obstacle.is_none();
        let loss = |row: &Row| row.after_loss;
        let death = |row: &Row| row.after_death;
        Table::of(&self.rows)
            .both("access", "access", |row| row.scheme)
            .number("in time", "streams_in_time", kept)
            .file("streams_with_deadline", |_| judged)
            .number("proved", "streams_proved", |row| {
                is_run(row).then_some(row.proved)
            })
            .number("worst", "worst_ns", |row| row.worst)
            .number("mean", "mean_ns", |row| row.mean)
            .rank(4)
            .number("jitter", "jitter_ns", |row| row.jitter)
            .rank(5)
            .number("bulk", "bulk_bps", |row| {
                is_run(row).then(|| Cell::from(row.bulk).shown(megabits(row.bulk)))
            })
            .rank(6)
            .number("lost", "lost_packets", |row| {
                is_run(row).then_some(row.lost)
            })
            .rank(3)
            .number("busy", "utilization", |row| {
                is_run(row).then(|| Cell::from(row.utilization).shown(percent(row.utilization)))
            })
            .rank(1)
            .file("control_frames", |row| is_run(row).then_some(row.control))
            .number("frame lost: worst", "after_loss_worst_ns", |row| {
                loss(row).map(|fault| fault.worst)
            })
            .rank(2)
            .number("missed", "after_loss_missed_packets", |row| {
                loss(row).map(|fault| fault.missed)
            })
            .rank(2)
            .number(
                "station dead: missed",
                "after_death_missed_packets",
                |row| death(row).map(|fault| fault.missed),
            )
            .rank(2)
            .both("why not", "obstacle", |row| row.obstacle.clone())
            .optional()
            .done()
    }

    /// Returns the result in a few sentences.
    pub fn summary(&self) -> String {
        let partial = if self.partial { "Interrupted. " } else { "" };
        let with = |is: &dyn Fn(&Row) -> bool| {
            let rows = self.rows.iter().filter(|row| row.obstacle.is_none());
            let names: Vec<&str> = rows.filter(|row| is(row)).map(|row| row.scheme).collect();
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        };
        format!(
            "{partial}{} with a deadline, under {}. Every packet in time: {}. Proved: {}.",
            plural(self.judged, "stream"),
            plural(self.rows.len(), "access scheme"),
            with(&|row| row.kept == self.judged),
            with(&|row| row.proved == self.judged),
        )
    }

    fn row(row: &Row) -> Value {
        let fault = |own: Option<Fault>| {
            own.map(|own| json!({ "worst_ns": ns(own.worst), "missed": own.missed }))
        };
        json!({
            "access": row.scheme,
            "obstacle": row.obstacle,
            "streams_in_time": row.kept,
            "streams_proved": row.proved,
            "worst_ns": row.worst.map(ns),
            "mean_ns": row.mean.map(ns),
            "jitter_ns": row.jitter.map(ns),
            "bulk_bps": row.bulk,
            "lost": row.lost,
            "control_frames": row.control,
            "utilization": row.utilization,
            "after_loss": fault(row.after_loss),
            "after_death": fault(row.after_death),
        })
    }
}

impl Render for Comparison {
    fn parts(&self, screen: Screen) -> Vec<Part> {
        let worst = self.rows.iter().filter_map(|row| {
            let lost = row.after_loss?;
            let usual = row.worst?;
            (lost.worst > usual).then(|| {
                format!(
                    "A lost control frame makes {} {} of {} in the worst case.",
                    row.scheme,
                    time(lost.worst),
                    time(usual),
                )
            })
        });
        let mut lines = vec![self.summary()];
        lines.extend(worst);
        let lines = lines.iter().map(|line| wrapped(line, screen.width, 0));
        let head = format!("# {}\n", self.scenario);
        vec![
            head.into(),
            Part::Table(self.table()),
            Part::Lines(lines.map(|line| line + "\n").collect()),
        ]
    }

    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(Self::row).collect();
        let document = json!({
            "schema": SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "scenario": self.scenario,
            "partial": self.partial,
            "streams_with_deadline": self.judged,
            "summary": self.summary(),
            "schemes": rows,
        });
        format!("{document:#}\n")
    }
}

/// Returns a rate in Mbit/s.
fn megabits(rate: u64) -> String {
    if rate == 0 {
        return count(0);
    }
    let hundredths = (rate + 5_000) / 10_000;
    format!("{}.{:02} Mbit/s", hundredths / 100, hundredths % 100)
}
