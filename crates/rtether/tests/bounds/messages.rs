//! Plants in which many flows are messages over TCP connections, some with answers.

use rtether_bounds::{Reason, analyze};
use rtether_model::flow::{Delivery, Flow, Reply, TcpParameters, Traffic};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;
use rtether_testkit::Dice;

use crate::bounds::dice;
use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{RUNS, Tightness, adversarial, check, for_each_case, simulate};

impl Plant {
    /// Returns a full plant, every fourth with layers, in which most flows of packets are messages
    /// over TCP.
    pub(crate) fn connected(number: u64) -> Self {
        let variety = if number % 4 == 3 { Variety::Layered } else { Variety::Full };
        let mut plant = Self::random(number.wrapping_add(1 << 43), variety);
        let mut dice = dice(number.wrapping_add(1 << 44));
        // One flow without a limit leaves most others without a bound.
        let is_calm = dice.chance(75);
        if is_calm {
            let has_rate = |flow: &Flow| {
                let is_free = matches!(flow.traffic, Traffic::Bulk(_) | Traffic::Poisson { .. });
                !is_free && !flow.is_published()
            };
            plant.flows.retain(has_rate);
        }
        for flow in &mut plant.flows {
            slow_down(flow);
            if dice.chance(60) {
                connect(&mut dice, flow, is_calm);
            }
            // The last acknowledgement is that of a timer.
            if dice.chance(15) {
                flow.stop = Some(Duration::from_us(dice.pick(&[4_000, 12_000])));
            }
        }
        if dice.chance(8) {
            for link in &mut plant.network.links {
                link.errors_per_billion = dice.pick(&[0, 0, 5_000_000]);
            }
        }
        plant
    }
}

/// Leaves time for acknowledgements.
fn slow_down(flow: &mut Flow) {
    match &mut flow.traffic {
        Traffic::Periodic { period, .. } | Traffic::Flood { interval: period } => {
            *period = *period * 3;
        }
        Traffic::Sporadic { min_gap, mean_gap, .. } => {
            *min_gap = *min_gap * 3;
            *mean_gap = *min_gap;
        }
        Traffic::Poisson { .. } | Traffic::Adaptive { .. } | Traffic::Bulk(_) => {}
    }
}

/// Lets a flow send its messages over a connection.
fn connect(dice: &mut Dice, flow: &mut Flow, is_calm: bool) {
    if matches!(flow.traffic, Traffic::Bulk(_) | Traffic::Adaptive { .. }) {
        return;
    }
    let size = |dice: &mut Dice| {
        Bytes::new(match dice.between(0, 4) {
            0..3 => dice.between(1, 300),
            3 => dice.between(300, 1_500),
            _ if is_calm => dice.between(1_500, 4_000),
            _ => dice.between(1_500, 12_000),
        })
    };
    flow.encapsulation = Encapsulation::Tcp;
    flow.delivery = Delivery::Unicast;
    flow.payload = size(dice);
    flow.reply = dice
        .chance(50)
        .then(|| Reply::new(size(dice), Duration::from_us(dice.pick(&[0, 0, 10, 333]))));
    let us = Duration::from_us;
    flow.connection = Some(TcpParameters {
        segment: Bytes::new(dice.pick(&[536, 1_000, 1_460])),
        window: Bytes::new(dice.pick(&[20_000, 65_535])),
        initial_window: 10,
        ack_every: u32::try_from(dice.between(1, 3)).unwrap(),
        ack_delay: us(dice.pick(&[0, 100, 1_000, 5_000, 40_000])),
        min_rto: us(200_000),
    });
    if let (Some(tcp), false) = (&mut flow.connection, is_calm) {
        tcp.window = Bytes::new(dice.pick(&[4_000, 20_000]));
        tcp.initial_window = u32::try_from(dice.pick(&[2, 4, 10])).unwrap();
        tcp.min_rto = us(dice.pick(&[3_000, 20_000, 200_000]));
    }
}

/// Oracle: the simulator, as in the other tests.
#[test]
fn messages_over_tcp_keep_to_their_bounds() {
    let test = "messages_over_tcp_keep_to_their_bounds";
    let (mut tightness, mut proved, mut delayed) = (Tightness::default(), 0, 0);
    for_each_case(test, |number| {
        let plant = Plant::connected(number);
        if plant.flows.is_empty() {
            return;
        }
        let analysis = analyze(&plant.network, &plant.flows);
        for stream in &analysis.streams {
            let has_connection = plant.flows[stream.flow.index()].connection.is_some();
            proved += usize::from(has_connection && stream.bound.is_ok());
            delayed += usize::from(matches!(stream.bound, Err(Reason::Connection { .. })));
        }
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    tightness.print("plants with messages over TCP");
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || (proved > 200 && delayed > 50), "{proved} {delayed}");
}
