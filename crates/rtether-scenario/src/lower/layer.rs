//! Priority queues between stack and driver.

use std::rc::Rc;

use rtether_model::endnode::{
    DEFAULT_IDLE_RELEASE, Layer, Receive, ReceiveConfig, ReceiveSelection, Smoothing,
    TransmitConfig, TransmitStrategy,
};
use rtether_model::quantity::Duration;
use rtether_proto::endnode::{ReceiveQueues, TransmitQueues};

use super::priorities::{Priorities, priorities};
use super::smoother::smoother;
use super::switches::Chosen;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::help::Help;
use crate::keys::table::{
    EMPTY, IDLE_RELEASE, LOW_TURN, PRIORITIES, RECEIVE_QUEUES, RECEIVE_SELECTION, SMOOTHER,
    STRATEGY, TRANSMIT_QUEUES,
};
use crate::reader::{At, Fields, Reader};
use crate::tree::Data;

/// Default capacity of a queue in frames.
const LIMIT: u32 = 1000;

/// Layer settings of a stack or a node. Stack and node may each set some, so whatever depends on
/// the number of queues is checked when they are joined.
#[derive(Clone, Default)]
pub(super) struct Parts {
    priorities: Option<Priorities>,
    /// Where they are written, in a stack or a node, and its name.
    written: Option<(Span, Rc<str>)>,
    receive: Option<ReceivePart>,
    transmit: Option<TransmitPart>,
    smoother: Option<Smoothing>,
}

/// Capacity in frames: the same for each queue, or queue by queue.
#[derive(Clone)]
enum Limit {
    Same(u32),
    Each(Vec<u32>, Span),
}

#[derive(Clone)]
struct ReceivePart {
    /// `None` for stack instances.
    selection: Option<ReceiveSelection>,
    input_limit: u32,
    limit: Limit,
    at: Span,
}

#[derive(Clone)]
struct TransmitPart {
    strategy: TransmitStrategy,
    ring_limit: u32,
    limit: Limit,
    high_from: Option<At<u8>>,
    rings: Option<At<u8>>,
    selection: Chosen,
    at: Span,
}

impl Parts {
    /// Reads the four keys.
    pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
        let inner = reader.one(fields, "priorities", &PRIORITIES);
        let priorities = inner.map(|inner| priorities(reader, &inner));
        let written = fields.key_span("priorities");
        let written = written.map(|span| (span, Rc::from(fields.owner.as_str())));
        let inner = reader.one(fields, "receive_queues", &RECEIVE_QUEUES);
        let receive = inner.and_then(|inner| receive(reader, &inner));
        let inner = reader.one(fields, "transmit_queues", &TRANSMIT_QUEUES);
        let transmit = inner.and_then(|inner| transmit(reader, &inner));
        let inner = reader.one(fields, "smoother", &SMOOTHER);
        let smoother = inner.and_then(|inner| smoother(reader, &inner));
        Self { priorities, written, receive, transmit, smoother }
    }

    /// Returns these parts, with missing ones taken from `other`.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            priorities: self.priorities.or_else(|| other.priorities.clone()),
            written: self.written.or_else(|| other.written.clone()),
            receive: self.receive.or_else(|| other.receive.clone()),
            transmit: self.transmit.or_else(|| other.transmit.clone()),
            smoother: self.smoother.or(other.smoother),
        }
    }

    /// Returns where priorities are written that no queue uses, and whose they are.
    pub(super) fn idle_priorities(&self) -> Option<(Span, &str)> {
        let (span, owner) = self.written.as_ref()?;
        (!self.has_queues()).then_some((*span, owner))
    }

    /// Returns whether any queue uses priorities.
    pub(super) const fn has_queues(&self) -> bool {
        self.receive.is_some() || self.transmit.is_some()
    }

    /// Returns where the header rules are written.
    pub(super) fn rule_spans(&self) -> Option<Rc<[Span]>> {
        let priorities = self.priorities.as_ref()?;
        (!priorities.rules.is_empty()).then(|| Rc::clone(&priorities.spans))
    }

    /// Joins the parts; `None` if there are none, or after a mistake.
    pub(super) fn join(&self, reader: &mut Reader<'_>) -> Option<Box<Layer>> {
        if self.priorities.is_none() && self.smoother.is_none() && !self.has_queues() {
            return None;
        }
        let mut layer = Layer::default();
        if let Some(priorities) = &self.priorities {
            layer.table = priorities.table;
            layer.rules.clone_from(&priorities.rules);
            layer.icmp_unclassified = priorities.icmp_unclassified;
        }
        let queues = layer.table.count();
        if let Some(part) = &self.receive {
            layer.receive = Some(part.join(reader, queues)?);
        }
        if let Some(part) = &self.transmit {
            layer.transmit = Some(part.join(reader, queues)?);
        }
        layer.smoother = self.smoother;
        Some(Box::new(layer))
    }
}

impl Limit {
    /// Returns the limit of each queue.
    fn of(&self, reader: &mut Reader<'_>, queues: u8) -> Option<Vec<u32>> {
        let (list, span) = match self {
            Self::Same(limit) => return Some(vec![*limit; usize::from(queues)]),
            Self::Each(list, span) => (list, *span),
        };
        if list.len() == usize::from(queues) {
            return Some(list.clone());
        }
        let title = format!("`limit` needs {queues} values, found {}", list.len());
        let label = "one for each queue, from queue 0";
        let values: Vec<String> = (0..queues).map(|_| LIMIT.to_string()).collect();
        reader.report(
            Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, label)
                .help(Help::example(format!("limit: [{}]", values.join(", "))))
                .help("one number, `limit: 1000`, is for every queue"),
        );
        None
    }
}

impl ReceivePart {
    fn join(&self, reader: &mut Reader<'_>, queues: u8) -> Option<Receive> {
        let queue_limits = self.limit.of(reader, queues)?;
        let Some(selection) = self.selection else {
            return Some(Receive::Instances { queue_limits });
        };
        let config = ReceiveConfig { input_limit: self.input_limit, queue_limits, selection };
        let engine = ReceiveQueues::<()>::new(&config).map(|_| ());
        engine_takes(reader, "receive_queues", self.at, engine)?;
        Some(Receive::Queues(config))
    }
}

impl TransmitPart {
    fn join(&self, reader: &mut Reader<'_>, queues: u8) -> Option<TransmitConfig> {
        let mut queue_limits = self.limit.of(reader, queues)?;
        if self.strategy == TransmitStrategy::Fifo {
            queue_limits = shares(&queue_limits);
        }
        let highest = queues - 1;
        for (key, number, most) in
            [("high_from", self.high_from, highest), ("rings", self.rings, queues)]
        {
            if let Some(number) = number.filter(|number| number.value > most) {
                let rule = format!("at most {most}");
                let found = number.value.to_string();
                let why = match queues {
                    1 => "there is one queue".to_owned(),
                    _ => format!("there are {queues} queues, 0 to {highest}"),
                };
                reader.out_of_range(key, number.span, &rule, &found, why);
                return None;
            }
        }
        let mut strategy = self.strategy;
        if let TransmitStrategy::Selection(selection) = &mut strategy {
            *selection = self.selection.of(reader, queues);
        }
        let config = TransmitConfig {
            ring_limit: self.ring_limit,
            queue_limits,
            high_from: self.high_from.map(|number| number.value),
            strategy,
        };
        let engine = TransmitQueues::<()>::new(&config).map(|_| ());
        engine_takes(reader, "transmit_queues", self.at, engine)?;
        Some(config)
    }
}

/// Splits the capacity of one FIFO among the classes; the engine takes the sum.
fn shares(limits: &[u32]) -> Vec<u32> {
    let count = u32::try_from(limits.len()).unwrap_or(1).max(1);
    let limit = limits.first().copied().unwrap_or(LIMIT);
    let (share, rest) = (limit / count, limit % count);
    let shares = (0..count).map(|class| share + u32::from(class < rest));
    shares.map(|share| share.max(1)).collect()
}

/// Reports what the engine refuses and earlier checks did not find.
fn engine_takes(
    reader: &mut Reader<'_>,
    key: &str,
    at: Span,
    engine: Result<(), rtether_proto::endnode::ConfigError>,
) -> Option<()> {
    let Err(error) = engine else {
        return Some(());
    };
    let title = format!("`{key}` cannot be built: {error}");
    reader.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, at, "of these queues"));
    None
}

fn limit(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Limit> {
    const RANGE: (u64, u64) = (1, 10_000_000);
    let Some(entry) = fields.get("limit") else {
        return Some(Limit::Same(LIMIT));
    };
    let span = entry.value.span;
    let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    if let Data::Scalar(text) = &entry.value.data {
        let count = reader.count_in("limit", text, span, RANGE)?;
        return Some(Limit::Same(narrow(count)));
    }
    let list = reader.counts(fields, "limit", RANGE)?;
    Some(Limit::Each(list.into_iter().map(narrow).collect(), span))
}

/// Reads a time or `never`.
fn idle_release(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Duration> {
    let Some(text) = reader.scalar(fields, IDLE_RELEASE.key) else {
        return Some(DEFAULT_IDLE_RELEASE);
    };
    IDLE_RELEASE.means(text.value).unwrap_or_else(|| {
        let time = reader.positive_time(fields, IDLE_RELEASE.key);
        Some(time.map_or(DEFAULT_IDLE_RELEASE, |time| time.value))
    })
}

fn receive(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<ReceivePart> {
    reader.require(fields, RECEIVE_SELECTION.key);
    let word = reader.word(fields, &RECEIVE_SELECTION);
    for (key, kinds) in [
        ("picks", &["promoting"] as &[&str]),
        ("idle_release", &["low-flag"]),
        ("low_turn", &["low-flag"]),
        ("input_limit", &["highest-first", "promoting", "low-flag"]),
    ] {
        if let Some(word) = word.as_ref().filter(|word| !kinds.contains(&word.text)) {
            let what = format!("receive queues with `selection: {}`", word.text);
            reader.misplaced(fields, &[key], &what);
        }
    }
    let picks = reader.count(fields, "picks");
    let picks = picks.and_then(|picks| u32::try_from(picks.value).ok()?.try_into().ok());
    let idle_release = idle_release(reader, fields);
    let low_turn = reader.meaning(fields, &LOW_TURN);
    let input_limit = reader.frames(fields, "input_limit", LIMIT);
    let limit = limit(reader, fields)?;
    let selection = word?.means.map(|selection| match selection {
        ReceiveSelection::HighestFirst => selection,
        ReceiveSelection::Promoting { picks: usual } => {
            ReceiveSelection::Promoting { picks: picks.unwrap_or(usual) }
        }
        ReceiveSelection::LowFlag { .. } => ReceiveSelection::LowFlag { idle_release, low_turn },
    });
    Some(ReceivePart { selection, input_limit, limit, at: fields.at })
}

fn transmit(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<TransmitPart> {
    reader.require(fields, STRATEGY.key);
    let word = reader.word(fields, &STRATEGY);
    for (key, kinds) in [
        ("high_from", &["moderate", "strict"] as &[&str]),
        ("empty", &["moderate"]),
        ("idle_release", &["strict"]),
        ("rings", &["rings"]),
        ("selection", &["select"]),
    ] {
        if let Some(word) = word.as_ref().filter(|word| !kinds.contains(&word.text)) {
            let what = format!("transmit queues with `strategy: {}`", word.text);
            reader.misplaced(fields, &[key], &what);
        }
    }
    let strategy = word.map(|word| word.means);
    if let Some(TransmitStrategy::Rings { .. }) = strategy {
        reader.require(fields, "rings");
    }
    let rings = reader.small(fields, "rings");
    let high_from = reader.small(fields, "high_from");
    let idle_release = idle_release(reader, fields);
    let empty = reader.meaning(fields, &EMPTY);
    let ring_limit = reader.frames(fields, "ring", TransmitConfig::DEFAULT_RING_LIMIT);
    let selection = Chosen::read(reader, fields);
    let limit = limit(reader, fields)?;
    if let (Some(TransmitStrategy::Fifo), Limit::Each(_, span)) = (strategy, &limit) {
        let title = "`limit` is one number for `fifo`, found a list";
        let label = "all frames wait in one queue";
        reader.report(
            Diagnostic::new(&codes::WRONG_TYPE, title, *span, label)
                .help(Help::example("limit: 1000")),
        );
        return None;
    }
    let strategy = match strategy? {
        TransmitStrategy::Fifo => TransmitStrategy::Fifo,
        TransmitStrategy::Moderate { .. } => TransmitStrategy::Moderate { empty },
        TransmitStrategy::Strict { .. } => TransmitStrategy::Strict { idle_release },
        TransmitStrategy::Rings { .. } => TransmitStrategy::Rings { count: rings?.value },
        select @ TransmitStrategy::Selection(_) => select,
    };
    Some(TransmitPart { strategy, ring_limit, limit, high_from, rings, selection, at: fields.at })
}
