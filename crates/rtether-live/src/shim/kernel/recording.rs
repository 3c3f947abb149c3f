//! Recording of the control law's calls in a live run, and their replay in a fresh engine.

use rtether_model::endnode::Smoothing;
use rtether_model::quantity::{BitRate, Instant};
use rtether_proto::smoother::ConfigError;

use super::regulator::Regulator;
use super::watch::Observation;

/// One call of the control law.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Step(Observation, BitRate),
    Set(Instant, Smoothing, BitRate),
}

/// The calls of a run, up to a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    start: Instant,
    smoothing: Smoothing,
    rate: BitRate,
    seed: u64,
    calls: Vec<Call>,
    limit: usize,
    overflow: u64,
}

/// Result of replaying a recorded run in a fresh engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Rates compared.
    pub decisions: usize,
    /// Calls that exceeded the limit of the recording and were not compared.
    pub lost: u64,
    /// The first decision that differs: its number, the recorded rate and the replayed rate.
    pub difference: Option<(usize, BitRate, BitRate)>,
}

impl Recording {
    /// Starts recording a law with these parameters; up to `limit` calls are kept.
    pub fn new(
        start: Instant,
        smoothing: Smoothing,
        rate: BitRate,
        seed: u64,
        limit: usize,
    ) -> Self {
        Self { start, smoothing, rate, seed, calls: Vec::new(), limit, overflow: 0 }
    }

    /// Records a step and the rate that followed.
    pub fn note(&mut self, seen: Observation, rate: BitRate) {
        self.push(Call::Step(seen, rate));
    }

    /// Records a change of parameters.
    pub fn note_set(&mut self, now: Instant, smoothing: Smoothing, rate: BitRate) {
        self.push(Call::Set(now, smoothing, rate));
    }

    fn push(&mut self, call: Call) {
        if self.calls.len() < self.limit {
            self.calls.push(call);
        } else {
            self.overflow += 1;
        }
    }

    /// Returns the observations, in order.
    pub fn observations(&self) -> impl Iterator<Item = (&Observation, BitRate)> {
        self.calls.iter().filter_map(|call| match call {
            Call::Step(seen, rate) => Some((seen, *rate)),
            Call::Set(..) => None,
        })
    }

    /// Replays the calls in a fresh engine.
    ///
    /// # Errors
    /// If the engine refuses the parameters that it was recorded with.
    pub fn replay(&self) -> Result<Replayed, ConfigError> {
        let mut regulator = Regulator::new(self.start, self.smoothing, self.rate, self.seed)?;
        let mut result = Replayed { decisions: 0, lost: self.overflow, difference: None };
        for call in &self.calls {
            match *call {
                Call::Step(seen, then) => {
                    let now = regulator.step(&seen);
                    if now != then && result.difference.is_none() {
                        result.difference = Some((result.decisions, then, now));
                    }
                    result.decisions += 1;
                }
                Call::Set(now, smoothing, rate) => regulator.set(now, smoothing, rate)?,
            }
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::super::regulator::tests::{at, seen, smoothing};
    use super::*;

    #[test]
    fn a_replay_says_where_it_differs() {
        let rate = BitRate::from_mbps(10);
        let mut law = Regulator::new(at(0), smoothing(), rate, 1).unwrap();
        let mut recording = Recording::new(at(0), smoothing(), rate, 1, 100);
        for ms in 1..=120 {
            let seen = seen(ms, u64::from(ms % 40 == 0), true);
            recording.note(seen, law.step(&seen));
        }
        let expected = Replayed { decisions: 100, lost: 20, difference: None };
        assert_eq!(recording.replay(), Ok(expected));
        let Call::Step(_, rate) = &mut recording.calls[70] else {
            panic!("only steps were noted");
        };
        let then = std::mem::replace(rate, BitRate::from_bps(1));
        let expected = Some((70, BitRate::from_bps(1), then));
        assert_eq!(recording.replay().unwrap().difference, expected);
    }
}
