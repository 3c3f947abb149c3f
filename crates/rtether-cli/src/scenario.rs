//! Loads a scenario with its overrides and prints its mistakes.

use std::path::{Path, PathBuf};

use clap::Args;
use rtether::beneath::Beneath;
use rtether::import::recognize;
use rtether::report::text::plain_line;
use rtether::scenario::render::Style;
use rtether::scenario::{self, Override, Scenario, Source, Written};

use crate::exit::Exit;
use crate::terminal::MessageFormat;
use crate::{files, number, terminal};

/// Folders whose files a scenario may include.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct IncludeFrom {
    /// Folder whose files may be included, besides that of the scenario; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) include_from: Vec<PathBuf>,
}

impl IncludeFrom {
    /// Returns what reads the files that a file names.
    pub(crate) fn beneath(&self, file: &Path) -> Beneath {
        let remedy = |folder: &Path| format!("add `--include-from {}`", files::as_argument(folder));
        Beneath::new(file, &self.include_from, remedy)
    }
}

/// Reads a file that another one names.
pub(crate) fn further(beneath: &Beneath, path: &str) -> Result<String, String> {
    let text = beneath.read(path).map_err(|why| why.to_string())?;
    let shown = plain_line(path);
    terminal::detail(|| format!("read {shown}: {} octets", text.len()));
    Ok(text)
}

/// Changes to a scenario.
#[derive(Args, Debug, Default)]
pub(crate) struct Overrides {
    /// Override a value of the scenario, for example flows.setpoint.period=1ms, or of all that a
    /// selector means: 'flows[class=bulk].pcp=0', 'switches[*].queues=4'
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Format of error messages
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) message_format: MessageFormat,
    #[command(flatten)]
    pub(crate) include_from: IncludeFrom,
}

impl Overrides {
    /// Reads the text of a scenario after these changes.
    fn load(
        &self,
        path: &Path,
        text: &str,
        changes: &[Override],
        added: &[Source],
    ) -> scenario::Loaded {
        let beneath = self.include_from.beneath(path);
        let read = |path: &str| further(&beneath, path);
        scenario::load_from(&path.display().to_string(), text, &read, changes, added)
    }
}

/// Changes to a scenario to be simulated.
#[derive(Args, Debug, Default)]
pub(crate) struct RunOverrides {
    #[command(flatten)]
    pub(crate) overrides: Overrides,
    /// Seed of the first replication
    #[arg(long, value_name = "N", value_parser = number::seed)]
    pub(crate) seed: Option<u64>,
    /// Number of replications
    #[arg(long, value_name = "N", value_parser = number::within(0..=u32::MAX))]
    pub(crate) runs: Option<u32>,
    /// Simulated time of each replication
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Start of each replication left out of the statistics
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
}

/// A scenario that can be run, and how it was written.
pub(crate) struct Loaded {
    pub(crate) scenario: Scenario,
    pub(crate) written: Written,
}

/// Loads a scenario file; prints all mistakes at once.
pub(crate) fn load(path: &Path, overrides: &Overrides) -> Result<Loaded, Exit> {
    read_with(path, overrides, Vec::new())?.into_loaded()
}

/// Loads a scenario file to be simulated; prints all mistakes at once.
pub(crate) fn load_for_run(path: &Path, changes: &RunOverrides) -> Result<Loaded, Exit> {
    read_for_run(path, changes)?.into_loaded()
}

/// A scenario file that has been read, with its mistakes.
pub(crate) struct Read {
    pub(crate) loaded: scenario::Loaded,
    written: Written,
}

impl Read {
    /// Returns the scenario; an error if it cannot be run.
    pub(crate) fn into_loaded(self) -> Result<Loaded, Exit> {
        let Self { loaded, written } = self;
        let scenario = loaded.scenario.ok_or(Exit::WrongInput)?;
        Ok(Loaded { scenario, written })
    }

    /// Returns the scenario, and what the file says without it.
    pub(crate) fn split(mut self) -> (Option<Loaded>, scenario::Loaded) {
        let scenario = self.loaded.scenario.take();
        let written = self.written;
        (scenario.map(|scenario| Loaded { scenario, written }), self.loaded)
    }
}

/// Reads a scenario file to be simulated; prints all mistakes at once.
pub(crate) fn read_for_run(path: &Path, changes: &RunOverrides) -> Result<Read, Exit> {
    read_with(path, &changes.overrides, flags(changes))
}

/// Reads the text of a scenario file, and what its options replace in it.
pub(crate) fn read_text(
    path: &Path,
    changes: &RunOverrides,
) -> Result<(String, Vec<Override>), Exit> {
    terminal::choose_form(changes.overrides.message_format);
    let text = read(path)?;
    let mut all = parse("--set", &changes.overrides.set)?;
    all.extend(flags(changes));
    Ok((text, all))
}

/// Returns what the options for a run replace.
fn flags(changes: &RunOverrides) -> Vec<Override> {
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
    given.collect()
}

fn read_with(path: &Path, overrides: &Overrides, flags: Vec<Override>) -> Result<Read, Exit> {
    terminal::choose_form(overrides.message_format);
    let text = read(path)?;
    let mut changes = parse("--set", &overrides.set)?;
    changes.extend(flags);
    let loaded = overrides.load(path, &text, &changes, &[]);
    show(&loaded, overrides.message_format);
    let written = Written::of(&loaded, changes);
    Ok(Read { loaded, written })
}

/// Loads a scenario file before and after the changes of `--what-if`; prints common mistakes once.
pub(crate) fn load_both(
    path: &Path,
    overrides: &Overrides,
    what_if: &[String],
) -> Result<(Scenario, Scenario, Vec<Override>), Exit> {
    terminal::choose_form(overrides.message_format);
    let text = read(path)?;
    let mut all = parse("--set", &overrides.set)?;
    let before = overrides.load(path, &text, &all, &[]);
    show(&before, overrides.message_format);
    let Some(old) = before.scenario else {
        return Err(Exit::WrongInput);
    };
    let own = parse("--what-if", what_if)?;
    all.extend(own.iter().cloned());
    let mut after = overrides.load(path, &text, &all, &[]);
    after.diagnostics.retain(|diagnostic| !before.diagnostics.contains(diagnostic));
    show(&after, overrides.message_format);
    let new = after.scenario.ok_or(Exit::WrongInput)?;
    Ok((old, new, own))
}

/// Loads a scenario file without and with additional flows, from a file or from arguments.
///
/// An overload is an answer here, not a mistake.
pub(crate) fn load_and_add(
    path: &Path,
    overrides: &Overrides,
    file: Option<&Path>,
    flows: &[String],
) -> Result<(Scenario, Scenario), Exit> {
    terminal::choose_form(overrides.message_format);
    if file == Some(path) && path == Path::new("-") {
        terminal::complain("scenario and flow cannot both come from standard input");
        return Err(Exit::WrongInput);
    }
    let text = read(path)?;
    let mut all = parse("--set", &overrides.set)?;
    all.extend(Override::parse("run.overload=allow"));
    let mut added = Vec::new();
    if let Some(file) = file {
        let name = file.display().to_string();
        let text = read_flows(file)?;
        added.push(Source { name, text });
    }
    added.extend(flows.iter().map(|flow| Source { name: "--flow".to_owned(), text: flow.clone() }));
    let loaded = overrides.load(path, &text, &all, &added);
    show(&loaded, overrides.message_format);
    let both = loaded.without_added.zip(loaded.scenario);
    both.ok_or(Exit::WrongInput)
}

/// Reads flows to be added, which are none that `new` writes.
fn read_flows(path: &Path) -> Result<String, Exit> {
    let start = "write flows into it as they stand under `flows:`, or give one as `--flow`";
    files::read(path, start).map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })
}

fn read(path: &Path) -> Result<String, Exit> {
    let start = "`rtether new` writes one to start from";
    let read = files::read_octets(path, start);
    let text = read.and_then(|octets| match recognize(&octets) {
        None => files::text(path, octets),
        Some(what) => Err(foreign(path, what)),
    });
    text.map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })
}

/// Says how a file of another tool becomes a scenario.
fn foreign(path: &Path, what: &str) -> String {
    let out = match path.file_stem() {
        Some(stem) if path != Path::new("-") => Path::new(stem).with_extension("yaml"),
        Some(_) | None => PathBuf::from("plant.yaml"),
    };
    let [from, to] = [path, &out].map(files::as_argument);
    format!(
        "`{}` is {what} and no scenario; `rtether import {from} -o {to}` makes one of it",
        plain_line(&path.display().to_string())
    )
}

fn parse(option: &'static str, changes: &[String]) -> Result<Vec<Override>, Exit> {
    let parsed = changes.iter().map(|change| {
        Override::parse_for(option, change).ok_or_else(|| {
            let message = format!("`{option} {change}` is not of the form PATH=VALUE");
            terminal::complain(&message);
            Exit::WrongInput
        })
    });
    parsed.collect()
}

pub(crate) fn show(loaded: &scenario::Loaded, format: MessageFormat) {
    if loaded.diagnostics.is_empty() {
        return;
    }
    terminal::tell(&match format {
        MessageFormat::Text if terminal::errors_have_color() => loaded.text(Style::Colored),
        MessageFormat::Text => loaded.text(Style::Plain),
        MessageFormat::Json => loaded.json_lines(),
    });
}
