//! Settings of both back ends, and refusals.

use rtether_model::endnode::Detector;
pub use rtether_model::shim::{Backend, Probing, Settings, Signal, Tags};
use rtether_model::smoother::Mode;

use crate::thread::Placement;

/// Returns whether smoother or detector process received frames.
pub(super) fn hears(settings: &Settings) -> bool {
    let detector = settings.layer.smoother.map(|smoothing| smoothing.detector);
    listens(settings) || matches!(detector, Some(Detector::Marks { .. }))
}

/// Returns whether they also need frames for other stations.
pub(super) fn listens(settings: &Settings) -> bool {
    settings.layer.smoother.is_some_and(|smoothing| {
        matches!(smoothing.config.mode, Mode::Rtether(_))
            || matches!(smoothing.detector, Detector::Utilization { .. })
    })
}

/// Returns the placement of the shim's thread.
pub fn placement(settings: &Settings) -> Placement {
    Placement {
        core: settings.core,
        priority: settings.priority,
        lock_memory: settings.priority.is_some(),
    }
}

/// An option that a back end cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("back end `{}` cannot do `{option}`: {reason}", backend.name())]
pub struct Refusal {
    /// The back end.
    pub backend: Backend,
    /// Name of the option in the configuration.
    pub option: &'static str,
    /// Why not, and what to do instead.
    pub reason: &'static str,
}
