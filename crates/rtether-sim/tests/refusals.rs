//! Flows that cannot be simulated: a reason instead of a panic or an endless run.

use rtether_model::flow::{Bulk, Bursts, Flow, Phase, Reply, TcpParameters, Traffic};
use rtether_model::network::Stack;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;
use rtether_sim::{Config, Simulation};

use crate::support::two_stations;

/// Returns why a flow is refused.
fn reason(change: impl FnOnce(&mut Flow)) -> String {
    let mut plant = two_stations(&Stack::Zero);
    change(&mut plant.flows[0]);
    let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    match Simulation::new(&plant.network, &plant.flows, &config) {
        Ok(_) => "none".into(),
        Err(error) => error.to_string(),
    }
}

fn traffic(traffic: Traffic) -> String {
    reason(|flow| flow.traffic = traffic)
}

fn bulk(change: impl FnOnce(&mut Bulk)) -> String {
    let mut bulk = Bulk {
        transfers: Vec::new(),
        bursts: Some(Bursts { size: Bytes::new(1), mean_gap: Some(Duration::from_ms(1)) }),
        rate: None,
        tcp: TcpParameters::default(),
    };
    change(&mut bulk);
    traffic(Traffic::Bulk(bulk))
}

fn refused(reason: &str) -> String {
    format!("flow `f` cannot be simulated: {reason}")
}

#[test]
fn times_of_zero_are_refused() {
    // Oracle: flows that would release endlessly at one instant, by hand.
    let zero = Duration::ZERO;
    let periodic =
        Traffic::Periodic { period: zero, phase: Phase::Fixed(zero), release_jitter: zero };
    assert_eq!(traffic(periodic), refused("its period is zero"));
    let flood = Traffic::Flood { interval: zero };
    assert_eq!(traffic(flood), refused("its interval is zero"));
    let sporadic = Traffic::Sporadic { min_gap: zero, mean_gap: zero, burst: 1 };
    assert_eq!(traffic(sporadic), refused("its mean gap is zero"));
    let poisson = Traffic::Poisson { mean_interval: zero };
    assert_eq!(traffic(poisson), refused("its mean gap is zero"));
    let adaptive = |timeout| {
        reason(|flow| {
            let pause = Duration::ZERO;
            flow.traffic = Traffic::Adaptive { pause, timeout };
            flow.reply = Some(Reply::new(Bytes::new(60), Duration::ZERO));
        })
    };
    assert_eq!(adaptive(zero), refused("the timeout of its requests is zero"));
    assert_eq!(adaptive(Duration::from_ms(1)), "none");
}

#[test]
fn files_that_make_no_sense_are_refused() {
    assert_eq!(bulk(|_| {}), "none");
    let bursts = |size, gap| {
        bulk(|bulk| {
            bulk.bursts = Some(Bursts { size: Bytes::new(size), mean_gap: gap });
        })
    };
    assert_eq!(bursts(0, None), refused("its files are empty"));
    assert_eq!(bursts(1, Some(Duration::ZERO)), refused("the mean gap of its files is zero"));
    assert_eq!(
        bulk(|bulk| bulk.rate = Some(BitRate::from_bps(0))),
        refused("the rate of its application is zero")
    );
}

#[test]
fn unusable_parameters_of_connections_are_refused() {
    // Oracle: the limits of the engines of `tcp`.
    let plain = TcpParameters::default();
    let zero = Duration::ZERO;
    for (tcp, expected) in [
        (TcpParameters { segment: Bytes::ZERO, ..plain }, "the MSS is zero"),
        (TcpParameters { window: Bytes::ZERO, ..plain }, "the receive window is zero"),
        (
            TcpParameters { ack_every: 0, ..plain },
            "the number of segments per acknowledgement is zero",
        ),
        (TcpParameters { min_rto: zero, ..plain }, "the RTO floor is zero"),
        (
            TcpParameters { min_rto: Duration::from_secs(61), ..plain },
            "the RTO floor is above the ceiling",
        ),
    ] {
        assert_eq!(bulk(|bulk| bulk.tcp = tcp), refused(expected));
        let of_messages = reason(|flow| {
            flow.encapsulation = Encapsulation::Tcp;
            flow.connection = Some(tcp);
        });
        assert_eq!(of_messages, refused(expected));
    }
}
