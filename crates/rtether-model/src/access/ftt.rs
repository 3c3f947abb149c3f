//! Times of FTT-Ethernet, its shortest cycle, and what makes it impossible.

use super::check::{Problem, at_least};
use super::{Access, CONTROL, Domain, Ftt, Member, ORDINARY, REAL_TIME, Synchronous};
use crate::quantity::{Bytes, Duration};
use crate::wire;

/// Number of the cycle and of the messages, in a trigger message.
const TRIGGER_HEAD: u64 = 8;
/// A message in it: which one, and when.
const TRIGGER_ENTRY: u64 = 4;

impl Ftt {
    /// Returns the octets of a trigger message that lists this many messages. The papers on the
    /// protocol give no format; this one has 8 octets and 4 for each message.
    pub fn trigger(messages: usize) -> Bytes {
        let entries = u64::try_from(messages).unwrap_or(u64::MAX);
        let content = TRIGGER_HEAD.saturating_add(entries.saturating_mul(TRIGGER_ENTRY));
        let size = wire::HEADER.get() + wire::FCS.get();
        CONTROL.max(Bytes::new(size.saturating_add(content)))
    }

    /// Returns the time from the last bit of the trigger message to the first synchronous message.
    pub fn turn_around(domain: &Domain, response: Duration) -> Duration {
        response.max(domain.gap())
    }

    /// Returns the part of the window that a message takes. A station counts from the trigger
    /// message as it hears it, so the message before may be as late as there and back.
    pub fn slot(domain: &Domain, size: Bytes) -> Duration {
        domain.frame(size) + domain.gap() + domain.reach * 2
    }

    /// Returns the time for a request and the answer to it.
    pub fn exchange(domain: &Domain, response: Duration, size: Bytes) -> Duration {
        domain.frame(CONTROL) + Self::turn_around(domain, response) + Self::slot(domain, size)
    }

    /// Returns the time from the start of a cycle to the end of the synchronous window.
    pub fn begins(&self, domain: &Domain, response: Duration) -> Duration {
        let trigger = domain.frame(Self::trigger(self.messages.len()));
        trigger + Self::turn_around(domain, response) + self.window
    }

    /// Returns the time for the visit of a member that takes longest in the asynchronous window;
    /// `None` if no member has ordinary frames.
    pub fn visit(
        &self,
        domain: &Domain,
        (members, response): (&[Member], Duration),
    ) -> Option<Duration> {
        let visits = (0u32..).zip(members).filter_map(|(member, own)| {
            let size = own.largest[usize::from(ORDINARY)];
            let visit = if member == self.master {
                domain.frame(size) + domain.gap()
            } else {
                Self::exchange(domain, response, size)
            };
            (size > Bytes::ZERO).then_some(visit)
        });
        visits.max()
    }

    /// Returns one message for each member with real-time frames, all in each cycle, with the
    /// shortest cycle.
    pub fn plan(domain: &Domain, members: &[Member], (master, response): (u32, Duration)) -> Self {
        let messages = (0u32..).zip(members).filter_map(|(member, own)| {
            let size = own.largest[usize::from(REAL_TIME)];
            (size > Bytes::ZERO).then_some(Synchronous { member, size, every: 1 })
        });
        let mut plan = Self {
            cycle: Duration::ZERO,
            master,
            window: Duration::ZERO,
            messages: messages.collect(),
        };
        plan.window = plan.shortest_window(domain);
        plan.cycle = plan.shortest(domain, members, response);
        plan
    }

    /// Returns the shortest cycle with room for the window and one ordinary frame.
    pub fn shortest(&self, domain: &Domain, members: &[Member], response: Duration) -> Duration {
        let visit = self.visit(domain, (members, response));
        self.begins(domain, response) + visit.unwrap_or(Duration::ZERO)
    }

    /// Returns the shortest window in which every message is sent in time: one that has room for
    /// all of them, or else the work of a cycle and the longest message
    /// (`rtether_bounds::access::ftt` has the proof).
    pub fn shortest_window(&self, domain: &Domain) -> Duration {
        let slot = |own: &Synchronous| Self::slot(domain, own.size);
        let all: Duration = self.messages.iter().map(slot).sum();
        let longest = self.messages.iter().map(slot).max();
        // Rounded up, so that the work of a cycle is never less than it seems.
        let part = |own: &Synchronous| {
            let every = i64::from(own.every.max(1));
            Duration::from_ps((slot(own).as_ps() + every - 1) / every)
        };
        let work: Duration = self.messages.iter().map(part).sum();
        all.min(work + longest.unwrap_or(Duration::ZERO))
    }

    /// Returns whether every cycle has all messages.
    pub fn is_whole(&self) -> bool {
        self.messages.iter().all(|own| own.every == 1)
    }

    pub(super) fn check(&self, access: &Access, domain: &Domain) -> Result<(), Problem> {
        let members = access.members.len();
        let is_member = |member: u32| (member as usize) < members;
        let mut named = self.messages.iter().map(|own| own.member);
        if !named.all(is_member) || !is_member(self.master) {
            return Err(Problem::NoMember);
        }
        let least = self.shortest_window(domain);
        if self.window < least {
            return Err(Problem::ShortWindow { least });
        }
        let visit = self.visit(domain, (&access.members, access.response));
        let begins = self.begins(domain, access.response);
        at_least(self.cycle, begins + visit.unwrap_or(Duration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec;

    use super::*;
    use crate::access::{Faults, Scheme};
    use crate::network::NodeId;
    use crate::quantity::BitRate;

    /// Oracle: by hand, at 100 Mbit/s without cables: slots of 64 and 106 octets take 6.72 and
    /// 10.08 us, a request and an answer of 1518 octets 5.76 + 1 + 123.04 us.
    #[test]
    fn shortest_windows_and_cycles() {
        let domain = Domain {
            nodes: vec![NodeId(1), NodeId(2), NodeId(3)],
            hubs: BTreeSet::from([NodeId(0)]),
            rate: BitRate::from_mbps(100),
            has_switch: false,
            reach: Duration::ZERO,
        };
        let member = |node, ordinary, real_time| Member {
            node: NodeId(node),
            largest: [ordinary, real_time].map(Bytes::new),
        };
        let members = vec![member(1, 0, 0), member(2, 1_518, 64), member(3, 64, 106)];
        let response = Duration::from_us(1);
        let mut ftt = Ftt::plan(&domain, &members, (0, response));
        assert_eq!(ftt.window, Duration::from_ns(6_720 + 10_080));
        let cycle = 5_760 + 1_000 + 16_800 + 5_760 + 1_000 + 123_040;
        assert_eq!(ftt.cycle, Duration::from_ns(cycle));
        let check = |ftt: &Ftt| {
            let access = Access {
                hub: NodeId(0),
                scheme: Scheme::Ftt(ftt.clone()),
                members: members.clone(),
                response,
                faults: Faults::default(),
            };
            access.check(&domain)
        };
        assert_eq!(check(&ftt), Ok(()));
        ftt.cycle -= Duration::from_ps(1);
        let least = Duration::from_ns(cycle);
        assert_eq!(check(&ftt), Err(Problem::ShortCycle { least }));
        // Once in ten cycles: 0.672 + 1.008 us of work, and the longer message.
        for own in &mut ftt.messages {
            own.every = 10;
        }
        let least = Duration::from_ns(672 + 1_008 + 10_080);
        assert_eq!(ftt.shortest_window(&domain), least);
        ftt.window = least - Duration::from_ps(1);
        assert_eq!(check(&ftt), Err(Problem::ShortWindow { least }));
        // Nine entries fill the smallest frame but two octets; ten do not fit.
        assert_eq!(Ftt::trigger(9), Bytes::new(64));
        assert_eq!(Ftt::trigger(10), Bytes::new(66));
    }
}
