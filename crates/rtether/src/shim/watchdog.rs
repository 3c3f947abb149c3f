//! The process that restores a device whose shim has died, and the way to it.
//!
//! It hears of the end of the shim from the kernel, by a descriptor of the process that it is given
//! as standard input, so it can neither miss the end nor take another process for the shim. It lives
//! in a session of its own, that neither Ctrl-C nor the end of a terminal reaches.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rtether_live::privileges;
use rtether_live::process::{Signals, leave_session, own_end, wait};
use rtether_live::shim::ShimError;

use super::backend::{is_gone, restore};
use super::place::{Place, PlaceError};
use super::service::RIGHTS;

/// What a watchdog says once nothing can escape it.
const READY: &str = "watching\n";
/// How long it waits for a lock that somebody else holds, who then cares for the device.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a watchdog ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The shim ended as it should, or somebody else cares for the device.
    NothingToDo,
    /// The device is as it was before the shim.
    Restored,
}

/// Why a device is not watched, or could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The system does not let it.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The place of the shim.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The device.
    #[error("restoring the device: {0}")]
    Shim(#[from] ShimError),
}

fn system(doing: &'static str) -> impl Fn(io::Error) -> WatchError {
    move |source| WatchError::System { doing, source }
}

/// Waits until the process has ended that `end` is a descriptor of, and restores the device of the
/// place unless it was taken down in order. Says on `ready` when it has begun.
///
/// For a process of its own: it gives up rights, and leaves its session.
///
/// # Errors
/// If the system does not let it wait, or the device cannot be restored.
pub fn watch(
    place: &Place,
    end: BorrowedFd<'_>,
    mut ready: impl Write,
) -> Result<Outcome, WatchError> {
    // A leader of a group, as a shell starts it, cannot leave and need not.
    drop(leave_session());
    // It ends with the shim, and not before it.
    let _signals = Signals::hold().map_err(system("holding signals back"))?;
    privileges::keep(&RIGHTS).map_err(system("giving up rights"))?;
    let said = ready.write_all(READY.as_bytes());
    said.and_then(|()| ready.flush())
        .map_err(system("telling the shim"))?;
    while !wait(&[end], None).map_err(system("waiting for the end of the shim"))?[0] {}
    let Some(_lock) = place.lock(PATIENCE)? else {
        return Ok(Outcome::NothingToDo);
    };
    if !place.state().exists() {
        return Ok(Outcome::NothingToDo);
    }
    let restored = restore(place.device());
    place.clear().map_err(system("removing the state"))?;
    match restored {
        // There is nothing left to restore.
        Err(error) if is_gone(&error) => Ok(Outcome::NothingToDo),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(Outcome::Restored),
    }
}

/// Waits for what a watchdog says when it has begun; `false` if it says something else.
fn has_begun(output: &mut ChildStdout) -> io::Result<bool> {
    let mut said = Vec::new();
    while said.len() < READY.len() {
        let is_there = wait(&[output.as_fd()], Some(PATIENCE))?[0];
        let mut octet = [0];
        if !is_there {
            return Ok(false);
        }
        match output.read(&mut octet) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        said.push(octet[0]);
    }
    Ok(said == READY.as_bytes())
}

/// A watchdog, as the shim sees it.
#[derive(Debug)]
pub(super) struct Watchdog {
    child: Child,
    output: ChildStdout,
}

impl Watchdog {
    /// Starts the program that calls [`watch`] and waits until it has begun.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let end = own_end()?;
        command.stdin(Stdio::from(end)).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        if has_begun(&mut output)? {
            return Ok(Self { child, output });
        }
        drop(child.kill());
        let status = child.wait()?;
        Err(io::Error::other(format!("it does not begin: {status}")))
    }

    /// Ends it, once there is nothing to restore.
    pub(super) fn end(mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl AsFd for Watchdog {
    /// Can be read when the watchdog has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }
}
