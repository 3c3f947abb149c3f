//! Words that people try, and the verbs that do what they mean.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, Error};

/// Verbs, and the words that other tools have for what they do.
const WORDS: [(&str, &[&str]); 16] = [
    ("admit", &["accept", "add", "reserve"]),
    ("bound", &["bounds", "calculus", "proof", "prove", "rta", "wcrt"]),
    ("check", &["analyse", "analyze", "run", "start", "test", "validate", "verdict", "verify"]),
    ("completions", &["completion"]),
    ("diff", &["changes", "delta"]),
    ("doctor", &["diagnose", "host", "tune"]),
    ("echo", &["reflect", "serve", "server"]),
    ("export", &["convert", "write"]),
    ("import", &["parse", "read", "scl"]),
    ("new", &["create", "demo", "example", "init", "template"]),
    ("ping", &["latency", "measure", "rtt"]),
    ("pub", &["publish"]),
    ("sim", &["simulate", "simulation"]),
    ("sub", &["subscribe"]),
    ("watch", &["capture", "monitor", "record", "sniff"]),
    ("why", &["blame", "debug", "explain", "trace"]),
];

/// Tells in a message about an unknown verb which one does that.
pub(crate) fn lead(error: &mut Error, command: &Command) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let Some(tip) = tip(&word.to_lowercase(), command) else {
        return;
    };
    // Verbs that are only spelled alike would be named beside it.
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
}

fn tip(word: &str, command: &Command) -> Option<String> {
    if word == "version" {
        return Some("`rtether --version` prints it".to_owned());
    }
    let (verb, _) = WORDS.iter().find(|(_, words)| words.contains(&word))?;
    // Those that need Linux are not there elsewhere.
    let verb = command.find_subcommand(verb)?;
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    Some(format!("try `rtether {}`: {about}", verb.get_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the definition of the command.
    #[test]
    fn each_word_leads_to_a_verb_and_is_none() {
        let command = crate::cli::command();
        for (verb, words) in WORDS {
            let is_here = command.find_subcommand(verb).is_some();
            assert!(is_here || !cfg!(target_os = "linux"), "{verb}");
            for word in words {
                assert!(command.find_subcommand(word).is_none(), "{word} is a verb");
            }
        }
    }

    /// Oracle: by eye.
    #[test]
    fn a_message_names_the_verb() {
        for (word, tip) in [
            ("simulate", "tip: try `rtether sim`: Simulate a scenario without proofs"),
            ("Run", "tip: try `rtether check`: Judge every flow"),
            ("init", "tip: try `rtether new`: Write a commented scenario"),
            ("version", "tip: `rtether --version` prints it"),
            ("chek", "'check'"),
        ] {
            let command = crate::cli::command();
            let parsed = command.clone().try_get_matches_from(["rtether", word]);
            let mut error = parsed.expect_err("no verb");
            lead(&mut error, &command);
            let text = error.to_string();
            assert!(text.contains(tip), "{text}");
            assert_eq!(text.matches("tip:").count(), 1, "{text}");
        }
    }
}
