//! `limit`: finds how much other traffic the flows with deadlines bear.

use rtether::limit::{self, End, Limit, Question};

use crate::args::{Global, LimitArgs};
use crate::exit::{self, Exit};
use crate::progress::with_progress;
use crate::{files, scenario, terminal};

/// Runs `limit`.
pub(crate) fn run(arguments: &LimitArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let loaded = match scenario::load(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let scenario = &loaded.scenario;
    let question = Question {
        flows: arguments.flows.clone(),
        miss_ratio: arguments.miss,
        confidence: arguments.confidence,
        tolerance: arguments.tolerance,
    };
    // How many loads it takes shows on the way.
    let found = with_progress(global, 0, |progress| {
        limit::find(scenario, &question, progress)
    });
    let limit = match found {
        Ok(Ok(limit)) => limit,
        Ok(Err(error)) => {
            terminal::complain(&error.to_string());
            return Exit::WrongInput;
        }
        Err(message) => return exit::fail(&message),
    };
    if let Some(path) = &arguments.report
        && let Err(message) = files::write(path, &limit::html(scenario, &limit))
    {
        return exit::fail(&message);
    }
    let text = if arguments.quiet {
        limit::summary(&limit)
    } else if arguments.json {
        limit::json(scenario, &limit)
    } else if arguments.csv {
        limit::csv(scenario, &limit)
    } else {
        limit::table(scenario, &limit)
    };
    let printed = terminal::print(&text);
    if printed == Exit::Ok {
        conclude(&limit)
    } else {
        printed
    }
}

fn conclude(limit: &Limit) -> Exit {
    match limit.end {
        End::Found { .. } | End::Unlimited { .. } if limit.present_load_passes() => Exit::Ok,
        End::Found { .. } | End::Unlimited { .. } | End::Never => Exit::Failed,
        End::TooFew { .. } => Exit::NoAnswer,
        End::Interrupted => Exit::Interrupted,
    }
}
