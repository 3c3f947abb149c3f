//! `reproduce`: repeats experiments of the papers.

use std::path::PathBuf;

use clap::Args;
use rtether::report::format::Render;
use rtether::run::Progress;
use rtether::verdict::Conclusion;
use rtether_papers::{Mode, ReproduceError, Reproductions, SideBySide};

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
    /// Simulate or compute (the default); with `--live`, paper, simulation and measurement side by
    /// side
    #[arg(long)]
    pub(crate) sim: bool,
    /// Measure on this host, over emulated networks between namespaces (Linux, root)
    #[arg(long)]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Write one self-contained HTML page with the figures
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: Pace,
}

impl ReproduceArgs {
    const fn modes(&self) -> &'static [Mode] {
        match (self.sim, self.live) {
            (true, true) => &[Mode::Sim, Mode::Live],
            (false, true) => &[Mode::Live],
            (_, false) => &[Mode::Sim],
        }
    }
}

/// Runs `reproduce`.
pub(crate) fn run(arguments: &ReproduceArgs) -> Exit {
    if arguments.list {
        return terminal::print(&rtether_papers::list_text());
    }
    let modes = arguments.modes();
    let ids = match rtether_papers::expand(&arguments.experiments, modes) {
        Ok(ids) => ids,
        Err(error) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
    };
    if let [mode] = modes {
        let repeat = |id: &str, progress: &Progress| rtether_papers::reproduce(id, *mode, progress);
        repeat_all(arguments, &ids, repeat, |found, stopped| {
            let shown = Reproductions { found, stopped };
            Shown {
                conclusion: shown.conclusion(),
                page: rtether_papers::html(found),
                render: Box::new(shown),
            }
        })
    } else {
        repeat_all(arguments, &ids, rtether_papers::reproduce_beside, |found, stopped| {
            let shown = SideBySide { found, stopped };
            Shown { conclusion: shown.conclusion(), page: shown.html(), render: Box::new(shown) }
        })
    }
}

/// Repeated experiments as they are shown.
struct Shown<'a> {
    conclusion: Conclusion,
    page: String,
    render: Box<dyn Render + 'a>,
}

/// Repeats the experiments one after the other, and shows those that came to their end.
fn repeat_all<T: Send>(
    arguments: &ReproduceArgs,
    ids: &[String],
    repeat: impl Fn(&str, &Progress) -> Result<T, ReproduceError> + Sync,
    shown: impl Fn(&[T], Option<Conclusion>) -> Shown<'_>,
) -> Exit {
    let care = if arguments.live { Care::Once } else { Care::None };
    let run = with_progress(arguments.pace, 0, care, |progress| {
        let mut found = Vec::new();
        for id in ids {
            match repeat(id, progress) {
                Ok(one) => found.push(one),
                Err(error) => return (found, Some((id, error))),
            }
        }
        (found, None)
    });
    let (found, stopped): (Vec<T>, _) = match run {
        Ok(outcome) => outcome,
        Err(message) => return terminal::fail(&message),
    };
    let why = stopped.as_ref().map(|(_, error)| match error {
        ReproduceError::Interrupted => Conclusion::Interrupted,
        ReproduceError::Machine(_) => Conclusion::Unmeasured,
        ReproduceError::Unknown { .. }
        | ReproduceError::NotYet { .. }
        | ReproduceError::Scenario(_) => Conclusion::NoAnswer,
    });
    let printed = show(&shown(&found, why), arguments);
    let Some((id, error)) = stopped else {
        return printed;
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
fn show(found: &Shown<'_>, arguments: &ReproduceArgs) -> Exit {
    if let Some(path) = &arguments.report
        && let Err(message) = files::write(path, &found.page)
    {
        return terminal::fail(&message);
    }
    let printed = arguments.format.print(&*found.render);
    if printed != Exit::Ok {
        return printed;
    }
    found.conclusion.into()
}
