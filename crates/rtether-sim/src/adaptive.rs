//! Adaptive requests: the next follows when the answer to the one before is there.
//!
//! The timer of a flow's releases serves two purposes. A request sets it to the time at which it is
//! given up; when the last answer is there, it is set to the end of the pause. An answer that comes
//! later counts as delivered and moves nothing.

use crate::kernel::Simulation;

impl Simulation {
    /// An answer is back, if the flow has answers. Whoever has several listeners waits for all.
    #[inline]
    pub(crate) fn note_answer(&mut self, index: u32, number: u32) {
        let flow = &mut self.flows[index as usize];
        // Nothing is awaited of flows that are not adaptive.
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
