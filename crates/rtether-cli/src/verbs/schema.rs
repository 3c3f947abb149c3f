//! `schema`: the JSON Schema of files and of results.

use clap::Args;
use rtether::documents::Described;
use serde_json::Value;

use crate::exit::Exit;
use crate::terminal;

/// Arguments of `schema`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether schema --result bound")]
pub(crate) struct SchemaArgs {
    /// The schema of `shim` configurations instead
    #[arg(long)]
    shim: bool,
    /// The schema of profiles of devices instead
    #[arg(long, conflicts_with = "shim")]
    profile: bool,
    /// The schema of a result in JSON instead: `bound` for `rtether.bound/1`; without a name, all
    /// names
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with_all = ["shim", "profile"])]
    #[allow(clippy::option_option, reason = "the name is an option, too")]
    result: Option<Option<String>>,
}

/// Runs `schema`.
pub(crate) fn run(arguments: &SchemaArgs) -> Exit {
    let schema = match &arguments.result {
        None if arguments.shim => rtether::scenario::shim_schema(),
        None if arguments.profile => rtether::scenario::profile_schema(),
        None => rtether::scenario::schema(),
        Some(None) => return terminal::print(&names().map(|name| name + "\n").collect::<String>()),
        Some(Some(name)) => match of_result(name) {
            Some(schema) => schema,
            None => return unknown(name),
        },
    };
    terminal::print(&format!("{schema:#}\n"))
}

/// Returns the schema of a result; `None` if there is none of this name.
fn of_result(name: &str) -> Option<Value> {
    all().find(|one| word(one) == name || one.name == name).map(|one| (one.schema)())
}

fn all() -> impl Iterator<Item = &'static Described> {
    let mut all: Vec<&Described> = rtether::documents::ALL.iter().collect();
    all.extend(rtether_papers::documents::ALL);
    #[cfg(target_os = "linux")]
    all.extend(rtether_testbed::documents::ALL);
    all.sort_by_key(|one| one.name);
    all.into_iter()
}

/// Returns the word of `rtether.WORD/1`.
fn word(of: &Described) -> &'static str {
    let (_, word) = of.name.split_once('.').unwrap_or_default();
    word.split_once('/').map_or(word, |(word, _)| word)
}

fn names() -> impl Iterator<Item = String> {
    all().map(|one| word(one).to_owned())
}

fn unknown(name: &str) -> Exit {
    let names: Vec<String> = names().collect();
    terminal::complain(&format!("no result is named `{name}`; known are {}", names.join(", ")));
    Exit::WrongInput
}
