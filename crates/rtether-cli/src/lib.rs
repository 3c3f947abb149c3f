//! The command line of rtether: arguments in, text and exit code out.
//!
//! Data goes to standard output, everything else to standard error. Anything useful to a user of
//! the library belongs in the library, not here.

mod admit;
#[cfg(target_os = "linux")]
mod agent;
mod args;
#[cfg(target_os = "linux")]
mod awake;
mod bound;
#[cfg(target_os = "linux")]
mod calibrate;
mod check;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod doctor;
mod drafts;
mod exit;
mod files;
mod folder;
mod limit;
mod live;
#[cfg(target_os = "linux")]
mod load;
mod new;
mod outputs;
#[cfg(target_os = "linux")]
mod ping;
mod progress;
mod reproduce;
mod scenario;
#[cfg(target_os = "linux")]
mod shim;
mod stop;
mod terminal;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
mod topic;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Verb};
use exit::Exit;

/// Runs the command with these arguments; the first is its own name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors; clap knows the right stream.
            let exit = if error.use_stderr() {
                Exit::WrongInput
            } else {
                Exit::Ok
            };
            let printed = terminal::is_written(error.print());
            return if exit == Exit::Ok { printed } else { exit }.into();
        }
    };
    let global = &cli.global();
    if listens(&cli.verb)
        && let Err(exit) = stop::listen()
    {
        return exit.into();
    }
    let exit = match &cli.verb {
        Verb::Check(arguments) => check::run(arguments, global),
        Verb::Sim(arguments) => check::sim(arguments, global),
        Verb::Bound(arguments) => bound::run(arguments, global),
        Verb::Admit(arguments) => admit::run(arguments, global),
        Verb::Limit(arguments) => limit::run(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::Ping(arguments) => ping::ping(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::Echo(arguments) => ping::echo(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::Pub(arguments) => topic::publish(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::Sub(arguments) => topic::subscribe(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::Spy(arguments) => topic::spy(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::Live(arguments) => testbed::run(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::LiveAgent => agent::run(),
        #[cfg(target_os = "linux")]
        Verb::Load(arguments) => load::run(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::Calibrate(arguments) => calibrate::run(arguments, global),
        #[cfg(target_os = "linux")]
        Verb::Doctor(arguments) => doctor::run(arguments, global),
        Verb::New(arguments) => new::run(arguments),
        #[cfg(target_os = "linux")]
        Verb::Shim(arguments) => shim::run(arguments, global),
        Verb::Schema { shim } => {
            let schema = if *shim {
                rtether::scenario::shim_schema()
            } else {
                rtether::scenario::schema()
            };
            terminal::print(&format!("{schema:#}\n"))
        }
        Verb::Reproduce(arguments) => reproduce::run(arguments, global),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "rtether", &mut script);
            terminal::print(&String::from_utf8_lossy(&script))
        }
        Verb::Man { verb } => man(verb.as_deref()),
    };
    exit.into()
}

/// Returns whether this crate handles signals. A shim ends in its own way; an agent ends with its
/// coordinator.
#[cfg_attr(
    not(target_os = "linux"),
    allow(unused_variables, reason = "both are of Linux")
)]
const fn listens(verb: &Verb) -> bool {
    #[cfg(target_os = "linux")]
    let is_own = matches!(verb, Verb::Shim(_) | Verb::LiveAgent);
    #[cfg(not(target_os = "linux"))]
    let is_own = false;
    !is_own
}

/// Prints the manual page of the command or of a verb.
fn man(verb: Option<&str>) -> Exit {
    let mut command = Cli::command();
    command.build();
    if let Some(verb) = verb {
        let Some(found) = command.find_subcommand(verb) else {
            let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
            let names = verbs.map(clap::Command::get_name);
            let names: Vec<&str> = names.collect();
            let names = names.join(", ");
            terminal::complain(&format!("no verb `{verb}`; there are {names}"));
            return Exit::WrongInput;
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    match clap_mangen::Man::new(command).render(&mut page) {
        Ok(()) => terminal::print(&String::from_utf8_lossy(&page)),
        Err(error) => exit::fail(&format!("writing the manual page: {error}")),
    }
}

/// Returns the definition of the command, for generated pages.
pub fn command() -> clap::Command {
    Cli::command()
}
