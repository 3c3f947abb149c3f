//! The four boards and the calibration of their stacks (K2; R56).

use rtether_model::network::{Cost, Jitter, LinearStack, Outliers, Servers, Spread};
use rtether_model::wire::{Encapsulation, frame_size, wire_time};

use crate::plant::PATCH;
use crate::prelude::*;

/// Protocol of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    /// Echoes of 64 octets: 8 of header and 56 of data.
    Icmp,
    /// Command TEST and reply OK over UDP, each a start delimiter, a code and an end delimiter.
    Cndep,
    /// Command GET, with the number of a parameter, and reply DATA, with its value too: the second
    /// run of the catalogue, 2b.
    Get,
}

impl Protocol {
    /// Those with a table in the paper.
    pub(crate) const ALL: [Self; 2] = [Self::Icmp, Self::Cndep];

    pub(crate) const fn form(self) -> (Encapsulation, Bytes) {
        match self {
            Self::Icmp => (Encapsulation::Icmp, Bytes::new(56)),
            Self::Cndep => (Encapsulation::Udp, Bytes::new(3)),
            Self::Get => (Encapsulation::Udp, Bytes::new(4)),
        }
    }

    /// Returns the octets of a reply.
    pub(crate) const fn answer(self) -> Bytes {
        match self {
            Self::Icmp | Self::Cndep => self.form().1,
            Self::Get => Bytes::new(5),
        }
    }

    pub(crate) fn frame(self) -> Bytes {
        let (encapsulation, payload) = self.form();
        frame_size(payload, encapsulation)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Icmp => "icmp",
            Self::Cndep | Self::Get => "cndep",
        }
    }
}

/// A controller board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Board {
    Ep9302,
    Pic,
    Ipc,
    Tini,
}

impl Board {
    pub(crate) const ALL: [Self; 4] = [Self::Ep9302, Self::Pic, Self::Ipc, Self::Tini];

    /// Returns the name in the paper's tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ep9302 => "EP9302",
            Self::Pic => "PIC",
            Self::Ipc => "IPC",
            Self::Tini => "TINI",
        }
    }

    /// Returns the rate of its port: ENC28J60 and SC12 have 10BASE-T.
    pub(crate) const fn rate(self) -> BitRate {
        match self {
            Self::Pic | Self::Ipc => BitRate::from_mbps(10),
            Self::Ep9302 | Self::Tini => BitRate::from_mbps(100),
        }
    }
}

/// Returns the paper's measurement for a board; `None` if it is not printed or may not be compared.
pub(crate) fn measured(
    protocol: Protocol,
    board: Board,
    scenario: char,
    statistic: &str,
) -> Option<Duration> {
    let experiment = format!("kakanakov-{}-{scenario}", protocol.name());
    let subject = format!("{}, {scenario}", board.name());
    let times = reference::times(&experiment, statistic);
    times.get(&subject).copied()
}

/// Returns the port rate and the stack of a board, from column a of its table.
///
/// The smallest round trip is the fixed cost, half of it each way. The rest is jitter of the two
/// passes.
pub(crate) fn calibrate(protocol: Protocol, board: Board) -> (BitRate, LinearStack) {
    let of = |statistic| {
        let value = measured(protocol, board, 'a', statistic);
        value.expect("column a has what a calibration needs")
    };
    let min = of("min");
    let wires = (wire_time(protocol.frame(), board.rate()) + PATCH) * 2;
    let cost = Cost { base: (min - wires) / 2, per_octet: Duration::ZERO };
    let (mean, max) = (of("avg") - min, of("max") - min);
    let jitter = match protocol {
        Protocol::Icmp => exponential(mean, of("mdev"), max),
        Protocol::Cndep | Protocol::Get => uniform(of("median") - min, mean, max),
    };
    let stack = LinearStack {
        send: cost,
        receive: cost,
        interface: Cost::default(),
        jitter,
        servers: Servers::Shared,
    };
    (board.rate(), stack)
}

/// Returns an exponential jitter for two passes with outliers up to `max`: the mean of their sum is
/// exact, the deviation is exact to first order in the share of outliers.
fn exponential(mean: Duration, deviation: Duration, max: Duration) -> Jitter {
    let square = |time: Duration| i128::from(time.as_ps()) * i128::from(time.as_ps());
    // Two exponentials of half the mean have variance mean^2 / 2; outliers, uniform up to `max`,
    // add max^2 / 3 each.
    let missing = (square(deviation) - square(mean) / 2).max(0);
    let per_million = (missing * 1_000_000 * 3).checked_div(square(max)).unwrap_or(0);
    let per_million = i64::try_from(per_million).unwrap_or(0);
    let from_outliers = max / 2 * per_million / 1_000_000;
    Jitter {
        spread: Spread::Exponential { mean: (mean - from_outliers) / 2, max },
        outliers: outliers(per_million, max),
    }
}

/// Returns a uniform jitter for two passes with outliers up to `max`. The sum of two equal uniform
/// times is symmetric, so its mean is its median; the excess of the mean comes from outliers.
fn uniform(median: Duration, mean: Duration, max: Duration) -> Jitter {
    let size = (max - median) / 2;
    let excess = (mean - median).as_ps().max(0);
    let per_million = (i128::from(excess) * 1_000_000).checked_div(i128::from(size.as_ps()));
    let per_million = per_million.and_then(|share| i64::try_from(share).ok());
    Jitter {
        spread: Spread::Uniform { max: median },
        outliers: outliers(per_million.unwrap_or(0), size * 2),
    }
}

/// Returns outliers that hit `per_million` of a million round trips, each in one of its two passes.
fn outliers(per_million: i64, max: Duration) -> Option<Outliers> {
    Some(Outliers { per_million: u32::try_from(per_million / 2).ok()?, min: Duration::ZERO, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_has_the_moments_it_was_made_from() {
        // By hand: mean 57 us, deviation 84 us, at most 3.787 ms (EP9302, table 1).
        let us = Duration::from_us;
        let jitter = exponential(us(57), us(84), us(3_787));
        let outliers = jitter.outliers.unwrap();
        // (84^2 - 57^2 / 2) / (3787^2 / 3) = 1136 per million round trips.
        assert_eq!(outliers.per_million, 568);
        let Spread::Exponential { mean, .. } = jitter.spread else { panic!("{jitter:?}") };
        // 57 us minus 1136 millionths of 1893.5 us, halved.
        assert_eq!(mean.as_ns_floor(), 27_424);
        // Median 0.14 ms, mean 0.42 ms, at most 28.54 ms (EP9302, table 2): 0.28 ms in outliers of
        // 14.2 ms each are 19718 per million.
        let jitter = uniform(us(140), us(420), us(28_540));
        assert_eq!(jitter.spread, Spread::Uniform { max: us(140) });
        assert_eq!(jitter.outliers.unwrap().per_million, 9_859);
    }
}
