//! M/D/1: Poisson arrivals, constant service, one server; exact, apart from the product.
//!
//! Times are in services. Mean by Pollaczek and Khinchine. Distribution of the waiting time by Franx
//! (2001), a sum of positive terms, from the lengths of the queue at departures, whose recursion is
//! of positive terms, too; Erlang's formula, which loses all digits for long times, confirms it for
//! short ones.

/// A queue in equilibrium.
pub(crate) struct Queue {
    load: f64,
    /// Probability of at most that many in the system, at a departure.
    at_most: Vec<f64>,
}

/// Longest queue that is computed: at load 0.95 longer ones have a probability below 1e-17.
const LONGEST: usize = 400;

impl Queue {
    pub(crate) fn new(load: f64) -> Self {
        // Arrivals within one service, and the probability of that many or more.
        let mut arrivals = vec![(-load).exp()];
        for k in 1..=LONGEST {
            arrivals.push(arrivals[k - 1] * load / number(k));
        }
        let mut or_more = vec![0.0; LONGEST + 2];
        for k in (0..=LONGEST).rev() {
            or_more[k] = or_more[k + 1] + arrivals[k];
        }
        // What goes up from below `n` comes down to it.
        let mut length: Vec<f64> = vec![1.0 - load];
        for n in 1..LONGEST {
            let up: f64 = (1..n).map(|i| length[i] * or_more[n - i + 1]).sum();
            length.push((length[0] * or_more[n] + up) / arrivals[0]);
        }
        let mut sum = 0.0;
        let at_most = length.iter().map(|own| {
            sum += own;
            sum
        });
        Self { load, at_most: at_most.collect() }
    }

    pub(crate) fn mean(&self) -> f64 {
        self.load / 2.0 / (1.0 - self.load)
    }

    /// Returns the probability of a longer wait.
    pub(crate) fn exceeds(&self, wait: f64) -> f64 {
        let whole =
            (1..LONGEST).find(|&k| number(k) > wait).expect("a wait within the longest queue");
        let rest = self.load * (number(whole) - wait);
        let mut poisson = (-rest).exp();
        let mut within = 0.0;
        for k in 0..whole {
            within += poisson * self.at_most[whole - k];
            poisson *= rest / number(k + 1);
        }
        1.0 - within
    }

    /// Returns the wait that is exceeded with this probability.
    pub(crate) fn quantile(&self, above: f64) -> f64 {
        bisect(0.0, number(LONGEST / 2), |wait| self.exceeds(wait) > above)
    }
}

/// Returns where `is_below` turns false.
pub(crate) fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn number(k: usize) -> f64 {
    f64::from(u32::try_from(k).expect("few"))
}

/// Oracle: Erlang's formula, by hand for waits below one and two services; Pollaczek and Khinchine's
/// mean is the integral of the distribution.
#[test]
fn the_oracle_agrees_with_older_formulas() {
    for load in [0.3, 0.5, 0.8, 0.9_f64] {
        let queue = Queue::new(load);
        let idle = 1.0 - load;
        let below_one = 1.0 - idle * (load * 0.5).exp();
        let below_two = 1.0 - idle * ((1.5 * load).exp() - load * 0.5 * (0.5 * load).exp());
        assert!((queue.exceeds(0.5) - below_one).abs() < 1e-12, "{load}");
        assert!((queue.exceeds(1.5) - below_two).abs() < 1e-12, "{load}");
        let steps = (0..20_000).map(|k| queue.exceeds((number(k) + 0.5) * 0.01));
        let integral = steps.sum::<f64>() * 0.01;
        assert!((integral / queue.mean() - 1.0).abs() < 1e-3, "{load}: {integral}");
    }
}
