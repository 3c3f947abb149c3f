//! Parameters of the traffic smoother, with the values of the paper (002 Kweon).

use crate::quantity::{BitRate, Bytes, Duration};

/// All settings, which may be changed while the smoother runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How bulk packets are held back.
    pub mode: Mode,
    /// Limits of packets and queues.
    pub limits: Limits,
}

/// Limits of packets and queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest packet, as an IP datagram; a larger one is refused and counted.
    pub mtu: Bytes,
    /// Real-time packets that may wait; the next one is refused and counted.
    pub real_time_packets: usize,
    /// Bulk packets that may wait; the next one is refused and counted.
    pub bulk_packets: usize,
}

/// How bulk packets are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Not at all; real-time packets still go first.
    None,
    /// Credit bucket with a constant period.
    Fixed(Fixed),
    /// Credit bucket with a period that follows congestion (the Linux variant).
    Adaptive(Adaptive),
    /// Periodic service of a limited amount; period and amount follow congestion (the NT variant).
    Nt(Nt),
    /// Credit bucket that adapts its rate to the observed load of the medium and keeps the position
    /// in time at which its frames get through (rtether's own).
    Rtether(TurnBucket),
}

/// Credit bucket with a constant period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Depth of the bucket, CBD.
    pub depth: Bytes,
    /// Time between refreshes, RP.
    pub period: Duration,
}

/// Credit bucket whose period grows on congestion and shrinks over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// Depth of the bucket, CBD.
    pub depth: Bytes,
    /// How long bulk packets are held after a collision, alpha.
    pub hold: Duration,
    /// Time between two calls of *refresh*, tau. A refresh waits for such a call, so that the
    /// period is rounded up to a multiple of it.
    pub tick: Duration,
    /// Shortest period, also at the start, `RPmin`.
    pub period_min: Duration,
    /// Longest period, `RPmax`.
    pub period_max: Duration,
    /// How the period shrinks.
    pub increase: Increase,
    /// How often one collision lengthens the period.
    pub doubling: Doubling,
    /// Longer period in percent of the previous one; the paper doubles it, 200.
    pub growth_percent: u16,
    /// Whether doubling also postpones the next refresh, to one (doubled) period after the last
    /// one. The paper does not.
    pub shift_refresh: bool,
    /// Whether emptying the bucket on congestion also forgives debt, as the paper's procedure does
    /// when taken literally. Then no arrival curve is guaranteed.
    pub forgive_debt: bool,
}

/// Credit bucket whose rate follows the observed load of the medium, and whose refreshes follow the
/// times at which frames got through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnBucket {
    /// Depth of the bucket: one packet, so that a period is one turn on the medium.
    pub depth: Bytes,
    /// Shortest period, also at the start.
    pub period_min: Duration,
    /// Longest period.
    pub period_max: Duration,
    /// Room left behind a frame that had to wait, enough for an answer to it.
    pub guard: Duration,
    /// Interval over which the station measures the load of the medium, and after which the rate
    /// changes.
    pub window: Duration,
    /// Target of the share of time in which any station sends, in percent.
    pub target_percent: u8,
    /// Fraction of the distance to the target by which the rate moves in each window, in percent.
    pub gain_percent: u16,
    /// Additional growth of the rate in each window, even at the target.
    pub step: BitRate,
    /// Share of time in which any station sends above which the period additionally grows, in
    /// percent.
    pub threshold_percent: u8,
    /// Longer period in percent of the previous one.
    pub growth_percent: u16,
}

/// How the period shrinks, so that the rate grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increase {
    /// By this time every tick (HIMD): the rate grows harmonically.
    Harmonic(Duration),
    /// To one half after every such interval without a doubling: the rate grows exponentially.
    SlowStart(Duration),
    /// Such that the rate grows by this much every tick.
    Linear(BitRate),
}

/// How often one collision report lengthens the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubling {
    /// Once: when it first holds a bulk packet back.
    PerReport,
    /// At every call that finds a bulk packet held back by it, as the paper's procedure does when
    /// taken literally. Each `poll_transmit` is a call.
    PerCall,
}

/// Periodic service of a limited amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nt {
    /// Least amount released at once, also at the start, and the step by which it changes.
    pub depth_step: Bytes,
    /// Largest amount released at once.
    pub depth_max: Bytes,
    /// Shortest period, also at the start: the granularity of timers.
    pub period_min: Duration,
    /// Longest period.
    pub period_max: Duration,
    /// By how much the period shrinks at a service without congestion.
    pub delta: Duration,
    /// Each period is longer by a random time up to this, so that stations do not synchronize.
    pub jitter: Duration,
    /// Seed of the jitter; each station needs its own.
    pub seed: u64,
}

impl Config {
    /// Returns a configuration with the default limits.
    pub fn new(mode: Mode) -> Self {
        Self { mode, limits: Limits::default() }
    }
}

impl Default for Limits {
    /// Ethernet's 1500 octets and 1000 packets in each queue.
    fn default() -> Self {
        Self { mtu: Bytes::new(1500), real_time_packets: 1000, bulk_packets: 1000 }
    }
}

impl Fixed {
    /// One MTU every 36 ms, 0.33 Mbit/s (002 Kweon 3.2, where 3.6 ms is a misprint).
    pub const PAPER: Self = Self { depth: Bytes::new(1500), period: Duration::from_ms(36) };
}

impl Adaptive {
    /// Harmonic increase, multiplicative decrease with the values of 002 Kweon 3.2: the period
    /// falls by 0.1 s each second, from at most 100 ms to at least 3 ms (4 Mbit/s).
    pub const HIMD: Self = Self {
        depth: Bytes::new(1500),
        hold: Duration::from_ms(10),
        tick: Duration::from_ms(1),
        period_min: Duration::from_ms(3),
        period_max: Duration::from_ms(100),
        increase: Increase::Harmonic(Duration::from_us(100)),
        doubling: Doubling::PerReport,
        growth_percent: 200,
        shift_refresh: false,
        forgive_debt: false,
    };
    /// Slow-start increase. The paper gives no numbers: with 200 ms the longest period takes about
    /// a second to shrink to the shortest, as with [`Adaptive::HIMD`].
    pub const SLOW_START: Self =
        Self { increase: Increase::SlowStart(Duration::from_ms(200)), ..Self::HIMD };
    /// Linear increase. The paper gives no numbers: with 4 kbit/s each tick the longest period
    /// takes about a second to shrink to the shortest, as with [`Adaptive::HIMD`].
    pub const LINEAR: Self =
        Self { increase: Increase::Linear(BitRate::from_bps(4_000)), ..Self::HIMD };
}

impl TurnBucket {
    /// Chosen by sweeps at 10 Mbit/s; results in `docs/models/smoother-rtether.md`.
    pub const DEFAULT: Self = Self {
        depth: Bytes::new(1500),
        period_min: Duration::from_us(2_500),
        period_max: Duration::from_ms(100),
        guard: Duration::from_us(150),
        window: Duration::from_ms(40),
        target_percent: 65,
        gain_percent: 15,
        step: BitRate::from_bps(5_000),
        threshold_percent: 78,
        growth_percent: 150,
    };
}

impl Nt {
    /// The values of 002 Kweon 4.1; the jitter is ours.
    pub const fn paper(seed: u64) -> Self {
        Self {
            depth_step: Bytes::new(1500),
            depth_max: Bytes::new(4500),
            period_min: Duration::from_ms(10),
            period_max: Duration::from_ms(1000),
            delta: Duration::from_ms(10),
            jitter: Duration::from_ms(1),
            seed,
        }
    }
}

/// How a packet is classified by its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Real-time if the type-of-service octet equals one of two values under a mask (the Linux
    /// variant).
    TypeOfService {
        /// Bits that are compared.
        mask: u8,
        /// Values that mean real-time.
        values: [u8; 2],
    },
    /// Real-time if the protocol is this one (the NT variant, where a program cannot set the type
    /// of service): 17 is UDP.
    Protocol(u8),
}

impl Rule {
    /// Expedited forwarding (0xb8) or only the older low-delay bit (0x10), ECN bits ignored.
    pub const LINUX: Self = Self::TypeOfService { mask: 0xfc, values: [0xb8, 0x10] };
    /// UDP is real-time, everything else (TCP, ICMP) is not.
    pub const NT: Self = Self::Protocol(17);
}
