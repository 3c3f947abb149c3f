//! The keys of a profile: a device as it was identified.

use rtether_proto::identify::{MisfitKind, Order};

use super::flows::SCAN_PHASE;
use super::layer::{PRIORITIES, RECEIVE_QUEUES, RULE, TRANSMIT_QUEUES};
use super::smoother::{DETECTOR, SMOOTHER};
use super::stations::{ARP, JITTER, OUTLIERS, QUANTILE, SERVERS, STACK, TASKS};
use super::unknown::UNKNOWN;
use super::{
    Default, Key, Kind, Optional, Required, SIZE, Section, TIME, VERSION_KEY, Words, key, word,
};
use crate::device::Method;

/// All sections of a profile, in the order of the reference.
pub(crate) static PROFILE_SECTIONS: &[&Section] = &[
    &PROFILE,
    &DEVICE,
    &SERIES,
    &FIGURE,
    &NOT_KNOWN,
    &MISFIT,
    &BIN,
    &TRIAL,
    &TAIL,
    &TRIPS,
    &SCANNED,
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
];

pub(crate) static PROFILE: Section = Section {
    name: "profile",
    noun: "a profile",
    description: "The whole file. Keys that begin with `x-` are ignored. A scenario takes `stack` and `reply` from it; both are made of the series that `profile` names.",
    keys: &[
        VERSION_KEY,
        key(
            "profile",
            Kind::One(&DEVICE),
            Required,
            "{ device: Pump drive 7, date: 2026-11-30 }",
            "The device.",
        ),
        key(
            "stack",
            Kind::One(&STACK),
            Optional,
            "{ both: { unknown: 318 us .. 324 us } }",
            "What the stack costs, as of a [stack](scenario.md#stack) of a scenario. Without it a scenario cannot use the profile.",
        ),
        key(
            "reply",
            Kind::One(&SCANNED),
            Optional,
            "{ after: 1 ms, scan: 10 ms }",
            "When answers leave. Flows to the device whose `reply` says neither `after` nor `scan` take both from it.",
        ),
        key(
            "requests",
            Kind::List(&SERIES),
            Optional,
            "[]",
            "What was found, one item for each protocol, at most 64.",
        ),
    ],
};

pub(crate) static DEVICE: Section = Section {
    name: "device",
    noun: "a device",
    description: "The device, and when and from where it was asked. Texts have at most 400 characters.",
    keys: &[
        key("device", Kind::Text, Required, "Pump drive 7", "What it is, such as maker and type."),
        key("firmware", Kind::Text, Optional, "V2.9.4", "Version of its firmware."),
        key("address", Kind::Text, Optional, "192.0.2.7", "Where it was asked."),
        key("date", Kind::Text, Required, "2026-11-30", "When it was asked."),
        key("host", Kind::Text, Optional, "probe1", "The host that asked."),
        key(
            "stack_from",
            Kind::Name("protocol"),
            Optional,
            "echo",
            "The series that `stack` is made of.",
        ),
        key(
            "reply_from",
            Kind::Name("protocol"),
            Optional,
            "modbus",
            "The series that `reply` is made of.",
        ),
    ],
};

pub(crate) static METHOD: Words<Method> = Words::new(
    "method",
    &[("quiet", Method::Quiet), ("load", Method::Load), ("capture", Method::Capture)],
);

pub(crate) static DEVICE_ORDER: Words<Order> =
    Words::new("order", &[("arrival", Order::Arrival), ("priority", Order::Priority)]);

pub(crate) static MISFIT_KIND: Words<MisfitKind> = Words::new(
    "kind",
    &[
        (MisfitKind::Steps.word(), MisfitKind::Steps),
        (MisfitKind::Pauses.word(), MisfitKind::Pauses),
        (MisfitKind::Threads.word(), MisfitKind::Threads),
    ],
);

const COUNT: Kind = Kind::Count { min: 0, max: u64::MAX >> 1 };

const fn figure(name: &'static str, example: &'static str, description: &'static str) -> Key {
    key(name, Kind::One(&FIGURE), Optional, example, description)
}

pub(crate) static SERIES: Section = Section {
    name: "series",
    noun: "a series",
    description: "What requests of one protocol have shown. A figure that is not there is among `unknown`, with the reason.",
    keys: &[
        key(
            "protocol",
            Kind::Text,
            Required,
            "echo",
            "Small letters, digits and hyphens; each once.",
        ),
        word(
            &METHOD,
            Required,
            "quiet",
            "How it was measured: single requests, bursts as well, or requests of others.",
        ),
        key("sent", COUNT, Default("0"), "270", "Requests sent."),
        key("answered", COUNT, Default("0"), "270", "Requests answered."),
        key("lost", COUNT, Default("0"), "0", "Requests without an answer."),
        figure(
            "fixed",
            "{ value: 320 us, low: 318 us, high: 324 us }",
            "Receiving a request and sending its answer together, independent of sizes, least.",
        ),
        figure(
            "request_octet",
            "{ value: 43 ns, low: 42 ns, high: 44 ns }",
            "More for each octet of the request.",
        ),
        figure(
            "answer_octet",
            "{ value: 10 ns, low: 9 ns, high: 11 ns }",
            "More for each octet of the answer.",
        ),
        figure(
            "both_octets",
            "{ value: 53 ns, low: 52 ns, high: 54 ns }",
            "More for each octet that request and answer both have more, where they have one size.",
        ),
        figure(
            "receive",
            "{ value: 205 us, low: 203 us, high: 208 us }",
            "Receiving alone, the smallest request, jitter included.",
        ),
        figure(
            "jitter",
            "{ value: 9 us, low: 7 us, high: 12 us }",
            "Mean of the jitter of both directions together.",
        ),
        figure("scan", "{ value: 10 ms, low: 9.99 ms, high: 10.01 ms }", "Time from scan to scan."),
        word(&SERVERS, Optional, "shared", "One processor for both directions, or one for each."),
        word(
            &DEVICE_ORDER,
            Optional,
            "arrival",
            "Whether requests are served as they arrive, or those of high priority first.",
        ),
        key(
            "queue",
            Kind::Count { min: 0, max: 10_000_000 },
            Optional,
            "8",
            "Packets that may wait, without the one in service.",
        ),
        key(
            "unknown",
            Kind::List(&NOT_KNOWN),
            Optional,
            "[{ figure: scan, why: nothing repeats in step }]",
            "Figures that were not identified.",
        ),
        key(
            "misfits",
            Kind::List(&MISFIT),
            Optional,
            "[{ kind: pauses, why: 12 of 270 answers are late }]",
            "What the device does that the model does not have; the profile is an assumption in a scenario then.",
        ),
        key(
            "histogram",
            Kind::List(&BIN),
            Optional,
            "[{ from: 318 us, to: 320 us, count: 17 }]",
            "Round trips less the share of the network, at most 64 bins in order.",
        ),
        key(
            "confirmed",
            Kind::One(&TRIAL),
            Optional,
            "{ holds: true, predicted: { p50: 330 us, p99: 350 us }, measured: { p50: 331 us, p99: 349 us } }",
            "Whether the figures predict a series that they were not made of.",
        ),
        key(
            "trips",
            Kind::List(&TRIPS),
            Optional,
            "[{ request: 64 B, answer: 64 B, times: [320 us, 331 us] }]",
            "Round trips of single requests less the share of the network, at most 4096, from which series are estimated again when they are merged.",
        ),
    ],
};

pub(crate) static FIGURE: Section = Section {
    name: "figure",
    noun: "a figure",
    description: "An estimate with the interval that holds the true time in 95 % of all measurements.",
    keys: &[
        key("value", TIME, Required, "320 us", "The estimate."),
        key("low", TIME, Required, "318 us", "Lower end, at most the estimate."),
        key("high", TIME, Required, "324 us", "Upper end, at least the estimate."),
    ],
};

pub(crate) static NOT_KNOWN: Section = Section {
    name: "not-known",
    noun: "a figure that is not known",
    description: "A figure that was not identified.",
    keys: &[
        key("figure", Kind::Text, Required, "scan", "Its key."),
        key("why", Kind::Text, Required, "nothing repeats in step", "Why."),
    ],
};

pub(crate) static MISFIT: Section = Section {
    name: "misfit",
    noun: "a misfit",
    description: "What a device does that the model does not have.",
    keys: &[
        word(
            &MISFIT_KIND,
            Required,
            "steps",
            "Answers delayed by multiples of some time, answers late as if the device had stopped, or requests worked at side by side.",
        ),
        key("why", Kind::Text, Required, "12 of 270 answers are late", "What was seen."),
    ],
};

pub(crate) static BIN: Section = Section {
    name: "bin",
    noun: "a bin",
    description: "Round trips within a range.",
    keys: &[
        key("from", TIME, Required, "318 us", "Lower end, which is in the bin."),
        key("to", TIME, Required, "320 us", "Upper end, which is not."),
        key("count", COUNT, Required, "17", "How many."),
    ],
};

pub(crate) static TRIPS: Section = Section {
    name: "trips",
    noun: "trips",
    description: "Round trips of requests of one size.",
    keys: &[
        key("request", SIZE, Required, "64 B", "Frame of the request, from addresses to FCS."),
        key("answer", SIZE, Required, "64 B", "Frame of the answer."),
        key(
            "times",
            Kind::Values(&TIME),
            Required,
            "[320 us, 331 us]",
            "The round trips, in the order of the requests.",
        ),
    ],
};

pub(crate) static TRIAL: Section = Section {
    name: "trial",
    noun: "a trial",
    description: "A series that no figure was made of.",
    keys: &[
        key(
            "holds",
            Kind::Flag,
            Required,
            "true",
            "Whether the prediction is close enough; if not, the profile is an assumption in a scenario.",
        ),
        key(
            "predicted",
            Kind::One(&TAIL),
            Required,
            "{ p50: 330 us, p99: 350 us }",
            "What the figures predict.",
        ),
        key(
            "measured",
            Kind::One(&TAIL),
            Required,
            "{ p50: 331 us, p99: 349 us }",
            "What was measured.",
        ),
    ],
};

pub(crate) static TAIL: Section = Section {
    name: "tail",
    noun: "two quantiles",
    description: "Two quantiles of round trips.",
    keys: &[
        key("p50", TIME, Required, "330 us", "Median."),
        key("p99", TIME, Required, "350 us", "99 % quantile."),
    ],
};

pub(crate) static SCANNED: Section = Section {
    name: "scanned",
    noun: "a reply",
    description: "When answers of the device leave, as in the [reply](scenario.md#reply) of a flow.",
    keys: &[
        key("after", TIME, Default("0 us"), "1 ms", "Time the application takes."),
        key(
            "scan",
            TIME,
            Optional,
            "10 ms",
            "Scan cycle: an answer leaves at the first scan after that time.",
        ),
        key(
            SCAN_PHASE.key,
            Kind::Any(&[Kind::Word(&SCAN_PHASE), TIME]),
            Default(SCAN_PHASE.first()),
            "random",
            "Time of one of the scans, from the start of the run.",
        ),
    ],
};
