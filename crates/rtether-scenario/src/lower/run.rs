//! Run parameters.

use rtether_model::quantity::Duration;

use super::stages::stages;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Span};
use crate::help::Help;
use crate::keys::table::{OVERLOAD, RUN};
use crate::plan::{RunPlan, Stage};
use crate::reader::{Fields, Reader};

/// How long a run takes that does not say.
pub(crate) const DEFAULT_LENGTH: Duration = Duration::from_secs(10);

/// Places of the values of `run:` that need the whole plant to check.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunPlaces {
    /// The key `bucket`, if it is given.
    pub(crate) bucket: Option<Span>,
    /// The list `stages`, if it is given, and how many it has.
    pub(crate) stages: Option<(Span, usize)>,
    /// The key `seeds`, or else `for`.
    pub(crate) length: Option<Span>,
}

/// What `run:` says.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) plan: RunPlan,
    pub(crate) stages: Vec<Stage>,
    /// How an overload is reported.
    pub(crate) overload: Severity,
    pub(crate) places: RunPlaces,
}

/// Reads `run:`.
pub(crate) fn run(reader: &mut Reader<'_>, top: &Fields<'_>) -> Run {
    let default = RunPlan {
        duration: DEFAULT_LENGTH,
        warmup: Duration::ZERO,
        runs: 1,
        seed: 1,
        bucket: Duration::from_ms(100),
    };
    let Some(fields) = reader.one(top, "run", &RUN) else {
        return Run {
            plan: default,
            stages: Vec::new(),
            overload: OVERLOAD.default(),
            places: RunPlaces::default(),
        };
    };
    let duration = reader.positive_time(&fields, "for");
    let warmup = reader.time(&fields, "warmup");
    let runs = reader.count(&fields, "seeds");
    let seed = reader.count(&fields, "seed");
    let bucket = reader.positive_time(&fields, "bucket");
    let overload = reader.meaning(&fields, &OVERLOAD);
    let length = duration.map_or(default.duration, |time| time.value);
    if let Some(warmup) = warmup
        && warmup.value >= length
    {
        let title = format!("the warm-up of {} leaves nothing to measure", warmup.value);
        let mut diagnostic = Diagnostic::new(
            &codes::WARMUP_TOO_LONG,
            title,
            warmup.span,
            format!("the run takes {length}, warm-up included"),
        );
        if let Some(duration) = duration {
            diagnostic = diagnostic.also(duration.span, "");
        }
        let longer = warmup.value.checked_add(Duration::from_secs(10));
        let help = longer.map(|longer| Help::write(format!("for: {longer}")).certain(false));
        reader.report(diagnostic.help_if(help));
    }
    let hundredth = Duration::from_ps((length.as_ps() / 100).max(1));
    let bucket_length = bucket.map_or(hundredth, |bucket| bucket.value);
    // One time-series point per bucket and stream is kept; a million exceeds any plot.
    if let Some(bucket) = bucket
        && length.as_ps() / bucket_length.as_ps() > 1_000_000
    {
        let found = bucket_length.to_string();
        let rule = "at least a millionth of the run";
        reader.out_of_range("bucket", bucket.span, rule, &found, "too many points");
    }
    let stages = stages(reader, &fields, length);
    let plan = RunPlan {
        duration: length,
        warmup: warmup.map_or(Duration::ZERO, |time| time.value),
        runs: runs.map_or(1, |runs| u32::try_from(runs.value).unwrap_or(1)),
        seed: seed.map_or(1, |seed| seed.value),
        bucket: bucket_length,
    };
    let places = RunPlaces {
        bucket: bucket.map(|bucket| bucket.span),
        stages: fields.get("stages").map(|of| (of.value.span, stages.len())),
        length: runs.map(|runs| runs.span).or(duration.map(|time| time.span)),
    };
    Run { plan, stages, overload, places }
}
