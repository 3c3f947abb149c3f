//! Reads a scenario with its overrides and shows what is wrong with it.

use std::path::Path;

use rtether::scenario::render::Style;
use rtether::scenario::{self, Override, Scenario};

use crate::args::{MessageFormat, Overrides, RunOverrides};
use crate::exit::Exit;
use crate::{files, terminal};

/// A scenario that can be run, and its text.
pub(crate) struct Loaded {
    pub(crate) scenario: Scenario,
    pub(crate) text: String,
}

/// Loads a scenario file; all mistakes are shown at once.
pub(crate) fn load(path: &Path, overrides: &Overrides) -> Result<Loaded, Exit> {
    load_with(path, overrides, Vec::new())
}

/// Loads a scenario file that is to be simulated; all mistakes are shown at once.
pub(crate) fn load_for_run(path: &Path, changes: &RunOverrides) -> Result<Loaded, Exit> {
    let runs = changes.runs.map(|runs| runs.to_string());
    let seed = changes.seed.map(|seed| seed.to_string());
    let flags = [
        ("--for", "run.for", &changes.duration),
        ("--warmup", "run.warmup", &changes.warmup),
        ("--runs", "run.seeds", &runs),
        ("--seed", "run.seed", &seed),
    ];
    let given = flags.into_iter().filter_map(|(flag, path, value)| {
        let value = value.as_ref()?.trim().to_owned();
        Some(Override::new(flag, path, value))
    });
    load_with(path, &changes.overrides, given.collect())
}

fn load_with(path: &Path, overrides: &Overrides, flags: Vec<Override>) -> Result<Loaded, Exit> {
    terminal::choose_form(overrides.message_format);
    let text = files::read(path).map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })?;
    let mut changes = Vec::new();
    for change in &overrides.set {
        let Some(change) = Override::parse(change) else {
            terminal::complain(&format!("`--set {change}` is not of the form PATH=VALUE"));
            return Err(Exit::WrongInput);
        };
        changes.push(change);
    }
    changes.extend(flags);
    let loaded = scenario::load_with(&path.display().to_string(), &text, &changes);
    show(&loaded, overrides.message_format);
    match loaded.scenario {
        Some(scenario) => Ok(Loaded { scenario, text }),
        None => Err(Exit::WrongInput),
    }
}

fn show(loaded: &scenario::Loaded, format: MessageFormat) {
    if loaded.diagnostics.is_empty() {
        return;
    }
    terminal::tell(&match format {
        MessageFormat::Text if terminal::errors_have_color() => loaded.text(Style::Colored),
        MessageFormat::Text => loaded.text(Style::Plain),
        MessageFormat::Json => loaded.json_lines(),
    });
}
