//! What an import returns.

/// A scenario made from another tool's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the file is, such as `IEC 61850 SCL, edition 2.1`.
    pub format: String,
    /// Text of the scenario.
    pub scenario: String,
    /// What the file does not say, in order of the lines of the scenario.
    pub assumptions: Vec<Assumption>,
    /// What the file says that a user should look at, in order of its lines.
    pub findings: Vec<Finding>,
    /// What the file holds and what became of it.
    pub counts: Vec<Count>,
    /// What became of profiles of devices.
    pub identified: Identified,
}

/// Stations whose stacks come from profiles of devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identified {
    /// The stations.
    pub stations: Vec<String>,
    /// Paths of assumptions that have ended, since nothing rests on them any more.
    pub ended: Vec<String>,
    /// Names with a profile that no station has.
    pub unknown: Vec<String>,
}

/// Something that the file does not say: a comment on its line of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Line of the scenario, counted from 1.
    pub line: usize,
    /// What it is about, such as `flows.trip.deadline`.
    pub key: String,
    /// What was assumed and why.
    pub text: String,
}

/// Something in the file that a user should look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Line of the file, counted from 1; for captures the number of the packet, counted through all
    /// files.
    pub line: usize,
    /// What kind of finding it is.
    pub code: Code,
    /// What was found.
    pub text: String,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// A publisher without a subscriber.
    NoSubscriber,
    /// One multicast address at several publishers.
    SharedAddress,
    /// A control block without an address.
    NoAddress,
    /// A control block without a data set.
    NoDataSet,
    /// A data set whose size does not follow from the file.
    UnknownSize,
    /// A data set that does not fit a frame.
    TooLarge,
    /// A device that is not in the file.
    UnknownDevice,
    /// A control block that is not in the file.
    UnknownBlock,
    /// A subscriber without an interface where its publisher sends.
    NoInterface,
    /// A value that is not allowed or not known.
    BadValue,
    /// Two things of one name.
    SameName,
    /// Files that say different things about one device.
    Contradiction,
    /// A cable that was not used.
    UnusedCable,
    /// A device that is not connected.
    NotConnected,
    /// Traffic that this import does not read.
    NotRead,
    /// A capture that ends within a packet, or frames that were not captured whole.
    CutOff,
    /// Streams with too few frames to tell when they send.
    TooFew,
    /// More than a plan takes.
    TooMany,
    /// Gaps between sessions of a capture.
    Sessions,
    /// What a check would say of the plant.
    Plant,
    /// Frames of redundant networks, and their copies.
    Redundancy,
}

impl Code {
    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSubscriber => "no-subscriber",
            Self::SharedAddress => "shared-address",
            Self::NoAddress => "no-address",
            Self::NoDataSet => "no-data-set",
            Self::UnknownSize => "unknown-size",
            Self::TooLarge => "too-large",
            Self::UnknownDevice => "unknown-device",
            Self::UnknownBlock => "unknown-block",
            Self::NoInterface => "no-interface",
            Self::BadValue => "bad-value",
            Self::SameName => "same-name",
            Self::Contradiction => "contradiction",
            Self::UnusedCable => "unused-cable",
            Self::NotConnected => "not-connected",
            Self::NotRead => "not-read",
            Self::CutOff => "cut-off",
            Self::TooFew => "too-few",
            Self::TooMany => "too-many",
            Self::Sessions => "sessions",
            Self::Plant => "plant",
            Self::Redundancy => "redundancy",
        }
    }

    /// Returns what the user can do about it.
    pub const fn help(self) -> &'static str {
        match self {
            Self::NoSubscriber => {
                "bind its subscribers in the system tool, or name them under `to`"
            }
            Self::SharedAddress => {
                "give each publisher an address of its own: filters in switches and devices cannot tell these apart"
            }
            Self::NoAddress => {
                "add it under `Communication` if the device publishes it; without, it is left out"
            }
            Self::NoDataSet => {
                "name a data set if the device publishes it; without, it is left out"
            }
            Self::UnknownSize => {
                "complete the data sets and type templates, or correct `size`, where the scenario says what is assumed"
            }
            Self::TooLarge => {
                "check the data set: with its longest texts it does not fit; the largest frame is assumed"
            }
            Self::UnknownDevice => "import the file of the whole station, or remove the reference",
            Self::UnknownBlock => "remove the reference, or add the control block",
            Self::NoInterface => {
                "connect the subscriber to the subnetwork; it is not among the listeners"
            }
            Self::BadValue => "correct it; the scenario says what is assumed",
            Self::SameName => "rename one; the first is used",
            Self::Contradiction => {
                "export all files again from one project; what the file of the device itself says counts"
            }
            Self::UnusedCable => {
                "name each cable once at each of its two ends, one of which is a switch"
            }
            Self::NotConnected => {
                "connect an access point under `Communication`; without, it is left out"
            }
            Self::NotRead => "add flows by hand if it matters",
            Self::CutOff => "capture whole frames, and end the capture before the file is copied",
            Self::TooFew => {
                "capture longer if they matter: three frames of a stream show when it sends"
            }
            Self::TooMany => "capture a part of the plant, or filter the capture",
            Self::Sessions => {
                "each session is looked at for itself; give one of them if they differ"
            }
            Self::Plant => "`rtether check` says so of the scenario, at its line",
            Self::Redundancy => {
                "check which stations are in both networks, and the cables of each; two networks stand for a ring of HSR"
            }
        }
    }
}

/// A number of things in the file, or in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Name in files.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// How many.
    pub number: usize,
}
