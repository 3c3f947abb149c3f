//! A step of a domain: timers, reception and callbacks.

use std::sync::Arc;

use rtether_rtps::time::Instant;

use super::event::{EventKind, Told};
use super::handle::{Core, DomainHandle, now};
use super::publication::PublicationHandle;
use super::status::{Failure, Status};
use super::subscription::{SubscriptionHandle, SubscriptionMode};

impl DomainHandle {
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

    /// Delivers the samples that wait at immediate subscriptions. Samples that arrive meanwhile
    /// wait for the next step, so that a flood of samples delays nothing else.
    fn deliver(&self) -> Result<(), Failure> {
        let mut index = 0;
        while let Some(one) = self.subscription(index)? {
            index += 1;
            if one.mode != SubscriptionMode::Immediate {
                continue;
            }
            let waiting = self.core()?.live()?.participant().waiting(one.id);
            for _ in 0..waiting {
                if !one.deliver()? {
                    break;
                }
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
        while let Some(one) = self.publication(index)? {
            if let Err(failure) = one.send_if_due(now()) {
                let mut told = Told::new(EventKind::SendFailed);
                told.publication = Some(index);
                failure.text().clone_into(&mut told.text);
                self.tell(&told);
            }
            index += 1;
        }
        Ok(())
    }

    /// Reports subscriptions whose first sample is overdue.
    fn tell_first_deadlines(&self) -> Result<(), Failure> {
        let at = now();
        let mut index = 0;
        while let Some(one) = self.subscription(index)? {
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

    /// Returns a subscription by its index. Callbacks may destroy some: then one may be skipped
    /// until the next step.
    fn subscription(&self, index: usize) -> Result<Option<Arc<SubscriptionHandle>>, Failure> {
        Ok(self.core()?.subscriptions.get(index).cloned())
    }

    fn publication(&self, index: usize) -> Result<Option<Arc<PublicationHandle>>, Failure> {
        Ok(self.core()?.publications.get(index).cloned())
    }
}

impl Core {
    /// Returns when the next timer of this module is due.
    fn due(&self) -> Instant {
        let publications = self.publications.iter().map(|one| one.due());
        let subscriptions = self.subscriptions.iter().map(|one| one.due());
        publications
            .chain(subscriptions)
            .fold(Instant::NEVER, Instant::min)
    }
}
