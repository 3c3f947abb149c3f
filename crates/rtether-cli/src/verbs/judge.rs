//! `judge`: what other tools and reports claim of a plant, proved, refuted by a run, or open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rtether::adversary::{Effort, Progress};
use rtether::judge::{self, Judgment};

use super::strict::Strict;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::progress::{Pace, searching};
use crate::scenario::{self, Loaded, Overrides};
use crate::{files, terminal};

/// Arguments of `judge`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct JudgeArgs {
    /// File of claims, or `-` for standard input: CSV with columns `flow` and `bound`, JSON of `rtether
    /// bound`, or the results of Saihu in JSON
    pub(crate) claims: PathBuf,
    /// Scenario file that the claims are about
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: PathBuf,
    /// Folder for a scenario of each run that refutes claims, as small as it could be made, and for a
    /// certificate of claims that are proved, which `python3 verify` checks without rtether
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Behind an ordinary run, search for runs that refute claims for this real time at most, or in this many plants, which find
    /// the same on any machine
    #[arg(long, value_name = "TIME|N", default_value = "60 s", value_parser = Effort::parse)]
    pub(crate) search: Effort,
    #[command(flatten)]
    pub(crate) strict: Strict,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

const NOTES: &str = "Example: rtether judge claims.csv --scenario plant.yaml --out refuted\n\nA claim \
is a time that no packet of a flow exceeds, or `reached` (its deadline is), or `no loss`. `rtether sim` \
repeats each run that refutes one.\n\nExit codes: 0 every claim is proved, 1 one is refuted, 3 none is, \
but one is open, 2 a claim is about no flow of the scenario; 5 one is proved and refuted (please report \
it).";

/// Runs `judge`.
pub(crate) fn run(arguments: &JudgeArgs) -> Exit {
    judged(arguments).unwrap_or_else(|exit| exit)
}

fn judged(arguments: &JudgeArgs) -> Result<Exit, Exit> {
    let octets = files::read_octets(&arguments.claims, "").map_err(|message| wrong(&message))?;
    let name = arguments.claims.display().to_string();
    let claims = judge::claims(&name, &octets).map_err(|error| wrong(&error.to_string()))?;
    let Loaded { mut scenario, written } =
        scenario::load(&arguments.scenario, &arguments.overrides)?;
    arguments.strict.ask(&mut scenario);
    let out = arguments.out.as_deref().map(files::make_directory).transpose();
    let out = out.map_err(|message| terminal::fail(&message))?;
    // A search is not begun in vain.
    let first = [judge::CERTIFICATE.to_owned(), judge::file_name(0)];
    let first = arguments.out.iter().flat_map(|folder| first.iter().map(|name| folder.join(name)));
    refuse_there(arguments, first)?;
    let progress = Arc::new(Progress::begin(arguments.search));
    let found = searching(arguments.pace, &progress, || {
        judge::judge((&scenario, &written), (&name, claims), &progress, out.is_some())
    });
    let judgment = found.map_err(|message| terminal::fail(&message))?;
    let judgment = judgment.map_err(|error| wrong(&error.to_string()))?;
    if let (Some(folder), Some(kept)) = (arguments.out.as_deref(), out) {
        write(arguments, folder, &judgment)?;
        kept.keep();
    }
    let printed = arguments.format.print(&judgment);
    if printed == Exit::Ok { Ok(judgment.conclusion().into()) } else { Err(printed) }
}

fn wrong(message: &str) -> Exit {
    terminal::complain(message);
    Exit::WrongInput
}

/// Writes the runs that refute claims, and the certificate.
fn write(arguments: &JudgeArgs, folder: &Path, judgment: &Judgment) -> Result<(), Exit> {
    let files: Vec<(PathBuf, String)> =
        judgment.files().map(|(name, text)| (folder.join(name), text)).collect();
    refuse_there(arguments, files.iter().map(|(path, _)| path.clone()))?;
    for (path, text) in &files {
        files::write(path, text).map_err(|message| terminal::fail(&message))?;
        let path = path.display();
        match &judgment.certificate {
            Some(Ok(own)) if path.to_string().ends_with(judge::CERTIFICATE) => {
                terminal::remark(&own.said(&path.to_string()));
            }
            _ => terminal::remark(&format!("{path} written")),
        }
    }
    if let Some(Err(beyond)) = &judgment.certificate {
        terminal::remark(&beyond.to_string());
    }
    Ok(())
}

/// Refuses to replace files, unless the user has said so.
fn refuse_there(
    arguments: &JudgeArgs,
    mut paths: impl Iterator<Item = PathBuf>,
) -> Result<(), Exit> {
    match paths.find(|path| path.exists() && !arguments.force) {
        None => Ok(()),
        Some(there) => {
            let there = there.display();
            terminal::complain(&format!("`{there}` is already there; add --force to replace it"));
            Err(Exit::WrongInput)
        }
    }
}
