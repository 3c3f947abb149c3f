//! What holds for a watch of any frames; for a test and the fuzz target.

use rtether::report::format::Render;
use rtether::scenario::load;
use rtether::watch::{Alert, Settings, Watch, metrics};

const PLAN: &str = "rtether: 1
name: watched
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { s1: { ports: 2 } }
links:
  - { ends: [a, \"s1:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s1:2\"], rate: 100 Mbit/s }
flows:
  - { name: samples, from: a, to: b, over: sv, delivery: multicast, period: 1 ms, size: 60 B, pcp: 4, vlan: 5, deadline: 1 ms }
  - { name: trip, from: b, to: a, over: goose, delivery: multicast, min_gap: 4 ms, size: 100 B, pcp: 6, deadline: 3 ms }
  - { name: setpoint, from: a, to: b, period: 20 ms, size: 200 B, jitter: 1 ms }
";
/// Most strangers that a watch keeps.
const STRANGERS: usize = 1_000;

/// Reads octets as frames: for each an octet for the time since the one before, 2^n ns, backwards if
/// its highest bit is set, an octet for the length, and the frame. Returns the number of frames.
///
/// # Panics
///
/// Panics if a frame is not counted, an alert is no line, or strangers have no limit.
#[allow(unreachable_pub, reason = "a test and a fuzz target have it as a module")]
pub fn check(octets: &[u8]) -> u64 {
    let plan = load("watched.yaml", PLAN).into_scenario().expect("a plan");
    let flows = plan.flows.len();
    let mut watch = Watch::new(plan, Settings::default());
    let mut alerts = 0_u64;
    let mut tell = |alert: &Alert| {
        assert_eq!(alert.line().lines().count(), 1, "{alert:?}");
        assert!(alert.json().starts_with('{') && !alert.json().contains('\n'));
        alerts += 1;
    };
    let (mut now, mut frames, mut rest) = (0_i64, 0_u64, octets);
    while let [step, length, more @ ..] = rest {
        let span = 1_i64 << (step & 63).min(33);
        now = now.saturating_add(if step & 128 > 0 { -span } else { span });
        let (frame, more) = more.split_at(usize::from(*length).min(more.len()));
        if step & 64 > 0 {
            watch.tick(now, now, &mut tell);
        }
        watch.take(now, frame, frame.len(), &mut tell);
        frames += 1;
        rest = more;
    }
    let outcome = watch.end(now, &mut tell);
    assert_eq!(outcome.counts.frames, frames);
    assert!(outcome.flows.len() <= flows + STRANGERS);
    assert!(metrics(&outcome, "eth0").ends_with('\n'));
    assert!(outcome.json().ends_with("}\n"));
    frames
}
