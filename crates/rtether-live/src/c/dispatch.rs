//! A step of a domain: timers, reception and callbacks.

use std::sync::Arc;

use rtether_rtps::time::{Duration, Instant};

use super::event::EventKind;
use super::memory::span;
use super::monitor::{Core, Monitor, now};
use super::reader::{Reader, SubscriptionMode};
use super::status::{Failure, Status};
use super::told::Told;
use super::writer::Writer;

/// How often a waiting thread checks for `rtether_domain_stop`.
pub(super) const LOOK: Duration = Duration::from_ms(20);

impl Monitor {
    /// Runs a function that steps the domain, which is refused within a callback: the application
    /// would wait for itself.
    pub(super) fn stepping(
        &self,
        work: impl FnOnce(&Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut core = self.core()?;
        if core.is_stepping {
            let text = "a domain cannot be stepped from within its callbacks";
            return Err(Failure::new(Status::Busy, text));
        }
        core.is_stepping = true;
        drop(core);
        let done = work(self);
        self.core()?.is_stepping = false;
        done
    }

    /// Performs one step, without waiting beyond `until`.
    pub(super) fn step(&self, until: Instant) -> Result<(), Failure> {
        let mut core = self.core()?;
        let until = until.min(core.due());
        core.live()?.step(until)?;
        drop(core);
        self.deliver()?;
        self.tell_events()?;
        self.send_due()?;
        self.tell_first_deadlines()
    }

    /// Steps until a condition holds.
    ///
    /// # Errors
    /// It does not hold in time, or the domain is stopped.
    pub(super) fn step_until(
        &self,
        limit_ns: i64,
        mut holds: impl FnMut(&mut Core) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let until: Instant = now() + span(limit_ns, "limit_ns")?;
        self.stepping(|domain| {
            loop {
                let mut core = domain.core()?;
                if holds(&mut core)? {
                    return Ok(());
                }
                drop(core);
                let is_over = now() >= until;
                if is_over || domain.is_stopped() {
                    return Err(Failure::quiet(Status::Timeout));
                }
                domain.step(until.min(now() + LOOK))?;
            }
        })
    }

    /// Delivers the samples that wait at immediate subscriptions. Samples that arrive meanwhile
    /// wait for the next step, so that a flood of samples delays nothing else.
    fn deliver(&self) -> Result<(), Failure> {
        let mut index = 0;
        while let Some(one) = self.reader(index)? {
            index += 1;
            if one.mode != SubscriptionMode::Immediate {
                continue;
            }
            let waiting = self.core()?.live()?.participant().waiting(one.id);
            for _ in 0..waiting {
                let Some(info) = one.next(self.core()?.live()?) else {
                    break;
                };
                one.receive(&info);
            }
        }
        Ok(())
    }

    fn tell_events(&self) -> Result<(), Failure> {
        loop {
            let mut core = self.core()?;
            let Some(event) = core.live()?.participant_mut().poll_event() else {
                return Ok(());
            };
            let told = Told::of(event, &core);
            drop(core);
            self.tell(&told);
        }
    }

    /// Calls the send callbacks that are due.
    fn send_due(&self) -> Result<(), Failure> {
        let mut index = 0;
        while let Some(one) = self.writer(index)? {
            if one.fills_in(now())
                && let Err(failure) = self.send(&one)
            {
                let mut told = Told::new(EventKind::SendFailed);
                told.publication = Some(index);
                failure.text().clone_into(&mut told.text);
                self.tell(&told);
            }
            index += 1;
        }
        Ok(())
    }

    fn send(&self, writer: &Writer) -> Result<(), Failure> {
        writer.send(self.core()?.live()?)
    }

    /// Reports subscriptions whose first sample is overdue.
    fn tell_first_deadlines(&self) -> Result<(), Failure> {
        let at = now();
        let mut index = 0;
        while let Some(one) = self.reader(index)? {
            if one.is_first_overdue(self.core()?.live()?, at) {
                let mut told = Told::new(EventKind::DeadlineMissed);
                told.subscription = Some(index);
                told.count = 1;
                self.tell(&told);
            }
            index += 1;
        }
        Ok(())
    }

    /// Returns a reader by its index. Callbacks may destroy some: then one may be skipped until the
    /// next step.
    fn reader(&self, index: usize) -> Result<Option<Arc<Reader>>, Failure> {
        Ok(self.core()?.readers.get(index).cloned())
    }

    fn writer(&self, index: usize) -> Result<Option<Arc<Writer>>, Failure> {
        Ok(self.core()?.writers.get(index).cloned())
    }
}

impl Core {
    /// Returns when the next timer of this module is due.
    fn due(&self) -> Instant {
        let writers = self.writers.iter().map(|one| one.due());
        let readers = self.readers.iter().map(|one| one.due());
        writers.chain(readers).fold(Instant::NEVER, Instant::min)
    }
}
