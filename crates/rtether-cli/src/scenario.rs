//! Reads a scenario with its overrides and shows what is wrong with it.

use std::path::Path;

use rtether::scenario::render::Style;
use rtether::scenario::{self, Scenario};

use crate::args::{MessageFormat, Overrides};
use crate::exit::Exit;
use crate::{files, terminal};

/// A scenario that can be run, and its text.
pub(crate) struct Loaded {
    pub(crate) scenario: Scenario,
    pub(crate) text: String,
}

/// Loads a scenario file; all mistakes are shown at once.
pub(crate) fn load(path: &Path, overrides: &Overrides) -> Result<Loaded, Exit> {
    let text = files::read(path).map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })?;
    let mut set = overrides.set.clone();
    let runs = overrides.runs.map(|runs| runs.to_string());
    let seed = overrides.seed.map(|seed| seed.to_string());
    for (key, value) in [
        ("run.for", &overrides.duration),
        ("run.warmup", &overrides.warmup),
        ("run.seeds", &runs),
        ("run.seed", &seed),
    ] {
        set.extend(value.as_ref().map(|value| format!("{key}={value}")));
    }
    let mut changes = Vec::new();
    for change in &set {
        let Some(change) = scenario::Override::parse(change) else {
            terminal::complain(&format!("`--set {change}` is not of the form PATH=VALUE"));
            return Err(Exit::WrongInput);
        };
        changes.push(change);
    }
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
        MessageFormat::Json => loaded.json().to_string(),
    });
}
