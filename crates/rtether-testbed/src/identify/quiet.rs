//! A series without load, and another one that it predicts.

use rtether_live::clock::Clock;
use rtether_live::identify::Interview;
use rtether_proto::identify::request::Dialect;
use rtether_proto::identify::{Confirmation, Counters, End, Observation, Pace, Prober, Sizes};

use super::open::{Door, Open};
use super::tempo::Tempo;
use super::{Ending, Method, Series};

/// Returns how many requests check the prediction of a series.
pub(super) fn check(requests: u16) -> u16 {
    requests * 10 / 27
}

/// Measures a device without load, estimates, predicts, and measures again.
pub(super) fn measure(
    door: &Door<'_>,
    open: &mut Open,
    tempo: &mut Tempo,
    watch: &mut dyn FnMut(Method, u64, u64),
) -> Series {
    let protocol = open.asked.protocol;
    let requests = protocol.requests(door.options.requests);
    let pace = Pace { requests, gap: protocol.gap(), ..Pace::default() };
    let all = u64::from(requests + check(requests));
    let clock = Clock::start();
    let sizes = open.dialect.sizes();
    let seed = door.options.seed;
    let first = run(door, open, tempo, clock, (sizes, pace, seed), &mut |done| {
        watch(Method::Quiet, done, all);
    });
    let path = &door.path;
    let mut series = Series::of(open.asked, Method::Quiet, &first.observations, path);
    series.counters = first.counters;
    series.oddities = first.oddities;
    series.ending = first.ending;
    if series.ending == Ending::Done(End::Complete)
        && let Err(error) = door.renew(open, tempo)
    {
        series.ending = Ending::Broken(error.to_string());
    }
    if series.ending == Ending::Done(End::Complete) {
        let pace = Pace { requests: check(requests), ..pace };
        let unused = Sizes::Fixed(sizes.unused());
        // Gaps are others, too.
        let second = run(door, open, tempo, clock, (unused, pace, !seed), &mut |done| {
            watch(Method::Quiet, u64::from(requests) + done, all);
        });
        series.confirmation = Some(Confirmation::of(&series.costs, &second.observations, path));
        series.add(&second);
    }
    series.took = clock.now().since_start();
    series
}

/// One run of a prober.
pub(super) struct Ran {
    pub(super) observations: Vec<Observation>,
    pub(super) counters: Counters,
    pub(super) oddities: rtether_live::identify::Oddities,
    pub(super) ending: Ending,
}

/// Runs a prober of single requests.
fn run(
    door: &Door<'_>,
    open: &mut Open,
    tempo: &mut Tempo,
    clock: Clock,
    (sizes, pace, seed): (Sizes, Pace, u64),
    watch: &mut dyn FnMut(u64),
) -> Ran {
    tempo.rest(door.stop);
    let prober = Prober::quiet(sizes, pace, seed, clock.now());
    let ran = interview(door, prober, open, clock, watch);
    tempo.ended();
    ran
}

/// Lets a prober ask.
pub(super) fn interview(
    door: &Door<'_>,
    prober: Prober,
    open: &mut Open,
    clock: Clock,
    watch: &mut dyn FnMut(u64),
) -> Ran {
    let dialect: &Dialect = &open.dialect;
    let mut interview = Interview::new(prober, dialect, open.line.as_mut(), clock);
    let ended = interview.run(door.stop, |prober| watch(prober.counters().sent));
    let (prober, oddities) = interview.finish();
    let ending = match ended {
        Ok(Some(end)) => Ending::Done(end),
        Ok(None) => Ending::Interrupted,
        Err(error) => Ending::Broken(error.to_string()),
    };
    Ran {
        counters: prober.counters(),
        observations: prober.observations().to_vec(),
        oddities,
        ending,
    }
}

impl Series {
    /// Adds what a second run has counted, and how it ended.
    fn add(&mut self, more: &Ran) {
        let Counters { sent, answered, lost, late, doubled, unknown } = &mut self.counters;
        *sent += more.counters.sent;
        *answered += more.counters.answered;
        *lost += more.counters.lost;
        *late += more.counters.late;
        *doubled += more.counters.doubled;
        *unknown += more.counters.unknown;
        let own = &mut self.oddities;
        own.malformed += more.oddities.malformed;
        own.foreign += more.oddities.foreign;
        own.unknown += more.oddities.unknown;
        own.refused += more.oddities.refused;
        own.unsent += more.oddities.unsent;
        self.ending = more.ending.clone();
    }
}
