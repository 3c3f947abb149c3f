//! The keys of a flow.

use rtether_model::flow::{Delivery, Phase};
use rtether_model::quantity::Duration;
use rtether_model::wire::{Encapsulation, RtpsVersion};

use super::{
    BIT_RATE, Default, Kind, Optional, PACKET_RATE, Required, SIZE, Section, TIME, Words, choice,
    key, memory, word,
};

pub(crate) static DELIVERY: Words<Delivery> =
    Words::new("delivery", &[("unicast", Delivery::Unicast), ("multicast", Delivery::Multicast)]);

const PORT: Kind = Kind::Count { min: 0, max: 65_535 };

const fn rtps(version: RtpsVersion, is_reliable: bool) -> Encapsulation {
    Encapsulation::Rtps { version, is_reliable }
}

pub(crate) static OVER: Words<Encapsulation> = Words::new(
    "over",
    &[
        ("udp", Encapsulation::Udp),
        ("raw", Encapsulation::Raw),
        ("goose", Encapsulation::Goose),
        ("sv", Encapsulation::SampledValues),
        ("profinet", Encapsulation::Profinet),
        ("icmp", Encapsulation::Icmp),
        ("tcp", Encapsulation::Tcp),
        ("rtps", rtps(RtpsVersion::V2_5, true)),
        ("rtps-best-effort", rtps(RtpsVersion::V2_5, false)),
        ("rtps-1.0", rtps(RtpsVersion::V1_0, true)),
        ("rtps-1.0-best-effort", rtps(RtpsVersion::V1_0, false)),
    ],
);

/// When the frames of a flow are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    Periodic,
    Sporadic,
    Poisson,
    Adaptive,
    Flood,
    Bulk,
}

pub(crate) static KIND: Words<Release> = Words::new(
    "kind",
    &[
        ("periodic", Release::Periodic),
        ("sporadic", Release::Sporadic),
        ("poisson", Release::Poisson),
        ("adaptive", Release::Adaptive),
        ("flood", Release::Flood),
        ("bulk", Release::Bulk),
    ],
);

/// Phases with a name, of a flow and of all streams of a substation.
pub(crate) static PHASE: Words<Phase> = Words::new(
    "phase",
    &[("random", Phase::Random), ("synchronized", Phase::Fixed(Duration::ZERO))],
);

/// Times of the first scan with a name.
pub(crate) static SCAN_PHASE: Words<Phase> = Words::new(
    "scan_phase",
    &[("random", Phase::Random), ("synchronized", Phase::Fixed(Duration::ZERO))],
);

pub(crate) static FLOW: Section = Section {
    name: "flow",
    noun: "a flow",
    description: "Frames of one talker to its listeners. The kind follows from the keys: `period` or `rate` makes a flow periodic, `min_gap` sporadic, `over: tcp` a bulk transfer unless `size` or `period` says that messages are meant; `poisson`, `flood` and `adaptive` are said with `kind`.",
    keys: &[
        key("name", Kind::Text, Required, "setpoint", "Unique name."),
        key(
            "class",
            Kind::Text,
            Optional,
            "setpoints",
            "Flows of the same class are shown together, and `accept` can name the class.",
        ),
        key(
            "description",
            Kind::Text,
            Optional,
            "opens the valve of tank 2",
            "What the flow is for, in one line of at most 200 characters; reports show it.",
        ),
        key("from", Kind::Name("node"), Required, "plc1", "End station that sends."),
        key(
            "to",
            Kind::Any(&[Kind::Name("node"), Kind::Values(&Kind::Name("node"))]),
            Required,
            "drive1",
            "End station that receives, or a list of them.",
        ),
        word(
            &DELIVERY,
            Optional,
            "multicast",
            "One frame for each listener, sent in the order of the list, or one frame that the switches copy. Multicast for `goose` and `sv`, else unicast, if not given.",
        ),
        key(
            "route",
            Kind::Any(&[
                Kind::Values(&Kind::Name("node")),
                Kind::Values(&Kind::Values(&Kind::Name("node"))),
            ]),
            Optional,
            "[plc1, sw1, sw2, drive1]",
            "The way of the frames: all nodes from the talker to the listener. With several listeners a list of such lists, one for each; those of a multicast flow form a tree. Where several links join two nodes, one of its ports says which: `\"sw1:3\"`. Answers and acknowledgements take the route backwards. If not given, frames take the shortest path, equal ones by the lower port; if that leaves the VLAN of the flow, the only shortest path inside. Not for RTPS.",
        ),
        choice(
            &OVER,
            "raw",
            "Protocol headers: UDP over IPv4, none, IEC 61850 GOOSE and sampled values, PROFINET IO, ICMP echo, TCP over IPv4, RTPS over UDP. Messages over TCP travel in order over one connection with each listener, open from the start. Over RTPS a flow is a topic: its samples are published once its listeners are found, and lost ones are sent again, unless `rtps-best-effort` is said. `rtps` is version 2.5; in 1.0, that of ORTE, each station also has a manager, and a sample fits one frame.",
        ),
        word(
            &KIND,
            Optional,
            "poisson",
            "When frames are released. Follows from the other keys if not given.",
        ),
        key(
            "size",
            SIZE,
            Optional,
            "64 B",
            "Octets of a message: up to 65507 B over UDP, in as many fragments as it takes, 16 MB over TCP and RTPS, one frame otherwise. Needed but for bulk transfers.",
        ),
        key("period", TIME, Optional, "2 ms", "Periodic: time between two releases."),
        key(
            "rate",
            Kind::Any(&[PACKET_RATE, BIT_RATE]),
            Optional,
            "1440 packets/s",
            "Periodic and poisson: packets per second, to each listener; the interval is rounded to the nearest picosecond. Flood: packets per second, or bit/s on the wire with preamble and gap. Bulk: bit/s at which the application hands data to TCP, as fast as it goes if not given.",
        ),
        key(
            PHASE.key,
            Kind::Any(&[Kind::Word(&PHASE), TIME]),
            Default(PHASE.first()),
            "0 us",
            "Periodic: first release after the start. Drawn from the seed, zero for all (`synchronized`), or a time.",
        ),
        key(
            "jitter",
            TIME,
            Default("0 us"),
            "50 us",
            "Periodic: largest lateness of a release, uniform. The grid does not move. Less than the period.",
        ),
        key(
            "min_gap",
            TIME,
            Optional,
            "10 ms",
            "Sporadic: shortest time from one burst to the next.",
        ),
        key(
            "mean_gap",
            TIME,
            Optional,
            "50 ms",
            "Sporadic: mean time between bursts, `min_gap` if not given. Poisson: mean time between packets.",
        ),
        key(
            "burst",
            Kind::Count { min: 1, max: 10_000 },
            Default("1"),
            "3",
            "Sporadic: packets released together.",
        ),
        key(
            "pause",
            TIME,
            Default("0 us"),
            "10 ms",
            "Adaptive: from the answer to the next request. Needs `reply`.",
        ),
        key(
            "timeout",
            TIME,
            Default("1 s"),
            "200 ms",
            "Adaptive: a request without answer is given up after this time, and the next one is sent.",
        ),
        key(
            "pcp",
            Kind::Count { min: 0, max: 7 },
            Optional,
            "6",
            "Priority in the tag of IEEE 802.1Q. Frames are sent untagged if neither `pcp` nor `vlan` is given.",
        ),
        key("vlan", Kind::Count { min: 1, max: 4094 }, Optional, "10", "VLAN in the tag."),
        key(
            "dscp",
            Kind::Count { min: 0, max: 63 },
            Default("0"),
            "46",
            "Differentiated services code point, over IP only.",
        ),
        key(
            "port",
            PORT,
            Optional,
            "5000",
            "Destination port over UDP and TCP, by which rules recognize its frames; answers and acknowledgments come from it. A port from 49152 on, by the number of the flow, if not given.",
        ),
        key("source_port", PORT, Optional, "5001", "Source port over UDP and TCP, likewise."),
        key("start", TIME, Default("0 s"), "2 s", "No frame is released before this time."),
        key("stop", TIME, Optional, "8 s", "No frame is released from this time on."),
        memory(
            "gap",
            TIME,
            Optional,
            "2 ms",
            "The station holds frames of the flow, a thousand at most, until this long after the one before: the bandwidth allocation gap of a virtual link of AFDX. Up to a second, for frames one way to one listener or a group, from a station without tasks, priority queues and smoother.",
        ),
        key(
            "reply",
            Kind::One(&REPLY),
            Optional,
            "{ size: 60 B, after: 100 us }",
            "What each listener answers. The deadline then covers the round trip.",
        ),
        key(
            "deadline",
            TIME,
            Optional,
            "1 ms",
            "Longest permitted time of a message, or of a file, from its release by the sender's application to its last octet at the receiver's.",
        ),
        key(
            "total",
            SIZE,
            Optional,
            "20 MB",
            "Bulk: octets of one transfer. Without `total`, `transfers` and `bursts` the flow sends until the run ends.",
        ),
        key(
            "every",
            TIME,
            Optional,
            "2 s",
            "Bulk: a transfer of `total` this often, from `start`. One that is due while the last one runs starts right after it.",
        ),
        key(
            "transfers",
            Kind::List(&BULK_TRANSFER),
            Optional,
            "[{ at: 2 s, size: 1 MB }]",
            "Bulk: transfers one by one, instead of `start`, `total` and `every`.",
        ),
        key(
            "bursts",
            Kind::One(&BURSTS),
            Optional,
            "{ size: 1 MB, mean_gap: 25 s }",
            "Bulk: files that are sent again and again, a million at most, instead of `total`, `every` and `transfers`.",
        ),
        key(
            "tcp",
            Kind::One(&TCP),
            Optional,
            "{ window: 7300 B }",
            "Over TCP: parameters of both ends.",
        ),
    ],
};

pub(crate) static REPLY: Section = Section {
    name: "reply",
    noun: "a reply",
    description: "Answer of a listener, with the headers and the tag of the request.",
    keys: &[
        key("size", SIZE, Required, "60 B", "Octets of the answer."),
        key("after", TIME, Default("0 us"), "100 us", "Time the listener's application takes."),
        key(
            "scan",
            TIME,
            Optional,
            "10 ms",
            "Scan cycle of the listener's application, as of a programmable controller: the answer leaves at the first scan after that time, up to one cycle later. None if not given.",
        ),
        key(
            SCAN_PHASE.key,
            Kind::Any(&[Kind::Word(&SCAN_PHASE), TIME]),
            Default(SCAN_PHASE.first()),
            "2 ms",
            "Time of one of the scans, from the start of the run; if random, drawn from the seed, and the same for all answers of the listener.",
        ),
    ],
};

pub(crate) static TCP: Section = Section {
    name: "tcp",
    noun: "tcp parameters",
    description: "What is tunable of TCP. The defaults are those of Linux, with a window of 65535 B.",
    keys: &[
        key("segment", SIZE, Default("1460 B"), "1460 B", "Maximum segment size."),
        key("window", SIZE, Default("65535 B"), "7300 B", "Receive window, at least one segment."),
        key(
            "initial_window",
            Kind::Count { min: 1, max: 1000 },
            Default("10"),
            "10",
            "Initial congestion window in segments.",
        ),
        key(
            "ack_every",
            Kind::Count { min: 1, max: 100 },
            Default("2"),
            "2",
            "Number of segments per acknowledgment.",
        ),
        key("ack_delay", TIME, Default("40 ms"), "40 ms", "Longest delay of an acknowledgement."),
        key("min_rto", TIME, Default("200 ms"), "200 ms", "Smallest retransmission timeout."),
    ],
};

pub(crate) static BULK_TRANSFER: Section = Section {
    name: "transfer",
    noun: "a transfer",
    description: "One file.",
    keys: &[
        key("at", TIME, Required, "2 s", "Time of the request, from the start of the run."),
        key("size", SIZE, Required, "1 MB", "Octets."),
    ],
};

pub(crate) static BURSTS: Section = Section {
    name: "bursts",
    noun: "bursts",
    description: "Files of one size, from `start` to `stop` of the flow; after a million none comes any more.",
    keys: &[
        key("size", SIZE, Required, "1 MB", "Octets of each."),
        key(
            "mean_gap",
            TIME,
            Optional,
            "25 s",
            "Files become due at random, with exponential gaps of this mean. Back to back if not given.",
        ),
    ],
};
