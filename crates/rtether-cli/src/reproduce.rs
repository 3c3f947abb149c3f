//! `reproduce`: repeats experiments of the papers.

use rtether::reproduce::{self, ReproduceError, Reproduction, Status};

use crate::args::{Global, ReproduceArgs};
use crate::exit::{self, Exit};
use crate::progress::with_progress;
use crate::{files, terminal};

/// Runs `reproduce`.
pub(crate) fn run(arguments: &ReproduceArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    if arguments.list {
        return terminal::print(&reproduce::list_text());
    }
    let ids = reproduce::expand(&arguments.experiments);
    let run = with_progress(global, 0, |progress| {
        ids.iter()
            .map(|id| reproduce::reproduce(id, progress))
            .collect::<Result<Vec<_>, _>>()
    });
    let found: Vec<Reproduction> = match run {
        Ok(Ok(found)) => found,
        Ok(Err(ReproduceError::Interrupted)) => return Exit::Interrupted,
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
        Err(message) => return exit::fail(&message),
    };
    if let Some(path) = &arguments.report {
        if let Err(message) = files::write(path, &reproduce::html(&found)) {
            return exit::fail(&message);
        }
    }
    let text = if arguments.json {
        reproduce::json(&found)
    } else if arguments.csv {
        reproduce::csv(&found)
    } else {
        reproduce::table(&found)
    };
    let printed = terminal::print(&text);
    if printed != Exit::Ok {
        return printed;
    }
    let fails =
        |judged: &&reproduce::Judgement| judged.status == Status::Fail && judged.strength == "must";
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
