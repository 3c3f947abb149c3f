//! The kinds of mistakes: stable names, each with a paragraph for the reference.

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The scenario can be run, but probably does not say what its author meant.
    Warning,
    /// The scenario cannot be run.
    Error,
}

impl Severity {
    /// Returns `error` or `warning`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A kind of mistake.
#[derive(Debug)]
pub struct Code {
    /// Stable name.
    pub name: &'static str,
    /// Usual severity.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub summary: &'static str,
    /// Why it matters and what to do.
    pub advice: &'static str,
}

const fn error(name: &'static str, summary: &'static str, advice: &'static str) -> Code {
    Code { name, severity: Severity::Error, summary, advice }
}

const fn warning(name: &'static str, summary: &'static str, advice: &'static str) -> Code {
    Code { name, severity: Severity::Warning, summary, advice }
}

pub(super) static SYNTAX: Code = error(
    "syntax",
    "The file is not YAML, or not one document.",
    "The rest of the file cannot be read, so this mistake hides others behind it. The \
     usual causes are tabs, a bracket that is not closed, and text with `: ` in it that \
     needs quotes.",
);
pub(super) static TOO_LARGE: Code = error(
    "too-large",
    "The file is larger, deeper or longer when its aliases are expanded than any plant \
     needs.",
    "Limits: 64 MiB, 32 levels, eight million values, 100 000 nodes, 10 000 switches and hubs, \
     200 000 ports of theirs, one million streams (a flow counts once for each listener), one \
     million transfers.",
);
pub(super) static TOO_MANY_MISTAKES: Code = error(
    "too-many-mistakes",
    "There are more mistakes than are shown.",
    "Mend the first ones; they often cause others.",
);
pub(super) static DUPLICATE_KEY: Code = error(
    "duplicate-key",
    "A key occurs twice in one map.",
    "YAML would silently use one of the two. Remove one; nodes, switches and stacks \
     need different names.",
);
pub(super) static UNKNOWN_KEY: Code = error(
    "unknown-key",
    "A key that the scenario format does not know at this place.",
    "The help names the nearest key. All keys are in [the reference](scenario.md).",
);
pub(super) static MISSING_KEY: Code = error(
    "missing-key",
    "A key without a default is not given.",
    "The help shows one that can be pasted.",
);
pub(super) static WRONG_TYPE: Code = error(
    "wrong-type",
    "A list where a value is expected, a value where keys are expected, and the like.",
    "The label says what belongs there.",
);
pub(super) static MISSING_UNIT: Code = error(
    "missing-unit",
    "A bare number where a quantity is due.",
    "Every quantity carries its unit, so that the unit of a key need not be remembered. \
     Counts, ports and priorities are bare numbers.",
);
pub(super) static WRONG_QUANTITY: Code = error(
    "wrong-quantity",
    "A value of another kind: a bit rate for a time, a word for a size.",
    "The help shows a value of the right kind.",
);
pub(super) static UNKNOWN_UNIT: Code = error(
    "unknown-unit",
    "A unit that does not exist here, or that is used for bits and for bytes.",
    "`Mb`, `Mbps` and `MB/s` are rejected as rates because they are ambiguous; `Mbit/s` is clear.",
);
pub(super) static VALUE_OUT_OF_RANGE: Code = error(
    "value-out-of-range",
    "A value that is too small or too large.",
    "The label says what limits it.",
);
pub(super) static VALUE_TOO_FINE: Code = error(
    "value-too-fine",
    "A value below the resolution: a fraction of a picosecond, of a bit or of an octet.",
    "Times are whole picoseconds, rates whole bit/s, sizes whole octets. Values are never \
     rounded silently.",
);
pub(super) static UNKNOWN_WORD: Code = error(
    "unknown-word",
    "A word that is not one of the choices of a key.",
    "The label lists the choices.",
);
pub(super) static CONFLICTING_KEYS: Code = error(
    "conflicting-keys",
    "Two keys that set the same thing or exclude each other.",
    "Keep one of them.",
);
pub(super) static MISPLACED_KEY: Code = error(
    "misplaced-key",
    "A key that has no meaning for this kind of flow, stack or selection, or in an included file.",
    "Remove it, or change the kind.",
);
pub(super) static UNSUPPORTED_VERSION: Code = error(
    "unsupported-version",
    "The file is written for another version of the format.",
    "This program reads version 1.",
);
pub(super) static BAD_NAME: Code = error(
    "bad-name",
    "A name that could not be referred to.",
    "Names of nodes, switches and stacks have 1 to 100 characters, without `:`, `*` and \
     invisible characters: control characters, those that turn the direction of text, spaces \
     of no width. Names of flows may contain `:`; that of the scenario may hold anything but \
     invisible characters.",
);
pub(super) static DUPLICATE_NAME: Code = error(
    "duplicate-name",
    "Two nodes, or two flows, have the same name.",
    "Names appear in results and must be unique; nodes, switches and hubs share their names. \
     Built-in stacks keep theirs.",
);
pub(super) static UNKNOWN_NODE: Code = error(
    "unknown-node",
    "A link or a flow refers to a node that does not exist.",
    "The help names the nearest node.",
);
pub(super) static UNKNOWN_STACK: Code = error(
    "unknown-stack",
    "A node refers to a stack that does not exist.",
    "Stacks are declared under `stacks:`; `zero` is always there and costs no time, and some \
     [stacks of papers](scenario.md#built-in-stacks) are built in.",
);
pub(super) static UNKNOWN_PORT: Code =
    error("unknown-port", "A port that the switch or hub does not have.", "Ports count from 1.");
pub(super) static WRONG_END: Code = error(
    "wrong-end",
    "The end of a link is a switch or hub without a port, or an end station with one.",
    "An end is `NODE`, `SWITCH:PORT` or `HUB:PORT`.",
);
pub(super) static PORT_IN_USE: Code = error(
    "port-in-use",
    "Two links at one port of a switch or hub.",
    "The help names a port that is free.",
);
pub(super) static SEVERAL_LINKS: Code = error(
    "station-with-several-links",
    "An end station has more than one link.",
    "End stations have one network interface. Put a switch between them.",
);
pub(super) static LINK_TO_ITSELF: Code = error(
    "link-to-itself",
    "Both ends of a link are at the same node.",
    "Such a link would carry frames in a circle.",
);
pub(super) static NONSTANDARD_RATE: Code = error(
    "nonstandard-rate",
    "A link rate that is not an Ethernet rate.",
    "Standard rates are 10 and 100 Mbit/s, 1, 2.5, 5, 10, 25, 40, 50, 100, 200 and 400 \
     Gbit/s. To limit what a flow sends, use the rate of the flow.",
);
pub(super) static HALF_DUPLEX_RATE: Code = error(
    "half-duplex-rate",
    "A hub or a half-duplex link at another rate than 10 or 100 Mbit/s.",
    "Half duplex at 1 Gbit/s would need carrier extension, which no device in use has; faster \
     Ethernet has no half duplex.",
);
pub(super) static HUB_MISMATCH: Code = error(
    "hub-mismatch",
    "A link or a second hub does not fit a hub.",
    "A hub repeats bit by bit, so all its links have its rate; hubs that are linked are one \
     collision domain, and have one rate and one rule for the back-off. To join two rates, put \
     a switch between them.",
);
pub(super) static ACCESS_IMPOSSIBLE: Code = error(
    "access-impossible",
    "An access scheme contradicts itself, or leaves a station without a turn.",
    "Slots may not overlap, the gap between frames and the length of the cables included, and \
     begin after the Sync frame, also after that of a backup master, since a station that hears \
     it late would find its slot past. A station that has frames needs a slot for the largest. \
     The help of the message has the smallest value that works; a value that is not given is \
     chosen so that it does.",
);
pub(super) static SEGMENT_TOO_LONG: Code = error(
    "segment-too-long",
    "Two stations of a collision domain are so far apart that they may not notice a collision.",
    "A signal has to reach the most distant station and come back within a slot of 512 bit \
     times: 51.2 us at 10 Mbit/s, 5.12 us at 100 Mbit/s. Beyond that frames are lost in late \
     collisions (a warning); beyond a slot one way nothing can be simulated.",
);
pub(super) static CUT_THROUGH_HALF_DUPLEX: Code = error(
    "cut-through-half-duplex",
    "A cut-through switch has a half-duplex link, or is linked to a hub.",
    "Such a switch forwards a frame before its end has arrived, and a frame that collides has \
     no end. Store-and-forward switches join hubs.",
);
pub(super) static MIRROR_PORT: Code = error(
    "mirror-port",
    "A mirror port has another use, too.",
    "A mirror port sends copies of the frames of other ports to a station that looks on. It \
     forwards nothing, so no flow can start or end behind it, and it does not look at itself.",
);
pub(super) static ROUTER_ADDRESSES: Code = error(
    "router-addresses",
    "A plant with routers has a switch that learns addresses, or a station that resolves them.",
    "Behind a router every station has the address of the router, so that addresses tell nothing \
     of where a packet goes. Keep `addresses: static`, leave `arp` out, or use a switch instead of \
     the router.",
);
pub(super) static ADMISSION_PLANT: Code = error(
    "admission-plant",
    "Channels are asked for in a plant that they are not made for.",
    "The manager of a switch divides deadlines among ports that send when they choose: hubs and \
     half-duplex links have none. It knows stations by their addresses, which routers hide, and \
     requests are untagged frames that have to reach it. Leave `admission` out, or change the plant.",
);
pub(super) static NOT_A_CHANNEL: Code = error(
    "not-a-channel",
    "A flow with a deadline cannot ask for a channel.",
    "With `admission` every flow with a deadline asks. A channel goes one way in single frames, \
     periodic or sporadic, on the way that the switches choose.",
);
pub(super) static NOT_AN_END_STATION: Code = error(
    "not-an-end-station",
    "A flow starts or ends at a switch or a hub.",
    "They forward frames; add an end station and link it to them.",
);
pub(super) static FLOW_TO_ITSELF: Code = error(
    "flow-to-itself",
    "A flow to its own station needs more than a stack, or a flow names a listener twice.",
    "Packets to oneself turn round in the stack: they meet no group, route, gap or middleware.",
);
pub(super) static NO_ROUTE: Code = error(
    "no-route",
    "No path of links joins the ends of a flow.",
    "A link is missing, or on standby.",
);
pub(super) static BAD_ROUTE: Code = error(
    "bad-route",
    "A `route` that frames cannot take.",
    "A route names every node from the talker to a listener, each once, with switches or hubs in \
     between and a link in use from each to the next; links on standby carry nothing. Where \
     several links join two nodes, name a port, as in `s1:3`. With several listeners it is a list \
     of such lists, one for each, and those of a multicast flow form a tree.",
);
pub(super) static BAD_RELEASES: Code = error(
    "bad-releases",
    "Releases that the traffic of a flow does not allow.",
    "`releases` chooses among the times that a run might draw: on the grid of a periodic flow, within \
     its phase and jitter, and `min_gap` apart in a sporadic one. Other times are another flow: \
     change its `period`, `phase`, `jitter` or `min_gap`.",
);
pub(super) static AMBIGUOUS_ROUTE: Code = error(
    "ambiguous-route",
    "The shortest path leaves the VLAN of a flow, and several ways inside it are equally short.",
    "Give the flow a `route`, or take ports out of the VLAN until one way is left.",
);
pub(super) static VLAN_SEPARATION: Code = error(
    "vlan-separation",
    "No way from talker to listener lies inside the VLAN of the flow.",
    "The message names a port on the shortest path, or on the route. Add the VLAN to the port, or \
     tag the flow with a VLAN of the path.",
);
pub(super) static NETWORK_LOOP: Code = error(
    "network-loop",
    "Switches or hubs form a loop in which a frame would circulate forever.",
    "Only hubs, learning switches, switches that flood multicast and plants with `arp` need a tree; static \
     tables and managed multicast follow shortest paths. Put one link on standby, as a spanning \
     tree would, or give every flow a `route`: then nothing is flooded.",
);
pub(super) static OPEN_RING: Code = warning(
    "open-ring",
    "Switches that do not say how they know addresses form a ring without a link on standby.",
    "Plain switches learn addresses, and a spanning tree or ring protocol blocks a link, so that frames \
     do not circulate. Without it the scenario sends them along shortest paths over all links, which is \
     another plant. Set `standby: true` on the blocked link, or say `addresses: static` if the switches \
     are set up for shortest paths, or give every flow a `route`.",
);
pub(super) static IDLE_RULE: Code = warning(
    "idle-rule",
    "A rule for frames, in a switch or an end station, meets no frame of any flow.",
    "It marks, polices and sorts nothing, and what it was meant for is treated as any other frame. \
     Frames have the `port`, `source_port`, `dscp` and tag that their flow says; ports that it does not \
     say follow from the number of the flow.",
);
pub(super) static PRIORITY_ORDER: Code = warning(
    "priority-order",
    "A switch without `pcp_map` has two priorities in another order than IEEE 802.1Q, and flows of both \
     pass it.",
    "The queues of the scenario are then those of IEEE 802.1D-2004, table 7-2, in which priority 2 ranks \
     below 0, and with four queues 3 shares one with 0. IEEE 802.1Q-2018 (8.6.6, table 8-5) ranks 2 and 3 \
     above 0. Switches are sold with either: look into the data sheet, and write the `pcp_map` of yours.",
);
pub(super) static PAYLOAD_TOO_LARGE: Code = error(
    "payload-too-large",
    "The payload is larger than its protocol carries.",
    "A frame without IP, and ICMP, carries 1500 octets with headers. UDP has datagrams of up to \
     65507 octets, in as many fragments as they need; messages over TCP and samples over RTPS go up \
     to 16 MB, and files with `kind: bulk` have no limit. All of them may have a deadline.",
);
pub(super) static LINK_OVERLOAD: Code = error(
    "link-overload",
    "The mean load of a link or collision domain exceeds its capacity.",
    "Queues would grow without limit and no latency could be given. Wire sizes count, \
     with preamble and gap. It is a warning when only floods or bulk transfers are too \
     much, or with `run: { overload: allow }`.",
);
pub(super) static NODE_OVERLOAD: Code = error(
    "node-overload",
    "On average the protocol stack or the tasks of an end station, or the processor of a router, need \
     more time than is available, or a flow brings more frames than its `gap` lets out.",
    "Sent and received packets count, behind policers what these let through. It is a warning when only floods or bulk transfers \
     are too much, or with `run: { overload: allow }`.",
);
pub(super) static DEADLINE_UNREACHABLE: Code = warning(
    "deadline-unreachable",
    "A deadline is shorter than the time a packet needs when nothing else is on the way.",
    "The sum of stack costs, wire times, propagation and switch latency is already \
     longer.",
);
pub(super) static DEADLINE_SMOOTHED: Code = warning(
    "deadline-smoothed",
    "A flow with a deadline waits for credits in a traffic smoother.",
    "A smoother recognizes real-time packets by DSCP or protocol, not by the deadline in the \
     scenario. What it classifies as bulk may be held back for any time.",
);
pub(super) static NO_PARTITION: Code = warning(
    "no-partition",
    "A search has found no parts of deadlines with which every port sends in time.",
    "`partition: search` then takes the parts with which the busiest port is closest to it. It \
     examines what ports may be asked for in the worst case, so that deadlines may hold all the \
     same; bounds and simulation show which.",
);
pub(super) static IDLE_PARTITION: Code = warning(
    "idle-partition",
    "`partition` says how deadlines are divided, and no port selects by deadline.",
    "Only ports with `selection: edf` send what is due first, and only a manager of channels \
     (`admission`) asks besides them. All results are those without `partition`.",
);
pub(super) static ONE_NETWORK: Code = error(
    "one-network",
    "A station with `redundancy` is not in two networks.",
    "It sends each frame into two networks, so that one may fail: it has a link into each, and \
     neither switches nor links join them.",
);
pub(super) static UNUSED_NODE: Code = warning(
    "unused-node",
    "No flow starts at, ends at or passes a node.",
    "Remove it, or check the names in `flows:`.",
);
pub(super) static UNUSED_STACK: Code = warning(
    "unused-stack",
    "No node has a stack that is declared.",
    "Remove it, or check the names in `nodes:`.",
);
pub(super) static NOTHING_TO_RUN: Code = error(
    "nothing-to-run",
    "There are no flows.",
    "Without traffic there is no latency to measure.",
);
pub(super) static WARMUP_TOO_LONG: Code =
    error("warmup-too-long", "The warm-up is as long as the run.", "Nothing would be measured.");
pub(super) static NEVER_STARTS: Code =
    warning("never-starts", "A flow starts after the end of the run.", "It would send nothing.");
pub(super) static UNMATCHED_ACCEPT: Code = error(
    "unmatched-accept",
    "A line of `accept:` matches no flow.",
    "A requirement that judges nothing would always hold.",
);
pub(super) static NOTHING_REQUIRED: Code = error(
    "nothing-required",
    "A line of `accept:` requires nothing.",
    "Give `sim`, `bound`, `lost` or `missed`.",
);
pub(super) static INVALID_SUM: Code = error(
    "invalid-sum",
    "A `sum` of `accept:` has fewer than two flows, or one with several listeners.",
    "A flow to several listeners has a latency to each, of which the sum could take any. Write \
     a flow of its own to the listener that is meant.",
);
pub(super) static IDLE_REQUIREMENT: Code = error(
    "idle-requirement",
    "A requirement can apply to none of the flows that its line of `accept:` matches.",
    "`deadline` and `missed` judge flows with a deadline; `lost` judges all but floods and bulk \
     transfers, whose losses are their way of finding out what there is. A requirement that \
     judges nothing would always hold.",
);
pub(super) static DEADLINE_NOT_JUDGED: Code = warning(
    "deadline-not-judged",
    "A flow has a deadline, and no line of `accept:` limits its latency or misses.",
    "With `accept:`, only its lines are required. Add a line with `sim: deadline` for the flow, \
     or leave `accept:` out.",
);
pub(super) static NO_COLLISIONS_SEEN: Code = error(
    "no-collisions-seen",
    "The smoother of a shim waits for collisions, but no signal reports them.",
    "It would assume that any network is idle. A port by itself does not see collisions, and at full \
     duplex there are none. Say with `signal:` where they are counted, or give the smoother another \
     detector.",
);
pub(super) static BACKEND_CANNOT: Code = error(
    "backend-cannot",
    "The back end of a shim does not support an option, or not while the shim is running.",
    "The label says why. [The guide](../guides/shim.md#two-back-ends) has a table of what each can do.",
);
pub(super) static UNKNOWN_PATH: Code = error(
    "unknown-path",
    "An override, or a line under `changes`, refers to a path that does not exist.",
    "A path is keys and names joined by dots: `flows.setpoint.period`, `links.0.rate`, \
     `run.seeds`.",
);
pub(super) static UNREAD_FILE: Code = error(
    "unread-file",
    "A file under `include` cannot be read.",
    "Paths are relative to the file that names them, and lead to regular files beneath the folder \
     of the scenario, or of `--include-from`, also if there are links on the way. Nothing is \
     quoted of a file that does not begin with a key of scenarios. Where a program reads a \
     scenario from memory, it may give no further files.",
);
pub(super) static INCLUDED_TWICE: Code = error(
    "included-twice",
    "A file is included twice, or includes itself.",
    "What a file holds is there once, for all files; a second time its names would be \
     duplicates.",
);

/// Every kind of mistake.
pub static ALL: &[&Code] = &[
    &SYNTAX,
    &TOO_LARGE,
    &TOO_MANY_MISTAKES,
    &DUPLICATE_KEY,
    &UNKNOWN_KEY,
    &MISSING_KEY,
    &WRONG_TYPE,
    &MISSING_UNIT,
    &WRONG_QUANTITY,
    &UNKNOWN_UNIT,
    &VALUE_OUT_OF_RANGE,
    &VALUE_TOO_FINE,
    &UNKNOWN_WORD,
    &CONFLICTING_KEYS,
    &MISPLACED_KEY,
    &UNSUPPORTED_VERSION,
    &BAD_NAME,
    &DUPLICATE_NAME,
    &UNKNOWN_NODE,
    &UNKNOWN_STACK,
    &UNKNOWN_PORT,
    &WRONG_END,
    &PORT_IN_USE,
    &SEVERAL_LINKS,
    &LINK_TO_ITSELF,
    &NONSTANDARD_RATE,
    &HALF_DUPLEX_RATE,
    &HUB_MISMATCH,
    &ACCESS_IMPOSSIBLE,
    &SEGMENT_TOO_LONG,
    &CUT_THROUGH_HALF_DUPLEX,
    &MIRROR_PORT,
    &ROUTER_ADDRESSES,
    &ADMISSION_PLANT,
    &NOT_A_CHANNEL,
    &NOT_AN_END_STATION,
    &FLOW_TO_ITSELF,
    &NO_ROUTE,
    &BAD_ROUTE,
    &BAD_RELEASES,
    &AMBIGUOUS_ROUTE,
    &VLAN_SEPARATION,
    &NETWORK_LOOP,
    &OPEN_RING,
    &IDLE_RULE,
    &PRIORITY_ORDER,
    &PAYLOAD_TOO_LARGE,
    &LINK_OVERLOAD,
    &NODE_OVERLOAD,
    &DEADLINE_UNREACHABLE,
    &DEADLINE_SMOOTHED,
    &NO_PARTITION,
    &IDLE_PARTITION,
    &ONE_NETWORK,
    &UNUSED_NODE,
    &UNUSED_STACK,
    &NOTHING_TO_RUN,
    &WARMUP_TOO_LONG,
    &NEVER_STARTS,
    &UNMATCHED_ACCEPT,
    &NOTHING_REQUIRED,
    &INVALID_SUM,
    &IDLE_REQUIREMENT,
    &DEADLINE_NOT_JUDGED,
    &NO_COLLISIONS_SEEN,
    &BACKEND_CANNOT,
    &UNKNOWN_PATH,
    &UNREAD_FILE,
    &INCLUDED_TWICE,
];
