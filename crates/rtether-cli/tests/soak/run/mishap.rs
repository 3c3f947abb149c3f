//! Mishaps, and the windows in which they may lose frames.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rtether_testkit::Dice;

use super::Soak;
use crate::account::{Cause, Window};
use crate::bed::{PATIENCE, Side};
use crate::config::{self, Kept};
use crate::flow::{Flow, Kind};
use crate::schedule::Mishap;
use crate::shim::{Shim, Told};

/// Time for completed commands to take effect everywhere in the kernel.
const SETTLED: u64 = 50_000_000;
/// How long frames are still sent to a dead shim without a watchdog: until its last sign of life is
/// too old.
const FRESH: u64 = 250_000_000;
/// Longest window; longer ones could explain any loss.
const WINDOW_MAX: u64 = 10_000_000_000;

impl Soak {
    pub(super) fn suffer(&mut self, mishap: Mishap, dice: &mut Dice) -> Result<(), String> {
        match mishap {
            Mishap::Kill | Mishap::KillAndStart | Mishap::KillBoth => self.kill(mishap, dice),
            Mishap::Restart => self.restart(dice),
            Mishap::NearDown => self.flap(Side::Near, dice),
            Mishap::FarDown => self.flap(Side::Far, dice),
        }
    }

    fn flap(&mut self, side: Side, dice: &mut Dice) -> Result<(), String> {
        let from = self.clock.now();
        let pause = Duration::from_millis(dice.between(5, 900));
        self.bed.flap(side, pause)?;
        let until = self.await_flows()?;
        self.add_window(Cause::Link, from, until)?;
        self.tally.flaps[usize::from(side == Side::Far)] += 1;
        Ok(())
    }

    fn kill(&mut self, mishap: Mishap, dice: &mut Dice) -> Result<(), String> {
        let clock = self.clock;
        let (last, from) = Shim::ask_anew(&self.bed, self.kept.counts(), || clock.now())?;
        self.book(last)?;
        let is_alone = mishap == Mishap::KillBoth;
        self.shim.take().ok_or("no shim")?.kill(is_alone)?;
        self.tally.kills += 1;
        match mishap {
            Mishap::KillAndStart => {
                // The process that restores the device holds the lock, and releases it.
                return self.start_shim(dice, from, Cause::Kill);
            }
            Mishap::KillBoth => {
                let until = self.clock.now() + FRESH + SETTLED;
                self.add_window(Cause::Kill, from, until)?;
                self.wait_for("frames pass by", |soak| soak.clock.now() > until)?;
                self.tally.unwatched += 1;
            }
            Mishap::Kill | Mishap::Restart | Mishap::NearDown | Mishap::FarDown => {
                self.wait_for("the device is restored", |soak| soak.bed.files() == 0)?;
                self.add_window(Cause::Kill, from, self.clock.now() + SETTLED)?;
            }
        }
        // Without a shim frames pass, and none is lost.
        std::thread::sleep(Duration::from_millis(dice.between(200, 800)));
        self.kept = Kept::draw(dice, self.wish.backend);
        if mishap == Mishap::KillBoth && self.wish.backend == "kernel" {
            // The kernel's queues stay, and drop frames that no shim counts.
            return self.start_shim(dice, from, Cause::Kill);
        }
        self.start_shim(dice, self.clock.now(), Cause::Start)
    }

    pub(super) fn restart(&mut self, dice: &mut Dice) -> Result<(), String> {
        let from = self.clock.now();
        let last = self.shim.take().ok_or("no shim")?.end()?;
        self.book(last)?;
        self.add_window(Cause::End, from, self.clock.now() + SETTLED)?;
        self.tally.ends += 1;
        std::thread::sleep(Duration::from_millis(dice.between(100, 400)));
        self.start_shim(dice, self.clock.now(), Cause::Start)
    }

    /// Starts a shim; tries again, as a service manager does, while another process has the lock.
    fn start_shim(&mut self, dice: &mut Dice, from: u64, cause: Cause) -> Result<(), String> {
        let begin = Instant::now();
        let config = config::draw(dice, self.kept);
        let shim = loop {
            match Shim::start(&self.bed, &config) {
                Ok(shim) => break shim,
                Err(said) if said.contains("has a shim already") && begin.elapsed() < PATIENCE => {
                    self.tally.tries += 1;
                }
                Err(said) => return Err(said),
            }
        };
        self.shim = Some(shim);
        (self.told, self.reloads) = (Told::default(), [0; 2]);
        let until = self.await_flows()?;
        self.add_window(cause, from, until)
    }

    /// Waits until frames of each kind sent from now on have arrived, and returns the time.
    fn await_flows(&self) -> Result<u64, String> {
        let from = self.clock.now();
        let own = |flow: &&Arc<Flow>| flow.spec.kind != Kind::Mixed;
        self.wait_for("frames get through", |soak| {
            let mut flows = soak.flows.iter().filter(own);
            flows.all(|flow| flow.has_come_since(from))
        })?;
        Ok(self.clock.now())
    }

    fn add_window(&mut self, cause: Cause, from: u64, until: u64) -> Result<(), String> {
        if until - from > WINDOW_MAX {
            return Err(format!("{cause:?} lasts for {} ms", (until - from) / 1_000_000));
        }
        self.windows.push(Window { cause, from, until });
        self.tally.note_window(cause, until - from);
        Ok(())
    }
}
