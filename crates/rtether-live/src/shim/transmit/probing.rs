//! Probes in the direction to the wire.

use rtether_model::quantity::{Duration, Instant};

use super::TransmitSide;
use crate::link::MacAddress;
use crate::shim::frames::Pool;
use crate::shim::port::Port;
use crate::shim::probes::Probes;
use crate::shim::{Settings, ShimError};

impl TransmitSide {
    /// Starts sending and answering probes if the settings ask for it.
    pub(in crate::shim) fn probe_from(
        &mut self,
        now: Instant,
        settings: &Settings,
        own: MacAddress,
    ) {
        self.probes = Probes::new(now, settings, own);
    }

    /// Returns when the next probe is due, or the next outstanding one is lost.
    pub(in crate::shim) fn probe_at(&self) -> Option<Instant> {
        self.probes.as_ref()?.paths.poll_timeout()
    }

    /// Sends due probes and gives up lost ones.
    pub(in crate::shim) fn probe(
        &mut self,
        now: Instant,
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        if self.probe_at().is_none_or(|due| due > now) {
            return Ok(());
        }
        if let Some(probes) = &mut self.probes {
            probes.paths.handle_timeout(now);
        }
        self.observe_all(now, port, pool)?;
        while let Some(frame) = self.probes.as_mut().and_then(|probes| probes.poll(now)) {
            self.take_own(now, &frame, port, pool)?;
        }
        Ok(())
    }

    /// Processes a frame, other than a hub report, that arrived `age` ago.
    pub(in crate::shim) fn take_probe(
        &mut self,
        now: Instant,
        age: Duration,
        frame: &[u8],
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        let Some(probes) = &mut self.probes else {
            return Ok(());
        };
        if let Some(answer) = probes.take(now, age, frame) {
            self.take_own(now, &answer, port, pool)?;
        }
        self.observe_all(now, port, pool)
    }

    /// Reports probe results to the detector.
    fn observe_all(&mut self, now: Instant, port: &Port, pool: &mut Pool) -> Result<(), ShimError> {
        while let Some(observed) = self.probes.as_mut().and_then(|p| p.paths.poll_event()) {
            self.observe(now, observed, port, pool)?;
        }
        Ok(())
    }
}
