//! Demand priority (IEEE 802.12, 100VG-AnyLAN): the hub grants one frame after the other.
//!
//! Stations request by a signal that costs no frame, with normal or high priority. When the medium
//! is free the hub takes the time of the signalling and then grants the next request in turn among
//! those of high priority, or the next one of normal priority if there is none. A request of normal
//! priority that has waited for the promotion time counts as high.
//!
//! Real-time frames have high priority, ordinary ones normal. The hub here learns of requests also
//! during a frame, as over fibre. Left out: cascaded hubs, training.

use alloc::vec::Vec;

use rtether_model::access::{CLASSES, DemandPriority as Plan, ORDINARY, REAL_TIME};
use rtether_model::quantity::{Duration, Instant};

use super::{Queue, Turn};

/// State of the hub.
#[derive(Clone, Debug)]
pub(super) struct DemandPriority {
    plan: Plan,
    /// By member and class: since when it requests.
    requests: Vec<[Option<Instant>; CLASSES]>,
    is_busy: bool,
    /// When the hub grants, if anybody requests.
    decides: Option<Instant>,
    granted: Option<(usize, u8)>,
    /// Where the turns of normal and of high requests go on.
    next: [usize; CLASSES],
}

impl DemandPriority {
    pub(super) fn new(plan: &Plan, members: usize) -> Self {
        Self {
            plan: plan.clone(),
            requests: alloc::vec![[None; CLASSES]; members],
            is_busy: false,
            decides: None,
            granted: None,
            next: [0; CLASSES],
        }
    }

    pub(super) fn poll(&mut self, now: Instant, member: u32, queue: &Queue) -> Turn {
        let member = member as usize;
        let had = self.requests.iter().any(|own| *own != [None; CLASSES]);
        for (own, head) in self.requests[member].iter_mut().zip(queue.heads) {
            *own = head.map(|_| own.unwrap_or(now));
        }
        if self.is_busy || self.requests[member] == [None; CLASSES] {
            return Turn::Silent;
        }
        // The first request at an idle hub takes the time of the signalling as well.
        let decides = match self.decides {
            Some(time) if had || time >= now => time,
            Some(_) | None => now + self.plan.signalling,
        };
        self.decides = Some(decides);
        if now < decides {
            return Turn::NotBefore(decides);
        }
        if let Some((silent, _)) = self.granted
            && now > decides + self.plan.signalling
        {
            // Its station has failed.
            self.requests[silent] = [None; CLASSES];
            self.granted = None;
        }
        if self.granted.is_none() {
            self.granted = self.choose(now);
        }
        let Some((_, class)) = self.granted.filter(|(own, _)| *own == member) else {
            return Turn::NotBefore(decides + self.plan.signalling + Duration::from_ps(1));
        };
        self.granted = None;
        self.is_busy = true;
        self.requests[member][usize::from(class)] = None;
        Turn::Data { class, note: 0 }
    }

    /// Returns the request that the hub grants.
    fn choose(&mut self, now: Instant) -> Option<(usize, u8)> {
        let count = self.requests.len();
        let is_old = |since: Instant| since + self.plan.promotion <= now;
        // High requests and promoted ones take turns; a member may have one of each.
        let begin = self.next[usize::from(REAL_TIME)];
        let turns = (0..2 * count).map(|step| (begin + step) % (2 * count));
        let mut high = turns.filter(|turn| {
            let [normal, high] = self.requests[turn / 2];
            if turn % 2 == 0 { high.is_some() } else { normal.is_some_and(is_old) }
        });
        if let Some(turn) = high.next() {
            self.next[usize::from(REAL_TIME)] = turn + 1;
            let class = if turn % 2 == 0 { REAL_TIME } else { ORDINARY };
            return Some((turn / 2, class));
        }
        let begin = self.next[usize::from(ORDINARY)];
        let mut turns = (0..count).map(|step| (begin + step) % count);
        let own = turns.find(|member| self.requests[*member][usize::from(ORDINARY)].is_some())?;
        self.next[usize::from(ORDINARY)] = own + 1;
        Some((own, ORDINARY))
    }

    pub(super) fn hear(&mut self, at: Instant, member: u32, from: Option<u32>) {
        // The hub hears a frame with its sender.
        if from == Some(member) {
            self.is_busy = false;
            self.decides = Some(at + self.plan.signalling);
        }
    }
}
