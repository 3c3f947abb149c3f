use super::lud::nested;
use super::path::{Cross, Port, Tandem};
use super::pmoo::once;
use crate::curve::{Affine, ONE};
use crate::source::Source;
use alloc::vec;
use alloc::vec::Vec;

/// A cross flow with the same burst at all its ports; its packets take 12 to the next one.
fn cross(first: usize, ports: usize, burst: i64, rate: i128) -> Cross {
    let bursts = vec![i128::from(burst) * ONE; ports];
    Cross::new(first, bursts, rate, 12)
}

/// Ports of rate one; packets of 2 every 100, which take 10 to the next port.
fn tandem(ports: usize, flows: &[Cross], jitter: i64) -> Tandem {
    let port = |_| Port { rate: ONE, blocking: 0, high: Affine::default() };
    Tandem {
        ports: (0..ports).map(port).collect(),
        gaps: vec![[10, 10]; ports - 1],
        equal: flows.to_vec(),
        any: None,
        is_in_order: true,
        cost: 2,
        source: Source {
            period: 100,
            burst: 1,
            jitter,
            closed: None,
            in_flight: 0,
            is_on_grid: false,
        },
    }
}

#[test]
fn a_burst_is_paid_once() {
    // By hand: two ports, a cross flow of burst 6 and rate 1/4 at both, whose packets take 12 from
    // one to the other. In order: 12 + 6. In any order: 12 + 6 / (3/4). Place by place, without the
    // rate of the link between, it would be at least 10 + 6 + 6.
    let tandem = tandem(2, &[cross(0, 2, 6, ONE / 4)], 0);
    assert_eq!(nested(&tandem), Some(18));
    assert_eq!(once(&tandem), Some(20));
}

#[test]
fn own_packets_that_come_together_count() {
    // By hand: with a release jitter of 100 two packets may come at once. Of the port of rate 1,
    // 3/4 is left from 6 on: the second packet waits 6 + ceil(2 / (3/4)) = 9. With an extra delay
    // of one for the cross flow the part begins at 7 with 1: 7 + ceil(1 / (3/4)) = 9 as well; with
    // three it begins at 9 with 3, more than its 2. In any order the work is one sum, (2 + 6) /
    // (3/4), rounded up.
    let tandem = tandem(1, &[cross(0, 1, 6, ONE / 4)], 100);
    assert_eq!(nested(&tandem), Some(9));
    assert_eq!(once(&tandem), Some(11));
}

#[test]
fn flows_that_overlap_are_cut() {
    // By hand: A at ports 0 and 1 with 6, B at ports 1 and 2 with 4, both of rate 1/4. B is cut:
    // its part at port 1 comes first: 4 and 3/4 left. A then has 12 + 4 + 6 / (3/4) = 24; the parts
    // left of ports 0 and 1, at 24 after 16: 8 - 6 = 2 and 3/4, and 0 and 1/2. Port 2 follows 10
    // later, where B is alone: 4. The total is 24 + 10 + 4.
    let flows = [cross(0, 2, 6, ONE / 4), cross(1, 2, 4, ONE / 4)];
    let tandem = tandem(3, &flows, 0);
    assert_eq!(nested(&tandem), Some(38));
    // In any order: 12 + 12 + (6 + 4) / (1/2).
    assert_eq!(once(&tandem), Some(44));
}

#[test]
fn too_much_is_not_bounded() {
    let flows: Vec<Cross> = (0..4).map(|_| cross(0, 1, 1, ONE / 4)).collect();
    let tandem = tandem(1, &flows, 0);
    assert_eq!((nested(&tandem), once(&tandem)), (None, None));
    // The rest is less than the flow itself needs: 1/100.
    let tandem = self::tandem(1, &[cross(0, 1, 1, ONE - ONE / 100)], 0);
    assert_eq!((nested(&tandem), once(&tandem)), (None, None));
}

#[test]
fn tandems_of_the_disco_network_calculator() {
    // Oracle: functional tests of DiscoDNC 2.3 (Bondorf and Schmitt 2014), tandems of servers of
    // rate 20 and latency 20, flows of rate 5 and burst 25, any order of service. Here one is a
    // thousandth of their unit of time; latency is the time of a packet of a lower class, and the
    // fluid burst is packets of one unit of work, all of which are in front of the last bit.
    let fluid = |first: usize, ports: usize| {
        let bursts = vec![1_250 * ONE; ports];
        Cross::new(first, bursts, ONE / 4, 0)
    };
    let delay = |ports: usize, flows: &[Cross]| {
        let mut tandem = tandem(ports, flows, 0);
        for port in &mut tandem.ports {
            port.blocking = 20_000 * ONE;
        }
        tandem.gaps.fill([0, 0]);
        tandem.cost = 1;
        tandem.source.burst = 1_251;
        tandem.source.period = 4 * 1_251;
        once(&tandem)
    };
    // `Tandem_1SC_3Flows_1AC_3Paths`, f0 and f2: 170/3 and 85.
    assert_eq!(delay(2, &[fluid(0, 2)]), Some(56_667));
    assert_eq!(delay(3, &[fluid(0, 2), fluid(2, 1)]), Some(85_000));
    // `Tandem_1SC_2Flows_1AC_2Paths_v2`, f0: 290/3.
    assert_eq!(delay(4, &[fluid(1, 2)]), Some(96_667));
}
