//! `skeie-prio-switch-strip`: a switch that honors tags and removes them (IV, Bugs a), while the
//! master receives a file as fast as possible.

use super::measure;
use super::plant::{Load, Setup};
use crate::prelude::*;

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("A switch that takes tags off");
    let measure = |strips, has_rules| {
        let setup =
            Setup { strips, has_rules, is_saturated: true, ..Setup::prioritized(Load::Receive) };
        measure(&setup, progress)
    };
    let cases = [measure(false, false)?, measure(true, false)?, measure(true, true)?];
    let names = ["tags kept", "tags stripped", "tags stripped, class from the type of service"];
    for (name, case) in names.iter().zip(&cases) {
        let quantity = format!("round trip under receive load, {name}");
        let paper = "receive priority unusable with tags stripped";
        page.row(quantity, paper, case.words(), "000 Skeie IV Bugs a");
    }
    let high = cases.each_ref().map(|case| case.received().0);
    // Either every answered message arrived in the high queue, or none did.
    let answered = cases.each_ref().map(|case| case.all.delivered);
    let words = |at: usize| format!("{} of {} answers", high[at], answered[at]);
    page.judge(
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
    let [kept, stripped, _] = &cases;
    page.note(format!(
        "Stripping tags changes the mean round trip by {:.1} % (less than 1 % is no effect); {} frames of the file came beside \
         the messages.",
        (stripped.mean_us() / kept.mean_us() - 1.0) * 100.0,
        stripped.received().1
    ));
    Ok(())
}
