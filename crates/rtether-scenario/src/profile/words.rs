//! Words and times of a profile.

use rtether_model::network::Servers;
use rtether_model::quantity::Duration;

pub(super) const fn servers_word(servers: Servers) -> &'static str {
    match servers {
        Servers::Shared => "shared",
        Servers::PerDirection => "per-direction",
    }
}

/// Returns a time that is read as the same time.
pub(super) fn time(time: Duration) -> String {
    let ps = time.as_ps().max(0);
    for (unit, size) in [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000)] {
        if ps >= size && ps % (size / 1_000) == 0 {
            return decimal(ps, size, unit);
        }
    }
    if ps >= 1_000_000 { decimal(ps, 1_000_000, "us") } else { decimal(ps, 1_000, "ns") }
}

/// Returns a number of picoseconds in a unit, with all its decimals.
fn decimal(ps: i64, size: i64, unit: &str) -> String {
    let digits = size.ilog10() as usize;
    let fraction = format!("{:0digits$}", ps % size);
    match fraction.trim_end_matches('0') {
        "" => format!("{} {unit}", ps / size),
        fraction => format!("{}.{fraction} {unit}", ps / size),
    }
}
