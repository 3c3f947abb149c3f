//! What to measure and how to answer.

use rtether_live::confine::Confinement;
use rtether_live::link::TcpLimits;
use rtether_model::quantity::Duration;
use rtether_proto::probe::cndep::{Board, Profile};
use rtether_proto::probe::{Command, Config, Interval};

use super::{Marks, Thread, Via, topics};

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PingOptions {
    /// Address, host name or Ethernet address.
    pub target: String,
    /// How payloads travel.
    pub via: Via,
    /// Device for raw frames.
    pub device: Option<String>,
    /// Series, samples, interval, pause and timeout.
    pub config: Config,
    /// Octets of payload; raised to the least size of the format.
    pub payload: usize,
    /// Domain of topics, and network address.
    pub participant: topics::ParticipantOptions,
    /// DSCP, PCP, VLAN.
    pub marks: Marks,
    /// Core, priority, waiting.
    pub thread: Thread,
    /// Largest round trip that meets the deadline.
    pub deadline: Option<Duration>,
    /// CNDEP command and octet values.
    pub command: Command,
    /// CNDEP octet values.
    pub profile: Profile,
    /// Kernel time stamps on this side, and on the other if it has them.
    pub stamps: bool,
    /// One-way delays, if the clocks permit.
    pub one_way: bool,
    /// The peer is on this host, so stalls of all its cores count.
    pub is_same_host: bool,
}

impl Default for PingOptions {
    fn default() -> Self {
        Self {
            target: String::new(),
            via: Via::Udp,
            device: None,
            config: Config {
                series: 1,
                samples: 1_000,
                interval: Interval::Fixed(Duration::from_ms(1)),
                pause: Duration::ZERO,
                timeout: Duration::from_secs(1),
            },
            payload: 64,
            participant: topics::ParticipantOptions::default(),
            marks: Marks::default(),
            thread: Thread::default(),
            deadline: None,
            command: Command::Test,
            profile: Profile::DEFAULT,
            stamps: false,
            one_way: false,
            is_same_host: false,
        }
    }
}

/// Options of a responder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchoOptions {
    /// Address to listen on, with a port if not the default.
    pub listen: String,
    /// How payloads travel; the kernel answers ICMP.
    pub via: Via,
    /// Device for raw frames.
    pub device: Option<String>,
    /// Domain of topics, and network address.
    pub participant: topics::ParticipantOptions,
    /// DSCP, PCP, VLAN of the answers.
    pub marks: Marks,
    /// Core, priority, waiting.
    pub thread: Thread,
    /// Time between a request and its answer: the stack and program of a board (CNDEP).
    pub delay: Duration,
    /// CNDEP octet values.
    pub profile: Profile,
    /// CNDEP parameters.
    pub board: Board,
    /// Whether the kernel stamps packets, for requesters that want time stamps.
    pub stamps: bool,
    /// What to give up once the responder is ready; `None` for nothing.
    pub confinement: Option<Confinement>,
    /// TCP: largest number of connections from one address at a time.
    pub of_peer: usize,
    /// TCP: a connection idle for this long is closed.
    pub idle: Duration,
}

impl Default for EchoOptions {
    fn default() -> Self {
        Self {
            listen: "0.0.0.0".into(),
            via: Via::Udp,
            device: None,
            participant: topics::ParticipantOptions::default(),
            marks: Marks::default(),
            thread: Thread::default(),
            delay: Duration::ZERO,
            profile: Profile::DEFAULT,
            board: Board::default(),
            stamps: false,
            confinement: None,
            of_peer: TcpLimits::default().of_peer,
            idle: Duration::from_secs(10),
        }
    }
}
