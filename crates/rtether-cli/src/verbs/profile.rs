//! `profile`: shows, compares and merges profiles of devices.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rtether::profile::{self, Named, Profile, Shown, diff, merge};
use rtether::report::format::Format;
use rtether::scenario::render::Style;

use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::{drafts, files, terminal};

/// Arguments of `profile`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether profile show drive.yaml")]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    pub(crate) verb: ProfileVerb,
}

/// What to do with profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileVerb {
    /// Show every figure with its interval, or why there is none
    #[command(after_help = "Example: rtether profile show drive.yaml")]
    Show(ShowArgs),
    /// Tell which figures of two profiles differ beyond their intervals
    #[command(
        after_help = "Example: rtether profile diff before.yaml after.yaml\n\nExit codes: 0 no figure differs, 1 some do."
    )]
    Diff(DiffArgs),
    /// Make one profile of several of the same device
    #[command(after_help = "Example: rtether profile merge monday.yaml friday.yaml -o drive.yaml")]
    Merge(MergeArgs),
}

/// Arguments of `profile show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Profile; `-` for standard input
    pub(crate) file: PathBuf,
    /// Draw the round trips of the series that gives the stack
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write one self-contained HTML page with pictures
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `profile diff`.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// Profile
    pub(crate) before: PathBuf,
    /// Profile that may differ
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `profile merge`.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// Profiles of one device
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Profile to write; standard output if not given
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Runs `profile`.
pub(crate) fn run(arguments: &ProfileArgs) -> Exit {
    let done = match &arguments.verb {
        ProfileVerb::Show(arguments) => show(arguments),
        ProfileVerb::Diff(arguments) => compare(arguments),
        ProfileVerb::Merge(arguments) => join(arguments),
    };
    done.unwrap_or_else(|exit| exit)
}

fn show(arguments: &ShowArgs) -> Result<Exit, Exit> {
    let (_, profile) = read(&arguments.file)?;
    let shown = Shown { profile: &profile };
    let outputs = [("--svg", &arguments.svg), ("--report", &arguments.report)];
    let named: Vec<(&str, PathBuf)> =
        outputs.into_iter().filter_map(|(flag, path)| Some((flag, path.clone()?))).collect();
    drafts::check_distinct(&arguments.file, &named).map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })?;
    let report = drafts::open_apart(&arguments.file, "--report", arguments.report.as_deref())?;
    let written = report.map_or(Ok(()), |draft| draft.write(&profile::html(&profile)));
    written.map_err(|why| terminal::fail(&why))?;
    if let Some(path) = &arguments.svg {
        let draft = drafts::open_apart(&arguments.file, "--svg", Some(path))?;
        let Some(picture) = shown.picture() else {
            terminal::complain("no series of the profile has a histogram to draw");
            return Err(Exit::WrongInput);
        };
        let text = format!("{}\n", picture.as_str());
        draft.map_or(Ok(()), |draft| draft.write(&text)).map_err(|why| terminal::fail(&why))?;
    }
    Ok(arguments.format.print(&shown))
}

fn compare(arguments: &DiffArgs) -> Result<Exit, Exit> {
    let [before, after] = [&arguments.before, &arguments.after].map(|path| read(path));
    let found = diff(&before?, &after?);
    let printed = arguments.format.print(&found);
    let is_other = printed == Exit::Ok && found.count() > 0;
    Ok(if is_other { Exit::Failed } else { printed })
}

fn join(arguments: &MergeArgs) -> Result<Exit, Exit> {
    let all: Result<Vec<Named>, Exit> = arguments.files.iter().map(|path| read(path)).collect();
    let merged = merge(&all?).map_err(|why| {
        terminal::complain(&why);
        Exit::WrongInput
    })?;
    let shown = Shown { profile: &merged };
    match &arguments.out {
        Some(out) => {
            files::write(out, &merged.to_yaml()).map_err(|why| terminal::fail(&why))?;
            terminal::remark(&format!("{} written", out.display()));
            Ok(arguments.format.print(&shown))
        }
        None if arguments.format.format() == Format::Table => {
            Ok(terminal::print(&merged.to_yaml()))
        }
        None => Ok(arguments.format.print(&shown)),
    }
}

/// Reads a profile; what is wrong with it is told.
fn read(path: &Path) -> Result<Named, Exit> {
    let text = files::read(path, "`rtether identify HOST -o device.yaml` writes one");
    let name = path.display().to_string();
    let text = text.map_err(|why| {
        terminal::complain(&why);
        Exit::WrongInput
    })?;
    let profile = Profile::from_yaml(&text, &name).map_err(|wrong| {
        let style = if terminal::errors_have_color() { Style::Colored } else { Style::Plain };
        terminal::tell(&wrong.text(style));
        Exit::WrongInput
    })?;
    Ok((name, profile))
}
