//! Virtual token ring, as VTPE and P-NET have it: all stations count whose turn it is.
//!
//! The turn goes to the next station at the end of each frame, or when a turn has been silent for
//! the time `t2`. A station whose turn begins sends its oldest real-time frame if one waits then, or an ordinary one. Frames carry
//! the number of their sender, so a station that has missed one counts right again at the next.

use alloc::vec::Vec;

use rtether_model::access::VirtualToken as Plan;
use rtether_model::quantity::{Duration, Instant};

use super::{Heard, Queue, Turn};

/// State of all stations.
#[derive(Clone, Debug)]
pub(super) struct VirtualToken {
    silence: Duration,
    stations: Vec<Station>,
}

/// What a station knows.
#[derive(Clone, Copy, Debug, Default)]
struct Station {
    /// Whose turn began, and when; each silence since then is one more.
    turn: u32,
    since: Instant,
    is_busy: bool,
}

impl VirtualToken {
    pub(super) fn new(plan: &Plan, members: usize) -> Self {
        Self { silence: plan.silence, stations: alloc::vec![Station::default(); members] }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.stations.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn poll(&self, now: Instant, member: u32, queue: &Queue) -> Turn {
        let own = &self.stations[member as usize];
        let Some(turn) = queue.send_first(member).filter(|_| !own.is_busy) else {
            return Turn::Silent;
        };
        let count = self.count();
        let ahead = (member + count - own.turn % count) % count;
        let first = own.since + self.silence * i64::from(ahead);
        let round = (self.silence * i64::from(count)).as_ps().max(1);
        let late = (now - first).as_ps().max(0);
        let rounds = late / round + i64::from(late % round > 0);
        let begin = first + Duration::from_ps(rounds * round);
        if now < begin {
            return Turn::NotBefore(begin);
        }
        turn
    }

    pub(super) fn hear(&mut self, at: Instant, member: u32, from: Option<u32>, heard: &Heard) {
        let count = self.count();
        let own = &mut self.stations[member as usize];
        if *heard == Heard::Busy {
            if !own.is_busy {
                let turns = (at - own.since).as_ps() / self.silence.as_ps().max(1);
                let turns = u32::try_from(turns % i64::from(count)).unwrap_or(0);
                *own = Station { turn: (own.turn + turns) % count, since: at, is_busy: true };
            }
            return;
        }
        let turn = match (from, heard) {
            (Some(from), Heard::Data { .. }) => from,
            _ => own.turn,
        };
        *own = Station { turn: (turn + 1) % count, since: at, is_busy: false };
    }
}
