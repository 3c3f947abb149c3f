//! `reproduce`: repeats experiments of the papers.

use rtether_papers::{Mode, ReproduceError, Reproduction, Status};

use crate::args::{Global, ReproduceArgs};
use crate::exit::{self, Exit};
use crate::progress::with_progress;
use crate::stop::Care;
use crate::{files, terminal};

/// Runs `reproduce`.
pub(crate) fn run(arguments: &ReproduceArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
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
    #[cfg(target_os = "linux")]
    let care = if arguments.live {
        Care::Once
    } else {
        Care::None
    };
    #[cfg(not(target_os = "linux"))]
    let care = Care::None;
    let run = with_progress(global, 0, care, |progress| {
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
        Err(message) => return exit::fail(&message),
    };
    let shown = show(&found, arguments);
    let Some((id, error)) = stopped else {
        return shown;
    };
    if error == ReproduceError::Interrupted {
        return Exit::Interrupted;
    }
    if let ReproduceError::Machine(why) = &error {
        return exit::fail(&format!("{id}: {why}"));
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
        return exit::fail(&message);
    }
    let text = if arguments.json {
        rtether_papers::json(found)
    } else if arguments.csv {
        rtether_papers::csv(found)
    } else {
        rtether_papers::table(found)
    };
    let printed = terminal::print(&text);
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
