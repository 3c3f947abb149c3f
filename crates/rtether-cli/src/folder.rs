//! Directories on the way to a file that is to be written.
//!
//! Every part of a path is looked at through the directory before it, and what is found is held
//! open: nobody can put a link in its place meanwhile. As root, no link of another user is
//! followed, wherever it lies; who could make one could have root write where it leads.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self as system, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// Links followed before giving up, as many as the kernel does.
const MOST_LINKS: usize = 40;
/// What new files and directories allow, less what the user's mask takes away.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// A directory that is held open.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) enum Place {
    /// To what the system shows of a process or a device, by this name.
    System(PathBuf),
    /// To a name in a directory; nothing need be there yet, and no link is.
    In(Folder, OsString),
}

/// Directories that were made, and are removed again unless they are kept.
#[derive(Debug, Default)]
pub(crate) struct Made(Vec<(Folder, OsString)>);

impl Made {
    /// Keeps them.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for (folder, name) in self.0.drain(..).rev() {
            // One that is not empty stays.
            let _ = system::unlinkat(&folder.handle, &name, AtFlags::REMOVEDIR);
        }
    }
}

/// Makes a directory with those above it.
pub(crate) fn make(path: &Path) -> io::Result<Made> {
    let mut made = Made::default();
    // The last part is a directory, too: whatever is in it is not looked at.
    walk(&path.join("x"), Some(&mut made))?;
    Ok(made)
}

/// Follows a path up to its last part, links included.
pub(crate) fn resolve(path: &Path) -> io::Result<Place> {
    walk(path, None)
}

fn walk(path: &Path, mut made: Option<&mut Made>) -> io::Result<Place> {
    let mut folder = Folder::start(path)?;
    let mut left = parts(path);
    let mut links = 0;
    loop {
        let whole = left
            .iter()
            .fold(folder.path.clone(), |all, part| all.join(part));
        if is_of_system(&whole) {
            return Ok(Place::System(whole));
        }
        let Some(part) = left.pop_front() else {
            return Err(ErrorKind::IsADirectory.into());
        };
        let is_last = left.is_empty();
        let found = match folder.look(&part) {
            Err(Errno::NOENT) if is_last => return Ok(Place::In(folder, part)),
            Err(Errno::NOENT) if made.is_some() => {
                system::mkdirat(&folder.handle, &part, FOLDER_MODE)?;
                if let Some(made) = &mut made {
                    made.0.push((folder.again()?, part.clone()));
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
            return Ok(Place::In(folder, part));
        } else {
            folder.enter(found, &part);
        }
    }
}

/// Returns the parts of a path that are not its beginning.
fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

/// Returns whether a path names what the system shows of processes and devices: that may be a file
/// that something else has open.
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

impl Folder {
    /// Opens the directory from which a path goes.
    fn start(path: &Path) -> io::Result<Self> {
        let begin = Path::new(if path.is_absolute() { "/" } else { "." });
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            handle: system::openat(CWD, begin, flags, Mode::empty())?,
            path: if path.is_absolute() {
                begin.to_owned()
            } else {
                std::env::current_dir()?
            },
        })
    }

    fn again(&self) -> io::Result<Self> {
        Ok(Self {
            handle: self.handle.try_clone()?,
            path: self.path.clone(),
        })
    }

    /// Holds what has this name, a link included.
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

    /// Returns the whole name of what has this one here.
    pub(crate) fn name_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Returns what is there, and what it allows; `None` if nothing is.
    pub(crate) fn status(&self, name: &OsStr) -> io::Result<Option<(FileType, Mode)>> {
        match system::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => Ok(Some((
                FileType::from_raw_mode(status.st_mode),
                Mode::from_raw_mode(status.st_mode),
            ))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a file of a name that nothing has.
    pub(crate) fn create(&self, name: &OsStr, mode: Option<Mode>) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = self.open(name, flags)?;
        if let Some(mode) = mode {
            // Not every file system can; the contents matter more.
            let _ = system::fchmod(&file, mode);
        }
        Ok(file)
    }

    /// Opens what is there for writing: a pipe or a device.
    pub(crate) fn pipe(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, OFlags::WRONLY)
    }

    /// Makes a file, or empties the one that is there.
    pub(crate) fn overwrite(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(system::openat(&self.handle, name, flags, FILE_MODE)?.into())
    }

    /// Gives a file another name, which it takes from what has it.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(system::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Lets two files have each other's name; not every file system can.
    pub(crate) fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        let both = (&self.handle, &self.handle);
        Ok(system::renameat_with(
            both.0,
            one,
            both.1,
            other,
            RenameFlags::EXCHANGE,
        )?)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(system::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Waits until the names of its files are on the disk, as far as that can be asked for: it takes
    /// the right to list them, and a file system that knows how.
    pub(crate) fn sync(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(open) = system::openat(&self.handle, ".", flags, Mode::empty()) {
            let _ = system::fsync(open);
        }
    }
}
