//! The network namespace in which a shim was set up.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace, kept alive by this value.
#[derive(Debug)]
pub(super) struct NetworkNamespace(File);

impl NetworkNamespace {
    /// Returns the namespace of the calling thread.
    pub(super) fn here() -> io::Result<Self> {
        File::open(OWN).map(Self)
    }

    /// Runs `work` in the namespace, in a new thread if the calling thread is elsewhere.
    pub(super) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let there = self.0.metadata()?;
        let here = std::fs::metadata(OWN)?;
        if (here.dev(), here.ino()) == (there.dev(), there.ino()) {
            return Ok(work());
        }
        std::thread::scope(|scope| {
            let enter = || {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(self.0.as_fd(), kind)?;
                Ok(work())
            };
            let done = scope.spawn(enter).join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}
