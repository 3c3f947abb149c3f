//! `kweon-linux-rtonly`: real-time messages alone (3.2).

use super::super::{Comparison, Judge, ReproduceError, Reproduction, reference};
use super::{Bulk, Case, Platform, Scheme, measure};
use rtether::run::Progress;

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let case = Case {
        platform: Platform::Linux,
        scheme: Scheme::None,
        bulk: Bulk::NonGreedy,
        active: 0,
    };
    let measured = measure(&[case], progress)?;
    let point = &measured.pooled[0];
    let claims = measured.judge(|points| {
        let mut judge = Judge::new("kweon-linux-rtonly");
        judge.judge(
            "C047",
            points[0].miss() <= 1e-4,
            points[0].miss_words(),
            "messages miss their deadline although nothing is in their way",
        );
        judge.finish()
    });
    let values = reference::values("kweon-linux-rtonly").into_iter();
    let comparisons = values.map(|value| Comparison {
        quantity: "miss ratio without bulk traffic".into(),
        paper: value.words(),
        ours: point.miss_words(),
        source: value.source,
    });
    let max = point.messages.latency.max;
    Ok(Reproduction {
        id: "kweon-linux-rtonly",
        title: "Real-time messages alone on a hub",
        mode: "sim",
        comparisons: comparisons.collect(),
        claims,
        figures: Vec::new(),
        notes: vec![format!(
            "The longest round trip is {max}. The paper's 7e-5 is there without any load, so it \
             comes from its end systems, which take no time here."
        )],
    })
}
