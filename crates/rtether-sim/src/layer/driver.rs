//! Between stack and port: the engines of [`rtether_proto::egress`].

use alloc::string::{String, ToString};

use rtether_model::endnode::{Detector, Layer};
use rtether_model::quantity::{BitRate, Instant};
use rtether_model::smoother::Mode;
use rtether_proto::egress::{Egress, Seeds};

use crate::random::{Draw, Purpose};

/// Returns the egress of a station; `rate` is that of its link.
pub(super) fn egress(
    layer: &Layer,
    name: &str,
    seed: u64,
    rate: BitRate,
) -> Result<Egress<u32>, String> {
    let smoothing = layer.smoother.as_ref();
    if let Some(Detector::ProbeDelay { .. } | Detector::Marks { .. }) =
        smoothing.map(|smoothing| smoothing.detector)
    {
        return Err("probes and marks are not simulated".to_string());
    }
    let mut draw = Draw::new(seed, name, Purpose::Smoother);
    // The NT variant draws first, to seed its own generator.
    let is_nt = smoothing.is_some_and(|smoothing| matches!(smoothing.config.mode, Mode::Nt(_)));
    let jitter = if is_nt { draw.seed() } else { 0 };
    let seeds = Seeds {
        jitter,
        phase: draw.seed(),
        visibility: Draw::new(seed, name, Purpose::Visibility).seed(),
    };
    Egress::new(Instant::ZERO, layer, rate, seeds).map_err(|error| error.to_string())
}
