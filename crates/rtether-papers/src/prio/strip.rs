//! `skeie-prio-switch-strip`: a switch that honors tags and removes them (IV, Bugs a), while the
//! master receives a file as fast as possible.

use super::super::{Comparison, Judge, ReproduceError, Reproduction};
use super::plant::{Load, Setup};
use super::{Case, measure};
use rtether::run::Progress;

pub(in super::super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let setup = |strips, has_rules| Setup {
        strips,
        has_rules,
        is_saturated: true,
        ..Setup::prioritized(Load::Receive)
    };
    let keeps = measure(&setup(false, false), progress)?;
    let strips = measure(&setup(true, false), progress)?;
    let deduces = measure(&setup(true, true), progress)?;
    let cases = [&keeps, &strips, &deduces];
    let high = cases.map(|case| case.received().0);
    // Either every answered message arrived in the high queue, or none did.
    let answered = cases.map(|case| case.all.delivered);
    let words = |at: usize| format!("{} of {} answers", high[at], answered[at]);
    let mut judge = Judge::new("skeie-prio-switch-strip");
    judge.judge(
        "C031",
        answered.iter().all(|&count| count > 0)
            && high[0] >= answered[0]
            && high[1] == 0
            && high[2] >= answered[2],
        format!(
            "frames in the high class at the receiver: tags kept {}, stripped {}, stripped and deduced \
             from the type of service {} (frames of the warm-up included)",
            words(0),
            words(1),
            words(2)
        ),
        "the classes at the receiver differ",
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
        notes: vec![format!(
            "Stripping tags changes the mean round trip by {:.1} % (less than 1 % is no effect); {} frames of the file came beside \
             the messages.",
            (strips.mean_us() / keeps.mean_us() - 1.0) * 100.0,
            strips.received().1
        )],
    })
}
