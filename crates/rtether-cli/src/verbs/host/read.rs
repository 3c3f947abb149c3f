//! Files of types and values, and mistakes in them.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use rtether::scenario::render::{self, Style};
use rtether::scenario::{Diagnostic, Source};

use crate::exit::Exit;
use crate::terminal;

/// Complains of a wrong input.
pub(super) fn wrong(message: &str) -> Exit {
    terminal::complain(message);
    Exit::WrongInput
}

/// Reads a file of limited size.
pub(super) fn read(path: &Path, max: usize) -> Result<String, Exit> {
    let limit = u64::try_from(max).unwrap_or(u64::MAX) + 1;
    let mut text = String::new();
    let read = fs::File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text));
    let path = path.display();
    match read {
        Ok(_) if text.len() > max => Err(wrong(&format!("{path} has more than {max} octets"))),
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(wrong(&format!("{path} is not UTF-8; convert it, for example by `iconv -t utf-8`")))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(wrong(&format!("there is no file {path}")))
        }
        Err(error) => Err(wrong(&format!("reading {path}: {}", error.kind()))),
    }
}

/// Shows a mistake in files.
pub(super) fn complain(mistake: &Diagnostic, sources: &[Source]) -> Exit {
    let style = if terminal::errors_have_color() { Style::Colored } else { Style::Plain };
    terminal::tell(&render::text(mistake, sources, style));
    Exit::WrongInput
}
