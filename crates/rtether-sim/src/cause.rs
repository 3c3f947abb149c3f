//! Why an end of a connection sends.

/// Why an end sends: the last leg that came to it, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cause {
    /// Number of the leg, from one; zero for none, or one that nobody waits for.
    pub(crate) leg: u64,
    pub(crate) at: i64,
    /// Whether its application wrote what is sent, and had not done so before.
    pub(crate) is_written: bool,
}
