//! Which files a file may name: those beneath its own folder, and beneath folders that the user adds.
//!
//! Scenarios and studies come from anybody, and what they name is read with the rights of the user.
//! A path that leads out is refused before anything there is touched; links are followed as long as
//! they stay beneath the folders; only regular files are opened, so that no pipe or device is waited
//! for. Paths that the user types are not asked for here.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use rtether_scenario::{MAX_FILE_SIZE, nearest_name, quote};

/// Why a file is not read; nothing of its content.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unread {
    /// There is none.
    #[error("there is no such file; {0}")]
    Missing(String),
    /// It may not be read, or cannot.
    #[error("{0}")]
    Refused(String),
}

impl From<std::io::Error> for Unread {
    fn from(error: std::io::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Places whose files the kernel makes while they are read.
const OF_THE_KERNEL: [&str; 2] = ["/proc", "/sys"];

/// Reads the files that a file names.
#[derive(Clone, Debug)]
pub struct Beneath {
    /// What they must be beneath, as it is written and without links.
    written: Vec<PathBuf>,
    real: Vec<PathBuf>,
    /// Says how the user adds a folder.
    remedy: fn(&Path) -> String,
}

impl Beneath {
    /// Allows what is beneath the folder of `file`, or beneath `further` folders. `remedy` makes the
    /// words that tell the user how to add a folder.
    ///
    /// A file without a folder, such as `-` for standard input, has the working folder.
    pub fn new(file: &Path, further: &[PathBuf], remedy: fn(&Path) -> String) -> Self {
        let own = file.parent().unwrap_or(file);
        let folders = || std::iter::once(own).chain(further.iter().map(PathBuf::as_path));
        Self {
            written: folders().filter_map(absolute).collect(),
            real: folders().filter_map(real).collect(),
            remedy,
        }
    }

    /// Returns the text of a file that is named, by its path from the working folder.
    ///
    /// # Errors
    /// Why it is not read.
    pub fn read(&self, name: &str) -> Result<String, Unread> {
        let place = self.place(Path::new(name))?;
        let octets = octets(&place)?;
        String::from_utf8(octets).map_err(|_| refused("it is not UTF-8; save it as UTF-8"))
    }

    /// Returns where a file is, without links on the way there.
    fn place(&self, named: &Path) -> Result<PathBuf, Unread> {
        let folder = or_working(named.parent().unwrap_or(named));
        let mut all = self.written.iter().chain(&self.real);
        let is_written = absolute(named).is_some_and(|named| all.any(|own| named.starts_with(own)));
        if !is_written {
            let how = self.how(folder);
            let why = format!("it is outside the folder of the file that was given; {how}");
            return Err(Unread::Refused(why));
        }
        let place = fs::canonicalize(named).map_err(|error| self.missing(named, error))?;
        if self.is_beneath(&place) {
            return Ok(place);
        }
        let shown = quote(&place.to_string_lossy());
        let how = self.how(place.parent().unwrap_or(&place));
        Err(Unread::Refused(format!(
            "a link leads to {shown}, outside the folder of the file that was given; {how}"
        )))
    }

    fn is_beneath(&self, place: &Path) -> bool {
        self.real.iter().any(|folder| place.starts_with(folder))
    }

    fn how(&self, folder: &Path) -> String {
        format!("if it may be read, {}", (self.remedy)(&plain(folder)))
    }

    /// Says why there is no file, and which one may be meant.
    fn missing(&self, named: &Path, error: std::io::Error) -> Unread {
        if error.kind() != std::io::ErrorKind::NotFound {
            return error.into();
        }
        let folder = named.parent().and_then(real);
        let folder = folder.filter(|folder| self.is_beneath(folder));
        let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
        let names = entries.into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let names: Vec<String> = names.filter(|name| is_yaml(name)).collect();
        let wanted = named.file_name().unwrap_or_default().to_string_lossy();
        Unread::Missing(match nearest_name(&wanted, names.iter().map(String::as_str)) {
            Some(near) => {
                let near = named.with_file_name(near);
                format!("did you mean {}?", quote(&near.to_string_lossy()))
            }
            None => "paths are relative to the file that names them".to_owned(),
        })
    }
}

fn refused(why: &str) -> Unread {
    Unread::Refused(why.to_owned())
}

fn is_yaml(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// Returns a folder without links, if it is there.
fn real(folder: &Path) -> Option<PathBuf> {
    fs::canonicalize(or_working(folder)).ok()
}

/// Returns a folder; the working folder for an empty path.
fn or_working(folder: &Path) -> &Path {
    if folder == Path::new("") { Path::new(".") } else { folder }
}

/// Returns a path from the root, without `.` and `..`; links are not looked at.
fn absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(or_working(path)).ok().map(|path| plain(&path))
}

/// Returns a path without `.`, and without `..` behind other parts; links are not looked at.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match (part, plain.components().next_back()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => _ = plain.pop(),
            _ => plain.push(part),
        }
    }
    or_working(&plain).to_owned()
}

/// Returns what a regular file holds.
fn octets(place: &Path) -> Result<Vec<u8>, Unread> {
    if OF_THE_KERNEL.iter().any(|folder| place.starts_with(folder)) {
        return Err(refused("it is no file of a disk: the kernel makes it"));
    }
    let before = fs::symlink_metadata(place)?;
    if before.is_dir() {
        return Err(refused("it is a directory"));
    }
    if !before.is_file() {
        return Err(refused("it is no regular file"));
    }
    // What states no octets has none: elsewhere, too, the kernel may make a file while it is read.
    if before.len() == 0 {
        return Ok(Vec::new());
    }
    let limit = MAX_FILE_SIZE as u64;
    if before.len() > limit {
        let limit = format!("it is larger than {} MiB", MAX_FILE_SIZE >> 20);
        return Err(Unread::Refused(limit));
    }
    let file = File::open(place)?;
    // Another file may have come to its place meanwhile.
    if fs::canonicalize(place)? != place || !is_same(&before, &file.metadata()?) {
        return Err(refused("it was replaced while it was read"));
    }
    let mut octets = Vec::new();
    file.take(limit).read_to_end(&mut octets)?;
    Ok(octets)
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, other: &Metadata) -> bool {
    other.is_file()
}

#[cfg(all(test, unix))]
mod tests;
