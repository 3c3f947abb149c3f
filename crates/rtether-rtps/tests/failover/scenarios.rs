//! Publications that stop and restart, and lost issues.

use crate::failover::plant::{Had, MS, Plant, offered, requested};
use crate::net::Random;

/// Last issue that arrived of a publication.
#[derive(Clone, Copy, Debug)]
struct Last {
    number: u32,
    until: i64,
    /// Whether it was delivered.
    is_done: bool,
}

/// An independent model of the rules: only the owner and the last issues.
struct Model {
    strengths: Vec<i32>,
    persistence: i64,
    owner: Option<usize>,
    last: Vec<Option<Last>>,
    had: Vec<Had>,
}

impl Model {
    /// Returns when the owner's persistence ends.
    fn end(&self) -> Option<i64> {
        self.owner.and_then(|owner| self.last[owner]).map(|last| last.until)
    }

    fn deliver(&mut self, at: i64, of: usize) {
        self.owner = Some(of);
        let last = self.last[of].as_mut().unwrap();
        last.is_done = true;
        let number = last.number;
        self.had.push(Had { at, of, number });
    }

    /// Advances time to `now`.
    fn run_until(&mut self, now: i64) {
        while let Some(end) = self.end().filter(|end| *end <= now) {
            self.owner = None;
            let waiting = (0..self.last.len())
                .filter(|of| self.last[*of].is_some_and(|last| last.until > end && !last.is_done));
            if let Some(best) = waiting.max_by_key(|of| self.strengths[*of]) {
                self.deliver(end, best);
            }
        }
    }

    fn arrive(&mut self, now: i64, of: usize, number: u32) {
        self.run_until(now);
        self.last[of] = Some(Last { number, until: now + self.persistence, is_done: false });
        let is_stronger = |owner: usize| self.strengths[of] > self.strengths[owner];
        if self.owner.is_none_or(|owner| owner == of || is_stronger(owner)) {
            self.deliver(now, of);
        }
    }
}

struct Source {
    period: i64,
    next: i64,
    is_on: bool,
    /// When it started, or last lost an issue.
    whole_since: i64,
}

/// Returns distinct strengths: the order of equal ones is unspecified.
fn strengths(random: &mut Random, count: usize) -> Vec<i32> {
    let mut strengths: Vec<i32> = (1..=4).collect();
    for at in (1..4_u64).rev() {
        let other = usize::try_from(random.below(at + 1)).unwrap();
        strengths.swap(usize::try_from(at).unwrap(), other);
    }
    strengths.truncate(count);
    strengths
}

/// Runs one plant; returns the longest fail-over time in thousandths of the limit.
fn run(seed: u64) -> i64 {
    let mut random = Random(seed);
    let count = 2 + usize::try_from(random.below(3)).unwrap();
    let loss = random.below(301);
    let persistence = (20 + i64::try_from(random.below(100)).unwrap()) * MS;
    let strengths = strengths(&mut random, count);
    let all: Vec<_> = strengths.iter().map(|s| offered(*s, persistence)).collect();
    let mut plant = Plant::new(requested(), &all);
    let mut model =
        Model { strengths, persistence, owner: None, last: vec![None; count], had: Vec::new() };
    let start = plant.now;
    let mut sources: Vec<Source> = (0..count)
        .map(|_| {
            let period = persistence / 4 + random.below(persistence.unsigned_abs()).cast_signed();
            Source {
                period,
                next: start + random.below(period.unsigned_abs()).cast_signed(),
                is_on: true,
                whole_since: start,
            }
        })
        .collect();
    let mut worst = 0;
    let mut last_had = start;
    for _ in 0..300 {
        let (of, at) = sources
            .iter()
            .enumerate()
            .map(|(of, source)| (of, source.next))
            .min_by_key(|(_, at)| *at)
            .unwrap();
        plant.run_until(at);
        let source = &mut sources[of];
        source.next += source.period;
        if random.chance(60) {
            source.is_on = !source.is_on;
            source.whole_since = at;
        }
        if source.is_on {
            let is_lost = random.chance(loss);
            let number = plant.publish(of, is_lost);
            if is_lost {
                sources[of].whole_since = at;
            } else {
                model.arrive(at, of, number);
            }
        }
        model.run_until(at);
        assert_eq!(plant.had, model.had, "seed {seed}");
        // After the last issue that arrived of the owner, another takes over within persistence and
        // one period, if all its issues since then arrived.
        last_had = plant.had.last().map_or(last_had, |had| had.at);
        for source in &sources {
            let limit = persistence + source.period;
            if source.is_on && source.whole_since <= last_had {
                let silent = at - last_had;
                assert!(silent <= limit, "seed {seed}: {silent} ns of silence");
                worst = worst.max(silent * 1_000 / limit);
            }
        }
    }
    worst
}

#[test]
fn failing_over_takes_no_longer_than_persistence_and_one_period() {
    let worst = (0..1_000).map(run).max().unwrap();
    println!("longest silence: {worst} parts of a thousand of persistence and one period");
    assert!(worst > 500, "the scenarios try little");
}
