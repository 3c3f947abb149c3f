//! Arguments that are defined when their verb is called: defining those of all verbs took half the
//! time of `rtether --version`.

use std::cell::Cell;
use std::ops::Deref;

use clap::builder::{Resettable, StyledStr};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

thread_local! {
    static IS_WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// Returns what `define` defines, with the arguments of all verbs: for pages about them.
pub(crate) fn whole(define: fn() -> Command) -> Command {
    IS_WHOLE.set(true);
    let command = define();
    IS_WHOLE.set(false);
    command
}

/// Arguments that [`clap`] learns of when it meets their verb.
#[derive(Debug)]
pub(crate) struct Deferred<T>(T);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        if IS_WHOLE.get() {
            return T::augment_args(command);
        }
        command.defer(|command| with_own_words(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Defines arguments, and keeps what the verb says of itself: their type has words of its own.
fn with_own_words(command: Command, define: fn(Command) -> Command) -> Command {
    let kept =
        |words: Option<&StyledStr>| words.cloned().map_or(Resettable::Reset, Resettable::Value);
    let about = kept(command.get_about());
    let long_about = kept(command.get_long_about());
    define(command).about(about).long_about(long_about)
}

#[cfg(test)]
mod tests {
    use crate::{cli, command};

    /// Oracle: the definition with the arguments of all verbs.
    #[test]
    fn a_verb_met_late_says_what_it_would_have_said() {
        let mut late = cli::command();
        late.build();
        let mut early = command();
        early.build();
        for verb in early.get_subcommands_mut() {
            let name = verb.get_name().to_owned();
            let own = late.find_subcommand_mut(&name).expect("both have it");
            let (long, short) = (own.render_long_help(), own.render_help());
            assert_eq!(long.ansi().to_string(), verb.render_long_help().ansi().to_string());
            assert_eq!(short.ansi().to_string(), verb.render_help().ansi().to_string());
        }
    }
}
