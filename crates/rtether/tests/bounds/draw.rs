//! Random switches and stacks.

use rtether_model::empirical::{Empirical, Quantile, Quantiles};
use rtether_model::network::{
    AddressTable, Buffer, Cost, ForwardingMode, Jitter, LinearStack, MulticastForwarding, Outliers,
    QueueMap, RtosStack, Selection, Servers, Spread, Stack, Switch, TagHandling,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_testkit::Dice;

/// Returns a store-and-forward switch that serves in order of arrival, with unlimited memory.
pub(crate) fn plain_switch() -> Switch {
    Switch {
        latency: Duration::from_us(2),
        buffer: Buffer::per_port(Bytes::new(1 << 30)),
        ..Switch::new(0)
    }
}

/// Draws a transmission selection.
pub(crate) fn selection(dice: &mut Dice) -> Selection {
    let weights = [(); 8].map(|()| u8::try_from(dice.between(1, 5)).unwrap());
    let quanta = [(); 8].map(|()| u16::try_from(dice.between(64, 4_000)).unwrap());
    match dice.index(8) {
        0 => Selection::Fcfs,
        1 | 2 => Selection::StrictPriority,
        3 => Selection::Wrr { weights },
        4 => Selection::EarliestDeadline,
        5 => Selection::Drr { quanta },
        6 => {
            let mbps = dice.pick(&[10, 100, 100, 1000]);
            shaped(dice, mbps)
        }
        _ => Selection::StrictWrr { weights },
    }
}

/// Draws idle slopes for a port of this rate, up to all of it together; some queues have none, and at
/// half of the ports the lowest take turns.
pub(crate) fn shaped(dice: &mut Dice, mbps: u64) -> Selection {
    let mut left = 100;
    let mut idle_slopes = [BitRate::default(); 8];
    for slope in idle_slopes.iter_mut().rev() {
        let percent = dice.pick(&[0, 3, 10, 25, 40, 75]).min(left);
        left -= percent;
        // Mostly no divisor of anything.
        let odd = dice.between(0, 999) * percent.min(1);
        *slope = BitRate::from_bps((mbps * percent * 10_000).saturating_sub(odd));
    }
    // Drawn apart, so that what follows in recorded cases stays what it was.
    let mut apart = dice.clone();
    if apart.chance(50) {
        return Selection::Cbs { idle_slopes };
    }
    let turns = apart.index(6) + 1;
    idle_slopes[..turns].fill(BitRate::default());
    let quanta = [(); 8].map(|()| u16::try_from(apart.between(64, 4_000)).unwrap());
    Selection::CbsDrr { idle_slopes, quanta }
}

pub(crate) fn random_switch(dice: &mut Dice, is_full: bool) -> Switch {
    let mut switch = plain_switch();
    if !is_full {
        return switch;
    }
    switch.latency = Duration::from_ns(dice.pick(&[0, 500, 10_000]));
    if dice.chance(30) {
        switch.mode = ForwardingMode::CutThrough;
    }
    let count = u8::try_from(dice.between(1, 8)).unwrap();
    switch.queues = QueueMap::standard(count).unwrap();
    switch.selection = selection(dice);
    if dice.chance(15) {
        switch.tags = TagHandling::Strip;
    }
    if dice.chance(15) {
        switch.multicast = MulticastForwarding::Unmanaged;
    }
    if dice.chance(6) {
        let aging = Duration::from_secs(1);
        switch.addresses = AddressTable::Learning { aging };
    }
    switch
}

/// Returns a measured distribution of up to 30 us, mostly small values.
fn quantiles(dice: &mut Dice) -> Quantiles {
    let mut value = Duration::ZERO;
    let points = [0, 500_000, 900_000, 1_000_000].map(|per_million| {
        value += Duration::from_ns(dice.time(0, 10_000));
        Quantile { per_million, value }
    });
    Quantiles::new(points.to_vec()).expect("it rises")
}

pub(crate) fn stack(dice: &mut Dice) -> Stack {
    let us = |dice: &mut Dice, max: i64| Duration::from_ns(dice.time(0, max * 1_000));
    let cost = |dice: &mut Dice| Cost {
        base: us(dice, 25),
        per_octet: Duration::from_ps(dice.time(0, 12_000)),
    };
    let jitter = Jitter {
        spread: match dice.index(4) {
            0 => Spread::None,
            1 => Spread::Uniform { max: us(dice, 30) },
            2 => Spread::Empirical(Box::new(Empirical {
                send: quantiles(dice),
                receive: quantiles(dice),
            })),
            _ => Spread::Exponential { mean: us(dice, 5), max: us(dice, 20) },
        },
        outliers: dice.chance(20).then_some(Outliers {
            per_million: 100_000,
            min: Duration::from_us(5),
            max: Duration::from_us(60),
        }),
    };
    match dice.index(6) {
        0 | 1 => Stack::Zero,
        2 => Stack::IpRate { service: us(dice, 60) },
        3 => Stack::Rtos(RtosStack {
            datagram: cost(dice),
            segment: cost(dice),
            acknowledgement: cost(dice),
            jitter,
        }),
        _ => Stack::Linear(LinearStack {
            send: cost(dice),
            receive: cost(dice),
            interface: if dice.chance(50) { Cost::default() } else { cost(dice) },
            jitter,
            servers: if dice.chance(50) { Servers::Shared } else { Servers::PerDirection },
        }),
    }
}
