//! `limit`: finds how much other traffic is possible while flows keep their deadlines.

use rtether::limit::{self, End, Limit, Question};

use crate::args::{Global, LimitArgs};
use crate::drafts::{self, Draft};
use crate::exit::{self, Exit};
use crate::progress::with_progress;
use crate::stop::Care;
use crate::{scenario, terminal};

/// Runs `limit`.
pub(crate) fn run(arguments: &LimitArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let loaded = match scenario::load_for_run(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let report = match open_report(arguments) {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    let scenario = &loaded.scenario;
    let question = Question {
        flows: arguments.flows.clone(),
        miss_ratio: arguments.miss,
        confidence: arguments.confidence,
        tolerance: arguments.tolerance,
    };
    // The number of loads is not known in advance.
    let found = with_progress(global, 0, Care::None, |progress| {
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
    let written = report.map_or(Ok(()), |draft| draft.write(&limit::html(scenario, &limit)));
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
    match written {
        Err(message) => exit::fail(&message),
        Ok(()) if printed == Exit::Ok => conclude(&limit),
        Ok(()) => printed,
    }
}

/// Opens the report before the search begins; an error has been printed.
fn open_report(arguments: &LimitArgs) -> Result<Option<Draft>, Exit> {
    let Some(path) = &arguments.report else {
        return Ok(None);
    };
    let outputs = [("--report", path.clone())];
    drafts::check_distinct(&arguments.scenario, &outputs).map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })?;
    let draft = Draft::open(path).map_err(|message| exit::fail(&message))?;
    Ok(Some(draft))
}

fn conclude(limit: &Limit) -> Exit {
    match limit.end {
        End::Found { .. } | End::Unlimited { .. } if limit.present_load_passes() => Exit::Ok,
        End::Found { .. } | End::Unlimited { .. } | End::Never => Exit::Failed,
        End::TooFew { .. } => Exit::NoAnswer,
        End::Interrupted => Exit::Interrupted,
    }
}
