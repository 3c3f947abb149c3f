//! Plants with features that the other generators leave out, and phases chosen from the analysis.
//!
//! Bit errors, VLAN-aware ports that change tags and priorities, interfaces that cost up to 1 us
//! per octet, links from 10 Mbit/s to 10 Gbit/s in one plant, weights up to 30, and sporadic flows
//! with gaps above the minimum.

use rtether_bounds::{Analysis, analyze};
use rtether_model::flow::{Flow, Tag, Traffic};
use rtether_model::network::{
    Cost, NodeKind, Pcp, PortId, PortVlan, Selection, Stack, Switch, SwitchPort, Vid,
};
use rtether_model::quantity::{BitRate, Duration};

use rtether_sim::{Config, Simulation};

use super::{RUNS, Tightness, check, for_each_case, simulate, with_phases};
use rtether_testkit::Dice;

use crate::bounds::dice;
use crate::bounds::plant::{Plant, Variety};

const VLANS: [u16; 2] = [1, 10];

fn vid(number: u16) -> Vid {
    Vid::new(number).unwrap()
}

fn random_pcp(dice: &mut Dice) -> Pcp {
    Pcp::new(u8::try_from(dice.between(0, 7)).unwrap()).unwrap()
}

impl Plant {
    /// Returns a full plant with additional variety.
    fn wide(number: u64) -> Self {
        let mut plant = Self::random(number, Variety::Full);
        let mut dice = dice(number.wrapping_add(1 << 40));
        plant.vary_links(&mut dice);
        let is_aware = dice.chance(40);
        for node in &mut plant.network.nodes {
            match &mut node.kind {
                NodeKind::Switch(switch) => vary_switch(&mut dice, switch, is_aware),
                NodeKind::EndStation(station) => vary_stack(&mut dice, &mut station.stack),
                NodeKind::Hub(_) => {}
            }
        }
        for flow in &mut plant.flows {
            vary_flow(&mut dice, flow, is_aware);
        }
        // Flows that VLANs cut off make the whole plant invalid.
        let network = &plant.network;
        let config = Config { seed: 0, warmup: Duration::ZERO, bucket: Duration::ZERO };
        let gets_through =
            |flow: &Flow| Simulation::new(network, core::slice::from_ref(flow), &config).is_ok();
        plant.flows.retain(gets_through);
        plant.set_timeouts(&mut dice);
        plant
    }

    fn vary_links(&mut self, dice: &mut Dice) {
        let is_lossy = dice.chance(30);
        for link in &mut self.network.links {
            if dice.chance(25) {
                let faster = link.rate.as_bps() * dice.pick(&[10, 10, 100]);
                link.rate = BitRate::from_bps(faster.min(10_000_000_000));
            }
            if is_lossy && dice.chance(40) {
                link.errors_per_billion = dice.pick(&[1_000_000, 50_000_000, 400_000_000]);
            }
        }
    }

    /// Sets the timeouts of some requests just above the bound, so that a lost request is followed
    /// as soon as possible.
    fn set_timeouts(&mut self, dice: &mut Dice) {
        let analysis = analyze(&self.network, &self.flows);
        for stream in &analysis.streams {
            let Ok(bound) = &stream.bound else { continue };
            let flow = &mut self.flows[stream.flow.index()];
            if let Traffic::Adaptive { pause, timeout } = &mut flow.traffic
                && dice.chance(70)
            {
                *timeout = bound.latency + Duration::from_ns(dice.time(1, 20_000));
                *pause = Duration::from_us(dice.pick(&[0, 1_000, 20_000]));
            }
        }
    }
}

fn vary_switch(dice: &mut Dice, switch: &mut Switch, is_aware: bool) {
    if dice.chance(50) {
        let heavy = [(); 8].map(|()| u8::try_from(dice.between(1, 30)).unwrap());
        if let Selection::Wrr { weights } | Selection::StrictWrr { weights } = &mut switch.selection
        {
            *weights = heavy;
        }
    }
    if !is_aware || dice.chance(20) {
        return;
    }
    for SwitchPort { vlan, default_pcp, .. } in &mut switch.ports {
        if dice.chance(40) {
            *default_pcp = random_pcp(dice);
        }
        let any = vid(dice.pick(&VLANS));
        *vlan = match dice.index(8) {
            0..3 => PortVlan::Transparent,
            3 => PortVlan::Access(any),
            4 => PortVlan::Trunk { allowed: Some(VLANS.map(vid).to_vec()), native: Some(any) },
            _ => PortVlan::Trunk { allowed: None, native: Some(vid(1)) },
        };
    }
}

fn vary_stack(dice: &mut Dice, stack: &mut Stack) {
    if let Stack::Linear(linear) = stack
        && dice.chance(40)
    {
        linear.interface = Cost {
            base: Duration::from_ns(dice.time(0, 2_000)),
            per_octet: Duration::from_ps(dice.time(0, 1_000_000)),
        };
    }
}

fn vary_flow(dice: &mut Dice, flow: &mut Flow, is_aware: bool) {
    if is_aware && dice.chance(40) {
        flow.tag = Some(Tag { pcp: random_pcp(dice), vid: vid(dice.pick(&VLANS)) });
    }
    if let Traffic::Sporadic { min_gap, mean_gap, burst } = &mut flow.traffic {
        if dice.chance(50) {
            *mean_gap = *min_gap * i64::try_from(dice.between(2, 4)).unwrap();
        }
        if dice.chance(30) {
            *burst = u32::try_from(dice.between(1, 12)).unwrap();
        }
    }
}

/// Returns the time from a flow's release to its arrival at a port without waiting, with every
/// variable delay at its maximum.
fn way_to(analysis: &Analysis, flow: usize, port: PortId) -> Option<Duration> {
    let own = analysis.streams.iter().filter(|s| s.flow.index() == flow);
    own.filter_map(|stream| stream.bound.as_ref().ok()).find_map(|bound| {
        let at = bound.hops.iter().position(|hop| hop.place.port == port)?;
        Some(bound.hops[..at].iter().map(|hop| hop.passage).sum())
    })
}

/// Returns phases with which flows meet at a port: one of them last, the others at about that time,
/// some slightly earlier so that they are in service, some slightly later so that they overtake.
fn meeting(plant: &Plant, analysis: &Analysis, dice: &mut Dice) -> Vec<Flow> {
    let bounds = analysis.streams.iter();
    let bounded: Vec<_> = bounds.filter_map(|s| s.bound.as_ref().ok()).collect();
    if bounded.is_empty() {
        return with_phases(&plant.flows, |_, _| Duration::ZERO);
    }
    let hops = &bounded[dice.index(bounded.len())].hops;
    let port = hops[dice.index(hops.len())].place.port;
    let at = Duration::from_ms(12);
    let widest = dice.pick(&[0, 2_000, 20_000_000, 400_000_000]);
    with_phases(&plant.flows, |index, _| {
        let Some(way) = way_to(analysis, index, port) else {
            return Duration::from_ps(dice.time(0, 12_000_000_000));
        };
        let shift = Duration::from_ps(dice.time(-widest, widest));
        (at + shift - way).max(Duration::ZERO)
    })
}

/// Oracle: the simulator, as in the other tests.
#[test]
fn nothing_of_wider_plants_exceeds_its_bound() {
    let mut tightness = Tightness::default();
    for_each_case("nothing_of_wider_plants_exceeds_its_bound", |number| {
        let plant = Plant::wide(number);
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let flows = meeting(&plant, &analysis, &mut dice);
            let record = simulate(&plant, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    tightness.print("wider plants");
    assert!(
        tightness.bounded * 4 > tightness.streams || std::env::var_os("RTETHER_CASE").is_some()
    );
}
