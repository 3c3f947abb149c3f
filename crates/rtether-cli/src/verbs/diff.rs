//! `diff`: what changed between two results.

use std::path::{Path, PathBuf};

use clap::Args;
use rtether::diff::{Diff, diff};
use serde_json::Value;

use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::{files, terminal};

/// Arguments of `diff`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct DiffArgs {
    /// Older result: JSON of `rtether check --json`, or `result.json` of `--out`
    pub(crate) old: PathBuf,
    /// Newer result; `-` for standard input
    pub(crate) new: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const NOTES: &str = "Example: rtether diff before.json after.json\n\nExit codes: 0 no new failure, 1 a \
stream fails that did not fail before, or was not there.";

/// Runs `diff`.
pub(crate) fn run(arguments: &DiffArgs) -> Exit {
    let found = read(&arguments.old).and_then(|old| {
        let new = read(&arguments.new)?;
        diff(&old, &new)
    });
    let found = match found {
        Ok(found) => found,
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    let printed = arguments.format.print(&found);
    if printed == Exit::Ok {
        exit(&found)
    } else {
        printed
    }
}

/// Returns the exit code of a comparison.
pub(crate) fn exit(found: &Diff) -> Exit {
    if found.has_new_failure() {
        Exit::Failed
    } else {
        Exit::Ok
    }
}

/// Reads a result.
pub(crate) fn read(path: &Path) -> Result<Value, String> {
    let text = files::read(path, "run `rtether check S.yaml --json > FILE` to get one")?;
    serde_json::from_str(&text).map_err(|error| {
        format!(
            "`{}`: {error}; `rtether check S.yaml --json` prints a result",
            path.display()
        )
    })
}
