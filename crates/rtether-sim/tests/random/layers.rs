//! Random tasks, queues and smoothers of end stations.

use std::num::NonZeroU32;

use rtether_model::endnode::{
    Detector, HeaderMatch, Layer, LowTurn, PortRange, PriorityTable, Receive, ReceiveConfig,
    ReceiveSelection, RingEmpty, Rule, Smoothing, TosMatch, TransmitConfig, TransmitStrategy,
};
use rtether_model::network::{EndStation, QueueMap, RtosStack, Selection, Stack, Tasks};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::smoother::{self, Adaptive, Config, Fixed, Limits, Mode, Nt, TurnBucket};

use super::network::{Style, cost, jitter};
use rtether_testkit::Dice;

/// Gives a station tasks and a layer, with some probability.
pub(super) fn equip(dice: &mut Dice, station: &mut EndStation, style: &Style) {
    if dice.chance(30) {
        station.tasks = Some(Tasks {
            message: Duration::from_ns(dice.time(0, 30_000)),
            segment: Duration::from_ns(dice.time(0, 60_000)),
            messages_first: dice.chance(50),
        });
    }
    if dice.chance(50) {
        station.layer = Some(Box::new(layer(dice, style)));
    }
}

/// Gives a station a layer whose queues drop nothing and empty in the end.
pub(crate) fn equip_amply(dice: &mut Dice, station: &mut EndStation) {
    station.layer = Some(Box::new(layer(dice, &Style::ample())));
}

/// Makes a layer add no delay on a quiet network.
pub(super) fn calm(layer: &mut Layer) {
    if let Some(Receive::Queues(queues)) = &mut layer.receive {
        queues.selection = ReceiveSelection::HighestFirst;
    }
    if let Some(transmit) = &mut layer.transmit {
        transmit.strategy = TransmitStrategy::MODERATE;
    }
    if let Some(smoothing) = &mut layer.smoother {
        smoothing.config.mode = Mode::None;
    }
}

pub(super) fn rtos(dice: &mut Dice) -> Stack {
    Stack::Rtos(RtosStack {
        datagram: cost(dice, 40_000),
        segment: cost(dice, 40_000),
        acknowledgement: cost(dice, 20_000),
        jitter: jitter(dice),
    })
}

fn layer(dice: &mut Dice, style: &Style) -> Layer {
    let classes = dice.small::<u8>(1, 4);
    let class = |dice: &mut Dice| u8::try_from(dice.index(usize::from(classes))).unwrap();
    let map = QueueMap::standard(classes).unwrap();
    let table = PriorityTable::new(map, class(dice)).unwrap();
    let rules = (0..dice.between(0, 3))
        .map(|_| {
            let class = class(dice);
            rule(dice, class)
        })
        .collect();
    Layer {
        table,
        rules,
        icmp_unclassified: dice.chance(50),
        receive: dice.chance(60).then(|| receive(dice, style)),
        transmit: dice.chance(60).then(|| transmit(dice, style)),
        smoother: dice.chance(30).then(|| smoothing(dice, style)),
    }
}

fn rule(dice: &mut Dice, class: u8) -> Rule {
    let empty = HeaderMatch::default();
    let headers = dice.pick(&[
        HeaderMatch { protocol: Some(17), ..empty },
        HeaderMatch { tos: Some(TosMatch::dscp(46)), ..empty },
        HeaderMatch { ethertype: Some(0x88B8), ..empty },
        HeaderMatch { source_port: Some(PortRange { first: 49_152, last: 49_154 }), ..empty },
    ]);
    Rule { headers, class }
}

fn limits(dice: &mut Dice, style: &Style) -> Vec<u32> {
    let limit = |dice: &mut Dice| {
        if style.is_tight { dice.small::<u32>(1, 6) } else { 100_000 }
    };
    (0..dice.between(1, 4)).map(|_| limit(dice)).collect()
}

/// An idle release; always set where frames must not wait forever.
fn idle_release(dice: &mut Dice, style: &Style) -> Option<Duration> {
    let is_literal = !style.drains && dice.chance(30);
    (!is_literal).then(|| Duration::from_us(dice.pick(&[0, 50, 1_000])))
}

fn receive(dice: &mut Dice, style: &Style) -> Receive {
    let queue_limits = limits(dice, style);
    if dice.chance(30) {
        return Receive::Instances { queue_limits };
    }
    let idle_release = idle_release(dice, style);
    let picks = NonZeroU32::new(dice.small::<u32>(1, 9)).unwrap();
    Receive::Queues(ReceiveConfig {
        input_limit: limits(dice, style)[0],
        queue_limits,
        selection: dice.pick(&[
            ReceiveSelection::HighestFirst,
            ReceiveSelection::Promoting { picks },
            ReceiveSelection::LowFlag { idle_release, low_turn: LowTurn::AllQueues },
            ReceiveSelection::LowFlag { idle_release, low_turn: LowTurn::BelowTop },
        ]),
    })
}

fn transmit(dice: &mut Dice, style: &Style) -> TransmitConfig {
    let queue_limits = limits(dice, style);
    let classes = queue_limits.len();
    let class = u8::try_from(dice.index(classes)).unwrap();
    let idle_release = idle_release(dice, style);
    TransmitConfig {
        ring_limit: dice.pick(&[1, 2, 16]),
        high_from: dice.pick(&[None, Some(class)]),
        strategy: dice.pick(&[
            TransmitStrategy::Fifo,
            TransmitStrategy::MODERATE,
            TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting },
            TransmitStrategy::Strict { idle_release },
            TransmitStrategy::Rings { count: class + 1 },
            TransmitStrategy::Selection(Selection::Wrr { weights: [2, 1, 3, 1, 1, 1, 1, 1] }),
        ]),
        queue_limits,
    }
}

fn smoothing(dice: &mut Dice, style: &Style) -> Smoothing {
    // Timers never stop, and a run that drains is long.
    let (tick, period) = if style.drains { (200, 300) } else { (1, 3) };
    let [tick, period] = [tick, period].map(Duration::from_ms);
    let depth = Bytes::new(dice.pick(&[1_500, 6_000]));
    let adaptive = Adaptive {
        tick,
        period_min: period,
        ..dice.pick(&[Adaptive::HIMD, Adaptive::SLOW_START, Adaptive::LINEAR])
    };
    let adaptive = Adaptive { period_max: period * 10, depth, ..adaptive };
    let nt = Nt { period_min: period, period_max: period * 10, ..Nt::paper(1) };
    let places =
        TurnBucket { depth, period_min: period, period_max: period * 10, ..TurnBucket::DEFAULT };
    let packets = if style.is_tight { 3 } else { 100_000 };
    Smoothing {
        config: Config {
            mode: dice.pick(&[
                Mode::None,
                Mode::Fixed(Fixed { depth, period }),
                Mode::Adaptive(adaptive),
                Mode::Nt(nt),
                Mode::Rtether(places),
            ]),
            limits: Limits {
                real_time_packets: packets,
                bulk_packets: packets,
                ..Limits::default()
            },
        },
        rule: dice.pick(&[smoother::Rule::LINUX, smoother::Rule::NT]),
        ring: dice.pick(&[1, 2, 8]),
        detector: dice.pick(&[
            Detector::OwnCollisions { visibility_per_million: 250_000 },
            Detector::ClearingRate { floor: BitRate::from_mbps(5) },
            Detector::Backlog { low: Bytes::new(1_500), high: Bytes::new(3_000) },
            Detector::Utilization { threshold_percent: 50, window: Duration::from_ms(1) },
        ]),
    }
}
