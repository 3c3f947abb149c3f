//! `--strict`: what rests on an assumption is no answer.

use clap::Args;
use rtether::assumed::Assumed;
use rtether::scenario::Scenario;

use crate::terminal;

/// Whether assumptions count.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Strict {
    /// End with 3 while anything judged rests on an assumption of the scenario (`assumed`)
    #[arg(long)]
    pub(crate) strict: bool,
}

impl Strict {
    /// Asks it of a scenario, and says on what its verdicts rest then.
    pub(crate) fn ask(self, scenario: &mut Scenario) {
        scenario.assumptions.is_strict = self.strict;
        let found = self.strict.then(|| Assumed::of(scenario, None));
        if let Some(text) = found.and_then(|found| found.objection()) {
            terminal::complain(&text);
        }
    }
}
