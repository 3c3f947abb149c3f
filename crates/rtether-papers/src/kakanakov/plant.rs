//! Test computer, board, switch and bulk generators (K3, K4, K8).

use rtether_model::flow::{Flow, Reply, Traffic};
use rtether_model::network::{
    Network, NodeKind, Pcp, PortVlan, QueueMap, Selection, Stack, Switch, Vid,
};
use rtether_model::wire::{Encapsulation, occupancy};

use super::boards::{Board, Protocol, calibrate, measured};
use crate::echo::ADAPTIVE;
use crate::plant::{self as common, Plant, periodic};
use crate::prelude::*;

/// What is between test computer and board (K4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    /// a: nothing.
    Direct,
    /// b: the switch.
    Switch,
    /// c: the switch, with bulk in another VLAN.
    OtherVlan,
    /// d: the switch, with bulk through the port to the test computer.
    SharedPort,
    /// e: as d, with the board's replies in the strict queue.
    Priority,
}

impl Scenario {
    pub(crate) const ALL: [Self; 5] =
        [Self::Direct, Self::Switch, Self::OtherVlan, Self::SharedPort, Self::Priority];

    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Direct => 'a',
            Self::Switch => 'b',
            Self::OtherVlan => 'c',
            Self::SharedPort => 'd',
            Self::Priority => 'e',
        }
    }
}

const FAST: BitRate = BitRate::from_mbps(100);

/// A full frame through the fabric of 8.8 Gbit/s (K3), as the latency of the switch. The 25 to 45
/// us that the paper expects cannot be right: two passes would add 50 us or more, while the paper's
/// own minima rise by 11 to 17 us, which the second transmission alone explains.
const LATENCY: Duration = Duration::from_ns(1_380);

/// Interval of CNDEP commands (2b).
const INTERVAL: Duration = Duration::from_ms(100);
/// Bulk starts this long before the first request.
const SETTLED: Duration = Duration::from_ms(10);
/// Payload of a frame of 1518 octets.
pub(crate) const BULK: Bytes = Bytes::new(1472);

/// Ports of the switch.
const PORT_PC: u16 = 0;
const PORT_BOARD: u16 = 1;
const PORT_BULK: [u16; 2] = [2, 3];
const PORT_SINK: u16 = 4;

/// Offered load of both generators, as a share of the loaded egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// What the board's replies in scenario a leave: 100 % together.
    Remainder,
    /// 100 % without the replies.
    Full,
}

/// Returns one cell of the matrix: the network and its flows, the measured one first.
pub(crate) fn cell(
    protocol: Protocol,
    board: Board,
    scenario: Scenario,
    load: Load,
) -> (Network, Vec<Flow>) {
    let mut plant = Plant::default();
    let (rate, stack) = calibrate(protocol, board);
    let pc = plant.station("test computer", Stack::Zero);
    let board_node = plant.station("board", Stack::Linear(stack));
    let mean = measured(protocol, board, 'a', "avg").unwrap_or(INTERVAL);
    let (traffic, interval) = match protocol {
        Protocol::Icmp => (ADAPTIVE, mean),
        Protocol::Cndep | Protocol::Get => (periodic(INTERVAL), INTERVAL),
    };
    let request = common::flow("request", (pc, board_node), protocol.form(), traffic);
    let mut flows = vec![Flow {
        start: SETTLED,
        reply: Some(Reply::new(protocol.answer(), Duration::ZERO)),
        ..request
    }];
    if scenario == Scenario::Direct {
        plant.link((pc, 0), (board_node, 0), rate);
        return (plant.network, flows);
    }
    let catalyst = plant.add("catalyst", NodeKind::Switch(switch(scenario)));
    plant.link((pc, 0), (catalyst, PORT_PC), FAST);
    plant.link((board_node, 0), (catalyst, PORT_BOARD), rate);
    if scenario == Scenario::Switch {
        return (plant.network, flows);
    }
    let sink = match scenario {
        Scenario::OtherVlan => {
            let sink = plant.station("sink", Stack::Zero);
            plant.link((sink, 0), (catalyst, PORT_SINK), FAST);
            sink
        }
        Scenario::Direct | Scenario::Switch | Scenario::SharedPort | Scenario::Priority => pc,
    };
    let traffic = Traffic::Flood {
        interval: bulk_interval(occupancy(protocol.frame(), FAST), interval, load),
    };
    for (port, name) in PORT_BULK.into_iter().zip(["bulk 1", "bulk 2"]) {
        let generator = plant.station(name, Stack::Zero);
        plant.link((generator, 0), (catalyst, port), FAST);
        let form = (Encapsulation::Udp, BULK);
        flows.push(common::flow(name, (generator, sink), form, traffic.clone()));
    }
    (plant.network, flows)
}

/// Returns the interval between frames of one of the two generators.
fn bulk_interval(answer: Duration, every: Duration, load: Load) -> Duration {
    let frame = occupancy(Bytes::new(1518), FAST);
    match load {
        Load::Full => frame * 2,
        Load::Remainder => {
            let ps = |time: Duration| i128::from(time.as_ps());
            let stretched = ps(frame * 2) * ps(every) / (ps(every) - ps(answer));
            Duration::from_ps(i64::try_from(stretched).expect("less than a second"))
        }
    }
}

/// Returns a Catalyst 2950 configured for a scenario, with the ports in use.
fn switch(scenario: Scenario) -> Switch {
    let mut switch = common::switch(5, LATENCY);
    let vlan = |number| Vid::new(number).expect("a valid VLAN");
    let (own, other) = match scenario {
        Scenario::OtherVlan => (10, 20),
        Scenario::Direct | Scenario::Switch | Scenario::SharedPort | Scenario::Priority => (10, 10),
    };
    for (port, settings) in (0..).zip(&mut switch.ports) {
        let is_own = port == PORT_PC || port == PORT_BOARD;
        settings.vlan = PortVlan::Access(vlan(if is_own { own } else { other }));
        if scenario == Scenario::Priority && is_own {
            settings.default_pcp = Pcp::new(5).expect("a valid priority");
        }
    }
    if scenario == Scenario::Priority {
        // The 2950's map with CoS 5 moved to the strict queue; weights 1:2:3 for the others.
        let map = QueueMap::new(4, [0, 0, 1, 1, 2, 3, 3, 3]);
        switch.queues = map.expect("four queues");
        switch.selection = Selection::StrictWrr { weights: [1, 2, 3, 1, 1, 1, 1, 1] };
    }
    switch
}
