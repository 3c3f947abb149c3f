//! The keys of stacks and nodes.

use rtether_model::network::{Redundancy, Servers};

use super::layer::{PRIORITIES, RECEIVE_QUEUES, TRANSMIT_QUEUES};
use super::network::{OFFERED_DUPLEX, OFFERED_RATE};
use super::smoother::SMOOTHER;
use super::unknown::{COST, UNKNOWN};
use super::{
    Default, Key, Kind, Optional, PACKET_RATE, RATIO, Required, SIZE, Section, TIME, Words, choice,
    key, memory, word,
};

pub(crate) static SERVERS: Words<Servers> =
    Words::new("servers", &[("shared", Servers::Shared), ("per-direction", Servers::PerDirection)]);

pub(crate) static STACK: Section = Section {
    name: "stack",
    noun: "a stack",
    description: "Cost of a protocol stack. Either one FIFO server for both directions that takes the same time for every packet (`rate` or `service`), or costs for each direction that may grow with the frame (`send` and `receive`, or their sum, `both`), or costs for each kind of packet, both ways, as the network task of a real-time operating system has them (`datagram`, `segment` and `acknowledgement`). The last eight keys are for nodes as well; what a node says counts instead of what its stack says.",
    keys: &[
        key(
            "stack",
            Kind::Text,
            Optional,
            "drive.yaml",
            "Profile of a device, which gives what is not written here: a file, relative to this one, by the rules of `include`. At most 1000 profiles.",
        ),
        key(
            "rate",
            PACKET_RATE,
            Optional,
            "5000 packets/s",
            "Packets the stack handles in a second, sent and received together. The time per packet is rounded to the nearest picosecond.",
        ),
        key(
            "service",
            Kind::Any(&[TIME, Kind::One(&UNKNOWN)]),
            Optional,
            "200 us",
            "The same as a time per packet.",
        ),
        key(
            "send",
            COST,
            Optional,
            "8 us + 12 ns/B",
            "From the application's call to the driver queue, per frame. `/B` counts octets of the untagged frame, addresses to FCS. Needs `receive` or `both`.",
        ),
        key(
            "receive",
            COST,
            Optional,
            "12 us",
            "From the driver to the application, per frame. Needs `send` or `both`.",
        ),
        key(
            "both",
            Kind::Any(&[TIME, Kind::One(&UNKNOWN)]),
            Optional,
            "320 us",
            "Sending and receiving together, where they cannot be told apart: `send` takes a part of it more and `receive` the rest. How it is split is one constant of each node, drawn once in a run; bounds hold for every split. Without `send` or `receive` these take nothing else.",
        ),
        key(
            "datagram",
            COST,
            Optional,
            "101 us",
            "A packet that is not TCP. Needs `segment` and `acknowledgement`.",
        ),
        key("segment", COST, Optional, "50 us", "A TCP segment with data."),
        key("acknowledgement", COST, Optional, "25 us", "A TCP segment without data."),
        key(
            "interface",
            COST,
            Default("0 us"),
            "2 us",
            "Delay of the network interface, each way; it does not occupy the processor.",
        ),
        choice(&SERVERS, "shared", "One processor for both directions, or one for each."),
        key(
            "jitter",
            Kind::Any(&[TIME, Kind::One(&JITTER)]),
            Optional,
            "30 us",
            "Random addition to every cost: uniform up to this time, or a map for another distribution. None if not given.",
        ),
        key(
            "outliers",
            Kind::One(&OUTLIERS),
            Optional,
            "{ ratio: 100 ppm, delay: 1 ms .. 5 ms }",
            "Rare large additions on top. None if not given.",
        ),
        memory(
            "stack_queue",
            Kind::Count { min: 1, max: 10_000_000 },
            Default("1000"),
            "1000",
            "Packets that may wait for the stack, both directions together; more are dropped.",
        ),
        memory(
            "driver_queue",
            SIZE,
            Default("1 MB"),
            "1 MB",
            "Octets of frames that may wait in the FIFO queue of the driver; more are dropped.",
        ),
        SELECTION_KEY,
        TASKS_KEY,
        PRIORITIES_KEY,
        RECEIVE_KEY,
        TRANSMIT_KEY,
        SMOOTHER_KEY,
        ARP_KEY,
        REDUNDANCY_KEY,
        EMULATE_KEY,
    ],
};

// The keys below apply to a stack and to a single node.
const SELECTION_KEY: Key = word(
    &STATION_SELECTION,
    Optional,
    "edf",
    "Which frame in the queue of the driver is sent next: the first that came, or the one that is due first (`edf`), as at the ports of switches; the first that came if not given. Not `edf` with `transmit_queues` or a `smoother`, and not on a hub with `access`, which choose themselves.",
);
const TASKS_KEY: Key = key(
    "tasks",
    Kind::One(&TASKS),
    Optional,
    "{ message: 5 us, segment: 40 us }",
    "Processor time of the applications. They take none if not given.",
);
pub(super) const PRIORITIES_KEY: Key = key(
    "priorities",
    Kind::One(&PRIORITIES),
    Optional,
    "{ queues: 2 }",
    "Which queue a frame uses, for `receive_queues` and `transmit_queues`.",
);
pub(super) const RECEIVE_KEY: Key = key(
    "receive_queues",
    Kind::One(&RECEIVE_QUEUES),
    Optional,
    "{ selection: highest-first }",
    "Priority queues between driver and stack. One FIFO queue if not given.",
);
pub(super) const TRANSMIT_KEY: Key = key(
    "transmit_queues",
    Kind::One(&TRANSMIT_QUEUES),
    Optional,
    "{ strategy: strict }",
    "Priority queues between stack and driver. One FIFO queue if not given.",
);
pub(super) const SMOOTHER_KEY: Key = key(
    "smoother",
    Kind::One(&SMOOTHER),
    Optional,
    "{ mode: himd }",
    "Traffic smoother above the transmit queues. None if not given.",
);
const ARP_KEY: Key = key(
    "arp",
    Kind::One(&ARP),
    Optional,
    "{ lifetime: 60 s }",
    "Resolution of the addresses of neighbors by ARP: before its first IPv4 packet to a neighbor the station \
     broadcasts a request. All addresses are known beforehand if not given. Every station answers \
     requests. On a live test bed the hosts resolve addresses as they do.",
);
const REDUNDANCY_KEY: Key = word(
    &REDUNDANCY,
    Optional,
    "prp",
    "Puts the station in two networks: its first link leads to one, its second to the other. It sends each frame into both, and takes the first copy of what stations like it send. `prp` is a doubly attached node of IEC 62439-3, with a trailer of 6 octets; `afdx` an end system of ARINC 664 part 7, with a sequence number of 1 octet. One network if not given. Not with a layer or `tasks`, and not on a hub.",
);
const EMULATE_KEY: Key = key(
    "emulate",
    Kind::Flag,
    Default("false"),
    "true",
    "How a live test bed treats the stack: whether it is emulated between this host, whose own \
     costs come on top, and the network, or left to the host's own stack. Simulation and bounds \
     are the same either way.",
);

/// Whether the port sends what is due first.
pub(crate) static STATION_SELECTION: Words<bool> =
    Words::new("selection", &[("fcfs", false), ("edf", true)]);

/// How a station is in two networks.
pub(crate) static REDUNDANCY: Words<Redundancy> =
    Words::new("redundancy", &[("prp", Redundancy::Prp), ("afdx", Redundancy::Afdx)]);

/// Whether messages go first.
pub(crate) static ORDER: Words<bool> =
    Words::new("order", &[("arrival", false), ("messages-first", true)]);

pub(crate) static TASKS: Section = Section {
    name: "tasks",
    noun: "tasks",
    description: "Application tasks that share a processor of their own. A message takes it before it enters the sending stack and after it has left the receiving one; so does each data segment of a bulk transfer, for the program that writes or reads the file.",
    keys: &[
        key(
            "message",
            Kind::Any(&[TIME, Kind::One(&UNKNOWN)]),
            Default("0 us"),
            "5 us",
            "Time for a message, each way.",
        ),
        key(
            "segment",
            Kind::Any(&[TIME, Kind::One(&UNKNOWN)]),
            Default("0 us"),
            "40 us",
            "Time for a data segment of a bulk transfer, each way.",
        ),
        choice(
            &ORDER,
            "messages-first",
            "All in order of arrival, or messages preempt bulk transfers.",
        ),
    ],
};

pub(crate) static ARP: Section = Section {
    name: "arp",
    noun: "address resolution",
    description: "Address resolution (RFC 826). A packet to a neighbor whose address is not known waits until it is. A request or a reply is a frame of 64 octets in the VLAN of the packet, without priority; one that arrives takes its time in the stack, and those sent leave it at its lower end. Switches must not form a loop.",
    keys: &[
        key(
            "lifetime",
            TIME,
            Default("60 s"),
            "10 s",
            "How long an address is known after a request or reply of its station.",
        ),
        key(
            "retry",
            TIME,
            Default("1 s"),
            "200 ms",
            "Time after which an unanswered request is repeated.",
        ),
        key(
            "attempts",
            Kind::Count { min: 1, max: 60 },
            Default("3"),
            "5",
            "Requests, the first one included; after one more `retry` the packets held are dropped, and count as lost.",
        ),
        memory(
            "hold",
            SIZE,
            Default("212992 B"),
            "20 kB",
            "Octets of frames held for one neighbor. For one that does not fit the oldest are dropped; the latest is always held.",
        ),
    ],
};

pub(crate) static JITTER: Section = Section {
    name: "jitter",
    noun: "a jitter",
    description: "Distribution of the everyday jitter of a stack: uniform from zero to `max`, or with `mean` exponential and cut at `max`; or as it was measured, with `quantiles`, or with `send` and `receive`. `rtether calibrate` writes such tables.",
    keys: &[
        key("max", TIME, Optional, "100 us", "Largest addition. Required without a table."),
        key(
            "mean",
            TIME,
            Optional,
            "10 us",
            "Mean of the exponential distribution, before the cut.",
        ),
        key(
            "quantiles",
            Kind::List(&QUANTILE),
            Optional,
            "[{ share: 0 %, add: 0 us }, { share: 99 %, add: 5 us }, { share: 100 %, add: 40 us }]",
            "Points of the distribution, 2 to 64, for both directions; linear in between. The first is at 0 %, the last at 100 %.",
        ),
        key(
            "send",
            Kind::List(&QUANTILE),
            Optional,
            "[{ share: 0 %, add: 0 us }, { share: 100 %, add: 4 us }]",
            "The same for sending alone. Needs `receive`.",
        ),
        key(
            "receive",
            Kind::List(&QUANTILE),
            Optional,
            "[{ share: 0 %, add: 0 us }, { share: 100 %, add: 30 us }]",
            "The same for receiving alone. Needs `send`.",
        ),
    ],
};

pub(crate) static QUANTILE: Section = Section {
    name: "quantile",
    noun: "a quantile",
    description: "One point of a measured distribution.",
    keys: &[
        key(
            "share",
            RATIO,
            Required,
            "99 %",
            "Share of packets with at most this addition, in whole parts of a million. Each is larger than the one before.",
        ),
        key("add", TIME, Required, "5 us", "The addition. None is smaller than the one before."),
    ],
};

pub(crate) static OUTLIERS: Section = Section {
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
        key("delay", Kind::TimeRange, Required, "1 ms .. 5 ms", "Uniform between two times."),
    ],
};

pub(crate) static NODE: Section = Section {
    name: "node",
    noun: "a node",
    description: "An end station.",
    keys: &[
        key(
            "stack",
            Kind::Any(&[Kind::Name("stack"), Kind::One(&STACK)]),
            Required,
            "zero",
            "Name of a stack, `zero`, a [built-in one](#built-in-stacks), the [profile](profile.md) of a device (`drive.yaml`), or a stack written out here.",
        ),
        memory(
            "stack_queue",
            Kind::Count { min: 1, max: 10_000_000 },
            Optional,
            "1000",
            "Packets that may wait for the stack, instead of those of its `stack`.",
        ),
        memory(
            "driver_queue",
            SIZE,
            Optional,
            "1 MB",
            "Octets that may wait for the port, instead of those of its `stack`.",
        ),
        SELECTION_KEY,
        TASKS_KEY,
        PRIORITIES_KEY,
        RECEIVE_KEY,
        TRANSMIT_KEY,
        SMOOTHER_KEY,
        ARP_KEY,
        REDUNDANCY_KEY,
        EMULATE_KEY,
        OFFERED_RATE,
        OFFERED_DUPLEX,
    ],
};
