//! Filters on payloads, for endpoints without type information.

use super::{Fields, Filter, FilterError};
use crate::cdr::{Data, from_payload};

/// The filter class of the standard (DDSI-RTPS 2.5, 8.7.3).
pub const CLASS: &str = "DDSSQL";

/// Evaluates filters on payloads of one type.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    check: fn(&Filter) -> Result<(), FilterError>,
    passes: fn(&Filter, &[u8]) -> Option<bool>,
}

impl Judge {
    /// Returns the judge of a type.
    pub const fn of<T: Data + Fields>() -> Self {
        Self {
            check: |filter| filter.check(&T::missing()),
            passes: |filter, payload| {
                let value = from_payload::<T>(payload).ok()?;
                filter.passes(&value).ok()
            },
        }
    }

    /// Returns whether a filter fits the type.
    pub fn check(&self, filter: &Filter) -> Result<(), FilterError> {
        (self.check)(filter)
    }

    /// Returns whether the value of a payload passes; `None` if the payload is not a value of the
    /// type.
    pub fn passes(&self, filter: &Filter, payload: &[u8]) -> Option<bool> {
        (self.passes)(filter, payload)
    }
}
