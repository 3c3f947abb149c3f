//! What readers count, on a network in virtual time.
//!
//! Oracle: the number of samples written when the writer found the reader, which the writer's side
//! of the test keeps, and what the application has taken.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod late;
#[path = "../common/net.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod net;
mod sum;
