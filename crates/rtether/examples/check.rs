//! What `rtether check FILE` does, as a program: `cargo run --example check scenarios/hub.yaml`.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::error::Error;

use rtether::check::{Options, check};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::report::{Checked, Verdicts};
use rtether::scenario::{self, Written};

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
    let written = Written::from(std::fs::read_to_string(file)?);
    let plant = scenario::load(file, &written.text).into_scenario()?;
    let options = Options {
        source: Some(written),
        ..Options::default()
    };
    Ok(check(&plant, options)?)
}
