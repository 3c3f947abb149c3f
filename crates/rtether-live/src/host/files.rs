//! Files of the kernel in `/proc` and `/sys`.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Most octets read of a file.
const LIMIT: u64 = 65_536;
/// Most names read of a directory.
const NAMES: usize = 1_024;

/// The files under a root: `/`, or an artificial tree in tests.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
}

impl Default for Files {
    fn default() -> Self {
        Self::under("/")
    }
}

impl Files {
    /// Returns the files under `root`.
    pub fn under(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the trimmed content of a file; `None` if it cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        let file = File::open(self.root.join(path)).ok()?;
        let mut text = String::new();
        file.take(LIMIT).read_to_string(&mut text).ok()?;
        Some(text.trim().to_owned())
    }

    /// Returns the number in a file.
    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// Returns the sorted names in a directory; empty if there is no such directory.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.root.join(path)) else {
            return Vec::new();
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(NAMES).collect();
        names.sort();
        names
    }
}
