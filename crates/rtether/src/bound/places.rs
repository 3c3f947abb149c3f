//! Ports and stacks as results in every format.

use rtether_bounds::{Analysis, Holder, Memory};
use rtether_report::document;
use rtether_report::format::{Part, Render};
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{percent, plural};

use super::conclusion::conclusion;
use super::condition::{amount, holder};
use super::document::with;
use super::names::Names;
use super::ports::{StackUse, State, ports, stacks};
use crate::scenario::Scenario;

/// Ports and stacks of a scenario, in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its bounds.
    pub analysis: &'a Analysis,
}

impl Render for Places<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let blank = || Part::Lines("\n".to_owned());
        let mut parts =
            vec![format!("{}\n", self.scenario.name).into(), self.ports().into(), blank()];
        let stacks = self.stacks();
        if !stacks.is_empty() {
            parts.extend([stacks.into(), blank()]);
        }
        let memories = self.memories();
        if !memories.is_empty() {
            parts.extend([memories.into(), blank()]);
        }
        let Self { scenario, analysis } = *self;
        let conclusion = conclusion(scenario, analysis);
        let sentence = conclusion.sentence(&summary(scenario, analysis));
        parts.push((sentence + "\n").into());
        parts
    }

    fn rows(&self) -> Table {
        self.ports().append(&self.stacks()).append(&self.memories())
    }

    fn json(&self) -> String {
        with(self.scenario, self.analysis, |document| document::text(document))
    }
}

impl Places<'_> {
    fn ports(&self) -> Table {
        let names = Names::new(self.scenario);
        Table::of(ports(self.scenario, self.analysis))
            .file("kind", |_| "port")
            .both("port", "name", |port| names.port(port.bound.port))
            .number("use", "utilization_ratio", |port| used(port.utilization()))
            .number("longest wait", "queueing_ns", |port| port.bound.queueing)
            .number("backlog", "backlog_bytes", |port| {
                let backlog = port.bound.backlog;
                backlog.map(|size| Cell::from(size.get()).shown(size.to_string()))
            })
            .number("buffer", "buffer_bytes", |port| {
                Cell::from(port.buffer.get()).shown(port.buffer.to_string())
            })
            .file("waiting_packets", |_| ())
            .file("queue_packets", |_| ())
            .both("state", "state", |port| port.state().name())
            .done()
    }

    fn stacks(&self) -> Table {
        let names = Names::new(self.scenario);
        Table::of(stacks(self.analysis))
            .file("kind", |stack| format!("stack {}", stack.serves()))
            .both("stack", "name", |stack| {
                let name = names.node(stack.bound.node);
                Cell::from(name).shown(format!("{name} ({})", stack.serves()))
            })
            .number("use", "utilization_ratio", |stack| used(stack.utilization()))
            .number("longest wait", "queueing_ns", |stack| stack.bound.queueing)
            .number("packets", "waiting_packets", StackUse::waiting)
            .number("queue", "queue_packets", StackUse::queue)
            .both("state", "state", |stack| stack.state().name())
            .done()
    }

    fn memories(&self) -> Table {
        let octets =
            |memory: &Memory, octets: Option<u64>| octets.filter(|_| memory.is_in_octets());
        let packets =
            |memory: &Memory, count: Option<u64>| count.filter(|_| !memory.is_in_octets());
        let names = Names::new(self.scenario);
        Table::of(others(self.analysis))
            .file("kind", |_| "memory")
            .both("memory", "name", |memory| holder(&names, memory.holder))
            .shown("needs", |memory| memory.need.map(|need| amount(memory, need)))
            .shown("has", |memory| amount(memory, memory.limit))
            .file("backlog_bytes", |memory| octets(memory, memory.need))
            .file("buffer_bytes", |memory| octets(memory, Some(memory.limit)))
            .file("waiting_packets", |memory| packets(memory, memory.need))
            .file("queue_packets", |memory| packets(memory, Some(memory.limit)))
            .both("state", "state", |memory| State::of_memory(memory).name())
            .done()
    }
}

/// Returns the memory that is neither the buffer of a port nor the queue of a stack.
fn others(analysis: &Analysis) -> impl Iterator<Item = &Memory> {
    let is_other = |memory: &&Memory| {
        !matches!(
            memory.holder,
            Holder::Buffer(_) | Holder::Stack(_) | Holder::Router(_) | Holder::Tasks(_)
        )
    };
    analysis.memories.iter().filter(is_other)
}

fn used(share: Option<f64>) -> Cell {
    match share {
        Some(share) => Cell::from(share).shown(percent(share)),
        None => Cell::default().shown("unlimited"),
    }
}

/// Returns a sentence with the number of ports and stacks in each state.
fn summary(scenario: &Scenario, analysis: &Analysis) -> String {
    let states = ports(scenario, analysis).map(|port| port.state());
    let states = states.chain(stacks(analysis).map(|stack| stack.state()));
    let rest = others(analysis).map(State::of_memory);
    let states: Vec<State> = states.chain(rest).collect();
    let words = [
        (State::Ok, "ok"),
        (State::Buffer, "that may need more memory than they have"),
        (State::Overload, "overloaded"),
        (State::NoBound, "without a bound"),
    ];
    let words = words.into_iter().filter_map(|(state, word)| {
        let count = states.iter().filter(|&&other| other == state).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    let memories = match others(analysis).count() {
        0 => String::new(),
        1 => ", 1 other memory".to_owned(),
        count => format!(", {count} other memories"),
    };
    format!(
        "{}, {}{memories}: {}.",
        plural(analysis.ports.len(), "port"),
        plural(analysis.stacks.len(), "stack"),
        words.collect::<Vec<_>>().join(", ")
    )
}
