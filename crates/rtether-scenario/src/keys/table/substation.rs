//! The keys of the generator for substations.

use super::flows::PHASE;
use super::{BIT_RATE, Default, Kind, Optional, PACKET_RATE, SIZE, Section, TIME, choice, key};

pub(crate) static GENERATE: Section = Section {
    name: "generate",
    noun: "`generate`",
    description: "Generators of whole plants.",
    keys: &[key(
        "substation",
        Kind::One(&SUBSTATION),
        Optional,
        "{ feeder_bays: 8 }",
        "A substation on one Ethernet: process, bay and station level.",
    )],
};

const BAYS: Kind = Kind::Count { min: 0, max: 500 };
const DEVICES: Kind = Kind::Count { min: 0, max: 100 };

/// Requirement R167; values of the catalogue, section 1.
pub(crate) static SUBSTATION: Section = Section {
    name: "substation",
    noun: "a substation",
    description: "Bays of process interfaces (PISAs) and bay nodes around one switch each, a top-level switch, a Busbar unit and a file server. The nodes of bay 1 are `bay01.ct1`, `bay01.de1` (Distance Earth), `bay01.fe1` (Fast Earth), `bay01.cb1` (Circuit Breaker), `bay01.bc` (Bay Controller), `bay01.pu` (Protection Unit), `bay01.du` (Differential Protection Unit) and `bay01.switch`; transformer bays follow the feeder bays. The others are `busbar`, `server` and `top`. Flows are named `bay01.ct1 > bay01.pu`. They can be used in `flows` and `accept`.",
    keys: &[
        key("feeder_bays", BAYS, Default("8"), "8", "Feeder bays."),
        key("transformer_bays", BAYS, Default("2"), "2", "Transformer bays; same traffic."),
        key("ct_vt", DEVICES, Default("3"), "3", "Current and voltage transformers in a bay."),
        key("distance_earth", DEVICES, Default("4"), "4", "Distance Earth PISAs in a bay."),
        key("fast_earth", DEVICES, Default("1"), "1", "Fast Earth PISAs in a bay."),
        key("circuit_breakers", DEVICES, Default("1"), "1", "Circuit Breaker PISAs in a bay."),
        key(
            "pisa_rate",
            PACKET_RATE,
            Default("10000 packets/s"),
            "5000 packets/s",
            "IP processing rate of the PISAs.",
        ),
        key(
            "bay_rate",
            PACKET_RATE,
            Default("20000 packets/s"),
            "20000 packets/s",
            "IP processing rate of the three bay nodes.",
        ),
        key(
            "busbar_rate",
            PACKET_RATE,
            Default("50000 packets/s"),
            "40000 packets/s",
            "IP processing rate of the Busbar unit.",
        ),
        key(
            "server_rate",
            PACKET_RATE,
            Default("50000 packets/s"),
            "50000 packets/s",
            "IP processing rate of the file server.",
        ),
        key("link_rate", BIT_RATE, Default("100 Mbit/s"), "1 Gbit/s", "Rate of all links."),
        key("switch_latency", TIME, Default("1 us"), "1 us", "Latency of all switches."),
        key(
            "sample_rate",
            PACKET_RATE,
            Default("1000 packets/s"),
            "1440 packets/s",
            "Samples from each CT/VT to each of the three bay nodes and the Busbar unit.",
        ),
        key("sample_size", SIZE, Default("32 B"), "32 B", "Payload of a sample."),
        key(
            "command_rate",
            PACKET_RATE,
            Default("250 packets/s"),
            "250 packets/s",
            "Commands from each bay node to the circuit breakers of its bay, and from the Busbar unit to all.",
        ),
        key("command_size", SIZE, Default("16 B"), "16 B", "Payload of a command."),
        key(
            "exchange_rate",
            PACKET_RATE,
            Default("10 packets/s"),
            "10 packets/s",
            "Slow exchange between every PISA and the three bay nodes, each way.",
        ),
        key("exchange_size", SIZE, Default("32 B"), "32 B", "Payload of the slow exchange."),
        key(
            "deadline",
            TIME,
            Default("1 ms"),
            "1 ms",
            "Deadline of samples and commands; the slow exchange has none.",
        ),
        choice(&PHASE, "synchronized", "Phases of the streams."),
        key("files", Kind::Flag, Default("true"), "false", "Whether files are transferred."),
        key("file_size", SIZE, Default("1 MB"), "1 MB", "Size of a file."),
        key(
            "file_every",
            TIME,
            Default("2 s"),
            "2 s",
            "PISA k of the substation downloads a file at k times this time.",
        ),
        key(
            "bay_file_at",
            TIME,
            Default("3 s"),
            "3 s",
            "Time at which the bay nodes download a file.",
        ),
        key(
            "upload_at",
            TIME,
            Default("100 s"),
            "100 s",
            "Time at which CT/VT PISA 2 of bay 1 uploads.",
        ),
        key(
            "upload_size",
            SIZE,
            Default("1 MB"),
            "1 MB",
            "Size of the upload by CT/VT 2 of bay 1.",
        ),
        key("window", SIZE, Default("7300 B"), "8760 B", "TCP receive window."),
        key("segment", SIZE, Default("1460 B"), "1460 B", "TCP maximum segment size."),
    ],
};
