//! The table of keys: top level, run and accept here, the rest in submodules.

use rtether_model::network::Partition;

use super::Presence::{Default, Optional, Required};
use super::{Key, Kind, Presence, Section, Words};
use crate::codes::Severity;
use crate::plan::{Limit, Requirement, Statistic};
use crate::units::Quantity;

mod access;
mod admission;
mod design;
mod flows;
mod headers;
mod ingress;
mod layer;
mod network;
mod profile;
mod shim;
mod smoother;
mod stations;
mod substation;
mod unknown;

pub(crate) use access::*;
pub(crate) use admission::*;
pub(crate) use design::*;
pub(crate) use flows::*;
pub(crate) use headers::*;
pub(crate) use ingress::*;
pub(crate) use layer::*;
pub(crate) use network::*;
pub(crate) use profile::*;
pub(crate) use shim::*;
pub(crate) use smoother::*;
pub(crate) use stations::*;
pub(crate) use substation::*;
pub(crate) use unknown::*;

const TIME: Kind = Kind::Quantity(Quantity::Time);
const SIZE: Kind = Kind::Quantity(Quantity::Size);
const RATIO: Kind = Kind::Quantity(Quantity::Ratio);
const BIT_RATE: Kind = Kind::Quantity(Quantity::BitRate);
const PACKET_RATE: Kind = Kind::Quantity(Quantity::PacketRate);

const fn key(
    name: &'static str,
    kind: Kind,
    presence: Presence,
    example: &'static str,
    description: &'static str,
) -> Key {
    Key { name, kind, presence, description, example, is_memory: false }
}

/// A key that limits a memory.
const fn memory(
    name: &'static str,
    kind: Kind,
    presence: Presence,
    example: &'static str,
    description: &'static str,
) -> Key {
    Key { name, kind, presence, description, example, is_memory: true }
}

/// A key whose value is a word, the first one by default.
const fn choice<T: Sync>(
    words: &'static Words<T>,
    example: &'static str,
    description: &'static str,
) -> Key {
    word(words, Default(words.first()), example, description)
}

/// A key whose value is a word.
const fn word<T: Sync>(
    words: &'static Words<T>,
    presence: Presence,
    example: &'static str,
    description: &'static str,
) -> Key {
    key(words.key, Kind::Word(words), presence, example, description)
}

/// All sections, in the order of the reference.
pub(crate) static SECTIONS: &[&Section] = &[
    &SCENARIO,
    &ASSUMED,
    &ADMISSION,
    &STACK,
    &UNKNOWN,
    &JITTER,
    &QUANTILE,
    &OUTLIERS,
    &TASKS,
    &ARP,
    &PRIORITIES,
    &RULE,
    &RECEIVE_QUEUES,
    &TRANSMIT_QUEUES,
    &SMOOTHER,
    &DETECTOR,
    &NODE,
    &SWITCH,
    &PORT,
    &INGRESS,
    &MIRROR,
    &ROUTER,
    &HUB,
    &ACCESS,
    &SLOT,
    &RESERVATION,
    &SYNCHRONOUS,
    &SILENT,
    &LINK,
    &FLOW,
    &REPLY,
    &TCP,
    &BULK_TRANSFER,
    &BURSTS,
    &RELEASES,
    &RUN,
    &STAGE,
    &ACCEPT,
    &DESIGN,
    &GENERATE,
    &SUBSTATION,
];

const VERSION_KEY: Key =
    key("rtether", Kind::Count { min: 1, max: 1 }, Required, "1", "Version of the format.");

pub(crate) static SCENARIO: Section = Section {
    name: "scenario",
    noun: "a scenario",
    description: "The whole file. Keys that begin with `x-` are ignored: a place for anchors.",
    keys: &[
        VERSION_KEY,
        key(
            "name",
            Kind::Text,
            Optional,
            "bottling line 3",
            "Title; the name of the file if it is not given.",
        ),
        key(
            "include",
            Kind::Any(&[Kind::Text, Kind::Values(&Kind::Text)]),
            Optional,
            "[cell2.yaml, own.yaml]",
            "Further files, relative to this one, beneath the folder of the scenario or of `--include-from`: their stacks, nodes, switches, routers, hubs, links and flows come after those written here. They may have `include` and `changes` of their own, and nothing else. At most 64 files, 8 deep, 64 MiB together.",
        ),
        key(
            "changes",
            Kind::Changes,
            Optional,
            "{ flows.setpoint.period: 1 ms }",
            "Values replaced once all files are read, by paths as those of `--set`; a file has the last word over those that it includes, and `--set` over all.",
        ),
        key(
            "stacks",
            Kind::Named(&STACK),
            Optional,
            "{ plc: { rate: 20000 packets/s } }",
            "What the protocol stacks of end stations cost. The stack `zero`, which takes no time, needs no declaration, nor do the [built-in ones](#built-in-stacks).",
        ),
        key(
            "nodes",
            Kind::Named(&NODE),
            Optional,
            "{ plc1: { stack: plc } }",
            "End stations: they send and receive, and have one network interface.",
        ),
        key(
            "switches",
            Kind::Named(&SWITCH),
            Optional,
            "{ sw1: { ports: 8 } }",
            "Switches. Nodes, switches, routers and hubs share their names.",
        ),
        key(
            "routers",
            Kind::Named(&ROUTER),
            Optional,
            "{ r1: { ports: 2, cost: 20 us } }",
            "Routers between networks.",
        ),
        key(
            "hubs",
            Kind::Named(&HUB),
            Optional,
            "{ hub1: { ports: 8, rate: 10 Mbit/s } }",
            "Shared segments at half duplex.",
        ),
        key(
            "links",
            Kind::List(&LINK),
            Optional,
            "[{ ends: [plc1, \"sw1:1\"], rate: 100 Mbit/s }]",
            "Links between the ports of all these.",
        ),
        key(
            "flows",
            Kind::List(&FLOW),
            Optional,
            "[{ name: setpoint, from: plc1, to: drive1, period: 2 ms, size: 64 B }]",
            "Who sends what to whom.",
        ),
        key(
            "assumed",
            Kind::Named(&ASSUMED),
            Optional,
            "{ switches.sw1.latency: { is: 10 us, why: not in the data sheet } }",
            "What is assumed and not known, by paths as those of `--set`; `rtether import` writes it. Verdicts say how many assumptions they rest on, and with `--strict` none counts that does.",
        ),
        choice(
            &PARTITION,
            "proportional",
            "How the deadline of a flow is divided among the ports on its way, answers included, where ports select by deadline (`edf`): equal parts for all ports of the longest way (SDPS); parts in proportion to the flows with a deadline that pass each port (ADPS); or parts with which every port sends in time, found by a limited `search` over weights of ports, which keeps back what wires and switches take, but not stacks.",
        ),
        admission::ADMISSION_KEY,
        key(
            "generate",
            Kind::One(&GENERATE),
            Optional,
            "{ substation: {} }",
            "Nodes, links and flows made from parameters, in addition to those that are written out.",
        ),
        key(
            "releases",
            Kind::List(&RELEASES),
            Optional,
            "[{ flow: setpoint, at: [150 us] }]",
            "When flows release their first packets, generated flows too, where that would be drawn: only times that their traffic allows, so that no bound depends on it. `check --adversarial` finds such times.",
        ),
        key("run", Kind::One(&RUN), Optional, "{ for: 10 s, seeds: 8 }", "How to simulate."),
        key(
            PROVED.key,
            Kind::Any(&[Kind::Word(&PROVED), Kind::List(&ACCEPT)]),
            Optional,
            "[{ flow: \"*\", sim: deadline, lost: 0 }]",
            "The verdict: a flow fails if a line that matches it does not hold. Without it, `{ flow: \"*\", sim: deadline, lost: 0 }`. `proved` stands for `[{ flow: \"*\", sim: deadline, bound: deadline, lost: 0 }]`.",
        ),
        design::DESIGN_KEY,
    ],
};

pub(crate) static ASSUMED: Section = Section {
    name: "assumed",
    noun: "an assumption",
    description: "A value of the scenario that is assumed. The assumption ends when the value is written: it counts as long as the value at its path is this one, and stands in the same file. A value under `changes` of another file, or of `--set`, ends it, even if it is the same.",
    keys: &[
        key("is", Kind::Value, Required, "10 us", "The value, as it stands at the path."),
        key(
            "why",
            Kind::Text,
            Required,
            "not in the data sheet",
            "Why it is assumed, and what it follows.",
        ),
    ],
};

/// How deadlines are divided.
pub(crate) static PARTITION: Words<Partition> = Words::new(
    "partition",
    &[
        ("equal", Partition::Equal),
        ("proportional", Partition::Proportional),
        ("search", Partition::Search),
    ],
);

/// Short forms of `accept`.
pub(crate) static PROVED: Words<fn() -> Requirement> =
    Words::new("accept", &[("proved", Requirement::proved_for_all)]);

/// How an overload is reported.
pub(crate) static OVERLOAD: Words<Severity> =
    Words::new("overload", &[("refuse", Severity::Error), ("allow", Severity::Warning)]);

/// Limits with a name, of `sim`, `live` and `bound`.
pub(crate) static DEADLINE: Words<Limit> = Words::new("bound", &[("deadline", Limit::Deadline)]);

/// Statistics with a name; quantiles are written `p99.9`.
pub(crate) static STATISTIC: Words<Statistic> = Words::new(
    "sim",
    &[
        ("mean", Statistic::Mean),
        ("median", Statistic::Quantile { part: 1, whole: 2 }),
        ("max", Statistic::Max),
    ],
);

pub(crate) static RELEASES: Section = Section {
    name: "release",
    noun: "releases",
    description: "First releases of a flow. What comes after them follows its traffic: the grid of a periodic flow, gaps of others.",
    keys: &[
        key(
            "flow",
            Kind::Name("flow"),
            Required,
            "setpoint",
            "Name of the flow; one with files or adaptive requests has no times to choose.",
        ),
        key(
            "at",
            Kind::Values(&TIME),
            Required,
            "[150 us]",
            "Times from the start of the run, in order: of a periodic flow on one grid within its `phase` and `jitter`, of a sporadic one `min_gap` apart.",
        ),
    ],
};

pub(crate) static RUN: Section = Section {
    name: "run",
    noun: "a run",
    description: "How to simulate. A seed fixes every result.",
    keys: &[
        key("for", TIME, Default("10 s"), "10 s", "Simulated time of one run, warm-up included."),
        key("warmup", TIME, Default("0 s"), "1 s", "Start of every run that does not count."),
        key(
            "seeds",
            Kind::Count { min: 1, max: 1_000_000 },
            Default("1"),
            "32",
            "Number of runs, each with its own seed. All together may take some ten days of simulated time.",
        ),
        key(
            "seed",
            Kind::Count { min: 0, max: u64::MAX >> 1 },
            Default("1"),
            "48151",
            "Seed of the first run; the others follow.",
        ),
        key(
            "bucket",
            TIME,
            Optional,
            "1.6 s",
            "Length of the buckets on the time axis; a hundredth of the run if not given, longer with more than 100 000 streams. All streams together have ten million at most.",
        ),
        key(
            "stages",
            Kind::List(&STAGE),
            Optional,
            "[{ name: quiet, from: 0 s }, { name: upload, from: 4 s }]",
            "Stages of the run, in order of time, each with its own figures of every flow; 20 at most, and 100 000 figures of streams in all. A packet belongs to the stage in which it was released.",
        ),
        choice(&OVERLOAD, "allow", "Whether a plant may have more to carry than it can."),
    ],
};

pub(crate) static STAGE: Section = Section {
    name: "stage",
    noun: "a stage",
    description: "A part of the run with figures of its own; it lasts until the next stage begins.",
    keys: &[
        key("name", Kind::Text, Required, "upload", "Its name in results."),
        key("from", TIME, Required, "4 s", "When it begins."),
    ],
};

/// Most packets that `lost` accepts.
pub(crate) const MOST_LOST: u64 = u64::MAX >> 1;

pub(crate) static ACCEPT: Section = Section {
    name: "accept",
    noun: "a line of `accept`",
    description: "A requirement on the flows that match `flow`, or on the `sum` of several.",
    keys: &[
        key(
            "flow",
            Kind::Text,
            Optional,
            "\"*\"",
            "Name of a flow, a class, or a pattern in which `*` stands for any text. Needed but with `sum`.",
        ),
        key(
            "sum",
            Kind::Values(&Kind::Name("flow")),
            Optional,
            "[request, reply]",
            "Names of at least two flows with one listener each: the sum of their largest latencies is limited by `max`, the only other key of the line. Simulated and measured latencies are judged; the sum of the bounds proves it.",
        ),
        key("max", TIME, Optional, "2 ms", "Upper limit of the `sum`."),
        key(
            "sim",
            Kind::Any(&[Kind::Word(&DEADLINE), TIME, Kind::Statistics]),
            Optional,
            "{ p99.9: 600 us }",
            "Upper limit of the largest simulated latency, or of statistics: `mean`, `max`, and quantiles such as `p50` and `p99.9`. `deadline` is the deadline of each flow.",
        ),
        key(
            "live",
            Kind::Any(&[Kind::Word(&DEADLINE), TIME, Kind::Statistics]),
            Optional,
            "{ max: deadline }",
            "The same of measured latencies, for `rtether live` and `rtether check --live`. Without it, what stands under `sim` limits them, too.",
        ),
        key(
            "bound",
            Kind::Any(&[Kind::Word(&DEADLINE), TIME]),
            Optional,
            "deadline",
            "Upper limit of the proved bound, so that simulation alone is not enough; judged by `rtether check` and not by `rtether sim`.",
        ),
        key(
            "lost",
            Kind::Any(&[Kind::Count { min: 0, max: MOST_LOST }, RATIO]),
            Optional,
            "0",
            "Packets that may be lost, over all runs: a whole number of them, or a share of those sent, such as `1 %`. Judged as simulated and, with `rtether live` and `rtether check --live`, as measured.",
        ),
        key(
            "missed",
            RATIO,
            Optional,
            "0.1 %",
            "Largest share of packets that are later than their deadline or lost.",
        ),
    ],
};
