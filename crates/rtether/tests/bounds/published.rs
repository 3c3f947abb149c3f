//! Tightness on the kinds of networks of the published comparisons: bound over the largest latency
//! that a search for bad phases finds.
//!
//! The quotient is an upper bound of the pessimism, since the search may miss the worst case.

use rtether_bounds::{Analysis, analyze};
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{NodeId, PortId, Stack};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::route::Routing;
use rtether_model::wire;

use crate::dice::Dice;
use crate::plant::{Plant, plain_flow, plain_switch};
use crate::{Tightness, check, meeting_at, simulate, way_to, with_phases};

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
        flow.traffic = Traffic::Periodic {
            period,
            phase: Phase::Fixed(Duration::ZERO),
            release_jitter: Duration::ZERO,
        };
        self.flows.push(flow);
    }
}

/// Three stations send to a fourth.
fn single(dice: &mut Dice) -> Plant {
    let mut plant = Plant::default();
    let (_, all) = plant.island(4);
    for &talker in &all[1..] {
        let payload = dice.range(64, 1000);
        plant.add(talker, all[0], payload, Duration::from_ms(2));
    }
    plant
}

/// Five switches in a line; everybody sends to the last one, and crosses on the way.
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
                let payload = dice.range(64, 1000);
                plant.add(talker, listener, payload, Duration::from_ms(4));
            }
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
        let period = Duration::from_ms(1 << dice.range(1, 7));
        plant.any(dice, period, 500);
    }
    plant
}

/// Six switches in a ring; each station sends two hops clockwise, so that all depend on all.
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
            let payload = dice.range(64, 1000);
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
            let payload = dice.range(64, largest);
            self.add(talker, listener, payload, period);
        }
    }
}

/// Returns phases with which the flows that join the way of `stream` at a hop get there just before
/// it does, if it was delayed as long as its bound allows up to there.
fn cascade(plant: &Plant, analysis: &Analysis, stream: usize) -> Vec<Flow> {
    let Ok(bound) = &analysis.streams[stream].bound else {
        return plant.flows.clone();
    };
    let release = Duration::from_ms(10);
    let hops = bound.hops.iter().scan(release, |at, hop| {
        let here = *at;
        *at += hop.delay();
        Some((hop.place.port, here))
    });
    let hops: Vec<(PortId, Duration)> = hops.collect();
    let mut early = vec![Duration::ZERO; hops.len()];
    with_phases(&plant.flows, |index, flow| {
        if index == stream {
            return release;
        }
        let joined = hops.iter().enumerate().find_map(|(at, &(port, here))| {
            let way = way_to(plant, flow, port)?;
            Some((at, here - way))
        });
        let Some((at, start)) = joined else {
            return Duration::ZERO;
        };
        // One after the other, the last one just before the stream.
        let frame = wire::frame_size(flow.payload, flow.encapsulation);
        let start = start - early[at] - Duration::from_ps(1);
        early[at] += wire::occupancy(frame, BitRate::from_mbps(100)) / 8;
        start.max(Duration::ZERO)
    })
}

/// Searches for phases that delay one stream most: meetings at each of its hops, then changes of
/// single phases that are kept if they do no less.
fn search(plant: &Plant, stream: usize, steps: u64, dice: &mut Dice) -> Duration {
    let analysis = analyze(&plant.network, &plant.flows);
    let routing = Routing::new(&plant.network);
    let flow = &plant.flows[stream];
    let path = routing.flow_path(&plant.network, flow, flow.listeners[0]);
    let seen = |flows: &[Flow]| check(&analysis, &simulate(plant, flows, 0))[stream];
    let starts = path.unwrap().into_iter().map(|hop| {
        let flows = meeting_at(plant, hop.egress, stream);
        (seen(&flows), flows)
    });
    let flows = cascade(plant, &analysis, stream);
    let starts = starts.chain([(seen(&flows), flows)]);
    let (mut most, mut best) = starts.max_by_key(|start| start.0).unwrap();
    for _ in 0..steps {
        let mut flows = best.clone();
        let one = dice.index(flows.len());
        if let Traffic::Periodic {
            phase: Phase::Fixed(phase),
            ..
        } = &mut flows[one].traffic
        {
            let width = dice.pick(&[1_000, 10_000_000, 100_000_000, 400_000_000]);
            let moved = *phase + Duration::from_ps(dice.time(-width, width));
            *phase = moved.max(Duration::ZERO);
        }
        let found = seen(&flows);
        if found >= most {
            (most, best) = (found, flows);
        }
    }
    most
}

type Build = fn(&mut Dice) -> Plant;

/// Oracle: the simulator; published means of bound over simulated maximum stand beside.
#[test]
fn tightness_on_published_kinds_of_networks() {
    let is_nightly = std::env::var_os("RTETHER_NIGHTLY").is_some();
    let (plants, steps) = if is_nightly { (10, 600) } else { (1, 40) };
    let kinds: [(&str, Build); 5] = [
        ("single switch (published: 1.07)", single),
        ("line of five (1.14)", line),
        ("star (1.06)", star),
        ("avionics, 100 flows (1.19)", avionics),
        ("ring of six (1.28)", ring),
    ];
    for (name, build) in kinds {
        let mut tightness = Tightness::default();
        for number in 0..plants {
            let mut dice = Dice::new(number);
            let plant = build(&mut dice);
            let analysis = analyze(&plant.network, &plant.flows);
            let streams = analysis.streams.len();
            let chosen = if streams > 20 { streams / 10 } else { 1 };
            let mut most = vec![Duration::ZERO; streams];
            for stream in (0..streams).step_by(chosen) {
                most[stream] = search(&plant, stream, steps, &mut dice);
            }
            tightness.add(&analysis, &most);
        }
        tightness.print(name);
    }
}
