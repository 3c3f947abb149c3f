//! `completions`: completion scripts for shells.

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::Shell;
use rtether::compare::Candidate;
use rtether::scenario::template::Template;

use crate::exit::Exit;
use crate::terminal;

/// Arguments of `completions`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether completions bash")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Returns what the script for fish lacks: the verbs behind `help`, and values of arguments without an
/// option.
fn of_fish(command: &Command) -> String {
    let verbs = || command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let line = |verb: &str, words: Vec<String>| {
        let words = words.join(" ");
        format!(
            "complete -c rtether -n \"__fish_rtether_using_subcommand {verb}\" -f -a \"{words}\"\n"
        )
    };
    let names = verbs().map(|verb| verb.get_name().to_owned()).collect();
    let values = verbs().flat_map(|verb| {
        verb.get_positionals().filter_map(move |own| {
            let values = own.get_possible_values();
            let words: Vec<String> = values.iter().map(|one| one.get_name().to_owned()).collect();
            (!words.is_empty()).then(|| line(verb.get_name(), words))
        })
    });
    line("help", names) + &values.collect::<String>()
}

/// Adds the values of arguments that a verb reads itself, with a message of its own for a wrong one.
fn with_values(command: Command) -> Command {
    let of = |command: Command, verb: &'static str, argument: &'static str, values: Values| {
        let values = PossibleValuesParser::new(values);
        command.mut_subcommand(verb, |verb| verb.mut_arg(argument, |own| own.value_parser(values)))
    };
    let templates = Template::ALL.iter().map(|own| own.name());
    let command = of(command, "new", "template", templates.chain(["ros2"]).collect());
    let schemes = Candidate::all();
    let schemes = schemes.iter().map(|own| own.name());
    let command = of(command, "compare", "access", schemes.chain(["all"]).collect());
    let experiments = rtether_papers::list().into_iter();
    let experiments = experiments.filter(|(_, is_available)| *is_available);
    // The definition of a command keeps its words for ever.
    let experiments = experiments.map(|(own, _)| &*own.id.leak());
    of(command, "reproduce", "experiments", experiments.chain(["all"]).collect())
}

/// Words that complete an argument.
type Values = Vec<&'static str>;

/// Runs `completions`.
pub(crate) fn run(arguments: &CompletionsArgs) -> Exit {
    let (mut script, mut command) = (Vec::new(), with_values(crate::command()));
    clap_complete::generate(arguments.shell, &mut command, "rtether", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if arguments.shell == Shell::Fish {
        script.push_str(&of_fish(&command));
    }
    terminal::print(&script)
}
