//! `bound`: proved bounds of a scenario, without simulation.

use rtether::bound;

use crate::args::{BoundArgs, Global};
use crate::exit::{self, Exit};
use crate::{files, scenario, terminal};

pub(crate) fn run(arguments: &BoundArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let loaded = match scenario::load(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let scenario = &loaded.scenario;
    let analysis = bound::analyze(scenario);
    if let Some(path) = &arguments.report
        && let Err(message) = files::write(path, &bound::html(scenario, &analysis))
    {
        return exit::fail(&message);
    }
    let text = if arguments.json {
        bound::json(scenario, &analysis)
    } else if arguments.csv {
        bound::csv(scenario, &analysis)
    } else {
        bound::table(scenario, &analysis)
    };
    let printed = terminal::print(&text);
    if printed != Exit::Ok {
        return printed;
    }
    let counts = bound::counts(scenario, &analysis);
    if counts.late > 0 {
        Exit::Failed
    } else if counts.unknown > 0 {
        Exit::NoAnswer
    } else {
        Exit::Ok
    }
}
