//! `reproduce`: repeats experiments of the papers.

use std::path::PathBuf;

use clap::Args;
use rtether_papers::{Mode, ReproduceError, Reproduction, Reproductions, Status};

use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::progress::{Pace, with_progress};
use crate::stop::Care;
use crate::{files, terminal};

/// Arguments of `reproduce`.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_help = "Example: rtether reproduce all --report papers.html")]
pub(crate) struct ReproduceArgs {
    /// Experiments, or `all`
    #[arg(required_unless_present = "list")]
    pub(crate) experiments: Vec<String>,
    /// List the experiments
    #[arg(long)]
    pub(crate) list: bool,
    /// Simulate or compute (the default)
    #[arg(long)]
    pub(crate) sim: bool,
    /// Measure on this host, over emulated networks between namespaces (Linux, root)
    #[arg(long, conflicts_with = "sim")]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Write one self-contained HTML page with the figures
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

/// Runs `reproduce`.
pub(crate) fn run(arguments: &ReproduceArgs) -> Exit {
    if arguments.list {
        return terminal::print(&rtether_papers::list_text());
    }
    let mode = if arguments.live {
        Mode::Live
    } else {
        Mode::Sim
    };
    let ids = match rtether_papers::expand(&arguments.experiments, mode) {
        Ok(ids) => ids,
        Err(error) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
    };
    let care = if arguments.live {
        Care::Once
    } else {
        Care::None
    };
    let run = with_progress(arguments.pace, 0, care, |progress| {
        let mut found = Vec::new();
        for id in &ids {
            match rtether_papers::reproduce(id, mode, progress) {
                Ok(one) => found.push(one),
                Err(error) => return (found, Some((id, error))),
            }
        }
        (found, None)
    });
    let (found, stopped): (Vec<Reproduction>, _) = match run {
        Ok(outcome) => outcome,
        Err(message) => return terminal::fail(&message),
    };
    let shown = show(&found, arguments);
    let Some((id, error)) = stopped else {
        return shown;
    };
    if error == ReproduceError::Interrupted {
        return Exit::Interrupted;
    }
    if let ReproduceError::Machine(why) = &error {
        return terminal::fail(&format!("{id}: {why}"));
    }
    // Names were checked before, so this is not a mistake of the user.
    terminal::complain(&format!("{id}: {error}; this is a defect of rtether"));
    Exit::NoAnswer
}

/// Prints the results.
fn show(found: &[Reproduction], arguments: &ReproduceArgs) -> Exit {
    if let Some(path) = &arguments.report
        && let Err(message) = files::write(path, &rtether_papers::html(found))
    {
        return terminal::fail(&message);
    }
    let printed = arguments.format.print(&Reproductions(found));
    if printed != Exit::Ok {
        return printed;
    }
    let fails = |judged: &&rtether_papers::Judgement| {
        judged.status == Status::Fail && judged.strength == "must"
    };
    if found
        .iter()
        .flat_map(|one| &one.claims)
        .any(|judged| fails(&judged))
    {
        Exit::Failed
    } else {
        Exit::Ok
    }
}
