//! Plants on a hub whose stations follow an access scheme.

use rtether_bounds::analyze;
use rtether_model::access::{
    Access, Backup, Domain, Member, Scheme, SchemeKind, Summation, Tdma, Wish,
};
use rtether_model::flow::{Flow, Phase, Reply, Traffic};
use rtether_model::network::{Hub, NodeId, NodeKind, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_testkit::Dice;

use crate::bounds::plant::Plant;
use crate::bounds::{RUNS, Tightness, check, dice, simulate, with_phases};

/// Cases of one scheme in the nightly run.
const NIGHTLY: u64 = 2_000;

/// Returns stations at a hub, or at two joined ones, some with a switch and stations behind it.
fn hub_plant(dice: &mut Dice, may_switch: bool) -> (Plant, NodeId) {
    let mut plant = Plant::default();
    let rate = BitRate::from_mbps(dice.pick(&[10, 100]));
    let mut hub = || {
        let hub = Hub { delay: Duration::from_ns(dice.pick(&[0, 0, 400])), ..Hub::new(rate, 0) };
        plant.network.add(format!("h{}", plant.network.nodes.len()), NodeKind::Hub(hub))
    };
    let hubs = [hub(), hub()];
    let used = if dice.chance(30) { 2 } else { 1 };
    let join = |plant: &mut Plant, dice: &mut Dice, a: NodeId, b: NodeId| {
        let link = plant.network.join(a, b, rate);
        link.propagation = Duration::from_ns(dice.pick(&[0, 50, 500]));
    };
    if used == 2 {
        join(&mut plant, dice, hubs[0], hubs[1]);
    }
    for _ in 0..dice.between(2, 6) {
        let stack = if dice.chance(20) {
            Stack::IpRate { service: Duration::from_us(dice.pick(&[5, 50])) }
        } else {
            Stack::Zero
        };
        let station = plant.station(stack);
        let hub = hubs[dice.index(used)];
        join(&mut plant, dice, station, hub);
        plant.stations.push(station);
    }
    if dice.chance(30) && may_switch {
        let latency = Duration::from_us(dice.pick(&[0, 5]));
        let switch = plant.switch(Switch { latency, ..Switch::new(0) });
        join(&mut plant, dice, switch, hubs[0]);
        for _ in 0..dice.between(1, 2) {
            let station = plant.station(Stack::Zero);
            plant.network.join(station, switch, BitRate::from_mbps(100));
            plant.stations.push(station);
        }
    }
    (plant, hubs[0])
}

/// Adds flows whose periods are not known yet.
fn add_flows(plant: &mut Plant, dice: &mut Dice) {
    for index in 0..dice.between(1, 8) {
        let talker = dice.pick(&plant.stations);
        let others = plant.stations.iter().filter(|own| **own != talker);
        let others: Vec<NodeId> = others.copied().collect();
        let listener = dice.pick(&others);
        let reply = dice.chance(20).then(|| {
            Reply::new(Bytes::new(dice.pick(&[10, 100])), Duration::from_us(dice.pick(&[0, 100])))
        });
        // Files and floods are the ordinary frames of schemes with classes.
        let traffic = if dice.chance(40) {
            Traffic::Flood { interval: Duration::from_ms(1) }
        } else {
            Traffic::periodic(Duration::from_ms(1), Phase::Fixed(Duration::ZERO))
        };
        plant.flows.push(Flow {
            reply,
            ..Flow::new(
                format!("f{index}"),
                talker,
                vec![listener],
                Bytes::new(dice.pick(&[10, 60, 60, 200, 700, 1_472])),
                traffic,
            )
        });
    }
}

/// Lets a TDMA plan have pauses, shared slots and a backup master.
fn vary(tdma: &mut Tdma, dice: &mut Dice, domain: &Domain) {
    let mut late = Duration::ZERO;
    if dice.chance(30) && tdma.backup.is_none() {
        // Behind the master's Sync frame; all slots move on.
        let offset = tdma.slots.first().map_or(tdma.cycle, |slot| slot.offset);
        let member = u32::from(tdma.master == 0);
        tdma.backup = Some(Backup { member, offset });
        late += domain.frame(Bytes::new(64)) + domain.gap() + domain.reach;
    }
    for slot in &mut tdma.slots {
        if dice.chance(40) {
            late += Duration::from_us(dice.time(0, 300));
        }
        slot.offset += late;
        if dice.chance(15) {
            slot.of = 2;
            slot.turn = dice.small(0, 1);
        }
    }
    tdma.cycle = tdma.shortest(domain) + Duration::from_us(dice.time(0, 400));
}

/// Lets a summation frame have more octets, slower stations and pauses; returns two cycles.
fn vary_summation(
    own: &mut Summation,
    dice: &mut Dice,
    domain: &Domain,
    members: &[Member],
) -> Duration {
    own.pass = Duration::from_ns(dice.pick(&[0, 500, 1_000, 20_000]));
    if dice.chance(30) {
        own.octets += Bytes::new(dice.pick(&[1, 200, 1_500]));
    }
    own.cycle = own.shortest(domain, members) + Duration::from_us(dice.pick(&[0, 0, 1, 50, 500]));
    own.cycle * 2
}

/// Returns about the time that one frame of each member takes, with what is around it.
fn all_frames(domain: &Domain, members: &[Member]) -> Duration {
    let frame = |own: &Member| domain.frame(own.largest_of_all()) + Duration::from_us(80);
    members.iter().map(frame).sum()
}

/// Returns a plant that follows the scheme, with periods that let most flows have bounds.
fn random(kind: SchemeKind, number: u64) -> Plant {
    let mut dice = dice(number.wrapping_add(1 << 50));
    // Summation frames do not pass through a switch.
    let (mut plant, hub) = hub_plant(&mut dice, kind != SchemeKind::Summation);
    add_flows(&mut plant, &mut dice);
    let parts = (&plant.network, &plant.flows[..]);
    let wish =
        Wish { response: Some(Duration::from_us(dice.pick(&[0, 1, 1, 30]))), ..Wish::default() };
    let mut access = Access::plan(kind, parts, hub, &wish).unwrap();
    let domain = Domain::of(&plant.network, hub).unwrap();
    let round = match &mut access.scheme {
        Scheme::Tdma(tdma) => {
            vary(tdma, &mut dice, &domain);
            tdma.cycle * 2
        }
        Scheme::Polling(polling) => {
            let round = all_frames(&domain, &access.members) * 2;
            if dice.chance(40) {
                polling.cycle = round / 100 * dice.time(20, 150);
            }
            round.max(polling.cycle)
        }
        Scheme::Powerlink(powerlink) => {
            powerlink.cycle += Duration::from_us(dice.pick(&[0, 0, 50]));
            powerlink.cycle * 2
        }
        Scheme::Ftt(ftt) => {
            let many = dice.chance(60);
            for own in &mut ftt.messages {
                own.every = if many { dice.pick(&[1, 2, 3, 8]) } else { 1 };
            }
            ftt.window = ftt.shortest_window(&domain) + Duration::from_us(dice.pick(&[0, 0, 40]));
            ftt.cycle = ftt.shortest(&domain, &access.members, access.response);
            ftt.cycle += Duration::from_us(dice.pick(&[0, 0, 50, 500, 3_000]));
            let rarest = ftt.messages.iter().map(|own| own.every).max();
            ftt.cycle * i64::from(rarest.unwrap_or(1)) * 2
        }
        Scheme::TimedToken(token) => {
            for own in &mut token.reservations {
                let more = dice.pick(&[100, 100, 150, 220, 350]);
                token.cycle += *own / 100 * (more - 100);
                *own = *own / 100 * more;
            }
            token.cycle += Duration::from_us(dice.pick(&[0, 0, 500]));
            token.cycle * 2
        }
        Scheme::VirtualToken(token) => {
            token.silence += Duration::from_us(dice.pick(&[0, 5, 50]));
            all_frames(&domain, &access.members) * 2
        }
        Scheme::Summation(own) => vary_summation(own, &mut dice, &domain, &access.members),
        Scheme::DemandPriority(demand) => {
            demand.promotion = Duration::from_us(dice.pick(&[100, 3_000, 250_000]));
            all_frames(&domain, &access.members) * 2
        }
    };

    access.check(&domain).unwrap();
    plant.network.access.push(access);
    for flow in &mut plant.flows {
        let percent = dice.time(100, 600);
        let own = round / 100 * percent;
        if let Traffic::Flood { interval } = &mut flow.traffic {
            *interval = own * 3;
        } else {
            flow.traffic = Traffic::periodic(own, Phase::Fixed(Duration::ZERO));
        }
    }
    plant
}

/// Checks that nothing simulated exceeds its bound.
fn keeps_to_its_bounds(kind: SchemeKind, test: &'static str) {
    let mut tightness = Tightness::default();
    crate::bounds::for_each_case_up_to([128, NIGHTLY], test, |number| {
        let plant = random(kind, number);
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let spread = dice.pick(&[1, 300_000_000, 5_000_000_000]);
            let flows = with_phases(&plant.flows, |_, _| match run {
                0 => Duration::ZERO,
                _ => Duration::from_ps(dice.time(0, spread)),
            });
            let record = simulate(&plant, &flows, number ^ run);
            let collisions: u64 = record.media.iter().flat_map(|own| &own.collisions).sum();
            assert_eq!(collisions, 0, "stations that take turns collide");
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    tightness.print(kind.name());
    assert!(
        tightness.bounded * 2 > tightness.streams || std::env::var_os("RTETHER_CASE").is_some()
    );
}

/// Oracle: the simulator, which shares no code with the bounds.
#[test]
fn tdma_keeps_to_its_bounds() {
    keeps_to_its_bounds(SchemeKind::Tdma, "tdma_keeps_to_its_bounds");
}

#[test]
fn polling_keeps_to_its_bounds() {
    keeps_to_its_bounds(SchemeKind::Polling, "polling_keeps_to_its_bounds");
}

#[test]
fn powerlink_keeps_to_its_bounds() {
    keeps_to_its_bounds(SchemeKind::Powerlink, "powerlink_keeps_to_its_bounds");
}

#[test]
fn ftt_ethernet_keeps_to_its_bounds() {
    keeps_to_its_bounds(SchemeKind::Ftt, "ftt_ethernet_keeps_to_its_bounds");
}

#[test]
fn timed_tokens_keep_to_their_bounds() {
    keeps_to_its_bounds(SchemeKind::TimedToken, "timed_tokens_keep_to_their_bounds");
}

#[test]
fn virtual_tokens_keep_to_their_bounds() {
    keeps_to_its_bounds(SchemeKind::VirtualToken, "virtual_tokens_keep_to_their_bounds");
}

#[test]
fn demand_priority_keeps_to_its_bounds() {
    keeps_to_its_bounds(SchemeKind::DemandPriority, "demand_priority_keeps_to_its_bounds");
}

#[test]
fn summation_frames_keep_to_their_bounds() {
    keeps_to_its_bounds(SchemeKind::Summation, "summation_frames_keep_to_their_bounds");
}
