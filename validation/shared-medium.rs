//! Shared Ethernet against closed forms of the literature; see `README.md` beside this file.
//!
//! Each test prints a table: `cargo test -p rtether-sim --test it -- shared_medium:: --nocapture`.

#![allow(clippy::print_stdout, reason = "the tables are what the tests are read for")]

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire::MIN_FRAME;
use rtether_sim::medium::{Attachment, Backoff, Config, EventKind, Medium};

/// Bit time at 10 Mbit/s, in picoseconds.
const BIT: i64 = 100_000;
/// Frame sizes of Boggs, Mogul and Kent; theirs go up to 4000 octets, beyond the standard.
const SIZES: [u64; 6] = [64, 128, 256, 512, 1024, 1518];
/// Numbers of stations that always have a frame.
const STATIONS: [u32; 7] = [1, 2, 3, 5, 10, 24, 50];

/// Returns a hub of 10 Mbit/s with stations about 50 m away.
fn hub(backoff: Backoff, stations: u32) -> Medium {
    let config = Config {
        rate: BitRate::from_mbps(10),
        repeater_delay: Duration::from_ps(2 * BIT),
        backoff,
    };
    let attachments: Vec<Attachment> = (0..stations)
        .map(|station| Attachment {
            distance: Duration::from_ps(5 * BIT),
            seed: 100 + u64::from(station),
        })
        .collect();
    Medium::new(&config, &attachments).expect("a hub that is small enough")
}

fn real(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("a small count"))
}

/// Lets two stations start together repeatedly; returns how often the first n attempts collided, n
/// from 1.
fn collisions_in_a_row(backoff: Backoff, trials: u32) -> [u64; 16] {
    let mut medium = hub(backoff, 2);
    for trial in 0..i64::from(trials) {
        // Further apart than 16 back-offs take.
        let at = Instant::from_ps(trial * 30_000_000 * BIT);
        medium.offer(at, 0, 0, MIN_FRAME);
        medium.offer(at, 1, 0, MIN_FRAME);
        while let Some(due) = medium.poll_timeout() {
            medium.handle_timeout(due);
            while medium.poll_event().is_some() {}
        }
    }
    // Both stations count each collision.
    medium.statistics().collisions.map(|count| count / 2)
}

/// Oracle: after n collisions two stations draw the same of 2^n values with probability 2^-n (IEEE
/// 802.3-2022, 4.2.3.2.5), of 2^n + 1 values with 1 / (2^n + 1); n in a row have the product.
/// Bound: five standard errors of a share.
#[test]
fn collisions_of_two_stations() {
    const TRIALS: u32 = 400_000;
    println!("further collisions of two stations in a row, {TRIALS} trials");
    println!("ranges             n  simulated    formula      ratio");
    for (backoff, extra) in [(Backoff::Standard, 0.0), (Backoff::UpperEndIncluded, 1.0)] {
        let seen = collisions_in_a_row(backoff, TRIALS);
        assert_eq!(seen[0], u64::from(TRIALS), "those that begin together collide");
        let mut formula = 1.0;
        for (n, &count) in (1u32..=5).zip(&seen[1..]) {
            formula /= f64::from(1u32 << n) + extra;
            let simulated = real(count) / f64::from(TRIALS);
            let name = format!("{backoff:?}");
            let ratio = simulated / formula;
            println!("{name:<18} {n}  {simulated:.4e}  {formula:.4e}  {ratio:8.3}");
            let error = (formula * (1.0 - formula) / f64::from(TRIALS)).sqrt();
            assert!((simulated - formula).abs() < 5.0 * error, "{name}, {n}: {ratio}");
        }
    }
}

/// Length of a run with saturated stations, in bits.
const BITS: i64 = 40_000_000;

/// Share of the time in which frames are carried, preamble included and gap excluded, by saturated
/// stations.
fn efficiency(stations: u32, octets: u64) -> f64 {
    let mut medium = hub(Backoff::Standard, stations);
    for station in 0..stations {
        medium.offer(Instant::ZERO, station, 0, Bytes::new(octets));
    }
    while let Some(due) = medium.poll_timeout().filter(|due| due.as_ps() < BITS * BIT) {
        medium.handle_timeout(due);
        let mut ended = Vec::new();
        while let Some(event) = medium.poll_event() {
            if matches!(event.kind, EventKind::Sent { .. } | EventKind::Dropped { .. }) {
                ended.push(event.station);
            }
        }
        for station in ended {
            medium.offer(due, station, 0, Bytes::new(octets));
        }
    }
    medium.invariants().expect("the engine's own rules");
    medium.statistics().carried.as_secs_f64() / Duration::from_ps(BITS * BIT).as_secs_f64()
}

/// Bits of a frame with preamble.
fn frame_bits(octets: u64) -> f64 {
    real((octets + 8) * 8)
}

/// Bits of the inter-frame gap, which the paper does not include.
const GAP: f64 = 96.0;
/// Bits of a slot.
const SLOT: f64 = 512.0;

/// Efficiency after Metcalfe and Boggs: `E = (P/C) / (P/C + W T)` with `W = (1 - A) / A` slots of
/// contention before a frame and `A = (1 - 1/Q)^(Q - 1)`, the chance that exactly one of Q stations
/// takes a slot if each does with probability 1/Q; the gap on top of P.
fn metcalfe_boggs(stations: u32, octets: u64) -> f64 {
    let q = f64::from(stations);
    let others = i32::try_from(stations).expect("few stations") - 1;
    let success = (1.0 - 1.0 / q).powi(others);
    let waiting = (1.0 - success) / success * SLOT;
    frame_bits(octets) / (frame_bits(octets) + GAP + waiting)
}

/// Oracle: Metcalfe and Boggs 1976. Lower bound: the formula, whose collisions cost a whole slot
/// each (here a fragment and a gap) and whose stations show no capture effect. Upper bound: frames
/// back to back, which one station reaches except for the frame cut off at the end.
#[test]
fn throughput_of_metcalfe_and_boggs() {
    println!("share of the time that carries frames, stations always ready");
    println!("stations  octets  simulated  formula  ratio  back to back");
    for (stations, octets) in points() {
        let simulated = efficiency(stations, octets);
        let formula = metcalfe_boggs(stations, octets);
        let limit = frame_bits(octets) / (frame_bits(octets) + GAP);
        let ratio = simulated / formula;
        println!(
            "{stations:8}  {octets:6}  {simulated:9.4}  {formula:7.4}  {ratio:5.3}  {limit:12.4}"
        );
        if stations == 1 {
            let cut = (frame_bits(octets) + GAP) / real(BITS.unsigned_abs());
            assert!((simulated - limit).abs() < cut, "one station, {octets}");
        } else {
            assert!(simulated > formula, "{stations} x {octets}: {ratio}");
            assert!(simulated < limit, "{stations} x {octets}: {simulated}");
        }
    }
}

fn points() -> impl Iterator<Item = (u32, u64)> {
    let all = STATIONS.into_iter();
    all.flat_map(|stations| SIZES.map(|octets| (stations, octets)))
}

/// Oracle: Boggs, Mogul and Kent 1988: efficiency rises with frame length and falls slightly with
/// the number of stations, and the network does not break down. Bound: from 10 stations on, five
/// times as many cost less than one slot a frame more, since contention after Metcalfe and Boggs
/// grows from 1.58 to at most e - 1 = 1.72 slots.
#[test]
fn capacity_by_frame_size_and_number_of_stations() {
    println!("bits of a frame's time that carry nothing");
    println!("stations {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}", 64, 128, 256, 512, 1024, 1518);
    let mut before: Option<[f64; 6]> = None;
    let mut of_ten = [0.0; 6];
    for stations in STATIONS {
        let shares = SIZES.map(|octets| efficiency(stations, octets));
        assert!(shares.is_sorted(), "longer frames are carried better: {shares:?}");
        let mut idle = [0.0; 6];
        for ((idle, &octets), share) in idle.iter_mut().zip(&SIZES).zip(shares) {
            *idle = frame_bits(octets) / share - frame_bits(octets);
        }
        let cells: Vec<String> = idle.iter().map(|bits| format!("{bits:8.1}")).collect();
        println!("{stations:8} {}", cells.join(" "));
        if let Some(before) = before {
            let mut all = before.iter().zip(&shares);
            assert!(all.all(|(fewer, more)| more < fewer), "{stations}: {shares:?}");
        }
        before = Some(shares);
        if stations == 10 {
            of_ten = idle;
        }
        if stations == 50 {
            let mut more = idle.iter().zip(of_ten).map(|(fifty, ten)| fifty - ten);
            assert!(more.all(|bits| bits < SLOT), "{idle:?}");
        }
    }
}

/// By hand: two stations take half of the slots, so that a frame waits one slot on average.
#[test]
fn the_formula_by_hand() {
    let expected = 576.0 / (576.0 + 96.0 + 512.0);
    assert!((metcalfe_boggs(2, 64) - expected).abs() < 1e-12);
    // A = (2/3)^2, W = 5/4.
    let expected = 12_208.0 / (12_208.0 + 96.0 + 640.0);
    assert!((metcalfe_boggs(3, 1518) - expected).abs() < 1e-12);
}
