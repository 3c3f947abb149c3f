//! Runs a 100 Mbit/s hub with 10 Poisson senders and prints the speed of the simulation.
//!
//! Arguments, each with a default: packets per second of all senders together (50 000), seconds
//! (40), octets per frame (128), nanoseconds from each station to the repeater (25).
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::collections::VecDeque;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_sim::medium::{Attachment, Backoff, Config, EventKind, Medium};

const SENDERS: u32 = 10;

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |default: u32| {
        let argument = args.next().and_then(|argument| argument.parse().ok());
        argument.unwrap_or(default)
    };
    let (rate, seconds) = (number(50_000), number(40));
    let frame = Bytes::new(number(128).into());
    let distance = Duration::from_ns(number(25).into());
    let config = Config {
        rate: BitRate::from_mbps(100),
        repeater_delay: Duration::from_ns(400),
        backoff: Backoff::Standard,
    };
    let attachments: Vec<_> =
        (0..SENDERS).map(|n| Attachment { distance, seed: u64::from(n) + 1 }).collect();
    let mut medium = Medium::new(&config, &attachments).expect("ten stations at 100 Mbit/s");
    let started = cpu_seconds();
    let load = Load::run(&mut medium, frame, rate.into(), Duration::from_secs(seconds.into()));
    let spent = cpu_seconds() - started;
    let counts = (0..SENDERS).map(|station| medium.station_statistics(station));
    let (sent, dropped) = counts.fold((0, 0), |(sent, dropped), station| {
        (sent + station.sent, dropped + station.dropped())
    });
    let collisions: u64 = medium.statistics().collisions.iter().sum();
    let sent_f64 = f64::from(u32::try_from(sent).expect("fewer frames than 2^32"));
    let waiting: usize = load.queues.iter().map(VecDeque::len).sum();
    println!(
        "{{\"offered\": {}, \"sent\": {sent}, \"dropped\": {dropped}, \"waiting\": {waiting}, \
         \"collisions\": {collisions}, \"delay_mean_us\": {:.1}, \"delay_max_us\": {:.1}, \
         \"cpu_s\": {spent:.3}, \"frames_per_cpu_s\": {:.0}}}",
        load.offered,
        load.delay_sum.as_us_f64() / sent_f64,
        load.delay_max.as_us_f64(),
        sent_f64 / spent,
    );
    medium.invariants().expect("the rules of the model hold");
}

/// One Poisson process that picks a sender for each packet: ten Poisson processes.
struct Load {
    frame: Bytes,
    /// Release times per sender; the medium has the packet of the first one.
    queues: Vec<VecDeque<Instant>>,
    offered: u64,
    delay_sum: Duration,
    delay_max: Duration,
}

impl Load {
    fn run(medium: &mut Medium, frame: Bytes, per_second: i64, length: Duration) -> Self {
        let mut load = Self {
            frame,
            queues: (0..SENDERS).map(|_| VecDeque::new()).collect(),
            offered: 0,
            delay_sum: Duration::ZERO,
            delay_max: Duration::ZERO,
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mean = Duration::from_secs(1) / per_second;
        let mut arrival = Instant::ZERO + exponential(&mut random, mean);
        loop {
            let due = medium.poll_timeout().unwrap_or(Instant::MAX);
            if due.min(arrival) - Instant::ZERO > length {
                return load;
            }
            if arrival <= due {
                let sender = random.next_u32() % SENDERS;
                load.release(medium, arrival, sender);
                arrival += exponential(&mut random, mean);
            } else {
                medium.handle_timeout(due);
                load.take_events(medium, due);
            }
        }
    }

    fn release(&mut self, medium: &mut Medium, now: Instant, sender: u32) {
        self.offered += 1;
        let queue = &mut self.queues[sender as usize];
        queue.push_back(now);
        if queue.len() == 1 {
            medium.offer(now, sender, 0, self.frame);
        }
    }

    fn take_events(&mut self, medium: &mut Medium, now: Instant) {
        let mut free = [false; SENDERS as usize];
        while let Some(event) = medium.poll_event() {
            let station = event.station as usize;
            match event.kind {
                EventKind::Sent { .. } => {
                    let released = self.queues[station].pop_front().expect("a frame was offered");
                    self.delay_sum += event.at - released;
                    self.delay_max = self.delay_max.max(event.at - released);
                    free[station] = true;
                }
                EventKind::Dropped { .. } => {
                    self.queues[station].pop_front();
                    free[station] = true;
                }
                EventKind::Started
                | EventKind::Collision { .. }
                | EventKind::Delivered { .. }
                | EventKind::Garbled { .. } => {}
            }
        }
        for (sender, is_free) in (0..).zip(free) {
            if is_free && !self.queues[sender as usize].is_empty() {
                medium.offer(now, sender, 0, self.frame);
            }
        }
    }
}

/// Returns the processor time of this thread on Linux, elsewhere the wall-clock time.
fn cpu_seconds() -> f64 {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || std::time::UNIX_EPOCH.elapsed().map_or(0.0, |wall| wall.as_secs_f64()),
        |count| count / 1e9,
    )
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a random time has no exact value to lose"
)]
fn exponential(random: &mut Xoshiro256PlusPlus, mean: Duration) -> Duration {
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    Duration::from_ps((-libm::log(uniform) * mean.as_ps() as f64) as i64)
}
