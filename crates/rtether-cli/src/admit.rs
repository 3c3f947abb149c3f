//! `admit`: whether flows may be added to a plant.

use rtether::bound::{Decision, admit};

use crate::args::{AdmitArgs, Global};
use crate::exit::Exit;
use crate::{scenario, terminal};

pub(crate) fn run(arguments: &AdmitArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let file = arguments.file.as_deref();
    let loaded = scenario::load_and_add(
        &arguments.scenario,
        &arguments.overrides,
        file,
        &arguments.flow,
    );
    let (scenario, added) = match loaded {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let admission = admit(&scenario, &added);
    let text = if arguments.json {
        admission.json()
    } else if arguments.csv {
        admission.csv()
    } else {
        admission.table()
    };
    let printed = terminal::print(&text);
    if printed != Exit::Ok {
        return printed;
    }
    match admission.decision {
        Decision::Yes => Exit::Ok,
        Decision::No => Exit::Failed,
        Decision::Unknown => Exit::NoAnswer,
    }
}
