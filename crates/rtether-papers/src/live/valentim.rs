//! Paper 004 live: two hosts, UDP and raw Ethernet, over an emulated hub or switch.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use rtether::meter::{Costs, Given};
use rtether_model::wire::{PREAMBLE, wire_time};
use rtether_testbed::testbed::Emulation;
use rtether_testbed::{Via, over_loopback};

use super::Calm;
use crate::lab;
use crate::prelude::*;
use crate::valentim::decomposition::headers;
use crate::valentim::{
    FAST, Key, Medium, Protocol, SIZES, Times, half_round_trips, judge_loopback, keys, loopbacks,
    network, quantity,
};

/// Round trips per point; the paper has 1000.
const COUNT: u32 = 500;
/// Round trips searched for outliers, as in the paper.
const MANY: u32 = 1_000;

type Points = BTreeMap<Key, Calm>;

const fn via(protocol: Protocol) -> Via {
    match protocol {
        Protocol::Udp => Via::Udp,
        Protocol::Raw => Via::Raw,
    }
}

/// Measures all points of one network.
fn measure(medium: Medium, progress: &Progress) -> Result<(Points, Emulation), ReproduceError> {
    let plant = network(medium, Protocol::Udp);
    let ends = lab::ends(&plant, ["client", "server"]);
    lab::with(plant, Vec::new(), progress, |lab| {
        let points = keys().map(|(protocol, size)| {
            let options = lab::round_trips(via(protocol), size, COUNT);
            let found = lab.ping(ends, &options, &lab::answering(via(protocol)))?;
            Ok(((protocol, size), Calm::of(&found)?))
        });
        points.collect()
    })
}

/// Measures this host's loopback.
fn measure_loopback(progress: &Progress) -> Result<Points, ReproduceError> {
    let points = keys().map(|(protocol, size)| {
        if progress.is_cancelled() {
            return Err(ReproduceError::Interrupted);
        }
        let options = lab::round_trips(via(protocol), size, COUNT);
        let found = over_loopback(&options, &AtomicBool::new(false))?;
        Ok(((protocol, size), Calm::of(&found)?))
    });
    points.collect()
}

fn half(calm: &Calm) -> Duration {
    calm.median / 2
}

/// Shows points next to the paper's.
fn show(
    page: &mut Page,
    network: &str,
    points: &Points,
    paper: &Times,
    value: impl Fn(&Calm) -> Duration,
) {
    for (key, calm) in points {
        let paper = paper.get(key).map_or_else(|| "unusable".into(), ToString::to_string);
        page.row(
            quantity(network, *key),
            paper,
            format!("{} ({})", value(calm), calm.words()),
            "004 Valentim Table II",
        );
    }
}

pub(crate) fn rtt(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Round trips over hubs and a switch, measured");
    let mut emulations = Vec::new();
    let (mut holds, mut words) = (true, Vec::new());
    for medium in Medium::ALL {
        let (points, emulation) = measure(medium, progress)?;
        show(page, medium.name(), &points, &half_round_trips(medium), half);
        for size in SIZES {
            let [udp, raw] = Protocol::ALL.map(|protocol| half(&points[&(protocol, size)]));
            holds &= raw < udp;
            words.push(format!("{} {size} B: {raw} against {udp}", medium.name()));
        }
        emulations.push(emulation);
    }
    let reason = "raw Ethernet is not faster somewhere (medians)";
    page.judge("C083", holds, words.join("; "), reason);
    page.note(lab::fidelity(&emulations));
    page.note(scaled());
    Ok(())
}

fn scaled() -> String {
    format!("{COUNT} round trips each, the next when the last is answered; the paper has 1000.")
}

pub(crate) fn loopback(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Round trips over loopback, measured");
    let points = measure_loopback(progress)?;
    show(page, "loopback", &points, &loopbacks(), |calm| calm.median);
    let times = Protocol::ALL.map(|of| SIZES.map(|size| points[&(of, size)].median));
    let reasons = [
        "raw Ethernet depends on the size",
        "on a modern host the wake-up of the receiver, which both have, outweighs the stack; UDP is \
         not dearer by half, or does not grow with every size",
    ];
    judge_loopback(page, times, &listed(times[0], ", "), reasons);
    page.note(scaled());
    Ok(())
}

pub(crate) fn outliers(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Single round trips far above the others, measured");
    let plant = network(Medium::FastSwitch, Protocol::Udp);
    let ends = lab::ends(&plant, ["client", "server"]);
    let (found, emulation) = lab::with(plant, Vec::new(), progress, |lab| {
        let found = SIZES.iter().map(|&size| {
            let options = lab::round_trips(Via::Udp, size, MANY);
            lab.ping(ends, &options, &lab::answering(Via::Udp))
        });
        found.collect::<Result<Vec<_>, _>>()
    })?;
    let (mut factors, mut words) = (Vec::new(), Vec::new());
    for (size, measurement) in SIZES.iter().zip(&found) {
        // Stalls count here: the paper says that a standard system does not serve in real time.
        let Some(all) = measurement.all() else {
            continue;
        };
        let factor = ratio(all.max, all.mean);
        factors.push(factor);
        words.push(format!("{size} B: {factor:.1}"));
        page.row(
            format!("round trips, UDP, {size} B"),
            "standard deviation about 5 us, single points far above the mean",
            format!(
                "mean {}, standard deviation {}, max {}, {} outliers",
                all.mean,
                all.standard_deviation,
                all.max,
                measurement.outliers().len()
            ),
            "004 Valentim Fig. 4",
        );
        let settling = measurement.settling();
        let half = settling.iter().flat_map(|settling| &settling.means);
        for first in half.filter(|first| first.count == 500) {
            page.row(
                format!("mean of the first 500 round trips, UDP, {size} B"),
                "500 suffice",
                format!("{:.2} % from that of all", first.apart * 100.0),
                "004 Valentim II.C",
            );
        }
    }
    let reason = "no point is far above the mean for some size";
    page.check_or("C088", factors, words.join(", "), reason);
    page.note(lab::fidelity(&[emulation]));
    Ok(())
}

pub(crate) fn decomposition(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Where half a round trip goes, measured");
    let (points, emulation) = measure(Medium::FastHub, progress)?;
    let loops = measure_loopback(progress)?;
    // Raw Ethernet: card against stack; and whether the card takes at least half the stack's round
    // trip everywhere, and every header as long as expected.
    let (mut cards, mut header_times) = (Vec::new(), Vec::new());
    let (mut has_large_cards, mut has_exact_headers) = (true, true);
    for (&(protocol, size), calm) in &points {
        let costs = Costs::of(&Given {
            round_trip: calm.median,
            loopback: loops[&(protocol, size)].median,
            payload: Bytes::new(size),
            encapsulation: protocol.encapsulation(),
            rate: FAST,
        });
        let ours = match costs {
            Ok(parts) => {
                let (card, stack) = (parts.nut + parts.ndt, parts.sut + parts.sdt);
                if protocol == Protocol::Raw {
                    has_large_cards &= card >= stack;
                    cards.push(format!("{size} B: {card} against {stack}"));
                }
                let header = FAST.time_ceil(Bytes::new(headers(protocol)) + PREAMBLE);
                has_exact_headers &= parts.htx == header;
                header_times.push(parts.htx);
                format!(
                    "SUT {}, SDT {}, NUT {}, NDT {}, HTX {}, DTX {}",
                    parts.sut, parts.sdt, parts.nut, parts.ndt, parts.htx, parts.dtx
                )
            }
            Err(error) => {
                (has_large_cards, has_exact_headers) = (false, false);
                error.to_string()
            }
        };
        let quantity = format!("parts of half a round trip, {}, {size} B", protocol.name());
        page.row(quantity, "see the simulated experiment", ours, "004 Valentim III.B");
    }
    let reason = "what the method calls the card is the way to and from the emulator here, and \
                  smaller, or loopback took longer than the network";
    page.judge("C091", has_large_cards, cards.join(", "), reason);
    header_times.dedup();
    let words = listed(header_times, ", ");
    page.judge("C092", has_exact_headers, words, "a header takes another time");
    page.note(lab::fidelity(&[emulation]));
    page.note(scaled());
    page.note(
        "The card is what remains: here repeater, cables, and what the emulator's devices and \
         its wake-ups take.",
    );
    Ok(())
}

pub(crate) fn switch_hub(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("A hub against a switch, measured");
    let (hub, first) = measure(Medium::FastHub, progress)?;
    let (switch, second) = measure(Medium::FastSwitch, progress)?;
    for (key, of_hub) in &hub {
        let more = half(&switch[key]) - half(of_hub);
        let frame = wire_time(key.0.frame(key.1), FAST);
        page.row(
            format!("switch minus hub, {}, {} B", key.0.name(), key.1),
            "one frame time and a constant",
            format!("{more}: a frame time of {frame} and {}", more - frame),
            "004 Valentim Fig. 8",
        );
    }
    page.note(lab::fidelity(&[first, second]));
    page.note(scaled());
    Ok(())
}
