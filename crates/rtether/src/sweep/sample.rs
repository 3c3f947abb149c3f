//! Values of parameters: in a grid, drawn by themselves, or drawn from strata.

/// A value of the scenario that is varied.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    /// Its path, as `--set` takes it.
    pub(super) path: String,
    pub(super) values: Values,
}

/// Its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    List(Vec<String>),
    Range(Range),
}

/// Numbers between two, both included, with their unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) unit: String,
    pub(super) is_log: bool,
    pub(super) is_whole: bool,
    /// In a grid.
    pub(super) steps: Option<u64>,
}

impl Parameter {
    /// Returns the number of values in a grid; `None` for a range without steps.
    pub(super) fn steps(&self) -> Option<u64> {
        match &self.values {
            Values::List(list) => Some(list.len() as u64),
            Values::Range(range) => range.steps,
        }
    }

    /// Returns a value in a grid, from 0.
    pub(super) fn step(&self, index: u64) -> String {
        match &self.values {
            Values::List(list) => pick(list, index),
            Values::Range(range) => {
                let last = range.steps.unwrap_or(2).max(2) - 1;
                range.at(as_float(index) / as_float(last))
            }
        }
    }

    /// Returns the value at a share of all, at least 0 and below 1.
    pub(super) fn at(&self, share: f64) -> String {
        match &self.values {
            Values::List(list) => pick(list, floor(share * as_float(list.len() as u64))),
            Values::Range(range) => range.at(share),
        }
    }
}

fn pick(list: &[String], index: u64) -> String {
    let index = usize::try_from(index).unwrap_or_default();
    list[index.min(list.len() - 1)].clone()
}

impl Range {
    fn at(&self, share: f64) -> String {
        let Self { low, high, .. } = *self;
        let number = if self.is_log {
            libm::exp(libm::log(low) + share * (libm::log(high) - libm::log(low)))
        } else {
            low + share * (high - low)
        };
        let number = if self.is_whole { libm::round(number) } else { number };
        // Six digits: more than a plant has, and short enough to read.
        let short: f64 = format!("{number:.5e}").parse().unwrap_or(number);
        format!("{short} {}", self.unit).trim_end().to_owned()
    }
}

#[allow(clippy::cast_precision_loss, reason = "numbers of points are far below 2^53")]
pub(super) fn as_float(number: u64) -> f64 {
    number as f64
}

/// Returns the whole part of a number from 0 to 2^53.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "that is what it is for"
)]
fn floor(number: f64) -> u64 {
    number.max(0.0) as u64
}

/// `SplitMix64` (Steele, Lea and Flood 2014): its numbers are the same in every version.
pub(super) struct Draw(u64);

impl Draw {
    /// Each parameter has numbers of its own, which further parameters do not change.
    pub(super) fn new(seed: u64, parameter: usize) -> Self {
        let mut first = Self(seed);
        let own = first.next() ^ (parameter as u64).wrapping_mul(0xd134_2543_de82_ef95);
        Self(own)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number of at least 0 and below 1.
    pub(super) fn share(&mut self) -> f64 {
        as_float(self.next() >> 11) / as_float(1 << 53)
    }

    /// Returns the strata 0 to `count - 1` in an order of their own (Fisher and Yates).
    pub(super) fn order(&mut self, count: u64) -> Vec<u64> {
        let mut order: Vec<u64> = (0..count).collect();
        for last in (1..order.len()).rev() {
            let other = floor(self.share() * as_float(last as u64 + 1));
            order.swap(last, usize::try_from(other).unwrap_or_default().min(last));
        }
        order
    }
}
