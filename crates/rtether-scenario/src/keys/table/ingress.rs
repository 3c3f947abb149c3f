//! The keys of rules for frames that arrive at a switch.

use rtether_model::ingress::Exceed;

use super::headers::{DSCP, ETHERTYPE, PORT_RANGE, PROTOCOL_KEY, SOURCE_PORT};
use super::{BIT_RATE, Default, Key, Kind, Optional, SIZE, Section, Words, key};

/// What becomes of frames above a limit, but for priorities.
pub(crate) static EXCEED: Words<Exceed> = Words::new("exceed", &[("drop", Exceed::Drop)]);

const PCP: Kind = Kind::Count { min: 0, max: 7 };
const STATIONS: Kind = Kind::Any(&[Kind::Name("node"), Kind::Values(&Kind::Name("node"))]);

pub(super) const INGRESS_KEY: Key = key(
    "ingress",
    Kind::List(&INGRESS),
    Optional,
    "[{ protocol: udp, port: 5000, mark: 5 }, { from: pc1, police: 10 Mbit/s, burst: 8 kB }]",
    "Rules for frames that arrive, before a router decides about them, at most 256: the first that matches decides. At a port they replace those of the switch.",
);

pub(crate) static INGRESS: Section = Section {
    name: "ingress",
    noun: "a rule",
    description: "Matches a frame that has every field named and a fitting value there. One without `max_sdu`, `police`, `mark` and `mark_dscp` lets frames pass as they are, and keeps them from later rules.",
    keys: &[
        key("from", STATIONS, Optional, "pc1", "Sending station, or a list of them."),
        key(
            "to",
            STATIONS,
            Optional,
            "[server, plc1]",
            "Receiving station, or a list of them; frames to groups have none.",
        ),
        key(
            "pcp",
            PCP,
            Optional,
            "5",
            "Priority on arrival: that of the tag, or the one the port gives to untagged frames.",
        ),
        DSCP,
        PROTOCOL_KEY,
        PORT_RANGE,
        SOURCE_PORT,
        ETHERTYPE,
        key(
            "mark",
            PCP,
            Optional,
            "5",
            "New priority: it chooses the queue, and goes into the tag if there is one.",
        ),
        key(
            "mark_dscp",
            Kind::Count { min: 0, max: 63 },
            Optional,
            "46",
            "New DSCP, which rules and layers behind see; frames without IP have none.",
        ),
        key(
            "max_sdu",
            SIZE,
            Optional,
            "200 B",
            "Largest SDU that passes, before `police`; larger frames are dropped. It counts from behind EtherType to before FCS, with padding: 1500 B in an untagged frame of 1518 B.",
        ),
        key(
            "block",
            Kind::Flag,
            Default("false"),
            "true",
            "Whether a frame above `max_sdu` blocks the stream: all later frames that match at its port are dropped (`StreamBlockedDueToOversizeFrame`).",
        ),
        key(
            "police",
            BIT_RATE,
            Optional,
            "10 Mbit/s",
            "Limit on the frames that match, at each port for itself; their octets count from addresses to FCS.",
        ),
        key(
            "burst",
            SIZE,
            Optional,
            "8 kB",
            "Octets that may come at once under `police`, needed there.",
        ),
        key(
            EXCEED.key,
            Kind::Any(&[Kind::Word(&EXCEED), PCP]),
            Default("drop"),
            "0",
            "What becomes of frames above the limit: `drop`, or the priority with which they go on.",
        ),
    ],
};
