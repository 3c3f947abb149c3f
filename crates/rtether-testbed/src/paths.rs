//! When requests and replies passed each point: from the drivers to the measurement, and whether
//! the clocks permit one-way delays.

use std::sync::atomic::AtomicBool;

use rtether_live::clock::Clock;
use rtether_live::host;
use rtether_live::link::Link;
use rtether_live::meter::Meter;
use rtether_live::stamps::{Collector, PeerTrack, Track};
use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::{Codec, Config, Interval, Prober, details};

use super::{LiveError, PingOptions};
use rtether::meter::{Clocks, Measurement, Path, PeerPath};

/// Requests sent to ask the peer about its clock before it counts as silent.
const TRIES: u32 = 5;

/// Asks the peer for its identity, and refuses if one-way delays would mean nothing.
pub(super) fn ask<L: Link>(
    options: &PingOptions,
    link: L,
    codec: &Codec,
    stop: &AtomicBool,
) -> Result<L, LiveError> {
    let config = Config {
        series: 1,
        samples: TRIES,
        interval: Interval::Adaptive,
        pause: Duration::ZERO,
        timeout: options.config.timeout,
    };
    let clock = Clock::start();
    let prober = Prober::new(config, Instant::ZERO)?;
    let waiting = options.thread.waiting;
    let codec = another_session(codec);
    let meter = Meter::new(link, codec, prober, clock, waiting, details::SIZE);
    let mut meter = meter.with_details();
    let ended = meter.run(stop, |_| {});
    let refused = |why: String| LiveError::OneWay { target: options.target.clone(), why };
    ended.map_err(|error| refused(super::why_ended(&error)))?;
    let tracks = meter.take_collector().map(Collector::finish);
    let tracks = tracks.map_or_else(Vec::new, |(tracks, ..)| tracks);
    if tracks.is_empty() {
        return Err(refused("the peer does not answer; start `rtether echo` there".into()));
    }
    let peer = tracks.iter().find_map(|track| track.peer);
    let peer = peer.ok_or_else(|| refused("the peer's `rtether echo` is too old".into()))?;
    clocks(&peer, host::identity(), host::clock_error_us()).map_err(refused)?;
    Ok(meter.into_link())
}

/// Returns the format with another session: packets still under way must not count as replies of
/// the measurement.
fn another_session(codec: &Codec) -> Codec {
    match codec {
        Codec::Message { session } => Codec::Message { session: !session },
        Codec::Icmp { .. } | Codec::Cndep { .. } => codec.clone(),
    }
}

/// Returns how far apart the clocks of the two hosts may be, or why that is unknown.
fn clocks(
    peer: &PeerTrack,
    own: Option<[u8; 16]>,
    own_error_us: Option<u32>,
) -> Result<Clocks, String> {
    if own == Some(peer.host) {
        return Ok(Clocks::Same);
    }
    let remedy = "synchronize both with PTP or NTP, and look with `adjtimex --print` or \
                  `chronyc tracking`";
    match (own_error_us, peer.clock_error_us) {
        (Some(own), Some(peer)) => {
            Ok(Clocks::Apart { error: Duration::from_us(i64::from(own) + i64::from(peer)) })
        }
        (None, Some(_)) => Err(format!("this host's clock is not synchronized; {remedy}")),
        (Some(_), None) => Err(format!("the peer's clock is not synchronized; {remedy}")),
        (None, None) => Err(format!("neither clock is synchronized; {remedy}")),
    }
}

/// Puts the collected tracks into the measurement.
pub(super) fn take(options: &PingOptions, collector: Collector, measurement: &mut Measurement) {
    let (tracks, dropped, steps) = collector.finish();
    measurement.oddities.extend([("clock_steps", steps), ("tracks_dropped", dropped)]);
    let (own, error) = (host::identity(), host::clock_error_us());
    let peer = tracks.iter().rev().find_map(|track| track.peer);
    let clocks = peer.map(|peer| clocks(&peer, own, error));
    if options.one_way {
        measurement.clocks = clocks.and_then(Result::ok);
    }
    measurement.is_stamped = options.stamps;
    measurement.paths = tracks.iter().map(|track| path(track, own)).collect();
}

fn path(track: &Track, own: Option<[u8; 16]>) -> Path {
    Path {
        sample: track.sample,
        queued_at: track.queued_at,
        driver_at: track.driver_at,
        arrived_at: track.arrived_at,
        peer: track.peer.map(|peer| PeerPath {
            has_our_clock: own == Some(peer.host),
            arrived_at: peer.arrived_at,
            read_at: peer.read_at,
            answered_at: peer.answered_at,
            queued_at: peer.queued_at,
            driver_at: peer.driver_at,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(clock_error_us: Option<u32>) -> PeerTrack {
        PeerTrack {
            host: [1; 16],
            clock_error_us,
            arrived_at: None,
            read_at: Instant::ZERO,
            answered_at: Instant::ZERO,
            queued_at: None,
            driver_at: None,
        }
    }

    #[test]
    fn clocks_are_the_same_or_synchronized_or_refused() {
        assert_eq!(clocks(&peer(None), Some([1; 16]), None), Ok(Clocks::Same));
        let error = Duration::from_us(30);
        let apart = Ok(Clocks::Apart { error });
        assert_eq!(clocks(&peer(Some(20)), Some([2; 16]), Some(10)), apart);
        let why = clocks(&peer(None), Some([2; 16]), Some(10)).expect_err("refused");
        assert!(why.contains("the peer's clock") && why.contains("PTP"), "{why}");
        // A host without a known identity cannot be the same.
        assert!(clocks(&peer(None), None, None).is_err());
    }
}
