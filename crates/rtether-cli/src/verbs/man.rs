//! `man`: manual pages.

use clap::Args;

use crate::exit::Exit;
use crate::terminal;

/// Arguments of `man`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether man check")]
pub(crate) struct ManArgs {
    /// The verb, for example `check`
    verb: Option<String>,
}

/// Prints the manual page of the command or of a verb.
pub(crate) fn run(arguments: &ManArgs) -> Exit {
    let mut command = crate::command();
    command.build();
    if let Some(verb) = &arguments.verb {
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
        Err(error) => terminal::fail(&format!("writing the manual page: {error}")),
    }
}
