//! Adaptive requests: the next one is released once the last one has been answered.
//!
//! The release timer of the flow serves two purposes. A request sets it to the time at which it is
//! given up; the last answer sets it to the end of the pause. A later answer counts as delivered
//! and does not move the timer.

use crate::kernel::Simulation;

impl Simulation {
    /// Notes the answer to request `number`. A flow with several listeners waits for all of them.
    #[inline]
    pub(crate) fn note_answer(&mut self, index: u32, number: u32) {
        let flow = &mut self.flows[index as usize];
        // `awaited` is zero for flows that are not adaptive; answers to earlier requests do not
        // count.
        if flow.awaited == 0 || number != flow.number.wrapping_sub(1) {
            return;
        }
        flow.awaited -= 1;
        if flow.awaited == 0 {
            let next = flow.source.after_answer(self.now);
            self.agenda.set(flow.slot, next);
        }
    }
}
