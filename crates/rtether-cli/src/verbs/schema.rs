//! `schema`: the JSON Schema of files.

use clap::Args;

use crate::exit::Exit;
use crate::terminal;

/// Arguments of `schema`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether schema")]
pub(crate) struct SchemaArgs {
    /// The schema of `shim` configurations instead
    #[arg(long)]
    shim: bool,
}

/// Runs `schema`.
pub(crate) fn run(arguments: &SchemaArgs) -> Exit {
    let schema =
        if arguments.shim { rtether::scenario::shim_schema() } else { rtether::scenario::schema() };
    terminal::print(&format!("{schema:#}\n"))
}
