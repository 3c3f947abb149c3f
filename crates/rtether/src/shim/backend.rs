//! The two back ends behind one face.

use rtether_live::link::{Device, DeviceError};
use rtether_live::shim::{self as live, Backend, Handle, Settings, ShimError, Status, kernel};

/// Commands that set a shim up and those that take it down, as they can be repeated by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// In order.
    pub up: Vec<String>,
    /// In order.
    pub down: Vec<String>,
}

/// Looks at a device and says what would be done to it.
///
/// # Errors
/// If the settings are refused, or the device is not fit.
pub fn prepare(device: &str, backend: Backend, settings: &Settings) -> Result<Commands, ShimError> {
    let lines = |commands: Vec<rtether_live::namespace::CommandLine>| {
        commands.iter().map(ToString::to_string).collect()
    };
    match backend {
        Backend::User => {
            let plan = live::Shim::prepare(device, settings)?;
            Ok(Commands {
                up: lines(plan.commands()),
                down: lines(plan.undo()),
            })
        }
        Backend::Kernel => {
            let plan = kernel::Shim::prepare(device, settings)?;
            Ok(Commands {
                up: lines(plan.commands()),
                down: lines(plan.undo()),
            })
        }
    }
}

/// Returns whether it is what was asked for that is to blame, and not the machine.
pub fn is_wrong_input(error: &ShimError) -> bool {
    matches!(
        error,
        ShimError::Device(DeviceError::Unknown { .. } | DeviceError::NoEthernet { .. })
            | ShimError::Refused(_)
            | ShimError::Layer(_)
            | ShimError::Shape { .. }
    )
}

/// Returns whether the device is gone: then whatever was changed about it is gone as well.
pub(super) fn is_gone(error: &ShimError) -> bool {
    matches!(error, ShimError::Device(DeviceError::Unknown { .. }))
}

/// Leaves a device as it was before a shim whose process has gone.
pub(super) fn restore(device: &str) -> Result<(), ShimError> {
    Device::named(device)?;
    live::restore(device)?;
    kernel::restore(device)?;
    Ok(())
}

/// A shim of either kind.
pub(crate) enum Shim {
    /// The engines in a thread.
    User(Box<live::Shim>),
    /// Filters and queues of the kernel.
    Kernel(Box<kernel::Shim>),
}

impl Shim {
    pub(crate) fn up(
        device: &str,
        backend: Backend,
        settings: Settings,
    ) -> Result<Self, ShimError> {
        match backend {
            Backend::User => Ok(Self::User(Box::new(live::Shim::up(device, settings)?))),
            Backend::Kernel => {
                let shim = kernel::Shim::up(device, settings)?;
                Ok(Self::Kernel(Box::new(shim)))
            }
        }
    }

    pub(crate) fn handle(&self) -> Handle {
        match self {
            Self::User(shim) => shim.handle(),
            Self::Kernel(shim) => shim.handle(),
        }
    }

    pub(crate) fn run(&mut self) -> Result<(), ShimError> {
        match self {
            Self::User(shim) => shim.run(),
            Self::Kernel(shim) => shim.run(),
        }
    }

    pub(crate) fn down(self) -> Result<Status, ShimError> {
        match self {
            Self::User(shim) => shim.down(),
            Self::Kernel(shim) => shim.down(),
        }
    }
}
