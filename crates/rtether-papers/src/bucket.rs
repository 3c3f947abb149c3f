//! `kweon-bucket`: what a credit bucket lets through (002 Kweon 2; R27, R89).
//!
//! The numbers come from the smoother itself, run in virtual time.

use rtether::report::chart::Series;
use rtether_model::quantity::Instant;
use rtether_proto::smoother::{Adaptive, Class, Config, Fixed, Limits, Mode, Nt, Smoother};

use crate::prelude::*;

/// The largest IP datagram.
const MTU: Bytes = Bytes::new(1500);

const FINE: Fixed = Fixed { depth: Bytes::new(1500), period: Duration::from_us(4_800) };
const COARSE: Fixed = Fixed { depth: Bytes::new(150_000), period: Duration::from_ms(480) };

/// Interval for the mean rate; both periods divide it.
const SPAN: Duration = Duration::from_secs(48);

/// Output of one bucket.
struct BucketOutput {
    /// Longest back-to-back burst from a full bucket, with packet sizes chosen for it.
    burst: Bytes,
    /// The same if a refresh comes as the burst ends.
    burst_at_refresh: Bytes,
    /// Rate of full-sized packets under saturation.
    rate: BitRate,
    /// Departure times at the start, with the octets sent so far.
    start: Vec<(Duration, Bytes)>,
}

/// A smoother for full-sized packets with a driver that always accepts.
struct Driver {
    smoother: Smoother<()>,
    now: Instant,
    sent: Bytes,
}

impl Driver {
    fn new(mode: Mode) -> Result<Self, ReproduceError> {
        let limits = Limits { mtu: MTU, ..Limits::default() };
        let smoother = Smoother::new(Instant::ZERO, Config { mode, limits })
            .map_err(|error| ReproduceError::Scenario(error.to_string()))?;
        Ok(Self { smoother, now: Instant::ZERO, sent: Bytes::ZERO })
    }

    /// Hands over a bulk packet and takes what the smoother releases.
    fn offer(&mut self, size: Bytes) {
        // Never refused: at most one packet waits.
        let taken = self.smoother.enqueue(self.now, (), size, Class::Bulk);
        debug_assert!(taken.is_ok(), "one packet waits at most");
        self.drain();
    }

    /// Hands over full-sized packets until one has to wait.
    fn saturate(&mut self) {
        while self.smoother.state().bulk_packets == 0 {
            self.offer(MTU);
        }
    }

    /// Advances to the next refresh; returns `false` if it is after `until`.
    fn refresh(&mut self, until: Instant) -> bool {
        let due = self.smoother.poll_timeout().map(|(due, _)| due);
        let Some(due) = due.filter(|due| *due <= until) else {
            return false;
        };
        self.now = due;
        self.smoother.handle_timeout(due);
        self.drain();
        true
    }

    fn drain(&mut self) {
        while let Some(packet) = self.smoother.poll_transmit(self.now) {
            self.sent += packet.size;
        }
        while self.smoother.poll_event().is_some() {}
        self.smoother.invariants();
    }
}

fn measure(bucket: Fixed) -> Result<BucketOutput, ReproduceError> {
    let mut driver = Driver::new(Mode::Fixed(bucket))?;
    // Packets that use all credits but one, then one of the largest size; the next has to wait.
    let mut credits = bucket.depth;
    while credits > Bytes::new(1) {
        let size = (credits - Bytes::new(1)).min(MTU);
        driver.offer(size);
        credits -= size;
    }
    driver.saturate();
    let burst = driver.sent;
    driver.refresh(Instant::MAX);
    driver.saturate();
    let burst_at_refresh = driver.sent;

    let mut driver = Driver::new(Mode::Fixed(bucket))?;
    driver.saturate();
    let first = driver.sent;
    let mut start = vec![(Duration::ZERO, first)];
    while driver.refresh(Instant::ZERO + SPAN) {
        driver.saturate();
        start.push((driver.now.since_start(), driver.sent));
    }
    let bits = (driver.sent - first).bits();
    let seconds = SPAN.as_ps() / Duration::from_secs(1).as_ps();
    Ok(BucketOutput {
        burst,
        burst_at_refresh,
        rate: BitRate::from_bps(bits / seconds.unsigned_abs()),
        start,
    })
}

pub(crate) fn run(page: &mut Page, _: &Progress) -> Outcome {
    page.title("What a credit bucket lets out");
    let (fine, coarse) = (measure(FINE)?, measure(COARSE)?);
    page.check("C045", [fine.burst], fine.burst);
    let nt_rate = input_limit(Mode::Nt(Nt::paper(0)))?;
    let mut values = reference::values("kweon-linux");
    values.extend(reference::values("kweon-nt"));
    page.compare(values, |value| {
        Some(match &*value.statistic {
            "max_burst_CBD_1500" => ("longest burst, depth 1500 B", fine.burst.to_string()),
            "max_burst_CBD_150000" => ("longest burst, depth 150 000 B", coarse.burst.to_string()),
            "example_rate" => {
                ("mean rate, 4.8 ms and 480 ms", format!("{} and {}", fine.rate, coarse.rate))
            }
            "rate_at_CBD_1500" => ("input limit, NT at the start", nt_rate.clone()),
            _ => return None,
        })
    });
    page.lines(
        "The same rate with fine and with coarse granularity.",
        ["Octets let out", "2.5 Mbit/s, packets always wait; in kB"],
        [Axis::time("time").between(0.0, DRAWN.as_secs_f64()), Axis::number("kB")],
        vec![drawn("1500 B each 4.8 ms", &fine), drawn("150 000 B each 480 ms", &coarse)],
    );
    page.note(format!(
        "The longest burst of the paper is that between two refreshes. If a refresh comes \
         as it ends, up to the depth follows at once: {} and {} together.",
        fine.burst_at_refresh, coarse.burst_at_refresh
    ));
    page.note(format!(
        "The fixed rate of the measurements is {}, not ten times as much: the period of \
         3.6 ms is a misprint of 36 ms. The adaptive smoother starts at {}.",
        input_limit(Mode::Fixed(Fixed::PAPER))?,
        input_limit(Mode::Adaptive(Adaptive::HIMD))?
    ));
    Ok(())
}

/// Returns depth divided by period at the start.
fn input_limit(mode: Mode) -> Result<String, ReproduceError> {
    let rate = Driver::new(mode)?.smoother.state().rate;
    Ok(rate.map_or_else(|| "none".into(), |rate| rate.to_string()))
}

/// Time shown in the figure.
const DRAWN: Duration = Duration::from_ms(1_500);

fn drawn(name: &str, found: &BucketOutput) -> Series {
    let kb = |sent: Bytes| count_f64(sent.get()) / 1e3;
    let drawn = || found.start.iter().filter(|(at, _)| *at <= DRAWN);
    let last = drawn().next_back().map(|&(_, sent)| (DRAWN, kb(sent)));
    let points = drawn().map(|&(at, sent)| (at, kb(sent)));
    curve(name, Style::Steps, points.chain(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smoother_gives_the_numbers_of_the_paper() {
        // Oracle: 002 Kweon 2: 1499 + 1500, 149 999 + 1500, 312 500 octet/s in both cases.
        for (bucket, burst) in [(FINE, 2_999), (COARSE, 151_499)] {
            let found = measure(bucket).expect("good parameters");
            assert_eq!(found.burst, Bytes::new(burst));
            // From -1499, a refresh leads to 1 (one more packet) or to 148 501 (one hundred more,
            // the last of them at 1 credit).
            let more = 1500 * (bucket.depth.get() / 1500);
            assert_eq!(found.burst_at_refresh, Bytes::new(burst + more));
            assert_eq!(found.rate, BitRate::from_bps(2_500_000));
        }
    }
}
