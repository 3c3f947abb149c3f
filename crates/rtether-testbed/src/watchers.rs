//! Stalls of the host, found beside a measurement.

use std::sync::Arc;

use rtether::meter::Gaps;
use rtether_live::clock::Clock;
use rtether_live::stall::{Awaited, Stalls, Watcher};
use rtether_live::thread::Placement;
use rtether_live::wait::Waiting;

use super::PingOptions;

/// Starts watchers for stalls that the measuring thread cannot notice itself. They rest while
/// what is `awaited` comes soon, unless they watch for others on the same host.
pub(super) fn watchers(
    options: &PingOptions,
    cores: &[usize],
    clock: Clock,
    awaited: Option<Arc<Awaited>>,
) -> Vec<Watcher> {
    let own = options.thread.placement;
    if options.is_same_host {
        let all = cores.iter().map(|&core| Placement { core: Some(core), ..own });
        return all.map(|there| Watcher::start(there, clock)).collect();
    }
    let is_blind = options.thread.waiting == Waiting::Block;
    is_blind.then(|| Watcher::start_beside(own, clock, awaited)).into_iter().collect()
}

/// Stops the watchers and returns all stalls.
pub(super) fn gaps(mut stalls: Stalls, watchers: Vec<Watcher>) -> Gaps {
    for watcher in watchers {
        stalls.extend(watcher.finish());
    }
    stalls.found.into_iter().collect()
}
