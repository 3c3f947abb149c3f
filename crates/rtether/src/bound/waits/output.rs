//! Waits in all formats.

use serde_json::{Value, json};

use super::{MODEL, Model, PortWaits, Waits};
use crate::bound::differences::ns;
use crate::bound::names::Names;
use crate::report::format::{Part, Render};
use crate::report::table::{Cell, Screen, Table};
use crate::report::text::{percent, time};

/// Probability whose wait has a column of its own.
const RARE: f64 = 1e-6;

impl Waits<'_> {
    fn table(&self) -> Table {
        let names = Names::new(self.scenario);
        let wait = time(self.time);
        let why = |own: &&PortWaits| own.model.as_ref().err().map(|reason| reason.words());
        Table::of(&self.ports)
            .both("port", "port", |own| names.port(own.port))
            .number("use", "utilization_ratio", |own| {
                of(own).map(|model| Cell::from(model.load).shown(percent(model.load)))
            })
            .number("links", "inputs", |own| of(own).map(|model| model.inputs))
            .number("frame", "frame_ns", |own| of(own).map(|model| model.frame))
            .number("mean wait", "mean_frames", |own| {
                let mean = of(own)?.mean_frames().0;
                Some(Cell::from(mean).shown(format!("{mean:.3} frames")))
            })
            .file("binomial_mean_frames", |own| of(own)?.mean_frames().1)
            .file("wait_ns", |_| self.time)
            .number(format!("P(wait > {wait})"), "poisson_ratio", |own| {
                Some(probability(of(own)?.poisson(self.time)))
            })
            .number("binomial", "binomial_ratio", |own| {
                Some(probability(of(own)?.binomial(self.time)?))
            })
            .number("1e-6 beyond", "rare_ns", |own| of(own)?.exceeded_with(RARE))
            .file("reason", why)
            .shown("why there is no model", why)
            .optional()
            .done()
    }
}

fn of(port: &PortWaits) -> Option<&Model> {
    port.model.as_ref().ok()
}

fn probability(value: f64) -> Cell {
    Cell::from(value).shown(format!("{value:.2e}"))
}

impl Render for Waits<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let head = format!("{}\n", self.scenario.name);
        let mut parts = vec![Part::Lines(head)];
        if self.ports.is_empty() {
            parts.push("No flow passes a switch.\n".to_owned().into());
            return parts;
        }
        parts.extend([self.table().into(), Part::Lines("\n".into())]);
        parts.push(format!("{MODEL}.\n").into());
        parts
    }

    fn rows(&self) -> Table {
        self.table()
    }

    /// Schema `rtether.waits/1`.
    fn json(&self) -> String {
        let names = Names::new(self.scenario);
        let ports = self.ports.iter().map(|own| {
            let mut value = own.model.as_ref().map_or(Value::Null, |model| self.model(model));
            if let Err(reason) = &own.model {
                value = json!({ "reason": reason.words() });
            }
            value["port"] = names.port(own.port).into();
            value
        });
        let document = json!({
            "schema": "rtether.waits/1",
            "scenario": self.scenario.name,
            "wait_ns": ns(Some(self.time)),
            "model": MODEL,
            "ports": ports.collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }
}

impl Waits<'_> {
    fn model(&self, model: &Model) -> Value {
        let (poisson, binomial) = model.mean_frames();
        json!({
            "utilization": model.load,
            "inputs": model.inputs,
            "frame_ns": ns(Some(model.frame)),
            "poisson": {
                "mean_frames": poisson,
                "late_ratio": model.poisson(self.time),
                "rare_ns": ns(model.exceeded_with(RARE)),
            },
            "binomial": model.binomial(self.time).map(|ratio| json!({
                "mean_frames": binomial,
                "late_ratio": ratio,
            })),
        })
    }
}
