//! What messages over a connection wait for: the chain of events that leads to a delivery.
//!
//! A segment is sent because another one came to its sender (an acknowledgment that opened the window,
//! the data that it acknowledges), because a timer ran out, or because the application wrote. Each
//! segment that arrives is a [`Leg`] that knows the leg before it, and a delivery is the end of a chain
//! of legs and pauses without a gap, back to the release of the message.
//!
//! **What is booked.** The parts of the segment that completed the message are the message's own, since
//! it carried it, or its end. Everything before it was sent is time in the protocol, by where what the
//! message waited for was meanwhile: the legs before, and at the station of an end the time in which
//! it waited for a timer (retransmission, delayed acknowledgment) or for its application to write.
//!
//! **Exact, and in one case coarse.** In each interval the message, or what it waited for, was at the
//! place that is named. Of the leg that was under way at the release only the rest counts. Its parts
//! are known as sums, so where the release fell between its ports, what it spent of that rest for
//! certain at the place where it was longest is booked there, and the other part in the protocol at the
//! station of its sender. So is what lies further back than the legs that are kept ([`MOST`]).

use alloc::collections::VecDeque;

use rtether_model::record::Segment;

use crate::cause::Cause;
use crate::message::Spent;
use crate::packet::{Packet, Way};

/// Legs kept of a connection: several windows of any size that TCP has here.
const MOST: usize = 1 << 15;

/// A segment that has arrived.
struct Leg {
    cause: Cause,
    end: i64,
    /// Position of its sender among the stations.
    sender: u8,
    packet: Way,
}

/// The legs of one connection.
pub(crate) struct Chain {
    stations: [u32; 2],
    legs: VecDeque<Leg>,
    /// Number of the first of them.
    first: u64,
    last: [Cause; 2],
}

impl Chain {
    /// Creates the chain of a connection that nobody has used; the first station is the talker.
    pub(crate) const fn new(stations: [u32; 2]) -> Self {
        Self {
            stations,
            legs: VecDeque::new(),
            first: 1,
            last: [Cause { leg: 0, at: 0, is_written: false }; 2],
        }
    }

    /// Returns why an end sends now.
    pub(crate) const fn cause(&self, end: u8) -> Cause {
        self.last[end as usize]
    }

    /// Notes that the application of an end writes, not for the first time, at its own pace.
    pub(crate) const fn note_written(&mut self, end: u8, is_written: bool) {
        self.last[end as usize].is_written = is_written;
    }

    /// Notes a segment that has come from `sender`. Nobody waits for it if nothing is under way.
    pub(crate) fn arrive(&mut self, now: i64, sender: u8, cause: Cause, packet: &Packet) {
        if self.legs.len() >= MOST {
            self.legs.pop_front();
            self.first += 1;
        }
        self.legs.push_back(Leg { cause, end: now, sender, packet: Way::of(packet) });
        self.last[usize::from(1 - sender)] =
            Cause { leg: self.first + self.legs.len() as u64 - 1, at: now, is_written: false };
    }

    /// Forgets the legs that ended before all messages that are under way were released.
    pub(crate) fn forget(&mut self, oldest: i64) {
        while self.legs.front().is_some_and(|leg| leg.end <= oldest) {
            self.legs.pop_front();
            self.first += 1;
        }
    }

    fn leg(&self, cause: Cause) -> Option<&Leg> {
        let position = cause.leg.checked_sub(self.first)?;
        self.legs.get(usize::try_from(position).ok()?)
    }

    /// Returns what a message released at `since` has spent that `packet` of end `sender` completed, which
    /// was sent because of `cause` and has just arrived.
    pub(crate) fn spent(&self, since: i64, packet: &Packet, sender: u8, cause: Cause) -> Spent {
        let mut spent = Spent::default();
        let (mut sender, mut cause) = (sender, cause);
        let stations = |sender: u8| {
            let [talker, listener] = self.stations;
            if sender == 0 { [talker, listener] } else { [listener, talker] }
        };
        spent.carry(since, &Way::of(packet), stations(sender));
        let mut until = packet.released_at;
        while until > since {
            let own = stations(sender);
            let begin = cause.at.clamp(since, until);
            let pause = if cause.is_written { Segment::Application } else { Segment::Protocol };
            spent.pause(pause, own[0], until - begin);
            let Some(leg) = self.leg(cause).filter(|_| begin > since) else {
                // Legs further back are no longer kept.
                spent.pause(Segment::Protocol, own[0], begin - since);
                break;
            };
            (sender, cause, until) = (leg.sender, leg.cause, leg.packet.begin);
            spent.wait_for(since, &leg.packet, stations(sender));
        }
        spent
    }
}
