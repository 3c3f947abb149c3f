//! Our TCP and `smoltcp` 0.14 over the same bottleneck.
//!
//! `smoltcp` moves real bytes between two interfaces in virtual time. Ours is set to its
//! parameters: RTO floor 1 s, initial window 2048 octets, growth by acknowledgements (RFC 5681),
//! acknowledgement delay 10 ms, 4 out-of-order ranges, no restart after idleness. The remaining
//! differences, which the wide bands of lossy cases allow for: `smoltcp` leaves fast recovery at
//! the first new acknowledgement (Reno, not `NewReno`), has no limited transmit, times in whole
//! milliseconds, and lets its congestion window grow while the receiver's limits.

use std::ops::RangeInclusive;

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_sim::tcp::{Config, CongestionControl, Counting, InitialWindow};

use crate::tcp::bottleneck::{Agenda, Bottleneck, Wire};
use crate::tcp::pair::Pair;
use crate::tcp::stack::{ACK_DELAY_MS, Node};

/// One line of the table.
struct Case {
    name: &'static str,
    rate_mbps: u64,
    /// One way.
    delay: Duration,
    queue: usize,
    loss_ppm: u64,
    window: u32,
    control: CongestionControl,
    seeds: u64,
    /// Bands of ours over theirs in thousandths, for the whole time and for the time outside
    /// silences.
    bands: [RangeInclusive<u64>; 2],
    /// Ours and theirs in kbit/s, as measured when the test was written.
    recorded: [u64; 2],
}

/// Deliveries of one run, or the mean of several.
#[derive(Clone, Copy, Default)]
struct Outcome {
    octets: u64,
    silence: Duration,
}

impl Outcome {
    fn kbps(self, time: Duration) -> u64 {
        self.octets * 8 / ms(time)
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_ps() / 1_000_000_000).expect("positive")
}

const TIME: Duration = Duration::from_secs(10);

impl Case {
    fn wires(&self) -> (Wire, Wire) {
        let clean = Wire::new(BitRate::from_mbps(self.rate_mbps), self.delay);
        (Wire { queue: self.queue, loss_ppm: self.loss_ppm, ..clean }, clean)
    }

    /// Returns the octets that our receiver delivered in [`TIME`].
    fn ours(&self, seed: u64) -> Outcome {
        let config = Config {
            receive_window: self.window,
            initial_window: InitialWindow::Octets(2048),
            delayed_ack_timeout: Duration::from_ms(i64::from(ACK_DELAY_MS)),
            min_rto: Duration::from_secs(1),
            congestion_control: self.control,
            counting: Counting::Acknowledgements,
            restart_after_idle: false,
            reassembly_ranges: 4,
            ..Config::default()
        };
        let (forward, backward) = self.wires();
        let mut pair = Pair::new(config, forward, backward, seed);
        pair.sender.open(Instant::ZERO);
        pair.sender.write(Instant::ZERO, Bytes::new(1 << 50));
        pair.run(Instant::ZERO + TIME);
        let silence = pair.silence.until(Instant::ZERO + TIME);
        Outcome { octets: pair.receiver.delivered().get(), silence }
    }

    /// Returns the octets that the application of `smoltcp` read in [`TIME`].
    fn theirs(&self, seed: u64) -> Outcome {
        let (forward, backward) = self.wires();
        let mut wires = [Bottleneck::new(forward, seed), Bottleneck::new(backward, !seed)];
        let mut nodes = [
            Node::new(1, self.window, self.control, seed),
            Node::new(2, self.window, self.control, !seed),
        ];
        nodes[1].listen();
        nodes[0].connect();
        let mut agenda: Agenda<(usize, Vec<u8>)> = Agenda::new();
        let mut now = Instant::ZERO;
        while now <= Instant::ZERO + TIME {
            while let Some((to, packet)) = agenda.pop(now) {
                nodes[to].receive(packet);
            }
            for from in 0..2 {
                for packet in nodes[from].work(now, from == 0) {
                    let size = Bytes::new(u64::try_from(packet.len()).expect("a packet"));
                    for at in wires[from].offer(now, size).into_iter().flatten() {
                        agenda.push(at, (1 - from, packet.clone()));
                    }
                }
            }
            let wakes = nodes.iter().map(|node| node.wake).chain([agenda.next()]);
            let Some(next) = wakes.flatten().min() else {
                break;
            };
            now = next;
        }
        let silence = nodes[1].silence.until(Instant::ZERO + TIME);
        Outcome { octets: nodes[1].octets_read, silence }
    }

    /// Returns the sum over the seeds.
    fn all(&self, run: impl Fn(&Self, u64) -> Outcome) -> Outcome {
        (1..=self.seeds).map(|seed| run(self, seed)).fold(Outcome::default(), |sum, one| Outcome {
            octets: sum.octets + one.octets,
            silence: sum.silence + one.silence,
        })
    }
}

const BASE: Case = Case {
    name: "",
    rate_mbps: 100,
    delay: Duration::from_us(100),
    queue: usize::MAX,
    loss_ppm: 0,
    window: 65_535,
    control: CongestionControl::NewReno,
    seeds: 1,
    // No loss: the only differences are the microsecond clock and the start of the window.
    bands: [990..=1_010, 990..=1_010],
    recorded: [0, 0],
};

fn saturated(name: &'static str, recorded: [u64; 2]) -> Case {
    Case { name, recorded, ..BASE }
}

fn limited(name: &'static str, window: u32, delay_ms: i64, recorded: [u64; 2]) -> Case {
    Case { name, window, delay: Duration::from_ms(delay_ms), recorded, ..BASE }
}

/// Slow start overshoots the queue once and loses many segments of one window. Reno waits for its
/// timeout, 1 s of the 10; `NewReno` repairs one segment per round trip while the link idles, under
/// half a second (over 20 s both differences halve).
fn tail_drop(name: &'static str, queue: usize, recorded: [u64; 2]) -> Case {
    Case {
        name,
        queue,
        delay: Duration::from_ms(1),
        window: 262_144,
        bands: [1_000..=1_150, 950..=1_010],
        recorded,
        ..BASE
    }
}

/// Two losses in one window cost Reno a timeout and `NewReno` a round trip, more often with more
/// losses; outside the silences both follow the same law, as far as eight runs can show.
fn lossy(
    name: &'static str,
    loss_ppm: u64,
    bands: [RangeInclusive<u64>; 2],
    recorded: [u64; 2],
) -> Case {
    Case { name, loss_ppm, delay: Duration::from_ms(5), seeds: 8, bands, recorded, ..BASE }
}

fn cases() -> [Case; 11] {
    [
        saturated("long queue", [94_825, 94_813]),
        Case { rate_mbps: 1_000, ..saturated("long queue, 1 Gbit/s", [948_202, 948_081]) },
        Case {
            control: CongestionControl::None,
            ..saturated("long queue, no control", [94_924, 94_913])
        },
        limited("window 7300, 10 ms", 7_300, 5, [4_593, 4_593]),
        limited("window 7300, 4 ms", 7_300, 2, [11_294, 11_294]),
        limited("window 32768, 10 ms", 32_768, 5, [24_872, 24_815]),
        tail_drop("tail drop 40, 2 ms", 40, [93_218, 84_872]),
        tail_drop("tail drop 100, 2 ms", 100, [91_438, 84_888]),
        lossy("loss 0.1 %, 10 ms", 1_000, [950..=1_100, 950..=1_050], [29_835, 29_720]),
        lossy("loss 1 %, 10 ms", 10_000, [1_500..=2_300, 950..=1_200], [8_479, 4_484]),
        lossy("loss 5 %, 10 ms", 50_000, [2_500..=4_000, 900..=1_300], [1_437, 441]),
    ]
}

/// Returns the line of the table for `case`, and an error message if it is out of its bands.
fn compare(case: &Case) -> (String, Option<String>) {
    let both = [case.all(Case::ours), case.all(Case::theirs)];
    let time = TIME * i64::try_from(case.seeds).expect("a few");
    let [ours, theirs] = both.map(|outcome| outcome.kbps(time));
    let [ours_outside, theirs_outside] = both.map(|o| o.kbps(time - o.silence));
    let ratios = [ours * 1_000 / theirs, ours_outside * 1_000 / theirs_outside];
    let [silent, silent_theirs] = both.map(|outcome| ms(outcome.silence) / case.seeds);
    let line = format!(
        "{:<24}{ours:>8}{theirs:>9}{:>7}{silent:>8}{silent_theirs:>9}{:>7}",
        case.name, ratios[0], ratios[1]
    );
    let complaint = if case.bands.iter().zip(&ratios).any(|(band, ratio)| !band.contains(ratio)) {
        Some(format!("{}: {ratios:?} outside {:?}", case.name, case.bands))
    } else if case.recorded != [ours, theirs] {
        Some(format!("{}: [{ours}, {theirs}], recorded {:?}", case.name, case.recorded))
    } else {
        None
    };
    (line, complaint)
}

#[test]
fn throughput_agrees_with_smoltcp() {
    println!("{:<24}{:^24}{:^24}", "", "kbit/s", "without silences");
    println!("{:<24}{:>8}{:>9}{:>7}{:>8}{:>9}{:>7}", "", "ours", "smoltcp", "", "ms", "ms", "");
    let mut complaints = vec![];
    for case in cases() {
        let (line, complaint) = compare(&case);
        println!("{line}");
        complaints.extend(complaint);
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}
