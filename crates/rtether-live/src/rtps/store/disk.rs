//! File operations of a journal. Tests substitute a model that fails by seed.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Files by name.
pub(super) trait Disk {
    type File: Octets;

    /// Opens a file for reading and writing; `None` if it does not exist.
    fn open(&self, path: &Path) -> io::Result<Option<Self::File>>;
    /// Creates a new file, with the permissions of `like`, if that exists.
    fn create(&self, path: &Path, like: &Path) -> io::Result<Self::File>;
    /// Replaces a file by another.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file, if it exists.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Waits until the names in the folder of a file are on the disk.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Returns an unpredictable number.
    fn random(&self) -> u64;
}

/// Content of a file.
pub(super) trait Octets {
    fn len(&self) -> io::Result<u64>;
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;
    fn write_at(&self, at: u64, octets: &[u8]) -> io::Result<()>;
    /// Waits until the content is on the disk.
    fn sync(&self) -> io::Result<()>;
}

/// The file system of this host.
#[derive(Clone, Copy, Debug)]
pub(super) struct System;

impl Disk for System {
    type File = File;

    fn open(&self, path: &Path) -> io::Result<Option<File>> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("this is no ordinary file"));
        }
        Ok(Some(file))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        match fs::metadata(like) {
            Ok(like) => file.set_permissions(like.permissions())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn random(&self) -> u64 {
        RandomState::new().hash_one(std::process::id())
    }
}

impl Octets for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, into, at)
    }

    fn write_at(&self, at: u64, octets: &[u8]) -> io::Result<()> {
        self.write_all_at(octets, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
