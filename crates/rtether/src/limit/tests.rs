use proptest::prelude::*;
use rtether_model::flow::{Bulk, Bursts, Phase, TcpParameters, Traffic};
use rtether_model::network::NodeId;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

use super::*;

fn flow(traffic: Traffic) -> Flow {
    Flow::new("f".into(), NodeId(0), vec![NodeId(1), NodeId(2)], Bytes::new(1000), traffic)
}

fn bulk(rate: Option<u64>, mean_gap: Option<Duration>) -> Traffic {
    Traffic::Bulk(Bulk {
        transfers: Vec::new(),
        bursts: mean_gap.map(|gap| Bursts { size: Bytes::new(1_000_000), mean_gap: Some(gap) }),
        rate: rate.map(BitRate::from_bps),
        tcp: TcpParameters::default(),
    })
}

fn periodic(period: Duration) -> Traffic {
    Traffic::Periodic { period, phase: Phase::Random, release_jitter: period / 2 }
}

fn wire_bps(flow: &Flow) -> f64 {
    let offers = load::offers(flow).into_iter();
    offers.map(|(_, offer)| offer.wire_bps).sum()
}

#[test]
fn offers_by_hand() {
    // 1000 octets over UDP: frame 1046, on the wire 1066 octets, datagram 1028; two listeners.
    let sent = load::offers(&flow(periodic(Duration::from_ms(1))));
    let [(talker, offer)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!(talker, NodeId(0));
    assert!((offer.wire_bps - 2.0 * 8_528_000.0).abs() < 1e-3);
    assert!((offer.datagram_bps - 2.0 * 8_224_000.0).abs() < 1e-3);
    // A megabyte every 25 s is 320 kbit/s of payload; 1460 octets need 1538 on the wire.
    let mut burst = flow(bulk(None, Some(Duration::from_secs(25))));
    burst.encapsulation = Encapsulation::Tcp;
    burst.listeners.pop();
    assert!((wire_bps(&burst) - 320_000.0 * 1538.0 / 1460.0).abs() < 1e-3);
    // Answers count as load of the stations that send them.
    let mut asked = flow(periodic(Duration::from_ms(1)));
    asked.reply = Some(rtether_model::flow::Reply::new(Bytes::new(18), Duration::ZERO));
    let sent = load::offers(&asked);
    assert_eq!(sent.len(), 3);
    assert!((sent[2].1.wire_bps - 84.0 * 8.0 * 1000.0).abs() < 1e-3);
    // Three thousand octets over a connection are two full segments and one of 80 octets.
    asked.reply = None;
    asked.listeners.pop();
    asked.encapsulation = Encapsulation::Tcp;
    asked.payload = Bytes::new(3_000);
    asked.connection = Some(TcpParameters::default());
    let octets = 2.0 * 1538.0 + 158.0;
    assert!((wire_bps(&asked) - octets * 8_000.0).abs() < 1e-3);
}

#[test]
fn what_the_network_decides_cannot_be_scaled() {
    assert!(load::scaled(&flow(bulk(None, None)), 1.0).is_err_and(|why| why.contains("`rate`")));
    let adaptive = Traffic::Adaptive { pause: Duration::ZERO, timeout: Duration::from_secs(1) };
    assert!(load::scaled(&flow(adaptive), 1.0).is_err_and(|why| why.contains("`period`")));
}

proptest! {
    #[test]
    fn a_scaled_flow_offers_so_many_times_as_much(
        kind in 0..6,
        us in 100i64..100_000,
        factor in 0.001f64..100.0,
    ) {
        let time = Duration::from_us(us);
        let traffic = match kind {
            0 => periodic(time),
            1 => Traffic::Sporadic { min_gap: time / 2, mean_gap: time, burst: 3 },
            2 => Traffic::Poisson { mean_interval: time },
            3 => Traffic::Flood { interval: time },
            4 => bulk(Some(us.unsigned_abs() * 1_000), None),
            _ => bulk(None, Some(time * 1_000)),
        };
        let flow = flow(traffic);
        let other = load::scaled(&flow, factor).unwrap();
        let ratio = wire_bps(&other) / wire_bps(&flow);
        prop_assert!((ratio / factor - 1.0).abs() < 1e-3, "{ratio} {factor}");
        if let Traffic::Periodic { period, release_jitter, .. } = other.traffic {
            prop_assert!(release_jitter <= period);
        }
    }
}
