//! A common interface to both back ends.

use rtether::report::document::{self, Document};
use rtether_live::link::{Device, DeviceError};
use rtether_live::shim::{self as live, Backend, Handle, Settings, ShimError, Status, kernel};
use schemars::JsonSchema;
use serde::Serialize;

/// Commands that set a shim up and take it down, which can be repeated by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Commands {
    /// Set-up, in order.
    pub up: Vec<String>,
    /// Tear-down, in order.
    pub down: Vec<String>,
}

impl Commands {
    /// Returns one JSON document.
    pub fn json(&self, device: &str, backend: Backend) -> String {
        document::text(&PlanJson { device, backend: backend.name(), commands: self })
    }
}

/// The commands of a shim, which can be repeated by hand.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlanJson<'a> {
    /// Name of the device.
    device: &'a str,
    /// The back end: `user` or `kernel`.
    backend: &'static str,
    #[serde(flatten)]
    commands: &'a Commands,
}

impl Document for PlanJson<'_> {
    const SCHEMA: &'static str = "rtether.shim-plan/1";
}

/// Inspects a device and returns what would be done to it.
///
/// # Errors
/// If the settings are refused, or the device is not suitable.
pub fn prepare(device: &str, backend: Backend, settings: &Settings) -> Result<Commands, ShimError> {
    let lines = |commands: Vec<rtether_live::namespace::CommandLine>| {
        commands.iter().map(ToString::to_string).collect()
    };
    match backend {
        Backend::User => {
            let plan = live::Shim::prepare(device, settings)?;
            Ok(Commands { up: lines(plan.commands()), down: lines(plan.undo()) })
        }
        Backend::Kernel => {
            let plan = kernel::Shim::prepare(device, settings)?;
            Ok(Commands { up: lines(plan.commands()), down: lines(plan.undo()) })
        }
    }
}

/// Returns whether the user's input caused the error, rather than the machine.
pub fn is_wrong_input(error: &ShimError) -> bool {
    matches!(
        error,
        ShimError::Device(DeviceError::Unknown { .. } | DeviceError::NoEthernet { .. })
            | ShimError::Refused(_)
            | ShimError::Layer(_)
            | ShimError::Shape { .. }
    )
}

/// Returns whether the device is gone, and with it everything that was changed about it.
pub(super) fn is_gone(error: &ShimError) -> bool {
    matches!(error, ShimError::Device(DeviceError::Unknown { .. }))
}

/// Restores a device after the shim's process has gone.
pub(super) fn restore(device: &str) -> Result<(), ShimError> {
    Device::named(device)?;
    live::restore(device)?;
    kernel::restore(device)?;
    Ok(())
}

/// A shim with either back end.
pub enum Shim {
    /// The engines in a thread.
    User(Box<live::Shim>),
    /// Filters and queues of the kernel.
    Kernel(Box<kernel::Shim>),
}

impl Shim {
    /// Sets a shim up on a device.
    ///
    /// # Errors
    /// If the back end cannot carry out the settings, or the device refuses.
    pub fn up(device: &str, backend: Backend, settings: Settings) -> Result<Self, ShimError> {
        match backend {
            Backend::User => Ok(Self::User(Box::new(live::Shim::up(device, settings)?))),
            Backend::Kernel => {
                let shim = kernel::Shim::up(device, settings)?;
                Ok(Self::Kernel(Box::new(shim)))
            }
        }
    }

    /// Returns the handle that stops, changes and reads the shim from other threads.
    pub fn handle(&self) -> Handle {
        match self {
            Self::User(shim) => shim.handle(),
            Self::Kernel(shim) => shim.handle(),
        }
    }

    /// Runs until it is stopped.
    ///
    /// # Errors
    /// If the device fails.
    pub fn run(&mut self) -> Result<(), ShimError> {
        match self {
            Self::User(shim) => shim.run(),
            Self::Kernel(shim) => shim.run(),
        }
    }

    /// Drains it and restores the device.
    ///
    /// # Errors
    /// If something could not be restored.
    pub fn down(self) -> Result<Status, ShimError> {
        match self {
            Self::User(shim) => shim.down(),
            Self::Kernel(shim) => shim.down(),
        }
    }
}
