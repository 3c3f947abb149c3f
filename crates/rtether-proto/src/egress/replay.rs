//! Replays of recordings, which must make the same decisions.
//!
//! An engine without a clock makes the same decisions for the same calls. A recording from a wire,
//! replayed in a fresh engine, therefore shows that the policy that ran is the one that is
//! simulated; a difference is a bug in the engine, the recording, or its layer.

use rtether_model::endnode::Layer;
use rtether_model::quantity::Instant;
use thiserror::Error;

use super::record::{Call, Entry, Recording, What};
use super::{Egress, EgressError};

/// Result of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Calls made.
    pub calls: u64,
    /// Identical decisions.
    pub decisions: u64,
    /// The first difference; the replay ends there.
    pub first_difference: Option<Difference>,
}

/// Where recording and replay differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the entry, from 0.
    pub entry: usize,
    /// The recorded entry; `None` if the recording has ended.
    pub recorded: Option<Entry>,
    /// The replayed entry; `None` if the replay has fewer.
    pub replayed: Option<Entry>,
}

/// Why a recording cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The engine refuses a layer.
    #[error("layer {number} of the recording is refused")]
    Layer {
        /// Number of the layer; 0 is the initial one.
        number: usize,
        /// Why.
        source: EgressError,
    },
    /// The recording changes the layer more often than there are layers.
    #[error("the recording uses layer {number}, but only {given} were given")]
    NoLayer {
        /// Number of the layer, from 0.
        number: usize,
        /// Number of layers given.
        given: usize,
    },
}

/// Repeats the calls of a recording in a fresh engine and compares its decisions.
///
/// `layers` holds the initial layer and one for each change in the recording.
///
/// # Errors
/// If a layer is missing or refused.
pub fn replay(recording: &Recording, layers: &[Layer]) -> Result<Comparison, ReplayError> {
    let layer = |number: usize| {
        let given = layers.len();
        let missing = ReplayError::NoLayer { number, given };
        layers.get(number).ok_or(missing)
    };
    let refused = |number| move |source| ReplayError::Layer { number, source };
    let (start, rate, seeds) = (recording.start, recording.rate, recording.seeds);
    let egress = Egress::new(start, layer(0)?, rate, seeds).map_err(refused(0))?;
    // Same limit as the recording, so that a truncated one is truncated at the same entry.
    let mut egress: Egress<u64> = egress.recorded(recording.entries.len());
    let mut comparison = Comparison { calls: 0, decisions: 0, first_difference: None };
    let (mut compared, mut layers_used) = (0, 1);
    for entry in &recording.entries {
        let What::Call(call) = entry.what else {
            continue;
        };
        if call == Call::Set {
            let next = layer(layers_used)?;
            egress.set(entry.at, next).map_err(refused(layers_used))?;
            layers_used += 1;
        } else {
            make(&mut egress, entry.at, call);
        }
        comparison.calls += 1;
        compare(recording, &egress, &mut compared, &mut comparison);
        if comparison.first_difference.is_some() {
            return Ok(comparison);
        }
    }
    if compared < recording.entries.len() {
        comparison.first_difference = Some(Difference {
            entry: compared,
            recorded: recording.entries.get(compared).copied(),
            replayed: None,
        });
    }
    Ok(comparison)
}

/// Compares the entries recorded since the last comparison.
fn compare(
    recording: &Recording,
    egress: &Egress<u64>,
    compared: &mut usize,
    comparison: &mut Comparison,
) {
    let replayed = egress.recording().map_or(&[][..], |own| &own.entries);
    for replayed in &replayed[*compared..] {
        let recorded = recording.entries.get(*compared);
        if recorded != Some(replayed) {
            comparison.first_difference = Some(Difference {
                entry: *compared,
                recorded: recorded.copied(),
                replayed: Some(*replayed),
            });
            return;
        }
        comparison.decisions += u64::from(matches!(replayed.what, What::Decision(_)));
        *compared += 1;
    }
}

/// Makes a call other than [`Call::Set`].
fn make(egress: &mut Egress<u64>, at: Instant, call: Call) {
    match call {
        Call::Offer(offered) => egress.offer(at, egress.statistics().offered, offered),
        Call::Poll => drop(egress.poll_transmit(at)),
        Call::Refuse { ring } => egress.refuse(at, ring),
        Call::Begin { ring } => egress.begin(at, ring),
        Call::Attempt => egress.attempt(at),
        Call::Attempted { ago } => egress.attempted(at, ago),
        Call::Complete { attempts } => egress.handle_completion(at, attempts),
        Call::Hear { wire_size } => egress.hear(at, wire_size),
        Call::Probe { path, delay } => egress.probe(at, path, delay),
        Call::Mark(packet) => egress.mark(at, packet),
        Call::Timeout => egress.handle_timeout(at),
        Call::Set => {}
    }
    while egress.poll_dropped().is_some() {}
}
