//! `kweon-deadline`: longest delay of a frame that succeeds at the tenth attempt (002 Kweon 3.1,
//! footnote 3; R22).

use rtether::csma::{ATTEMPTS_MAX, slot_time, worst_case};

use crate::prelude::*;

const RATE: BitRate = BitRate::from_mbps(10);

/// The largest frame.
const FRAME: Bytes = Bytes::new(1518);

/// Attempts after which the paper counts a message as lost.
const TRIALS: u32 = 10;

fn longest(trials: u32) -> Duration {
    let (back_off, sending) = worst_case(trials, FRAME, RATE);
    back_off + sending
}

#[allow(clippy::unnecessary_wraps, reason = "all experiments have this signature")]
pub(crate) fn run(page: &mut Page, _: &Progress) -> Outcome {
    page.analysis("Longest delay on shared Ethernet with ten trials");
    let one_way = longest(TRIALS);
    page.check("C046", [one_way], one_way);
    let one_way_of_paper = "rt_worst_case_one_way_10_trials";
    page.compare(reference::values("kweon-linux"), |value| match &*value.statistic {
        name if name == one_way_of_paper => Some(("longest one-way delay, ten trials", one_way)),
        "rt_deadline_round_trip" => Some(("round-trip deadline", one_way * 2)),
        _ => None,
    });
    let ms = |time: Duration| time.as_ns_f64() / 1e6;
    let ours = (1..=ATTEMPTS_MAX).map(|trials| (u64::from(trials), ms(longest(trials))));
    let paper = reference::time("kweon-linux", one_way_of_paper);
    page.lines(
        "Back-offs stop growing after the tenth collision.",
        ["Longest delay by number of trials", "10 Mbit/s, in ms"],
        [Axis::number("trials").between(0.0, f64::from(ATTEMPTS_MAX)), Axis::number("ms")],
        vec![
            curve("sum of longest back-offs and trials", Style::LineAndMarkers, ours),
            curve("paper", Style::Markers, [(u64::from(TRIALS), ms(paper))]),
        ],
    );
    let (back_off, sending) = worst_case(TRIALS, FRAME, RATE);
    page.note(format!(
        "{one_way} = {back_off} of longest back-offs after {} collisions, with slots of {}, and \
         {sending} for {TRIALS} full frames with gap and one slot each. The paper takes its number \
         from an earlier one and shows no sum.",
        TRIALS - 1,
        slot_time(RATE)
    ));
    Ok(())
}
