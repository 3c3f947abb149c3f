//! Flows: talkers and listeners, traffic, and deadlines.

use alloc::string::String;
use alloc::vec::Vec;

use crate::admission::Admission;
use crate::network::{Network, NodeId, Pcp, PortId, Vid};
use crate::quantity::{BitRate, Bytes, Duration};
use crate::wire::{Encapsulation, Frames};

/// Index of a flow in the scenario's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// Returns the position in the list of flows.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Frames of one talker to its listeners under one contract.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Flows of the same class are shown together; empty for no class.
    pub class: String,
    /// What it is for, in one line; empty if nothing was said.
    pub description: String,
    /// Sending end station.
    pub talker: NodeId,
    /// Receiving end stations, at least one.
    pub listeners: Vec<NodeId>,
    /// How several listeners are reached.
    pub delivery: Delivery,
    /// The route to each listener: the ports by which frames leave the nodes on it, from the
    /// talker's port on. Empty if the switches choose the way.
    pub routes: Vec<Vec<PortId>>,
    /// Protocol headers.
    pub encapsulation: Encapsulation,
    /// Octets of a message, regardless of the number of frames that carry it; for bulk TCP the
    /// maximum segment size counts instead.
    pub payload: Bytes,
    /// Tag the talker puts on its frames.
    pub tag: Option<Tag>,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Ports of UDP or TCP.
    pub ports: Ports,
    /// When frames are released.
    pub traffic: Traffic,
    /// No frame is released before this time.
    pub start: Duration,
    /// No frame is released from this time on.
    pub stop: Option<Duration>,
    /// When its first packets are released, from the start of the run; what is not listed is drawn.
    /// Only what the traffic allows ([`Self::obstacle_to_releases`]), so that no bound depends on it.
    pub releases: Vec<Duration>,
    /// The talker holds its frames behind the stack until this long after the one before: the
    /// bandwidth allocation gap of a virtual link (ARINC 664, part 7).
    pub gap: Option<Duration>,
    /// Answer of each listener, if it answers.
    pub reply: Option<Reply>,
    /// Messages and answers travel in order over one TCP connection with each listener, open from
    /// the start; not for bulk flows.
    pub connection: Option<TcpParameters>,
    /// Longest permitted latency of a message, from its release to the last octet delivered to the
    /// application; with a reply the round trip. The messages of a bulk flow are its files.
    pub deadline: Option<Duration>,
}

impl Flow {
    /// Creates a flow in plain UDP, to each listener in turn, from the start of the run to its end:
    /// without class, description, routes, tag, ports, gap, reply and deadline. Others differ in fields: `Flow { tag, ..Flow::new() }`.
    pub const fn new(
        name: String,
        talker: NodeId,
        listeners: Vec<NodeId>,
        payload: Bytes,
        traffic: Traffic,
    ) -> Self {
        Self {
            name,
            class: String::new(),
            description: String::new(),
            talker,
            listeners,
            delivery: Delivery::Unicast,
            routes: Vec::new(),
            encapsulation: Encapsulation::Udp,
            payload,
            tag: None,
            dscp: 0,
            ports: Ports::UNSET,
            traffic,
            start: Duration::ZERO,
            stop: None,
            releases: Vec::new(),
            gap: None,
            reply: None,
            connection: None,
            deadline: None,
        }
    }
}

/// Ports of UDP or TCP, as the talker sends them; answers and acknowledgments have them the other
/// way round. One that is not set follows from the number of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Port of the talker.
    pub source: Option<u16>,
    /// Port of the listener.
    pub destination: Option<u16>,
}

impl Ports {
    /// First of the 2^14 dynamic ports (RFC 6335, 6), for which dissectors do not guess a protocol.
    const FIRST_DYNAMIC: u16 = 49_152;

    /// No port is set.
    pub const UNSET: Self = Self { source: None, destination: None };

    /// Returns source and destination port of the frames of flow number `flow`; those of a talker
    /// that are not set are dynamic ports by the lower 14 bits of the number, those of a listener by
    /// the next 14.
    pub fn of_frames(self, flow: u32, is_answer: bool) -> [u16; 2] {
        let dynamic = |number: u32| {
            let [_, _, high, low] = number.to_be_bytes();
            Self::FIRST_DYNAMIC + u16::from_be_bytes([high & 0x3F, low])
        };
        let talker = self.source.unwrap_or_else(|| dynamic(flow));
        let listener = self.destination.unwrap_or_else(|| dynamic(flow >> 14));
        if is_answer { [listener, talker] } else { [talker, listener] }
    }
}

/// How several listeners are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// One frame for each listener, sent in the order of the list.
    Unicast,
    /// One frame, copied by the switches.
    Multicast,
}

/// IEEE 802.1Q tag as sent by the talker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Priority.
    pub pcp: Pcp,
    /// VLAN; 0 for a priority tag.
    pub vid: Vid,
}

/// Answer of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Octets of the answer.
    pub payload: Bytes,
    /// Time the listener's application takes.
    pub after: Duration,
    /// Its scans: the answer leaves at the first one after that time. `None`: at that time.
    pub scan: Option<Scan>,
}

impl Reply {
    /// Creates an answer of this many octets that leaves after a time.
    pub const fn new(payload: Bytes, after: Duration) -> Self {
        Self { payload, after, scan: None }
    }

    /// Returns the longest time from a request to its answer.
    pub fn longest(&self) -> Duration {
        self.after + self.scan.map_or(Duration::ZERO, |scan| scan.period)
    }
}

/// The cycle of an application that reads its inputs, computes, and writes its outputs, as a
/// programmable controller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// From one to the next.
    pub period: Duration,
    /// Time of one of them; a random one is the same for all answers of a station.
    pub phase: Phase,
}

/// When an application releases its frames.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Every `period`, late by at most `release_jitter` (uniform; the grid does not move).
    Periodic {
        /// Interval of the grid.
        period: Duration,
        /// Position of the first release.
        phase: Phase,
        /// Largest lateness of a release.
        release_jitter: Duration,
    },
    /// Bursts of `burst` frames, at least `min_gap` from one burst to the next; gaps are
    /// `min_gap` plus an exponential time such that their mean is `mean_gap`.
    Sporadic {
        /// Shortest time between the starts of two bursts.
        min_gap: Duration,
        /// Mean time between them, at least `min_gap`.
        mean_gap: Duration,
        /// Frames released together.
        burst: u32,
    },
    /// Exponential gaps.
    Poisson {
        /// Mean gap.
        mean_interval: Duration,
    },
    /// Frames at a constant rate without regard to capacity.
    Flood {
        /// Time between two frames.
        interval: Duration,
    },
    /// A request as soon as the answer to the previous one has arrived (adaptive, as `ping -A`);
    /// needs a reply.
    Adaptive {
        /// Time from the answer to the next request.
        pause: Duration,
        /// A request without an answer is given up after this time, and the next one is sent.
        timeout: Duration,
    },
    /// TCP transfers from talker to listener.
    Bulk(Bulk),
}

impl Traffic {
    /// Traffic at every `period`, never late.
    pub const fn periodic(period: Duration, phase: Phase) -> Self {
        Self::Periodic { period, phase, release_jitter: Duration::ZERO }
    }

    /// Returns the grid of the releases; `None` if there is none.
    pub const fn releases(&self) -> Option<Releases> {
        let (period, jitter, burst) = match *self {
            Self::Periodic { period, release_jitter, .. } => (period, release_jitter, 1),
            Self::Sporadic { min_gap, burst, .. } => (min_gap, Duration::ZERO, burst),
            Self::Flood { interval } => (interval, Duration::ZERO, 1),
            Self::Poisson { .. } | Self::Adaptive { .. } | Self::Bulk(_) => return None,
        };
        Some(Releases { period, jitter, burst })
    }
}

/// Releases on a grid: at each of its points at most this many frames to a listener, late by at
/// most the jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Releases {
    /// Shortest interval of the grid.
    pub period: Duration,
    /// Largest delay behind a point of the grid.
    pub jitter: Duration,
    /// Frames at a point.
    pub burst: u32,
}

/// Position of the first release of a periodic flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// This long after the start of the flow; equal phases are synchronized.
    Fixed(Duration),
    /// Uniform within one period, drawn from the seed.
    Random,
}

/// File transfers over TCP, one connection each.
#[derive(Clone, Debug, PartialEq)]
pub struct Bulk {
    /// In order of their start. A transfer that is due while its predecessor runs starts right
    /// after it.
    pub transfers: Vec<Transfer>,
    /// Further files, one after the other.
    pub bursts: Option<Bursts>,
    /// Rate at which the application hands data to TCP; `None` for unlimited.
    pub rate: Option<BitRate>,
    /// Parameters of both ends.
    pub tcp: TcpParameters,
}

/// One file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Time of the request, from the start of the run.
    pub start: Duration,
    /// Octets; `None` to send until the run ends.
    pub size: Option<Bytes>,
}

/// Files that are sent repeatedly (R61). The simulator stops after one million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Octets of each file.
    pub size: Bytes,
    /// Files become due at random, with exponential gaps of this mean; if `None`, each when the
    /// previous one ends.
    pub mean_gap: Option<Duration>,
}

/// Tunable parameters of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpParameters {
    /// Maximum segment size.
    pub segment: Bytes,
    /// Receive window.
    pub window: Bytes,
    /// Initial congestion window in segments.
    pub initial_window: u32,
    /// Segments per acknowledgement.
    pub ack_every: u32,
    /// Longest delay of an acknowledgement.
    pub ack_delay: Duration,
    /// Smallest retransmission timeout.
    pub min_rto: Duration,
}

impl Default for TcpParameters {
    /// The defaults of Linux, with a window of 64 KiB.
    fn default() -> Self {
        Self {
            segment: Bytes::new(1460),
            window: Bytes::new(65_535),
            initial_window: 10,
            ack_every: 2,
            ack_delay: Duration::from_ms(40),
            min_rto: Duration::from_ms(200),
        }
    }
}

impl Flow {
    /// Longest gap.
    pub const GAP_MAX: Duration = Duration::from_secs(1);

    /// Frames that a talker holds for the gap of a flow at most; it drops further ones.
    pub const HELD_MAX: u32 = 1_000;

    /// Returns whether the latency of its messages matters; for files only if they have a deadline.
    pub const fn is_real_time(&self) -> bool {
        match self.traffic {
            Traffic::Flood { .. } => false,
            Traffic::Bulk(_) => self.deadline.is_some(),
            Traffic::Periodic { .. }
            | Traffic::Sporadic { .. }
            | Traffic::Poisson { .. }
            | Traffic::Adaptive { .. } => true,
        }
    }

    /// Returns the flow to some of its listeners, with their routes.
    #[must_use]
    pub fn to_those(&self, is_wanted: impl Fn(NodeId) -> bool) -> Self {
        let all = 0..self.listeners.len();
        let wanted = || all.clone().filter(|&n| is_wanted(self.listeners[n]));
        Self {
            listeners: wanted().map(|n| self.listeners[n]).collect(),
            routes: wanted().filter_map(|n| self.routes.get(n).cloned()).collect(),
            ..self.clone()
        }
    }

    /// Returns the route to a listener; `None` if the switches choose the way.
    pub fn route_to(&self, listener: NodeId) -> Option<&[PortId]> {
        let mut all = self.listeners.iter().zip(&self.routes);
        let own = all.find(|(own, _)| **own == listener)?;
        Some(own.1)
    }

    /// Returns the frames that carry a message of `payload` octets without retransmissions: the
    /// packet, its fragments, or the segments or datagrams into which it is cut. For TCP and RTPS
    /// this is the smallest number possible.
    pub fn frames(&self, payload: Bytes) -> Frames {
        let over = self.encapsulation;
        if let Some(tcp) = &self.connection {
            Frames::of_parts(payload, tcp.segment, over)
        } else if self.is_published() {
            Frames::of_parts(payload, over.max_payload(), over)
        } else {
            Frames::of_packet(payload, over)
        }
    }

    /// Returns whether its messages, or its answers, are UDP datagrams larger than one frame.
    pub fn is_fragmented(&self) -> bool {
        let most = self.reply.map_or(Bytes::ZERO, |reply| reply.payload).max(self.payload);
        self.encapsulation == Encapsulation::Udp && most > self.encapsulation.max_payload()
    }

    /// Returns whether listeners send frames back that are not answers of the application:
    /// acknowledgements of TCP, or messages of RTPS readers.
    pub const fn is_acknowledged(&self) -> bool {
        self.connection.is_some() || self.is_published() || matches!(self.traffic, Traffic::Bulk(_))
    }

    /// Returns whether its packets are RTPS samples, with all accompanying traffic.
    pub const fn is_published(&self) -> bool {
        matches!(self.encapsulation, Encapsulation::Rtps { .. })
    }

    /// Returns whether it has to ask for a channel before it begins: it has a deadline, and the plant
    /// has a manager.
    pub const fn asks(&self, network: &Network) -> bool {
        network.admission.is_some() && self.deadline.is_some()
    }

    /// Returns why it cannot be a channel; `None` if it can.
    pub fn obstacle_to_channel(&self) -> Option<&'static str> {
        let is_long = |times: &[Duration]| {
            let longest = Duration::from_secs(86_400);
            times.iter().chain(&self.deadline).any(|&time| time > longest)
        };
        if self.is_acknowledged() {
            return Some("its listeners send frames back");
        } else if self.reply.is_some() {
            return Some("it is answered");
        } else if self.is_fragmented() {
            return Some("its datagrams are fragmented");
        } else if self.gap.is_some() {
            return Some("its frames are held for a gap");
        } else if !self.routes.is_empty() {
            return Some("it has a route of its own");
        } else if self.listeners.contains(&self.talker) {
            return Some("it does not leave its station");
        } else if self.listeners.len() > Admission::LISTENERS {
            return Some("it has more than 200 listeners");
        }
        let times = match self.traffic {
            Traffic::Periodic { period, release_jitter, .. } => [period, release_jitter],
            Traffic::Sporadic { burst, .. } if burst > u32::from(u16::MAX) => {
                return Some("its bursts have more than 65 535 frames");
            }
            Traffic::Sporadic { min_gap, mean_gap, .. } => [min_gap, mean_gap],
            Traffic::Poisson { .. }
            | Traffic::Flood { .. }
            | Traffic::Adaptive { .. }
            | Traffic::Bulk(_) => return Some("nothing limits how often it sends"),
        };
        is_long(&times).then_some("its period, jitter or deadline is longer than a day")
    }

    /// Returns why its frames cannot keep a gap; `None` if they can, or need not.
    pub fn obstacle_to_gap(&self, network: &Network) -> Option<&'static str> {
        let gap = self.gap?;
        let talker = network.end_station(self.talker);
        if gap <= Duration::ZERO || gap > Self::GAP_MAX {
            Some("a gap is above zero and at most a second")
        } else if self.is_acknowledged() || self.reply.is_some() {
            Some("its listeners send frames back, and a gap is for one way")
        } else if self.is_fragmented() {
            Some("its datagrams are fragmented")
        } else if self.listeners.contains(&self.talker) {
            Some("it does not leave its station")
        } else if self.delivery == Delivery::Unicast && self.listeners.len() > 1 {
            Some("it sends one frame to each of several listeners")
        } else if talker.is_some_and(|own| own.layer.is_some() || own.tasks.is_some()) {
            Some("its station has tasks, or queues or a smoother above its port")
        } else {
            None
        }
    }

    /// Returns the first point of its grid if its first packets are released at these times, in
    /// order; zero for traffic without a grid.
    ///
    /// # Errors
    /// Why its traffic does not allow these times.
    pub fn grid_of(&self, times: &[Duration]) -> Result<Duration, &'static str> {
        if times.windows(2).any(|pair| pair[1] < pair[0]) {
            return Err("they are not in order of time");
        }
        let is_early = times.iter().any(|&time| time < self.start);
        if is_early || self.stop.is_some_and(|stop| times.iter().any(|&time| time >= stop)) {
            return Err("nothing is released before the start of the flow, or from its stop on");
        }
        let (period, phase, jitter) = match self.traffic {
            Traffic::Periodic { period, phase, release_jitter } => (period, phase, release_jitter),
            Traffic::Flood { interval } => (interval, Phase::Random, Duration::ZERO),
            Traffic::Sporadic { min_gap, .. } => {
                let is_close = times.windows(2).any(|pair| pair[1] - pair[0] < min_gap);
                return if is_close {
                    Err("two of them are closer than `min_gap`")
                } else {
                    Ok(Duration::ZERO)
                };
            }
            Traffic::Poisson { .. } => return Ok(Duration::ZERO),
            Traffic::Adaptive { .. } => return Err("its requests follow the answers"),
            Traffic::Bulk(_) => return Err("its files have times of their own"),
        };
        let base = self.start.as_ps();
        // The grid begins nowhere before the first of these two, nor behind the second.
        let (mut least, mut most) = match phase {
            Phase::Fixed(phase) => (base + phase.as_ps(), base + phase.as_ps()),
            Phase::Random => (base, base.saturating_add(period.as_ps() - 1)),
        };
        for (number, time) in (0i64..).zip(times) {
            let point = time.as_ps().saturating_sub(period.as_ps().saturating_mul(number));
            least = least.max(point.saturating_sub(jitter.as_ps()));
            most = most.min(point);
        }
        if least > most {
            return Err("no grid within its period, phase and jitter has them");
        }
        Ok(Duration::from_ps(most))
    }

    /// Returns why its first packets cannot be released at [`Self::releases`]; `None` if they can.
    pub fn obstacle_to_releases(&self, network: &Network) -> Option<&'static str> {
        if self.releases.is_empty() {
            None
        } else if self.asks(network) {
            Some("it begins when its channel is granted")
        } else {
            self.grid_of(&self.releases).err()
        }
    }

    /// Returns the gap that its talker keeps.
    pub fn kept_gap(&self, network: &Network) -> Option<Duration> {
        let is_kept = self.obstacle_to_gap(network).is_none();
        self.gap.filter(|_| is_kept)
    }

    /// Returns the mean time between two frames to a listener, or `None` if the network decides
    /// (adaptive requests, bulk TCP).
    pub fn mean_interval(&self) -> Option<Duration> {
        match self.traffic {
            Traffic::Periodic { period, .. } => Some(period),
            Traffic::Sporadic { mean_gap, burst, .. } => Some(mean_gap / i64::from(burst.max(1))),
            Traffic::Poisson { mean_interval } => Some(mean_interval),
            Traffic::Flood { interval } => Some(interval),
            Traffic::Adaptive { .. } | Traffic::Bulk(_) => None,
        }
    }
}
