//! Waits in all formats.

use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{percent, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::{MODEL, Model, PortWaits, Waits};
use crate::bound::names::Names;

/// Probability whose wait has a column of its own.
const RARE: f64 = 1e-6;

/// How likely frames of aperiodic flows wait longer than a time, by a model.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitsJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    /// The time that was asked for.
    wait_ns: Ns,
    /// The model in words.
    model: &'static str,
    /// Ports of switches that flows pass.
    ports: Vec<WaitsAtPort>,
}

#[derive(Serialize, JsonSchema)]
struct WaitsAtPort {
    #[serde(flatten)]
    model: Option<ModelJson>,
    /// Why there is no model, in place of the other members.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Name of the port.
    port: String,
}

#[derive(Serialize, JsonSchema)]
struct ModelJson {
    /// Share of the time in which the port sends.
    utilization: f64,
    /// Links by which frames come.
    inputs: usize,
    /// Time of a frame on the link, with preamble and gap.
    frame_ns: Ns,
    /// Frames that come at any moment (M/D/1).
    poisson: Poisson,
    /// Frames in slots, with at most one from each link; `null` if a faster link brings more.
    binomial: Option<Binomial>,
}

#[derive(Serialize, JsonSchema)]
struct Poisson {
    /// Mean wait, in frames.
    mean_frames: f64,
    /// Share of frames that wait longer.
    late_ratio: f64,
    /// What one frame in a million exceeds.
    rare_ns: Option<Ns>,
}

#[derive(Serialize, JsonSchema)]
struct Binomial {
    /// Mean wait, in frames.
    mean_frames: Option<f64>,
    /// Share of frames that wait longer.
    late_ratio: f64,
}

impl Document for WaitsJson<'_> {
    const SCHEMA: &'static str = "rtether.waits/1";
}

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

    fn json(&self) -> String {
        let names = Names::new(self.scenario);
        let ports = self.ports.iter().map(|own| WaitsAtPort {
            model: of(own).map(|model| self.model(model)),
            reason: own.model.as_ref().err().map(|reason| reason.words()),
            port: names.port(own.port),
        });
        document::text(&WaitsJson {
            scenario: &self.scenario.name,
            wait_ns: Ns(self.time),
            model: MODEL,
            ports: ports.collect(),
        })
    }
}

impl Waits<'_> {
    fn model(&self, model: &Model) -> ModelJson {
        let (poisson, binomial) = model.mean_frames();
        ModelJson {
            utilization: model.load,
            inputs: model.inputs,
            frame_ns: Ns(model.frame),
            poisson: Poisson {
                mean_frames: poisson,
                late_ratio: model.poisson(self.time),
                rare_ns: model.exceeded_with(RARE).map(Ns),
            },
            binomial: model
                .binomial(self.time)
                .map(|late_ratio| Binomial { mean_frames: binomial, late_ratio }),
        }
    }
}
