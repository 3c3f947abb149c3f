//! Profiles of devices, as `rtether identify` finds them: shown, compared and merged.

mod diff;
mod merge;
mod page;
mod show;

pub use diff::{Compared, Difference, ProfileDiffJson, diff};
pub use merge::{Named, merge};
pub use page::html;
pub use rtether_scenario::profile::{
    Bin, Diagnostics, FIGURES, MAX_SERIES, MAX_TRIPS, Method, Misfit, NotKnown, Profile, Range,
    Series, Tail, Trial, Trips,
};
pub use show::{Found, ProfileJson, Shown};
