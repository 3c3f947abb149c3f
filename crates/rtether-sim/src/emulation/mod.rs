//! Networks for frames from outside: the switches, hubs and links of the simulator, without
//! simulated traffic.
//!
//! A driver reports when a frame was handed to the interface of a station; the emulation reports
//! where and when its copies arrive, or where they end. The emulation reads no clock and has no
//! forwarding logic of its own: ports, queues, switches and media are those of
//! [`crate::Simulation`].
//!
//! **Scope.** Everything between two driver queues that the simulator models. Stations take no
//! time: they are real ones, with their own stacks. Emulated stations
//! ([`rtether_model::network::EndStation::emulate`]) keep theirs: frames enter above their tasks
//! and stack, pass their layer and driver, and arrive when the receiving side is done with them.
//! Not supported: loops of switches without standby links, where broadcasts would circulate
//! forever; queues sorted by deadlines, which frames from outside do not have; and layers or
//! switches with rules on IP addresses or ports, or that give DSCPs. Rules of switches on stations,
//! priorities and other headers hold.
//!
//! **Groups.** Groups of multicast flows are known if listed ([`Setup::groups`]), and switches with
//! managed multicast forward them to their listeners only. All other multicast goes to the whole
//! VLAN, as do broadcasts and frames of groups not registered in a switch.
//!
//! **Late frames.** A frame whose time has already passed is handled as if it came now, and
//! counted. [`Recording`] keeps the true times, and its replay shows what the lateness changed.

mod ahead;
mod frames;
mod prepare;
mod recording;

use alloc::string::String;
use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, NodeId, Pcp, Vid};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_model::wire::{HEADER, MAX_FRAME_PAYLOAD, MIN_FRAME};
use thiserror::Error;

use crate::config::Config;
use crate::error::BuildError;
use crate::kernel::Simulation;
use crate::observe::DropReason;
use crate::packet::{GROUP, Packet, TAGGED, frame_octets};
use crate::random::mix;
use crate::visitor::Visitor;
use ahead::{Ahead, look_into_layers};
use frames::{Certainty, Frames};
use prepare::{bare, known_groups};

pub use crate::visitor::{Content, Headers};
pub use recording::{Arrival, Comparison, Recording};

/// Longest untagged frame, addresses to FCS, in octets.
const MAX_FRAME: Bytes = Bytes::new(HEADER.get() + MAX_FRAME_PAYLOAD.get() + 4);

/// A frame from outside the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Octets from addresses to FCS, without tag.
    pub size: Bytes,
    /// Destination.
    pub destination: Destination,
    /// Priority and VLAN of its tag.
    pub tag: Option<(Pcp, Vid)>,
    /// Header fields for emulated stations and rules of switches; ignored without them.
    pub headers: Headers,
    /// The driver's name for it.
    pub token: u64,
}

/// Destination of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The station with this address.
    One(NodeId),
    /// The listeners of the flow at this index in [`Setup::groups`].
    Group(FlowId),
    /// All stations but the sender: broadcast, and multicast of groups that are not listed.
    All,
}

/// The network to emulate, and how.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The network.
    pub network: &'a Network,
    /// Flows whose groups are known; flows that are not multicast have none.
    pub groups: &'a [Flow],
    /// Seed of all random draws.
    pub seed: u64,
    /// How random values are drawn.
    pub draws: Draws,
}

impl<'a> Setup<'a> {
    /// Returns the setup of a network without known groups, drawn by frame.
    pub const fn new(network: &'a Network, seed: u64) -> Self {
        Self { network, groups: &[], seed, draws: Draws::ByFrame }
    }
}

/// Outcome of a frame. Outputs are in order of time, except [`Output::Delivered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A copy arrives. Reported as soon as it is certain: on a full-duplex link when its
    /// transmission to the station begins, on a shared medium when no collision is possible any
    /// more, and at an emulated station when its stack or task has begun to serve it and cannot be
    /// interrupted. A driver that polls often enough thus learns of it in advance.
    Delivered {
        /// The driver's name for the frame.
        token: u64,
        /// Receiving station.
        station: NodeId,
        /// When its last bit arrives; at an emulated station, when it reaches the application.
        at: Instant,
        /// The tag it arrives with; switches add, change and remove tags.
        tag: Option<(Pcp, Vid)>,
    },
    /// A copy was lost, or the frame reached no station ([`DropReason::Filtered`]).
    Dropped {
        /// The driver's name for the frame.
        token: u64,
        /// Where.
        node: NodeId,
        /// When.
        at: Instant,
        /// Why.
        reason: DropReason,
    },
    /// A transmission of a station on a shared medium has collided, and its jam has ended.
    Collision {
        /// The driver's name for the frame.
        token: u64,
        /// Sending station.
        station: NodeId,
        /// When.
        at: Instant,
    },
    /// No copy of the frame is in transit any more.
    Finished {
        /// The driver's name for the frame.
        token: u64,
    },
}

/// How back-offs, the jitter of stacks and the latencies of switches are drawn. Bit errors, and the
/// draws of smoothers and their detectors, always come from one sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draws {
    /// By frame: back-offs from the seed, the station and the time at which the frame was handed
    /// over, jitter and latencies from the seed, the place and the number of frames handed over by the
    /// sender before. A late frame changes only the frames it meets.
    #[default]
    ByFrame,
    /// From one sequence, as in a simulation: equal arrivals give the results of the simulation.
    InOrder,
}

/// Why a network cannot be emulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EmulationError {
    /// The simulator refuses it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Broadcasts would circulate forever.
    #[error("switch `{switch}` is part of a loop; put one of its links on standby")]
    Loop {
        /// Name of one of the switches.
        switch: String,
    },
    /// A flow has a route through a loop; frames from outside follow their addresses.
    #[error(
        "flow `{flow}` has a route in a network with a loop, and frames of real hosts follow their \
         addresses, not flows; put links on standby until one way is left, or simulate"
    )]
    Route {
        /// Name of the flow.
        flow: String,
    },
    /// Frames from outside have no deadlines.
    #[error("`{node}` serves by deadline, and frames from outside have none")]
    Deadlines {
        /// Name of the station or switch.
        node: String,
    },
    /// Real hosts ask for nothing.
    #[error("with `admission` stations ask for channels, which real hosts do not do; simulate it")]
    Admission,
    /// Real hosts have one port here.
    #[error("`{node}` has `redundancy`, which an emulation does not play; simulate it")]
    Redundancy {
        /// Name of the station.
        node: String,
    },
    /// The addresses and ports of real hosts differ from those of the plant.
    #[error(
        "a rule of `{node}` looks at addresses or ports, which are others on real hosts; tell \
         packets apart by tag, DSCP, protocol or EtherType"
    )]
    Rules {
        /// Name of the station or switch.
        node: String,
    },
    /// The rules of a switch give packets another code point, but frames arrive as they were sent.
    #[error(
        "a rule of `{node}` has `mark_dscp`, and frames from real hosts keep their headers; mark \
         priorities with `mark`"
    )]
    CodePoints {
        /// Name of the switch.
        node: String,
    },
}

/// Why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It comes from a node that is not an end station or has no link in use.
    #[error("the sender is not an end station with a link in use")]
    Sender,
    /// It is for a node that is not an end station, or for a group of another talker.
    #[error("the destination is neither an end station nor a group of the sender")]
    Destination,
    /// It is shorter than 64 octets or longer than 1518.
    #[error("frames have 64 to 1518 octets without tag")]
    Size,
}

/// Counters of an emulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames accepted.
    pub injected: u64,
    /// Accepted frames whose time had already passed.
    pub late: u64,
    /// Largest lateness.
    pub lateness_max: Duration,
    /// Frames refused because of sender, destination or size.
    pub refused: u64,
}

/// A network that carries frames from outside.
pub struct Emulation {
    simulation: Simulation,
    /// By node.
    stations: Vec<Option<u32>>,
    /// By position in [`Setup::groups`]: the simulated flow.
    groups: Vec<Option<u32>>,
    /// By station: number of frames it has handed over.
    sent: Vec<u64>,
    /// Seed of draws by frame.
    seed_of_frames: Option<u64>,
    /// First of the timer slots whose events follow releases of the same time.
    release_slot: u32,
    frames: Frames,
    /// Shared media whose deliveries can be predicted.
    ahead: Vec<Ahead>,
    counters: Counters,
}

impl Emulation {
    /// Builds the network, without the stacks, tasks and layers of its stations except where
    /// [`rtether_model::network::EndStation::emulate`] is set.
    ///
    /// # Errors
    /// If the simulator refuses the network, switches form a loop, with or without routes, one sorts by deadlines, or a
    /// switch or an emulated station has rules on addresses or ports.
    pub fn new(setup: &Setup<'_>) -> Result<Self, EmulationError> {
        let Setup { seed, draws, .. } = *setup;
        let network = bare(setup.network, setup.groups)?;
        let (flows, groups) = known_groups(setup.groups);
        let config = Config { seed, warmup: Duration::ZERO, bucket: Duration::ZERO };
        let mut simulation = Simulation::new(&network, &flows, &config)?;
        let seed_of_frames = (draws == Draws::ByFrame).then_some(seed);
        simulation.open_to_all(seed_of_frames);
        let mut stations = alloc::vec![None; network.nodes.len()];
        let mut places = alloc::vec![Certainty::Switched; network.nodes.len()];
        for (number, node) in (0u32..).zip(simulation.station_nodes()) {
            stations[node.index()] = Some(number);
            places[node.index()] = if !simulation.takes_no_time(number) {
                Certainty::Emulated
            } else if simulation.is_on_shared_medium(number) {
                Certainty::Shared
            } else {
                Certainty::Switched
            };
        }
        let listeners = flows.into_iter().map(|flow| flow.listeners);
        Ok(Self {
            ahead: Ahead::of_all(&simulation),
            sent: alloc::vec![0; simulation.station_nodes().count()],
            seed_of_frames,
            release_slot: simulation.release_slot(),
            simulation,
            stations,
            groups,
            frames: Frames::new(places, listeners.collect()),
            counters: Counters::default(),
        })
    }

    /// Returns the time reached.
    pub const fn now(&self) -> Instant {
        self.simulation.now()
    }

    /// Returns the counters.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Injects a frame handed over at `at` to the driver of `station` or, if that is emulated, to
    /// its application side: handles all earlier events and takes the frame in.
    ///
    /// # Errors
    /// If the frame or its addresses do not fit this network; the refusal is counted.
    pub fn inject(&mut self, station: NodeId, at: Instant, frame: Foreign) -> Result<(), Refusal> {
        let packet = self.packet(station, &frame);
        let (source, packet) = packet.inspect_err(|_| self.counters.refused += 1)?;
        let lateness = self.now() - at;
        if lateness > Duration::ZERO {
            self.counters.late += 1;
            self.counters.lateness_max = self.counters.lateness_max.max(lateness);
        }
        self.counters.injected += 1;
        // As in the simulation: arrivals of the same time come first.
        self.simulation.run_before(at, self.release_slot, &mut self.frames);
        let number = self.frames.insert(frame.token);
        let sent = &mut self.sent[source as usize];
        *sent += 1;
        let seed = self.seed_of_frames;
        let visitor = Visitor {
            headers: frame.headers,
            seed: seed.map(|seed| mix(&[seed, u64::from(source), *sent])),
        };
        let packet = Packet { number, ..packet };
        self.simulation.inject(packet, visitor, &mut self.frames);
        Ok(())
    }

    fn packet(&self, station: NodeId, frame: &Foreign) -> Result<(u32, Packet), Refusal> {
        let number = |node: NodeId| self.stations.get(node.index()).copied().flatten();
        let source = number(station).ok_or(Refusal::Sender)?;
        if !self.simulation.is_linked(source) {
            return Err(Refusal::Sender);
        }
        // Each station has a group of all others.
        let all = self.simulation.all_but(source);
        let (flow, destination) = match frame.destination {
            Destination::One(node) => (all, number(node).ok_or(Refusal::Destination)?),
            Destination::All => (all, GROUP | all),
            Destination::Group(position) => {
                let group = self.groups.get(position.index()).copied().flatten();
                let group = group.filter(|&group| self.simulation.talker(group) == source);
                let group = group.ok_or(Refusal::Destination)?;
                (group, GROUP | group)
            }
        };
        let is_legal = (MIN_FRAME..=MAX_FRAME).contains(&frame.size);
        let size = frame_octets(frame.size).filter(|_| is_legal);
        let packet = Packet {
            flow,
            source,
            destination,
            size: size.ok_or(Refusal::Size)?,
            pcp: frame.tag.map_or(0, |(pcp, _)| pcp.get()),
            vid: frame.tag.map_or(0, |(_, vid)| vid.get()),
            flags: if frame.tag.is_some() { TAGGED } else { 0 },
            ..Packet::default()
        };
        Ok((source, packet))
    }

    /// Handles all events before `until`; a time already passed changes nothing.
    ///
    /// Take the outputs with [`Self::poll_output`] before the next call: they accumulate in memory.
    pub fn run_until(&mut self, until: Instant) {
        self.simulation.run_until(until, &mut self.frames);
        for ahead in &mut self.ahead {
            ahead.look(&self.simulation, &mut self.frames);
        }
        look_into_layers(&self.simulation, &mut self.frames);
    }

    /// Returns the time of the next event unless a frame comes before; `None` if none is pending.
    pub fn next_event(&self) -> Option<Instant> {
        self.simulation.next_event()
    }

    /// Returns the next outcome of a frame.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        self.frames.poll()
    }

    /// Checks that frames are conserved.
    ///
    /// # Errors
    /// The first rule violated.
    pub fn invariants(&mut self) -> Result<(), &'static str> {
        self.simulation.invariants()?;
        let counters = self.counters;
        if self.frames.finished() + self.frames.under_way() != counters.injected {
            return Err("injected frames do not equal finished plus in transit");
        }
        Ok(())
    }

    /// Ends the emulation and returns the counters of ports, nodes and media.
    pub fn finish(self) -> Record {
        self.simulation.finish()
    }
}
