//! Frames that wait at a port, from the number that arrive while one is sent.
//!
//! While a frame is sent, or in a slot, `A` frames arrive; then the next one begins. The frames
//! that wait, `Q`, are a Markov chain, `Q' = max(Q + A - 1, 0)`: that of M/D/1 at the moments when
//! a transmission begins, if `A` is Poisson, and that of a queue in discrete time. The rate at
//! which it goes down through a level equals that at which it goes up, so that with
//! `p(j) = P(Q = j)`
//!
//! `p(j + 1) P(A = 0) = sum over k <= j of p(k) P(A >= j - k + 2)`, `p(0) = (1 - E A) / P(A = 0)`.
//!
//! All terms are positive, so that a result has about as many right digits as its terms, also far
//! out (after V. Ramaswami, 1988).

/// Terms below this are as good as zero.
const SMALLEST: f64 = 1e-300;
/// Probabilities beyond which the chain is not followed; the rest is geometric by then.
const LAST: f64 = 1e-40;
/// Most values that are computed: what is needed at a load of 99.99 %.
const MOST: usize = 1_000_000;

/// Number of arrivals in one transmission.
#[derive(Clone, Debug)]
pub(super) struct Count {
    /// `P(A = n)`.
    equal: Vec<f64>,
    /// `P(A >= n)`; zero from its end on.
    at_least: Vec<f64>,
}

impl Count {
    fn of(equal: Vec<f64>) -> Self {
        let mut at_least = equal.clone();
        for n in (1..at_least.len()).rev() {
            at_least[n - 1] += at_least[n];
        }
        Self { equal, at_least }
    }

    /// Returns a Poisson number with this mean.
    pub(super) fn poisson(mean: f64) -> Self {
        let mut equal = vec![libm::exp(-mean)];
        let mut n = 0.0;
        while let Some(&last) = equal.last()
            && (n < mean || last > SMALLEST)
        {
            n += 1.0;
            equal.push(last * mean / n);
        }
        Self::of(equal)
    }

    /// Returns the number of sources that send, each with its own probability.
    pub(super) fn of_sources(probabilities: impl IntoIterator<Item = f64>) -> Self {
        let mut equal = vec![1.0];
        for own in probabilities {
            let mut next = vec![0.0; equal.len() + 1];
            for (n, before) in equal.iter().enumerate() {
                next[n] += before * (1.0 - own);
                next[n + 1] += before * own;
            }
            equal = next;
        }
        Self::of(equal)
    }

    /// Returns `P(A >= n)`.
    pub(super) fn at_least(&self, n: usize) -> f64 {
        self.at_least.get(n).copied().unwrap_or(0.0)
    }

    /// Returns `P(A = n)`.
    pub(super) fn equal(&self, n: usize) -> f64 {
        self.equal.get(n).copied().unwrap_or(0.0)
    }

    /// Returns one more than the largest number.
    pub(super) const fn len(&self) -> usize {
        self.equal.len()
    }

    /// Returns the mean: the sum of all `P(A >= n)` from one on.
    pub(super) fn mean(&self) -> f64 {
        self.at_least.iter().skip(1).rev().sum()
    }

    /// Returns the mean of `A (A - 1)`.
    pub(super) fn pairs(&self) -> f64 {
        let mut before = 0.0;
        let mut sum = 0.0;
        for at_least in self.at_least.iter().skip(2) {
            before += 2.0;
            sum += before * at_least;
        }
        sum
    }
}

/// Frames that wait.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// `P(Q > n)`.
    beyond: Vec<f64>,
    /// By what a further value is smaller than the one before.
    ratio: f64,
}

impl Waiting {
    /// Returns the frames that wait; the mean of the arrivals is below one.
    pub(super) fn new(arrivals: &Count) -> Self {
        let none = arrivals.equal(0);
        let mut equal = vec![(1.0 - arrivals.mean()) / none];
        // Without two arrivals at once nothing ever waits.
        let grows = arrivals.at_least(2) > 0.0;
        while grows && equal.len() < MOST {
            let j = equal.len() - 1;
            let oldest = (j + 2).saturating_sub(arrivals.len());
            let terms = (oldest..=j).map(|k| equal[k] * arrivals.at_least(j - k + 2));
            let next = terms.sum::<f64>() / none;
            equal.push(next);
            if next < LAST {
                break;
            }
        }
        let ratio = match equal[..] {
            [.., before, last] if before > 0.0 => (last / before).min(1.0 - f64::EPSILON),
            _ => 0.0,
        };
        let last = equal.last().copied().unwrap_or(0.0);
        let mut rest = last * ratio / (1.0 - ratio);
        let mut beyond = vec![0.0; equal.len()];
        for (n, own) in equal.iter().enumerate().rev() {
            beyond[n] = rest;
            rest += own;
        }
        Self { beyond, ratio }
    }

    /// Returns `P(Q > n)`.
    pub(super) fn beyond(&self, n: usize) -> f64 {
        let Some(last) = self.beyond.len().checked_sub(1) else {
            return 0.0;
        };
        match self.beyond.get(n) {
            Some(&beyond) => beyond,
            None => self.beyond[last] * libm::pow(self.ratio, super::real_len(n - last)),
        }
    }
}
