//! What shells complete, asked of the shells themselves. Oracles: the templates, verbs, experiments and
//! methods that the command lists or takes.

use std::process::Command;

use rtether_testkit::{Ended, Folder, Run, skip};

use super::rtether;

/// What is typed, and words that are then offered.
const TYPED: [(&str, &[&str]); 6] = [
    ("new --template ", &["line", "ring", "substation", "ros2"]),
    ("help ", &["check", "bound", "spy", "reproduce"]),
    ("reproduce ske", &["skeie-volume", "skeie-bounds"]),
    ("bound --methods ", &["all", "total-flow"]),
    ("compare --access ", &["csma-cd", "tdma"]),
    ("export --to ", &["inet", "saihu", "tc"]),
];

/// Completes by the function that the script defines, as bash does.
const BASH: &str = "source ./script
COMP_WORDS=(rtether $1)
[[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_rtether rtether \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\" 2> /dev/null
printf '%s\\n' \"${COMPREPLY[@]}\"
";

const FISH: &str = "source ./script
complete -C \"rtether $argv[1]\" | string replace -r '\\t.*' ''
";

/// Types the line into an interactive shell, in which completion prints what it would add.
const ZSH: &str = r#"zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1= PROMPT2= RPS1= COLUMNS=400; stty -echo -onlcr; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D'
zpty -w z 'compadd () {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
  typeset -a hits
  builtin compadd -A hits "$@"
  print -l -- word:${^hits}
}'
zpty -w z 'done-now () { print the-end }; zle -N done-now; bindkey "^I" complete-word; bindkey "^O" done-now; print ready-$((40 + 2))'
zpty -r -m z reply '*ready-42*'
zpty -w -n z "rtether $1"$'\t\x0f'
zpty -r -m z reply '*the-end*'
print -r -- $reply
zpty -d z
"#;

/// Returns the words that a shell offers.
fn offered(shell: &str, folder: &Folder, typed: &str) -> Vec<String> {
    let script = match shell {
        "bash" => BASH,
        "fish" => FISH,
        _ => ZSH,
    };
    folder.write("ask", script);
    let mut command = Command::new(shell);
    if shell == "zsh" {
        command.arg("-f");
    }
    command.args(["./ask", typed]).current_dir(folder.path());
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let ended: Ended = command.env("PATH", path).env("HOME", folder.path()).run();
    let lines =
        ended.out.lines().filter_map(|line| line.trim().rsplit("word:").next().map(str::to_owned));
    let words: Vec<String> = lines.collect();
    assert!(!words.is_empty(), "{shell}, {typed}: {}", ended.err);
    words
}

#[test]
fn each_shell_offers_values() {
    for shell in ["bash", "zsh", "fish"] {
        if Command::new(shell).arg("--version").output().is_err() {
            skip(&format!("needs {shell}"));
            continue;
        }
        let folder = Folder::new("completions");
        let script = rtether().args(["completions", shell]).run();
        folder.write("script", &script.out);
        folder.write("_rtether", &script.out);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rtether"), folder.file("rtether")).unwrap();
        for (typed, expected) in TYPED {
            let words = offered(shell, &folder, typed);
            for word in expected {
                assert!(words.iter().any(|own| own == word), "{shell}, {typed}: {words:?}");
            }
        }
    }
}
