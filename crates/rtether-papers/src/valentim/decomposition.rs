//! `valentim-decomposition`: header, data, stack and network card (004 Valentim III.B, figure 7).

use rtether_model::wire::{PREAMBLE, wire_time};

use super::{
    FAST, Medium, Protocol, SIZES, half_round_trips, loopbacks, simulate_all, through_hub,
};
use crate::prelude::*;

/// Half a round trip, split into parts that add up to it.
#[derive(Clone, Copy, Debug)]
struct Parts {
    protocol: Protocol,
    payload: u64,
    half: Duration,
    /// Preamble, headers and FCS on the wire.
    header: Duration,
    data: Duration,
    /// Repeater and cables.
    hub: Duration,
    stack: Duration,
    card: Duration,
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Where half a round trip over a hub goes");
    let found = simulate_all(Medium::FastHub, progress)?;
    let parts = found.iter().map(|(&(protocol, payload), found)| {
        let frame = wire_time(protocol.frame(payload), FAST);
        let data = FAST.time_ceil(Bytes::new(payload));
        let through = through_hub(Medium::FastHub, protocol.frame(payload));
        Parts {
            protocol,
            payload,
            half: found.half,
            header: frame - data,
            data,
            hub: through - frame,
            stack: found.stack / 2,
            card: found.wire - through,
        }
    });
    let parts: Vec<Parts> = parts.collect();
    for part in &parts {
        let quantity = format!("network card, {}, {} B", part.protocol.name(), part.payload);
        let paper = card_of_paper(part).map_or_else(|| "unusable".into(), |card| card.to_string());
        page.row(quantity, paper, part.card, "004 Valentim III.B, from Table II");
    }
    judge(page, &parts);
    draw(page, &parts);
    let rest = parts.iter().map(|p| {
        let sum = p.header + p.data + p.hub + p.stack + p.card;
        Duration::from_ps((p.half - sum).as_ps().abs())
    });
    page.note(format!(
        "The parts add up to half the simulated round trip (largest rest {}, from halves \
         and means rounded to a picosecond). The paper's column for the card is its formula, \
         repeater and cables taken off, where loopback is not misprinted.",
        rest.reduce(Duration::max).unwrap_or_default()
    ));
    page.note(
        "UDP has 155.6 % more header octets than RAW (46 against 18), not 55.5 %; with the \
         preamble 107.7 %.",
    );
    Ok(())
}

fn judge(page: &mut Page, parts: &[Parts]) {
    let raw = || parts.iter().filter(|part| part.protocol == Protocol::Raw);
    let words =
        raw().map(|part| format!("{} B: {} against {}", part.payload, part.card, part.stack));
    page.judge(
        "C091",
        raw().all(|part| part.card >= part.stack),
        listed(words, ", "),
        "the card takes less than half the stack's round trip for some payload",
    );
    let header = |protocol| FAST.time_ceil(Bytes::new(headers(protocol)) + PREAMBLE);
    let [udp, raw] = Protocol::ALL.map(header);
    page.judge(
        "C092",
        parts.iter().all(|part| part.header == header(part.protocol)),
        format!("{udp} and {raw} with the preamble, for all sizes"),
        "a header takes another time",
    );
}

/// Returns the octets of a frame that are not payload.
pub(crate) const fn headers(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::Udp => 46,
        Protocol::Raw => 18,
    }
}

/// Returns the card time by the paper's formula; `None` without usable values.
fn card_of_paper(part: &Parts) -> Option<Duration> {
    let key = (part.protocol, part.payload);
    let half = *half_round_trips(Medium::FastHub).get(&key)?;
    let loopback = *loopbacks().get(&key)?;
    Some(half - loopback / 2 - through_hub(Medium::FastHub, key.0.frame(key.1)))
}

fn draw(page: &mut Page, parts: &[Parts]) {
    let groups = [SIZES[0], SIZES[2], SIZES[4]].into_iter().flat_map(|size| {
        let own = parts.iter().filter(move |part| part.payload == size);
        own.map(move |part| {
            let columns = vec![
                column(part.header, None),
                column(part.data, None),
                column(part.stack, None),
                column(part.card, card_of_paper(part)),
            ];
            (format!("{} {size}", part.protocol.name()), columns)
        })
    });
    page.columns(
        "The counterpart of figure 7.",
        ["Parts of half a round trip", "100 Mbit/s hub"],
        Axis::time("time"),
        ["headers", "data", "stacks", "network cards"],
        groups.collect(),
    );
}
