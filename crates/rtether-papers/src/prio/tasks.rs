//! `skeie-prio-taskprio`: the test program at the priority of the load generator (IV, Bugs b).

use rtether_model::network::Tasks;
use rtether_model::quantity::Duration;

use super::super::judge::all_of;
use super::super::{Comparison, Judge, ReproduceError, Reproduction};
use super::plant::{Load, Setup};
use super::{Case, measure};
use rtether::profiles::VXWORKS_SEGMENT as SEGMENT;
use rtether::run::Progress;

/// Processing time of a message in the test program.
const MESSAGE: Duration = Duration::from_us(5);

/// Smaller differences of the means do not count as an effect.
const EFFECT: f64 = 0.01;

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    // The file program takes as long per segment as the stack: the paper gives no number.
    let setup = |load, messages_first| Setup {
        tasks: Some(Tasks {
            message: MESSAGE,
            segment: SEGMENT,
            messages_first,
        }),
        is_saturated: true,
        ..Setup::prioritized(load)
    };
    let mut comparisons = Vec::new();
    let mut observed = Vec::new();
    let mut parts = Vec::new();
    for load in Load::BOTH {
        let high = measure(&setup(load, true), progress)?;
        let default = measure(&setup(load, false), progress)?;
        let effect = default.mean_us() / high.mean_us() - 1.0;
        // The order is the paper's; its size depends on a cost that the paper does not give.
        parts.push(match effect {
            effect if effect >= EFFECT => Some(true),
            effect if effect > 0.0 => None,
            _ => Some(false),
        });
        observed.push(format!(
            "{} load: default {:.1} us, high {:.1} us, {}",
            load.name(),
            default.mean_us(),
            high.mean_us(),
            if effect >= EFFECT {
                format!("{:.1} % more", effect * 100.0)
            } else {
                "no effect".into()
            }
        ));
        let compare = |priority: &str, case: &Case| Comparison {
            quantity: format!("{} load, {priority} task priority", load.name()),
            paper: "the generator is delayed whenever the load generator is busy".into(),
            ours: case.words(),
            source: "000 Skeie IV Bugs b".into(),
        };
        comparisons.extend([compare("default", &default), compare("high", &high)]);
    }
    let mut judge = Judge::new("skeie-prio-taskprio");
    judge.decide(
        "C032",
        all_of(&parts),
        observed.join("; "),
        "the means are at best in the paper's order, and differ by less than 1 % under some load; \
         that depends on what the file's program costs, which the paper does not say",
    );
    Ok(Reproduction {
        id: "skeie-prio-taskprio",
        title: "Task priority of the test program",
        mode: "sim",
        comparisons,
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![format!(
            "Processor time of the file's program: {SEGMENT} a segment, as long as the stack's; \
             the paper gives none."
        )],
    })
}
