//! Credits above turns: the lowest queues share in turns of octets what the others leave.
//!
//! A queue that takes turns may send only if no queue with another algorithm may (IEEE 802.1Q-2022,
//! 8.6.8.3). So the credits are asked first, about the queues above, and the turns only where these
//! have nothing to send now. Both are the rules of ports that have one of them alone: the turns do not
//! notice what is sent in between, neither by a deficit that changes nor by a turn that ends. That is
//! what the proof needs, which stands with that of the credits (`rtether_bounds::discipline`).

use rtether_model::network::PortPlan;
use rtether_model::quantity::Instant;

use super::credit::Credit;
use super::deficit::Deficit;
use super::{Decision, Waiting};

#[derive(Clone, Debug)]
pub(super) struct Mixed {
    /// Of the queues from the lowest shaped one on.
    credit: Credit,
    /// Of all below.
    turns: Deficit,
}

impl Mixed {
    /// Creates the rule of a plan with credits and turns of octets.
    pub(super) fn new(plan: &PortPlan) -> Self {
        let turns = plan.octet_turns();
        Self {
            credit: Credit::new(plan.idle_slopes(), turns..plan.queues()),
            turns: Deficit::new(plan.quanta(), turns),
        }
    }

    /// Returns what the port does at `now`.
    pub(super) fn next(&mut self, now: Instant, waiting: &impl Waiting) -> Decision {
        // Also where a frame of a turn follows: the credits learn from each call that a frame of
        // theirs has ended.
        match self.credit.next(now, waiting) {
            send @ Decision::Send(_) => send,
            wait @ (Decision::NotBefore(_) | Decision::Empty) => {
                self.turns.next(waiting).map_or(wait, Decision::Send)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use rtether_model::network::Selection;
    use rtether_model::quantity::BitRate;

    use super::*;
    use crate::port::{Selector, Unlimited};

    /// Picoseconds for an octet at 100 Mbit/s.
    const OCTET: i64 = 80_000;
    const US: i64 = 1_000_000;

    /// Time of arrival in picoseconds and octets of the frames of each queue, in order of arrival.
    struct Queues {
        frames: Vec<Vec<(i64, u32)>>,
        now: i64,
    }

    impl Queues {
        fn head(&self, queue: u8) -> Option<(i64, u32)> {
            let head = self.frames.get(usize::from(queue))?.first()?;
            (head.0 <= self.now).then_some(*head)
        }
    }

    impl Waiting for Queues {
        fn has_frame(&self, queue: u8) -> bool {
            self.head(queue).is_some()
        }

        fn head_size(&self, queue: u8) -> u32 {
            self.head(queue).map_or(0, |head| head.1)
        }

        fn head_since(&self, queue: u8) -> Instant {
            Instant::from_ps(self.head(queue).map_or(0, |head| head.0))
        }
    }

    /// Returns queue and beginning, in nanoseconds, of each frame that a port of 100 Mbit/s sends.
    fn sent(mbps: [u64; 8], quanta: [u16; 8], frames: &[&[(i64, u32)]]) -> Vec<(u8, i64)> {
        let frames: Vec<Vec<(i64, u32)>> = frames.iter().map(|own| own.to_vec()).collect();
        let selection = Selection::CbsDrr { idle_slopes: mbps.map(BitRate::from_mbps), quanta };
        let plan = PortPlan::new(selection, u8::try_from(frames.len()).unwrap());
        let mut engine = Selector::new(&plan, None);
        let mut queues = Queues { frames, now: 0 };
        let mut sent = Vec::new();
        loop {
            let coming = queues.frames.iter().filter_map(|own| own.first().map(|head| head.0));
            let coming = coming.filter(|&time| time > queues.now).min();
            queues.now = match engine.poll(Instant::from_ps(queues.now), &Unlimited, &queues) {
                Decision::Send(queue) => {
                    let (_, octets) = queues.frames[usize::from(queue)].remove(0);
                    sent.push((queue, queues.now / 1_000));
                    queues.now + i64::from(octets + 20) * OCTET
                }
                Decision::NotBefore(time) => {
                    coming.map_or(time.as_ps(), |next| next.min(time.as_ps()))
                }
                Decision::Empty => match coming {
                    Some(next) => next,
                    None => return sent,
                },
            };
        }
    }

    /// Oracle: by hand. 1000 octets take 81.6 us, and cost the shaped queue 6120 bit at 25 Mbit/s: its
    /// frames begin 326.4 us apart, or at the end of a frame that has begun before. In between the
    /// lower ones send one and two frames in turn, and the round goes on where it was.
    #[test]
    fn turns_take_what_the_shaper_leaves() {
        let all = [(0, 1_000); 6];
        let mbps = [0, 0, 25, 0, 0, 0, 0, 0];
        let found = sent(mbps, [1_000, 2_000, 0, 0, 0, 0, 0, 0], &[&all, &all, &all[..3]]);
        let order: Vec<u8> = found.iter().map(|sent| sent.0).collect();
        assert_eq!(order, [2, 1, 1, 0, 2, 1, 1, 0, 2, 1, 1, 0, 0, 0, 0]);
        let shaped = found.iter().filter(|sent| sent.0 == 2).map(|sent| sent.1);
        assert_eq!(shaped.collect::<Vec<_>>(), [0, 326_400, 652_800]);
    }

    /// Oracle: by hand. A turn of 3000 octets begins with 1500; the shaped frame comes during it, and
    /// goes next. Then the turn has 1500 left: it is not begun anew, and none of it is lost.
    #[test]
    fn a_turn_goes_on_behind_a_shaped_frame() {
        let mbps = [0, 0, 50, 0, 0, 0, 0, 0];
        let quanta = [1_500, 3_000, 0, 0, 0, 0, 0, 0];
        let long = [(0, 1_500); 4];
        let found = sent(mbps, quanta, &[&long[..2], &long, &[(US, 500)]]);
        let order: Vec<u8> = found.iter().map(|sent| sent.0).collect();
        assert_eq!(order, [1, 2, 1, 0, 1, 1, 0]);
    }

    /// Oracle: by hand. Below zero the shaped queue leaves the port to the turns, and alone it waits:
    /// 500 octets take 41.6 us, at 25 Mbit/s the next may begin 166.4 us behind the last. A frame of
    /// 1518 that comes at 150 us, when the port is idle, delays the second of them to 273.04 us.
    #[test]
    fn an_idle_port_does_not_wait_for_a_credit() {
        let mbps = [0, 25, 0, 0, 0, 0, 0, 0];
        let quanta = [64, 0, 0, 0, 0, 0, 0, 0];
        let alone = sent(mbps, quanta, &[&[], &[(0, 500), (0, 500)]]);
        assert_eq!(alone, [(1, 0), (1, 166_400)]);
        let low = [(150 * US, 1_518)];
        let behind = sent(mbps, quanta, &[&low, &[(0, 500), (0, 500)]]);
        assert_eq!(behind, [(1, 0), (0, 150_000), (1, 273_040)]);
    }

    /// Oracle: by hand. Above the lowest shaped queue one without an idle slope is strict: of frames
    /// that are there at once it sends all first.
    #[test]
    fn a_queue_above_the_shaper_is_strict() {
        let mbps = [0, 5, 0, 0, 0, 0, 0, 0];
        let all = [(0, 100); 2];
        let found = sent(mbps, [64, 9, 9, 0, 0, 0, 0, 0], &[&all, &all, &all]);
        let order: Vec<u8> = found.iter().map(|sent| sent.0).collect();
        assert_eq!(order, [2, 2, 1, 0, 0, 1]);
    }
}
