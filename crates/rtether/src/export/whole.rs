//! A plant as one file of ours: with what other files hold and generators make, and all changes.

use super::{Choice, Exported, Reasons};
use crate::scenario::{Assumptions, Scenario, Written};

/// Name of this form, and what it is.
pub const YAML: (&str, &str) =
    ("yaml", "rtether: one file with what is included, generated and changed");

/// Writes a plant as one file, which is read as the same scenario. Comments are lost.
///
/// # Errors
/// If a part is to be left out, which only other tools need.
pub fn whole(scenario: &Scenario, written: &Written, choice: &Choice) -> Result<Exported, Reasons> {
    if *choice != Choice::default() {
        let why = "stacks and flows are left out for other tools only; `yaml` has the whole plant";
        return Err(Reasons(vec![why.to_owned()]));
    }
    let text = written.whole().filter(|text| is_same(text, scenario));
    let text = text.ok_or_else(|| Reasons(vec!["it is not read as the same plant".to_owned()]))?;
    // A plant without a title has that of its file.
    let stem = written.name.rsplit(['/', '\\']).next();
    let stem = stem.and_then(|file| file.strip_suffix(".yaml")).unwrap_or("plant");
    let files = vec![(format!("{stem}.yaml"), text)];
    Ok(Exported { files, notes: Vec::new() })
}

/// Returns whether a text is read as this scenario, whatever the title of its file.
fn is_same(text: &str, scenario: &Scenario) -> bool {
    let Some(read) = Written::from(text.to_owned()).load().scenario else { return false };
    // The one file does not say any more which profiles its stacks are from.
    let identified = scenario.assumptions.identified.clone();
    let assumptions = Assumptions { identified, ..read.assumptions };
    Scenario { name: scenario.name.clone(), assumptions, ..read } == *scenario
}
