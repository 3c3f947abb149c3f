//! The keys of the traffic smoother.

use rtether_model::smoother::{Adaptive, Doubling, Fixed, Mode, Nt, Rule, TurnBucket};

use super::layer::FRAMES;
use super::{
    BIT_RATE, Default, Kind, Optional, RATIO, Required, SIZE, Section, TIME, Words, choice, key,
    memory, word,
};

/// Modes with the values of the papers.
pub(crate) static MODE: Words<Mode> = Words::new(
    "mode",
    &[
        ("none", Mode::None),
        ("fixed", Mode::Fixed(Fixed::PAPER)),
        ("himd", Mode::Adaptive(Adaptive::HIMD)),
        ("slow-start", Mode::Adaptive(Adaptive::SLOW_START)),
        ("linear", Mode::Adaptive(Adaptive::LINEAR)),
        // Each station gets its own seed when it is added to the plant.
        ("nt", Mode::Nt(Nt::paper(0))),
        ("rtether", Mode::Rtether(TurnBucket::DEFAULT)),
    ],
);

pub(crate) static CLASSIFY: Words<Rule> =
    Words::new("classify", &[("tos", Rule::LINUX), ("udp", Rule::NT)]);

pub(crate) static DOUBLING: Words<Doubling> =
    Words::new("doubling", &[("per-report", Doubling::PerReport), ("per-call", Doubling::PerCall)]);

/// Kinds of detectors.
#[derive(Clone, Copy)]
pub(crate) enum DetectorKind {
    Collisions,
    ClearingRate,
    Backlog,
    Utilization,
    Marks,
    ProbeDelay,
}

pub(crate) static DETECTORS: Words<DetectorKind> = Words::new(
    "kind",
    &[
        ("collisions", DetectorKind::Collisions),
        ("clearing-rate", DetectorKind::ClearingRate),
        ("backlog", DetectorKind::Backlog),
        ("utilization", DetectorKind::Utilization),
        ("marks", DetectorKind::Marks),
        ("probe-delay", DetectorKind::ProbeDelay),
    ],
);

pub(crate) static SMOOTHER: Section = Section {
    name: "smoother",
    noun: "a smoother",
    description: "Holds bulk packets back and lets real-time packets go first (Kweon). Defaults are the values of the paper.",
    keys: &[
        word(
            &MODE,
            Required,
            "himd",
            "`none`: real-time packets go first, nothing is held back. `fixed`: a credit bucket with a constant period. `himd`, `slow-start` and `linear`: the period doubles on congestion and shrinks by a time, to one half, or so that the rate grows by a step. `nt`: a limited amount each period, both of which follow congestion. `rtether`: a credit bucket whose rate follows how much is sent on the medium, which all stations hear alike, and which keeps its place there: equal shares, and more of the medium than with `himd` and `linear`, at the price of a few misses ([figures](../models/smoother-laws.md)).",
        ),
        key(
            CLASSIFY.key,
            Kind::Any(&[Kind::Word(&CLASSIFY), Kind::Count { min: 0, max: 63 }]),
            Optional,
            "tos",
            "Which packets are real-time: those with DSCP 46 or the low-delay bit (`tos`), those over UDP (`udp`), or those with this DSCP. `udp` for `nt`, else `tos`, if not given.",
        ),
        key(
            "ring",
            FRAMES,
            Default("2"),
            "2",
            "Frames below the smoother, the one in transmission included.",
        ),
        memory(
            "real_time_limit",
            FRAMES,
            Default("1000"),
            "1000",
            "Real-time packets that may wait.",
        ),
        memory("bulk_limit", FRAMES, Default("1000"), "1000", "Bulk packets that may wait."),
        key(
            "depth",
            SIZE,
            Optional,
            "1500 B",
            "Credits of a full bucket, 1500 B if not given; `nt`: largest amount of a period, 4500 B if not given.",
        ),
        key(
            "period",
            Kind::Any(&[TIME, Kind::TimeRange]),
            Optional,
            "3 ms .. 100 ms",
            "`fixed`: time between refreshes, 36 ms if not given. Else its range, 3 ms .. 100 ms; 10 ms .. 1 s for `nt`, 2.3 ms .. 100 ms for `rtether`.",
        ),
        key(
            "hold",
            TIME,
            Default("10 ms"),
            "10 ms",
            "`himd`, `slow-start`, `linear`: how long bulk packets are held after a collision.",
        ),
        key(
            "tick",
            TIME,
            Default("1 ms"),
            "1 ms",
            "`himd`, `slow-start`, `linear`: time between two looks at the period.",
        ),
        key(
            "delta",
            TIME,
            Optional,
            "100 us",
            "By how much the period shrinks: every tick with `himd`, 100 us if not given; each period without congestion with `nt`, 10 ms if not given.",
        ),
        key(
            "halve_every",
            TIME,
            Default("200 ms"),
            "200 ms",
            "`slow-start`: time without congestion after which the period is halved.",
        ),
        key(
            "rate_step",
            BIT_RATE,
            Default("4 kbit/s"),
            "4 kbit/s",
            "`linear`: by how much the rate grows every tick. `rtether`: by how much every window, 5 kbit/s if not given.",
        ),
        choice(
            &DOUBLING,
            "per-call",
            "`himd`, `slow-start`, `linear`: a collision doubles the period once, or at every call that finds a bulk packet held back by it, as printed.",
        ),
        key(
            "shift_refresh",
            Kind::Flag,
            Default("false"),
            "true",
            "`himd`, `slow-start`, `linear`: whether doubling postpones the refresh that is due next.",
        ),
        key(
            "forgive_debt",
            Kind::Flag,
            Default("false"),
            "true",
            "`himd`, `slow-start`, `linear`: whether emptying the bucket forgives debt, as printed.",
        ),
        key(
            "depth_step",
            SIZE,
            Default("1500 B"),
            "1500 B",
            "`nt`: least amount of a period, and the step by which it changes.",
        ),
        key(
            "jitter",
            TIME,
            Default("1 ms"),
            "1 ms",
            "`nt`: each period is longer by a random time up to this.",
        ),
        key(
            "growth_percent",
            Kind::Count { min: 100, max: 1000 },
            Optional,
            "150",
            "`himd`, `slow-start`, `linear`, `rtether`: the longer period after congestion in percent of the one before; 200 if not given, 150 for `rtether`.",
        ),
        key(
            "guard",
            TIME,
            Default("150 us"),
            "150 us",
            "`rtether`: room left behind a frame that was waited for, so that an answer to it fits in.",
        ),
        key(
            "window",
            TIME,
            Default("40 ms"),
            "40 ms",
            "`rtether`: time over which the station measures the utilization of the medium; its rate \
             changes once each time.",
        ),
        key(
            "target",
            RATIO,
            Default("65 %"),
            "65 %",
            "`rtether`: target utilization of the medium by all stations together, in whole \
             percent.",
        ),
        key(
            "gain",
            RATIO,
            Default("15 %"),
            "15 %",
            "`rtether`: by how much of the distance to the target the rate moves each window, in whole percent.",
        ),
        key(
            "threshold",
            RATIO,
            Default("78 %"),
            "78 %",
            "`rtether`: utilization of the medium above which the period also grows by `growth_percent`, in whole percent.",
        ),
        key(
            "detector",
            Kind::One(&DETECTOR),
            Optional,
            "{ kind: collisions }",
            "How congestion is detected; by the station's own collisions if not given. Not for \
             `none`, `fixed` and `rtether`, which listens itself.",
        ),
    ],
};

pub(crate) static DETECTOR: Section = Section {
    name: "detector",
    noun: "a detector",
    description: "How a smoother detects congestion.",
    keys: &[
        word(
            &DETECTORS,
            Required,
            "collisions",
            "Collisions of frames that have been sent, octets that the driver clears per second while it is busy, octets that wait below the smoother, or the utilization of the medium. For [shims](shim.md) alone: octets that come back with a congestion mark (ECN), or the one-way delay of probes to other shims ([probes](shim.md#probes)).",
        ),
        key(
            "visibility",
            RATIO,
            Optional,
            "25 %",
            "`collisions`: share of the collisions that are seen, in whole parts of a million. 25 % for `nt`, else all, if not given.",
        ),
        key(
            "floor",
            BIT_RATE,
            Optional,
            "4 Mbit/s",
            "`clearing-rate`: congestion below this rate. Needed there.",
        ),
        key(
            "low",
            SIZE,
            Optional,
            "1500 B",
            "`backlog`: congestion is over at this many octets. Needed there.",
        ),
        key(
            "high",
            SIZE,
            Optional,
            "6 kB",
            "`backlog`: congestion begins at this many octets. Needed there.",
        ),
        key(
            "threshold",
            RATIO,
            Optional,
            "60 %",
            "`utilization`, `marks`: congestion above this share, in whole percent. Needed there.",
        ),
        key(
            "window",
            TIME,
            Optional,
            "10 ms",
            "`utilization`, `marks`: time over which it is measured. Needed there.",
        ),
        key(
            "excess",
            TIME,
            Optional,
            "500 us",
            "`probe-delay`: congestion if a probe takes longer than the shortest recent one to the same station by more than this. Needed there; the time of four full frames at the slowest link of the way is a good value.",
        ),
        key(
            "epoch",
            TIME,
            Optional,
            "10 s",
            "`probe-delay`: the shortest is taken over one to two of these, so that clocks may drift; 10 s if not given.",
        ),
    ],
};
