//! Random numbers for tests of several crates.
//!
//! Plants are built by `Network::add` and `Network::join` of the model. The crate uses nothing of
//! ours, so that what is tested and what it is compared with share no more than their [`Dice`].

mod dice;

pub use dice::Dice;
