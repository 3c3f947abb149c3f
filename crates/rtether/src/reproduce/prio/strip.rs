//! `skeie-prio-switch-strip`: a switch that honours tags and takes them off (IV, Bugs a).

use super::super::{Comparison, Judge, ReproduceError, Reproduction};
use super::plant::{Load, Setup};
use super::{Case, measure};
use crate::run::Progress;

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let setup = |strips, has_rules| Setup {
        strips,
        has_rules,
        ..Setup::prioritized(Load::Receive)
    };
    let keeps = measure(&setup(false, false), progress)?;
    let strips = measure(&setup(true, false), progress)?;
    let deduces = measure(&setup(true, true), progress)?;
    let [kept, stripped, deduced] = [&keeps, &strips, &deduces].map(high_share);
    let mut judge = Judge::new("skeie-prio-switch-strip");
    judge.judge(
        "C031",
        kept > 0.0 && stripped == 0.0 && deduced > 0.0,
        format!(
            "frames of the high class at the receiver: tags kept {kept:.4}, stripped \
             {stripped:.4}, stripped and deduced from the type of service {deduced:.4}"
        ),
        "the classes at the receiver are others",
    );
    let compare = |name: &str, case: &Case| Comparison {
        quantity: format!("round trip under receive load, {name}"),
        paper: "receive priority unusable with tags stripped".into(),
        ours: case.words(),
        source: "000 Skeie IV Bugs a".into(),
    };
    Ok(Reproduction {
        id: "skeie-prio-switch-strip",
        title: "A switch that takes tags off",
        mode: "sim",
        comparisons: vec![
            compare("tags kept", &keeps),
            compare("tags stripped", &strips),
            compare("tags stripped, class from the type of service", &deduces),
        ],
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![
            "Shares are of all frames that the master receives, those of the file included.".into(),
        ],
    })
}

/// Returns the share of received frames that were sorted into the high class.
fn high_share(case: &Case) -> f64 {
    let Some(layer) = &case.layer else { return 0.0 };
    let total: u64 = layer.receive.iter().map(|queue| queue.arrived).sum();
    let high = layer.receive.last().map_or(0, |queue| queue.arrived);
    super::count_f64(high) / super::count_f64(total.max(1))
}
