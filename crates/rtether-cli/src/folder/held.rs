//! Directories on the path to an output file.
//!
//! Every component of a path is looked up through the directory before it, and the result is held
//! open, so that it cannot be replaced by a link meanwhile. As root, links of other users are never
//! followed: their owner could make root write to any place.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self as system, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::Kind;

/// Links followed before giving up, as in the kernel.
const MOST_LINKS: usize = 40;
/// Permissions of new files and directories, before the user's mask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// A directory held open.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

/// Target of a path.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// A path in `/proc` or `/dev`, by this name.
    System(PathBuf),
    /// A name in a directory; it may not exist yet, and is never a link.
    In(Folder, OsString),
}

/// Created directories, removed again unless kept.
#[derive(Debug, Default)]
pub(crate) struct Made(Vec<(Folder, OsString)>);

impl Made {
    /// Keeps them; their names are on disk afterwards.
    pub(crate) fn keep(mut self) {
        for (folder, _) in self.0.drain(..) {
            folder.sync();
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for (folder, name) in self.0.drain(..).rev() {
            // A directory that is not empty stays.
            let _ = system::unlinkat(&folder.handle, &name, AtFlags::REMOVEDIR);
        }
    }
}

/// Creates a directory and its parents.
pub(crate) fn make(path: &Path) -> io::Result<Made> {
    let mut made = Made::default();
    // The last component becomes a directory, too; its contents do not matter.
    walk(&path.join("x"), Some(&mut made))?;
    Ok(made)
}

/// Resolves a path up to its last component, including links.
pub(crate) fn resolve(path: &Path) -> io::Result<Resolved> {
    walk(path, None)
}

fn walk(path: &Path, mut made: Option<&mut Made>) -> io::Result<Resolved> {
    let mut folder = Folder::start(path)?;
    let mut left = parts(path);
    let mut links = 0;
    loop {
        let whole = left.iter().fold(folder.path.clone(), |all, part| all.join(part));
        if is_of_system(&whole) {
            return Ok(Resolved::System(whole));
        }
        let Some(part) = left.pop_front() else {
            return Err(ErrorKind::IsADirectory.into());
        };
        let is_last = left.is_empty();
        let found = match folder.look(&part) {
            Err(Errno::NOENT) if is_last => return Ok(Resolved::In(folder, part)),
            Err(Errno::NOENT) if made.is_some() => {
                match system::mkdirat(&folder.handle, &part, FOLDER_MODE) {
                    // Another process has made it since.
                    Err(Errno::EXIST) => {}
                    done => {
                        done?;
                        if let Some(made) = &mut made {
                            made.0.push((folder.again()?, part.clone()));
                        }
                    }
                }
                folder.look(&part)?
            }
            found => found?,
        };
        let status = system::fstat(&found)?;
        if FileType::from_raw_mode(status.st_mode) == FileType::Symlink {
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            may_follow(&folder.path.join(&part), status.st_uid)?;
            let target = system::readlinkat(&found, "", Vec::new())?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            if target.is_absolute() {
                folder = Folder::start(&target)?;
            }
            let mut next = parts(&target);
            next.append(&mut left);
            left = next;
        } else if is_last && part != ".." {
            return Ok(Resolved::In(folder, part));
        } else {
            folder.enter(found, &part);
        }
    }
}

/// Returns the components of a path without its root.
fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

/// Returns whether a path is in `/proc` or `/dev`: it may be a file that something else has open.
fn is_of_system(path: &Path) -> bool {
    let is_below = |top: &str| path.starts_with(top) && path != Path::new(top);
    let is_named = is_below("/proc") || is_below("/dev") && !path.starts_with("/dev/shm");
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    is_named && is_plain && fs::metadata(path).is_ok_and(|known| !known.is_dir())
}

fn may_follow(link: &Path, owner: u32) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() || owner == 0 {
        return Ok(());
    }
    let link = link.display();
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        format!(
            "`{link}` is a link of user {owner}, and as root only links of root are followed; name \
             the file that it leads to"
        ),
    ))
}

/// Refuses, as root, to write into a file with another name: a user can give a file of root a name in a
/// directory of their own.
fn may_write(path: &Path, status: &system::Stat) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() || status.st_nlink <= 1 {
        return Ok(());
    }
    let (path, names) = (path.display(), status.st_nlink);
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        format!(
            "`{path}` has {names} names, and root writes into files with one; remove this name first"
        ),
    ))
}

impl Folder {
    /// Opens the directory where a path starts.
    fn start(path: &Path) -> io::Result<Self> {
        let begin = Path::new(if path.is_absolute() { "/" } else { "." });
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            handle: system::openat(CWD, begin, flags, Mode::empty())?,
            path: if path.is_absolute() { begin.to_owned() } else { std::env::current_dir()? },
        })
    }

    fn again(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, path: self.path.clone() })
    }

    /// Opens what has this name, without following a link.
    fn look(&self, name: &OsStr) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        system::openat(&self.handle, name, flags, Mode::empty())
    }

    fn enter(&mut self, handle: OwnedFd, name: &OsStr) {
        if name == ".." {
            self.path.pop();
        } else {
            self.path.push(name);
        }
        self.handle = handle;
    }

    /// Returns the full path of a name in this directory.
    pub(crate) fn name_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Returns type and permissions of a name; `None` if it does not exist.
    pub(crate) fn status(&self, name: &OsStr) -> io::Result<Option<(Kind, Mode)>> {
        match system::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => {
                let kind = match FileType::from_raw_mode(status.st_mode) {
                    FileType::RegularFile => Kind::File,
                    FileType::Directory => Kind::Folder,
                    FileType::Symlink
                    | FileType::Fifo
                    | FileType::Socket
                    | FileType::CharacterDevice
                    | FileType::BlockDevice
                    | FileType::Unknown => Kind::Other,
                };
                Ok(Some((kind, Mode::from_raw_mode(status.st_mode))))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file under a name that does not exist.
    pub(crate) fn create(&self, name: &OsStr, mode: Option<Mode>) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = self.open(name, flags)?;
        if let Some(mode) = mode {
            // Not every file system supports it; the contents matter more.
            let _ = system::fchmod(&file, mode);
        }
        Ok(file)
    }

    /// Opens an existing pipe or device for writing.
    pub(crate) fn pipe(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, OFlags::WRONLY)
    }

    /// Creates a file, or truncates the existing one.
    pub(crate) fn overwrite(&self, name: &OsStr) -> io::Result<File> {
        let file = self.open(name, OFlags::WRONLY | OFlags::CREATE)?;
        may_write(&self.name_of(name), &system::fstat(&file)?)?;
        file.set_len(0)?;
        Ok(file)
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(system::openat(&self.handle, name, flags, FILE_MODE)?.into())
    }

    /// Renames a file, replacing one of the new name.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(system::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Exchanges the names of two files; not every file system supports it.
    pub(crate) fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        let both = (&self.handle, &self.handle);
        Ok(system::renameat_with(both.0, one, both.1, other, RenameFlags::EXCHANGE)?)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(system::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Waits until the names in this directory are on disk, as far as possible: it takes the right
    /// to list them, and support by the file system.
    pub(crate) fn sync(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(open) = system::openat(&self.handle, ".", flags, Mode::empty()) {
            let _ = system::fsync(open);
        }
    }
}
