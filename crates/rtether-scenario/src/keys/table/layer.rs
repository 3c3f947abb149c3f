//! The keys of the priority queues between stack and driver.

use rtether_model::endnode::{LowTurn, ReceiveSelection, RingEmpty, TransmitStrategy};
use rtether_model::network::Selection;
use rtether_model::quantity::Duration;

use super::headers::{DSCP, ETHERTYPE, PORT_RANGE, PROTOCOL_KEY, SOURCE_PORT};
use super::network::{IDLE_SLOPES, QUANTA, SELECTION, WEIGHTS};
use super::{Default, Kind, Optional, Required, Section, TIME, Words, choice, key, memory, word};

/// Number of a queue.
const QUEUE: Kind = Kind::Count { min: 0, max: 7 };
/// Capacity of a queue in frames.
pub(super) const FRAMES: Kind = Kind::Count { min: 1, max: 10_000_000 };
const FRAMES_EACH: Kind = Kind::Any(&[FRAMES, Kind::Values(&FRAMES)]);
const SPAN_OR_NEVER: Kind = Kind::Any(&[TIME, Kind::Word(&IDLE_RELEASE)]);
/// Idle releases with a name.
pub(crate) static IDLE_RELEASE: Words<Option<Duration>> =
    Words::new("idle_release", &[("never", None)]);

/// Selections of receive queues; `None` for stack instances.
pub(crate) static RECEIVE_SELECTION: Words<Option<ReceiveSelection>> = Words::new(
    "selection",
    &[
        ("highest-first", Some(ReceiveSelection::HighestFirst)),
        ("promoting", Some(ReceiveSelection::PROMOTING)),
        ("low-flag", Some(ReceiveSelection::LOW_FLAG)),
        ("instances", None),
    ],
);

pub(crate) static LOW_TURN: Words<LowTurn> =
    Words::new("low_turn", &[("all", LowTurn::AllQueues), ("below-top", LowTurn::BelowTop)]);

/// Transmit strategies with their defaults; the number of rings is always given.
pub(crate) static STRATEGY: Words<TransmitStrategy> = Words::new(
    "strategy",
    &[
        ("fifo", TransmitStrategy::Fifo),
        ("moderate", TransmitStrategy::MODERATE),
        ("strict", TransmitStrategy::STRICT),
        ("rings", TransmitStrategy::Rings { count: 1 }),
        ("select", TransmitStrategy::Selection(Selection::StrictPriority)),
    ],
);

pub(crate) static EMPTY: Words<RingEmpty> = Words::new(
    "empty",
    &[("idle", RingEmpty::NoneWaitingOrSending), ("none-waiting", RingEmpty::NoneWaiting)],
);

pub(crate) static PRIORITIES: Section = Section {
    name: "priorities",
    noun: "priorities",
    description: "Which queue a frame uses: that of the priority in its tag, else that of the first header rule that matches, else that of untagged frames. A higher number is more urgent; queues count from 0. Without `priorities` there are two queues, and priorities 4 to 7 use the higher one.",
    keys: &[
        key("queues", Kind::Count { min: 1, max: 8 }, Default("2"), "2", "Number of queues."),
        key(
            "pcp_map",
            Kind::Values(&QUEUE),
            Optional,
            "[0, 0, 0, 0, 1, 1, 1, 1]",
            "Queue of each priority 0 to 7. IEEE 802.1D-2004, table 7-2 if not given.",
        ),
        key(
            "untagged",
            QUEUE,
            Default("0"),
            "0",
            "Queue of frames without a tag that no rule matches.",
        ),
        key(
            "rules",
            Kind::List(&RULE),
            Optional,
            "[{ dscp: 46, queue: 1 }]",
            "Header rules for frames without a tag, at most 256.",
        ),
        key(
            "icmp_unclassified",
            Kind::Flag,
            Default("false"),
            "true",
            "Whether header rules overlook ICMP, as some devices do.",
        ),
    ],
};

pub(crate) static RULE: Section = Section {
    name: "rule",
    noun: "a rule",
    description: "Matches a frame that has every field named and a fitting value there.",
    keys: &[
        key("queue", QUEUE, Required, "1", "Queue of the frames."),
        DSCP,
        PROTOCOL_KEY,
        PORT_RANGE,
        SOURCE_PORT,
        key("from", Kind::Text, Optional, "10.0.0.0/8", "Source address, or its upper bits."),
        key("to", Kind::Text, Optional, "10.0.0.7", "Destination address, or its upper bits."),
        ETHERTYPE,
    ],
};

pub(crate) static RECEIVE_QUEUES: Section = Section {
    name: "receive_queues",
    noun: "receive queues",
    description: "How received frames reach the stack: several queues in front of one stack, or one stack instance for each queue.",
    keys: &[
        word(
            &RECEIVE_SELECTION,
            Required,
            "highest-first",
            "`highest-first`: the highest queue that is not empty (algorithm A of Skeie). `promoting`: the same, and after some frames the head of every queue moves one queue up (B). `low-flag`: a frame of the top queue sets a flag that lets the next frame pass whatever its queue (C). `instances`: a stack instance for each queue, the higher ones preempt.",
        ),
        memory(
            "limit",
            FRAMES_EACH,
            Default("1000"),
            "1000",
            "Frames that may wait in each queue: one number for all, or a list from queue 0.",
        ),
        memory(
            "input_limit",
            FRAMES,
            Default("1000"),
            "1000",
            "Frames that may wait to be sorted into the queues; not for `instances`.",
        ),
        key(
            "picks",
            Kind::Count { min: 1, max: 1_000_000 },
            Default("8"),
            "8",
            "`promoting`: frames between two promotions.",
        ),
        key(
            IDLE_RELEASE.key,
            SPAN_OR_NEVER,
            Default("1 ms"),
            "never",
            "`low-flag`: time without a frame of the top queue after which the flag counts as set. With `never`, lower queues starve without top traffic, as printed.",
        ),
        choice(
            &LOW_TURN,
            "below-top",
            "`low-flag`: queues that are looked at when the flag is set; the top one last with `below-top`.",
        ),
    ],
};

pub(crate) static TRANSMIT_QUEUES: Section = Section {
    name: "transmit_queues",
    noun: "transmit queues",
    description: "When frames move from software queues into the ring of the network interface.",
    keys: &[
        word(
            &STRATEGY,
            Required,
            "strict",
            "`fifo`: one queue, a frame enters whenever there is room. `moderate`: a high frame enters at once, a low one when the ring is empty. `strict`: a high frame enters at once, and the first low one behind it. `rings`: the interface has several rings and serves the highest first. `select`: a frame enters whenever there is room, from the queue that `selection` chooses.",
        ),
        choice(
            &SELECTION,
            "wrr",
            "`select`: which queue is next, as at the ports of switches; not `fcfs` and not `edf`.",
        ),
        WEIGHTS,
        QUANTA,
        IDLE_SLOPES,
        key("ring", FRAMES, Default("16"), "16", "Descriptors of each ring."),
        memory(
            "limit",
            FRAMES_EACH,
            Default("1000"),
            "1000",
            "Frames that may wait in each queue: one number for all, or a list from queue 0. The one queue of `fifo` takes one number.",
        ),
        key(
            "high_from",
            QUEUE,
            Optional,
            "1",
            "`moderate` and `strict`: lowest queue that counts as high. The highest one only if not given.",
        ),
        choice(
            &EMPTY,
            "none-waiting",
            "`moderate`: the ring is empty when no frame waits there and none is in transmission (`idle`), or while one may be in transmission.",
        ),
        key(
            IDLE_RELEASE.key,
            SPAN_OR_NEVER,
            Default("1 ms"),
            "never",
            "`strict`: time without any entry after which one low frame enters. With `never`, low frames starve without high traffic, as printed.",
        ),
        key(
            "rings",
            Kind::Count { min: 1, max: 8 },
            Optional,
            "2",
            "`rings`: their number, needed there. The highest queues have one each, the others share the lowest.",
        ),
    ],
};
