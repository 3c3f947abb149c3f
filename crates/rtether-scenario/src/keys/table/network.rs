//! The keys of switches, hubs and links.

use rtether_model::network::{
    AddressTable, Backoff, Duplex, ForwardingMode, MirrorDirection, MulticastForwarding, Selection,
    TagHandling,
};
use rtether_model::quantity::{BitRate, Duration};

use super::ingress::INGRESS_KEY;
use super::unknown::UNKNOWN;
use super::{
    ACCESS, BIT_RATE, Default, Key, Kind, Optional, Quantity, RATIO, Required, SIZE, Section, TIME,
    Words, choice, key, memory, word,
};

pub(crate) static FORWARDING: Words<ForwardingMode> = Words::new(
    "mode",
    &[
        ("store-and-forward", ForwardingMode::StoreAndForward),
        ("cut-through", ForwardingMode::CutThrough),
    ],
);

/// What a word of `selection` means.
#[derive(Clone, Copy)]
pub(crate) enum Selected {
    /// A selection that needs nothing else.
    Alone(Selection),
    /// A selection made from the values of a key, one for each queue; 1 for queues beyond the last.
    PerQueue(&'static str, fn([u64; 8]) -> Selection),
    /// A selection made from the values of two keys: one for each queue, where zero is none, and one
    /// for each queue below the lowest that has one; 1 for queues beyond the last.
    Below([&'static str; 2], fn([[u64; 8]; 2]) -> Selection),
}

pub(crate) static SELECTION: Words<Selected> = Words::new(
    "selection",
    &[
        ("strict", Selected::Alone(Selection::StrictPriority)),
        ("fcfs", Selected::Alone(Selection::Fcfs)),
        (
            "wrr",
            Selected::PerQueue("weights", |weights| Selection::Wrr { weights: narrow(weights) }),
        ),
        (
            "strict+wrr",
            Selected::PerQueue("weights", |weights| Selection::StrictWrr {
                weights: narrow(weights),
            }),
        ),
        ("drr", Selected::PerQueue("quanta", |quanta| Selection::Drr { quanta: octets(quanta) })),
        (
            "cbs",
            Selected::PerQueue("idle_slopes", |slopes| Selection::Cbs {
                idle_slopes: slopes.map(BitRate::from_bps),
            }),
        ),
        (
            "cbs+drr",
            Selected::Below(["idle_slopes", "quanta"], |[slopes, quanta]| Selection::CbsDrr {
                idle_slopes: slopes.map(BitRate::from_bps),
                quanta: octets(quanta),
            }),
        ),
        ("edf", Selected::Alone(Selection::EarliestDeadline)),
    ],
);

pub(super) const QUANTA: Key = key(
    "quanta",
    Kind::Values(&Kind::Count { min: 64, max: 65_535 }),
    Optional,
    "[1522, 1522, 3044, 6088]",
    "Octets per round of each queue, from queue 0; frames count from addresses to FCS. Needed for `drr`, and for `cbs+drr`: there of each queue below the lowest one with an idle slope.",
);

pub(super) const IDLE_SLOPES: Key = key(
    "idle_slopes",
    Kind::Values(&BIT_RATE),
    Optional,
    "[0 bit/s, 20 Mbit/s, 30 Mbit/s, 25 Mbit/s]",
    "Idle slope of each queue, from queue 0: the rate that the shaper lets it have, preamble and gap included; 0 for a queue without a shaper. Needed for `cbs` and `cbs+drr`.",
);

pub(super) const WEIGHTS: Key = key(
    "weights",
    Kind::Values(&Kind::Count { min: 1, max: 255 }),
    Optional,
    "[1, 2, 4, 8]",
    "Frames per round of each queue, from queue 0. Needed for `wrr` and `strict+wrr`.",
);

const THRESHOLDS: Key = memory(
    "thresholds",
    Kind::Values(&SIZE),
    Optional,
    "[8 KiB, 16 KiB, 16 KiB, 64 KiB]",
    "Octets of frames that may wait in each queue, from queue 0; a frame that does not fit is dropped, even if the buffer of the port has room.",
);

const QUEUES: Key = key(
    "queues",
    Kind::Count { min: 1, max: 8 },
    Default("1"),
    "4",
    "Egress queues per port. A higher number is more urgent.",
);

const PCP_MAP: Key = key(
    "pcp_map",
    Kind::Values(&Kind::Count { min: 0, max: 7 }),
    Optional,
    "[1, 0, 0, 1, 2, 2, 3, 3]",
    "Queue of each priority 0 to 7, queues counting from 0. IEEE 802.1D-2004, table 7-2 if not given: priority 0 then stands above 1 and 2. IEEE 802.1Q-2018, table 8-5 has 2 and 3 above 0; a warning says where that matters.",
);

const BUFFER: Key = memory(
    "buffer",
    SIZE,
    Default("1 MiB"),
    "64 KiB",
    "Octets of frames that may wait at one port; a frame that does not fit is dropped.",
);

const SHARED_BUFFER: Key = memory(
    "shared_buffer",
    SIZE,
    Optional,
    "512 KiB",
    "Octets that may wait in the whole switch, if its ports share one memory.",
);

impl Selected {
    /// Returns the keys that hold its values.
    pub(crate) const fn keys(&self) -> &[&'static str] {
        match self {
            Self::Alone(_) => &[],
            Self::PerQueue(key, _) => core::slice::from_ref(key),
            Self::Below(keys, _) => keys,
        }
    }
}

/// Narrows octets that the table limits to 65 535.
fn octets(values: [u64; 8]) -> [u16; 8] {
    values.map(|value| u16::try_from(value).unwrap_or(u16::MAX))
}

/// Narrows values that the table limits to below 256.
fn narrow(values: [u64; 8]) -> [u8; 8] {
    values.map(|value| u8::try_from(value).unwrap_or(u8::MAX))
}

pub(crate) static ADDRESSES: Words<AddressTable> = Words::new(
    "addresses",
    &[
        ("static", AddressTable::Static),
        ("learning", AddressTable::Learning { aging: Duration::from_secs(300) }),
    ],
);

pub(crate) static MULTICAST: Words<MulticastForwarding> = Words::new(
    "multicast",
    &[("managed", MulticastForwarding::Managed), ("unmanaged", MulticastForwarding::Unmanaged)],
);

pub(crate) static TAGGING: Words<TagHandling> =
    Words::new("tags", &[("keep", TagHandling::Keep), ("strip", TagHandling::Strip)]);

/// VLANs of a trunk that are not listed.
#[derive(Clone, Copy)]
pub(crate) enum Unlisted {
    /// Every one.
    All,
    /// Those declared behind it.
    Registered,
}

pub(crate) static TRUNK: Words<Unlisted> =
    Words::new("trunk", &[("all", Unlisted::All), ("registered", Unlisted::Registered)]);

pub(crate) static BACKOFF: Words<Backoff> = Words::new(
    "backoff",
    &[("standard", Backoff::Standard), ("upper-end-included", Backoff::UpperEndIncluded)],
);

pub(crate) static DUPLEX: Words<Duplex> =
    Words::new("duplex", &[("full", Duplex::Full), ("half", Duplex::Half)]);

/// What ports offer to the other end of a link.
pub(super) const OFFERED_RATE: Key = key(
    "rate",
    BIT_RATE,
    Optional,
    "100 Mbit/s",
    "Fastest rate that the ports offer, with all slower ones. A link without `rate` runs at the slower of those of its two ends.",
);
pub(super) const OFFERED_DUPLEX: Key = word(
    &DUPLEX,
    Optional,
    "half",
    "Whether the ports offer full duplex, which they do if nothing is said. A link without `duplex` is half-duplex if one of its ends offers nothing else.",
);

pub(crate) static SWITCH: Section = Section {
    name: "switch",
    noun: "a switch",
    description: "A bridge in the sense of IEEE 802.1Q. Ports count from 1.",
    keys: &[
        key("ports", Kind::Count { min: 1, max: 1024 }, Required, "8", "Number of ports."),
        key(
            "latency",
            Kind::Any(&[TIME, Kind::TimeRange, Kind::One(&UNKNOWN)]),
            Default("0 us"),
            "10 us",
            "Time from the moment a frame may be forwarded to its entry into the egress queue. In a range, `25 us .. 45 us`, every frame takes another time; frames from one port keep their order. A latency that is not known, `{ unknown: 2 us .. 20 us }`, is one time for all frames of the switch; not where `partition: search` divides deadlines.",
        ),
        choice(
            &FORWARDING,
            "cut-through",
            "Forward after the last bit and drop frames with errors, or after the header. Cut-through applies towards ports that are not faster than the one a frame arrives on.",
        ),
        QUEUES,
        PCP_MAP,
        choice(
            &SELECTION,
            "wrr",
            "Which queue sends next: the highest that is not empty; first come, first served over all queues; weighted round robin; the highest strictly and the others by weighted round robin (1P3Q1T); deficit round robin, which shares octets (`drr`); the credit-based shaper of IEEE 802.1Q for queues with an idle slope, strict priority among those that may send (`cbs`); the same above deficit round robin, by which the queues below the lowest one with an idle slope share what the others leave, as in `queues: 4, selection: cbs+drr, idle_slopes: [0 bit/s, 0 bit/s, 20 Mbit/s, 30 Mbit/s], quanta: [1522, 3044]`; the frame that is due first over all queues (`edf`). There a frame is due after the part of its flow's deadline for this port (`partition`), and frames without a deadline go last.",
        ),
        WEIGHTS,
        QUANTA,
        IDLE_SLOPES,
        BUFFER,
        THRESHOLDS,
        SHARED_BUFFER,
        choice(
            &ADDRESSES,
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
        choice(
            &MULTICAST,
            "unmanaged",
            "Multicast only towards its listeners, as GMRP or MMRP end up with, or to every port of the VLAN.",
        ),
        choice(
            &TAGGING,
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
        INGRESS_KEY,
        ICMP_UNCLASSIFIED,
        OFFERED_RATE,
        OFFERED_DUPLEX,
        key(
            "mirror",
            Kind::One(&MIRROR),
            Optional,
            "{ to: 8, ports: [1, 2] }",
            "A port that sends copies of frames at other ports to a station that looks on.",
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

/// Frames that a mirror port sends a copy of.
pub(crate) static DIRECTION: Words<MirrorDirection> = Words::new(
    "direction",
    &[
        ("both", MirrorDirection::Both),
        ("received", MirrorDirection::Received),
        ("sent", MirrorDirection::Sent),
    ],
);

pub(crate) static MIRROR: Section = Section {
    name: "mirror",
    noun: "a mirror",
    description: "A mirror port takes no part in forwarding; the station behind it has no flows. It has the speed and the buffer of any port: copies that find no room are dropped, which concerns no flow.",
    keys: &[
        key(
            "to",
            Kind::Count { min: 1, max: 1024 },
            Required,
            "8",
            "The port that sends the copies.",
        ),
        key(
            "ports",
            Kind::Values(&Kind::Count { min: 1, max: 1024 }),
            Optional,
            "[1, 2]",
            "Ports whose frames are copied; all others if not given.",
        ),
        choice(
            &DIRECTION,
            "received",
            "Frames received there without error, as they came; those sent, as they leave; or both.",
        ),
    ],
};

pub(crate) static PORT: Section = Section {
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
            TRUNK.key,
            Kind::Any(&[Kind::Word(&TRUNK), Kind::Values(&Kind::Count { min: 1, max: 4094 })]),
            Optional,
            "[10, 20]",
            "Member of these VLANs, or of all, tagged; or of those `registered`, as GVRP or MVRP end up with: what ports behind it are members of (`access`, listed in `trunk`, `native`), and what stations behind it send and receive with a tag.",
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
        word(
            &SELECTION,
            Optional,
            "drr",
            "Which queue sends next at this port, if not as at the others of the switch.",
        ),
        WEIGHTS,
        QUANTA,
        IDLE_SLOPES,
        THRESHOLDS,
        INGRESS_KEY,
        OFFERED_RATE,
        OFFERED_DUPLEX,
    ],
};

const ICMP_UNCLASSIFIED: Key = key(
    "icmp_unclassified",
    Kind::Flag,
    Default("false"),
    "true",
    "Whether these rules overlook ICMP, as some switches do.",
);

pub(crate) static ROUTER: Section = Section {
    name: "router",
    noun: "a router",
    description: "Forwards between networks: it stores every packet, decides about one after the other, and hands it to an egress port. It floods nothing, and keeps tags. Ports count from 1.",
    keys: &[
        key("ports", Kind::Count { min: 1, max: 1024 }, Required, "2", "Number of ports."),
        key(
            "cost",
            Kind::Any(&[TIME, Kind::TimeRange, Kind::One(&UNKNOWN)]),
            Required,
            "20 us",
            "Time of the processor for a packet, whatever its size. In a range, `20 us .. 35 us`, every packet takes another time.",
        ),
        key(
            "cost_per_octet",
            TIME,
            Default("0 us"),
            "8 ns",
            "Further time for each octet of the frame, without tag.",
        ),
        memory(
            "queue",
            Kind::Count { min: 0, max: 1_000_000 },
            Default("1000"),
            "64",
            "Packets that may wait for the processor; further ones are dropped.",
        ),
        INGRESS_KEY,
        ICMP_UNCLASSIFIED,
        OFFERED_RATE,
        OFFERED_DUPLEX,
        QUEUES,
        PCP_MAP,
        choice(&SELECTION, "strict", "Which queue of a port sends next, as at a switch."),
        WEIGHTS,
        QUANTA,
        IDLE_SLOPES,
        BUFFER,
        THRESHOLDS,
        SHARED_BUFFER,
    ],
};

pub(crate) static HUB: Section = Section {
    name: "hub",
    noun: "a hub",
    description: "A repeater: what one port receives all others send. Its stations, and those of the hubs it is linked to, share one collision domain, with CSMA/CD unless `access` says otherwise. Ports count from 1.",
    keys: &[
        key("ports", Kind::Count { min: 1, max: 1024 }, Required, "8", "Number of ports."),
        key(
            "rate",
            BIT_RATE,
            Required,
            "10 Mbit/s",
            "Rate of the hub and of all its links: 10 or 100 Mbit/s.",
        ),
        key(
            "delay",
            TIME,
            Default("0 us"),
            "500 ns",
            "From the first bit at one port to the first bit at the others.",
        ),
        choice(
            &BACKOFF,
            "standard",
            "Slots that a station may wait after its n-th collision with one frame: 0 to 2^k - 1 with k = min(n, 10), or 0 to 2^k as some papers print it. Hubs of one collision domain agree.",
        ),
        key(
            "access",
            Kind::One(&ACCESS),
            Optional,
            "{ scheme: tdma }",
            "Who may send on the medium, and when. CSMA/CD if not given.",
        ),
    ],
};

pub(crate) static LINK: Section = Section {
    name: "link",
    noun: "a link",
    description: "A link between two ports.",
    keys: &[
        key(
            "ends",
            Kind::Values(&Kind::Name("node")),
            Required,
            "[plc1, \"sw1:1\"]",
            "The two ends: `NODE`, `SWITCH:PORT` or `HUB:PORT`.",
        ),
        key(
            "rate",
            BIT_RATE,
            Optional,
            "100 Mbit/s",
            "One of the rates of Ethernet: 10 or 100 Mbit/s, 1, 2.5, 5, 10, 25, 40, 50, 100, 200 or 400 Gbit/s. Needed but for links of a hub, which have its rate, and between ends that both say what they offer.",
        ),
        word(
            &DUPLEX,
            Optional,
            "half",
            "Both ends may send at once, or one at a time by CSMA/CD (10 and 100 Mbit/s only). If not given, half for links of a hub and of ports that offer nothing else, otherwise full.",
        ),
        key(
            "length",
            Kind::Quantity(Quantity::Length),
            Default("0 m"),
            "20 m",
            "Length of the cable, 5 ns a metre.",
        ),
        key("propagation", TIME, Optional, "100 ns", "Propagation delay, instead of the length."),
        key(
            "errors",
            RATIO,
            Default("0"),
            "1e-9",
            "Share of frames that arrive with a wrong FCS, in whole parts of a billion; not between two hubs.",
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
