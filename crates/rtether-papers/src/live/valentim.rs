//! Paper 004 live: two hosts, UDP and raw Ethernet, over an emulated hub or switch.

use std::collections::BTreeMap;

use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{PREAMBLE, wire_time};

use super::super::judge::Judge;
use super::super::observe::ratio;
use super::super::valentim::{FAST, Medium, Protocol, SIZES, half_round_trips, loopbacks, network};
use super::super::{Comparison, ReproduceError, Reproduction};
use super::{Calm, lab};
use rtether_testbed::testbed::Emulation;
use std::sync::atomic::AtomicBool;

use rtether::meter::{Contradiction, Costs, Given};
use rtether::run::Progress;
use rtether_testbed::{Via, over_loopback};

/// Round trips per point; the paper has 1000.
const COUNT: u32 = 500;
/// Round trips searched for outliers, as in the paper.
const MANY: u32 = 1_000;

type Points = BTreeMap<(Protocol, u64), Calm>;

const fn via(protocol: Protocol) -> Via {
    match protocol {
        Protocol::Udp => Via::Udp,
        Protocol::Raw => Via::Raw,
    }
}

fn keys() -> impl Iterator<Item = (Protocol, u64)> {
    let both = Protocol::ALL.iter();
    both.flat_map(|&protocol| SIZES.map(|size| (protocol, size)))
}

/// Measures all points of one network.
fn measure(medium: Medium, progress: &Progress) -> Result<(Points, Emulation), ReproduceError> {
    let plant = network(medium, Protocol::Udp);
    let ends = ["client", "server"].map(|name| plant.find(name).expect("both are there"));
    lab::with(plant, Vec::new(), progress, |lab| {
        let mut points = Points::new();
        for (protocol, size) in keys() {
            let options = lab::round_trips(via(protocol), size, COUNT);
            let found = lab.ping(ends, &options, &lab::answering(via(protocol)))?;
            points.insert((protocol, size), Calm::of(&found));
        }
        Ok(points)
    })
}

/// Measures this host's loopback.
fn measure_loopback(progress: &Progress) -> Result<Points, ReproduceError> {
    let mut points = Points::new();
    for (protocol, size) in keys() {
        if progress.is_cancelled() {
            return Err(ReproduceError::Interrupted);
        }
        let options = lab::round_trips(via(protocol), size, COUNT);
        points.insert(
            (protocol, size),
            Calm::of(&over_loopback(&options, &AtomicBool::new(false))?),
        );
    }
    Ok(points)
}

fn half(calm: &Calm) -> Duration {
    calm.median / 2
}

fn rows(
    title: &str,
    points: &Points,
    paper: &BTreeMap<(Protocol, u64), Duration>,
    value: impl Fn(&Calm) -> Duration,
) -> Vec<Comparison> {
    let rows = points.iter().map(|(key, calm)| Comparison {
        quantity: format!("{title}, {}, {} B", key.0.name(), key.1),
        paper: paper
            .get(key)
            .map_or_else(|| "unusable".into(), ToString::to_string),
        ours: format!("{} ({})", value(calm), calm.words()),
        source: "004 Valentim Table II".into(),
    });
    rows.collect()
}

pub(super) fn rtt(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let (mut comparisons, mut emulations) = (Vec::new(), Vec::new());
    let (mut holds, mut words) = (true, Vec::new());
    for medium in Medium::ALL {
        let (points, emulation) = measure(medium, progress)?;
        let paper = half_round_trips(medium);
        let title = format!("half a round trip, {}", medium.name());
        comparisons.extend(rows(&title, &points, &paper, half));
        for size in SIZES {
            let of = |protocol| half(&points[&(protocol, size)]);
            let (udp, raw) = (of(Protocol::Udp), of(Protocol::Raw));
            holds &= raw < udp;
            words.push(format!("{} {size} B: {raw} against {udp}", medium.name()));
        }
        emulations.push(emulation);
    }
    let mut judge = Judge::new("valentim-rtt");
    let reason = "raw Ethernet is not faster somewhere (medians)";
    judge.judge("C083", holds, words.join("; "), reason);
    Ok(Reproduction {
        id: "valentim-rtt",
        title: "Round trips over hubs and a switch, measured",
        mode: "live",
        comparisons,
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![lab::fidelity(&emulations), scaled()],
    })
}

fn scaled() -> String {
    format!("{COUNT} round trips each, the next when the last is answered; the paper has 1000.")
}

pub(super) fn loopback(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let points = measure_loopback(progress)?;
    let of = |protocol: Protocol| SIZES.map(|size| points[&(protocol, size)].median);
    let [udp, raw] = Protocol::ALL.map(of);
    let mut judge = Judge::new("valentim-loopback");
    let ends = |values: &[Duration]| {
        let least = values.iter().copied().fold(Duration::MAX, Ord::min);
        let most = values.iter().copied().fold(Duration::ZERO, Ord::max);
        (least, most)
    };
    let (least, most) = ends(&raw);
    judge.judge(
        "C086",
        ratio(most, least) <= 1.5,
        format!("{least} to {most}: {:.2}", ratio(most, least)),
        "raw Ethernet depends on the size",
    );
    let factors = udp.iter().zip(&raw).map(|(&udp, &raw)| ratio(udp, raw));
    let factor = factors.fold(f64::INFINITY, f64::min);
    judge.judge(
        "C087",
        factor >= 1.5 && udp.is_sorted(),
        format!("at least {factor:.2}; UDP {}", list(&udp)),
        "on a modern host the wake-up of the receiver, which both have, outweighs the stack; UDP is \
         not dearer by half, or does not grow with every size",
    );
    Ok(Reproduction {
        id: "valentim-loopback",
        title: "Round trips over loopback, measured",
        mode: "live",
        comparisons: rows("loopback", &points, &loopbacks(), |calm| calm.median),
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![scaled()],
    })
}

fn list(times: &[Duration]) -> String {
    let words: Vec<String> = times.iter().map(ToString::to_string).collect();
    words.join(", ")
}

pub(super) fn outliers(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let mut comparisons = Vec::new();
    let (mut holds, mut words) = (true, Vec::new());
    let plant = network(Medium::FastSwitch, Protocol::Udp);
    let ends = ["client", "server"].map(|name| plant.find(name).expect("both are there"));
    let (found, emulation) = lab::with(plant, Vec::new(), progress, |lab| {
        let mut found = Vec::new();
        for size in SIZES {
            let options = lab::round_trips(Via::Udp, size, MANY);
            found.push((size, lab.ping(ends, &options, &lab::answering(Via::Udp))?));
        }
        Ok(found)
    })?;
    for (size, measurement) in &found {
        // Stalls count here: the paper says that a standard system does not serve in real time.
        let Some(all) = measurement.all() else {
            continue;
        };
        let factor = ratio(all.max, all.mean);
        holds &= factor >= 1.5;
        words.push(format!("{size} B: {factor:.1}"));
        let outliers = measurement.outliers();
        comparisons.push(Comparison {
            quantity: format!("round trips, UDP, {size} B"),
            paper: "standard deviation about 5 us, single points far above the mean".into(),
            ours: format!(
                "mean {}, standard deviation {}, max {}, {} outliers",
                all.mean,
                all.standard_deviation,
                all.max,
                outliers.len()
            ),
            source: "004 Valentim Fig. 4".into(),
        });
    }
    let mut judge = Judge::new("valentim-outliers");
    judge.judge(
        "C088",
        holds,
        words.join(", "),
        "no point is far above the mean for some size",
    );
    Ok(Reproduction {
        id: "valentim-outliers",
        title: "Single round trips far above the others, measured",
        mode: "live",
        comparisons,
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![lab::fidelity(&[emulation])],
    })
}

/// Parts of half a round trip, over all points.
#[derive(Default)]
struct Shares {
    comparisons: Vec<Comparison>,
    /// Raw Ethernet: card against stack, in words, and whether anywhere the card takes less than
    /// half the stack's round trip.
    cards: Vec<String>,
    has_small_card: bool,
    /// Header times, and whether any differs from the expected one.
    headers: Vec<Duration>,
    has_odd_header: bool,
}

impl Shares {
    fn add(&mut self, protocol: Protocol, size: u64, costs: &Result<Costs, Contradiction>) {
        let ours = match costs {
            Ok(parts) => {
                let (card, stack) = (parts.nut + parts.ndt, parts.sut + parts.sdt);
                if protocol == Protocol::Raw {
                    self.has_small_card |= card < stack;
                    self.cards.push(format!("{size} B: {card} against {stack}"));
                }
                let own = if protocol == Protocol::Udp { 46 } else { 18 };
                let header = FAST.time_ceil(Bytes::new(own) + PREAMBLE);
                self.has_odd_header |= parts.htx != header;
                self.headers.push(parts.htx);
                format!(
                    "SUT {}, SDT {}, NUT {}, NDT {}, HTX {}, DTX {}",
                    parts.sut, parts.sdt, parts.nut, parts.ndt, parts.htx, parts.dtx
                )
            }
            Err(error) => {
                (self.has_small_card, self.has_odd_header) = (true, true);
                error.to_string()
            }
        };
        self.comparisons.push(Comparison {
            quantity: format!("parts of half a round trip, {}, {size} B", protocol.name()),
            paper: "see the simulated experiment".into(),
            ours,
            source: "004 Valentim III.B".into(),
        });
    }
}

pub(super) fn decomposition(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let (points, emulation) = measure(Medium::FastHub, progress)?;
    let loops = measure_loopback(progress)?;
    let mut shares = Shares::default();
    for (&(protocol, size), calm) in &points {
        let given = Given {
            round_trip: calm.median,
            loopback: loops[&(protocol, size)].median,
            payload: Bytes::new(size),
            encapsulation: protocol.encapsulation(),
            rate: FAST,
        };
        shares.add(protocol, size, &Costs::of(&given));
    }
    let mut judge = Judge::new("valentim-decomposition");
    let reason = "what the method calls the card is the way to and from the emulator here, and \
                  smaller, or loopback took longer than the network";
    judge.judge(
        "C091",
        !shares.has_small_card,
        shares.cards.join(", "),
        reason,
    );
    shares.headers.dedup();
    let headers = list(&shares.headers);
    judge.judge(
        "C092",
        !shares.has_odd_header,
        headers,
        "a header takes another time",
    );
    Ok(Reproduction {
        id: "valentim-decomposition",
        title: "Where half a round trip goes, measured",
        mode: "live",
        comparisons: shares.comparisons,
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![
            lab::fidelity(&[emulation]),
            scaled(),
            "The card is what remains: here repeater, cables, and what the emulator's devices and \
             its wake-ups take."
                .into(),
        ],
    })
}

pub(super) fn switch_hub(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let (hub, first) = measure(Medium::FastHub, progress)?;
    let (switch, second) = measure(Medium::FastSwitch, progress)?;
    let rows = hub.iter().map(|(key, of_hub)| {
        let more = half(&switch[key]) - half(of_hub);
        let frame = wire_time(key.0.frame(key.1), FAST);
        Comparison {
            quantity: format!("switch less hub, {}, {} B", key.0.name(), key.1),
            paper: "one frame time and a constant".into(),
            ours: format!("{more}: a frame time of {frame} and {}", more - frame),
            source: "004 Valentim Fig. 8".into(),
        }
    });
    let comparisons = rows.collect();
    Ok(Reproduction {
        id: "valentim-switch-hub",
        title: "A hub against a switch, measured",
        mode: "live",
        comparisons,
        claims: Judge::new("valentim-switch-hub").finish(),
        figures: Vec::new(),
        notes: vec![lab::fidelity(&[first, second]), scaled()],
    })
}
