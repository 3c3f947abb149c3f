//! Load of ports and stacks, waits there, and whether their memory suffices.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use rtether_bounds::{Analysis, PortBound, StackBound};
use rtether_model::network::{EndStation, NodeId, NodeKind};
use rtether_model::quantity::Bytes;
use rtether_model::record::Segment;

use super::names::Names;
use crate::report::text::{exact_ns, percent, plural, time_or_dash};
use crate::scenario::Scenario;
use crate::sheet::write;

/// Full load in millionths.
const FULL: u64 = 1_000_000;

/// State of a port or a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The load is below the capacity, and the memory suffices.
    Ok,
    /// More frames or packets may wait than the memory holds; bounds of streams that pass it then
    /// do not hold.
    Buffer,
    /// Overloaded: more work arrives than it can do.
    Overload,
    /// The backlog has no bound, for another reason.
    NoBound,
}

impl State {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Buffer => "buffer",
            Self::Overload => "overload",
            Self::NoBound => "no-bound",
        }
    }

    fn of(utilization_ppm: Option<u64>, waiting: Option<u64>, memory: u64) -> Self {
        match (utilization_ppm, waiting) {
            // Bounds need some spare time: full utilization counts as overload.
            (Some(ppm), _) if ppm >= FULL => Self::Overload,
            (_, None) => Self::NoBound,
            (_, Some(waiting)) if waiting > memory => Self::Buffer,
            (_, Some(_)) => Self::Ok,
        }
    }
}

/// A port and its memory.
#[derive(Clone, Copy, Debug)]
pub struct PortUse<'a> {
    /// Bounds of the port.
    pub bound: &'a PortBound,
    /// Memory for its frames: of the driver queue, or of the switch port.
    pub buffer: Bytes,
    /// Whether the ports of its switch together may exceed the memory that they share.
    pub exceeds_shared: bool,
}

impl PortUse<'_> {
    /// Returns the offered share of wire time; `None` if it is unlimited.
    pub fn utilization(&self) -> Option<f64> {
        self.bound.utilization_ppm.map(share)
    }

    /// Returns the state of the port.
    pub fn state(&self) -> State {
        let backlog = self.bound.backlog.map(Bytes::get);
        let state = State::of(self.bound.utilization_ppm, backlog, self.buffer.get());
        if state == State::Ok && self.exceeds_shared {
            return State::Buffer;
        }
        state
    }
}

/// A processor of a stack and the limit of its queue.
#[derive(Clone, Copy, Debug)]
pub struct StackUse<'a> {
    /// Bounds of the processor.
    pub bound: &'a StackBound,
    /// Packets that may wait, both directions together.
    pub queue: u32,
}

impl StackUse<'_> {
    /// Returns the offered share of its time; `None` if it is unlimited.
    pub fn utilization(&self) -> Option<f64> {
        self.bound.utilization_ppm.map(share)
    }

    /// Returns `tasks` for the processor of applications, `receive` for one that serves only
    /// received packets, else `send`.
    pub fn serves(&self) -> &'static str {
        if self.bound.segment == Segment::Application {
            "tasks"
        } else if self.bound.is_receiver {
            "receive"
        } else {
            "send"
        }
    }

    /// Returns the state of the processor.
    pub fn state(&self) -> State {
        let waiting = self.bound.waiting;
        State::of(self.bound.utilization_ppm, waiting, u64::from(self.queue))
    }
}

/// Converts millionths to a share.
#[allow(clippy::cast_precision_loss, reason = "for display")]
fn share(ppm: u64) -> f64 {
    ppm as f64 / 1e6
}

/// Returns all egress ports with their memory.
pub fn ports<'a>(
    scenario: &'a Scenario,
    analysis: &'a Analysis,
) -> impl Iterator<Item = PortUse<'a>> {
    let mut together: BTreeMap<NodeId, u64> = BTreeMap::new();
    for port in &analysis.ports {
        let backlog = port.backlog.map_or(0, Bytes::get);
        let sum = together.entry(port.port.node).or_default();
        *sum = sum.saturating_add(backlog);
    }
    analysis.ports.iter().map(move |bound| {
        let node = bound.port.node;
        let (buffer, shared) = match &scenario.network.node(node).kind {
            NodeKind::Switch(switch) => (switch.buffer.per_port, switch.buffer.shared),
            NodeKind::EndStation(station) => (station.driver_queue, None),
            NodeKind::Hub(_) => (Bytes::ZERO, None),
        };
        PortUse {
            bound,
            buffer: shared.map_or(buffer, |shared| buffer.min(shared)),
            exceeds_shared: shared.is_some_and(|shared| together[&node] > shared.get()),
        }
    })
}

/// Returns all processors of stacks that take time, with their queues.
pub fn stacks<'a>(
    scenario: &'a Scenario,
    analysis: &'a Analysis,
) -> impl Iterator<Item = StackUse<'a>> {
    analysis.stacks.iter().map(|bound| {
        let station = scenario.network.end_station(bound.node);
        let queue = station.map_or(EndStation::STACK_QUEUE, |station| station.stack_queue);
        StackUse { bound, queue }
    })
}

/// Returns ports and stacks as tables.
pub fn ports_table(scenario: &Scenario, analysis: &Analysis) -> String {
    let names = Names::new(scenario);
    let all = ports(scenario, analysis).map(|port| {
        [
            names.port(port.bound.port),
            used(port.utilization()),
            time_or_dash(port.bound.queueing),
            amount(port.bound.backlog),
            port.buffer.to_string(),
            port.state().name().to_owned(),
        ]
    });
    let header = ["port", "use", "longest wait", "backlog", "buffer", "state"];
    let ports = table(header, all);
    let stacks = if analysis.stacks.is_empty() {
        String::new()
    } else {
        let all = stacks(scenario, analysis).map(|stack| {
            [
                format!("{} ({})", names.node(stack.bound.node), stack.serves()),
                used(stack.utilization()),
                time_or_dash(stack.bound.queueing),
                amount(stack.bound.waiting),
                stack.queue.to_string(),
                stack.state().name().to_owned(),
            ]
        });
        let header = ["stack", "use", "longest wait", "packets", "queue", "state"];
        format!("\n{}\n", table(header, all))
    };
    format!(
        "{}\n{ports}\n{stacks}{}",
        scenario.name,
        summary(scenario, analysis)
    )
}

fn table(header: [&str; 6], rows: impl Iterator<Item = [String; 6]>) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(header);
    for row in rows {
        table.add_row(row.map(Cell::new));
    }
    for column in 1..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn used(share: Option<f64>) -> String {
    share.map_or_else(|| "unlimited".into(), percent)
}

fn amount(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".into(), |value| value.to_string())
}

/// Returns a sentence with the number of ports and stacks in each state.
fn summary(scenario: &Scenario, analysis: &Analysis) -> String {
    let states = ports(scenario, analysis).map(|port| port.state());
    let states = states.chain(stacks(scenario, analysis).map(|stack| stack.state()));
    let states: Vec<State> = states.collect();
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
    format!(
        "\n{}, {}: {}.\n",
        plural(analysis.ports.len(), "port"),
        plural(analysis.stacks.len(), "stack"),
        words.collect::<Vec<_>>().join(", ")
    )
}

/// Returns one CSV row per port and per stack.
pub fn ports_csv(scenario: &Scenario, analysis: &Analysis) -> String {
    let names = Names::new(scenario);
    let header = [
        "kind",
        "name",
        "utilization_ratio",
        "queueing_ns",
        "backlog_bytes",
        "buffer_bytes",
        "waiting_packets",
        "queue_packets",
        "state",
    ];
    let text = |value: Option<String>| value.unwrap_or_default();
    let ports = ports(scenario, analysis).map(|port| {
        vec![
            "port".to_owned(),
            names.port(port.bound.port),
            text(port.utilization().map(|share| share.to_string())),
            text(port.bound.queueing.map(|span| exact_ns(span.as_ps()))),
            text(port.bound.backlog.map(|size| size.get().to_string())),
            port.buffer.get().to_string(),
            String::new(),
            String::new(),
            port.state().name().to_owned(),
        ]
    });
    let stacks = stacks(scenario, analysis).map(|stack| {
        vec![
            format!("stack {}", stack.serves()),
            names.node(stack.bound.node).to_owned(),
            text(stack.utilization().map(|share| share.to_string())),
            text(stack.bound.queueing.map(|span| exact_ns(span.as_ps()))),
            String::new(),
            String::new(),
            text(stack.bound.waiting.map(|packets| packets.to_string())),
            stack.queue.to_string(),
            stack.state().name().to_owned(),
        ]
    });
    write(&header, ports.chain(stacks))
}
