//! The command line of rtether: arguments in, text and exit code out.
//!
//! Data goes to standard output, everything else to standard error. Anything useful to a user of
//! the library belongs in the library, not here.
//!
//! # Modules
//!
//! The `rtether` command: flags, progress, rendering, exit codes.
//!
//! `verbs` has one module for each verb, with its arguments and its work; those in `verbs::host`
//! need Linux, and `no_host` stands in for them elsewhere.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "verbs on a host use more of the helpers")
)]

mod cli;
mod deferred;
mod drafts;
mod exit;
mod files;
mod folder;
mod format;
mod guess;
mod number;
mod outputs;
mod progress;
mod scenario;
mod stop;
mod terminal;
mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;

use cli::Cli;
use exit::Exit;

/// Runs the command with these arguments; the first is its own name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    code(args).into()
}

/// Like [`run`], with the exit code as a number, for hosts that end a process in their own way.
pub fn code(args: impl IntoIterator<Item = OsString>) -> u8 {
    outcome(args).code()
}

fn outcome(args: impl IntoIterator<Item = OsString>) -> Exit {
    terminal::note_closed(verbs::host::is_output_closed());
    let args: Vec<OsString> = args.into_iter().collect();
    // To read arguments takes milliseconds, in which a signal would end the program by itself.
    let may_handle = |word: &OsString| verbs::host::HANDLES_SIGNALS.iter().any(|name| word == name);
    if !args.iter().any(may_handle)
        && let Err(exit) = stop::listen()
    {
        return exit;
    }
    let parsed = cli::command().try_get_matches_from(args);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(mut error) => {
            guess::lead(&mut error, &cli::command());
            // Help and version are not errors; clap knows the right stream.
            let exit = if error.use_stderr() { Exit::WrongInput } else { Exit::Ok };
            let printed = terminal::is_written(error.print());
            return if exit == Exit::Ok { printed } else { exit };
        }
    };
    terminal::choose_color(cli.color);
    if cli.verbose {
        terminal::choose_verbose();
    }
    if !cli.verb.handles_signals()
        && let Err(exit) = stop::listen()
    {
        return exit;
    }
    cli.verb.run()
}

/// Returns the definition of the command, for generated pages.
pub fn command() -> clap::Command {
    deferred::whole(cli::command)
}
