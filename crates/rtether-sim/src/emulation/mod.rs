//! Networks for frames from outside: the switches, hubs and links of the simulator without flows
//! of its own.
//!
//! A driver says when a frame has been handed to the interface of a station; the emulation says
//! where and when its copies arrive, or where they end. Nothing here reads a clock, and nothing
//! decides twice: ports, queues, switches and media are those of [`crate::Simulation`].
//!
//! **Scope.** All that the simulator knows between two driver queues. Stations cost nothing: they
//! are real ones, with stacks of their own. But those that are to be emulated
//! ([`rtether_model::network::EndStation::emulate`]) keep what they have: frames come in above their tasks and stack, pass
//! their layer and driver, and arrive when the receiving side is done with them. Not here: loops of
//! switches without standby links, since broadcasts would circulate for ever, queues sorted by
//! deadlines, since nobody knows those of a foreign frame, and layers with rules on addresses or
//! ports.
//!
//! **Groups.** Those of multicast flows are known if they are named ([`Setup::groups`]), and switches
//! that manage multicast forward to their listeners alone. All else that is for many goes to all of
//! its VLAN, as broadcasts do and frames of groups that a switch has not registered.
//!
//! **Late frames.** An arrival before the time that has been reached is taken as if it came now,
//! and counted. [`Recording`] keeps the true times, and its replay says what the lateness changed.

mod ahead;
mod frames;
mod prepare;
mod recording;
mod visitor;

use alloc::string::String;
use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, NodeId, Pcp, Vid};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_model::wire::{HEADER, MAX_FRAME_PAYLOAD, MIN_FRAME};
use thiserror::Error;

use crate::agenda::NEVER;
use crate::kernel::{BuildError, Config, Simulation};
use crate::observe::DropReason;
use crate::packet::{GROUP, NONE, Packet, TAGGED};
use crate::random::mix;
use crate::station::frame_octets;
use ahead::{Ahead, look_into_layers};
use frames::{Frames, Place};
use prepare::{bare, known_groups, release_slot};

pub use recording::{Arrival, Comparison, Recording};
pub(crate) use visitor::Visitor;
pub use visitor::{Content, Headers};

/// Octets of the longest untagged frame, addresses to FCS.
const MAX_FRAME: Bytes = Bytes::new(HEADER.get() + MAX_FRAME_PAYLOAD.get() + 4);

/// A frame that is not of this simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Octets from addresses to FCS, without tag.
    pub size: Bytes,
    /// Who is to get it.
    pub destination: Destination,
    /// Priority and VLAN of its tag.
    pub tag: Option<(Pcp, Vid)>,
    /// What emulated stations look at; of no account without them.
    pub headers: Headers,
    /// The driver's name for it.
    pub token: u64,
}

/// Who is to get a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The station with this address.
    One(NodeId),
    /// The listeners of the flow at this position in [`Setup::groups`].
    Group(FlowId),
    /// Everybody but the sender: broadcast, and multicast of groups that nobody has named.
    All,
}

/// What is emulated, and how.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The network.
    pub network: &'a Network,
    /// Flows whose groups are known; those that are not multicast have none.
    pub groups: &'a [Flow],
    /// Seed of all that is drawn.
    pub seed: u64,
    /// How it is drawn.
    pub draws: Draws,
}

impl<'a> Setup<'a> {
    /// Returns a network without known groups, drawn by frame.
    pub const fn new(network: &'a Network, seed: u64) -> Self {
        Self {
            network,
            groups: &[],
            seed,
            draws: Draws::ByFrame,
        }
    }
}

/// What became of a frame, in order of time but for [`Output::Delivered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A copy arrives. Told as soon as it is certain: when its transmission to the station begins
    /// on a full-duplex link, when nothing can collide with it any more on a shared medium, when the
    /// stack of an emulated station, or its task, begins to serve it and nothing can interrupt that.
    /// So a driver that asks often knows it ahead.
    Delivered {
        /// The driver's name for the frame.
        token: u64,
        /// Where.
        station: NodeId,
        /// When its last bit was there; at an emulated station when the application has it.
        at: Instant,
        /// The tag it arrived with; switches add, change and take off tags.
        tag: Option<(Pcp, Vid)>,
    },
    /// A copy has been lost; or the frame got nowhere, as [`DropReason::Filtered`].
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
    /// A station's transmission has collided on a shared medium, and its jam is over.
    Collision {
        /// The driver's name for the frame.
        token: u64,
        /// Who has sent it.
        station: NodeId,
        /// When.
        at: Instant,
    },
    /// No copy of the frame is under way any more.
    Finished {
        /// The driver's name for the frame.
        token: u64,
    },
}

/// How back-offs and the jitter of stacks are drawn. Bit errors, and what smoothers and their
/// detectors draw, come one after the other in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draws {
    /// By frame: back-offs from the seed, the station and the time at which the frame was handed
    /// over, jitter from the seed, the stations and the number of frames that the sender had handed
    /// over before. A frame that comes late changes those it meets and no others.
    #[default]
    ByFrame,
    /// One after the other, as a simulation does: equal arrivals give what the simulation gives.
    InOrder,
}

/// Why a network cannot be emulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EmulationError {
    /// The simulator refuses it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Broadcasts would circulate for ever.
    #[error("switch `{switch}` is part of a loop; put one of its links on standby")]
    Loop {
        /// Name of one of the switches.
        switch: String,
    },
    /// Nobody knows the deadline of a foreign frame.
    #[error("switch `{switch}` sorts by deadlines, which frames from outside do not have")]
    Deadlines {
        /// Name of the switch.
        switch: String,
    },
    /// Real hosts have addresses and ports of their own.
    #[error(
        "a rule of `{station}` looks at addresses or ports, which are others on real hosts; tell \
         packets apart by tag, DSCP, protocol or EtherType"
    )]
    Rules {
        /// Name of the station.
        station: String,
    },
}

/// Why a frame is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It comes from a node that does not send, or has no link in use.
    #[error("the sender is no end station with a link in use")]
    Sender,
    /// It is for a node that is no end station, or a group that its sender does not send to.
    #[error("the destination is no end station, and no group of the sender")]
    Destination,
    /// It is shorter than 64 octets or longer than 1518.
    #[error("frames have 64 to 1518 octets without tag")]
    Size,
}

/// What an emulation has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames taken in.
    pub injected: u64,
    /// Those of them that came after their time had passed.
    pub late: u64,
    /// The latest of them.
    pub lateness_max: Duration,
    /// Frames not taken, for their sender, destination or size.
    pub refused: u64,
}

/// A network that carries frames from outside.
pub struct Emulation {
    simulation: Simulation,
    /// By node.
    stations: Vec<Option<u32>>,
    /// By position in [`Setup::groups`]: the simulated flow.
    groups: Vec<Option<u32>>,
    /// By station: frames it has handed over.
    sent: Vec<u64>,
    /// Seed of what is drawn by frame.
    seed_of_frames: Option<u64>,
    /// First of the timer slots whose events come after releases at the same time.
    release_slot: u32,
    frames: Frames,
    /// Shared media of which something can be said ahead.
    ahead: Vec<Ahead>,
    counters: Counters,
}

impl Emulation {
    /// Builds the network. Stacks, tasks and layers of its stations are left out but where
    /// [`rtether_model::network::EndStation::emulate`] says otherwise.
    ///
    /// # Errors
    /// If the simulator refuses the network, switches form a loop, one sorts by deadlines, or an
    /// emulated station has rules on addresses or ports.
    pub fn new(setup: &Setup<'_>) -> Result<Self, EmulationError> {
        let Setup { seed, draws, .. } = *setup;
        let network = bare(setup.network)?;
        let (flows, groups) = known_groups(setup.groups);
        let config = Config {
            seed,
            warmup: Duration::ZERO,
            bucket: Duration::ZERO,
        };
        let mut simulation = Simulation::new(&network, &flows, &config)?;
        simulation.open_to_all();
        let seed_of_frames = (draws == Draws::ByFrame).then_some(seed);
        for shared in &mut simulation.shared {
            shared.seed_of_frames = seed_of_frames;
        }
        if seed_of_frames.is_some() {
            for stack in &mut simulation.stacks {
                stack.draw_by_frame();
            }
        }
        let mut stations = alloc::vec![None; network.nodes.len()];
        let mut places = alloc::vec![Place::Switched; network.nodes.len()];
        for (number, station) in (0u32..).zip(&simulation.stations) {
            stations[station.node.index()] = Some(number);
            let port = simulation.ports.get(station.port as usize);
            let is_shared = port.is_some_and(|port| port.attachment != NONE);
            places[station.node.index()] = if !simulation.takes_no_time(number) {
                Place::Emulated
            } else if is_shared {
                Place::Shared
            } else {
                Place::Switched
            };
        }
        let listeners = flows.into_iter().map(|flow| flow.listeners);
        Ok(Self {
            ahead: Ahead::of_all(&simulation),
            sent: alloc::vec![0; simulation.stations.len()],
            seed_of_frames,
            release_slot: release_slot(&simulation),
            simulation,
            stations,
            groups,
            frames: Frames::new(places, listeners.collect()),
            counters: Counters::default(),
        })
    }

    /// Returns the time that has been reached.
    pub const fn now(&self) -> Instant {
        self.simulation.now()
    }

    /// Returns what has been counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// A frame has been handed to `station` at `at`, to its driver or, if it is emulated, to all it
    /// has above: handles all events before, and takes the frame in.
    ///
    /// # Errors
    /// If the frame or its addresses are not of this network; it is counted.
    pub fn inject(&mut self, station: NodeId, at: Instant, frame: Foreign) -> Result<(), Refusal> {
        let packet = self.packet(station, &frame);
        let (source, packet) = packet.inspect_err(|_| self.counters.refused += 1)?;
        let lateness = self.now() - at;
        if lateness > Duration::ZERO {
            self.counters.late += 1;
            self.counters.lateness_max = self.counters.lateness_max.max(lateness);
        }
        self.counters.injected += 1;
        // In the order of the simulation: what arrives at that very time comes before.
        self.simulation
            .run_before(at, self.release_slot, &mut self.frames);
        let number = self.frames.insert(frame.token);
        let sent = &mut self.sent[source as usize];
        *sent += 1;
        let seed = self.seed_of_frames;
        let visitor = Visitor {
            headers: frame.headers,
            seed: seed.map(|seed| mix(&[seed, u64::from(source), *sent])),
        };
        let simulation = &mut self.simulation;
        match simulation.visitors.get_mut(number as usize) {
            Some(place) => *place = visitor,
            None => simulation.visitors.push(visitor),
        }
        let id = simulation.pool.insert(Packet {
            released_at: simulation.now,
            number,
            ..packet
        });
        simulation.send(source, id, &mut self.frames);
        Ok(())
    }

    fn packet(&self, station: NodeId, frame: &Foreign) -> Result<(u32, Packet), Refusal> {
        let number = |node: NodeId| self.stations.get(node.index()).copied().flatten();
        let source = number(station).ok_or(Refusal::Sender)?;
        if self.simulation.stations[source as usize].port == NONE {
            return Err(Refusal::Sender);
        }
        // Each station has a group of its own: all others.
        let all = self.simulation.broadcasts_from + source;
        let (flow, destination) = match frame.destination {
            Destination::One(node) => (all, number(node).ok_or(Refusal::Destination)?),
            Destination::All => (all, GROUP | all),
            Destination::Group(position) => {
                let group = self.groups.get(position.index()).copied().flatten();
                let group =
                    group.filter(|&group| self.simulation.flows[group as usize].talker == source);
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

    /// Handles all events before `until`; earlier times change nothing.
    ///
    /// Take the outputs with [`Self::poll_output`] before the next call: they wait in memory.
    pub fn run_until(&mut self, until: Instant) {
        self.simulation.run_until(until, &mut self.frames);
        for ahead in &mut self.ahead {
            ahead.look(&self.simulation, &mut self.frames);
        }
        look_into_layers(&self.simulation, &mut self.frames);
    }

    /// Returns when something happens next, if no frame comes before; `None` if nothing will.
    pub fn next_event(&self) -> Option<Instant> {
        let (time, _) = self.simulation.agenda.first();
        (time != NEVER).then(|| Instant::from_ps(time))
    }

    /// Returns what has become of a frame.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        self.frames.poll()
    }

    /// Checks that no frame got lost or came from nowhere.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn invariants(&self) -> Result<(), &'static str> {
        self.simulation.invariants()?;
        let counters = self.counters;
        if self.frames.finished() + self.frames.under_way() != counters.injected {
            return Err("frames taken in are those that are finished and those under way");
        }
        Ok(())
    }

    /// Ends the emulation and returns the counters of ports, nodes and media.
    pub fn finish(self) -> Record {
        self.simulation.finish()
    }
}
