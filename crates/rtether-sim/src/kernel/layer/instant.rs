//! The selection of a station among the packets of one time.

use crate::kernel::Simulation;
use crate::observe::Observer;

impl Simulation {
    /// Returns whether a selection in a station has to wait for what else this time brings, and sets
    /// its timer then.
    pub(super) fn waits_for_instant(&mut self, index: u32) -> bool {
        let waits = self.layer(index).instantly.is_set()
            || if self.is_on_shared_medium(index) {
                self.more_may_come_to_medium()
            } else {
                self.more_may_come()
            };
        if waits {
            self.wait_for_instant(index);
        }
        waits
    }

    /// Sets the timer for the selection of this time.
    pub(super) fn wait_for_instant(&mut self, index: u32) {
        let layer = self.stations[index as usize].layer();
        let layer = layer.expect("a station with tasks or a layer") as usize;
        self.layers[layer].instantly.set(self.now, &mut self.agenda);
    }

    /// Selects among what has come so far if no more may wait.
    pub(super) fn select_if_full<O: Observer>(&mut self, index: u32, observer: &mut O) {
        if self.layer(index).instantly.is_full() {
            self.select_in_layer(index, observer);
        }
    }

    /// Selects among the packets of this time: for the stack, then for the driver.
    #[cold]
    pub(in crate::kernel) fn select_in_layer<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let layer = self.stations[index as usize].layer();
        let layer = layer.expect("a station with tasks or a layer") as usize;
        let now = self.now();
        let stack = self.layers[layer].instantly.begin(&mut self.agenda);
        self.stack_timeout(index, observer);
        for &(id, class) in &stack {
            self.queue_by_class(index, id, class, observer);
        }
        self.serve_freed(index, observer);
        // A timer of this time counts, and no other call: some smoothers count how often they are
        // asked.
        let egress = self.layer(index).egress();
        if egress.poll_timeout().is_some_and(|due| due <= now) {
            egress.handle_timeout(now);
            self.layer(index).instantly.note_driver();
        }
        let driver = self.layer(index).instantly.for_driver();
        for &(id, offered) in &driver {
            self.offer_to_driver(index, id, offered, observer);
        }
        self.layer(index).instantly.keep(stack, driver);
        if self.layer(index).instantly.takes_driver() {
            self.hand_out(index, observer);
        }
        self.set_layer_timer(index);
    }
}
