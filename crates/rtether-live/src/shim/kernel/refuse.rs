//! Refuses settings that HTB and a control law that only sets rates cannot carry out.

use rtether_model::endnode::{
    Detector, Layer, Receive, RingEmpty, TransmitConfig, TransmitStrategy,
};
use rtether_model::quantity::{BitRate, Bytes};
use rtether_model::smoother::{Adaptive, Doubling, Mode};

use crate::shim::{Backend, Refusal, Settings};

/// Checks that this back end can carry out the settings on a device with an MTU of `mtu` octets.
pub(super) fn check(settings: &Settings, mtu: usize) -> Result<(), Refusal> {
    let Layer { receive, transmit, smoother, .. } = &settings.layer;
    if settings.rate == BitRate::from_bps(0) {
        return refuse("rate", "a link with rate zero sends nothing");
    }
    if settings.probes.is_some() {
        return refuse(
            "probes",
            "the kernel cannot send and answer probes in time; omit this, or use the back end \
             `user`",
        );
    }
    match receive {
        None => {}
        Some(Receive::Queues(_)) => {
            return refuse(
                "receive",
                "the kernel passes frames to the stack as they arrive, without queues; omit \
                 this, or use the back end `user`",
            );
        }
        Some(Receive::Instances { .. }) => {
            return refuse(
                "receive",
                "the kernel has one stack, not an instance for each class; leave it out",
            );
        }
    }
    if let Some(transmit) = transmit {
        check_transmit(transmit, settings.layer.table.count())?;
    }
    let Some(smoothing) = smoother else {
        return Ok(());
    };
    match smoothing.config.mode {
        Mode::None | Mode::Fixed(_) => {}
        Mode::Adaptive(adaptive) => check_adaptive(&adaptive)?,
        Mode::Nt(_) => {
            return refuse(
                "smoother.mode",
                "`nt` releases an amount per period, but HTB enforces a rate; use `himd`, or the \
             back end `user`",
            );
        }
        Mode::Rtether(_) => {
            return refuse(
                "smoother.mode",
                "`rtether` needs the time at which each frame got through, which the kernel does \
             not report; use `himd`, or the back end `user`",
            );
        }
    }
    if smoothing.config.limits.mtu < Bytes::new(mtu as u64) {
        return refuse(
            "smoother.mtu",
            "HTB does not check packet lengths; set the device to that MTU",
        );
    }
    check_detector(smoothing.detector)
}

#[allow(
    clippy::wildcard_enum_match_arm,
    clippy::match_wildcard_for_single_variants,
    reason = "a new detector is refused until this back end can feed it"
)]
fn check_detector(detector: Detector) -> Result<(), Refusal> {
    match detector {
        Detector::OwnCollisions { .. }
        | Detector::Backlog { .. }
        | Detector::Utilization { .. }
        | Detector::Marks { .. } => Ok(()),
        _ => refuse(
            "smoother.detector",
            "this detector needs data on each frame, which the kernel does not report; use \
             another detector, or the back end `user`",
        ),
    }
}

fn check_transmit(transmit: &TransmitConfig, classes: u8) -> Result<(), Refusal> {
    match transmit.strategy {
        TransmitStrategy::Fifo => Ok(()),
        TransmitStrategy::Strict { .. } => refuse(
            "transmit.strategy",
            "`strict` lets a low frame follow each high one, which HTB cannot do; use \
             `moderate`, or the back end `user`",
        ),
        TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting } => refuse(
            "transmit.empty",
            "HTB hands over a frame when the previous one is out, which is `empty: idle`; use \
             that, or the back end `user`",
        ),
        TransmitStrategy::Moderate { .. } => {
            let top = transmit.queue_limits.len().saturating_sub(1);
            match transmit.high_from {
                Some(class) if usize::from(class) < top => refuse(
                    "transmit.high_from",
                    "HTB has one queue per class, without a common order of arrival; omit this, \
                     or use the back end `user`",
                ),
                _ => Ok(()),
            }
        }
        TransmitStrategy::Rings { count } if count < classes => refuse(
            "transmit.rings",
            "HTB has one queue per class and no shared rings; give each class a ring, or use the \
             back end `user`",
        ),
        TransmitStrategy::Rings { .. } => Ok(()),
        TransmitStrategy::Selection(_) => refuse(
            "transmit.strategy",
            "HTB chooses by priority only; use `rings` with a ring for each class for strict \
             priority, or the back end `user`",
        ),
    }
}

fn check_adaptive(adaptive: &Adaptive) -> Result<(), Refusal> {
    if adaptive.doubling == Doubling::PerCall {
        return refuse(
            "smoother.doubling",
            "the law does not run for each packet; use `per-report`, or the back end `user`",
        );
    }
    if adaptive.shift_refresh || adaptive.forgive_debt {
        return refuse(
            "smoother.shift_refresh, smoother.forgive_debt",
            "an HTB class gains credits continuously and its bucket cannot be emptied; omit \
             them, or use the back end `user`",
        );
    }
    Ok(())
}

fn refuse(option: &'static str, reason: &'static str) -> Result<(), Refusal> {
    Err(Refusal { backend: Backend::Kernel, option, reason })
}

#[cfg(test)]
mod tests {
    use rtether_model::endnode::{ReceiveConfig, ReceiveSelection, Smoothing};
    use rtether_model::quantity::Duration;
    use rtether_model::smoother::{Config, Fixed, Nt, Rule, TurnBucket};

    use super::*;

    fn refused(change: impl FnOnce(&mut Layer)) -> Option<&'static str> {
        let mut layer = Layer {
            transmit: Some(TransmitConfig {
                ring_limit: 16,
                queue_limits: vec![100, 100],
                high_from: None,
                strategy: TransmitStrategy::MODERATE,
            }),
            smoother: Some(smoothing(Mode::Adaptive(Adaptive::HIMD))),
            ..Layer::default()
        };
        change(&mut layer);
        let settings = Settings::new(layer, BitRate::from_mbps(100));
        let refusal = check(&settings, 1500).err()?;
        // Each refusal says what to do instead.
        let text = refusal.to_string();
        let remedies = ["use ", "leave ", "give "];
        assert!(remedies.iter().any(|&remedy| text.contains(remedy)), "{text}");
        Some(refusal.option)
    }

    fn smoothing(mode: Mode) -> Smoothing {
        Smoothing {
            config: Config::new(mode),
            rule: Rule::LINUX,
            ring: 2,
            detector: Detector::OwnCollisions { visibility_per_million: 1_000_000 },
        }
    }

    #[test]
    fn detectors_that_need_each_frame_are_refused() {
        let rate = BitRate::from_mbps(5);
        let [low, high] = [1_500, 6_000].map(Bytes::new);
        let window = Duration::from_ms(10);
        for (detector, expected) in [
            (Detector::Backlog { low, high }, None),
            (Detector::Utilization { threshold_percent: 50, window }, None),
            (Detector::Marks { threshold_percent: 0, window }, None),
            (Detector::ClearingRate { floor: rate }, Some("smoother.detector")),
        ] {
            let seen = refused(|layer| {
                layer.smoother =
                    Some(Smoothing { detector, ..smoothing(Mode::Adaptive(Adaptive::HIMD)) });
            });
            assert_eq!(seen, expected, "{detector:?}");
        }
    }

    /// Sets the strategy of the queues.
    fn strategy(strategy: TransmitStrategy) -> impl FnOnce(&mut Layer) {
        move |layer| {
            if let Some(transmit) = &mut layer.transmit {
                transmit.strategy = strategy;
            }
        }
    }

    /// Oracle: the list of what HTB cannot do, in issue and guide.
    #[test]
    fn what_cannot_be_done_is_refused() {
        assert_eq!(refused(|_| {}), None);
        let queues = Receive::Queues(ReceiveConfig {
            input_limit: 10,
            queue_limits: vec![10, 10],
            selection: ReceiveSelection::HighestFirst,
        });
        let instances = Receive::Instances { queue_limits: vec![10, 10] };
        for receive in [queues, instances] {
            assert_eq!(refused(|layer| layer.receive = Some(receive)), Some("receive"));
        }
        let one_waiting = TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting };
        for (wanted, expected) in [
            (TransmitStrategy::Fifo, None),
            (TransmitStrategy::Rings { count: 2 }, None),
            (TransmitStrategy::Rings { count: 1 }, Some("transmit.rings")),
            (TransmitStrategy::STRICT, Some("transmit.strategy")),
            (one_waiting, Some("transmit.empty")),
        ] {
            assert_eq!(refused(strategy(wanted)), expected, "{wanted:?}");
        }
        for (mode, expected) in [
            (Mode::None, None),
            (Mode::Fixed(Fixed::PAPER), None),
            (Mode::Adaptive(Adaptive::LINEAR), None),
            (Mode::Nt(Nt::paper(1)), Some("smoother.mode")),
            (Mode::Rtether(TurnBucket::DEFAULT), Some("smoother.mode")),
        ] {
            let seen = refused(|layer| layer.smoother = Some(smoothing(mode)));
            assert_eq!(seen, expected, "{mode:?}");
        }
    }
}
