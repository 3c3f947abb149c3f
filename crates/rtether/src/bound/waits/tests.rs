use super::chain::{Count, Waiting};
use super::*;

const FRAME: Duration = Duration::from_ns(1_000);

fn close(found: f64, expected: f64, most: f64) {
    let distance = (found - expected).abs();
    assert!(distance <= most, "{found} for {expected}");
}

/// Oracle: the distribution of Erlang (1909), an alternating sum that is exact while it has few
/// terms.
#[test]
fn random_arrivals_wait_as_erlang_says() {
    for load in [0.1, 0.5, 0.9] {
        let queue = Random::new(FRAME, load);
        for tenths in 0..=60 {
            let time = FRAME * tenths / 10;
            let frames = time.as_secs_f64() / FRAME.as_secs_f64();
            let mut within = 0.0;
            let mut factorial = 1.0;
            for k in 0..=tenths / 10 {
                let k = f64::from(i32::try_from(k).unwrap());
                factorial *= k.max(1.0);
                let late = load * (k - frames);
                within += libm::pow(late, k) / factorial * libm::exp(-late);
            }
            close(queue.beyond(time), 1.0 - (1.0 - load) * within, 1e-12);
        }
        // Who finds the port idle does not wait.
        close(queue.beyond(Duration::ZERO), load, 1e-14);
    }
}

/// Oracle: the formulas of the first values, and the decay far out, `1 / x` with
/// `exp(load (x - 1)) = x` (H. C. Tijms, Stochastic Models, 1994).
#[test]
fn few_and_many_frames_wait() {
    for load in [0.2, 0.5, 0.8] {
        let waiting = Waiting::new(&Count::poisson(load));
        let once = libm::exp(load);
        let none = (1.0 - load) * once;
        close(waiting.beyond(0), 1.0 - none, 1e-14);
        let one = (1.0 - load) * (once * once - once * (1.0 + load));
        close(waiting.beyond(1), 1.0 - none - one, 1e-14);
        let mut root = 100.0;
        for _ in 0..200 {
            // Newton, from above.
            let value = libm::exp(load * (root - 1.0));
            root -= (value - root) / (load * value - 1.0);
        }
        for far in [40, 60, 5_000] {
            let before = waiting.beyond(far);
            if before > 0.0 {
                close(waiting.beyond(far + 1) / before * root, 1.0, 1e-9);
            }
        }
    }
}

/// Oracle: Pollaczek and Khinchine, as the integral of the distribution.
#[test]
fn the_mean_wait_is_the_area() {
    for load in [0.3, 0.7] {
        let queue = Random::new(FRAME, load);
        let parts = 100;
        let middles = (0..60 * parts).map(|part| FRAME * (2 * part + 1) / (2 * parts));
        let area: f64 = middles.map(|time| queue.beyond(time)).sum();
        close(area / 100.0, queue.mean_frames(), 1e-4);
        close(queue.mean_frames(), load / (2.0 - 2.0 * load), 1e-15);
    }
}

/// Returns the frames that wait, by running the chain until nothing changes.
fn by_steps(arrivals: &[f64]) -> Vec<f64> {
    let mut now = vec![0.0; 400];
    now[0] = 1.0;
    for _ in 0..4_000 {
        let mut next = vec![0.0; now.len()];
        for (waiting, own) in now.iter().enumerate() {
            for (came, chance) in arrivals.iter().enumerate() {
                let left = (waiting + came).saturating_sub(1).min(next.len() - 1);
                next[left] += own * chance;
            }
        }
        now = next;
    }
    now
}

/// Oracle: the chain step by step, and the wait of each frame of a slot by its place in it.
#[test]
fn slots_wait_as_the_chain_does() {
    let sources = [0.3, 0.2, 0.15, 0.05];
    // The number of arrivals, by all combinations of sources.
    let mut arrivals = [0.0; 5];
    for chosen in 0u32..16 {
        let own = (0..4).map(|source| {
            let sends = chosen & (1 << source) != 0;
            if sends { sources[source] } else { 1.0 - sources[source] }
        });
        arrivals[chosen.count_ones() as usize] += own.product::<f64>();
    }
    let waiting = by_steps(&arrivals);
    let queue = Slotted::new(FRAME, sources);
    for slots in 0usize..12 {
        let mut late = 0.0;
        for (before, chance) in waiting.iter().enumerate() {
            for (came, own) in arrivals.iter().enumerate() {
                let behind = (0..came).filter(|place| before + place > slots).count();
                late += chance * own * real_len(behind);
            }
        }
        let time = FRAME * i64::try_from(slots).unwrap();
        close(queue.beyond(time), late / 0.7, 1e-12);
        let next = queue.beyond(time + FRAME - Duration::from_ps(1));
        close(next, queue.beyond(time), 0.0);
    }
}

/// Oracle: Karol, Hluchyj and Morgan (1987): the mean wait of N equal sources is `(N - 1) / N` of
/// that of M/D/1; one source never waits.
#[test]
fn the_mean_wait_of_equal_sources() {
    for (sources, load) in [(1, 0.5), (2, 0.8), (8, 0.9), (64, 0.6)] {
        let each = load / real_len(sources);
        let queue = Slotted::new(FRAME, std::iter::repeat_n(each, sources));
        let random = load / (2.0 * (1.0 - load));
        let share = real_len(sources - 1) / real_len(sources);
        close(queue.mean_frames(), share * random, 1e-12);
        let waits = queue.beyond(Duration::ZERO) > 0.0;
        assert_eq!(waits, sources > 1);
    }
}

#[test]
fn the_wait_that_is_rarely_exceeded() {
    let queue = Random::new(FRAME, 0.5);
    for most in [1e-3, 1e-6, 1e-12] {
        let wait = quantile(|time| queue.beyond(time), most).unwrap();
        let before = wait - Duration::from_ns(1);
        assert!(queue.beyond(wait) <= most && queue.beyond(before) > most);
    }
    assert_eq!(quantile(|_| 1.0, 0.5), None);
    assert_eq!(quantile(|_| 0.0, 0.5), Some(Duration::ZERO));
}
