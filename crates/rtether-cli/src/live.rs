//! The measured column of `check`: on Linux only.

use rtether::measured::Evidence;
use rtether::scenario::Scenario;

use crate::args::{CheckArgs, Global};
use crate::drafts::Draft;
use crate::exit::Exit;
use crate::terminal;

/// A requested test bed, planned before the simulation so that mistakes show at once.
#[derive(Default)]
pub(crate) struct TestBed {
    #[cfg(target_os = "linux")]
    planned: Option<(
        rtether_testbed::testbed::Plan,
        rtether_testbed::testbed::Options,
    )>,
}

/// Measurements of the test bed.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) evidence: Evidence,
    /// Why the file of packets was not written.
    pub(crate) unwritten: Option<String>,
}

impl TestBed {
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn plan(_: &CheckArgs, _: &Scenario, _: bool) -> Result<Self, Exit> {
        Ok(Self::default())
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn measure(
        self,
        _: &Scenario,
        _: Option<Draft>,
        _: &Global,
    ) -> Result<Measured, Exit> {
        Ok(Measured::default())
    }

    /// Plans the test bed; `proves` is set for `check`.
    #[cfg(target_os = "linux")]
    pub(crate) fn plan(
        arguments: &CheckArgs,
        scenario: &Scenario,
        proves: bool,
    ) -> Result<Self, Exit> {
        use std::num::NonZeroU8;

        use rtether_testbed::testbed::{Options, Plan};
        if arguments.live.live.is_some() && !proves {
            terminal::complain("`--live` is for `check`; `rtether live` measures alone");
            return Err(Exit::WrongInput);
        }
        let Some(backend) = arguments.live.live else {
            return Ok(Self::default());
        };
        let options = Options {
            backend: backend.into(),
            duration: scenario.run.duration,
            seed: scenario.run.seed,
            priority: NonZeroU8::new(arguments.live.priority).map(NonZeroU8::get),
        };
        let tag = std::process::id().to_string();
        match Plan::new(scenario, options.backend, &tag) {
            Ok(plan) => Ok(Self {
                planned: Some((plan, options)),
            }),
            Err(error) => Err(crate::testbed::refuse(&error)),
        }
    }

    /// Runs it, if requested, and lists the packets.
    #[cfg(target_os = "linux")]
    pub(crate) fn measure(
        self,
        scenario: &Scenario,
        packets: Option<Draft>,
        global: &Global,
    ) -> Result<Measured, Exit> {
        let Some((plan, options)) = self.planned else {
            return Ok(Measured::default());
        };
        let measured = match crate::testbed::measure(scenario, &plan, &options, global) {
            Ok(measured) => measured,
            // Show the simulation anyway.
            Err(Exit::Interrupted) => {
                let evidence = Evidence {
                    is_partial: true,
                    ..Evidence::default()
                };
                return Ok(Measured {
                    evidence,
                    unwritten: None,
                });
            }
            Err(exit) => return Err(exit),
        };
        let written =
            packets.map(|packets| crate::testbed::list_packets(packets, scenario, &measured));
        Ok(Measured {
            evidence: measured.evidence(scenario),
            unwritten: written.and_then(Result::err),
        })
    }
}
