//! `completions`: completion scripts for shells.

use clap::Args;

use crate::exit::Exit;
use crate::terminal;

/// Arguments of `completions`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether completions bash")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Runs `completions`.
pub(crate) fn run(arguments: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut crate::command(),
        "rtether",
        &mut script,
    );
    terminal::print(&String::from_utf8_lossy(&script))
}
