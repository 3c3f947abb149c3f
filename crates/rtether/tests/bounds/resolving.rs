//! Plants whose stations resolve addresses.

use rtether_bounds::{Reason, analyze};
use rtether_model::arp::Arp;
use rtether_model::flow::Traffic;
use rtether_model::network::NodeKind;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::Routing;

use crate::bounds::dice;
use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{RUNS, Tightness, adversarial, check, check_diameter, for_each_case, simulate};

impl Plant {
    /// Returns a plant of any other kind, in which most stations resolve addresses; `None` if its
    /// switches form a loop.
    pub(crate) fn resolving(number: u64) -> Option<Self> {
        let number = number.wrapping_add(1 << 47);
        let mut plant = match number % 6 {
            0 => Self::polled(number),
            1 => Self::connected(number),
            2 => Self::random(number, Variety::Layered),
            3 => Self::policed(number),
            4 => Self::random(number, Variety::Plain),
            _ => Self::random(number, Variety::Full),
        };
        if Routing::new(&plant.network).find_loop(&plant.network).is_some() {
            return None;
        }
        let mut dice = dice(!number);
        // Requests have no priority: behind unlimited flows they have no bound.
        if dice.chance(80) {
            plant.flows.retain(|flow| {
                let is_open = matches!(flow.traffic, Traffic::Poisson { .. } | Traffic::Bulk(_));
                !is_open && !flow.is_published()
            });
        }
        // All packets may be held at the same time: loads that add up to more than one on the way
        // of an exchange have no bound.
        let slower = dice.pick(&[1, 5, 20]);
        for flow in &mut plant.flows {
            if let Traffic::Periodic { period, .. } | Traffic::Flood { interval: period } =
                &mut flow.traffic
            {
                *period = *period * slower;
            }
        }
        if plant.flows.is_empty() {
            return None;
        }
        // Some requests are repeated although nothing is lost.
        let retry = dice.pick(&[20, 200, 5_000, 5_000, 1_000_000, 1_000_000]);
        for node in &mut plant.network.nodes {
            if let NodeKind::EndStation(station) = &mut node.kind
                && dice.chance(70)
            {
                station.arp = Some(Arp {
                    lifetime: Duration::from_us(dice.pick(&[5_000, 20_000, 60_000_000])),
                    retry: Duration::from_us(retry),
                    attempts: dice.pick(&[1, 3]),
                    hold: Bytes::new(1 << 30),
                });
            }
        }
        Some(plant)
    }
}

/// Oracle: the simulator, as in the other tests; and no station gives a neighbor up if all
/// exchanges of the plant are proved.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn packets_held_for_an_address_keep_to_their_bounds() {
    let mut tightness = Tightness::default();
    let (mut plants, mut held, mut unproved) = (0, 0, 0);
    for_each_case("packets_held_for_an_address_keep_to_their_bounds", |number| {
        let Some(plant) = Plant::resolving(number) else {
            return;
        };
        plants += 1;
        let analysis = analyze(&plant.network, &plant.flows);
        let is_unproved = |bound: &Result<_, Reason>| {
            matches!(bound, Err(Reason::Resolution { .. } | Reason::Connection { .. }))
        };
        let mut streams = analysis.streams.iter();
        let is_proved = streams.all(|stream| stream.bound.is_ok());
        unproved += usize::from(analysis.streams.iter().any(|own| is_unproved(&own.bound)));
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
            for arp in record.nodes.iter().filter_map(|node| node.arp.as_ref()) {
                held += arp.held;
                let is_kept = arp.failures == 0 && arp.dropped == 0;
                assert!(!is_proved || is_kept, "{arp:?}");
            }
        }
        tightness.by_diameter += check_diameter(&plant, &most);
        tightness.add(&analysis, &most);
    });
    tightness.print("plants that resolve addresses");
    println!("{plants} plants, {held} packets held; {unproved} plants with unproved exchanges");
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || tightness.bounded * 3 > tightness.streams);
    assert!(is_one || (held > 10_000 && unproved > 5));
}
