//! Publishes or subscribes to colored shapes, with an option for each policy: the program that the
//! interoperability suite of the OMG runs in pairs, `docs/models/rtps-suite.md`.
//!
//! ```sh
//! cargo run --release -p rtether-live --example shape_main -- -S -t Square
//! ```
//!
//! Exit codes: 0 success, 1 wrong command line, 2 start failed, 3 failed while running.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example for the terminal")]

mod keep;
mod options;
mod policies;
mod print;
mod publish;
mod session;
mod subscribe;

use std::process::ExitCode;

use options::{Command, Options, Role, USAGE};

/// Why a run ends early.
enum Failure {
    /// It could not start.
    Begin(String),
    /// It failed while running.
    Run(String),
}

impl Failure {
    fn begin(error: impl std::fmt::Display) -> Self {
        Self::Begin(error.to_string())
    }

    fn run(error: impl std::fmt::Display) -> Self {
        Self::Run(error.to_string())
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Ok(Command::Run(options)) => options,
        Err(mistake) => {
            eprintln!("{mistake}\n\n{USAGE}");
            return ExitCode::from(1);
        }
    };
    if let Some(lacking) = options.lacking() {
        print::line(format_args!("not supported: {lacking}"));
        return ExitCode::from(2);
    }
    let done = match options.role {
        Role::Publish => publish::run(&options),
        Role::Subscribe => subscribe::run(&options),
    };
    match done {
        Ok(()) => {
            print::line(format_args!("Done."));
            ExitCode::SUCCESS
        }
        Err(Failure::Begin(error)) => {
            print::line(format_args!("{error}"));
            ExitCode::from(2)
        }
        Err(Failure::Run(error)) => {
            print::line(format_args!("{error}"));
            ExitCode::from(3)
        }
    }
}
