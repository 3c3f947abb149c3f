//! What makes a scheme impossible.

use core::fmt;

use super::{Access, CONTROL, Domain, Scheme, Slot, Tdma, TimedToken};
use crate::quantity::Duration;

/// Why an access scheme cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A scheme names a member that does not exist.
    NoMember,
    /// The cycle is shorter than what has to fit.
    ShortCycle {
        /// Shortest cycle.
        least: Duration,
    },
    /// A slot begins before the Sync frame, or that of the backup master, has ended. A station that
    /// hears the backup's frame would find its slot past.
    SlotBeforeSync {
        /// Position of the slot.
        slot: usize,
        /// Earliest offset.
        least: Duration,
    },
    /// A slot begins before the frame of another one, and the gap behind it, have ended.
    Overlap {
        /// Position of the slot.
        slot: usize,
        /// Earliest offset.
        least: Duration,
    },
    /// Synchronous messages would miss the cycle in which they are due.
    ShortWindow {
        /// Shortest window.
        least: Duration,
    },
    /// A station would take a turn for unused before it can hear that it is used.
    ShortSilence {
        /// Shortest silence.
        least: Duration,
    },
    /// A station does not follow the scheme, or a switch is on the medium, through which the frame
    /// cannot pass.
    NotInLine,
    /// A slot is for one of no cycles, or its turn does not exist.
    BadTurn {
        /// Position of the slot.
        slot: usize,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMember => write!(f, "a station that it names does not follow it"),
            Self::ShortCycle { least } => write!(f, "its cycle needs {least}"),
            Self::SlotBeforeSync { slot, least } => {
                write!(f, "slot {} begins before the Sync frame has ended, at {least}", slot + 1)
            }
            Self::Overlap { slot, least } => {
                write!(f, "slot {} begins before the one before it has ended, at {least}", slot + 1)
            }
            Self::ShortWindow { least } => write!(f, "its synchronous window needs {least}"),
            Self::ShortSilence { least } => write!(f, "its silence has to be {least} or more"),
            Self::NotInLine => write!(
                f,
                "its frame cannot pass through switches, nor through stations that do not follow it"
            ),
            Self::BadTurn { slot } => write!(f, "slot {} has no turn", slot + 1),
        }
    }
}

pub(super) fn at_least(cycle: Duration, least: Duration) -> Result<(), Problem> {
    if cycle < least {
        return Err(Problem::ShortCycle { least });
    }
    Ok(())
}

impl Access {
    /// Checks whether the scheme can work.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self, domain: &Domain) -> Result<(), Problem> {
        match &self.scheme {
            Scheme::Tdma(tdma) => tdma.check(domain, self.members.len()),
            Scheme::Polling(polling) => self.check_master(polling.master),
            Scheme::Powerlink(powerlink) => {
                self.check_master(powerlink.master)?;
                at_least(powerlink.cycle, powerlink.shortest(domain, &self.members, self.response))
            }
            Scheme::Ftt(ftt) => ftt.check(self, domain),
            Scheme::TimedToken(token) => self.check_token(token, domain),
            Scheme::VirtualToken(token) => {
                // A station has to hear another before it takes the turn for unused.
                let least = domain.gap() + domain.reach * 2 + Duration::from_ps(1);
                if token.silence < least {
                    return Err(Problem::ShortSilence { least });
                }
                Ok(())
            }
            Scheme::DemandPriority(_) => Ok(()),
            Scheme::Summation(own) => {
                self.check_master(own.master)?;
                own.check(self, domain)
            }
        }
    }

    const fn check_master(&self, master: u32) -> Result<(), Problem> {
        if (master as usize) < self.members.len() { Ok(()) } else { Err(Problem::NoMember) }
    }

    fn check_token(&self, token: &TimedToken, domain: &Domain) -> Result<(), Problem> {
        if token.reservations.len() != self.members.len() {
            return Err(Problem::NoMember);
        }
        let pass = TimedToken::pass(domain, self.response);
        let reserved = token.reservations.iter();
        let reserved = reserved.filter(|own| **own > Duration::ZERO);
        // Behind the last reservation, the token goes to another station and back.
        let visits: Duration = reserved.map(|own| *own + pass).sum();
        at_least(token.cycle, visits + pass)
    }
}

impl Tdma {
    fn check(&self, domain: &Domain, members: usize) -> Result<(), Problem> {
        let is_member = |member: u32| (member as usize) < members;
        let backup = self.backup.iter().map(|own| own.member);
        let mut named = self.slots.iter().map(|slot| slot.member);
        let named = named.all(is_member) && is_member(self.master) && backup.clone().all(is_member);
        if !named || backup.clone().any(|own| own == self.master) {
            return Err(Problem::NoMember);
        }
        let step = |size| domain.frame(size) + domain.gap() + domain.reach;
        let sync = step(CONTROL);
        if let Some(backup) = self.backup
            && backup.offset < sync
        {
            let least = sync;
            return Err(Problem::SlotBeforeSync { slot: 0, least });
        }
        let first = self.backup.map_or(sync, |backup| backup.offset + sync);
        for (slot, own) in self.slots.iter().enumerate() {
            if own.turn >= own.of {
                return Err(Problem::BadTurn { slot });
            }
            if own.offset < first {
                let least = first;
                return Err(Problem::SlotBeforeSync { slot, least });
            }
            let earlier = self.slots[..slot].iter();
            let others = earlier.filter(|other| other.meets(own));
            let end = others.map(|other| (other.offset, other.offset + step(other.size)));
            if let Some((begin, end)) = end.max_by_key(|(_, end)| *end)
                && (own.offset < end || own.offset < begin)
            {
                return Err(Problem::Overlap { slot, least: end });
            }
        }
        let least = self.shortest(domain);
        at_least(self.cycle, least)
    }
}

impl Tdma {
    /// Returns the shortest cycle that has room for all slots.
    pub fn shortest(&self, domain: &Domain) -> Duration {
        let step = |size| domain.frame(size) + domain.gap() + domain.reach;
        let slots = self.slots.iter().map(|own| own.offset + step(own.size));
        let backup = self.backup.map(|own| own.offset + step(CONTROL));
        let ends = slots.chain(backup).chain([step(CONTROL)]);
        ends.fold(Duration::ZERO, Duration::max)
    }
}

impl Slot {
    /// Returns whether both slots come in some cycle.
    fn meets(&self, other: &Self) -> bool {
        let common = gcd(self.of.max(1), other.of.max(1));
        self.turn % common == other.turn % common
    }
}

const fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::{Backup, Member, SchemeKind};
    use super::*;
    use crate::network::{EndStation, Hub, Network, NodeId, NodeKind, Stack};
    use crate::quantity::{BitRate, Bytes};

    /// Two stations at a hub of 10 Mbit/s, cables of 1 us each.
    fn domain() -> Domain {
        let mut network = Network::default();
        let rate = BitRate::from_mbps(10);
        let hub = network.add("hub", NodeKind::Hub(Hub::new(rate, 0)));
        for name in ["a", "b"] {
            let station = NodeKind::EndStation(EndStation::new(Stack::Zero));
            let node = network.add(name, station);
            network.join(node, hub, rate).propagation = Duration::from_us(1);
        }
        Domain::of(&network, hub).unwrap()
    }

    fn slot(offset: i64, turn: u32, of: u32) -> Slot {
        Slot { member: 1, offset: Duration::from_us(offset), size: Bytes::new(64), of, turn }
    }

    /// Oracle: by hand. A frame of 64 octets takes 57.6 us at 10 Mbit/s, the gap 9.6, cables 2.
    #[test]
    fn slots_by_hand() {
        let domain = domain();
        assert_eq!(domain.reach, Duration::from_us(2));
        let step = Duration::from_ns(69_200);
        let check = |cycle: i64, backup: Option<i64>, slots: &[Slot]| {
            let tdma = Tdma {
                cycle: Duration::from_us(cycle),
                master: 0,
                backup: backup.map(|at| Backup { member: 1, offset: Duration::from_us(at) }),
                slots: Vec::from(slots),
            };
            tdma.check(&domain, 2)
        };
        assert_eq!(check(140, None, &[slot(70, 0, 1)]), Ok(()));
        let least = Duration::from_us(70) + step;
        let short = Err(Problem::ShortCycle { least });
        assert_eq!(check(139, None, &[slot(70, 0, 1)]), short);
        let least = step;
        let before = Err(Problem::SlotBeforeSync { slot: 0, least });
        assert_eq!(check(500, None, &[slot(69, 0, 1)]), before);
        // A slot between both Sync frames would be past when the second one comes.
        let least = Duration::from_us(200) + step;
        let before = Err(Problem::SlotBeforeSync { slot: 0, least });
        assert_eq!(check(500, Some(200), &[slot(100, 0, 1)]), before);
        assert_eq!(check(500, Some(200), &[slot(270, 0, 1)]), Ok(()));
        // Two slots at one offset, each in every other cycle.
        let shared = [slot(100, 0, 2), slot(100, 1, 2)];
        assert_eq!(check(500, None, &shared), Ok(()));
        let least = Duration::from_us(100) + step;
        let overlap = Err(Problem::Overlap { slot: 1, least });
        let both = [slot(100, 0, 2), slot(150, 2, 4)];
        assert_eq!(check(500, None, &both), overlap);
        assert_eq!(check(500, None, &[slot(100, 2, 2)]), Err(Problem::BadTurn { slot: 0 }));
    }

    /// Oracle: by hand. Pitch of slots of 64 and 1518 octets at 10 Mbit/s, without cables.
    #[test]
    fn pitch_of_slots() {
        let mut domain = domain();
        domain.reach = Duration::ZERO;
        for (size, pitch) in [(64, 67_200), (1_518, 1_230_400)] {
            let member = Member { node: NodeId(1), largest: [Bytes::new(size), Bytes::ZERO] };
            let tdma = Tdma::plan(&domain, &[member, member], 0, None);
            let offsets: Vec<Duration> = tdma.slots.iter().map(|slot| slot.offset).collect();
            assert_eq!(offsets[1] - offsets[0], Duration::from_ns(pitch));
            assert_eq!(tdma.cycle, Duration::from_ns(67_200 + 2 * pitch));
            assert_eq!(tdma.check(&domain, 2), Ok(()));
        }
        assert_eq!(SchemeKind::ALL.len(), 9);
    }
}
