//! `admit`: whether flows may be added to a plant.

use std::path::PathBuf;

use clap::Args;
use rtether::bound::admit;

use super::strict::Strict;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::scenario::{self, Overrides};

/// Arguments of `admit`.
#[derive(Args, Debug)]
#[command(after_help = ADMIT_NOTES)]
pub(crate) struct AdmitArgs {
    /// Scenario file, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// File with a flow, or a list of flows, as under `flows:` in a scenario
    #[arg(required_unless_present = "flow")]
    pub(crate) file: Option<PathBuf>,
    /// A flow, for example '{ name: x, from: a, to: b, period: 1 ms, size: 100 B, deadline: 1 ms
    /// }'; may be given several times
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Vec<String>,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const ADMIT_NOTES: &str = "Example: rtether admit plant.yaml new-flow.yaml\n\nExit codes: 0 yes, 1 no: a deadline would be missed or a place \
overloaded, 3 a flow with a deadline would have no bound, or one \
that is a proof only if nothing is dropped.";

pub(crate) fn run(arguments: &AdmitArgs) -> Exit {
    let file = arguments.file.as_deref();
    let loaded =
        scenario::load_and_add(&arguments.scenario, &arguments.overrides, file, &arguments.flow);
    let (before, mut after) = match loaded {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    arguments.strict.ask(&mut after);
    let admission = admit(&before, &after);
    let printed = arguments.format.print(&admission);
    if printed != Exit::Ok {
        return printed;
    }
    admission.conclusion().into()
}
