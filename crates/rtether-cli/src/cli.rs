//! The definition of the command line.

use std::fmt::Write;

use clap::builder::Styles;
use clap::{Command, CommandFactory, Parser};

use crate::terminal::ColorChoice;
use crate::verbs::Verb;

/// Know, prove, measure and control application-to-application delay over Ethernet.
#[derive(Debug, Parser)]
#[command(name = "rtether", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// When to use colors; `auto` respects pipes and the variable `NO_COLOR`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// Tell on standard error what is done and when: files, seeds, phases
    ///
    /// Times count from the start of the command. Left out if messages are JSON.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

const EXIT_CODES: &str = "Exit codes: 0 every requirement holds, 1 one does not, 2 wrong input \
(also one that cannot be read), 3 no answer, 4 the machine cannot do it (a file cannot be written), 5 a simulated delay exceeds its proved bound (please report it), or a measured one does with the host inside its stated profile, 130 interrupted.";

/// Groups of verbs in the help.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Plan",
        &[
            "check", "sim", "why", "bound", "admit", "design", "judge", "limit", "compare",
            "sweep", "diff",
        ],
    ),
    (
        "Measure",
        &["live", "watch", "ping", "echo", "identify", "profile", "load", "calibrate", "doctor"],
    ),
    ("Run", &["shim"]),
    ("Publish and subscribe", &["pub", "sub", "spy", "manager"]),
    ("Tools", &["new", "import", "export", "schema", "reproduce", "volume", "completions", "man"]),
];

/// Returns the definition of the command, with its verbs in groups.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let verbs = listing(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{verbs}\n{}\n{{options}}{{after-help}}\n",
        heading("Options")
    ))
}

fn heading(text: &str) -> String {
    let style = Styles::styled();
    let style = style.get_header();
    format!("{style}{text}:{style:#}")
}

/// Lists the verbs of each group with what they do. A verb that this system does not have is left
/// out.
fn listing(command: &Command) -> String {
    let mut text = String::new();
    let styles = Styles::styled();
    let literal = styles.get_literal();
    for (group, names) in GROUPS {
        let verbs = names.iter().filter_map(|name| command.find_subcommand(name));
        let lines: Vec<String> = verbs
            .map(|verb| {
                let about = verb.get_about().map(ToString::to_string);
                let about = about.unwrap_or_default();
                format!("  {literal}{:<11}{literal:#}  {about}\n", verb.get_name())
            })
            .collect();
        if !lines.is_empty() {
            _ = write!(text, "\n{}\n{}", heading(group), lines.concat());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verbs shown in the help, with those below them.
    fn shown<'a>(command: &'a Command, path: &str, found: &mut Vec<(String, &'a Command)>) {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let path = format!("{path} {}", verb.get_name());
            shown(verb, &path, found);
            found.push((path, verb));
        }
    }

    /// Oracle: the verbs that clap knows.
    #[test]
    fn each_verb_is_in_one_group() {
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        let command = command();
        let all = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut all: Vec<&str> = all.map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    /// Oracle: a text file, whose last line ends too (POSIX.1-2017, 3.206).
    #[test]
    fn each_help_ends_with_one_line_end() {
        let mut command = command();
        let mut verbs = vec![("rtether".to_owned(), command.render_help())];
        for verb in command.get_subcommands_mut() {
            verbs.push((verb.get_name().to_owned(), verb.render_help()));
        }
        for (verb, help) in verbs {
            let help = help.to_string();
            let is_one = help.ends_with('\n') && !help.ends_with("\n\n");
            assert!(is_one, "{verb}: {help:?}");
        }
    }

    /// Oracle: the width of the least terminal.
    #[test]
    fn each_verb_takes_one_line() {
        for line in
            command().render_help().to_string().lines().take_while(|line| *line != "Options:")
        {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    /// Oracle: clap.
    #[test]
    fn each_verb_has_an_example_that_parses() {
        let command = crate::command();
        let mut verbs = Vec::new();
        shown(&command, "rtether", &mut verbs);
        for (path, verb) in verbs {
            let notes = verb.get_after_help().map(ToString::to_string);
            let notes = notes.unwrap_or_default();
            let example = notes.lines().find_map(|line| line.strip_prefix("Example: "));
            let example = example.unwrap_or_else(|| panic!("{path} has no example"));
            assert!(example.starts_with(&path), "{path}: {example}");
            // As a shell does: what stands in quotes is one word.
            let mut is_quoted = false;
            let words = example.split(|sign| {
                is_quoted ^= sign == '\'';
                sign == ' ' && !is_quoted
            });
            let words = words.map(|word| word.replace('\'', ""));
            let parsed = command.clone().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{example}: {parsed:?}");
        }
    }
}
