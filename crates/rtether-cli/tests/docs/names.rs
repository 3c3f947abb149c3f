//! Verbs and options named on pages, even where nothing is run.

use crate::page::{Page, commands};

/// Returns the verbs and options that do not exist.
pub(crate) fn check(page: &Page) -> Vec<String> {
    let mut spoken: Vec<(usize, String)> = Vec::new();
    let mut inside = vec![false; page.lines.len()];
    for block in &page.blocks {
        for line in block.lines.clone() {
            inside[line] = true;
        }
        if block.language == "sh" {
            let commands = commands(&page.text(block)).into_iter();
            spoken.extend(commands.map(|command| (block.lines.start, command)));
        }
    }
    for (index, line) in page.lines.iter().enumerate() {
        if !inside[index] && !line.starts_with("```") {
            let code = line.split('`').skip(1).step_by(2);
            spoken.extend(code.map(|code| (index, code.to_owned())));
        }
    }
    let mistakes = spoken.iter().filter_map(|(line, command)| {
        let mistake = wrong(command)?;
        Some(format!("{}:{}: {mistake}", page.path, line + 1))
    });
    mistakes.collect()
}

/// Returns what is wrong with a command, if it is one of ours.
fn wrong(command: &str) -> Option<String> {
    let command = command.split(" # ").next()?.replace("\\\n", " ");
    let start = command.find("rtether ").filter(|&at| at == 0 || command[..at].ends_with(' '))?;
    let words: Vec<&str> = command[start..].split_whitespace().skip(1).collect();
    let ours = rtether_cli::command();
    let mut at = &ours;
    let mut named = String::from("rtether");
    for word in &words {
        let Some(found) = at.find_subcommand(word) else {
            break;
        };
        at = found;
        named = format!("{named} {word}");
    }
    if named == "rtether" {
        let verb = words.first().filter(|word| !word.starts_with('-'))?;
        let is_verb = verb.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        return is_verb.then(|| format!("there is no `rtether {verb}`"));
    }
    let options = words.iter().filter_map(|word| word.strip_prefix("--"));
    let names: Vec<&str> = options
        .map(|option| option.split(['=', ',', ')']).next().unwrap_or_default())
        .filter(|option| {
            !option.is_empty() && option.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        })
        .collect();
    let mut known = at.get_arguments().chain(ours.get_arguments()).collect::<Vec<_>>();
    known.retain(|argument| argument.get_long().is_some());
    let unknown = names.iter().find(|name| {
        let is_common = **name == "help" || **name == "version";
        !is_common && !known.iter().any(|argument| argument.get_long() == Some(**name))
    });
    unknown.map(|name| format!("`{named}` has no option `--{name}`"))
}
