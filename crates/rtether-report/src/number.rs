//! Numbers in JSON documents.

use rtether_model::quantity::Duration;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// A time, written in nanoseconds: an integer if it is whole, else with up to three decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct Ns(#[schemars(with = "f64")] pub Duration);

impl Serialize for Ns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Up to 2^43 ns (2.4 h) adjacent doubles are less than a picosecond apart and division rounds
        // correctly, so the shortest text of the quotient is the exact decimal.
        const EXACT_PS: u64 = 1_000 << 43;
        let Self(span) = self;
        let ps = span.as_ps();
        if ps % 1_000 == 0 || ps.unsigned_abs() > EXACT_PS {
            serializer.serialize_i64(span.as_ns_floor())
        } else {
            serializer.serialize_f64(span.as_ns_f64())
        }
    }
}

/// Returns a time as [`Ns`] is written.
pub fn ns(span: Duration) -> Value {
    json!(Ns(span))
}

/// Members that are written as [`Ns`]: `#[serde(with = "AsNs")]`.
#[derive(Debug, JsonSchema)]
#[schemars(transparent)]
pub struct AsNs(#[allow(dead_code, reason = "it stands for its schema")] f64);

impl AsNs {
    /// Writes a time.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        Ns(*span).serialize(serializer)
    }
}

/// Members that are written as [`Ns`] or `null`.
#[derive(Debug, JsonSchema)]
#[schemars(transparent)]
pub struct MaybeNs(#[allow(dead_code, reason = "it stands for its schema")] Option<f64>);

impl MaybeNs {
    /// Writes a time, or `null`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(
        span: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(Ns).serialize(serializer)
    }
}
