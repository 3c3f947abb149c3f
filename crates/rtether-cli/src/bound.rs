//! `bound`: proved bounds of a scenario, without simulation.

use rtether::bound;

use crate::args::{BoundArgs, Global};
use crate::exit::Exit;
use crate::{scenario, terminal};

pub(crate) fn run(arguments: &BoundArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let loaded = match scenario::load(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let scenario = &loaded.scenario;
    let analysis = bound::analyze_with(scenario, arguments.methods.into());
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
