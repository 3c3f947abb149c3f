//! Networks of the kinds used in published comparisons.

use rtether_bounds::{Methods, analyze_with};
use rtether_model::flow::{Phase, Reply, Tag, TcpParameters, Traffic};
use rtether_model::network::{NodeId, NodeKind, Pcp, QueueMap, Selection, Stack, Vid};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;
use rtether_testkit::Dice;

use crate::bounds::draw::plain_switch;
use crate::bounds::plant::{Plant, Variety, plain_flow};

/// One kind of network.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Published mean ratio of bound to simulated maximum in ten-thousandths, by total flow
    /// analysis with line shaping and packet term; `None` if not published.
    pub(crate) published: Option<u64>,
    pub(crate) build: fn(&mut Dice) -> Plant,
}

const fn kind(name: &'static str, published: Option<u64>, build: fn(&mut Dice) -> Plant) -> Kind {
    Kind { name, published, build }
}

/// All kinds.
pub(crate) const KINDS: [Kind; 15] = [
    kind("one switch with 3 flows", Some(10_700), single),
    kind("line of 5 switches", Some(11_400), line),
    kind("star", Some(10_600), star),
    kind("avionics with 100 flows", Some(11_900), avionics),
    kind("cyclic ring of 6", Some(12_800), ring),
    kind("random plants", None, random),
    kind("loaded lines of mixed rates", None, loaded),
    kind("lone poll", None, lone_poll),
    kind("master with six slaves", None, master),
    kind("list of four listeners", None, list),
    kind("priorities on a line of 3 switches", None, priorities),
    kind("messages over TCP", None, messages),
    kind("requests and replies over TCP", None, exchanges),
    kind("conversations over TCP", None, conversations),
    kind("bursts into one stack", None, bursts),
];

fn random(dice: &mut Dice) -> Plant {
    Plant::random(dice.between(0, 1 << 40), Variety::Plain)
}

impl Plant {
    /// Adds a switch with stations and returns both.
    fn island(&mut self, stations: usize) -> (NodeId, Vec<NodeId>) {
        let switch = self.switch(plain_switch());
        let own: Vec<NodeId> = (0..stations).map(|_| self.station(Stack::Zero)).collect();
        for &station in &own {
            self.join(station, switch, 100, false);
        }
        self.stations.extend(&own);
        (switch, own)
    }

    fn add(&mut self, talker: NodeId, listener: NodeId, payload: u64, period: Duration) {
        let name = format!("f{}", self.flows.len());
        let mut flow = plain_flow(&name, talker, vec![listener], payload);
        flow.traffic = Traffic::periodic(period, Phase::Fixed(Duration::ZERO));
        self.flows.push(flow);
    }
}

/// Three stations send to a fourth.
fn single(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let (_, all) = plant.island(4);
    for &talker in &all[1..] {
        let payload = dice.between(64, 1000);
        plant.add(talker, all[0], payload, Duration::from_ms(2));
    }
    plant
}

/// Five switches in a line; all stations send to the last one, with cross traffic on the way.
fn line(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let islands: Vec<_> = (0..5).map(|_| plant.island(2)).collect();
    for pair in islands.windows(2) {
        plant.join(pair[0].0, pair[1].0, 100, false);
    }
    for (index, (_, own)) in islands.iter().enumerate() {
        let later = &islands[(index + 1).min(4)..];
        for &talker in own {
            let (_, others) = &later[dice.index(later.len())];
            let listener = dice.pick(others);
            if listener != talker {
                let payload = dice.between(64, 1000);
                plant.add(talker, listener, payload, Duration::from_ms(4));
            }
        }
    }
    plant
}

/// Samples of 24 stations at three switches, which meet at the last port and at the stack behind it.
fn bursts(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let (center, _) = plant.island(0);
    let service = Duration::from_us(20);
    let listener = plant.station(Stack::IpRate { service });
    plant.join(listener, center, 100, false);
    for _ in 0..3 {
        let (switch, own) = plant.island(8);
        plant.join(center, switch, 100, false);
        for talker in own {
            plant.add(talker, listener, dice.between(18, 60), Duration::from_us(600));
        }
    }
    plant
}

/// A switch in the middle of four others.
fn star(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let (center, _) = plant.island(1);
    let islands: Vec<_> = (0..4).map(|_| plant.island(3)).collect();
    for (switch, _) in &islands {
        plant.join(center, *switch, 100, false);
    }
    for _ in 0..12 {
        plant.any(dice, Duration::from_ms(4), 1000);
    }
    plant
}

/// Four linked switches and a hundred flows with periods of 2 to 128 ms.
fn avionics(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let islands: Vec<_> = (0..4).map(|_| plant.island(6)).collect();
    for pair in islands.windows(2) {
        plant.join(pair[0].0, pair[1].0, 100, false);
    }
    for _ in 0..100 {
        let period = Duration::from_ms(1 << dice.between(1, 7));
        plant.any(dice, period, 500);
    }
    plant
}

/// Six switches in a ring; each station sends two hops clockwise, so that all flows depend on each
/// other.
fn ring(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let islands: Vec<_> = (0..6).map(|_| plant.island(2)).collect();
    for index in 0..6 {
        let (a, b) = (islands[index].0, islands[(index + 1) % 6].0);
        plant.join(a, b, 100, false);
    }
    for (index, (_, own)) in islands.iter().enumerate() {
        for &talker in own {
            let listener = dice.pick(&islands[(index + 2) % 6].1);
            let payload = dice.between(64, 1000);
            plant.add(talker, listener, payload, Duration::from_ms(2));
        }
    }
    plant
}

impl Plant {
    /// Adds a flow between two stations drawn at random.
    fn any(&mut self, dice: &mut Dice, period: Duration, largest: u64) {
        let talker = dice.pick(&self.stations);
        let listener = dice.pick(&self.stations);
        if talker != listener {
            let payload = dice.between(64, largest);
            self.add(talker, listener, payload, period);
        }
    }
}

/// Two to five switches in a line with links of 10 to 1000 Mbit/s, and flows until a port is busy
/// for more than two thirds of the time: busy periods hold several packets of a flow.
fn loaded(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let count = dice.between(2, 5);
    let islands: Vec<_> = (0..count).map(|_| plant.island(2)).collect();
    for pair in islands.windows(2) {
        let rate = dice.pick(&[10, 100, 100, 1000]);
        plant.join(pair[0].0, pair[1].0, rate, false);
    }
    loop {
        let period = Duration::from_us(dice.pick(&[1_000, 2_000, 3_000, 5_000]));
        plant.any(dice, period, 600);
        let analysis = analyze_with(&plant.network, &plant.flows, Methods::TotalFlow);
        let load = analysis.ports.iter().filter_map(|port| port.utilization_ppm);
        match load.max() {
            Some(950_000..) => drop(plant.flows.pop()),
            Some(670_000..) => return plant,
            _ => {}
        }
    }
}

/// A master whose stack takes 50 us per packet, like those of its slaves, and polls each of them.
fn polls(dice: &mut Dice, slaves: usize) -> Plant {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    for _ in 0..=slaves {
        let service = Duration::from_us(50);
        let station = plant.station(Stack::IpRate { service });
        plant.join(station, switch, 100, false);
        plant.stations.push(station);
    }
    for slave in plant.stations.split_off(1) {
        let payload = dice.between(18, 200);
        plant.add(plant.stations[0], slave, payload, Duration::from_ms(10));
    }
    for flow in &mut plant.flows {
        flow.reply = Some(Reply::new(Bytes::new(dice.between(18, 200)), Duration::ZERO));
    }
    plant
}

fn lone_poll(dice: &mut Dice) -> Plant {
    polls(dice, 1)
}

fn master(dice: &mut Dice) -> Plant {
    polls(dice, 6)
}

/// A talker whose stack takes 50 us per packet, and sends to four listeners one by one.
fn list(dice: &mut Dice) -> Plant {
    let mut plant = polls(dice, 4);
    let all = plant.flows.iter().map(|flow| flow.listeners[0]);
    let listeners = all.collect();
    plant.flows.truncate(1);
    plant.flows[0].listeners = listeners;
    plant.flows[0].reply = None;
    plant
}

/// Three switches in a line that serve by priority, with flows of four priorities.
fn priorities(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let islands: Vec<_> = (0..3).map(|_| plant.island(3)).collect();
    for pair in islands.windows(2) {
        plant.join(pair[0].0, pair[1].0, 100, false);
    }
    for node in &mut plant.network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.selection = Selection::StrictPriority;
            switch.queues = QueueMap::standard(4).unwrap();
        }
    }
    for _ in 0..24 {
        plant.any(dice, Duration::from_ms(4), 1_000);
    }
    for flow in &mut plant.flows {
        flow.tag =
            Some(Tag { pcp: Pcp::new(dice.pick(&[1, 2, 4, 6])).unwrap(), vid: Vid::PRIORITY_ONLY });
    }
    plant
}

/// Five stations at a switch, whose messages go over TCP.
fn messages(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    plant.island(5);
    for _ in 0..10 {
        plant.any(dice, Duration::from_ms(5), 1_000);
    }
    for flow in &mut plant.flows {
        flow.encapsulation = Encapsulation::Tcp;
        flow.connection = Some(TcpParameters::default());
    }
    plant
}

/// A master that polls three slaves over TCP.
fn exchanges(dice: &mut Dice) -> Plant {
    let mut plant = polls(dice, 3);
    for flow in &mut plant.flows {
        flow.encapsulation = Encapsulation::Tcp;
        flow.connection = Some(TcpParameters::default());
    }
    plant
}

/// Four stations whose stacks take 20 us per packet, with messages over TCP of one to three segments,
/// half of them with answers.
fn conversations(dice: &mut Dice) -> Plant {
    let mut plant = polls(dice, 3);
    for node in &mut plant.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            let service = Duration::from_us(20);
            station.stack = Stack::IpRate { service };
        }
    }
    let all = [plant.stations[0], plant.flows[0].listeners[0]];
    plant.stations =
        all.into_iter().chain(plant.flows[1..].iter().map(|flow| flow.listeners[0])).collect();
    plant.flows.clear();
    for _ in 0..8 {
        let period = Duration::from_ms(dice.pick(&[5, 10, 20]));
        plant.any(dice, period, 3_000);
    }
    for flow in &mut plant.flows {
        flow.encapsulation = Encapsulation::Tcp;
        flow.connection = Some(TcpParameters {
            ack_every: u32::try_from(dice.between(1, 3)).unwrap(),
            ack_delay: Duration::from_ms(dice.pick(&[1, 40])),
            ..TcpParameters::default()
        });
        flow.reply = dice.chance(50).then(|| {
            Reply::new(Bytes::new(dice.between(1, 3_000)), Duration::from_us(dice.pick(&[0, 100])))
        });
    }
    plant
}
