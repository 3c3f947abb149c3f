//! `import`: makes a scenario of another tool's file.

use std::path::{Path, PathBuf};

use clap::Args;
use rtether::against::{against, html};
use rtether::import::{
    Before, Cabling, Class, Columns, Duration, File, Frequency, ImportError, Imported, Options,
    Plan, Profile, Source, import_all, import_captures, is_capture, moved, stamp,
};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::scenario;

use crate::drafts;
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::format::FormatArgs;
use crate::scenario::{IncludeFrom, Loaded, Overrides, load};
use crate::terminal;

/// Arguments of `import`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct ImportArgs {
    /// File of IEC 61850 SCL (SCD, or CID and ICD of all devices), a list of flows as CSV, alone or
    /// with a list of links, TSN requirements (IEEE 802.1Qcc, JSON or XML), a network of Saihu (JSON)
    /// or of INET (NED files and `omnetpp.ini`), or captures (pcap, pcapng, also in gzip); `-` for
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Scenario to write; standard output if not given
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing scenario, also one that was edited by hand
    #[arg(long)]
    pub(crate) force: bool,
    /// File with flows and changes of your own, relative to the scenario, which is to include it;
    /// may be given several times; a second import keeps it
    #[arg(long, value_name = "FILE", requires = "out")]
    pub(crate) include: Vec<String>,
    /// Nominal frequency of the power system, for sampled values [default: 50 Hz]
    #[arg(long, value_name = "HZ", value_parser = Frequency::parse)]
    pub(crate) frequency: Option<Frequency>,
    /// Deadline of a class of flows, or `none`; may be given several times [default: goose=3ms
    /// heartbeat=none sv=3ms report=none sporadic=none bulk=none, and the period for periodic]
    #[arg(long, value_name = "CLASS=TIME", value_parser = deadline)]
    pub(crate) deadline: Vec<Deadline>,
    /// Titles of the columns of a list of flows, and the unit of times [default: the keys of
    /// scenarios with units in the cells, if `from` and `to` are titles, else those of tsnkit,
    /// from=src,to=dst,size=size,period=period:ns,deadline=deadline:ns]
    #[arg(long, value_name = "NAME=TITLE,...", value_parser = Columns::parse)]
    pub(crate) columns: Option<Columns>,
    /// Who is cabled to whom: a CSV file with the columns `node`, `neighbor` and, if known, `port`,
    /// `neighbor_port`, `rate`, or `HOST.json`, what `lldpcli -f json show neighbors` prints at a
    /// switch; may be given several times; beside SCL, lists of flows and TSN requirements
    #[arg(long, value_name = "FILE")]
    pub(crate) switches: Vec<PathBuf>,
    /// Profile of a device, which ends what is assumed of its stack: the name of a station, or of the
    /// device that has several, and the file, relative to the scenario; may be given several times
    #[arg(long, value_name = "STATION=FILE", value_parser = profile, conflicts_with = "against")]
    pub(crate) profile: Vec<(String, String)>,
    /// Section of `omnetpp.ini`, of a network of INET [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) config: Option<String>,
    /// Compare with a plan, flow by flow, in place of printing the scenario
    #[arg(long, value_name = "SCENARIO")]
    pub(crate) against: Option<PathBuf>,
    /// Write the comparison as one self-contained HTML page
    #[arg(long, value_name = "FILE", requires = "against")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) include_from: IncludeFrom,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

impl ImportArgs {
    /// Loads a scenario that was written or compared with.
    fn load(&self, path: &Path) -> Result<Loaded, Exit> {
        let include_from = self.include_from.clone();
        let overrides = Overrides { include_from, ..Overrides::default() };
        load(path, &overrides)
    }
}

const NOTES: &str = "Example: rtether import plant.scd -o plant.yaml\n\nWhat the file does not say \
is a comment on its line of the scenario, and in --json. Without -o the scenario is printed, and \
findings go to standard error.\n\nA second import into the same scenario replaces all of it but the \
files that it includes; it refuses if other lines were edited by hand.\n\nExit codes: 0 imported, 1 it \
deviates from the plan of --against, 2 the file cannot be imported, or what the scenario includes \
does not fit it any more.";

/// A class and its deadline.
type Deadline = (Class, Option<Duration>);

/// Reads `goose=3ms`, `sv=none`.
fn deadline(text: &str) -> Result<Deadline, String> {
    let (class, time) =
        text.split_once('=').ok_or("write a class and a time, for example goose=3ms")?;
    let class = Class::parse(class.trim())?;
    match time.trim() {
        "none" => Ok((class, None)),
        time => match scenario::time(time)? {
            span if span.as_ps() > 0 => Ok((class, Some(span))),
            _ => Err("write a time above zero, or none".into()),
        },
    }
}

/// Reads `Relay1=relay.yaml`.
fn profile(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(station, file)| (station.trim(), file.trim()));
    let whole = parts.filter(|(station, file)| !station.is_empty() && scenario::is_profile(file));
    let (station, file) =
        whole.ok_or("write a station and its profile, for example Relay1=relay.yaml")?;
    Ok((station.to_owned(), file.to_owned()))
}

/// Runs `import`.
pub(crate) fn run(arguments: &ImportArgs) -> Exit {
    let (before, plan) = match read(arguments) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let files: Vec<String> =
        arguments.files.iter().map(|file| file.display().to_string()).collect();
    let file = files.join(", ");
    let imported = Imported { file: &file, plan: &plan };
    if let Some(planned) = &arguments.against {
        return compare(planned, &plan, arguments);
    }
    match &arguments.out {
        Some(out) => {
            let printed = arguments.format.print(&imported);
            let wrong = if let Some(before) = before {
                written_again(&before, &plan, (out, arguments))
            } else {
                let command = format!("rtether check {}", files::as_argument(out));
                terminal::remark(&format!("{} written; try `{command}`", out.display()));
                let unsure = !arguments.include.is_empty();
                let wrong = unsure.then(|| arguments.load(out).err());
                wrong.flatten()
            };
            wrong.unwrap_or(printed)
        }
        None if arguments.format.format() == Format::Table => {
            terminal::remark(&imported.render(Format::Table, Screen::default()));
            terminal::print(&plan.scenario)
        }
        None => arguments.format.print(&imported),
    }
}

/// Says what a second import has done; an exit code if the scenario cannot be run any more.
fn written_again(
    before: &str,
    plan: &Plan,
    (out, arguments): (&Path, &ImportArgs),
) -> Option<Exit> {
    let kept = Before::read(before).is_some_and(|before| before.includes());
    let kept = if kept { ", `include` kept" } else { "" };
    terminal::remark(&format!("{} written again{kept}", out.display()));
    // Without what it includes, the scenario has the flows of the file.
    let alone = |text: &str| {
        let whole = |_: &str| Ok(String::new());
        scenario::load_from("", text, &whole, &[], &[]).scenario
    };
    let flows = alone(before).zip(alone(&plan.scenario));
    if let Some(words) = flows.and_then(|(before, after)| moved(&before, &after)) {
        terminal::remark(&words);
    }
    arguments.load(out).err()
}

/// Compares what was imported with a plan.
fn compare(planned: &Path, plan: &Plan, arguments: &ImportArgs) -> Exit {
    let report = match drafts::open_apart(planned, "--report", arguments.report.as_deref()) {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    let planned = match arguments.load(planned) {
        Ok(loaded) => loaded.scenario,
        Err(exit) => return exit,
    };
    let seen = match scenario::load("imported", &plan.scenario).into_scenario() {
        Ok(seen) => seen,
        Err(words) => {
            return terminal::fail(&format!("what was imported is no scenario: {words}"));
        }
    };
    let found = against(&planned, &seen);
    if let Some(path) = &arguments.report {
        if let Err(message) = report.map_or(Ok(()), |draft| draft.write(&html(&found, plan))) {
            return terminal::fail(&message);
        }
        terminal::remark(&format!("report written to {}", path.display()));
    }
    let printed = arguments.format.print(&found);
    if printed == Exit::Ok { found.conclusion().into() } else { printed }
}

/// Returns the scenario that was imported before, if it may be replaced.
fn before(out: &Path, is_forced: bool) -> Result<Option<String>, String> {
    if !out.is_file() {
        return Ok(None);
    }
    let shown = out.display();
    let text = files::read(out, "");
    match text.as_ref().ok().and_then(|text| Before::read(text)) {
        None if is_forced => Ok(None),
        None => Err(format!("`{shown}` is already there; add --force to replace it")),
        Some(before) if before.is_edited && !is_forced => Err(format!(
            "`{shown}` was edited by hand since it was imported; move your flows, and values as \
             `changes: {{ flows.NAME.deadline: 5 ms }}`, into a file of their own, name it there under \
             `include`, and add --force, which replaces all other lines"
        )),
        Some(_) => text.map(Some),
    }
}

/// Returns the scenario with the files that it includes.
fn stamped(plan: &Plan, before: Option<&str>, include: &[String]) -> String {
    let before = before.and_then(Before::read);
    stamp(&plan.scenario, before.as_ref(), include)
}

/// Reads the file and writes the scenario; returns also what was there before. An error has been
/// printed.
fn read(arguments: &ImportArgs) -> Result<(Option<String>, Plan), Exit> {
    let complain = |message: &str| {
        terminal::complain(message);
        Exit::WrongInput
    };
    let before = match &arguments.out {
        Some(out) => before(out, arguments.force).map_err(|message| complain(&message))?,
        None => None,
    };
    let first = arguments.files.first().map_or(Path::new("-"), PathBuf::as_path);
    let others = arguments.files.iter().skip(1).cloned();
    let others = others.map(|other| ("FILE", other));
    let reports = arguments.report.iter().map(|own| ("--report", own.clone()));
    let switches = arguments.switches.iter().cloned();
    let switches = switches.map(|own| ("--switches", own)).chain(reports);
    let apart: Vec<(&str, PathBuf)> = others.chain(switches).collect();
    let outs = arguments.out.iter().map(|out| ("--out", out.clone()));
    let apart: Vec<(&str, PathBuf)> = apart.into_iter().chain(outs).collect();
    drafts::check_distinct(first, &apart).map_err(|message| complain(&message))?;
    let draft = drafts::open_apart(first, "--out", arguments.out.as_deref())?;
    let mut inputs = Vec::new();
    for file in &arguments.files {
        let start = "export one from the tool that has the plant, or capture its traffic";
        let input = Input::open(file, start).map_err(|message| complain(&message))?;
        let name = file.file_name().unwrap_or(file.as_os_str());
        inputs.push((name.to_string_lossy().into_owned(), input));
    }
    let mut options = Options::new();
    if let Some(frequency) = arguments.frequency {
        options = options.with_frequency(frequency);
    }
    for &(class, deadline) in &arguments.deadline {
        options = options.with_deadline(class, deadline);
    }
    if let Some(columns) = &arguments.columns {
        options = options.with_columns(columns.clone());
    }
    if let Some(config) = &arguments.config {
        options = options.with_config(config.clone());
    }
    if !arguments.switches.is_empty() {
        let cabling = cabling(&arguments.switches).map_err(|message| complain(&message))?;
        options = options.with_cabling(cabling);
    }
    for (station, file) in &arguments.profile {
        let text = text_of(file, arguments.out.as_deref()).map_err(|why| complain(&why))?;
        let (station, file) = (station.clone(), file.clone());
        options = options.with_profile(Profile { station, file, text });
    }
    let plan = plan(inputs, &options).map_err(|message| complain(&message))?;
    if let Some(draft) = draft {
        let text = stamped(&plan, before.as_deref(), &arguments.include);
        draft.write(&text).map_err(|message| terminal::fail(&message))?;
    }
    Ok((before, plan))
}

/// Returns the text of a profile that is named relative to the scenario; the user has typed the path.
fn text_of(file: &str, out: Option<&Path>) -> Result<String, String> {
    let folder = out.and_then(Path::parent).unwrap_or(Path::new(""));
    files::read(&folder.join(file), "`rtether identify HOST -o device.yaml` writes a profile")
}

/// Reads who is cabled to whom.
fn cabling(paths: &[PathBuf]) -> Result<Cabling, String> {
    let mut contents = Vec::new();
    for path in paths {
        let start = "write one, or print it by `lldpcli -f json show neighbors`";
        let octets = Input::open(path, start)?.octets()?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        contents.push((name.to_string_lossy().into_owned(), octets));
    }
    let files = contents.iter().map(|(name, octets)| File { name, octets });
    let files: Vec<File<'_>> = files.collect();
    Cabling::read(&files).map_err(|error| error.to_string())
}

/// Imports files: captures piece by piece, since they may be larger than memory.
fn plan(inputs: Vec<(String, Input<'_>)>, options: &Options) -> Result<Plan, String> {
    let text = |error: ImportError| error.to_string();
    let mut contents = Vec::new();
    let first = inputs.first();
    if first.is_some_and(|(_, input)| is_capture(&input.head)) {
        let sources =
            inputs.into_iter().map(|(name, input)| Source { name, reader: input.stream() });
        return import_captures(sources.collect(), options).map_err(text);
    }
    for (name, input) in inputs {
        contents.push((name, input.octets()?));
    }
    let sources = contents.iter().map(|(name, octets)| File { name, octets });
    let sources: Vec<File<'_>> = sources.collect();
    import_all(&sources, options).map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_have_a_class_and_a_time() {
        let three = Duration::from_ms(3);
        assert_eq!(deadline("goose=3ms"), Ok((Class::Goose, Some(three))));
        assert_eq!(deadline("sv = none"), Ok((Class::SampledValues, None)));
        for wrong in ["goose", "trip=3ms", "goose=0 s", "goose=3", "goose=-3 ms"] {
            assert!(deadline(wrong).is_err(), "{wrong}");
        }
    }
}
