//! Verdicts on claims: whether a claim holds, and what that rests on.

use super::basis::Basis;
use super::reference::Claim;

/// Verdict on one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Number of the claim.
    pub id: String,
    /// The claim in words.
    pub statement: String,
    /// `must` or `should`.
    pub strength: String,
    /// Verdict.
    pub status: Status,
    /// What the verdict rests on; `None` without a verdict.
    pub basis: Option<Basis>,
    /// Our result.
    pub observed: String,
    /// Expected result.
    pub expected: String,
    /// Reason for a failed, undecided or skipped claim; empty if it passed.
    pub reason: String,
}

impl Judgement {
    pub(super) fn new(
        claim: Claim,
        status: Status,
        basis: Option<Basis>,
        observed: String,
        reason: &str,
    ) -> Self {
        Self {
            expected: claim.expected(),
            id: claim.id,
            statement: claim.statement,
            strength: claim.strength,
            status,
            basis,
            observed,
            reason: reason.to_owned(),
        }
    }
}

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Not judged.
    Skipped,
    /// Holds.
    Pass,
    /// Judged, but the results do not allow a verdict.
    Undecided,
    /// Does not hold: not reproduced.
    Fail,
}

impl Status {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
            Self::Skipped => "skipped",
        }
    }
}

/// Returns whether all parts of a claim hold: `false` if any fails, else `None` if any is
/// undecided.
pub(crate) fn all_of(parts: &[Option<bool>]) -> Option<bool> {
    if parts.contains(&Some(false)) {
        Some(false)
    } else if parts.contains(&None) {
        None
    } else {
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_claim() {
        // Oracle: three-valued "and".
        assert_eq!(all_of(&[Some(true), Some(true)]), Some(true));
        assert_eq!(all_of(&[Some(true), None]), None);
        assert_eq!(all_of(&[None, Some(false)]), Some(false));
    }
}
