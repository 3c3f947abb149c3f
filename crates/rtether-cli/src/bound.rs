//! `bound`: proved bounds of a scenario, without simulation.

use rtether::bound::{self, SensitivityError};

use crate::args::{BoundArgs, Global};
use crate::exit::{self, Exit};
use crate::progress::with_steps;
use crate::{files, scenario, terminal};

pub(crate) fn run(arguments: &BoundArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let done = if !arguments.what_if.is_empty() {
        what_if(arguments)
    } else if arguments.sensitivity {
        sensitivity(arguments, global)
    } else {
        bounds(arguments)
    };
    done.unwrap_or_else(|exit| exit)
}

/// Prints a text and returns `exit`, unless printing fails.
fn print(text: &str, exit: Exit) -> Exit {
    let printed = terminal::print(text);
    if printed == Exit::Ok { exit } else { printed }
}

/// Returns the exit code for these bounds.
fn judge(scenario: &rtether::scenario::Scenario, analysis: &bound::Analysis) -> Exit {
    let counts = bound::counts(scenario, analysis);
    if counts.late > 0 {
        Exit::Failed
    } else if counts.unknown > 0 {
        Exit::NoAnswer
    } else {
        Exit::Ok
    }
}

fn bounds(arguments: &BoundArgs) -> Result<Exit, Exit> {
    let loaded = scenario::load(&arguments.scenario, &arguments.overrides)?;
    let scenario = &loaded.scenario;
    let analysis = bound::analyze_with(scenario, arguments.methods.into());
    if let Some(path) = &arguments.report {
        files::write(path, &bound::html(scenario, &analysis))
            .map_err(|message| exit::fail(&message))?;
    }
    let text = match (arguments.json, arguments.csv, arguments.ports) {
        (true, _, _) => bound::json(scenario, &analysis),
        (_, true, true) => bound::ports_csv(scenario, &analysis),
        (_, true, false) => bound::csv(scenario, &analysis),
        (_, _, true) => bound::ports_table(scenario, &analysis),
        (_, _, false) => bound::table(scenario, &analysis),
    };
    Ok(print(&text, judge(scenario, &analysis)))
}

fn what_if(arguments: &BoundArgs) -> Result<Exit, Exit> {
    let (before, after, changes) = scenario::load_both(
        &arguments.scenario,
        &arguments.overrides,
        &arguments.what_if,
    )?;
    let found = bound::what_if(&before, &after, &changes);
    let text = if arguments.json {
        found.json(&before)
    } else if arguments.csv {
        found.csv()
    } else {
        found.table(&before)
    };
    Ok(print(&text, judge(&after, &found.after)))
}

fn sensitivity(arguments: &BoundArgs, global: &Global) -> Result<Exit, Exit> {
    let loaded = scenario::load(&arguments.scenario, &arguments.overrides)?;
    let scenario = &loaded.scenario;
    let flow = arguments.flow.as_deref();
    let found = with_steps(global, |steps| bound::sensitivity(scenario, flow, steps));
    let found = found.map_err(|error| {
        terminal::complain(&error.to_string());
        match error {
            SensitivityError::NoFlow { .. } => Exit::WrongInput,
            SensitivityError::NoBound { .. } | SensitivityError::Nothing => Exit::NoAnswer,
        }
    })?;
    let text = if arguments.json {
        found.json(scenario)
    } else if arguments.csv {
        found.csv()
    } else {
        found.table(scenario)
    };
    let exit = if found.partial {
        Exit::Interrupted
    } else {
        Exit::Ok
    };
    Ok(print(&text, exit))
}
