//! Access schemes of a shared medium: which station sends, what, and when.
//!
//! One engine plays the stations of a collision domain that follow the scheme. It holds the state
//! of each station apart, and a station knows only what it has heard. The engine holds no frames
//! and has no clock: its host keeps the queues, shows them as [`Queue`], reports what stations
//! hear, and does what [`Engine::poll`] says. Below it, the medium works as always: a station that
//! has its turn still waits for the inter-frame gap, and may collide with one that does not follow
//! the scheme. One file for each scheme; `rtether_bounds::access` has the proofs under the same
//! names.
//!
//! # Calls
//!
//! A station that puts a frame into one that passes ([`Turn::Load`]) is polled again at once. The host
//! keeps such frames until [`Engine::hear`] says that the master has them back, and passes them on.
//!
//! The host polls a station that is not sending when a frame has come to its queues, after each
//! [`Engine::hear`] for it, and at the time of its last [`Turn::NotBefore`]. What a station sends it
//! hears itself, when the last bit leaves. `now` never decreases.

mod demand_priority;
mod ftt;
mod polling;
mod powerlink;
mod summation;
mod tdma;
mod timed_token;
mod virtual_token;

use alloc::vec::Vec;

use rtether_model::access::{Access, CLASSES, Domain, ORDINARY, REAL_TIME, Scheme};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration, Instant};

use demand_priority::DemandPriority;
use ftt::Ftt;
use polling::Polling;
use powerlink::Powerlink;
use summation::Summation;
use tdma::Tdma;
use timed_token::TimedToken;
use virtual_token::VirtualToken;

pub use timed_token::Token;

/// The frames that wait at a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Octets of the oldest frame of each class, addresses to FCS; `None` without one.
    pub heads: [Option<Bytes>; CLASSES],
}

impl Queue {
    /// Returns the turn that sends a real-time frame, or an ordinary one if there is none.
    fn send_first(&self, note: u32) -> Option<Turn> {
        let real_time = self.send(REAL_TIME, note);
        real_time.or_else(|| self.send(ORDINARY, note))
    }

    /// Returns the turn that sends the oldest frame of a class, if there is one.
    fn send(&self, class: u8, note: u32) -> Option<Turn> {
        self.heads[usize::from(class)].map(|_| Turn::Data { class, note })
    }
}

/// What a station does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It sends this control frame.
    Control(Control),
    /// It sends its oldest frame of a class, with a note for those who hear it.
    Data {
        /// The class.
        class: u8,
        /// What the frame tells besides its contents.
        note: u32,
    },
    /// It puts its oldest frame of a class into the frame that passes, and may have more to put in.
    Load {
        /// The class.
        class: u8,
    },
    /// Nothing before this time, unless it hears something or a frame comes.
    NotBefore(Instant),
    /// Nothing until it hears something or a frame comes.
    Silent,
}

/// A control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// What it says.
    pub message: Message,
    /// Octets, addresses to FCS.
    pub size: Bytes,
}

/// What a control frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A cycle of TDMA begins.
    Sync {
        /// Its number, from 0.
        cycle: u64,
        /// When it was due to begin. RTnet sends this stamp and that of the transmission, from
        /// which a slave finds the offset of its clock; here the clocks agree.
        scheduled: Instant,
    },
    /// A cycle of Powerlink begins (SoC).
    CycleStart,
    /// An elementary cycle of FTT-Ethernet begins, with the messages that the master has listed.
    Trigger,
    /// A member is asked for a frame; PReq of Powerlink.
    Request {
        /// The member.
        to: u32,
    },
    /// It has none; a PRes of Powerlink without data.
    Answer {
        /// Whether ordinary frames wait there.
        wants: bool,
    },
    /// A member may send an ordinary frame (SoA of Powerlink).
    Grant {
        /// The member; `None` if none wants to.
        to: Option<u32>,
    },
    /// A member gets the token.
    Token(Token),
    /// Process data pass through all members.
    Process {
        /// Octets of data.
        octets: Bytes,
    },
    /// The mailbox of a member is read, or written for others.
    Mailbox {
        /// The member; `None` for what the master passes on.
        of: Option<u32>,
        /// Octets of data.
        octets: Bytes,
    },
}

impl Message {
    /// Returns the octets of data in frames that other stations put in.
    pub const fn carried(&self) -> Bytes {
        match self {
            Self::Process { octets } | Self::Mailbox { octets, .. } => *octets,
            Self::Sync { .. }
            | Self::CycleStart
            | Self::Trigger
            | Self::Request { .. }
            | Self::Answer { .. }
            | Self::Grant { .. }
            | Self::Token(_) => Bytes::ZERO,
        }
    }
}

/// A frame that has passed through all members is back at the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// Whether the master takes what members have put in: the frame was not lost, and all members
    /// have counted up its working counter.
    pub is_valid: bool,
}

/// What a station hears, with its last bit unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A frame with data.
    Data {
        /// Its class.
        class: u8,
        /// Its note.
        note: u32,
    },
    /// A control frame.
    Control(Message),
    /// The first bit of another station's signal; only where [`Engine::hears_begin`].
    Busy,
    /// The last bit of a signal that was no frame; only there as well.
    Noise,
}

/// An access scheme with the state of its stations.
#[derive(Clone, Debug)]
pub struct Engine {
    rule: Rule,
    /// By station of the host: its position among the members; `None` if it does not follow the
    /// scheme.
    members: Vec<Option<u32>>,
}

#[derive(Clone, Debug)]
enum Rule {
    Tdma(Tdma),
    Polling(Polling),
    Powerlink(Powerlink),
    Ftt(Ftt),
    TimedToken(TimedToken),
    VirtualToken(VirtualToken),
    DemandPriority(DemandPriority),
    Summation(Summation),
}

impl Engine {
    /// Creates the engine of a scheme; `stations` are the nodes of the domain in the order in which
    /// the host numbers them.
    pub fn new(access: &Access, domain: &Domain, stations: &[NodeId]) -> Self {
        let position = |node: &NodeId| {
            let found = access.members.iter().position(|own| own.node == *node);
            found.and_then(|at| u32::try_from(at).ok())
        };
        let (members, response) = (access.members.len(), access.response);
        let rule = match &access.scheme {
            Scheme::Tdma(plan) => Rule::Tdma(Tdma::new(plan, members)),
            Scheme::Polling(plan) => Rule::Polling(Polling::new(plan, response, members)),
            Scheme::Powerlink(plan) => Rule::Powerlink(Powerlink::new(plan, response, members)),
            Scheme::Ftt(plan) => Rule::Ftt(Ftt::new(plan, access, domain)),
            Scheme::TimedToken(plan) => {
                Rule::TimedToken(TimedToken::new(plan, response, domain, members))
            }
            Scheme::VirtualToken(plan) => Rule::VirtualToken(VirtualToken::new(plan, members)),
            Scheme::DemandPriority(plan) => {
                Rule::DemandPriority(DemandPriority::new(plan, members))
            }
            Scheme::Summation(plan) => Rule::Summation(Summation::new(plan, access, domain)),
        };
        Self { rule, members: stations.iter().map(position).collect() }
    }

    /// Returns whether stations have to hear when signals begin.
    pub const fn hears_begin(&self) -> bool {
        matches!(self.rule, Rule::VirtualToken(_) | Rule::Summation(_))
    }

    /// Returns the time from a bit of the master's frame to the same bit at a station, where frames
    /// pass through all stations; at the master itself, when the frame is back.
    pub fn way(&self, station: u32) -> Option<Duration> {
        match &self.rule {
            Rule::Summation(own) => own.way(self.member(station)?),
            Rule::Tdma(_)
            | Rule::Polling(_)
            | Rule::Powerlink(_)
            | Rule::Ftt(_)
            | Rule::TimedToken(_)
            | Rule::VirtualToken(_)
            | Rule::DemandPriority(_) => None,
        }
    }

    /// Returns whether a station follows the scheme.
    pub fn is_member(&self, station: u32) -> bool {
        self.member(station).is_some()
    }

    fn member(&self, station: u32) -> Option<u32> {
        self.members.get(station as usize).copied().flatten()
    }

    /// Returns what a station does at `now`, while it is not sending; see [Calls](self#calls).
    pub fn poll(&mut self, now: Instant, station: u32, queue: &Queue) -> Turn {
        let Some(member) = self.member(station) else {
            return Turn::Silent;
        };
        match &mut self.rule {
            Rule::Tdma(own) => own.poll(now, member, queue),
            Rule::Polling(own) => own.poll(now, member, queue),
            Rule::Powerlink(own) => own.poll(now, member, queue),
            Rule::Ftt(own) => own.poll(now, member, queue),
            Rule::TimedToken(own) => own.poll(now, member, queue),
            Rule::VirtualToken(own) => own.poll(now, member, queue),
            Rule::DemandPriority(own) => own.poll(now, member, queue),
            Rule::Summation(own) => own.poll(now, member, queue),
        }
    }

    /// Notes what a station hears from another, or from itself. Returns what it means for the frames
    /// put into one that has passed through all members.
    pub fn hear(&mut self, at: Instant, station: u32, from: u32, heard: &Heard) -> Option<Return> {
        let member = self.member(station)?;
        let from = self.member(from);
        match &mut self.rule {
            Rule::Tdma(own) => own.hear(member, heard),
            Rule::Polling(own) => own.hear(at, member, from, heard),
            Rule::Powerlink(own) => own.hear(at, member, from, heard),
            Rule::Ftt(own) => own.hear(at, member, from, heard),
            Rule::TimedToken(own) => own.hear(at, member, from, heard),
            Rule::VirtualToken(own) => own.hear(at, member, from, heard),
            Rule::DemandPriority(own) => own.hear(at, member, from),
            Rule::Summation(own) => return own.hear(at, member, heard),
        }
        None
    }
}
