//! `new`: writes a commented scenario.

use std::path::PathBuf;

use rtether::scenario::template::{Template, template};

use crate::args::NewArgs;
use crate::exit::{self, Exit};
use crate::{files, terminal};

/// Runs `new`.
pub(crate) fn run(arguments: &NewArgs) -> Exit {
    let shape = || PathBuf::from(&arguments.template);
    let mut path = arguments.name.clone().unwrap_or_else(shape);
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
            let path = path.display();
            terminal::tell(&format!("{path} written; try `rtether check {path}`"));
            Exit::Ok
        }
        Err(message) => exit::fail(&message),
    }
}
