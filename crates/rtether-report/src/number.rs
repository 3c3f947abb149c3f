//! Numbers in JSON documents.

use rtether_model::quantity::Duration;
use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

/// A time, written in nanoseconds as [`ns`] gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ns(pub Duration);

impl Serialize for Ns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ns(self.0).serialize(serializer)
    }
}

/// Returns a time in nanoseconds: an integer if it is whole, else with up to three decimals.
pub fn ns(span: Duration) -> Value {
    // Up to 2^43 ns (2.4 h) adjacent doubles are less than a picosecond apart and division rounds
    // correctly, so the shortest text of the quotient is the exact decimal.
    const EXACT_PS: u64 = 1_000 << 43;
    let ps = span.as_ps();
    if ps % 1_000 == 0 || ps.unsigned_abs() > EXACT_PS {
        return Value::from(span.as_ns_floor());
    }
    Number::from_f64(span.as_ns_f64()).map_or(Value::Null, Value::Number)
}
