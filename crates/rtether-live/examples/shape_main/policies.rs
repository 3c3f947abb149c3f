//! Options that set policies.

use std::str::FromStr;

use rtether_rtps::qos::{
    AccessScope, Durability, History, Ownership, Presentation, Qos, Reliability, Representation,
};
use rtether_rtps::time::Duration;

/// Parses a number.
pub(crate) fn number<T: FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name} does not take `{text}`"))
}

/// Parses a nonnegative number of milliseconds.
pub(crate) fn ms(name: &str, text: &str) -> Result<Duration, String> {
    number::<u32>(name, text).map(|ms| Duration::from_ms(ms.into()))
}

/// Parses milliseconds; 0 means infinite.
fn ms_or_never(name: &str, text: &str) -> Result<Duration, String> {
    let span = ms(name, text)?;
    Ok(if span == Duration::ZERO { Duration::INFINITE } else { span })
}

/// Parses one of several words.
pub(crate) fn word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| format!("{name} does not take `{text}`"))
}

/// The policies without options.
pub(crate) fn usual() -> Qos {
    Qos {
        reliability: Reliability::Reliable,
        representations: vec![Representation::Xcdr1],
        ..Qos::reader()
    }
}

/// Sets the policy of an option; returns whether it is one.
pub(crate) fn set(qos: &mut Qos, name: &str, text: &str) -> Result<bool, String> {
    match name {
        "-k" => {
            qos.history = match number(name, text)? {
                0 => History::KeepAll,
                depth => History::KeepLast(depth),
            }
        }
        "-f" => qos.deadline = ms_or_never(name, text)?,
        "-s" => match number(name, text)? {
            -1 => qos.ownership = Ownership::Shared,
            strength => {
                qos.ownership = Ownership::Exclusive;
                qos.strength = strength;
            }
        },
        "-p" => qos.partitions = vec![text.to_owned()],
        "-D" => {
            let kinds = [
                ("v", Durability::Volatile),
                ("l", Durability::TransientLocal),
                ("t", Durability::Transient),
                ("p", Durability::Persistent),
            ];
            qos.durability = word(name, text, &kinds)?;
        }
        "-x" => {
            let kinds = [("1", Representation::Xcdr1), ("2", Representation::Xcdr2)];
            qos.representations = vec![word(name, text, &kinds)?];
        }
        "--time-filter" => qos.time_based_filter = ms(name, text)?,
        "--lifespan" => qos.lifespan = ms_or_never(name, text)?,
        "--access-scope" => {
            let scopes = [
                ("i", AccessScope::Instance),
                ("t", AccessScope::Topic),
                ("g", AccessScope::Group),
            ];
            qos.presentation.scope = word(name, text, &scopes)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A scope is requested only together with order or coherence.
pub(crate) fn settle(presentation: &mut Presentation) {
    if !presentation.is_ordered && !presentation.is_coherent {
        presentation.scope = AccessScope::Instance;
    }
}
