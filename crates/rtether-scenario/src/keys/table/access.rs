//! The keys of access schemes.

use rtether_model::access::SchemeKind;

use super::{Default, Kind, Optional, Required, SIZE, Section, TIME, Words, choice, key};

/// A position in a round of cycles.
const CYCLES: Kind = Kind::Count { min: 1, max: 1_000 };

pub(crate) static SCHEME: Words<SchemeKind> = Words::new(
    "scheme",
    &[
        ("csma-cd", SchemeKind::CsmaCd),
        ("tdma", SchemeKind::Tdma),
        ("polling", SchemeKind::Polling),
        ("powerlink", SchemeKind::Powerlink),
        ("ftt-ethernet", SchemeKind::Ftt),
        ("timed-token", SchemeKind::TimedToken),
        ("virtual-token", SchemeKind::VirtualToken),
        ("demand-priority", SchemeKind::DemandPriority),
        ("summation", SchemeKind::Summation),
    ],
);

pub(crate) static ACCESS: Section = Section {
    name: "access",
    noun: "an access scheme",
    description: "Who may send on the medium of a hub, and when. Joined hubs have one scheme, given at one of them. Values that are not given are those that the frames of the plant need.",
    keys: &[
        choice(
            &SCHEME,
            "tdma",
            "`csma-cd`: stations contend. `tdma`: time slots in a cycle that a master announces, as of RTnet. `polling`: a master asks its slaves in turn. `powerlink`: a cycle of ETHERNET Powerlink. `ftt-ethernet`: a master triggers the messages of each elementary cycle. `timed-token`: a token with reservations, as of RETHER. `virtual-token`: a ring without a token frame, as of VTPE. `demand-priority`: the hub grants, as of 100VG-AnyLAN. `summation`: one frame passes through all stations, as of EtherCAT. Stations queue the frames of files and floods apart from all others, and send those first.",
        ),
        key(
            "cycle",
            TIME,
            Optional,
            "5 ms",
            "Length of the cycle; the shortest possible if not given. With `polling` the shortest, with `timed-token` the longest. Not with `virtual-token` and `demand-priority`.",
        ),
        key(
            "master",
            Kind::Name("node"),
            Optional,
            "plc1",
            "With `tdma`, `polling`, `powerlink`, `ftt-ethernet` and `summation`: station that begins each cycle; the first one if not given.",
        ),
        key(
            "backup",
            Kind::Name("node"),
            Optional,
            "plc2",
            "With `tdma`: station that begins a cycle which the master has not begun.",
        ),
        key(
            "backup_at",
            TIME,
            Optional,
            "200 us",
            "With `tdma`: when in the cycle the backup master sends, if it has heard no Sync frame; as early as possible if not given.",
        ),
        key(
            "response",
            TIME,
            Default("1 us"),
            "10 us",
            "With `polling`, `powerlink`, `ftt-ethernet` and `timed-token`: time from the last bit of a frame that asks a station to the first bit of its answer.",
        ),
        key(
            "slots",
            Kind::List(&SLOT),
            Optional,
            "[{ node: plc1, at: 200 us, size: 128 B }]",
            "With `tdma`: the time slots; one for each station that sends, one after the other, if not given.",
        ),
        key(
            "messages",
            Kind::List(&SYNCHRONOUS),
            Optional,
            "[{ node: drive1, size: 64 B, every: 2 }]",
            "With `ftt-ethernet`: the synchronous messages; one in each cycle for each station that sends real-time frames, if not given.",
        ),
        key(
            "window",
            TIME,
            Optional,
            "200 us",
            "With `ftt-ethernet`: time for synchronous messages in a cycle; the shortest in which all of them are in time if not given.",
        ),
        key(
            "retries",
            Kind::Count { min: 0, max: 10 },
            Default("1"),
            "0",
            "With `polling`: how often the master asks again if no answer comes.",
        ),
        key(
            "reservations",
            Kind::List(&RESERVATION),
            Optional,
            "[{ node: plc1, time: 2 ms }]",
            "With `timed-token`: time for real-time frames in each cycle; that of the largest frame for each station that sends any, if not given.",
        ),
        key(
            "silence",
            TIME,
            Optional,
            "20 us",
            "With `virtual-token`: silence after which the turn goes to the next station; twice the gap and the longest way if not given.",
        ),
        key(
            "signalling",
            TIME,
            Default("1 us"),
            "2 us",
            "With `demand-priority`: time before each frame in which the hub grants it.",
        ),
        key(
            "promotion",
            TIME,
            Default("250 ms"),
            "200 ms",
            "With `demand-priority`: time after which a frame of normal priority counts as high.",
        ),
        key(
            "pass",
            TIME,
            Default("1 us"),
            "500 ns",
            "With `summation`: how long a station holds the frame, on its way out and back together.",
        ),
        key(
            "others",
            Kind::Values(&Kind::Name("node")),
            Optional,
            "[laptop]",
            "Stations that do not follow the scheme and send by CSMA/CD. There is no bound then.",
        ),
        key(
            "lost",
            Kind::Values(&CONTROL_FRAME),
            Optional,
            "[3]",
            "Control frames that no station receives, by their number on this medium, from 1.",
        ),
        key(
            "silent",
            Kind::List(&SILENT),
            Optional,
            "[{ node: plc1, from: 1 s }]",
            "Stations that fail.",
        ),
    ],
};

const CONTROL_FRAME: Kind = Kind::Count { min: 1, max: 1_000_000_000_000 };

pub(crate) static SLOT: Section = Section {
    name: "slot",
    noun: "a slot",
    description: "A time slot, in which its station sends at most one frame.",
    keys: &[
        key("node", Kind::Name("node"), Required, "plc1", "Its station."),
        key("at", TIME, Required, "200 us", "From the start of the cycle to that of the slot."),
        key(
            "size",
            SIZE,
            Optional,
            "128 B",
            "Largest frame, from addresses to FCS; the largest of the station if not given.",
        ),
        key(
            "of",
            CYCLES,
            Default("1"),
            "2",
            "The slot counts in one of this many cycles; others may use it in the rest.",
        ),
        key("turn", CYCLES, Default("1"), "2", "In which of these, from 1."),
    ],
};

pub(crate) static SYNCHRONOUS: Section = Section {
    name: "synchronous",
    noun: "a synchronous message",
    description: "A real-time frame that the master of FTT-Ethernet lists in its trigger messages.",
    keys: &[
        key("node", Kind::Name("node"), Required, "plc1", "Its station."),
        key(
            "size",
            SIZE,
            Optional,
            "128 B",
            "Largest frame, from addresses to FCS; the largest real-time one of the station if not given.",
        ),
        key("every", CYCLES, Default("1"), "2", "It is sent once in this many cycles."),
    ],
};

pub(crate) static RESERVATION: Section = Section {
    name: "reservation",
    noun: "a reservation",
    description: "Time that a station has in each cycle.",
    keys: &[
        key("node", Kind::Name("node"), Required, "plc1", "The station."),
        key("time", TIME, Required, "2 ms", "For its real-time frames, with the gap behind each."),
    ],
};

pub(crate) static SILENT: Section = Section {
    name: "silence",
    noun: "a silent station",
    description: "A station that fails during the run.",
    keys: &[
        key("node", Kind::Name("node"), Required, "plc1", "The station."),
        key(
            "from",
            TIME,
            Default("0 s"),
            "1 s",
            "Time from which it sends nothing on this medium; frames wait in its queue.",
        ),
    ],
};
