//! The keys of a shim: its own, and those of the layer, which scenario stacks share.

use rtether_model::quantity::Duration;
use rtether_model::shim::{Backend, Signal, Waiting};

use super::layer::{PRIORITIES, RECEIVE_QUEUES, RULE, TRANSMIT_QUEUES};
use super::smoother::{DETECTOR, SMOOTHER};
use super::stations::{PRIORITIES_KEY, RECEIVE_KEY, SMOOTHER_KEY, TRANSMIT_KEY};
use super::{
    BIT_RATE, Default, Kind, Optional, Required, Section, TIME, VERSION_KEY, Words, choice, key,
    word,
};

/// All sections of a shim configuration, in the order of the reference.
pub(crate) static SHIM_SECTIONS: &[&Section] = &[
    &SHIM,
    &TAGS,
    &SIGNAL,
    &PROBES,
    &PRIORITIES,
    &RULE,
    &RECEIVE_QUEUES,
    &TRANSMIT_QUEUES,
    &SMOOTHER,
    &DETECTOR,
];

pub(crate) static BACKEND: Words<Backend> =
    Words::new("backend", &[("user", Backend::User), ("kernel", Backend::Kernel)]);

pub(crate) static WAITING: Words<Waiting> =
    Words::new("waiting", &[("block", Waiting::Block), ("spin", Waiting::Spin)]);

pub(crate) static SIGNAL_FROM: Words<Signal> = Words::new(
    "from",
    &[
        ("port", Signal::Port),
        ("driver", Signal::DriverCollisions { every: Duration::from_ms(1) }),
        ("reports", Signal::Reports),
    ],
);

pub(crate) static SHIM: Section = Section {
    name: "shim",
    noun: "a shim configuration",
    description: "The whole file. Keys that begin with `x-` are ignored: a place for anchors. `priorities`, `receive_queues`, `transmit_queues` and `smoother` are those of stacks in [scenarios](scenario.md#stack).",
    keys: &[
        VERSION_KEY,
        choice(
            &BACKEND,
            "kernel",
            "Back end: the engines in a thread of the shim, which can do everything, or filters \
             and queues of the kernel, which cost less and can do less.",
        ),
        key(
            "rate",
            BIT_RATE,
            Required,
            "100 Mbit/s",
            "Rate of the link, 64 kbit/s to 400 Gbit/s. The shim hands out frames no faster, so that none waits below it.",
        ),
        PRIORITIES_KEY,
        RECEIVE_KEY,
        TRANSMIT_KEY,
        SMOOTHER_KEY,
        key(
            "tags",
            Kind::One(&TAGS),
            Optional,
            "{ insert: [0, 6], strip: true }",
            "Priorities on the wire. Tags are left alone if it is not given.",
        ),
        key(
            "signal",
            Kind::One(&SIGNAL),
            Optional,
            "{ from: driver }",
            "Signal for the smoother's detector; the port's own state if not given.",
        ),
        key(
            "probes",
            Kind::One(&PROBES),
            Optional,
            "{ to: [\"02:00:00:00:00:07\"] }",
            "Probes between shims, for the detector `probe-delay`. A shim that has this key answers the probes of others; none are sent or answered if it is not given.",
        ),
        key(
            "core",
            Kind::Count { min: 0, max: 1023 },
            Optional,
            "1",
            "Core of the shim's thread; any if it is not given.",
        ),
        key(
            "priority",
            Kind::Count { min: 1, max: 80 },
            Optional,
            "40",
            "Real-time priority of the shim's thread (`SCHED_FIFO`); an ordinary thread if it is not given.",
        ),
        choice(
            &WAITING,
            "spin",
            "Whether the idle thread sleeps, or polls, which occupies a core and saves the \
             wake-up.",
        ),
    ],
};

pub(crate) static TAGS: Section = Section {
    name: "tags",
    noun: "tags",
    description: "IEEE 802.1Q tags that the stack does not see.",
    keys: &[
        key(
            "insert",
            Kind::Values(&Kind::Count { min: 0, max: 7 }),
            Optional,
            "[0, 6]",
            "Priority (PCP) that an untagged frame of each queue gets on its way out, from queue 0. No tag is put in if it is not given.",
        ),
        key(
            "vlan",
            Kind::Count { min: 0, max: 4094 },
            Default("0"),
            "0",
            "VLAN of these tags; 0 for tags with a priority alone.",
        ),
        key(
            "strip",
            Kind::Flag,
            Default("false"),
            "true",
            "Whether tags are taken off received frames: those of this VLAN, and those of none.",
        ),
    ],
};

pub(crate) static SIGNAL: Section = Section {
    name: "signal",
    noun: "a signal",
    description: "Where the detector of a smoother gets what it needs.",
    keys: &[
        word(
            &SIGNAL_FROM,
            Required,
            "driver",
            "`port`: sizes, times and what waits; no collision is ever seen. `driver`: the collisions that the driver counts, on half duplex. `reports`: those that an emulated hub reports.",
        ),
        key(
            "every",
            TIME,
            Default("1 ms"),
            "1 ms",
            "`driver`: time between two readings, 100 us to 1 s.",
        ),
    ],
};

pub(crate) static PROBES: Section = Section {
    name: "probes",
    noun: "probes",
    description: "Small frames that measure the delay to another station.",
    keys: &[
        key(
            "to",
            Kind::Values(&Kind::Text),
            Optional,
            "[\"02:00:00:00:00:07\"]",
            "Ethernet addresses of the stations that are asked, at most 8, best one beyond each link where frames of several stations meet. Their shims must have `probes`, too. Without it the shim only answers.",
        ),
        key(
            "every",
            TIME,
            Default("10 ms"),
            "10 ms",
            "Time between two probes to one station, 1 ms to 1 s.",
        ),
    ],
};
