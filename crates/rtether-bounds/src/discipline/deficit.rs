//! Deficit round robin.
//!
//! **Theorem.** Let queue `k` have quantum `Q_k`, longest frame `L_k`, shortest frame `s_k`, all in
//! octets, and let `g_k` divide `Q_k` and the sizes of all its frames. A packet of queue `q` that
//! is served after `S` octets of its queue, its own included, waits for at most
//! `n Q_k + L_k - g_k` octets of each other queue, with `n = ceil(S / Q_q)`.
//!
//! *Proof.* Let 0 be the last time before which queue `q` was empty and none of its packets was in
//! service. From 0 until the packet is served `q` is never empty, so it loses no deficit. After `n`
//! turns with a quantum it has got at least `n Q_q >= S` octets, and a turn ends only if the head is
//! longer than what is left: so the packet leaves in the `n`-th of them at the latest. Before each
//! of them every other queue has at most one turn that ends after 0; a frame in service at 0
//! belongs to such a turn, because the port asks the selection about every frame. What `k` has
//! left when a turn of it begins is less than the head that did not fit, and a multiple of `g_k`:
//! at most `L_k - g_k`. It sends no more than that and `n` quanta. QED
//!
//! All `S` are multiples of `g_q`, so that `n <= (S + Q_q - g_q) / Q_q`. A frame of `s` octets takes
//! the wire for `s + 20`, so that `X` octets of queue `k` take at most `X (s_k + 20) / s_k`. With both
//! this is a queue in order of arrival in which each octet costs `sum_k Q_k / Q_q * (s_k + 20) /
//! s_k` more. (Boyer, Stea and Sofack 2012 prove a service curve of this kind; the multiples `g`
//! make it exact where a queue has frames of one size.) A frame also leaves at the latest when the
//! whole port runs empty, so that the smaller of both bounds holds.

use alloc::vec::Vec;

use super::port::{Port, Waits, smaller};
use crate::curve::Load;
use crate::fraction::{round_up, sum, sum_up};
use crate::frame::wire_octets;
use crate::source::INFINITE;

/// Octets per turn, by queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deficit(pub(crate) [u16; 8]);

/// Frame sizes of a queue in octets.
struct Sizes {
    shortest: i64,
    longest: i64,
    /// What divides the quantum and all sizes.
    divisor: i64,
}

impl Deficit {
    fn quantum(self, queue: u8) -> i64 {
        i64::from(self.0[usize::from(queue)]).max(1)
    }

    fn sizes(self, port: &Port<'_>, queue: u8) -> Sizes {
        let octets = |work: i64| (work / port.curve.octet - wire_octets(0)).max(1);
        let mut sizes = Sizes { shortest: i64::MAX, longest: 1, divisor: self.quantum(queue) };
        for load in port.of(|other| other == queue) {
            let [least, most] = [load.least, load.cost].map(octets);
            sizes.shortest = sizes.shortest.min(least);
            sizes.longest = sizes.longest.max(most);
            let is_one_size = least == most && load.packets == load.burst;
            let own = if is_one_size { most } else { 1 };
            sizes.divisor = greatest_common_divisor(sizes.divisor, own);
        }
        sizes
    }

    /// Returns the waits of a queue.
    pub(crate) fn waits(self, port: &Port<'_>, queue: u8) -> Waits {
        self.waits_below(port, queue, |_| false)
    }

    /// The same if some queues take no turns and go before all that do.
    pub(crate) fn waits_below(
        self,
        port: &Port<'_>,
        queue: u8,
        is_before: impl Fn(u8) -> bool,
    ) -> Waits {
        let until_empty = port.waits(queue, 0, |other| other != queue);
        if port.curve.octet == 0 {
            return until_empty;
        }
        let own = self.quantum(queue);
        let divisor = self.sizes(port, queue).divisor;
        // Work of the other queues before the first octet, and for each octet as quotients.
        let (mut base, mut each) = (0i128, Vec::new());
        let others = port.queues.iter().map(|(other, _)| *other);
        for other in others.filter(|&other| other != queue && !is_before(other)) {
            let sizes = self.sizes(port, other);
            let quantum = self.quantum(other);
            let wire = i128::from(port.curve.octet) * i128::from(wire_octets(sizes.shortest));
            let octets = quantum * (own - divisor) + own * (sizes.longest - sizes.divisor);
            let share = i128::from(own * sizes.shortest);
            base += round_up(wire * i128::from(octets), share);
            each.push((wire * i128::from(quantum), share));
        }
        let extra = |load: &Load| {
            let octets = load.cost / port.curve.octet - wire_octets(0);
            let octets = i128::from(octets.max(0));
            let each = each.iter().map(|(work, share)| (work * octets, *share));
            sum(each.clone()).unwrap_or_else(|| (sum_up(each), 1))
        };
        let by_turns = port.waits_brought(queue, clamped(base), extra, is_before);
        smaller(until_empty, by_turns)
    }
}

fn clamped(work: i128) -> i64 {
    i64::try_from(work).unwrap_or(INFINITE).min(INFINITE)
}

const fn greatest_common_divisor(mut one: i64, mut other: i64) -> i64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::port::Unasked;
    use super::*;
    use crate::service_curve::ServiceCurve;

    /// Frames of one size, `burst` at once, on a link of one octet per picosecond.
    fn load(octets: i64, burst: i64, period: i64) -> Load {
        Load { burst, packets: burst, spacing: octets + 20, ..Load::periodic(octets + 20, period) }
    }

    /// Returns the longest waits of `loads`, each in a queue of its own.
    fn waits(quanta: &[u16], loads: &[Load]) -> Vec<i64> {
        let mut all = [1; 8];
        all[..quanta.len()].copy_from_slice(quanta);
        let queues: Vec<_> = (0u8..).zip((0..loads.len()).map(|at| at..at + 1)).collect();
        let port = Port {
            visits: &Unasked,
            curve: ServiceCurve::new(1, false),
            loads,
            queues: &queues,
            is_whole: false,
        };
        let each = queues.iter().map(|(queue, _)| Deficit(all).waits(&port, *queue));
        each.map(|found| found.unwrap()[0]).collect()
    }

    /// Oracle: by hand.
    #[test]
    fn waits_of_two_queues_by_hand() {
        // A quantum is a frame: one frame of the other queue per own frame.
        let [one, many] = [load(1_500, 1, 1_000_000), load(1_500, 100, 1_000_000)];
        assert_eq!(waits(&[1_500, 1_500], &[one, many])[0], 1_520);
        // Two own frames at once: the second waits for the first and two others.
        let two = load(1_500, 2, 1_000_000);
        assert_eq!(waits(&[1_500, 1_500], &[two, many])[0], 1_520 + 2 * 1_520);
        // Half a frame as quantum takes two turns, in each of which the other sends a frame.
        assert_eq!(waits(&[750, 1_500], &[one, many])[0], 2 * 1_520);
        // The other may have kept 500 octets of an earlier turn: two frames with its quantum.
        let other = load(1_000, 100, 1_000_000);
        assert_eq!(waits(&[1_500, 1_500], &[one, other])[0], 2 * 1_020);
        // Little load: everything else goes first at most.
        assert_eq!(waits(&[64, 1_500], &[one, one]), [1_520; 2]);
    }

    /// Oracle: schedules of a port, drawn at random and followed frame by frame.
    #[test]
    fn no_schedule_waits_longer() {
        let mut seed = 7u64;
        let mut draw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let sizes = [64, 500, 1_000, 1_518];
        let (mut reached, mut cases) = (0, 0);
        for _ in 0..400 {
            let count = 2 + draw(2);
            let loads: Vec<Load> = (0..count)
                .map(|_| load(sizes[draw(4)], 1 + i64::try_from(draw(12)).unwrap(), 100_000))
                .collect();
            let quanta: Vec<u16> =
                (0..count).map(|_| [500, 1_000, 1_518, 2_500][draw(4)]).collect();
            let bounds = waits(&quanta, &loads);
            let mut most = vec![0; count];
            for _ in 0..40 {
                let starts: Vec<i64> = (0..count).map(|_| [0, 1, 700, 3_000][draw(4)]).collect();
                for (most, seen) in most.iter_mut().zip(schedule(&quanta, &loads, &starts)) {
                    *most = seen.max(*most);
                }
            }
            for (seen, bound) in most.iter().zip(&bounds) {
                assert!(seen <= bound, "{quanta:?} {loads:?}: {seen} of {bound}");
                reached += i64::from(10 * seen >= 9 * bound);
                cases += 1;
            }
        }
        // A port alone comes within a tenth of the bound in most cases.
        assert!(2 * reached > cases, "{reached} of {cases}");
    }

    /// Returns the longest wait in each queue if its burst arrives at its start.
    fn schedule(quanta: &[u16], loads: &[Load], starts: &[i64]) -> Vec<i64> {
        let mut left: Vec<i64> = loads.iter().map(|load| load.burst).collect();
        let mut deficits = vec![0; loads.len()];
        let mut longest = vec![0; loads.len()];
        let mut now = 0;
        while left.iter().any(|&frames| frames > 0) {
            for queue in (0..loads.len()).rev() {
                let octets = loads[queue].cost - 20;
                if left[queue] == 0 || starts[queue] > now {
                    deficits[queue] = 0;
                    continue;
                }
                deficits[queue] += i64::from(quanta[queue]);
                while left[queue] > 0 && deficits[queue] >= octets {
                    deficits[queue] -= octets;
                    left[queue] -= 1;
                    longest[queue] = longest[queue].max(now - starts[queue]);
                    now += loads[queue].cost;
                }
            }
            let is_waiting = (0..loads.len()).any(|queue| left[queue] > 0 && starts[queue] <= now);
            let coming = (0..loads.len()).filter(|&queue| left[queue] > 0);
            if !is_waiting && let Some(next) = coming.map(|queue| starts[queue]).min() {
                now = next;
            }
        }
        longest
    }
}
