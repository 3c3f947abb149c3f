//! `import`: makes a scenario of another tool's file.

use std::path::{Path, PathBuf};

use clap::Args;
use rtether::against::against;
use rtether::import::{
    Class, Columns, Duration, File, Frequency, ImportError, Imported, Options, Plan, Source,
    import_all, import_captures, is_capture,
};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::scenario;

use super::new::as_argument;
use crate::drafts;
use crate::exit::Exit;
use crate::files::Input;
use crate::format::FormatArgs;
use crate::scenario::{Overrides, load};
use crate::terminal;

/// Arguments of `import`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct ImportArgs {
    /// File of IEC 61850 SCL (SCD, CID, ICD), a list of flows as CSV, alone or with a list of links,
    /// or captures (pcap, pcapng, also in gzip); `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Scenario to write; standard output if not given
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing scenario
    #[arg(long)]
    pub(crate) force: bool,
    /// Nominal frequency of the power system, for sampled values [default: 50 Hz]
    #[arg(long, value_name = "HZ", value_parser = Frequency::parse)]
    pub(crate) frequency: Option<Frequency>,
    /// Deadline of a class of flows, or `none`; may be given several times [default: goose=3ms
    /// heartbeat=none sv=3ms sporadic=none bulk=none, and the period for periodic]
    #[arg(long, value_name = "CLASS=TIME", value_parser = deadline)]
    pub(crate) deadline: Vec<Deadline>,
    /// Titles of the columns of a list of flows, and the unit of times [default: those of tsnkit,
    /// from=src,to=dst,size=size,period=period:ns,deadline=deadline:ns]
    #[arg(long, value_name = "NAME=TITLE,...", value_parser = Columns::parse)]
    pub(crate) columns: Option<Columns>,
    /// Compare with a plan, flow by flow, in place of printing the scenario
    #[arg(long, value_name = "SCENARIO")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const NOTES: &str = "Example: rtether import plant.scd -o plant.yaml\n\nWhat the file does not say \
is a comment on its line of the scenario, and in --json. Without -o the scenario is printed, and \
findings go to standard error.\n\nExit codes: 0 imported, 1 it deviates from the plan of \
--against, 2 the file cannot be imported.";

/// A class and its deadline.
type Deadline = (Class, Option<Duration>);

/// Reads `goose=3ms`, `sv=none`.
fn deadline(text: &str) -> Result<Deadline, String> {
    let (class, time) = text
        .split_once('=')
        .ok_or("write a class and a time, for example goose=3ms")?;
    let class = Class::parse(class.trim())?;
    match time.trim() {
        "none" => Ok((class, None)),
        time => match scenario::time(time)? {
            span if span.as_ps() > 0 => Ok((class, Some(span))),
            _ => Err("write a time above zero, or none".into()),
        },
    }
}

/// Runs `import`.
pub(crate) fn run(arguments: &ImportArgs) -> Exit {
    let plan = match read(arguments) {
        Ok(plan) => plan,
        Err(exit) => return exit,
    };
    let files: Vec<String> = arguments
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let file = files.join(", ");
    let imported = Imported {
        file: &file,
        plan: &plan,
    };
    if let Some(planned) = &arguments.against {
        return compare(planned, &plan, arguments);
    }
    match &arguments.out {
        Some(out) => {
            let printed = arguments.format.print(&imported);
            let command = format!("rtether check {}", as_argument(out));
            terminal::remark(&format!("{} written; try `{command}`", out.display()));
            printed
        }
        None if arguments.format.format() == Format::Table => {
            terminal::remark(&imported.render(Format::Table, Screen::default()));
            terminal::print(&plan.scenario)
        }
        None => arguments.format.print(&imported),
    }
}

/// Compares what was imported with a plan.
fn compare(planned: &Path, seen: &Plan, arguments: &ImportArgs) -> Exit {
    let planned = match load(planned, &Overrides::default()) {
        Ok(loaded) => loaded.scenario,
        Err(exit) => return exit,
    };
    let seen = match scenario::load("imported", &seen.scenario).into_scenario() {
        Ok(seen) => seen,
        Err(words) => {
            return terminal::fail(&format!("what was imported is no scenario: {words}"));
        }
    };
    let found = against(&planned, &seen);
    let printed = arguments.format.print(&found);
    if printed == Exit::Ok && found.deviates() {
        Exit::Failed
    } else {
        printed
    }
}

/// Reads the file and writes the scenario; an error has been printed.
fn read(arguments: &ImportArgs) -> Result<Plan, Exit> {
    let complain = |message: &str| {
        terminal::complain(message);
        Exit::WrongInput
    };
    if let Some(out) = arguments.out.as_deref().filter(|_| !arguments.force)
        && out.is_file()
    {
        let out = out.display();
        return Err(complain(&format!(
            "`{out}` is already there; add --force to replace it"
        )));
    }
    let first = arguments
        .files
        .first()
        .map_or(Path::new("-"), PathBuf::as_path);
    let others = arguments.files.iter().skip(1).cloned();
    let apart: Vec<(&str, PathBuf)> = others.map(|other| ("FILE", other)).collect();
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
    let plan = plan(inputs, &options).map_err(|message| complain(&message))?;
    if let Some(draft) = draft {
        draft
            .write(&plan.scenario)
            .map_err(|message| terminal::fail(&message))?;
    }
    Ok(plan)
}

/// Imports files: captures piece by piece, since they may be larger than memory.
fn plan(inputs: Vec<(String, Input<'_>)>, options: &Options) -> Result<Plan, String> {
    let text = |error: ImportError| error.to_string();
    let mut contents = Vec::new();
    let first = inputs.first();
    if first.is_some_and(|(_, input)| is_capture(&input.head)) {
        let sources = inputs.into_iter().map(|(name, input)| Source {
            name,
            reader: input.stream(),
        });
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
