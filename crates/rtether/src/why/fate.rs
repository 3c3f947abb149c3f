//! What became of a packet that did not arrive.

use rtether_model::network::NodeId;
use rtether_model::quantity::Instant;
use rtether_report::text::time;
use rtether_sim::BuildError;
use rtether_sim::observe::{Delivery, DropReason, Observer, PacketInfo};

use super::Stream;
use crate::rules::stopped_by;
use crate::run::{self, Progress};
use crate::scenario::Scenario;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was not released.
    Unreleased,
    /// It is on its way at the end of the run.
    UnderWay {
        /// When it was released.
        released_at: Instant,
    },
    /// It, its reply, or a part of it was lost.
    Lost {
        /// When it was released.
        released_at: Instant,
        /// When it was lost.
        at: Instant,
        /// Where.
        node: NodeId,
        /// Why.
        reason: DropReason,
        /// Whether its reply or an acknowledgement was lost.
        is_reverse: bool,
    },
}

/// Repeats the first run to see what became of a packet to one listener.
///
/// # Errors
/// If the plant cannot be simulated.
pub fn fate(
    scenario: &Scenario,
    stream: Stream,
    number: u32,
    progress: &Progress,
) -> Result<Fate, BuildError> {
    let mut seen = Seen {
        stream,
        number,
        index: stream.index(scenario),
        released_at: None,
        loss: None,
        is_delivered: false,
    };
    let seed = scenario.run.seed;
    run::simulate_while(scenario, seed, progress, &mut seen, |seen| !seen.is_delivered)?;
    Ok(match (seen.released_at, seen.loss) {
        (None, _) => Fate::Unreleased,
        (Some(released_at), None) => Fate::UnderWay { released_at },
        (Some(released_at), Some((at, node, reason, is_reverse))) => {
            Fate::Lost { released_at, at, node, reason, is_reverse }
        }
    })
}

struct Seen {
    stream: Stream,
    number: u32,
    index: Option<usize>,
    released_at: Option<Instant>,
    /// The last loss; of a copy that reached a wrong station only if nothing else was lost.
    loss: Option<(Instant, NodeId, DropReason, bool)>,
    is_delivered: bool,
}

impl Seen {
    fn is_it(&self, packet: &PacketInfo) -> bool {
        let listener = self.stream.listener;
        let is_on_way = if packet.is_reverse {
            packet.source == listener
        } else {
            packet.destination.is_none_or(|to| to == listener)
        };
        let is_it = packet.flow == self.stream.flow && packet.number == self.number;
        is_it && is_on_way && !packet.is_mirrored
    }
}

impl Observer for Seen {
    fn released(&mut self, _: Instant, packet: &PacketInfo) {
        if self.is_it(packet) && !packet.is_reverse {
            self.released_at.get_or_insert(packet.released_at);
        }
    }

    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &Delivery) {
        self.is_delivered |= Some(delivery.stream) == self.index && packet.number == self.number;
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        let is_stray = reason == DropReason::Filtered;
        if self.is_it(packet) && (!is_stray || self.loss.is_none()) {
            self.loss = Some((now, node, reason, packet.is_reverse));
        }
    }
}

impl Fate {
    /// Returns what became of it, in words.
    pub fn words(self, scenario: &Scenario) -> String {
        match self {
            Self::Unreleased => "it was not released: the run is too short (`--for`)".into(),
            Self::UnderWay { released_at } => format!(
                "released at {}, it is on its way at the end of the run (`--for`)",
                time(released_at.since_start())
            ),
            Self::Lost { released_at, at, node, reason, is_reverse } => format!(
                "released at {}, {} lost at `{}` {} later: {}",
                time(released_at.since_start()),
                if is_reverse { "its reply was" } else { "it was" },
                scenario.network.node(node).name,
                time(at - released_at),
                words_of(reason)
            ),
        }
    }
}

const fn words_of(reason: DropReason) -> &'static str {
    match reason {
        DropReason::StackFull => "the queue of the stack was full",
        DropReason::BufferFull => "the buffer of the port was full",
        DropReason::FrameError => "a bit error on the link before",
        DropReason::Filtered => "its VLAN or address leads no further",
        DropReason::LayerFull => "a queue of the layer was full, or its smoother refused it",
        DropReason::ExcessiveCollisions => "16 collisions in a row",
        DropReason::LateCollision => "a late collision",
        DropReason::Garbled => "a collision that its sender did not notice",
        DropReason::Unresolved => "its address was not resolved (ARP)",
        DropReason::Rule(cause) => stopped_by(cause),
    }
}
