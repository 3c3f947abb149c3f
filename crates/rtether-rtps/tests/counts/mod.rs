//! What readers count, on a network in virtual time.
//!
//! Oracle: the number of samples written when the writer found the reader, which the writer's side
//! of the test keeps, and what the application has taken.

mod late;
mod sum;
