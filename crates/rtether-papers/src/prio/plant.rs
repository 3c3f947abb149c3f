//! Master, slave and file server on one switch (catalogue 1b, `skeie-prio-baseline`).

use rtether_model::endnode::{
    HeaderMatch, Layer, Receive, ReceiveConfig, ReceiveSelection, Rule, TosMatch, TransmitConfig,
    TransmitStrategy,
};
use rtether_model::flow::{Bulk, Bursts, Flow, Phase, Tag, TcpParameters, Traffic};
use rtether_model::network::{
    EndStation, NodeId, NodeKind, Pcp, QueueMap, Selection, Stack, TagHandling, Tasks, Vid,
};
use rtether_model::wire::Encapsulation;

use super::SAMPLES;
use crate::plant::{self, Plant, echoed, flow, switch};
use crate::prelude::*;
use rtether::profiles;

pub(crate) const MASTER: NodeId = NodeId(0);
pub(crate) const SLAVE: NodeId = NodeId(1);
/// Positions of the streams.
pub(crate) const MESSAGE: usize = 0;
pub(crate) const FILE: usize = 1;

pub(crate) const FAST: BitRate = BitRate::from_mbps(100);
pub(crate) const SLOW: BitRate = BitRate::from_mbps(10);
/// A frame of 160 octets, 168 on the wire with preamble, as the paper's drop-link times imply.
const PAYLOAD: Bytes = Bytes::new(114);
const PERIOD: Duration = Duration::from_ms(20);
/// A few percent, so that messages and file do not run in step.
const DITHER: Duration = Duration::from_ms(1);
const WARMUP: Duration = Duration::from_ms(500);
/// Expedited forwarding.
const DSCP: u8 = 46;
const HIGH: u8 = 7;

/// Segments in flight (catalogue 1b: the maximum of table 1 is six full frames ahead).
const WINDOW: u64 = 7;
/// The file of the paper's flat network, sent repeatedly. Files of 1 MB leave fewer pauses: the
/// standard deviation of table 1 is then 81 instead of 127 us (paper: 94).
const FILE_SIZE: Bytes = Bytes::new(101_000);
/// Rate at which the master receives a file: not given, but limited by table 1. A full frame on the
/// master's link delays a message by up to 122 us, so a utilization u adds at least u * 122^2 / 3 -
/// (u * 61)^2 to the variance. From 14 to 17.5 us there is room for u = 2.3 %.
const RECEIVED_RATE: BitRate = BitRate::from_mbps(2);

/// Direction of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Load {
    /// No file.
    None,
    /// The master receives it.
    Receive,
    /// The master sends it.
    Transmit,
}

impl Load {
    pub(crate) const BOTH: [Self; 2] = [Self::Receive, Self::Transmit];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Receive => "receive",
            Self::Transmit => "transmit",
        }
    }
}

/// The varied parameters.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is varied independently of the others")]
pub(crate) struct Setup {
    pub(crate) load: Load,
    /// Messages carry a high-priority tag.
    pub(crate) is_tagged: bool,
    /// Queues in the nodes: selection on receive, strategy on transmit.
    pub(crate) queues: Option<(ReceiveSelection, TransmitStrategy)>,
    /// The switch removes tags.
    pub(crate) strips: bool,
    /// Nodes classify untagged frames by type of service.
    pub(crate) has_rules: bool,
    /// A received file arrives as fast as possible.
    pub(crate) is_saturated: bool,
    /// Application tasks of the master.
    pub(crate) tasks: Option<Tasks>,
}

impl Setup {
    /// Untagged messages and a FIFO stack.
    pub(crate) const fn plain(load: Load) -> Self {
        Self {
            load,
            is_tagged: false,
            queues: None,
            strips: false,
            has_rules: false,
            is_saturated: false,
            tasks: None,
        }
    }

    /// Tagged messages and priority queues in the nodes, as in table 3 with the catalogue's
    /// defaults.
    pub(crate) const fn prioritized(load: Load) -> Self {
        Self {
            is_tagged: true,
            queues: Some((ReceiveSelection::HighestFirst, TransmitStrategy::STRICT)),
            ..Self::plain(load)
        }
    }
}

pub(crate) fn scenario(setup: &Setup) -> Scenario {
    let mut plant = Plant::default();
    let master = plant.add("master", station(setup, setup.tasks));
    let slave = plant.add("slave", station(setup, None));
    let server = plant.station("ftp server", Stack::Zero);
    let mut middle = switch(4, Duration::from_us(1));
    middle.queues = QueueMap::standard(4).expect("four queues are possible");
    middle.selection = Selection::StrictPriority;
    if setup.strips {
        middle.tags = TagHandling::Strip;
    }
    let middle = plant.add("switch", NodeKind::Switch(middle));
    for (port, (node, rate)) in (0u16..).zip([(master, FAST), (slave, SLOW), (server, FAST)]) {
        plant.link((node, 0), (middle, port), rate);
    }
    let mut flows = vec![message(setup, (master, slave))];
    match setup.load {
        Load::None => {}
        Load::Receive => {
            let rate = (!setup.is_saturated).then_some(RECEIVED_RATE);
            flows.push(file((server, master), rate));
        }
        Load::Transmit => flows.push(file((master, server), None)),
    }
    let name = "priority queues in end nodes (Skeie)";
    plant::scenario(name, plant.network, flows, (WARMUP + PERIOD * SAMPLES, WARMUP))
}

fn station(setup: &Setup, tasks: Option<Tasks>) -> NodeKind {
    let board = profiles::find("skeie-vxworks").expect("a built-in stack");
    NodeKind::EndStation(EndStation { tasks, layer: layer(setup).map(Box::new), ..board.station() })
}

fn layer(setup: &Setup) -> Option<Layer> {
    let (selection, strategy) = setup.queues?;
    let rule = Rule {
        headers: HeaderMatch { tos: Some(TosMatch::dscp(DSCP)), ..HeaderMatch::default() },
        class: 1,
    };
    Some(Layer {
        rules: setup.has_rules.then_some(rule).into_iter().collect(),
        receive: Some(Receive::Queues(ReceiveConfig {
            input_limit: 1000,
            queue_limits: vec![1000; 2],
            selection,
        })),
        transmit: Some(TransmitConfig {
            ring_limit: TransmitConfig::DEFAULT_RING_LIMIT,
            queue_limits: vec![1000; 2],
            high_from: None,
            strategy,
        }),
        ..Layer::default()
    })
}

fn message(setup: &Setup, ends: (NodeId, NodeId)) -> Flow {
    let traffic =
        Traffic::Periodic { period: PERIOD, phase: Phase::Random, release_jitter: DITHER };
    let tag = Tag { pcp: Pcp::new(HIGH).expect("seven is a priority"), vid: Vid::PRIORITY_ONLY };
    Flow {
        dscp: DSCP,
        tag: setup.is_tagged.then_some(tag),
        ..echoed(flow("message", ends, (Encapsulation::Udp, PAYLOAD), traffic))
    }
}

fn file(ends: (NodeId, NodeId), rate: Option<BitRate>) -> Flow {
    let tcp = TcpParameters { window: Bytes::new(WINDOW * 1460), ..TcpParameters::default() };
    let traffic = Traffic::Bulk(Bulk {
        transfers: Vec::new(),
        bursts: Some(Bursts { size: FILE_SIZE, mean_gap: None }),
        rate,
        tcp,
    });
    flow("file", ends, (Encapsulation::Tcp, tcp.segment), traffic)
}
