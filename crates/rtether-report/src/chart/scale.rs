//! Axes: map values to positions, with round ticks and units.

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic; values must be positive.
    Log,
}

/// Quantity of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantity {
    /// Plain number.
    #[default]
    Number,
    /// Time in seconds, shown in ns, us, ms or s.
    Time,
    /// Share of one, shown in percent.
    Share,
}

/// One axis of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Label without unit.
    pub label: String,
    /// Quantity shown.
    pub quantity: Quantity,
    /// Scale.
    pub scale: Scale,
    /// First and last value; taken from the data if `None`. Linear axes of non-negative data begin
    /// at zero.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// Returns an axis for times in seconds.
    pub fn time(label: impl Into<String>) -> Self {
        Self { label: label.into(), quantity: Quantity::Time, ..Self::default() }
    }

    /// Returns an axis for shares from 0 to 100 %.
    pub fn share(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            quantity: Quantity::Share,
            range: Some((0.0, 1.0)),
            ..Self::default()
        }
    }

    /// Returns an axis for plain numbers.
    pub fn number(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// Makes the axis logarithmic.
    #[must_use]
    pub fn log(self) -> Self {
        Self { scale: Scale::Log, ..self }
    }

    /// Sets first and last value.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }
}

/// An axis fitted to its data: has ticks and maps values to the interval from zero to one.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    scale: Scale,
    quantity: Quantity,
    /// In units of the axis label.
    low: f64,
    high: f64,
    /// Size of one unit of the axis label.
    unit: f64,
    unit_name: &'static str,
    ticks: Vec<f64>,
}

const TIME_UNITS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];

impl Fitted {
    /// Fits an axis to values, aiming at `target` ticks.
    pub(crate) fn new(axis: &Axis, values: impl Iterator<Item = f64>, target: u32) -> Self {
        let (low, high) = axis.range.unwrap_or_else(|| extent(values, axis.scale));
        let (unit, unit_name) = match (axis.quantity, axis.scale) {
            (Quantity::Number, _) | (Quantity::Time, Scale::Log) => (1.0, ""),
            (Quantity::Time, Scale::Linear) => time_unit(high.abs().max(low.abs())),
            (Quantity::Share, _) => (0.01, "%"),
        };
        let (mut low, mut high) = (low / unit, high / unit);
        let ticks = match axis.scale {
            Scale::Linear => {
                if high <= low {
                    high = low + 1.0;
                }
                let step = nice_step(high - low, target);
                if axis.range.is_none() {
                    low = (low / step).floor() * step;
                    high = (high / step).ceil() * step;
                }
                linear_ticks(low, high, step)
            }
            Scale::Log => {
                low = low.max(f64::MIN_POSITIVE);
                if high <= low {
                    (low, high) = (low / 2.0, low * 2.0);
                }
                log_ticks(low, high)
            }
        };
        Self { scale: axis.scale, quantity: axis.quantity, low, high, unit, unit_name, ticks }
    }

    /// Returns the position of a value: 0 at the start, 1 at the end; values outside are clamped.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = value / self.unit;
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => {
                let from_low = libm::log10(value.max(self.low) / self.low);
                from_low / libm::log10(self.high / self.low)
            }
        };
        part.clamp(0.0, 1.0)
    }

    /// Returns whether a value lies before the start of the axis.
    pub(crate) fn is_before(&self, value: f64) -> bool {
        value / self.unit < self.low * 0.999_999
    }

    /// Returns whether a value lies beyond the end of the axis.
    pub(crate) fn is_beyond(&self, value: f64) -> bool {
        value / self.unit > self.high * 1.000_001
    }

    /// Returns the ticks: position and text.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        self.ticks.iter().map(|&tick| {
            let text = match (self.scale, self.quantity) {
                (Scale::Log, Quantity::Time) => seconds(tick),
                // Leading zeros would run into the axis label.
                (Scale::Log, _) if tick < 0.005 => format!("{tick:.0e}"),
                _ => number(tick),
            };
            (self.place(tick * self.unit), text)
        })
    }

    /// Returns the label of the axis with its unit.
    pub(crate) fn title(&self, label: &str) -> String {
        match self.unit_name {
            "" => label.to_owned(),
            unit => format!("{label} ({unit})"),
        }
    }
}

/// Formats seconds as short text: `20 us`.
fn seconds(value: f64) -> String {
    let (unit, name) = time_unit(value.abs());
    format!("{} {name}", number(value / unit))
}

fn time_unit(value: f64) -> (f64, &'static str) {
    // Some tolerance: 1 ms that results from a division is still 1 ms.
    let fits = |(unit, _): &&(f64, &'static str)| value >= *unit * 0.999_999;
    let smallest = TIME_UNITS[TIME_UNITS.len() - 1];
    let zero = value <= 0.0;
    let found = TIME_UNITS.iter().find(fits).copied();
    if zero { TIME_UNITS[0] } else { found.unwrap_or(smallest) }
}

/// Formats a tick with as many decimals as needed, at most four.
fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size > 0.0 && size < 1e-3) {
        return format!("{value:e}");
    }
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn extent(values: impl Iterator<Item = f64>, scale: Scale) -> (f64, f64) {
    let fits = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
    let mut ends: Option<(f64, f64)> = None;
    for value in values.filter(fits) {
        let (low, high) = ends.unwrap_or((value, value));
        ends = Some((low.min(value), high.max(value)));
    }
    match (ends, scale) {
        (None, Scale::Linear) => (0.0, 1.0),
        (None, Scale::Log) => (1.0, 10.0),
        (Some((low, high)), Scale::Linear) => (low.min(0.0), high),
        (Some((low, high)), Scale::Log) => (low / 1.1, high * 1.1),
    }
}

/// Returns the step of 1, 2 or 5 times a power of ten that gives at most `target` steps.
pub(crate) fn nice_step(span: f64, target: u32) -> f64 {
    let least = span / f64::from(target.max(1));
    if !least.is_finite() || least <= 0.0 {
        return 1.0;
    }
    let mut power = 1.0;
    while power > least {
        power /= 10.0;
    }
    while power * 10.0 <= least {
        power *= 10.0;
    }
    let factors = [1.0, 2.0, 5.0];
    let fitting = factors.iter().map(|factor| factor * power);
    fitting.into_iter().find(|step| *step >= least * 0.999_999).unwrap_or(power * 10.0)
}

fn linear_ticks(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-6).ceil();
    let ticks = (0..50u32).map(|number| (first + f64::from(number)) * step);
    ticks.take_while(|tick| *tick <= high + step * 1e-6).collect()
}

/// Powers of ten, with 2 and 5 in between if there are few.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = libm::log10(high / low);
    let factors: &[f64] = match decades {
        d if d < 2.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let stride = (decades / 7.0).ceil().max(1.0);
    let mut ticks = Vec::new();
    let mut exponent = libm::floor(libm::log10(low));
    while exponent <= libm::log10(high) {
        let power = libm::pow(10.0, exponent);
        ticks.extend(factors.iter().map(|factor| factor * power));
        exponent += stride;
    }
    ticks.retain(|tick| *tick >= low * 0.999_999 && *tick <= high * 1.000_001);
    if ticks.len() < 2 {
        return vec![low, high];
    }
    ticks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(axis: &Axis, values: [f64; 2]) -> Vec<String> {
        let fitted = Fitted::new(axis, values.into_iter(), 5);
        fitted.ticks().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        let time = Axis::time("latency");
        assert_eq!(texts(&time, [0.0, 1.13e-3]), ["0", "0.5", "1", "1.5"]);
        assert_eq!(texts(&time, [1e-6, 870e-6]), ["0", "200", "400", "600", "800", "1000"]);
        let log = time.log();
        let expected = ["1 us", "10 us", "100 us", "1 ms", "10 ms"];
        assert_eq!(texts(&log, [1e-6, 0.01]), expected);
        assert_eq!(texts(&log, [15e-6, 120e-6]), ["20 us", "50 us", "100 us"]);
        assert_eq!(texts(&Axis::share("part"), [0.0, 0.0])[5], "100");
    }

    proptest! {
        #[test]
        fn every_axis_has_some_ticks_in_order(
            low in -1e9..1e9f64,
            span in 1e-12..1e12f64,
            log in any::<bool>(),
        ) {
            let axis = if log { Axis::number("").log() } else { Axis::number("") };
            let low = if log { low.abs() + 1e-9 } else { low };
            let fitted = Fitted::new(&axis, [low, low + span].into_iter(), 5);
            let places: Vec<f64> = fitted.ticks().map(|(place, _)| place).collect();
            prop_assert!((2..=21).contains(&places.len()), "{places:?}");
            prop_assert!(places.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(places.iter().all(|place| (0.0..=1.0).contains(place)));
        }
    }
}
