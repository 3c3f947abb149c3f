//! Filters on payloads, for endpoints that know nothing of types.

use super::{Fields, Filter, FilterError};
use crate::cdr::{Data, from_payload};

/// The language of filters in the standard (DDSI-RTPS 2.5, 8.7.3).
pub const CLASS: &str = "DDSSQL";

/// How filters look at the values of a type.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    check: fn(&Filter) -> Result<(), FilterError>,
    passes: fn(&Filter, &[u8]) -> Option<bool>,
}

impl Judge {
    /// Returns that of a type.
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

    /// Returns whether the value of a payload passes; `None` if it is no value of the type.
    pub fn passes(&self, filter: &Filter, payload: &[u8]) -> Option<bool> {
        (self.passes)(filter, payload)
    }
}
