//! The network namespace that a shim was put up in.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace, which lasts as long as this.
#[derive(Debug)]
pub(super) struct Place(File);

impl Place {
    /// Returns that of the calling thread.
    pub(super) fn here() -> io::Result<Self> {
        File::open(OWN).map(Self)
    }

    /// Does something there, in a thread of its own if the calling one is elsewhere.
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
