//! In which order a device serves requests.

use alloc::vec::Vec;

use super::figure::Unidentified;
use super::volley::Observation;

/// In which order requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they arrive.
    Arrival,
    /// High priority first.
    Priority,
}

impl Order {
    /// Tells the order by how many of the requests with high priority have overtaken another.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub fn estimate(observations: &[Observation]) -> Result<Self, Unidentified> {
        let ranks = observations.iter().filter(|own| own.volley.high).filter_map(|own| {
            let (high, others) = own.requests().split_last()?;
            let at = high.answered?;
            Some(others.iter().filter_map(|sent| sent.answered).any(|other| at < other))
        });
        let overtaken: Vec<bool> = ranks.collect();
        let [overtook, all] = [overtaken.iter().filter(|own| **own).count(), overtaken.len()];
        match all {
            // The queue is known to be shorter than two packets, or has not been looked for.
            0 if observations.iter().any(|own| own.lost() > 0) => Err(Unidentified::QueueTooShort),
            0 => Err(Unidentified::NeedsOther),
            _ if overtook * 4 >= all * 3 => Ok(Self::Priority),
            _ if overtook * 4 <= all => Ok(Self::Arrival),
            _ => Err(Unidentified::Ambiguous),
        }
    }
}
