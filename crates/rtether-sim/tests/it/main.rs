//! Integration tests of the simulator: worked arithmetic, properties, determinism.

mod delays;
mod support;
