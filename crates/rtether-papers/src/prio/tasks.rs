//! `skeie-prio-taskprio`: the test program at the priority of the load generator (IV, Bugs b).

use rtether::profiles::VXWORKS_SEGMENT as SEGMENT;
use rtether_model::network::Tasks;

use super::measure;
use super::plant::{Load, Setup};
use crate::judge::all_of;
use crate::prelude::*;

/// Processing time of a message in the test program.
const MESSAGE: Duration = Duration::from_us(5);

/// Smaller differences of the means do not count as an effect.
const EFFECT: f64 = 0.01;

/// What the paper says.
pub(crate) const PAPER: &str = "the generator is delayed whenever the load generator is busy";

/// Returns whether default priority is slower: the order is the paper's, the size depends on a cost
/// that the paper does not give, and less than `least` is undecided.
pub(crate) fn is_slower(effect: f64, least: f64) -> Option<bool> {
    match effect {
        effect if effect >= least => Some(true),
        effect if effect > 0.0 => None,
        _ => Some(false),
    }
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Task priority of the test program");
    // The file program takes as long per segment as the stack: the paper gives no number.
    let setup = |load, messages_first| Setup {
        tasks: Some(Tasks { message: MESSAGE, segment: SEGMENT, messages_first }),
        is_saturated: true,
        ..Setup::prioritized(load)
    };
    let (mut observed, mut parts) = (Vec::new(), Vec::new());
    for load in Load::BOTH {
        let high = measure(&setup(load, true), progress)?;
        let default = measure(&setup(load, false), progress)?;
        let effect = default.mean_us() / high.mean_us() - 1.0;
        parts.push(is_slower(effect, EFFECT));
        let more = if effect >= EFFECT {
            format!("{:.1} % more", effect * 100.0)
        } else {
            "no effect".into()
        };
        let load = load.name();
        let (slow, fast) = (default.mean_us(), high.mean_us());
        observed.push(format!("{load} load: default {slow:.1} us, high {fast:.1} us, {more}"));
        for (priority, case) in [("default", default), ("high", high)] {
            let quantity = format!("{load} load, {priority} task priority");
            page.row(quantity, PAPER, case.words(), "000 Skeie IV Bugs b");
        }
    }
    page.judge(
        "C032",
        all_of(&parts),
        observed.join("; "),
        "the means are at best in the paper's order, and differ by less than 1 % under some load; \
         that depends on what the file's program costs, which the paper does not say",
    );
    page.note(format!(
        "Processor time of the file's program: {SEGMENT} a segment, as long as the stack's; \
         the paper gives none."
    ));
    Ok(())
}
