//! Upkeep commands of the workspace.
fn main() {}
