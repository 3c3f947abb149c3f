//! `valentim-decomposition`: header, data, stack and network card (004 Valentim III.B, figure 7).

use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{PREAMBLE, wire_time};

use super::super::{Comparison, Figure, Judge, ReproduceError, Reproduction};
use super::{
    FAST, Medium, Protocol, SIZES, half_round_trips, loopbacks, simulate_all, through_hub,
};
use rtether::report::chart::{Axis, Column, ColumnChart};
use rtether::run::Progress;

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

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let found = simulate_all(Medium::FastHub, progress)?;
    let parts: Vec<Parts> = found
        .iter()
        .map(|(&(protocol, payload), found)| {
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
        })
        .collect();
    let mut judge = Judge::new("valentim-decomposition");
    judge_parts(&mut judge, &parts);
    let rest = parts.iter().map(|p| {
        let sum = p.header + p.data + p.hub + p.stack + p.card;
        Duration::from_ps((p.half - sum).as_ps().abs())
    });
    let rest = rest.reduce(Duration::max).unwrap_or_default();
    Ok(Reproduction {
        id: "valentim-decomposition",
        title: "Where half a round trip over a hub goes",
        mode: "sim",
        comparisons: comparisons(&parts),
        claims: judge.finish(),
        figures: vec![figure(&parts)],
        notes: vec![
            format!(
                "The parts add up to half the simulated round trip (largest rest {rest}, from halves \
                 and means rounded to a picosecond). The paper's column for the card is its formula, \
                 repeater and cables taken off, where loopback is not misprinted."
            ),
            "UDP has 155.6 % more header octets than RAW (46 against 18), not 55.5 %; with the \
             preamble 107.7 %."
                .into(),
        ],
    })
}

fn judge_parts(judge: &mut Judge, parts: &[Parts]) {
    let raw = || parts.iter().filter(|part| part.protocol == Protocol::Raw);
    let words: Vec<String> = raw()
        .map(|part| format!("{} B: {} against {}", part.payload, part.card, part.stack))
        .collect();
    judge.judge(
        "C091",
        raw().all(|part| part.card >= part.stack),
        words.join(", "),
        "the card takes less than half the stack's round trip for some payload",
    );
    let header = |octets: u64| FAST.time_ceil(Bytes::new(octets) + PREAMBLE);
    let headers = [(Protocol::Udp, header(46)), (Protocol::Raw, header(18))];
    let holds = headers.iter().all(|&(protocol, header)| {
        let mut own = parts.iter().filter(|part| part.protocol == protocol);
        own.all(|part| part.header == header)
    });
    judge.judge(
        "C092",
        holds,
        format!(
            "{} and {} with the preamble, for all sizes",
            headers[0].1, headers[1].1
        ),
        "a header takes another time",
    );
}

/// Returns the card time by the paper's formula; `None` without usable values.
fn card_of_paper(protocol: Protocol, payload: u64) -> Option<Duration> {
    let key = (protocol, payload);
    let half = *half_round_trips(Medium::FastHub).get(&key)?;
    let loopback = *loopbacks().get(&key)?;
    Some(half - loopback / 2 - through_hub(Medium::FastHub, protocol.frame(payload)))
}

fn comparisons(parts: &[Parts]) -> Vec<Comparison> {
    let rows = parts.iter().map(|part| Comparison {
        quantity: format!("network card, {}, {} B", part.protocol.name(), part.payload),
        paper: card_of_paper(part.protocol, part.payload)
            .map_or_else(|| "unusable".into(), |card| card.to_string()),
        ours: part.card.to_string(),
        source: "004 Valentim III.B, from Table II".into(),
    });
    rows.collect()
}

fn figure(parts: &[Parts]) -> Figure {
    let columns = |part: &Parts| {
        let plain = |value: Duration| Column {
            value: value.as_secs_f64(),
            ..Column::default()
        };
        let card = Column {
            reference: card_of_paper(part.protocol, part.payload).map(Duration::as_secs_f64),
            ..plain(part.card)
        };
        vec![
            Some(plain(part.header)),
            Some(plain(part.data)),
            Some(plain(part.stack)),
            Some(card),
        ]
    };
    let groups = [SIZES[0], SIZES[2], SIZES[4]].into_iter().flat_map(|size| {
        let own = parts.iter().filter(move |part| part.payload == size);
        own.map(move |part| (format!("{} {size}", part.protocol.name()), columns(part)))
    });
    let chart = ColumnChart {
        title: "Parts of half a round trip".into(),
        note: "100 Mbit/s hub".into(),
        y: Axis::time("time"),
        series: ["headers", "data", "stacks", "network cards"]
            .map(String::from)
            .into(),
        groups: groups.collect(),
        reference_name: "paper".into(),
    };
    Figure {
        caption: "The counterpart of figure 7.".into(),
        drawing: chart.render(),
    }
}
