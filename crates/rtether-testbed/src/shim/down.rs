//! Ends a shim from another process.

use std::io;
use std::time::Duration;

use rtether_live::process::kill;
use rtether_live::shim::ShimError;

use super::backend::{is_gone, restore};
use super::control::{AskError, Request, ask};
use super::runtime_files::{RuntimeFiles, RuntimeFilesError};
use super::state::State;

/// How long a shim may take to end: waiting frames have two seconds to leave.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait for another process that is working on the same device.
const BUSY: Duration = Duration::from_millis(200);

/// What was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// A shim, which ended in order.
    Stopped,
    /// A shim that did not answer; its process was killed and the device restored.
    Killed,
    /// The remains of a shim whose process was gone.
    Restored,
    /// There was nothing to end.
    Nothing,
}

/// Why a device was not restored.
#[derive(Debug, thiserror::Error)]
pub enum DownError {
    /// Access to the shim's place failed.
    #[error(transparent)]
    RuntimeFiles(#[from] RuntimeFilesError),
    /// The shim refused to end.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The shim's process could not be killed.
    #[error("the shim of `{device}` (process {pid}) does not end: {source}; `kill -9 {pid}` does")]
    Goes {
        /// The device.
        device: String,
        /// Number of its process.
        pid: u32,
        /// The system's error.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("another process sets up or ends the shim of `{0}`; try again")]
    Busy(String),
    /// Restoring the device failed.
    #[error(transparent)]
    Shim(#[from] ShimError),
    /// The state could not be removed.
    #[error("removing the state of the shim: {0}")]
    State(io::Error),
}

/// Ends the shim of a place, if there is one, and restores the device.
///
/// # Errors
/// See [`DownError`].
pub fn down(place: &RuntimeFiles) -> Result<Down, DownError> {
    let asked = match ask(place, &Request::Stop) {
        Ok(_) => Some(Down::Stopped),
        Err(AskError::NoAnswer { .. }) => None,
        // A shim that is being set up or is ending has no socket but holds the lock.
        Err(AskError::NoShim { .. }) => return clean(place, BUSY),
        Err(error) => return Err(error.into()),
    };
    if let Some(stopped) = asked
        && place.lock(PATIENCE)?.is_some()
    {
        return Ok(stopped);
    }
    kill_holder(place)?;
    clean(place, PATIENCE)?;
    Ok(Down::Killed)
}

/// Kills the process that holds the lock of a place.
fn kill_holder(place: &RuntimeFiles) -> Result<(), DownError> {
    let Some(state) = State::read(place).filter(|_| place.is_taken().unwrap_or(false)) else {
        return Ok(());
    };
    let is_still_there = || State::read(place).as_ref() == Some(&state) && is_taken(place);
    kill(state.pid, is_still_there).map_err(|source| DownError::Goes {
        device: place.device().to_owned(),
        pid: state.pid,
        source,
    })
}

fn is_taken(place: &RuntimeFiles) -> bool {
    place.is_taken().unwrap_or(false)
}

/// Restores the device, if the lock is free.
fn clean(place: &RuntimeFiles, patience: Duration) -> Result<Down, DownError> {
    let busy = || DownError::Busy(place.device().to_owned());
    place.make()?;
    let _lock = place.lock(patience)?.ok_or_else(busy)?;
    let had_state = place.state().exists();
    match restore(place.device()) {
        // The changes made by the shim are gone with the device.
        Err(error) if had_state && is_gone(&error) => {}
        restored => restored?,
    }
    place.clear().map_err(DownError::State)?;
    Ok(if had_state { Down::Restored } else { Down::Nothing })
}
