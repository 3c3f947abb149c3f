//! Directories on the path to an output file where they cannot be held open: by name, looked up
//! again whenever they are used. Links are followed: Windows lets only administrators make them. On
//! macOS all users can, so that root should write into directories of root alone there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{self, Path, PathBuf};

use super::Kind;

/// Whether a file may not be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode(bool);

/// Names of devices, in every directory.
const DEVICES: [&str; 2] = ["NUL", "CON"];

/// A directory.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// Target of a path.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// A device, by this name.
    System(PathBuf),
    /// A name in a directory; it may not exist yet, and is never a link.
    In(Folder, OsString),
}

/// Created directories, removed again unless kept.
#[derive(Debug, Default)]
pub(crate) struct Made(Vec<PathBuf>);

impl Made {
    /// Keeps them.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in self.0.drain(..).rev() {
            // A directory that is not empty stays.
            let _ = fs::remove_dir(path);
        }
    }
}

/// Creates a directory and its parents.
pub(crate) fn make(path: &Path) -> io::Result<Made> {
    let mut made = Made::default();
    let path = path::absolute(path)?;
    let missing = path.ancestors().take_while(|folder| !folder.exists());
    for folder in missing.collect::<Vec<_>>().into_iter().rev() {
        match fs::create_dir(folder) {
            // Another process has made it since.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
            done => {
                done?;
                made.0.push(folder.to_owned());
            }
        }
    }
    Ok(made)
}

/// Resolves a path up to its last component, including links.
pub(crate) fn resolve(path: &Path) -> io::Result<Resolved> {
    if DEVICES.iter().any(|name| path.as_os_str().eq_ignore_ascii_case(name)) {
        return Ok(Resolved::System(path.to_owned()));
    }
    let whole = match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => path::absolute(path)?,
        found => found?,
    };
    let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(ErrorKind::IsADirectory.into());
    };
    let folder = Folder { path: fs::canonicalize(parent)? };
    Ok(Resolved::In(folder, name.to_owned()))
}

#[allow(clippy::unused_self, reason = "the signatures are those of directories that are held open")]
impl Folder {
    /// Returns the full path of a name in this directory.
    pub(crate) fn name_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Returns type and permissions of a name; `None` if it does not exist.
    pub(crate) fn status(&self, name: &OsStr) -> io::Result<Option<(Kind, Mode)>> {
        match fs::symlink_metadata(self.name_of(name)) {
            Ok(known) => {
                let kind = match (known.is_file(), known.is_dir()) {
                    (true, _) => Kind::File,
                    (_, true) => Kind::Folder,
                    _ => Kind::Other,
                };
                Ok(Some((kind, Mode(known.permissions().readonly()))))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a file under a name that does not exist.
    pub(crate) fn create(&self, name: &OsStr, mode: Option<Mode>) -> io::Result<File> {
        if mode.is_some_and(|mode| mode.0) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).open(self.name_of(name))
    }

    /// Opens an existing pipe or device for writing.
    pub(crate) fn pipe(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.name_of(name))
    }

    /// Creates a file, or truncates the existing one.
    pub(crate) fn overwrite(&self, name: &OsStr) -> io::Result<File> {
        File::create(self.name_of(name))
    }

    /// Renames a file, replacing one of the new name.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.name_of(from), self.name_of(to))
    }

    /// Is not to be had here.
    pub(crate) fn exchange(&self, _: &OsStr, _: &OsStr) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.name_of(name))
    }

    /// Does nothing: names are on disk when the system thinks fit.
    pub(crate) const fn sync(&self) {}
}
