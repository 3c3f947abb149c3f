//! Application tasks: packets between applications and stack.

use rtether_model::record::Segment;

use crate::kernel::Simulation;
use crate::layer::Work;
use crate::observe::Observer;
use crate::packet::{NONE, OUTBOUND, REVERSE};

impl Simulation {
    /// Queues a packet for its sending task; `false` if it passes no task.
    pub(super) fn queue_for_sending_task<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) -> bool {
        let kind = self.packet_kind(id);
        let is_reverse = self.pool.get(id).has(REVERSE);
        let tasks = self.layer(index).tasks();
        let Some(work) = tasks.and_then(|tasks| tasks.sending(kind, is_reverse)) else {
            return false;
        };
        self.pool.get_mut(id).mark = self.now;
        self.queue_for_task(index, id, work, observer);
        true
    }

    /// Queues a received message for its task, or the work of a data segment for the task that
    /// reads it; `false` if the packet does not wait for a task.
    pub(super) fn queue_for_receiving_task<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) -> bool {
        let kind = self.packet_kind(id);
        let tasks = self.layer(index).tasks();
        let Some((work, waits)) = tasks.and_then(|tasks| tasks.receiving(kind)) else {
            return false;
        };
        if waits {
            self.pool.get_mut(id).mark = self.now;
        }
        self.queue_for_task(index, if waits { id } else { NONE }, work, observer);
        waits
    }

    fn queue_for_task<O: Observer>(&mut self, index: u32, id: u32, work: Work, observer: &mut O) {
        let now = self.now();
        let tasks = self.layer(index).tasks();
        if let Some(refused) = tasks.and_then(|tasks| tasks.take(now, id, work)) {
            self.refuse(index, refused, observer);
        }
    }

    /// Passes on the packets that the tasks have completed.
    pub(super) fn complete_tasks<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        while let Some(tasks) = self.layer(index).tasks()
            && let Some(id) = tasks.complete(now)
        {
            let packet = self.pool.get_mut(id);
            let spent = self.now - packet.mark;
            packet.spend(Segment::Application, index, spent);
            if packet.has(OUTBOUND) {
                for id in self.cut(index, id, observer) {
                    self.enter_from_above(index, id, observer);
                }
            } else {
                self.deliver(index, id, observer);
            }
        }
    }
}
