//! Why a simulation cannot be built.

use alloc::string::String;

use rtether_model::access::Problem;
use rtether_model::quantity::BitRate;
use rtether_model::route::RouteError;
use rtether_proto::endnode::ConfigError;
use thiserror::Error;

use crate::medium::MediumError;

/// Why a simulation cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// Frames cannot reach a listener, or answers the talker.
    #[error("flow `{flow}` has no route: {reason}")]
    NoRoute {
        /// Name of the flow.
        flow: String,
        /// Why none was found.
        reason: RouteError,
    },
    /// Stations broadcast requests for addresses, which would circulate in a loop.
    #[error("requests for addresses (`arp`) would circulate in the loop of link {link}")]
    Broadcasts {
        /// Index of a link of the loop.
        link: usize,
    },
    /// A flow with a deadline cannot ask for a channel.
    #[error(
        "flow `{flow}` cannot be a channel: with admission, flows with a deadline go one way, in single frames, at limited intervals, and neither from nor to the manager"
    )]
    Channel {
        /// Name of the flow.
        flow: String,
    },
    /// A talker or listener is not an end station.
    #[error("flow `{flow}` starts or ends at a switch")]
    NotAnEndStation {
        /// Name of the flow.
        flow: String,
    },
    /// An octet does not take a whole number of picoseconds on a link.
    #[error("link {link}: at {rate} an octet does not take a whole number of picoseconds")]
    Rate {
        /// Index of the link.
        link: usize,
        /// Its rate.
        rate: BitRate,
    },
    /// The tasks or the layer of an end station are invalid.
    #[error("end station `{station}`: {reason}")]
    Layer {
        /// Name of the station.
        station: String,
        /// What is wrong.
        reason: String,
    },
    /// The rules of a switch for arriving frames are invalid.
    #[error("switch `{switch}`: {reason}")]
    Ingress {
        /// Name of the switch.
        switch: String,
        /// What is wrong.
        reason: ConfigError,
    },
    /// A payload does not fit one frame, or a datagram 65 535 octets.
    #[error("a payload of flow `{flow}` does not fit one packet")]
    Payload {
        /// Name of the flow.
        flow: String,
    },
    /// A collision domain cannot be built.
    #[error("the shared medium at `{node}` cannot be built: {reason}")]
    Medium {
        /// Name of a hub, or of a node at a half-duplex link.
        node: String,
        /// What is wrong.
        reason: MediumError,
    },
    /// An access scheme cannot work.
    #[error("the access scheme of hub `{hub}` cannot work: {problem}")]
    Access {
        /// Name of the hub.
        hub: String,
        /// What is wrong.
        problem: Problem,
    },
    /// Joined hubs differ in rate or back-off.
    #[error("hub `{hub}` is linked to a hub with a different rate or back-off")]
    MixedHubs {
        /// Name of the hub.
        hub: String,
    },
    /// A link between hubs has bit errors, which all stations behind it would have to share.
    #[error(
        "the link between hubs `{}` and `{}` has bit errors, which are not modeled between hubs",
        hubs[0],
        hubs[1]
    )]
    ErrorsBetweenHubs {
        /// Names of the hubs.
        hubs: [String; 2],
    },
    /// A cut-through switch on a shared medium.
    #[error("switch `{switch}` is cut-through and attached to a shared medium")]
    CutThroughOnMedium {
        /// Name of the switch.
        switch: String,
    },
    /// Adaptive requests need answers, and the flow has no reply.
    #[error("flow `{flow}` sends adaptive requests but has no reply")]
    NoReply {
        /// Name of the flow.
        flow: String,
    },
    /// A flow would release endlessly at one instant, or its connections cannot work.
    #[error("flow `{flow}` cannot be simulated: {reason}")]
    Traffic {
        /// Name of the flow.
        flow: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The messages of a flow cannot travel over a TCP connection.
    #[error("flow `{flow}` cannot use a connection: {reason}")]
    Connection {
        /// Name of the flow.
        flow: String,
        /// Why not.
        reason: &'static str,
    },
    /// The samples of a flow cannot be published.
    #[error("flow `{flow}` cannot be published over RTPS: {reason}")]
    Publication {
        /// Name of the flow.
        flow: String,
        /// Why not.
        reason: &'static str,
    },
    /// Too many timers or ports to number.
    #[error("the network is too large")]
    TooLarge,
}
