//! The process that restores a device whose shim has died, and its interface to the shim.
//!
//! The kernel notifies it of the end of the shim through a process descriptor passed as standard
//! input, so it can neither miss the end nor confuse the shim with another process. It runs in a
//! separate session, which neither Ctrl-C nor closing a terminal affects.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rtether_live::privileges::{self, Right};
use rtether_live::process::{Signals, leave_session, own_end, wait};
use rtether_live::shim::ShimError;

use super::backend::{is_gone, restore};
use super::runtime_files::{RuntimeFiles, RuntimeFilesError};

/// Capabilities that every shim and its watchdog keep, to forward frames and to restore the device.
pub const RIGHTS: [Right; 3] = [Right::NetAdmin, Right::NetRaw, Right::Bpf];
/// Output of a watchdog once it is watching.
const READY: &str = "watching\n";
/// How long it waits for a lock held by another process, which then takes care of the device.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a watchdog ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The shim ended in order, or another process takes care of the device.
    NothingToDo,
    /// The device was restored.
    Restored,
}

/// Why a device is not watched, or could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// A system call failed.
    #[error("{doing}: {source}")]
    System {
        /// What was attempted.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Access to the shim's place failed.
    #[error(transparent)]
    RuntimeFiles(#[from] RuntimeFilesError),
    /// Restoring the device failed.
    #[error("restoring the device: {0}")]
    Shim(#[from] ShimError),
}

fn system(doing: &'static str) -> impl Fn(io::Error) -> WatchError {
    move |source| WatchError::System { doing, source }
}

/// Waits for the end of the process behind the descriptor `end`, then restores the device of the
/// place unless the shim was taken down in order. Writes to `ready` when it has started.
///
/// Needs a process of its own: it drops capabilities and leaves its session.
///
/// # Errors
/// If a system call fails, or the device cannot be restored.
pub fn watch(
    place: &RuntimeFiles,
    end: BorrowedFd<'_>,
    mut ready: impl Write,
) -> Result<Outcome, WatchError> {
    // A process group leader, as started by a shell, cannot leave its session and need not.
    drop(leave_session());
    // It must end with the shim, not before it.
    let _signals = Signals::hold().map_err(system("holding signals back"))?;
    privileges::keep(&RIGHTS).map_err(system("giving up rights"))?;
    let said = ready.write_all(READY.as_bytes());
    said.and_then(|()| ready.flush()).map_err(system("telling the shim"))?;
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

/// Waits for a watchdog's start message; `false` if it writes something else.
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

/// A watchdog, as seen by the shim.
#[derive(Debug)]
pub(super) struct Watchdog {
    child: Child,
    output: ChildStdout,
}

impl Watchdog {
    /// Starts the command that calls [`watch`] and waits until it is watching.
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
        Err(io::Error::other(format!("the watchdog did not start: {status}")))
    }

    /// Ends it, once there is nothing to restore.
    pub(super) fn end(mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl AsFd for Watchdog {
    /// Becomes readable when the watchdog has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }
}
