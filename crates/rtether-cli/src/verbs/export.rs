//! `export`: a plant for another tool.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rtether::export::{Choice, Exported, Target, YAML, export_part, whole};

use crate::exit::Exit;
use crate::files;
use crate::scenario::{Loaded, Overrides, load};
use crate::terminal;

/// Arguments of `export`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct ExportArgs {
    /// Scenario file; `-` for standard input
    pub(crate) scenario: PathBuf,
    /// Tool that is to read it
    #[arg(long, value_name = "TOOL", value_parser = names())]
    pub(crate) to: Reader,
    /// Folder for the files
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// Leave out what takes time between application and port, for tools that know no stations
    #[arg(long)]
    pub(crate) without_stacks: bool,
    /// Leave out flows: name, class or a pattern with `*`; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) without_flows: Vec<String>,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

const NOTES: &str = "Example: rtether export plant.yaml --to tc -o hosts\n\nWhat the tool is not \
told, or told otherwise, is said on standard error. A plant that it cannot express is refused with \
every reason.\n\nExit codes: 0 written, 2 the scenario has mistakes, or the tool cannot express it.";

/// Who is to read it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reader {
    /// This program.
    Own,
    /// Another tool.
    Tool(Target),
}

/// Returns the parser of names of readers.
fn names() -> impl TypedValueParser<Value = Reader> {
    let tools = Target::ALL.map(|(_, name, help)| (name, help));
    let all = tools.into_iter().chain([YAML]);
    let names = all.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(names)
        .map(|name| Target::named(&name).map_or(Reader::Own, Reader::Tool))
}

/// Runs `export`.
pub(crate) fn run(arguments: &ExportArgs) -> Exit {
    let Loaded { scenario, written } = match load(&arguments.scenario, &arguments.overrides) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let choice = Choice {
        without_stacks: arguments.without_stacks,
        without_flows: arguments.without_flows.clone(),
    };
    let exported = match arguments.to {
        Reader::Own => whole(&scenario, &written, &choice),
        Reader::Tool(target) => export_part(&scenario, &choice, target),
    };
    match exported {
        Ok(exported) => write(arguments, &exported),
        Err(reasons) => {
            for reason in &reasons.0 {
                terminal::complain(reason);
            }
            Exit::WrongInput
        }
    }
}

/// Writes the files, or none of them.
fn write(arguments: &ExportArgs, exported: &Exported) -> Exit {
    let folder = match files::make_directory(&arguments.out) {
        Ok(folder) => folder,
        Err(message) => return terminal::fail(&message),
    };
    let paths: Vec<PathBuf> =
        exported.files.iter().map(|(name, _)| arguments.out.join(name)).collect();
    if let Some(there) = paths.iter().find(|path| path.exists() && !arguments.force) {
        let there = there.display();
        terminal::complain(&format!("`{there}` is already there; add --force to replace it"));
        return Exit::WrongInput;
    }
    for (path, (_, text)) in paths.iter().zip(&exported.files) {
        if let Err(message) = files::write(path, text) {
            return terminal::fail(&message);
        }
    }
    folder.keep();
    for note in &exported.notes {
        terminal::remark(&format!("note: {note}"));
    }
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    terminal::remark(&format!("{} written", names.join(", ")));
    Exit::Ok
}
