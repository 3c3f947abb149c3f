//! Settings that the user-space back end refuses.

use rtether_model::endnode::{Detector, Receive, Smoothing};
use rtether_model::quantity::{Duration, Instant};
use rtether_model::smoother::Mode;
use rtether_proto::probe::PATHS_MAX;

use super::plan::Parts;
use super::receive::ReceiveSide;
use super::settings::listens;
use super::transmit::TransmitSide;
use super::{Backend, Probing, Refusal, Settings, ShimError, Signal};
use crate::link::MacAddress;

fn refuse(option: &'static str, reason: &'static str) -> Result<(), ShimError> {
    let backend = Backend::User;
    Err(ShimError::Refused(Refusal { backend, option, reason }))
}

/// Checks that the user-space back end can carry out the settings.
///
/// # Errors
/// Returns the option it cannot carry out and why, or the reason the settings are inconsistent.
pub fn check(settings: &Settings) -> Result<(), ShimError> {
    if settings.rate.as_bps() == 0 {
        return refuse("rate", "nothing could be sent; give the rate of the link");
    }
    if let Some(Receive::Instances { .. }) = settings.layer.receive {
        return refuse(
            "receive",
            "the kernel has a single stack, not one instance per class; use queues",
        );
    }
    let smoother = settings.layer.smoother.as_ref();
    // A fixed period uses no detector.
    let adapts = |of: &&Smoothing| !matches!(of.config.mode, Mode::None | Mode::Fixed(_));
    let detector = smoother.filter(adapts).map(|smoothing| smoothing.detector);
    if let Some(Detector::OwnCollisions { .. }) = detector
        && settings.signal == Signal::Port
    {
        return refuse(
            "signal",
            "a port does not see collisions; take those of the driver or the reports of a hub, or \
             another detector",
        );
    }
    let probes = settings.probes.as_ref();
    if let Some(Detector::ProbeDelay { .. }) = detector
        && probes.is_none_or(|probes| probes.to.is_empty())
    {
        return refuse(
            "detector",
            "no station is probed; list one beyond the bottleneck, with a shim that answers, in \
             `probes`",
        );
    }
    if let Some(probes) = probes {
        check_probes(probes)?;
    }
    TransmitSide::new(Instant::ZERO, settings, 0)?;
    ReceiveSide::new(settings)?;
    Ok(())
}

fn check_probes(probes: &Probing) -> Result<(), ShimError> {
    if probes.every <= Duration::ZERO {
        return refuse("probes", "the time between two probes must be positive");
    }
    if probes.to.len() > PATHS_MAX {
        return refuse("probes", "at most eight stations can be probed");
    }
    let is_one = |peer: &MacAddress| peer.0[0] & 1 == 0 && peer.0 != [0; 6];
    if !probes.to.iter().all(is_one) {
        return refuse(
            "probes",
            "a group address or the zero address does not answer; give that of a station",
        );
    }
    Ok(())
}

/// Checks whether the settings can be changed while the shim runs.
pub(super) fn check_change(from: &Settings, to: &Settings) -> Result<(), ShimError> {
    check(to)?;
    if Parts::of(from) != Parts::of(to) {
        return refuse(
            "receive",
            "whether received frames pass the shim is fixed at set-up; take it down and \
             up again",
        );
    }
    if from.rate != to.rate && listens(to) {
        return refuse(
            "rate",
            "a utilization detector keeps its initial rate; take the shim down and up again",
        );
    }
    if listens(from) != listens(to) {
        return refuse(
            "detector",
            "promiscuous mode is fixed at set-up; take the shim down and up again",
        );
    }
    if (from.signal == Signal::Reports) != (to.signal == Signal::Reports) {
        return refuse(
            "signal",
            "whether hub reports are read is fixed at set-up; take the shim down and up again",
        );
    }
    if from.probes != to.probes {
        return refuse(
            "probes",
            "the stations to probe are fixed at set-up; take the shim down and up again",
        );
    }
    Ok(())
}
