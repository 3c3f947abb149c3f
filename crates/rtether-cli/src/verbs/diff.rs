//! `diff`: what changed between two results.

use std::path::{Path, PathBuf};

use clap::Args;
use rtether::diff::{self, diff};
use rtether::report::text::plain_line;
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
    if printed == Exit::Ok { found.conclusion().into() } else { printed }
}

/// Reads a result.
pub(crate) fn read(path: &Path) -> Result<Value, String> {
    let wrong = |why: &str| {
        let shown = plain_line(&path.display().to_string());
        format!("`{shown}`: it is {why}; `rtether check S.yaml --json` prints a result")
    };
    if path.is_dir() {
        return Err(wrong("a directory"));
    }
    let text = files::read(path, "run `rtether check S.yaml --json > FILE` to get one")?;
    if text.is_empty() {
        return Err(wrong("empty"));
    }
    let result = serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        wrong(&format!("not JSON at line {line}, column {column}"))
    })?;
    diff::check(&result)
        .map_err(|why| format!("`{}`: {why}", plain_line(&path.display().to_string())))?;
    Ok(result)
}
