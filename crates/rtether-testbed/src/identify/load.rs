//! A series with load.

use rtether_live::clock::Clock;
use rtether_model::quantity::Duration;
use rtether_proto::identify::{Load, Pace, Prober};

use super::open::{Door, Open};
use super::tempo::Tempo;
use super::{BURST_MAX, Method, Series, quiet};

/// Packets of trains, silent packets and priorities.
const PACKETS: i64 = 930;

/// Returns how long a series takes, about.
pub(super) fn takes(burst: u16) -> Duration {
    // Bursts that double, those that bisect, and eight repetitions, 5 s apart.
    let bursts = 2 * i64::from(burst.max(1).ilog2()) + 9;
    Duration::from_secs(5) * bursts + Pace::default().gap * PACKETS
}

/// Measures a device with bursts that double until a packet is lost, and within what it holds.
pub(super) fn measure(
    door: &Door<'_>,
    open: &mut Open,
    burst: u16,
    tempo: &mut Tempo,
    watch: &mut dyn FnMut(Method, u64, u64),
) -> Series {
    let burst = burst.min(BURST_MAX);
    let pace = Pace { burst, ..Pace::default() };
    tempo.rest(door.stop);
    let clock = Clock::start();
    let prober = Prober::load(open.dialect.sizes(), pace, door.options.seed, clock.now());
    let all = PACKETS.cast_unsigned() + 2 * u64::from(burst);
    let ran = quiet::interview(door, prober, open, clock, &mut |done| {
        watch(Method::Load, done.min(all), all);
    });
    tempo.ended();
    let path = &door.path;
    let mut series = Series::of(open.asked, Method::Load, &ran.observations, path);
    series.load = Some(Load::estimate(&ran.observations, path));
    series.counters = ran.counters;
    series.oddities = ran.oddities;
    series.ending = ran.ending;
    series.took = clock.now().since_start();
    series
}
