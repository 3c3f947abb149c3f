//! A study: many runs of one scenario with other values, and what they tell together.
//!
//! [`Study::read`] reads which parameters have which values, [`Study::points`] lists the points: one
//! run each, with a name that is a hash of all that decides its result. [`Study::run`] runs a point,
//! and its result is a text that can be kept under that name: points that exist need not be run
//! again, on whatever machine they were run. [`Answer`] is made of these texts alone, so that
//! interruptions and the order of the runs change no byte of it.

mod answer;
mod point;
mod sample;
mod study;

pub use answer::Answer;
pub(crate) use answer::SweepJson;
pub use point::Point;
pub(crate) use point::PointJson;
pub use study::{Study, StudyError};

#[cfg(test)]
mod tests;
