//! What the user says in place of the file.

use rtether_model::quantity::Duration;

use crate::cabling::Cabling;
use crate::columns::Columns;

/// Classes of imported flows, each with a deadline of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// GOOSE after an event, with its repetitions.
    Goose,
    /// GOOSE repeated without an event.
    Heartbeat,
    /// Sampled values.
    SampledValues,
    /// Reports of servers to clients over TCP.
    Report,
    /// Periodic data of other protocols, in captures.
    Periodic,
    /// What comes now and then, in captures.
    Sporadic,
    /// Files and the like over TCP, in captures.
    Bulk,
}

/// Number of classes.
const CLASSES: usize = Class::ALL.len();

impl Class {
    /// Every class.
    pub const ALL: [Self; 7] = [
        Self::Goose,
        Self::Heartbeat,
        Self::SampledValues,
        Self::Report,
        Self::Periodic,
        Self::Sporadic,
        Self::Bulk,
    ];

    /// Returns the word of the scenario and the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goose => "goose",
            Self::Heartbeat => "heartbeat",
            Self::SampledValues => "sv",
            Self::Report => "report",
            Self::Periodic => "periodic",
            Self::Sporadic => "sporadic",
            Self::Bulk => "bulk",
        }
    }

    /// Returns the class of this name, or an error message for the user.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|class| class.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|class| class.name()).collect();
            format!("no class named `{name}`; there are {}", names.join(", "))
        })
    }

    const fn index(self) -> usize {
        match self {
            Self::Goose => 0,
            Self::Heartbeat => 1,
            Self::SampledValues => 2,
            Self::Report => 3,
            Self::Periodic => 4,
            Self::Sporadic => 5,
            Self::Bulk => 6,
        }
    }
}

/// Nominal frequency of a power system, in thousandths of a hertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency(u64);

impl Frequency {
    /// The frequency of most power systems.
    pub const HZ_50: Self = Self(50_000);

    /// Reads hertz, with or without the unit: `60`, `60 Hz`, `16.7Hz`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix("Hz").unwrap_or(text).trim();
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let is_decimal = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
        let wrong = || "write hertz from 1 to 1000, for example 60 or 16.7".to_owned();
        if whole.is_empty() || part.len() > 3 || !is_decimal(whole) || !is_decimal(part) {
            return Err(wrong());
        }
        let value: Option<u64> = format!("{whole}{part:0<3}").parse().ok();
        let value = value.filter(|value| (1_000..=1_000_000).contains(value));
        value.map(Self).ok_or_else(wrong)
    }

    /// Returns thousandths of a hertz.
    pub const fn millihertz(self) -> u64 {
        self.0
    }
}

/// What the user says in place of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    columns: Option<Columns>,
    cabling: Option<Cabling>,
    config: Option<String>,
    frequency: Option<Frequency>,
    deadlines: [Deadline; CLASSES],
    profiles: Vec<Profile>,
}

/// The profile of a device, whose stack a station takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The station, or the device whose interfaces several stations are.
    pub station: String,
    /// The file, relative to the scenario.
    pub file: String,
    /// Its content.
    pub text: String,
}

impl Profile {
    /// Returns whether a station is this device, or one of its interfaces.
    pub(crate) fn is_of(&self, station: &str) -> bool {
        let rest = station.strip_prefix(self.station.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
    }
}

/// The deadline of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// `None` for no deadline.
    pub(crate) time: Option<Duration>,
    /// Whether the user stated it.
    pub(crate) is_stated: bool,
}

impl Deadline {
    /// IEC 61850-5 asks 3 ms of a trip (type 1A, class P2/3 of edition 1) and of samples for protection (type
    /// 4). It asks nothing of a heartbeat, which only shows that its publisher is alive; what it asks
    /// of a report depends on the data in it.
    const fn usual(class: Class) -> Self {
        let time = match class {
            Class::Goose | Class::SampledValues => Some(Duration::from_ms(3)),
            Class::Heartbeat | Class::Report | Class::Periodic | Class::Sporadic | Class::Bulk => {
                None
            }
        };
        Self { time, is_stated: false }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// Nothing is said.
    pub const fn new() -> Self {
        Self {
            columns: None,
            cabling: None,
            config: None,
            frequency: None,
            profiles: Vec::new(),
            deadlines: [
                Deadline::usual(Class::Goose),
                Deadline::usual(Class::Heartbeat),
                Deadline::usual(Class::SampledValues),
                Deadline::usual(Class::Report),
                Deadline::usual(Class::Periodic),
                Deadline::usual(Class::Sporadic),
                Deadline::usual(Class::Bulk),
            ],
        }
    }

    /// States which column of a list of flows means what; those of tsnkit are taken otherwise.
    #[must_use]
    pub fn with_columns(mut self, columns: Columns) -> Self {
        self.columns = Some(columns);
        self
    }

    pub(crate) const fn columns(&self) -> Option<&Columns> {
        self.columns.as_ref()
    }

    /// States who is cabled to whom, in place of what the file says of it.
    #[must_use]
    pub fn with_cabling(mut self, cabling: Cabling) -> Self {
        self.cabling = Some(cabling);
        self
    }

    pub(crate) const fn cabling(&self) -> Option<&Cabling> {
        self.cabling.as_ref()
    }

    /// States which section of `omnetpp.ini` is meant, if it has several.
    #[must_use]
    pub fn with_config(mut self, name: String) -> Self {
        self.config = Some(name);
        self
    }

    pub(crate) fn config(&self) -> Option<&str> {
        self.config.as_deref()
    }

    /// States the nominal frequency; 50 Hz is assumed otherwise.
    #[must_use]
    pub const fn with_frequency(mut self, frequency: Frequency) -> Self {
        self.frequency = Some(frequency);
        self
    }

    /// States the deadline of a class; `None` for no deadline.
    #[must_use]
    pub const fn with_deadline(mut self, class: Class, deadline: Option<Duration>) -> Self {
        self.deadlines[class.index()] = Deadline { time: deadline, is_stated: true };
        self
    }

    /// States the profile of a device.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profiles.push(profile);
        self
    }

    /// Returns the profiles of devices.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Returns the frequency, and whether it was stated.
    pub(crate) fn frequency(&self) -> (Frequency, bool) {
        let stated = self.frequency.is_some();
        (self.frequency.unwrap_or(Frequency::HZ_50), stated)
    }

    /// Returns the deadline of a class.
    pub(crate) const fn deadline(&self, class: Class) -> Deadline {
        self.deadlines[class.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: decimal notation.
    #[test]
    fn frequencies_are_exact_or_refused() {
        for (text, expected) in [
            ("50", Some(50_000)),
            ("60 Hz", Some(60_000)),
            ("16.7Hz", Some(16_700)),
            ("16.666", Some(16_666)),
            ("1000", Some(1_000_000)),
            ("0.5", None),
            ("1000.001", None),
            ("16.6667", None),
            ("-50", None),
            ("50 kHz", None),
            (".5", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            let read = Frequency::parse(text).ok().map(Frequency::millihertz);
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn classes_have_names() {
        for class in Class::ALL {
            assert_eq!(Class::parse(class.name()), Ok(class));
        }
        assert!(Class::parse("trip").unwrap_err().contains("heartbeat"));
    }
}
