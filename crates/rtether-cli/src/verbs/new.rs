//! `new`: writes a commented scenario.

use std::path::{Path, PathBuf};

use clap::Args;
use rtether::characters::is_unseen;
use rtether::scenario::template::{Template, template};

use crate::exit::Exit;
use crate::{files, terminal};

/// Arguments of `new`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether new plant --template ring")]
pub(crate) struct NewArgs {
    /// File to write; .yaml is added to a name without extension [default: the shape]
    pub(crate) name: Option<PathBuf>,
    /// Shape of the plant: line, star, ring, substation or hub
    #[arg(long, value_name = "SHAPE", default_value = "star")]
    pub(crate) template: String,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Runs `new`.
pub(crate) fn run(arguments: &NewArgs) -> Exit {
    let shape = || PathBuf::from(&arguments.template);
    let mut path = arguments.name.clone().unwrap_or_else(shape);
    if path.to_string_lossy().chars().any(is_unseen) {
        terminal::complain("the file name contains invisible characters");
        return Exit::WrongInput;
    }
    if path.extension().is_none() {
        path.set_extension("yaml");
    }
    let title = path
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let text = match Template::parse(&arguments.template) {
        Ok(shape) => template(shape, &title),
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    if path.exists() && !arguments.force {
        let path = path.display();
        terminal::complain(&format!(
            "`{path}` is already there; add --force to replace it"
        ));
        return Exit::WrongInput;
    }
    match files::write(&path, &text) {
        Ok(()) => {
            let command = format!("rtether check {}", as_argument(&path));
            terminal::tell(&format!("{} written; try `{command}`", path.display()));
            Exit::Ok
        }
        Err(message) => terminal::fail(&message),
    }
}

/// Returns a path quoted for a shell, as one argument that is not a flag.
pub(super) fn as_argument(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if text.starts_with('-') {
        format!("./{text}")
    } else {
        text.into_owned()
    };
    let is_plain = |c: char| c.is_alphanumeric() || "./_-+,:@%".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the rules of quoting of a POSIX shell.
    #[test]
    fn hints_can_be_pasted() {
        for (path, argument) in [
            ("plant.yaml", "plant.yaml"),
            ("a/b c.yaml", "'a/b c.yaml'"),
            ("-x.yaml", "./-x.yaml"),
            ("it's.yaml", "'it'\\''s.yaml'"),
            ("$HOME;#.yaml", "'$HOME;#.yaml'"),
        ] {
            assert_eq!(as_argument(Path::new(path)), argument);
        }
    }
}
