//! Pay multiplexing only once: each burst of a cross flow counts at one port of the tandem, in any
//! order of service (Schmitt, Zdarsky and Fidler 2008), for whole packets.
//!
//! **Theorem.** Let ports `1..n` do `R_j` of work in a picosecond, let the flows there of the same
//! or a higher class have bursts `b_k` where they join and rates `r_k`, and let one packet of a
//! lower class bring at most `B_j`. Let `G_j` be the longest gap of any of these flows from the
//! beginning of a transmission at `j` to the arrival at `j + 1`, and `g_kj` the shortest of flow
//! `k`. With `q` packets of the flow in front, each of work `c`, its packet begins its last
//! transmission no later than
//! `sum (G_j + B_j / R_j) + (q c + sum (b_k + r_k sum (G_j - g_kj + B_j / R_j))) / min (R_j - sum r_k)`
//! after the arrival of the first of the `q + 1` at the first port, sums of `k` over its ports.
//! *Proof.* Let `t_n` be the beginning of the last transmission. For each port from the last to the
//! first, let `s_j` be the last time, not after `t_j`, such that all packets of these classes that
//! came before it are gone, and `t_(j-1) = s_j - G_(j-1)`. From `s_j` to `t_j` port `j` works on
//! packets that came at `s_j` or later and begin before `t_j`, and on at most one of a lower class:
//! `R_j (t_j - s_j)` is at most their work.
//! (1) No packet counts twice: one that begins at `j` before `t_j` arrives at `j + 1` before
//! `s_(j+1)`.
//! (2) Those of flow `k`, which takes ports `i..e`, have all come to port `i` at `s_i` or later:
//! what begins at `j` at `t_j >= s_j` or later came at `s_j` or later, and what came to `j + 1` at
//! `s_(j+1)` or later began at `j` at `t_j` or later. They have come before `t_e` less the shortest
//! gaps, so their work is at most `b_k + r_k (sum (t_j - s_j) + sum (G_j - g_kj))`, sums over its
//! ports.
//! (3) The flow's own packets in front that count came to the first port at `s_1` or later, since
//! each port has at `s_j` begun with all that the previous port had begun with at `t_(j-1)`, and so
//! did the packet itself.
//! Let `z_j` be `t_j - s_j` less `B_j / R_j`, or zero if that is negative: `R_j z_j` is at most the
//! work of these classes. Adding up the `n` inequalities, `sum (R_j - sum r_k) z_j` is at most
//! `q c + sum b'_k`, where the window of `b'_k` also includes `B_j / R_j`; and
//! `t_n - s_1 <= sum (z_j + B_j / R_j + G_j)`.
//!
//! [`Tandem::longest`] turns the packets in front into a time from the latest arrival, by the
//! argument of [`crate::tandem::sfa`].

use crate::tandem::path::{Tandem, time};

/// Returns the longest time from the latest arrival of a packet at the first port to the beginning
/// of its last transmission; `None` if it has no bound.
pub(crate) fn once(tandem: &Tandem) -> Option<i64> {
    let mut gaps: alloc::vec::Vec<i64> = tandem.gaps.iter().map(|gap| gap[1]).collect();
    for cross in tandem.any() {
        for (gap, own) in gaps[cross.first..].iter_mut().zip(&cross.gaps) {
            *gap = own.longest.max(*gap);
        }
    }
    let mut left: alloc::vec::Vec<i128> = tandem.ports.iter().map(|port| port.rate).collect();
    let mut work = 0;
    for cross in tandem.any() {
        work += cross.bursts[0];
        for (gap, own) in gaps[cross.first..].iter().zip(&cross.gaps) {
            work += cross.rate * i128::from(*gap) - own.early;
        }
        for rate in &mut left[cross.first..=cross.last()] {
            *rate -= cross.rate;
        }
    }
    let mut fixed: i64 = gaps.iter().sum();
    for (port, left) in tandem.ports.iter().zip(&left) {
        let behind = time(port.blocking, port.rate);
        work += (port.rate - left) * i128::from(behind);
        fixed += behind;
    }
    let rate = left.into_iter().min().filter(|&rate| rate > 0)?;
    tandem.longest(rate, |own| Some(fixed + time(own + work, rate)))
}
