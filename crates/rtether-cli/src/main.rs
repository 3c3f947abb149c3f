//! The `rtether` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    rtether_cli::run(std::env::args_os())
}
