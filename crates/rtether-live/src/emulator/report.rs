//! Counters of an emulator, and the comparison with the replay.

use std::collections::BTreeMap;
use std::io;

use rtether_model::record::Record;
use rtether_sim::emulation::{self, Comparison, Recording};
use rtether_sim::observe::DropReason;

use super::frame::Discard;
use super::{DepartureErrors, Emulator, EmulatorError};

/// Fate of frames outside the network, and in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames received from the hosts.
    pub received: u64,
    /// Copies sent to the hosts, collision reports included.
    pub sent: u64,
    /// Frames on devices that are not ports; zero in a separate namespace.
    pub elsewhere: u64,
    /// Frames for an address that no station has.
    pub unknown: u64,
    /// Frames of fewer than 14 octets.
    pub short: u64,
    /// Frames of more than 1514 octets: a host has segmentation offload on.
    pub long: u64,
    /// Frames of VLAN 4095, which is reserved.
    pub bad_tags: u64,
    /// Frames dropped because the store was full.
    pub no_room: u64,
    /// Frames dropped because the socket was full: the emulator did not keep up.
    pub overruns: u64,
    /// Frames without a usable stamp, which got the time at which they were read.
    pub unstamped: u64,
    /// Frames without a checksum: a host has checksum offload on, and others will not accept them.
    pub unchecked: u64,
    /// Copies for stations without a port.
    pub unconnected: u64,
    /// Copies that the system refused, for example for lack of memory.
    pub unsent: u64,
    /// Copies lost in the network, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Collisions of stations.
    pub collisions: u64,
    /// How often the real-time clock was set.
    pub clock_steps: u64,
    /// How often the thread slept.
    pub naps: u64,
}

impl Counts {
    pub(super) fn discard(&mut self, reason: Discard) {
        *match reason {
            Discard::Short => &mut self.short,
            Discard::Long => &mut self.long,
            Discard::Unknown => &mut self.unknown,
            Discard::Tag => &mut self.bad_tags,
        } += 1;
    }

    /// Counts a frame handed to a device.
    ///
    /// # Errors
    /// If the device is gone.
    pub(super) fn note_sent(
        &mut self,
        result: io::Result<()>,
        device: &str,
    ) -> Result<(), EmulatorError> {
        let Err(source) = result else {
            self.sent += 1;
            return Ok(());
        };
        let error = source.raw_os_error();
        if let Some(libc::ENXIO | libc::ENODEV | libc::ENETDOWN) = error {
            return Err(EmulatorError::Gone { device: device.to_owned(), source });
        }
        self.unsent += 1;
        Ok(())
    }
}

/// Final report of an emulator.
#[derive(Clone, Debug)]
pub struct EmulatorReport {
    /// Frames outside and inside the network.
    pub counts: Counts,
    /// Frames injected, and how late.
    pub injected: emulation::Counters,
    /// How late frames left.
    pub departures: DepartureErrors,
    /// Comparison of the run with the replay of its arrivals; `None` without a recording.
    pub comparison: Option<Comparison>,
    /// The arrivals.
    pub recording: Recording,
    /// Counters of ports, nodes and media.
    pub record: Record,
}

impl Emulator {
    /// Ends the emulation, replays its arrivals offline and returns the report.
    ///
    /// # Errors
    /// If the network cannot be built again, although it was built once.
    pub fn finish(mut self) -> Result<EmulatorReport, EmulatorError> {
        let until = self.emulation.now();
        let options = &self.options;
        let comparison = if options.recording > 0 {
            let setup = super::setup(&self.network, &self.groups, options);
            Some(self.recording.compare(&setup, until)?)
        } else {
            None
        };
        self.counts.overruns += self.tap.overruns();
        self.counts.clock_steps = self.stamps.steps();
        Ok(EmulatorReport {
            counts: self.counts,
            injected: self.emulation.counters(),
            departures: self.timing.finish(),
            comparison,
            recording: self.recording,
            record: self.emulation.finish(),
        })
    }
}
