//! A plan against what comes at a mirror port, for a while or for months.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use rtether::scenario::Scenario;
use rtether::watch::{Alert, Outcome, Settings, Watch, metrics};
use rtether_live::clock::monotonic_ns;
use rtether_live::confine::Confinement;
use rtether_live::mirror::{Mirror, now};
use rtether_model::quantity::Duration;

use super::rights::give_up;
use super::{LiveError, Thread};

/// Longest wait for a frame: flows that fall silent are noticed this much later.
const WAIT: StdDuration = StdDuration::from_millis(50);
/// Frames between two looks at the clock.
const AT_ONCE: u32 = 1_000;
/// Time between two writings of metrics, in nanoseconds.
const METRICS: i64 = 5_000_000_000;

/// What to watch, and how.
#[derive(Debug)]
pub struct WatchOptions {
    /// Device at the mirror port.
    pub device: String,
    /// How to judge.
    pub settings: Settings,
    /// When it ends; `None` for never.
    pub duration: Option<Duration>,
    /// File that has the metrics, open for writing.
    pub metrics: Option<File>,
    /// What to give up once the socket is open.
    pub confinement: Option<Confinement>,
}

/// Watches until `stop`, or for its time; says once it is ready, and tells each alert.
///
/// # Errors
/// If the device cannot be opened, or is gone later.
pub fn watch(
    plan: Scenario,
    options: &WatchOptions,
    stop: &AtomicBool,
    ready: impl FnOnce(&str),
    tell: &mut dyn FnMut(&Alert),
) -> Result<Outcome, LiveError> {
    let mut mirror = Mirror::open(&options.device)?;
    let failed = |error| LiveError::socket(format!("watching `{}`", options.device), error);
    let confined = give_up(options.confinement.as_ref(), Thread::default())?;
    let mut watch = Watch::new(plan, options.settings);
    let confined = confined.map_or_else(String::new, |confined| format!(", {confined}"));
    let blind = watch.blind();
    let blind = blind.map_or_else(String::new, |words| format!("; {words}"));
    ready(&format!("`{}`{confined}; learning takes {}{blind}", options.device, watch.learning()));
    let begin = monotonic_ns();
    let mut written = begin;
    loop {
        for _ in 0..AT_ONCE {
            let Some(seen) = mirror.receive().map_err(failed)? else {
                break;
            };
            watch.take(seen.at, seen.octets, seen.length, tell);
        }
        let dropped = mirror.dropped();
        if dropped > 0 {
            watch.skip(now(), dropped, tell);
        }
        let clock = monotonic_ns();
        watch.tick(now(), clock, tell);
        if clock - written >= METRICS {
            write(options, &watch.outcome()).map_err(failed)?;
            written = clock;
        }
        let span = options.duration.map(Duration::as_ns_floor);
        if stop.load(Ordering::Relaxed) || span.is_some_and(|span| clock - begin >= span) {
            break;
        }
        mirror.wait(WAIT).map_err(failed)?;
    }
    drain(&mut mirror, &mut watch, tell).map_err(failed)?;
    let outcome = watch.end(now(), tell);
    write(options, &outcome).map_err(failed)?;
    Ok(outcome)
}

/// Takes what waits in the socket: frames that had come by now are seen, or counted as dropped.
fn drain(mirror: &mut Mirror, watch: &mut Watch, tell: &mut dyn FnMut(&Alert)) -> io::Result<()> {
    let end = now();
    while let Some(seen) = mirror.receive()? {
        if seen.at > end {
            // More than was there: under a flood the socket is never empty.
            break;
        }
        watch.take(seen.at, seen.octets, seen.length, tell);
    }
    let dropped = mirror.dropped();
    if dropped > 0 {
        watch.skip(end, dropped, tell);
    }
    Ok(())
}

/// Writes the metrics over those from before: without rights no other file can be opened.
fn write(options: &WatchOptions, outcome: &Outcome) -> io::Result<()> {
    let Some(file) = &options.metrics else {
        return Ok(());
    };
    let page = metrics(outcome, &options.device);
    file.write_all_at(page.as_bytes(), 0)?;
    file.set_len(page.len().try_into().unwrap_or(u64::MAX))
}
