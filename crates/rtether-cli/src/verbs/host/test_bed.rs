//! The measured column of `check`.

use std::num::NonZeroU8;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtether::measured::Evidence;
use rtether::scenario::Scenario;
use rtether_testbed::testbed::{Backend, Options, Plan};

use super::live::{self, PRIORITY};
use crate::drafts::Draft;
use crate::exit::Exit;
use crate::progress::Pace;
use crate::{number, terminal};

/// What carries frames between the stations on this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// Virtual Ethernet, bridges and queueing disciplines of the kernel.
    #[default]
    Kernel,
    /// The switches and hubs of the simulator in real time.
    Emulated,
}

impl From<BackendChoice> for Backend {
    fn from(choice: BackendChoice) -> Self {
        match choice {
            BackendChoice::Kernel => Self::Kernel,
            BackendChoice::Emulated => Self::Emulated,
        }
    }
}

/// Arguments of `check` for measurements.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckLive {
    /// Also run the scenario on this host and show measurements beside simulation and bound, over the
    /// emulated network unless `kernel` is said; see `rtether live`
    #[arg(
        long,
        value_name = "BACKEND",
        value_enum,
        num_args = 0..=1,
        default_missing_value = "emulated"
    )]
    pub(crate) live: Option<BackendChoice>,
    /// Real-time priority of the stations with `--live`; 0 for none
    #[arg(
        long,
        requires = "live",
        value_name = "N",
        default_value_t = PRIORITY,
        value_parser = number::within(0_u8..=80)
    )]
    pub(crate) priority: u8,
    /// Write one CSV line per packet measured with `--live`, at most a million
    #[arg(long, value_name = "FILE", requires = "live")]
    pub(crate) live_packets: Option<PathBuf>,
}

impl CheckLive {
    /// Returns whether a measurement is asked for.
    pub(crate) const fn is_asked(&self) -> bool {
        self.live.is_some()
    }

    /// Returns the file for every measured packet.
    pub(crate) fn packets(&self) -> Option<&Path> {
        self.live_packets.as_deref()
    }
}

/// A requested test bed, planned before the simulation so that mistakes show at once.
#[derive(Default)]
pub(crate) struct TestBed {
    planned: Option<(Plan, Options)>,
}

/// Measurements of the test bed.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) evidence: Evidence,
    /// Why the file of packets was not written.
    pub(crate) unwritten: Option<String>,
}

impl TestBed {
    /// Plans the test bed; `proves` is set for `check`.
    pub(crate) fn plan(
        arguments: &CheckLive,
        scenario: &Scenario,
        proves: bool,
    ) -> Result<Self, Exit> {
        if arguments.live.is_some() && !proves {
            terminal::complain("`--live` is for `check`; `rtether live` measures alone");
            return Err(Exit::WrongInput);
        }
        let Some(backend) = arguments.live else {
            return Ok(Self::default());
        };
        let options = Options {
            backend: backend.into(),
            duration: scenario.run.duration,
            seed: scenario.run.seed,
            priority: NonZeroU8::new(arguments.priority).map(NonZeroU8::get),
        };
        let tag = std::process::id().to_string();
        match Plan::new(scenario, options.backend, &tag) {
            Ok(plan) => Ok(Self { planned: Some((plan, options)) }),
            Err(error) => Err(live::refuse(&error)),
        }
    }

    /// Runs it, if requested, and lists the packets.
    pub(crate) fn measure(
        self,
        scenario: &Scenario,
        packets: Option<Draft>,
        pace: Pace,
    ) -> Result<Measured, Exit> {
        let Some((plan, options)) = self.planned else {
            return Ok(Measured::default());
        };
        let measured = match live::measure(scenario, &plan, &options, pace) {
            Ok(measured) => measured,
            // Show the simulation anyway.
            Err(Exit::Interrupted) => {
                let evidence = Evidence { is_partial: true, ..Evidence::default() };
                return Ok(Measured { evidence, unwritten: None });
            }
            Err(exit) => return Err(exit),
        };
        let written = packets.map(|packets| live::list_packets(packets, scenario, &measured));
        Ok(Measured {
            evidence: measured.evidence(scenario),
            unwritten: written.and_then(Result::err),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        live: CheckLive,
    }

    /// Oracle: what is compared. Only the emulated network takes the times that are simulated.
    #[test]
    fn a_check_measures_over_the_emulated_network_unless_told_otherwise() {
        let of = |words: &[&str]| Line::parse_from(words).live.live;
        assert_eq!(of(&["check"]), None);
        assert_eq!(of(&["check", "--live"]), Some(BackendChoice::Emulated));
        let kernel = of(&["check", "--live", "kernel"]);
        assert_eq!(kernel, Some(BackendChoice::Kernel));
    }
}
