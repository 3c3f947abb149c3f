//! Upkeep of the workspace: `cargo xtask <command>`.
//!
//! One entry point for people and for continuous integration; see `CONTRIBUTING.md`. It uses no
//! crate of the workspace as a library: what it needs to know of the product it asks the `rtether`
//! command.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for people: its output is its purpose"
)]

mod args;
mod bare_root;
mod book;
mod c_library;
mod child;
mod dist;
mod finding;
mod generate;
mod house;
mod interop;
mod needs;
mod part;
mod playground;
mod profile;
mod program;
mod record;
mod repo;
mod requirements;
mod test;
mod tidy;
mod upkeep;
mod wheel;

use std::process::ExitCode;

use args::Command;
use repo::Repo;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(mistake) => {
            eprintln!("error: {mistake}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(command) {
        _ if child::is_interrupted() => ExitCode::from(130),
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command; `false` means that it ran and found a failure.
fn run(command: Command) -> anyhow::Result<bool> {
    if command == Command::Help {
        println!("{}", args::USAGE);
        return Ok(true);
    }
    let repo = Repo::find()?;
    match command {
        Command::Help => Ok(true),
        Command::Test(options) => test::run(&repo, &options),
        Command::BareRoot { command } => bare_root(&repo, &command),
        Command::Tidy => tidy::run(&repo, true),
        Command::House { revision } => house::run(&repo, revision.as_deref()),
        Command::Generate => generate::write(&repo),
        Command::Interop { suite } => interop::run(&repo, suite.as_ref()),
        Command::CLibrary { folder } => c_library::run(&repo, folder.as_deref()),
        Command::Book { folder } => book::run(&repo, folder.as_deref()),
        Command::Playground { folder } => playground::run(&repo, folder.as_deref()),
        Command::Profile => profile::run(&repo),
        Command::Wheel(options) => wheel::run(&repo, &options),
        Command::Dist(options) => dist::run(&repo, &options),
        Command::Bless => upkeep::bless(&repo),
        Command::Bench { rest } => upkeep::bench(&repo, &rest),
        Command::Compare { revision } => upkeep::compare(&repo, &revision),
        Command::Fuzz { seconds } => upkeep::fuzz(&repo, seconds),
    }
}

/// Runs a command in a bare root; an error if that is not possible here.
fn bare_root(repo: &Repo, command: &[String]) -> anyhow::Result<bool> {
    child::heed_signals()?;
    match bare_root::run(repo, &[], command)? {
        bare_root::Outcome::Ended(is_good, _) => Ok(is_good),
        bare_root::Outcome::Skipped(reason) => anyhow::bail!("{reason}"),
    }
}
