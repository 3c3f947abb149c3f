//! `compare`: the same plant under several access schemes.

use std::path::PathBuf;

use clap::Args;
use rtether::compare::SchemeKind;
use rtether::compare::compare;

use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::progress::{Pace, with_progress};
use crate::scenario::{self, RunOverrides};
use crate::stop::Care;
use crate::terminal;

/// Arguments of `compare`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct CompareArgs {
    /// Scenario file with a hub, or `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Access schemes, separated by commas: `all`, or names as of `scheme` in scenarios
    #[arg(long, value_name = "NAMES", default_value = "all", value_parser = schemes)]
    pub(crate) access: Schemes,
    #[command(flatten)]
    pub(crate) overrides: RunOverrides,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

/// Access schemes of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Schemes(Vec<SchemeKind>);

const NOTES: &str = "Example: rtether compare plant.yaml --access csma-cd,tdma\n\nExit codes: 0 some \
scheme keeps every deadline, 1 none does.";

fn schemes(text: &str) -> Result<Schemes, String> {
    if text == "all" {
        return Ok(Schemes(SchemeKind::ALL.to_vec()));
    }
    let names = text.split(',').map(str::trim);
    let found = names.map(|name| {
        let mut all = SchemeKind::ALL.iter();
        all.find(|kind| kind.name() == name)
            .copied()
            .ok_or_else(|| {
                let known: Vec<&str> = SchemeKind::ALL.iter().map(|kind| kind.name()).collect();
                format!("no access scheme `{name}`; known are {}", known.join(", "))
            })
    });
    found.collect::<Result<_, _>>().map(Schemes)
}

/// Runs `compare`.
pub(crate) fn run(arguments: &CompareArgs) -> Exit {
    let loaded = match scenario::load_for_run(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let kinds = &arguments.access.0;
    let found = with_progress(arguments.pace, 0, Care::None, |progress| {
        compare(&loaded.scenario, kinds, progress)
    });
    let comparison = match found {
        Ok(Ok(comparison)) => comparison,
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
        Err(message) => return terminal::fail(&message),
    };
    let printed = arguments.format.print(&comparison);
    if printed != Exit::Ok {
        return printed;
    }
    if comparison.partial {
        Exit::Interrupted
    } else if comparison.has_answer() {
        Exit::Ok
    } else {
        Exit::Failed
    }
}
