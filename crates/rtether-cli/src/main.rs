//! The `rtether` command.
fn main() {}
