//! Timed token as of RETHER: reservations first, then everybody in turn.
//!
//! A token goes round in cycles of at most one cycle time. It tells what is left of the cycle. First
//! it visits the stations that have reserved time, in their order, each of which sends real-time
//! frames within its reservation. Then it visits all stations in turn, beginning where the last cycle
//! has ended, each of which sends one ordinary frame. When a frame, or another visit, no longer fits
//! into what is left, the token goes back to the first station with a reservation.
//!
//! A station that has passed on the token listens for the next frame of its successor. If none comes
//! in time, it sends the token again, and then takes the successor for dead and passes it by.
//! Numbers of tokens keep duplicates from living.
//!
//! Left out: the change from CSMA/CD to tokens at the first reservation, and admission; reservations
//! are those of the plan.

use alloc::vec::Vec;

use rtether_model::access::{CONTROL, Domain, ORDINARY, REAL_TIME, TimedToken as Plan};
use rtether_model::quantity::{Bytes, Duration, Instant};

use super::{Control, Heard, Message, Queue, Turn};

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The member that gets it.
    pub to: u32,
    /// What is left of the cycle when the member may send.
    pub left: Duration,
    /// Whether the member may send real-time frames; otherwise an ordinary one.
    pub is_real_time: bool,
    /// Member with which the ordinary visits begin.
    pub resume: u32,
    /// Number of the token, which grows with each member that has it.
    pub number: u64,
}

/// State of all stations.
#[derive(Clone, Debug)]
pub(super) struct TimedToken {
    plan: Plan,
    response: Duration,
    times: Times,
    /// Members with a reservation.
    reserved: Vec<u32>,
    stations: Vec<Station>,
}

/// Times on the medium.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// A frame of no octets, and one octet.
    base: Duration,
    octet: Duration,
    /// From the end of one member's frames to the time at which the next may send.
    pass: Duration,
}

/// What a station knows.
#[derive(Clone, Debug, Default)]
struct Station {
    /// Token that it has, and since when it may send.
    token: Option<(Token, Instant)>,
    /// Number of the last token heard.
    number: u64,
    /// Whether it has sent its ordinary frame of this visit.
    has_sent: bool,
    /// Token that it has passed on and that has not shown effect.
    watch: Option<Watch>,
    /// Members that it takes for dead.
    dead: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Watch {
    token: Token,
    /// When it gives up; `None` while the token is being sent.
    until: Option<Instant>,
    is_second: bool,
}

impl Times {
    fn cost(&self, size: Bytes) -> Duration {
        let octets = i64::try_from(size.get()).unwrap_or(i64::MAX);
        self.base + self.octet * octets
    }
}

impl TimedToken {
    pub(super) fn new(plan: &Plan, response: Duration, domain: &Domain, members: usize) -> Self {
        let gap = domain.gap();
        let octet = domain.rate.time_ceil(Bytes::new(1));
        let times = Times {
            base: domain.frame(CONTROL) - domain.rate.time_ceil(CONTROL) + gap,
            octet,
            pass: gap + domain.frame(CONTROL) + domain.reach + response,
        };
        let all = 0..u32::try_from(members).unwrap_or(u32::MAX);
        let reserves = |member: &u32| {
            let own = plan.reservations.get(*member as usize);
            own.is_some_and(|own| *own > Duration::ZERO)
        };
        let mut stations = alloc::vec![Station::default(); members];
        let reserved: Vec<u32> = all.filter(reserves).collect();
        let first = Token {
            to: reserved.first().copied().unwrap_or(0),
            left: plan.cycle,
            is_real_time: !reserved.is_empty(),
            resume: 0,
            number: 1,
        };
        if let Some(station) = stations.get_mut(first.to as usize) {
            station.token = Some((first, Instant::ZERO));
            station.number = 1;
        }
        Self { plan: plan.clone(), response, times, reserved, stations }
    }

    pub(super) fn poll(&mut self, now: Instant, member: u32, queue: &Queue) -> Turn {
        let own = &self.stations[member as usize];
        if let Some(watch) = own.watch {
            match watch.until {
                None => return Turn::Silent,
                Some(until) if now < until => return Turn::NotBefore(until),
                Some(_) => return self.pass_again(now, member, watch),
            }
        }
        let Some((token, since)) = own.token else {
            return Turn::Silent;
        };
        if now < since {
            return Turn::NotBefore(since);
        }
        if own.dead.len() + 1 >= self.stations.len() {
            return queue.send_first(0).unwrap_or(Turn::Silent);
        }
        self.hold(now, member, (token, since), queue)
    }

    /// Sends a frame that fits, or passes on the token.
    fn hold(
        &mut self,
        now: Instant,
        member: u32,
        (mut token, mut since): (Token, Instant),
        queue: &Queue,
    ) -> Turn {
        // At most once as the last with a reservation, as the first of all, and as the first with a
        // reservation again.
        for _ in 0..4 {
            let held = now - since;
            let left = token.left - held;
            let next = if token.is_real_time {
                let reservation = self.plan.reservations[member as usize];
                if let Some(size) = queue.heads[usize::from(REAL_TIME)]
                    && held + self.times.cost(size) <= reservation
                {
                    self.stations[member as usize].token = Some((token, since));
                    return Turn::Data { class: REAL_TIME, note: 0 };
                }
                self.after_reservation(member, token, left)
            } else {
                let head = queue.heads[usize::from(ORDINARY)];
                let head = head.filter(|_| !self.stations[member as usize].has_sent);
                let cost = head.map(|size| self.times.cost(size) + self.times.pass);
                if cost.is_some_and(|cost| cost <= left) {
                    let own = &mut self.stations[member as usize];
                    own.token = Some((token, since));
                    own.has_sent = true;
                    return Turn::Data { class: ORDINARY, note: 0 };
                }
                self.after_ordinary(member, token, left, cost.is_some())
            };
            self.stations[member as usize].has_sent = false;
            if next.to != member {
                return self.pass(member, next);
            }
            // The token stays, at no cost.
            let number = token.number;
            token = Token { number, ..next };
            token.left += self.times.pass;
            since = now;
            token.left = token.left.min(self.plan.cycle);
        }
        // A frame that fits no cycle: the others go on.
        let count = u32::try_from(self.stations.len()).unwrap_or(u32::MAX);
        let to = self.alive(member, (member + 1) % count);
        let number = token.number + 1;
        self.pass(member, Token { to, number, ..token })
    }

    /// Returns the token behind a station's reservation.
    fn after_reservation(&self, member: u32, token: Token, left: Duration) -> Token {
        let dead = &self.stations[member as usize].dead;
        let mut later = self.reserved.iter().copied();
        let later = later.find(|other| *other > member && !dead.contains(other));
        let number = token.number + 1;
        let left = left - self.times.pass;
        match later {
            Some(to) => Token { to, left, number, ..token },
            None => Token {
                to: self.alive(member, token.resume),
                left,
                is_real_time: false,
                number,
                ..token
            },
        }
    }

    /// Returns the token behind an ordinary visit; `is_refused` if a frame did not fit.
    fn after_ordinary(&self, member: u32, token: Token, left: Duration, is_refused: bool) -> Token {
        let count = u32::try_from(self.stations.len()).unwrap_or(u32::MAX);
        let after = self.alive(member, (member + 1) % count);
        let number = token.number + 1;
        if !is_refused && self.times.pass * 2 <= left {
            return Token { to: after, left: left - self.times.pass, number, ..token };
        }
        let resume = if is_refused { member } else { after };
        let dead = &self.stations[member as usize].dead;
        let mut reserved = self.reserved.iter().copied();
        let first = reserved.find(|own| !dead.contains(own));
        Token {
            to: first.unwrap_or(resume),
            left: self.plan.cycle,
            is_real_time: first.is_some(),
            resume,
            number,
        }
    }

    /// Returns the first member from this one on that a station does not take for dead.
    fn alive(&self, member: u32, from: u32) -> u32 {
        let count = u32::try_from(self.stations.len()).unwrap_or(u32::MAX);
        let dead = &self.stations[member as usize].dead;
        let mut all = (0..count).map(|step| (from + step) % count);
        all.find(|other| !dead.contains(other)).unwrap_or(member)
    }

    fn pass(&mut self, member: u32, token: Token) -> Turn {
        let own = &mut self.stations[member as usize];
        own.token = None;
        own.number = token.number;
        own.watch = Some(Watch { token, until: None, is_second: false });
        send(token)
    }

    /// Sends a token again that has shown no effect, or passes its member by.
    fn pass_again(&mut self, now: Instant, member: u32, watch: Watch) -> Turn {
        let own = &mut self.stations[member as usize];
        if !watch.is_second {
            own.watch = Some(Watch { until: None, is_second: true, ..watch });
            return send(watch.token);
        }
        own.watch = None;
        own.dead.push(watch.token.to);
        // What is left of the cycle is not known any more: a new one begins.
        let mut reserved = self.reserved.iter().copied();
        let dead = &self.stations[member as usize].dead;
        let first = reserved.find(|other| !dead.contains(other));
        let resume = self.alive(member, watch.token.resume);
        let token = Token {
            to: first.unwrap_or(resume),
            left: self.plan.cycle,
            is_real_time: first.is_some(),
            resume,
            number: watch.token.number + 1,
        };
        if token.to == member {
            self.stations[member as usize].number = token.number;
            self.stations[member as usize].token = Some((token, now));
            return Turn::NotBefore(now);
        }
        self.pass(member, token)
    }

    pub(super) fn hear(&mut self, at: Instant, member: u32, from: Option<u32>, heard: &Heard) {
        let own = &mut self.stations[member as usize];
        if from == Some(member) {
            if let Some(watch) = &mut own.watch {
                watch.until = Some(at + self.plan.timeout);
            }
            return;
        }
        if own.watch.is_some_and(|watch| from == Some(watch.token.to)) {
            own.watch = None;
        }
        let Heard::Control(Message::Token(token)) = *heard else {
            return;
        };
        if token.to == member && token.number > own.number {
            own.token = Some((token, at + self.response));
            own.has_sent = false;
        }
        own.number = own.number.max(token.number);
    }
}

const fn send(token: Token) -> Turn {
    Turn::Control(Control { message: Message::Token(token), size: CONTROL })
}
