//! The table of keys: top level, stacks, nodes, switches, links, run and accept.

use super::Presence::{Default, Optional, Required};
use super::{Key, Kind, Presence, Section};
use crate::scenario::units::Quantity;

mod flows;
mod substation;

pub(in crate::scenario) use flows::{BULK_TRANSFER, FLOW, REPLY, TCP};
pub(in crate::scenario) use substation::{GENERATE, SUBSTATION};

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
    Key {
        name,
        kind,
        presence,
        description,
        example,
    }
}

/// All sections, in the order of the reference.
pub(in crate::scenario) static SECTIONS: &[&Section] = &[
    &SCENARIO,
    &STACK,
    &JITTER,
    &OUTLIERS,
    &NODE,
    &SWITCH,
    &PORT,
    &LINK,
    &FLOW,
    &REPLY,
    &TCP,
    &BULK_TRANSFER,
    &RUN,
    &ACCEPT,
    &GENERATE,
    &SUBSTATION,
];

pub(in crate::scenario) static SCENARIO: Section = Section {
    name: "scenario",
    noun: "a scenario",
    description: "The whole file. Keys that begin with `x-` are ignored: a place for anchors.",
    keys: &[
        key(
            "rtether",
            Kind::Count { min: 1, max: 1 },
            Required,
            "1",
            "Version of the format.",
        ),
        key(
            "name",
            Kind::Text,
            Optional,
            "bottling line 3",
            "Title; the name of the file if it is not given.",
        ),
        key(
            "stacks",
            Kind::Named(&STACK),
            Optional,
            "{ plc: { rate: 20000 packets/s } }",
            "What the protocol stacks of end stations cost. The stack `zero`, which takes no time, needs no declaration.",
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
            "Switches. Nodes and switches share their names.",
        ),
        key(
            "links",
            Kind::List(&LINK),
            Optional,
            "[{ ends: [plc1, \"sw1:1\"], rate: 100 Mbit/s }]",
            "Full-duplex links.",
        ),
        key(
            "flows",
            Kind::List(&FLOW),
            Optional,
            "[{ name: setpoint, from: plc1, to: drive1, period: 2 ms, size: 64 B }]",
            "Who sends what to whom.",
        ),
        key(
            "generate",
            Kind::One(&GENERATE),
            Optional,
            "{ substation: {} }",
            "Nodes, links and flows made from parameters, in addition to those that are written out.",
        ),
        key(
            "run",
            Kind::One(&RUN),
            Optional,
            "{ for: 10 s, seeds: 8 }",
            "How to simulate.",
        ),
        key(
            "accept",
            Kind::List(&ACCEPT),
            Optional,
            "[{ flow: \"*\", sim: deadline, lost: 0 }]",
            "The verdict: a flow fails if a line that matches it does not hold. Without it, `{ flow: \"*\", sim: deadline, lost: 0 }`.",
        ),
        key(
            "hubs",
            Kind::Later,
            Optional,
            "{}",
            "Shared segments; not available yet.",
        ),
    ],
};

pub(in crate::scenario) static STACK: Section = Section {
    name: "stack",
    noun: "a stack",
    description: "Cost of a protocol stack. Either one FIFO server for both directions that takes the same time for every packet (`rate` or `service`), or costs for each direction that may grow with the frame (`send` and `receive`).",
    keys: &[
        key(
            "rate",
            PACKET_RATE,
            Optional,
            "5000 packets/s",
            "Packets the stack handles in a second, sent and received together. The time per packet is rounded to the nearest picosecond.",
        ),
        key(
            "service",
            TIME,
            Optional,
            "200 us",
            "The same as a time per packet.",
        ),
        key(
            "send",
            Kind::Cost,
            Optional,
            "8 us + 12 ns/B",
            "From the application's call to the driver queue, per frame. `/B` counts octets of the untagged frame, addresses to FCS. Needs `receive`.",
        ),
        key(
            "receive",
            Kind::Cost,
            Optional,
            "12 us",
            "From the driver to the application, per frame. Needs `send`.",
        ),
        key(
            "interface",
            Kind::Cost,
            Default("0 us"),
            "2 us",
            "Delay of the network interface, each way; it does not occupy the processor.",
        ),
        key(
            "servers",
            Kind::Word(&["shared", "per-direction"]),
            Default("shared"),
            "shared",
            "One processor for both directions, or one for each.",
        ),
        key(
            "jitter",
            Kind::Any(&[TIME, Kind::One(&JITTER)]),
            Optional,
            "30 us",
            "Random addition to every `send` and `receive`: uniform up to this time, or a map for another distribution. None if not given.",
        ),
        key(
            "outliers",
            Kind::One(&OUTLIERS),
            Optional,
            "{ ratio: 100 ppm, delay: 1 ms .. 5 ms }",
            "Rare large additions on top. None if not given.",
        ),
        key(
            "stack_queue",
            Kind::Count {
                min: 1,
                max: 10_000_000,
            },
            Default("1000"),
            "1000",
            "Packets that may wait for the stack, both directions together; more are dropped.",
        ),
        key(
            "driver_queue",
            SIZE,
            Default("1 MB"),
            "1 MB",
            "Octets of frames that may wait in the FIFO queue of the driver; more are dropped.",
        ),
    ],
};

pub(in crate::scenario) static JITTER: Section = Section {
    name: "jitter",
    noun: "a jitter",
    description: "Distribution of the everyday jitter of a stack: uniform from zero to `max`, or with `mean` exponential and cut at `max`.",
    keys: &[
        key("max", TIME, Required, "100 us", "Largest addition."),
        key(
            "mean",
            TIME,
            Optional,
            "10 us",
            "Mean of the exponential distribution, before the cut.",
        ),
    ],
};

pub(in crate::scenario) static OUTLIERS: Section = Section {
    name: "outliers",
    noun: "outliers",
    description: "Rare large delays of a stack.",
    keys: &[
        key(
            "ratio",
            RATIO,
            Required,
            "100 ppm",
            "Share of packets that are hit, in whole parts of a million.",
        ),
        key(
            "delay",
            Kind::TimeRange,
            Required,
            "1 ms .. 5 ms",
            "Uniform between two times.",
        ),
    ],
};

pub(in crate::scenario) static NODE: Section = Section {
    name: "node",
    noun: "a node",
    description: "An end station.",
    keys: &[
        key(
            "stack",
            Kind::Any(&[Kind::Name("stack"), Kind::One(&STACK)]),
            Required,
            "zero",
            "Name of a stack, `zero`, or a stack written out here.",
        ),
        key(
            "stack_queue",
            Kind::Count {
                min: 1,
                max: 10_000_000,
            },
            Optional,
            "1000",
            "Instead of that of the stack.",
        ),
        key(
            "driver_queue",
            SIZE,
            Optional,
            "1 MB",
            "Instead of that of the stack.",
        ),
    ],
};

pub(in crate::scenario) static SWITCH: Section = Section {
    name: "switch",
    noun: "a switch",
    description: "A bridge in the sense of IEEE 802.1Q. Ports count from 1.",
    keys: &[
        key(
            "ports",
            Kind::Count { min: 1, max: 1024 },
            Required,
            "8",
            "Number of ports.",
        ),
        key(
            "latency",
            TIME,
            Default("0 us"),
            "10 us",
            "Time from the moment a frame may be forwarded to its entry into the egress queue.",
        ),
        key(
            "mode",
            Kind::Word(&["store-and-forward", "cut-through"]),
            Default("store-and-forward"),
            "cut-through",
            "Forward after the last bit and drop frames with errors, or after the header. Cut-through applies towards ports that are not faster than the one a frame arrives on.",
        ),
        key(
            "queues",
            Kind::Count { min: 1, max: 8 },
            Default("1"),
            "4",
            "Egress queues per port. A higher number is more urgent.",
        ),
        key(
            "pcp_map",
            Kind::Values(&Kind::Count { min: 0, max: 7 }),
            Optional,
            "[1, 0, 0, 1, 2, 2, 3, 3]",
            "Queue of each priority 0 to 7, queues counting from 0. IEEE 802.1D-2004, table 7-2 if not given: priority 0 then stands above 1 and 2.",
        ),
        key(
            "selection",
            Kind::Word(&["strict", "fcfs", "wrr", "strict+wrr"]),
            Default("strict"),
            "wrr",
            "Which queue sends next: the highest that is not empty; first come, first served over all queues; weighted round robin; the highest strictly and the others by weighted round robin (1P3Q1T).",
        ),
        key(
            "weights",
            Kind::Values(&Kind::Count { min: 1, max: 255 }),
            Optional,
            "[1, 2, 4, 8]",
            "Frames per round of each queue, from queue 0. Needed for `wrr` and `strict+wrr`.",
        ),
        key(
            "buffer",
            SIZE,
            Default("1 MiB"),
            "64 KiB",
            "Octets of frames that may wait at one port; a frame that does not fit is dropped.",
        ),
        key(
            "shared_buffer",
            SIZE,
            Optional,
            "512 KiB",
            "Octets that may wait in the whole switch, if its ports share one memory.",
        ),
        key(
            "addresses",
            Kind::Word(&["static", "learning"]),
            Default("static"),
            "learning",
            "Address table filled before the run by shortest paths, or empty and learned from source addresses while unknown destinations are flooded.",
        ),
        key(
            "aging",
            TIME,
            Default("300 s"),
            "300 s",
            "Age at which a learned address is forgotten.",
        ),
        key(
            "multicast",
            Kind::Word(&["managed", "unmanaged"]),
            Default("managed"),
            "unmanaged",
            "Multicast only towards its listeners, or to every port of the VLAN.",
        ),
        key(
            "tags",
            Kind::Word(&["keep", "strip"]),
            Default("keep"),
            "strip",
            "Whether tags survive. `strip` honours the priority of tagged frames and sends all frames untagged.",
        ),
        key(
            "default_pcp",
            Kind::Count { min: 0, max: 7 },
            Default("0"),
            "0",
            "Priority of untagged frames, at ports without a setting of their own.",
        ),
        key(
            "port_settings",
            Kind::Named(&PORT),
            Optional,
            "{ 1: { access: 10 }, 2-4: { trunk: all } }",
            "Settings of single ports, by number or range.",
        ),
    ],
};

pub(in crate::scenario) static PORT: Section = Section {
    name: "port",
    noun: "a port setting",
    description: "VLAN membership and default priority of ports. A port without `access` and `trunk` is not VLAN-aware: every frame passes and tags stay as they are.",
    keys: &[
        key(
            "access",
            Kind::Count { min: 1, max: 4094 },
            Optional,
            "10",
            "Member of this VLAN only, untagged.",
        ),
        key(
            "trunk",
            Kind::Any(&[
                Kind::Word(&["all"]),
                Kind::Values(&Kind::Count { min: 1, max: 4094 }),
            ]),
            Optional,
            "[10, 20]",
            "Member of these VLANs, or of all, tagged.",
        ),
        key(
            "native",
            Kind::Count { min: 1, max: 4094 },
            Optional,
            "1",
            "VLAN that travels untagged over a trunk. Without it, a trunk takes no untagged frames.",
        ),
        key(
            "default_pcp",
            Kind::Count { min: 0, max: 7 },
            Optional,
            "5",
            "Priority of untagged frames that arrive here.",
        ),
    ],
};

pub(in crate::scenario) static LINK: Section = Section {
    name: "link",
    noun: "a link",
    description: "A full-duplex link between two ports.",
    keys: &[
        key(
            "ends",
            Kind::Values(&Kind::Name("node")),
            Required,
            "[plc1, \"sw1:1\"]",
            "The two ends: `NODE` or `SWITCH:PORT`.",
        ),
        key(
            "rate",
            BIT_RATE,
            Required,
            "100 Mbit/s",
            "One of the rates of Ethernet: 10 or 100 Mbit/s, 1, 2.5, 5, 10, 25, 40, 50, 100, 200 or 400 Gbit/s.",
        ),
        key(
            "length",
            Kind::Quantity(Quantity::Length),
            Default("0 m"),
            "20 m",
            "Length of the cable, 5 ns a metre.",
        ),
        key(
            "propagation",
            TIME,
            Optional,
            "100 ns",
            "Propagation delay, instead of the length.",
        ),
        key(
            "errors",
            RATIO,
            Default("0"),
            "1e-9",
            "Share of frames that arrive with a wrong FCS, in whole parts of a billion.",
        ),
        key(
            "standby",
            Kind::Flag,
            Default("false"),
            "true",
            "Blocked by a redundancy protocol: carries nothing.",
        ),
    ],
};

pub(in crate::scenario) static RUN: Section = Section {
    name: "run",
    noun: "a run",
    description: "How to simulate. A seed fixes every result.",
    keys: &[
        key(
            "for",
            TIME,
            Default("10 s"),
            "10 s",
            "Simulated time of one run, warm-up included.",
        ),
        key(
            "warmup",
            TIME,
            Default("0 s"),
            "1 s",
            "Start of every run that does not count.",
        ),
        key(
            "seeds",
            Kind::Count {
                min: 1,
                max: 1_000_000,
            },
            Default("1"),
            "32",
            "Number of runs, each with its own seed.",
        ),
        key(
            "seed",
            Kind::Count {
                min: 0,
                max: u64::MAX >> 1,
            },
            Default("1"),
            "48151",
            "Seed of the first run; the others follow.",
        ),
        key(
            "bucket",
            TIME,
            Optional,
            "1.6 s",
            "Length of the buckets on the time axis; a hundredth of the run if not given.",
        ),
        key(
            "overload",
            Kind::Word(&["refuse", "allow"]),
            Default("refuse"),
            "allow",
            "Whether a plant may have more to carry than it can.",
        ),
    ],
};

pub(in crate::scenario) static ACCEPT: Section = Section {
    name: "accept",
    noun: "a line of `accept`",
    description: "A requirement on the flows that match it.",
    keys: &[
        key(
            "flow",
            Kind::Text,
            Required,
            "\"*\"",
            "Name of a flow, a class, or a pattern in which `*` stands for any text.",
        ),
        key(
            "sim",
            Kind::Any(&[Kind::Word(&["deadline"]), TIME, Kind::Statistics]),
            Optional,
            "{ p99.9: 600 us }",
            "Upper limit of the largest simulated latency, or of statistics: `mean`, `max`, and quantiles such as `p50` and `p99.9`. `deadline` is the deadline of each flow.",
        ),
        key(
            "bound",
            Kind::Any(&[Kind::Word(&["deadline"]), TIME]),
            Optional,
            "deadline",
            "Upper limit of the proved bound.",
        ),
        key(
            "lost",
            Kind::Count {
                min: 0,
                max: u64::MAX >> 1,
            },
            Optional,
            "0",
            "Packets that may be lost, over all runs.",
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
