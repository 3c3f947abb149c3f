//! Datagrams of protocol versions that a participant does not speak, counted by version.

use core::fmt;

/// Maximum number of versions that are counted apart; all others count as the last.
const APART_MAX: usize = 8;

/// Counts of datagrams by version: major, minor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions([([u8; 2], u64); APART_MAX]);

impl Versions {
    /// Counts a datagram.
    pub(super) fn count(&mut self, version: [u8; 2]) {
        let mut all = self.0.iter();
        let known = all.position(|(other, count)| *count == 0 || *other == version);
        let version = if known.is_some() { version } else { [u8::MAX; 2] };
        if let Some(entry) = self.0.get_mut(known.unwrap_or(APART_MAX - 1)) {
            *entry = (version, entry.1.saturating_add(1));
        }
    }

    /// Returns the versions with their counts; 255.255 stands for several.
    pub fn iter(&self) -> impl Iterator<Item = ([u8; 2], u64)> + '_ {
        self.0.iter().copied().filter(|(_, count)| *count > 0)
    }

    /// Returns whether there was none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

/// Such as `3 of RTPS 1.0, 1 of RTPS 3.0`.
impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, ([major, minor], count)) in self.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            if (major, minor) == (u8::MAX, u8::MAX) {
                write!(f, "{comma}{count} of other versions of RTPS")?;
            } else {
                write!(f, "{comma}{count} of RTPS {major}.{minor}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn versions_are_counted_apart_up_to_a_limit() {
        let mut versions = Versions::default();
        assert!(versions.is_empty());
        for version in [[1, 0], [3, 1], [1, 0]] {
            versions.count(version);
        }
        assert_eq!(versions.to_string(), "2 of RTPS 1.0, 1 of RTPS 3.1");
        for minor in 0..100 {
            versions.count([9, minor]);
        }
        assert_eq!(versions.iter().count(), APART_MAX);
        assert_eq!(versions.iter().map(|(_, count)| count).sum::<u64>(), 103);
        assert!(versions.to_string().ends_with(" of other versions of RTPS"));
    }
}
