//! A burst at a device of which all but the depth of its queue is known.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rtether_model::network::Servers;

use super::order::Order;

/// What is known of a device: mean times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub receive: f64,
    pub send: f64,
    pub servers: Servers,
    pub order: Order,
}

/// What a burst loses: the index of its first lost request, and how many are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub first: usize,
    pub lost: usize,
}

impl Loss {
    /// Returns the square of how far another loss is away: jitter makes bursts differ around their
    /// mean.
    pub(super) const fn distance(self, other: Self) -> usize {
        let [first, lost] = [self.first.abs_diff(other.first), self.lost.abs_diff(other.lost)];
        first * first + lost * lost
    }
}

/// A request in the device: received, or its answer sent.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Job {
    request: usize,
    is_answer: bool,
}

/// A device with a burst in it.
struct Replay {
    known: Known,
    queue: usize,
    waiting: VecDeque<Job>,
    /// What each server does, and until when.
    busy: [Option<(f64, Job)>; 2],
    was_answer: bool,
    lost: Vec<usize>,
}

/// Returns what a burst loses that arrives at these times in nanoseconds, if this many packets may
/// wait.
pub(super) fn replay(known: Known, queue: usize, arrivals: &[f64]) -> Loss {
    let mut own = Replay {
        known,
        queue,
        waiting: VecDeque::new(),
        busy: [None; 2],
        was_answer: false,
        lost: Vec::new(),
    };
    for (request, &now) in arrivals.iter().enumerate() {
        own.run_until(now);
        own.enter(now, Job { request, is_answer: false });
    }
    own.run_until(f64::INFINITY);
    let first = own.lost.iter().copied().min().unwrap_or(arrivals.len());
    Loss { first, lost: own.lost.len() }
}

impl Replay {
    fn run_until(&mut self, until: f64) {
        loop {
            let ends = self.busy.map(|own| own.map_or(f64::INFINITY, |(end, _)| end));
            let server = usize::from(ends[1] < ends[0]);
            let now = ends[server];
            if now > until {
                return;
            }
            let Some((_, job)) = self.busy[server].take() else { return };
            // Above two queues a server chooses of all that is there at that instant, the answer
            // included; in order of arrival, what has waited is first.
            let chooses = self.known.order == Order::Priority;
            if !chooses {
                self.begin_next(now, server);
            }
            if !job.is_answer {
                self.enter(now, Job { is_answer: true, ..job });
            }
            if chooses && self.busy[server].is_none() {
                self.begin_next(now, server);
            }
        }
    }

    fn enter(&mut self, now: f64, job: Job) {
        let server = self.server(job);
        if self.busy[server].is_none() {
            self.begin(now, server, job);
            return;
        }
        // A layer with priorities has a queue for each direction.
        let is_one = self.known.order == Order::Arrival;
        let alike = self.waiting.iter().filter(|own| is_one || own.is_answer == job.is_answer);
        if alike.count() < self.queue {
            self.waiting.push_back(job);
        } else {
            self.lost.push(job.request);
        }
    }

    fn begin_next(&mut self, now: f64, server: usize) {
        // One server above two queues takes turns.
        let takes_turns =
            self.known.order == Order::Priority && self.known.servers == Servers::Shared;
        let other = self.waiting.iter().position(|own| own.is_answer != self.was_answer);
        let first = self.waiting.iter().position(|own| self.server(*own) == server);
        let next = if takes_turns { other.or(first) } else { first };
        if let Some(job) = next.and_then(|place| self.waiting.remove(place)) {
            self.begin(now, server, job);
        }
    }

    fn begin(&mut self, now: f64, server: usize, job: Job) {
        let time = if job.is_answer { self.known.send } else { self.known.receive };
        self.was_answer = job.is_answer;
        self.busy[server] = Some((now + time, job));
    }

    fn server(&self, job: Job) -> usize {
        usize::from(self.known.servers == Servers::PerDirection && job.is_answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known =
        Known { receive: 10.0, send: 29.0, servers: Servers::Shared, order: Order::Arrival };

    /// Oracle: by hand. Of a burst at once, one is served and the queue holds the next.
    #[test]
    fn a_burst_at_once_fills_the_queue() {
        let at_once = [0.0; 12];
        for servers in [Servers::Shared, Servers::PerDirection] {
            for order in [Order::Arrival, Order::Priority] {
                let known = Known { servers, order, ..KNOWN };
                assert_eq!(replay(known, 7, &at_once), Loss { first: 8, lost: 4 });
                assert_eq!(replay(known, 11, &at_once), Loss { first: 12, lost: 0 });
            }
        }
    }

    /// Oracle: by hand. Requests every 4 ns, two may wait. At 10 the first is received: its answer
    /// waits behind 1 and 2 in a shared server (3 at 12 is lost); in two it is sent at once, so that 3
    /// waits and 4 at 16 is lost.
    #[test]
    fn what_is_served_meanwhile_makes_room() {
        let every = [0.0, 4.0, 8.0, 12.0, 16.0];
        assert_eq!(replay(KNOWN, 2, &every), Loss { first: 3, lost: 2 });
        let two = Known { servers: Servers::PerDirection, ..KNOWN };
        assert_eq!(replay(two, 2, &every), Loss { first: 4, lost: 1 });
    }
}
