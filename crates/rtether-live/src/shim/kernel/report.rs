//! Builds the status from the counters of kernel, program and control law.

use rtether_model::quantity::Bytes;
use rtether_model::wire;
use rtether_proto::endnode::MalformedCounters;
use rtether_proto::smoother::{ClassStatistics, State, Statistics};

use super::netlink::{ClassCounters, DeviceCounters};
use super::program::REASONS;
use super::regulator::Regulator;
use super::shape::{LINK, Shape, Treatment};
use crate::shim::{
    Backend, Direction, Drops, QueueStatus, Settings, SmootherStatus, Status, Traffic,
};

/// Addresses and type, not counted by the queues.
const HEADER: u64 = wire::HEADER.get();
/// Octets of the check sequence.
const CHECK_SEQUENCE: u64 = wire::FCS.get();
/// Check sequence, preamble and gap, not counted by devices.
const ON_WIRE: u64 = CHECK_SEQUENCE + wire::OVERHEAD.get();

/// Sources of the status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sources<'a> {
    pub(super) settings: &'a Settings,
    pub(super) shape: &'a Shape,
    pub(super) classes: &'a [ClassCounters],
    /// Counters of the egress program.
    pub(super) counts: &'a [u64],
    pub(super) law: Option<&'a Regulator>,
    /// Device counters at the start, and now.
    pub(super) first: &'a DeviceCounters,
    pub(super) device: &'a DeviceCounters,
}

/// Returns the status.
pub(super) fn status(sources: &Sources<'_>) -> Status {
    let Sources { settings, classes, .. } = sources;
    let mut status = Status::new(Backend::Kernel, settings.signal);
    let queues = (0..sources.shape.queues).map(|queue| queue_status(classes, queue));
    status.queues = queues.collect();
    let sum = |of: fn(&QueueStatus) -> u64| status.queues.iter().map(of).sum::<u64>();
    let (waiting, dropped) = (sum(|queue| queue.depth.into()), sum(|queue| queue.dropped));
    let link = classes.iter().find(|class| class.minor == LINK);
    let link = link.copied().unwrap_or_default();
    status.transmitted = Traffic {
        taken: link.frames + waiting + dropped,
        frames: link.frames,
        octets: link.octets + HEADER * link.frames,
    };
    let received = sources.device.received.since(sources.first.received);
    status.received =
        Traffic { taken: received.frames, frames: received.frames, octets: received.octets };
    status.drops = Drops { transmit_full: dropped, ..Drops::default() };
    status.smoother = sources.law.map(|law| smoother_status(law, classes));
    let (well_formed, rest) = sources.counts.split_first().unwrap_or((&0, &[]));
    let mut by_reason = [0; REASONS];
    for (to, from) in by_reason.iter_mut().zip(rest) {
        *to = *from;
    }
    status.malformed = MalformedCounters::of(*well_formed, by_reason);
    status
}

fn queue_status(classes: &[ClassCounters], queue: u8) -> QueueStatus {
    let own = classes.iter().filter(|class| {
        let is_leaf = class.minor >= Treatment::Passing as u16;
        is_leaf && class.minor & 0xF == u16::from(queue)
    });
    let all = sum(own);
    QueueStatus {
        direction: Direction::Transmit,
        class: queue,
        depth: all.waiting,
        accepted: all.frames + u64::from(all.waiting),
        released: all.frames,
        dropped: all.dropped,
        waited: None,
    }
}

/// The rate is the control law's; packets are those in the kernel.
fn smoother_status(law: &Regulator, classes: &[ClassCounters]) -> SmootherStatus {
    let [real_time, bulk] = [Treatment::RealTime, Treatment::Bulk].map(|kind| total(classes, kind));
    let count = |waiting: u32| usize::try_from(waiting).unwrap_or(usize::MAX);
    SmootherStatus {
        mode: law.smoothing().config.mode,
        state: State {
            // HTB's token count is only current when HTB has just looked at the class.
            credits: None,
            real_time_packets: count(real_time.waiting),
            bulk_packets: count(bulk.waiting),
            backlog: Bytes::new(u64::from(real_time.backlog) + u64::from(bulk.backlog)),
            ..law.state()
        },
        statistics: Statistics {
            real_time: class_statistics(&real_time),
            bulk: class_statistics(&bulk),
            ..*law.statistics()
        },
    }
}

fn class_statistics(counters: &ClassCounters) -> ClassStatistics {
    ClassStatistics {
        offered: counters.frames + counters.dropped + u64::from(counters.waiting),
        offered_size: Bytes::new(counters.octets + u64::from(counters.backlog)),
        sent: counters.frames,
        sent_size: Bytes::new(counters.octets),
        dropped: counters.dropped,
        ..ClassStatistics::default()
    }
}

/// Returns the sum over all queues of a kind.
pub(super) fn total(classes: &[ClassCounters], kind: Treatment) -> ClassCounters {
    sum(classes.iter().filter(|class| class.minor & !0xF == kind as u16))
}

fn sum<'a>(classes: impl Iterator<Item = &'a ClassCounters>) -> ClassCounters {
    classes.fold(ClassCounters::default(), |sum, class| ClassCounters {
        minor: sum.minor,
        octets: sum.octets + class.octets,
        frames: sum.frames + class.frames,
        dropped: sum.dropped + class.dropped,
        waiting: sum.waiting.saturating_add(class.waiting),
        backlog: sum.backlog.saturating_add(class.backlog),
    })
}

/// Returns the size of the waiting frames, addresses to check sequence.
pub(super) fn backlog(counters: &ClassCounters) -> Bytes {
    let headers = (HEADER + CHECK_SEQUENCE) * u64::from(counters.waiting);
    Bytes::new(u64::from(counters.backlog) + headers)
}

/// Returns the wire octets of all frames between two readings.
pub(super) fn on_wire(before: &DeviceCounters, now: &DeviceCounters) -> Bytes {
    let [received, sent] = [now.received.since(before.received), now.sent.since(before.sent)];
    let frames = received.frames + sent.frames;
    Bytes::new(received.octets + sent.octets + ON_WIRE * frames)
}

/// Returns the number of waiting frames.
pub(super) fn waiting(status: &Status) -> u64 {
    status.queues.iter().map(|queue| u64::from(queue.depth)).sum()
}

#[cfg(test)]
mod tests {
    use rtether_proto::endnode::MalformedReason;

    use super::super::netlink::Way;
    use super::*;

    #[test]
    fn kinds_and_queues_are_told_apart() {
        // By hand: three kinds of two queues each, and three inner classes that count everything
        // again.
        let class = |minor: u16| ClassCounters {
            minor,
            octets: 100,
            frames: u64::from(minor),
            dropped: 1,
            waiting: 2,
            backlog: 300,
        };
        let classes = [1, 2, 3, 0x10, 0x11, 0x20, 0x21, 0x30, 0x31].map(class);
        assert_eq!(total(&classes, Treatment::RealTime).frames, 0x20 + 0x21);
        let queue = queue_status(&classes, 1);
        assert_eq!((queue.released, queue.depth), (0x11 + 0x21 + 0x31, 6));
        // 300 + 2 * 18.
        assert_eq!(backlog(&classes[3]), Bytes::new(336));
    }

    #[test]
    fn the_wire_carries_more_than_devices_count() {
        // By hand: 60 + 1514 octets, and twice 4 + 8 + 12.
        let way = |frames, octets| Way { frames, octets };
        let now = DeviceCounters { received: way(5, 560), sent: way(1, 1514), collisions: 0 };
        let before = DeviceCounters { received: way(4, 500), ..DeviceCounters::default() };
        assert_eq!(on_wire(&before, &now), Bytes::new(60 + 1514 + 48));
    }

    /// Oracle: the order of the reasons in the engine.
    #[test]
    fn reasons_are_counted_in_order() {
        let mut by_reason = [0; REASONS];
        by_reason[MalformedReason::ShortTag as usize] = 7;
        let counters = MalformedCounters::of(3, by_reason);
        assert_eq!(counters.count(MalformedReason::ShortTag), 7);
        assert_eq!(counters.well_formed(), 3);
    }
}
