//! Lower numbers: with other priorities, queues and layers, less of what costs most may do.
//!
//! A search with all numbers raised ends at the first design that proves everything, which may need
//! more of them than another one. So each number is halved towards what is written, and the search
//! begins again from the best design with that as its limit; [`super::refine`] does the rest with the
//! design that is found.

use std::cmp::Reverse;

use super::Work;
use super::search::Found;
use super::space::{Point, Space};
use super::trial::{Halt, Judged};

/// Moves the numbers of a design towards what is written, as long as a search finds a design that keeps
/// all that is proved.
pub(super) fn lower(
    work: &mut Work<'_>,
    space: &Space,
    found: &mut Found,
    first: &Judged,
) -> Result<(), Halt> {
    let needed = found.judged.clone();
    let numbers = 0..space.parameters.len();
    let mut numbers: Vec<usize> =
        numbers.filter(|own| space.parameters[*own].freedom.is_none()).collect();
    // What costs most a step is to be least.
    numbers.sort_by_key(|own| Reverse(space.parameters[*own].costs.get(1).copied()));
    for number in numbers {
        let mut failed = 0;
        while found.point[number] > failed + 1 {
            let middle = u8::midpoint(failed, found.point[number]);
            let limited = limited(space, &found.point, (number, middle));
            let mut point = found.point.clone();
            point[number] = middle;
            work.grant();
            let judged = work.trials(&limited, first).judge(&point)?;
            let mut other = Found { point, judged };
            let (_, halt) = work.climb(&limited, (&mut other, true), first);
            if other.judged.keeps(&needed) {
                *found = other;
            } else {
                failed = middle;
            }
            if halt == Some(Halt::Interrupted) {
                return Err(Halt::Interrupted);
            }
        }
    }
    Ok(())
}

/// Returns a space in which no number is above that of a point, and one not above a value.
fn limited(space: &Space, point: &Point, (number, most): (usize, u8)) -> Space {
    let mut space = space.clone();
    for (own, parameter) in space.parameters.iter_mut().enumerate() {
        if parameter.freedom.is_none() {
            let most = if own == number { most } else { point[own] };
            parameter.values.truncate(usize::from(most) + 1);
            parameter.costs.truncate(usize::from(most) + 1);
        }
    }
    space
}
