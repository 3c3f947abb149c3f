//! The measured column of `check`: where there is Linux, and nothing elsewhere.

use rtether::measured::{self, Distribution, Measurement};
use rtether::report::Outcome;
use rtether::scenario::Scenario;
use rtether::verdict::Assessment;

use crate::args::{CheckArgs, Global};
use crate::drafts::Draft;
use crate::exit::Exit;
use crate::terminal;

/// A test bed that was asked for, planned before the simulation so that mistakes show at once.
#[derive(Default)]
pub(crate) struct TestBed {
    #[cfg(target_os = "linux")]
    planned: Option<(
        rtether::live::testbed::Plan,
        rtether::live::testbed::Options,
    )>,
}

/// What it measured.
#[derive(Default)]
pub(crate) struct Live {
    /// One a stream; none if nothing was measured.
    pub(crate) streams: Vec<Measurement>,
    /// What is said of them, one a stream.
    pub(crate) assessments: Vec<Assessment>,
    /// What the test bed itself may add to a packet.
    tolerance: rtether::measured::Duration,
    /// How latency was distributed, one a stream.
    pub(crate) distributions: Vec<Distribution>,
    /// Why the file of packets is not there.
    pub(crate) unwritten: Option<String>,
    errors: Vec<String>,
    is_partial: bool,
    /// Names of stations that were emulated.
    emulated: Vec<String>,
}

impl TestBed {
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn plan(_: &CheckArgs, _: &Scenario, _: bool) -> Result<Self, Exit> {
        Ok(Self::default())
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn measure(self, _: &Scenario, _: Option<Draft>, _: &Global) -> Result<Live, Exit> {
        Ok(Live::default())
    }

    /// Plans the test bed; `proves` says that this is `check`.
    #[cfg(target_os = "linux")]
    pub(crate) fn plan(
        arguments: &CheckArgs,
        scenario: &Scenario,
        proves: bool,
    ) -> Result<Self, Exit> {
        use std::num::NonZeroU8;

        use rtether::live::testbed::{Options, Plan};
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

    /// Runs it, if it was asked for, and lists the packets.
    #[cfg(target_os = "linux")]
    pub(crate) fn measure(
        self,
        scenario: &Scenario,
        packets: Option<Draft>,
        global: &Global,
    ) -> Result<Live, Exit> {
        use rtether::live::testbed::MeasuredStream;
        let Some((plan, options)) = self.planned else {
            return Ok(Live::default());
        };
        let measured = match crate::testbed::measure(scenario, &plan, &options, global) {
            Ok(measured) => measured,
            // What was simulated is to be shown all the same.
            Err(Exit::Interrupted) => {
                return Ok(Live {
                    is_partial: true,
                    ..Live::default()
                });
            }
            Err(exit) => return Err(exit),
        };
        let written =
            packets.map(|packets| crate::testbed::list_packets(packets, scenario, &measured));
        let streams = || measured.streams.iter();
        Ok(Live {
            assessments: measured.assess(scenario),
            streams: streams().map(MeasuredStream::measurement).collect(),
            distributions: streams().map(MeasuredStream::distribution).collect(),
            unwritten: written.and_then(Result::err),
            tolerance: measured.tolerance,
            errors: measured.errors,
            is_partial: measured.is_partial,
            emulated: rtether::live::testbed::emulated(scenario)
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })
    }
}

impl Live {
    /// Returns the streams that were measured beyond their bounds with the host inside its profile.
    pub(crate) fn exceeded(
        &self,
        bounds: Option<&[Option<rtether::measured::Duration>]>,
    ) -> Vec<usize> {
        let bounds = bounds.unwrap_or_default();
        measured::contradictions(bounds, &self.streams, self.tolerance)
    }

    /// Says what has to be known of the measurement; returns how the command ends because of it.
    pub(crate) fn note(&self, outcome: &Outcome<'_>, exceeded: &[usize]) -> Option<Exit> {
        for &index in exceeded {
            let stream = outcome.stream(index);
            let (max, bound) = (self.streams[index].max_inside, stream.bound);
            if let Some((max, bound)) = max.zip(bound) {
                terminal::complain(&format!(
                    "`{}`: a measured delay of {max} exceeds its proved bound of {bound}, and the \
                     host was inside its stated profile",
                    stream.flow.name
                ));
            }
        }
        let sum = |count: fn(&Measurement) -> u64| self.streams.iter().map(count).sum::<u64>();
        let (stalled, outside) = (sum(|s| s.stalled), sum(|s| s.outside));
        if stalled > 0 {
            terminal::tell(&format!(
                "{stalled} measured packets were touched by stalls of the host and are left out"
            ));
        }
        if outside > 0 {
            terminal::tell(&format!(
                "for {outside} of {} measured packets the host's stacks took longer than the \
                 scenario says: they prove nothing against a bound",
                sum(|s| s.released)
            ));
        }
        if !self.emulated.is_empty() {
            terminal::tell(&format!(
                "live figures hold this host's own costs on top of what was emulated at {}",
                self.emulated.join(", ")
            ));
        }
        if let Some(error) = self.errors.first() {
            terminal::complain(&format!("the measurement ended early: {error}"));
            return Some(Exit::Unfit);
        }
        self.is_partial.then_some(Exit::Interrupted)
    }
}
