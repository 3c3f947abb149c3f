//! Reads input files, and writes single files.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rtether::report::text::plain_line;

use crate::drafts::Draft;
use crate::folder::{self, Made};
use crate::terminal;

/// Largest scenario file read; the loader has smaller limits of its own.
const LARGEST_INPUT: u64 = 64 << 20;
/// Most files named in a message.
const NAMED: usize = 5;

/// Reads a text file, or standard input for `-`. The error gives a remedy; `start` names a file to
/// start from, if there is one.
pub(crate) fn read(path: &Path, start: &str) -> Result<String, String> {
    text(path, read_octets(path, start)?)
}

/// Returns the text of a file.
pub(crate) fn text(path: &Path, octets: Vec<u8>) -> Result<String, String> {
    String::from_utf8(octets).map_err(|error| {
        let shown = plain_line(&path.display().to_string());
        let octets = error.as_bytes();
        format!("reading `{shown}`: {}", not_text(octets, error.utf8_error().valid_up_to()))
    })
}

/// Reads a file of any kind, as [`read`] does.
pub(crate) fn read_octets(path: &Path, start: &str) -> Result<Vec<u8>, String> {
    Input::open(path, start)?.octets()
}

/// A file, or standard input, of whose octets the first have been looked at.
pub(crate) struct Input<'a> {
    path: &'a Path,
    start: &'a str,
    /// The first octets, up to as many as tell what a file is.
    pub(crate) head: Vec<u8>,
    source: Box<dyn Read>,
}

/// Octets that tell what a file is.
const HEAD: u64 = 16;

impl<'a> Input<'a> {
    /// Opens a file; the error gives a remedy, as that of [`read`].
    pub(crate) fn open(path: &'a Path, start: &'a str) -> Result<Self, String> {
        let source: io::Result<Box<dyn Read>> = if path == Path::new("-") {
            Ok(Box::new(io::stdin().lock()))
        } else {
            fs::File::open(path).map(|file| Box::new(file) as Box<dyn Read>)
        };
        let mut head = Vec::new();
        let source = source.and_then(|mut source| {
            source.by_ref().take(HEAD).read_to_end(&mut head)?;
            Ok(source)
        });
        let source = source.map_err(|error| reading(path, start, &error))?;
        Ok(Self { path, start, head, source })
    }

    /// Returns the whole content, piece by piece.
    pub(crate) fn stream(self) -> Box<dyn Read> {
        Box::new(io::Cursor::new(self.head).chain(self.source))
    }

    /// Returns the whole content, if it is not larger than any text.
    pub(crate) fn octets(self) -> Result<Vec<u8>, String> {
        let (path, start) = (self.path, self.start);
        let octets = read_limited(self.stream());
        let octets = octets.map_err(|error| reading(path, start, &error))?;
        let shown = plain_line(&path.display().to_string());
        terminal::detail(|| format!("read {shown}: {} octets", octets.len()));
        Ok(octets)
    }
}

/// Says why a file cannot be read.
fn reading(path: &Path, start: &str, error: &io::Error) -> String {
    let shown = plain_line(&path.display().to_string());
    format!("reading `{shown}`: {}", why(path, start, error))
}

fn read_limited(source: impl Read) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let size = source.take(LARGEST_INPUT + 1).read_to_end(&mut octets)?;
    if size as u64 > LARGEST_INPUT {
        let limit = format!("larger than {} MiB", LARGEST_INPUT >> 20);
        return Err(io::Error::new(ErrorKind::InvalidData, limit));
    }
    Ok(octets)
}

/// Tells where a file stops being UTF-8.
fn not_text(octets: &[u8], valid: usize) -> String {
    if octets.starts_with(&[0xff, 0xfe]) || octets.starts_with(&[0xfe, 0xff]) {
        return "it is UTF-16; save it as UTF-8".to_owned();
    }
    let before = String::from_utf8_lossy(&octets[..valid]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    let octet = octets[valid];
    format!("line {line}, column {column}: octet {octet:#04x} is not UTF-8; save the file as UTF-8")
}

fn why(path: &Path, start: &str, error: &io::Error) -> String {
    if error.kind() == ErrorKind::NotFound {
        return missing(path, start);
    }
    if error.kind() != ErrorKind::IsADirectory {
        return error.to_string();
    }
    let text = "it is a directory, not a scenario file";
    let files = scenarios_in(path);
    let name = |file: &PathBuf| path.join(file).display().to_string();
    match files.as_slice() {
        [] => text.to_owned(),
        [one] => format!("{text}; it holds `{}`", name(one)),
        [first, rest @ ..] => {
            format!("{text}; it holds `{}` and {} more", name(first), rest.len())
        }
    }
}

/// Tells what exists in place of a missing file.
fn missing(path: &Path, start: &str) -> String {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    };
    if !directory.is_dir() {
        return format!("there is no directory `{}`", directory.display());
    }
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let mut near: Vec<(f64, String)> = scenarios_in(directory)
        .into_iter()
        .map(|name| name.to_string_lossy().into_owned())
        .map(|name| (strsim::jaro_winkler(&wanted, &name), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    near.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
    let near: Vec<String> = near
        .into_iter()
        .take(NAMED)
        .map(|(_, name)| format!("`{}`", directory.join(name).display()))
        .collect();
    match near.as_slice() {
        [] => format!("there is no such file; {start}"),
        near => format!("there is no such file; did you mean {}?", near.join(" or ")),
    }
}

/// Returns the names of the scenario files in a directory.
fn scenarios_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| PathBuf::from(entry.file_name()));
    let is_yaml = |name: &PathBuf| {
        let ending = name.extension().map(OsStr::to_ascii_lowercase);
        ending.is_some_and(|ending| ending == "yaml" || ending == "yml")
    };
    let mut names: Vec<PathBuf> = names.filter(is_yaml).collect();
    names.sort();
    names
}

/// Writes a file completely or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    Draft::open(path)?.write(text)
}

/// Creates a directory and its parents, which are removed again unless kept.
pub(crate) fn make_directory(path: &Path) -> Result<Made, String> {
    folder::make(path).map_err(|error| format!("making `{}`: {error}", path.display()))
}

/// Returns a path quoted for a shell, as one argument that is not a flag.
pub(crate) fn as_argument(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if text.starts_with('-') { format!("./{text}") } else { text.into_owned() };
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
