//! Why a value is in a scenario.

/// Why a value is in the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The file states it.
    Stated,
    /// It follows from what the file states.
    Follows(String),
    /// The file does not state it.
    Assumed(String),
}

/// A value, and why it is that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value<T> {
    pub(crate) value: T,
    pub(crate) basis: Basis,
}

impl<T> Value<T> {
    pub(crate) const fn stated(value: T) -> Self {
        Self { value, basis: Basis::Stated }
    }

    pub(crate) const fn assumed(value: T, why: String) -> Self {
        Self { value, basis: Basis::Assumed(why) }
    }
}
