//! What verdicts rest on: values and readings that the papers leave open and that were chosen in
//! view of printed results, and claims that hold by construction.
//!
//! `reference/fitted.csv` and `constructed.csv` are the complete lists. A claim about the results
//! that a value was fitted to is *calibrated*: a pass shows only that such a value exists. Each
//! experiment prints its part of the lists; `docs/models/claims.md` has all of them.

use serde::Deserialize;

use super::basis::Basis;
use super::reference;

/// A value or reading chosen because it brings a simulation close to a paper.
#[derive(Clone, Debug, Deserialize)]
pub struct Fitted {
    /// Prefixes of the ids of the experiments that use it, joined by `|`.
    pub experiments: String,
    /// What the paper leaves open.
    pub what: String,
    /// The choice.
    pub value: String,
    /// The results it was fitted to.
    pub to: String,
    /// Claims about exactly these results, joined by `|`.
    pub claims: String,
}

impl Fitted {
    /// Returns whether an experiment uses it.
    pub fn concerns(&self, experiment: &str) -> bool {
        let mut all = self.experiments.split('|');
        all.any(|beginning| experiment.starts_with(beginning))
    }

    /// Returns the entry as one sentence.
    pub fn words(&self) -> String {
        let claims = match self.claims.as_str() {
            "" => "no claim speaks of that".to_owned(),
            claims => format!("calibrated by it: {}", claims.replace('|', ", ")),
        };
        format!("Fitted: {}: {}, to {} ({claims}).", self.what, self.value, self.to)
    }
}

/// A claim that holds by construction of the model.
#[derive(Clone, Debug, Deserialize)]
pub struct Constructed {
    /// Number of the claim.
    pub claim: String,
    /// Why it cannot fail.
    pub why: String,
}

/// Returns all fitted items, in the order of the papers.
pub fn fitted() -> Vec<Fitted> {
    reference::read(include_str!("../reference/fitted.csv"))
}

/// Returns all claims that hold by construction.
pub fn constructed() -> Vec<Constructed> {
    reference::read(include_str!("../reference/constructed.csv"))
}

/// Returns both lists as Markdown tables.
pub fn tables() -> (String, String) {
    let mut fitted = String::from(
        "| experiments | what was open | chosen | fitted to | claims that are calibrated by it |\n\
         |---|---|---|---|---|\n",
    );
    for one in self::fitted() {
        let experiments = one.experiments.replace('|', "*, ") + "*";
        let row = [experiments, one.what, one.value, one.to, one.claims.replace('|', ", ")];
        fitted.extend(["| ", &row.join(" | "), " |\n"]);
    }
    let mut constructed = String::from("| claim | why it cannot fail |\n|---|---|\n");
    for one in self::constructed() {
        constructed.extend(["| ", &one.claim, " | ", &one.why, " |\n"]);
    }
    (fitted, constructed)
}

/// Returns what a verdict on a claim rests on.
pub fn basis(claim: &str) -> Basis {
    let calibrates = |fitted: &Fitted| fitted.claims.split('|').any(|id| id == claim);
    if constructed().iter().any(|one| one.claim == claim) {
        Basis::ByConstruction
    } else if fitted().iter().any(calibrates) {
        Basis::Calibrated
    } else {
        Basis::Predicted
    }
}

/// Returns the notes of an experiment about fitted items.
pub(super) fn notes(experiment: &str) -> Vec<String> {
    let fitted = fitted().into_iter().filter(|fitted| fitted.concerns(experiment));
    let claims = reference::claims();
    let is_own = |id: &str| claims.iter().any(|claim| claim.id == id && claim.concerns(experiment));
    let constructed = constructed().into_iter().filter(|one| is_own(&one.claim));
    let constructed =
        constructed.map(|one| format!("{} holds by construction: {}.", one.claim, one.why));
    fitted.map(|one| one.words()).chain(constructed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_claims_and_experiments_that_exist() {
        // Oracle: `reference/`. A calibrated claim belongs to an experiment that uses the value.
        let (claims, experiments) = (reference::claims(), reference::experiments());
        for fitted in fitted() {
            for beginning in fitted.experiments.split('|') {
                let mut all = experiments.iter();
                assert!(all.any(|e| e.id.starts_with(beginning)), "{beginning}");
            }
            for id in fitted.claims.split('|').filter(|id| !id.is_empty()) {
                let claim = claims.iter().find(|claim| claim.id == id).expect(id);
                let mut its = claim.experiments.split('|');
                assert!(its.any(|experiment| fitted.concerns(experiment)), "{id}");
            }
        }
        for one in constructed() {
            assert!(claims.iter().any(|claim| claim.id == one.claim), "{}", one.claim);
        }
    }
}
