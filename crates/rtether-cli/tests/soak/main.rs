//! Minutes of mixed load through `rtether shim`, between two namespaces of this host: reloads, link
//! flaps, `kill -9`, orderly ends, changes of the MTU, status requests, drawn from a seed.
//!
//! Oracle: numbered datagrams. Each one missing was lost while a device was down, or between the
//! end of one shim and the first frames through the next, or the shim has counted it; the counts of
//! exclusive queues equal ours. TCP delivers every octet. The process of a long-lived shim does not
//! grow. At the end the device is as it was.
//!
//! ```sh
//! RTETHER_SOAK_SECONDS=900 cargo test --release -p rtether-cli --test soak -- --nocapture user
//! ```
//!
//! `RTETHER_SOAK_SECONDS` is the length (20; 900 with `RTETHER_NIGHTLY=1`), `RTETHER_SEED` the seed
//! (1). Needs root, iproute2 and TUN; otherwise it prints why it cannot run, and is counted.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "counts are printed, and what is skipped"
)]

mod account;
mod bed;
mod config;
mod flow;
mod report;
mod run;
mod schedule;
mod shim;
mod tcp;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use bed::Bed;
use rtether_testkit::skip;
use run::{Soak, Wish};

/// Seconds of a soak among other tests, and in a long run.
const SHORT: u64 = 20;
const LONG: u64 = 15 * 60;

/// One at a time: each needs a core for its load and one for its shim.
static TURN: Mutex<()> = Mutex::new(());
/// Set by Ctrl-C.
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

#[test]
fn user() {
    soak("user");
}

#[test]
fn kernel() {
    soak("kernel");
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

fn soak(backend: &'static str) {
    static HANDLER: Once = Once::new();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    HANDLER.call_once(|| {
        ctrlc::set_handler(|| IS_STOPPED.store(true, Ordering::Relaxed)).unwrap();
    });
    let is_long = std::env::var("RTETHER_NIGHTLY").is_ok_and(|value| value == "1");
    let seconds = number("RTETHER_SOAK_SECONDS").unwrap_or(if is_long { LONG } else { SHORT });
    let seed = number("RTETHER_SEED").unwrap_or(1);
    let wish = Wish { backend, seed, length: Duration::from_secs(seconds) };
    let bed = match Bed::new().and_then(|bed| bed.can_do(backend).map(|()| bed)) {
        Ok(bed) => bed,
        Err(reason) => return skip(&format!("back end {backend}: {reason}")),
    };
    let before = bed.look();
    let mut soak = Soak::start(wish, bed, &IS_STOPPED).unwrap();
    let done = soak.run();
    let after = soak.look_at_device();
    println!("{backend}, seed {seed}, {seconds} s\n{}", soak.tally.table());
    drop(soak);
    if let Err(error) = done {
        panic!(
            "{error}\nto repeat it: RTETHER_SOAK_SECONDS={seconds} RTETHER_SEED={seed} cargo test \
             -p rtether-cli --test soak -- --nocapture {backend}"
        );
    }
    assert_eq!(before, after, "the device is as it was");
}
