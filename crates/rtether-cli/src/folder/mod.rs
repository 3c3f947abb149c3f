//! Directories on the path to an output file: held open where the system can do that.

#[cfg(not(unix))]
mod by_name;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use by_name::{Folder, Made, Resolved, make, resolve};
#[cfg(unix)]
pub(crate) use unix::{Folder, Made, Resolved, make, resolve};

/// What has a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// A pipe or device.
    Other,
}
