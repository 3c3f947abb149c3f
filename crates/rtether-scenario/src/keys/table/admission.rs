//! The keys of admission.

use super::{Default, Key, Kind, Optional, Required, Section, TIME, key};

pub(super) const ADMISSION_KEY: Key = key(
    "admission",
    Kind::One(&ADMISSION),
    Optional,
    "{ at: sw1 }",
    "Flows with a deadline ask the manager of a switch for a channel, over the network, before they begin; `partition` says how it divides deadlines. None if not given: all flows begin at once.",
);

pub(crate) static ADMISSION: Section = Section {
    name: "admission",
    noun: "admission",
    description: "The management of a switch, as a station `SWITCH.manager` behind a port of its own, as fast as the fastest link there. When a flow with a deadline would release first, its station sends a request instead: a frame with the stations, the period, the size and the deadline. The manager refuses it if a port could not send everything in time, or else asks the listeners, and answers; with a grant the flow begins. Such flows go one way in single frames, periodic or sporadic. One that stops gives its channel back. These frames are untagged and have no deadline.",
    keys: &[
        key(
            "at",
            Kind::Name("switch"),
            Required,
            "sw1",
            "The switch whose management grants channels, for all switches of the plant.",
        ),
        key(
            "channels",
            Kind::Count { min: 1, max: 100_000 },
            Default("1000"),
            "64",
            "Channels that the manager keeps, those not decided yet included.",
        ),
        key(
            "accepts",
            Kind::Count { min: 1, max: 100_000 },
            Default("1000"),
            "16",
            "Channels that a station consents to as a listener.",
        ),
        key(
            "retry",
            TIME,
            Default("10 ms"),
            "2 ms",
            "Time after which a station repeats a frame that is not answered. The manager takes half of it.",
        ),
        key(
            "attempts",
            Kind::Count { min: 1, max: 60 },
            Default("3"),
            "5",
            "Frames, the first one included; after one more `retry` a request counts as refused.",
        ),
        key(
            "cost",
            TIME,
            Default("0 us"),
            "40 us",
            "Time that the manager takes for a frame, one after the other.",
        ),
    ],
};
