//! Random layers of end stations: tasks, receive queues, transmit queues, smoothers, all with
//! unlimited memory.

use core::num::NonZeroU32;

use rtether_model::endnode::{
    Detector, HeaderMatch, Layer, LowTurn, PriorityTable, Receive, ReceiveConfig, ReceiveSelection,
    RingEmpty, Rule, Smoothing, TosMatch, TransmitConfig, TransmitStrategy,
};
use rtether_model::network::{EndStation, QueueMap, Selection, Tasks};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::smoother::{
    Adaptive, Config, Doubling, Fixed, Increase, Limits, Mode, Nt, TurnBucket,
};
use rtether_testkit::Dice;

use crate::bounds::draw::{selection, shaped};

const PLENTY: u32 = 1_000_000;

/// Gives a station what only plants with layers have, or leaves it plain.
pub(crate) fn add_layers(dice: &mut Dice, station: &mut EndStation, mbps: u64) {
    if dice.chance(35) {
        station.tasks = Some(Tasks {
            message: us(dice, 25),
            segment: us(dice, 40),
            messages_first: dice.chance(50),
        });
    }
    let [receive, transmit, smoother] = [45, 45, 35].map(|percent| dice.chance(percent));
    if !(receive || transmit || smoother) {
        return;
    }
    let count = u8::try_from(dice.between(1, 4)).unwrap();
    let table = QueueMap::standard(count).unwrap();
    let untagged = u8::try_from(dice.between(0, u64::from(count) - 1)).unwrap();
    let mut layer = Layer {
        table: PriorityTable::new(table, untagged).unwrap(),
        icmp_unclassified: dice.chance(30),
        ..Layer::default()
    };
    layer.rules = (0..dice.between(0, 3)).map(|_| rule(dice, count)).collect();
    // Sometimes fewer queues than classes.
    let queues = usize::try_from(dice.between(1, u64::from(count))).unwrap();
    let queues = if dice.chance(80) { count.into() } else { queues };
    if receive {
        layer.receive = Some(receive_side(dice, queues));
    }
    if transmit {
        let mut config = transmit_side(dice, queues);
        // This combination has no bound, so it is drawn rarely.
        let is_strict = matches!(config.strategy, TransmitStrategy::Strict { .. });
        if smoother && is_strict && dice.chance(85) {
            config.strategy = TransmitStrategy::MODERATE;
        }
        layer.transmit = Some(config);
    }
    if smoother {
        layer.smoother = Some(smoothing(dice, mbps));
    }
    station.layer = Some(Box::new(layer));
}

/// Returns a layer with shaped transmit queues alone.
pub(crate) fn shaping_layer(dice: &mut Dice, mbps: u64) -> Layer {
    let count = u8::try_from(dice.between(2, 4)).unwrap();
    let table = QueueMap::standard(count).unwrap();
    Layer {
        table: PriorityTable::new(table, 0).unwrap(),
        transmit: Some(TransmitConfig {
            ring_limit: dice.pick(&[1, 1, 1, 2, 16]),
            queue_limits: vec![PLENTY; count.into()],
            high_from: None,
            strategy: TransmitStrategy::Selection(shaped(dice, mbps)),
        }),
        ..Layer::default()
    }
}

fn us(dice: &mut Dice, max: i64) -> Duration {
    Duration::from_ns(dice.time(0, max * 1_000))
}

fn rule(dice: &mut Dice, count: u8) -> Rule {
    let class = u8::try_from(dice.between(0, u64::from(count) - 1)).unwrap();
    let mut headers = HeaderMatch::default();
    match dice.index(4) {
        0 => headers.ethertype = Some(dice.pick(&[0x0800, 0x88B5])),
        1 => headers.tos = Some(TosMatch::dscp(dice.pick(&[0, 46]))),
        2 => headers.protocol = Some(dice.pick(&[1, 6, 17])),
        _ => {
            let first = 49_152 + u16::try_from(dice.between(0, 8)).unwrap();
            let ports = rtether_model::endnode::PortRange { first, last: first + 4 };
            if dice.chance(50) {
                headers.source_port = Some(ports);
            } else {
                headers.destination_port = Some(ports);
            }
        }
    }
    Rule { headers, class }
}

fn receive_side(dice: &mut Dice, queues: usize) -> Receive {
    let queue_limits = vec![PLENTY; queues];
    let selection = match dice.index(5) {
        0 => return Receive::Instances { queue_limits },
        1 => ReceiveSelection::HighestFirst,
        2 => ReceiveSelection::Promoting {
            picks: NonZeroU32::new(u32::try_from(dice.between(1, 8)).unwrap()).unwrap(),
        },
        _ => ReceiveSelection::LowFlag {
            idle_release: (!dice.chance(10)).then(|| us(dice, 1_000)),
            low_turn: dice.pick(&[LowTurn::AllQueues, LowTurn::BelowTop]),
        },
    };
    Receive::Queues(ReceiveConfig { input_limit: PLENTY, queue_limits, selection })
}

fn transmit_side(dice: &mut Dice, queues: usize) -> TransmitConfig {
    let top = u64::try_from(queues).unwrap() - 1;
    let strategy = match dice.index(7) {
        0 => TransmitStrategy::Fifo,
        1 => TransmitStrategy::Moderate { empty: RingEmpty::NoneWaitingOrSending },
        2 => TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting },
        3 | 4 => {
            TransmitStrategy::Strict { idle_release: (!dice.chance(15)).then(|| us(dice, 1_000)) }
        }
        5 => TransmitStrategy::Selection(queued(dice)),
        _ => TransmitStrategy::Rings { count: u8::try_from(dice.between(1, top + 1)).unwrap() },
    };
    TransmitConfig {
        ring_limit: dice.pick(&[1, 2, 3, 16, 64]),
        queue_limits: vec![PLENTY; queues],
        high_from: dice.chance(40).then(|| u8::try_from(dice.between(0, top)).unwrap()),
        strategy,
    }
}

/// Draws a selection that uses the queues.
fn queued(dice: &mut Dice) -> Selection {
    loop {
        let drawn = selection(dice);
        if drawn.uses_queues() {
            return drawn;
        }
    }
}

fn smoothing(dice: &mut Dice, mbps: u64) -> Smoothing {
    // One full frame takes 1.2 ms at 10 Mbit/s.
    let scale = if mbps == 10 { 8 } else { 1 };
    let period = Duration::from_us(scale * dice.time(30, 500));
    let longest = period * dice.time(1, 20);
    let depth = Bytes::new(dice.pick(&[100, 700, 1_500, 1_500, 4_000]));
    let adaptive = |increase| Adaptive {
        depth,
        hold: Duration::from_us(500),
        tick: Duration::from_us(100),
        period_min: period,
        period_max: longest,
        increase,
        ..Adaptive::HIMD
    };
    let mode = match dice.index(8) {
        0 => Mode::None,
        1 | 2 => Mode::Fixed(Fixed { depth, period }),
        3 => Mode::Adaptive(adaptive(Increase::Harmonic(Duration::from_us(10)))),
        4 => Mode::Adaptive(Adaptive {
            forgive_debt: dice.chance(50),
            doubling: dice.pick(&[Doubling::PerReport, Doubling::PerCall]),
            shift_refresh: dice.chance(50),
            ..adaptive(Increase::SlowStart(Duration::from_ms(5)))
        }),
        5 => Mode::Adaptive(adaptive(Increase::Linear(BitRate::from_bps(100_000)))),
        6 => Mode::Nt(Nt {
            depth_step: Bytes::new(1_500),
            depth_max: Bytes::new(dice.pick(&[1_500, 4_500])),
            period_min: period,
            period_max: longest,
            delta: Duration::from_us(100),
            jitter: us(dice, 100),
            seed: 1,
        }),
        _ => Mode::Rtether(TurnBucket {
            depth,
            period_min: period,
            period_max: longest,
            ..TurnBucket::DEFAULT
        }),
    };
    let limits = Limits { real_time_packets: 1 << 20, bulk_packets: 1 << 20, ..Limits::default() };
    Smoothing {
        config: Config { mode, limits },
        rule: dice.pick(&[
            rtether_model::smoother::Rule::LINUX,
            rtether_model::smoother::Rule::LINUX,
            rtether_model::smoother::Rule::NT,
        ]),
        ring: dice.pick(&[1, 2, 2, 2, 5]),
        detector: match dice.index(8) {
            0 => Detector::ClearingRate { floor: BitRate::from_mbps(mbps / 2) },
            1 => Detector::Backlog { low: Bytes::new(500), high: Bytes::new(1_500) },
            2 => Detector::Utilization { threshold_percent: 20, window: Duration::from_us(500) },
            _ => Detector::OwnCollisions { visibility_per_million: 1_000_000 },
        },
    }
}
