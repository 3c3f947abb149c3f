//! Folders of tests.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test, removed at the end.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates it; `test` is a part of its name.
    pub fn new(test: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("rtether-{test}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder of its own");
        Self(path)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file in it, as an argument of a program.
    pub fn file(&self, name: &str) -> String {
        let path = self.0.join(name).into_os_string().into_string();
        path.expect("a path in UTF-8")
    }

    /// Writes a file in it or in a folder below, and returns its path.
    pub fn write(&self, name: &str, octets: impl AsRef<[u8]>) -> String {
        let path = self.file(name);
        let parent = Path::new(&path).parent().expect("a folder");
        fs::create_dir_all(parent).expect("a folder that can be made");
        fs::write(&path, octets).expect("a file that can be written");
        path
    }

    /// Writes a shell script in it; returns a search path that finds the script first.
    pub fn script(&self, name: &str, script: &str) -> String {
        let program = self.write(name, format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(program, Permissions::from_mode(0o755)).expect("a file of ours");
        let others = std::env::var("PATH").unwrap_or_default();
        format!("{}:{others}", self.0.display())
    }

    /// Returns the text of a file in it.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("a file with text")
    }

    /// Returns the names of what is in it, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder");
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> =
            names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
