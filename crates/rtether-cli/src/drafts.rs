//! Files that appear whole or not at all.
//!
//! A file is opened before the work begins, so that a name that cannot be written costs nobody a
//! run. It has another name until it is complete; what is not complete is removed, also when the
//! command is told to end at once. Pipes and devices have no whole: they are written straight.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Drafts that are not complete.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Drafts begun so far, to tell them apart.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Links followed before giving up, as many as the kernel does.
const MOST_LINKS: usize = 40;

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The name that was asked for.
    path: PathBuf,
    /// The name until it is complete, and the one after; `None` for pipes and devices.
    names: Option<(PathBuf, PathBuf)>,
    file: Option<BufWriter<File>>,
}

/// Where the octets of a file go.
enum Target {
    /// To a pipe or device.
    Straight,
    /// To the file of this name, which may not be there yet; links are resolved.
    File(PathBuf),
}

impl Draft {
    /// Opens a file for writing; the error says why it cannot be, and what to do.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let explain =
            |error: &io::Error| format!("writing `{}`: {}", path.display(), why(path, error));
        let (file, names) = match target(path).map_err(|error| explain(&error))? {
            Target::Straight => {
                let file = OpenOptions::new().write(true).open(path);
                (file.map_err(|error| explain(&error))?, None)
            }
            Target::File(target) => {
                let (file, draft) = begin(&target).map_err(|error| explain(&error))?;
                (file, Some((draft, target)))
            }
        };
        Ok(Self {
            path: path.into(),
            names,
            file: Some(BufWriter::new(file)),
        })
    }

    /// Lets `fill` write the contents and gives the file its name.
    pub(crate) fn fill(
        mut self,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), String> {
        let Some(mut file) = self.file.take() else {
            return Ok(());
        };
        let written = fill(&mut file).and_then(|()| file.flush());
        drop(file);
        let named = written.and_then(|()| match &self.names {
            Some((draft, target)) => fs::rename(draft, target),
            None => Ok(()),
        });
        match named {
            Ok(()) => {
                if let Some((draft, _)) = self.names.take() {
                    forget(&draft);
                }
                Ok(())
            }
            Err(error) => Err(format!("writing `{}`: {error}", self.path.display())),
        }
    }

    /// Writes the contents and gives the file its name.
    pub(crate) fn write(self, text: &str) -> Result<(), String> {
        self.fill(|file| file.write_all(text.as_bytes()))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some((draft, _)) = self.names.take() {
            drop(fs::remove_file(&draft));
            forget(&draft);
        }
    }
}

/// Removes all drafts, for a command that ends at once. Nobody can open another after that.
pub(crate) fn abandon() {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    for draft in open.drain(..) {
        drop(fs::remove_file(draft));
    }
    std::mem::forget(open);
}

/// Checks that no two outputs are one file and that none is the input. Each has the name of its
/// flag.
pub(crate) fn check_distinct(input: &Path, outputs: &[(&str, PathBuf)]) -> Result<(), String> {
    let file = |path: &Path| match target(path) {
        Ok(Target::File(target)) => Some(target),
        Ok(Target::Straight) | Err(_) => None,
    };
    let input = fs::canonicalize(input).ok();
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (flag, path) in outputs {
        let Some(target) = file(path) else { continue };
        let shown = path.display();
        if input.as_ref() == Some(&target) {
            return Err(format!("`{flag}` would replace the scenario `{shown}`"));
        }
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == target) {
            return Err(format!("`{other}` and `{flag}` would both write `{shown}`"));
        }
        seen.push((flag, target));
    }
    Ok(())
}

fn forget(draft: &Path) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|known| known != draft);
}

/// Creates a draft beside the file it will become, with the same permissions if that exists.
fn begin(target: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = OsString::from(target);
        name.push(format!(".{}-{number}.part", process::id()));
        let draft = PathBuf::from(name);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            Ok(file) => {
                open.push(draft.clone());
                if let Ok(known) = fs::metadata(target) {
                    // Not every file system can; the contents matter more.
                    drop(file.set_permissions(known.permissions()));
                }
                return Ok((file, draft));
            }
            // Left behind by another process of this number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn target(path: &Path) -> io::Result<Target> {
    match fs::metadata(path) {
        Ok(known) if known.is_dir() => Err(io::Error::from(ErrorKind::IsADirectory)),
        // What these directories show may be a file that something else has open.
        Ok(_) if path.starts_with("/dev") || path.starts_with("/proc") => Ok(Target::Straight),
        Ok(known) if known.is_file() => fs::canonicalize(path).map(Target::File),
        Ok(_) => Ok(Target::Straight),
        Err(error) if error.kind() == ErrorKind::NotFound => missing(path).map(Target::File),
        Err(error) => Err(error),
    }
}

/// Returns the full name of a file that is not there, links to it resolved.
fn missing(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            Some(_) | None => Path::new("."),
        };
        let directory = fs::canonicalize(directory)?;
        let Ok(next) = fs::read_link(&path) else {
            let name = path.file_name();
            let name = name.ok_or_else(|| io::Error::from(ErrorKind::InvalidFilename))?;
            return Ok(directory.join(name));
        };
        path = directory.join(next);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Returns the reason with a remedy where there is one.
fn why(path: &Path, error: &io::Error) -> String {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    match (error.kind(), parent) {
        (ErrorKind::NotFound, Some(parent)) if !parent.exists() => {
            let parent = parent.display();
            format!("there is no directory `{parent}`; make it first")
        }
        (ErrorKind::IsADirectory, _) => "it is a directory; give the name of a file".to_owned(),
        _ => error.to_string(),
    }
}
