//! What `rtether check FILE` does, as a program: `cargo run --example check scenarios/hub.yaml`.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::error::Error;

use rtether::check::{Options, check};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::report::{Checked, Verdicts};
use rtether::scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("name a scenario")?;
    let checked = run(&file)?;
    print!(
        "{}",
        Verdicts::from(&checked).render(Format::Table, Screen::default())
    );
    println!("{:?}", checked.conclusion);
    Ok(())
}

/// Checks a scenario file.
pub fn run(file: &str) -> Result<Checked, Box<dyn Error>> {
    let loaded = scenario::load(file, &std::fs::read_to_string(file)?);
    let plant = loaded.scenario.ok_or("the scenario has errors")?;
    Ok(check(&plant, Options::default())?)
}
