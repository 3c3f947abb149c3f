//! Verdicts on claims: whether a claim holds, and what that rests on.

use super::basis::Basis;
use super::fitted;
use super::reference::{self, Claim};

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
pub(super) fn all_of(parts: &[Option<bool>]) -> Option<bool> {
    if parts.contains(&Some(false)) {
        Some(false)
    } else if parts.contains(&None) {
        None
    } else {
        Some(true)
    }
}

/// Adds to the verdicts over all seeds in how many single seeds each claim holds.
pub(super) fn over_seeds(
    mut pooled: Vec<Judgement>,
    alone: impl Iterator<Item = Vec<Judgement>>,
) -> Vec<Judgement> {
    let alone: Vec<Vec<Judgement>> = alone.collect();
    for claim in &mut pooled {
        let own = alone.iter().flatten().filter(|other| other.id == claim.id);
        let holds = own.filter(|other| other.status == Status::Pass).count();
        if claim.status != Status::Skipped {
            let words = format!("; holds in {holds} of {} seeds alone", alone.len());
            claim.observed.push_str(&words);
        }
    }
    pooled
}

/// Collects verdicts on the claims of one experiment, one per claim.
pub(super) struct Judge {
    pub(super) open: Vec<Claim>,
    found: Vec<Judgement>,
}

impl Judge {
    pub(super) fn new(experiment: &str) -> Self {
        let claims = reference::claims().into_iter();
        Self {
            open: claims.filter(|claim| claim.concerns(experiment)).collect(),
            found: Vec::new(),
        }
    }

    /// Returns whether a claim of the experiment is still to be judged.
    pub(super) fn has(&self, id: &str) -> bool {
        self.open.iter().any(|claim| claim.id == id)
    }

    /// Judges a claim. `reason` is shown if it fails.
    pub(super) fn judge(&mut self, id: &str, holds: bool, observed: String, reason: &str) {
        self.decide(id, Some(holds), observed, reason);
    }

    /// Judges a claim; `None` leaves it undecided. `reason` is shown unless it passes.
    pub(super) fn decide(&mut self, id: &str, holds: Option<bool>, observed: String, reason: &str) {
        let position = self.open.iter().position(|claim| claim.id == id);
        let claim = self
            .open
            .remove(position.expect("a claim of this experiment, judged once"));
        let status = match holds {
            Some(true) => Status::Pass,
            Some(false) => Status::Fail,
            None => Status::Undecided,
        };
        let reason = if status == Status::Pass { "" } else { reason };
        let basis = Some(fitted::basis(&claim.id));
        self.take(claim, status, basis, observed, reason);
    }

    /// Skips a claim, with the reason.
    pub(super) fn leave_out(&mut self, id: &str, reason: &str) {
        if let Some(position) = self.open.iter().position(|claim| claim.id == id) {
            let claim = self.open.remove(position);
            self.take(claim, Status::Skipped, None, String::new(), reason);
        }
    }

    /// Returns the verdicts in claim order; claims without one are skipped.
    pub(super) fn finish(mut self) -> Vec<Judgement> {
        for claim in std::mem::take(&mut self.open) {
            let reason = "not judged in this way";
            self.take(claim, Status::Skipped, None, String::new(), reason);
        }
        self.found.sort_by(|a, b| a.id.cmp(&b.id));
        self.found
    }

    fn take(
        &mut self,
        claim: Claim,
        status: Status,
        basis: Option<Basis>,
        observed: String,
        reason: &str,
    ) {
        self.found.push(Judgement {
            expected: claim.expected(),
            id: claim.id,
            statement: claim.statement,
            strength: claim.strength,
            status,
            basis,
            observed,
            reason: reason.to_owned(),
        });
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

    #[test]
    fn every_verdict_can_come_out() {
        // Oracle: the calls below. C012 belongs to `skeie-flat`, as do nine more.
        let mut judge = Judge::new("skeie-flat");
        judge.judge("C005", true, "a".into(), "not shown");
        judge.judge("C006", false, "b".into(), "because");
        judge.decide("C007", None, "c".into(), "too few");
        judge.leave_out("C008", "not here");
        let found = judge.finish();
        let get = |id: &str| found.iter().find(|claim| claim.id == id).expect("is there");
        let short = |id| (get(id).status, get(id).basis, get(id).reason.as_str());
        assert_eq!(short("C005"), (Status::Pass, Some(Basis::Predicted), ""));
        assert_eq!(short("C006").0, Status::Fail);
        assert_eq!(short("C006").2, "because");
        assert_eq!(short("C007").0, Status::Undecided);
        assert_eq!(short("C008"), (Status::Skipped, None, "not here"));
        assert_eq!(short("C012").0, Status::Skipped);
        assert_eq!(get("C012").basis, None);
    }
}
