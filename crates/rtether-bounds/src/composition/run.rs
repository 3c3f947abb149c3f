//! Contributions to the wait over a run of ports, or at a port and the stack behind it.

use alloc::vec::Vec;

use super::place::relation;
use super::{Candidate, Composer, Share, ShareCause, split};
use crate::analysis::Method;
use crate::index::NONE;
use crate::plant::Plant;
use crate::tandem::lud::nested;
use crate::tandem::path::{Scratch, Tandem};
use crate::tandem::pmoo::once;
use crate::tandem::port_and_stack::{Pairs, wait_among};

/// Returns the contributions to the wait over all ports of a run; `None` if the method has no bound
/// there, or one below the fixed times between the ports.
pub(super) fn shares(composer: &Composer, method: Method, run: &[u32]) -> Option<Vec<Share>> {
    let (plant, known) = (&composer.plant, &composer.refined.separated);
    let mut scratch = Scratch::new(plant);
    let fixed = run[1..].iter().map(|&visit| plant.visits[visit as usize].gap.max);
    let fixed: i64 = fixed.sum();
    let mut wait = |among: Option<&[u32]>| {
        let tandem = Tandem::new(plant, known, run, among, &mut scratch)?;
        let found =
            if method == Method::MultiplexingOnce { once(&tandem) } else { nested(&tandem) };
        Some(found? - fixed)
    };
    let whole = wait(None).filter(|&whole| whole >= 0)?;
    Some(shares_of(plant, run, whole, |among| wait(Some(among))))
}

/// Returns the contributions to the wait at a port and the stack behind it; `None` if nothing is
/// gained by taking them together.
pub(super) fn of_pair(composer: &Composer, visits: [u32; 2]) -> Option<Vec<Share>> {
    let (plant, known) = (&composer.plant, &composer.refined.separated);
    let fixed = plant.visits[visits[1] as usize].gap.max;
    let whole = Pairs::new(plant, known).gaining(visits)? - fixed;
    Some(shares_of(plant, &visits, whole, |among| {
        Some(wait_among(plant, known, visits, among)? - fixed)
    }))
}

/// Splits the wait over the places of a run; `wait` is what it would be if only some flows came
/// besides its own.
fn shares_of(
    plant: &Plant,
    run: &[u32],
    whole: i64,
    mut wait: impl FnMut(&[u32]) -> Option<i64>,
) -> Vec<Share> {
    let own = Candidate {
        key: NONE,
        flow: plant.visits[run[0] as usize].flow,
        is_reply: plant.way_to(run[0]).any(|visit| visit.is_answer),
        cause: ShareCause::Own,
        cost: 0,
    };
    let mut others: Vec<Candidate> = Vec::new();
    for &visit in run {
        let here = &plant.visits[visit as usize];
        let server = &plant.servers[here.server as usize];
        for &other in plant.members.of(here.server).iter().filter(|&&o| o != visit) {
            let own = &plant.visits[other as usize];
            if others.iter().any(|known| known.key == own.flow) {
                continue;
            }
            others.push(Candidate {
                key: own.flow,
                flow: own.flow,
                is_reply: plant.way_to(other).any(|visit| visit.is_answer),
                cause: relation(server, here.queue, own.queue),
                cost: own.service.max(),
            });
        }
    }
    let mut flows = Vec::new();
    let mut shares = split(whole, own, others, |keys| {
        flows.clear();
        flows.extend_from_slice(keys);
        flows.sort_unstable();
        wait(&flows)
    });
    for share in &mut shares {
        share.packet = rtether_model::quantity::Duration::ZERO;
    }
    shares
}
