//! What every server was doing, as far back as memory allows.

use alloc::collections::{BTreeMap, VecDeque};

use rtether_model::flow::FlowId;
use rtether_model::quantity::{Bytes, Instant};

use super::server::Server;

/// Work of a server on one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) begin: Instant,
    pub(super) end: Instant,
    pub(super) flow: FlowId,
    pub(super) number: u32,
    pub(super) is_reverse: bool,
    pub(super) octets: Bytes,
    pub(super) priority: Option<u8>,
    pub(super) has_collided: bool,
}

/// What one server was doing.
#[derive(Debug, Default)]
struct Log {
    works: VecDeque<Work>,
    /// Latest end of what was forgotten for want of memory.
    forgotten: Option<Instant>,
}

/// What all servers were doing. When `most` frames are known, the older half of each server's is
/// forgotten.
#[derive(Debug)]
pub(super) struct Works {
    logs: BTreeMap<Server, Log>,
    /// Work that ended before is not asked for.
    since: Instant,
    known: usize,
    most: usize,
}

impl Works {
    pub(super) const fn new(since: Instant, most: usize) -> Self {
        Self { logs: BTreeMap::new(), since, known: 0, most }
    }

    pub(super) fn add(&mut self, server: Server, work: Work) {
        if self.known >= self.most {
            self.forget();
        }
        let works = &mut self.logs.entry(server).or_default().works;
        let is_over = |work: &Work| work.end <= self.since;
        while works.front().is_some_and(is_over) {
            works.pop_front();
            self.known -= 1;
        }
        works.push_back(work);
        self.known += 1;
    }

    fn forget(&mut self) {
        for log in self.logs.values_mut() {
            let half = log.works.len().div_ceil(2);
            let last = log.works.drain(..half).map(|work| work.end).max();
            log.forgotten = Ord::max(log.forgotten, last);
        }
        self.known = self.logs.values().map(|log| log.works.len()).sum();
    }

    /// Returns what a server was doing between two moments, in order.
    pub(super) fn between(
        &self,
        server: Server,
        begin: Instant,
        end: Instant,
    ) -> impl Iterator<Item = &Work> {
        let works = self.logs.get(&server).into_iter().flat_map(|log| &log.works);
        works.filter(move |work| work.begin < end && work.end > begin)
    }

    /// Returns whether all that a server was doing since a moment is known.
    pub(super) fn is_known(&self, server: Server, since: Instant) -> bool {
        let forgotten = self.logs.get(&server).and_then(|log| log.forgotten);
        forgotten.is_none_or(|forgotten| forgotten <= since)
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::network::NodeId;
    use rtether_model::quantity::Duration;

    use super::*;

    #[test]
    fn memory_has_a_limit_and_what_is_forgotten_is_told() {
        // By hand: frame n from n to n + 1 us. The ninth makes the server forget the first four.
        let at = |us: i64| Instant::ZERO + Duration::from_us(us);
        let work = |number: u32| Work {
            begin: at(number.into()),
            end: at(i64::from(number) + 1),
            flow: FlowId(0),
            number,
            is_reverse: false,
            octets: Bytes::new(64),
            priority: None,
            has_collided: false,
        };
        let server = Server::Stack(NodeId(0), 0);
        let mut works = Works::new(Instant::ZERO, 8);
        (0..8).for_each(|number| works.add(server, work(number)));
        assert!(works.is_known(server, at(0)));
        works.add(server, work(8));
        let numbers = |works: &Works| {
            let found = works.between(server, at(0), at(100));
            found.map(|work| work.number).collect::<alloc::vec::Vec<_>>()
        };
        assert_eq!(numbers(&works), [4, 5, 6, 7, 8]);
        assert!(works.is_known(server, at(4)) && !works.is_known(server, at(3)));
        (9..10_000).for_each(|number| works.add(server, work(number)));
        assert!(works.known <= 8 && numbers(&works).len() <= 8);
    }

    #[test]
    fn what_is_not_asked_for_is_not_kept() {
        let at = |us: i64| Instant::ZERO + Duration::from_us(us);
        let server = Server::Stack(NodeId(0), 0);
        let mut works = Works::new(at(50), 8);
        for number in 0..56 {
            let work = Work {
                begin: at(number),
                end: at(number + 1),
                flow: FlowId(0),
                number: 0,
                is_reverse: false,
                octets: Bytes::new(64),
                priority: None,
                has_collided: false,
            };
            works.add(server, work);
        }
        // By hand: of 56 frames six end after 50 us, and there is room for eight.
        assert!(works.is_known(server, at(50)));
    }
}
