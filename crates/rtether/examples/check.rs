//! What `rtether check FILE` does, as a program: `cargo run --example check scenarios/hub.yaml`.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::error::Error;
use std::path::Path;

use rtether::beneath::Beneath;
use rtether::check::{Options, check};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::report::{Checked, Verdicts};
use rtether::scenario::{self, Written};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("name a scenario")?;
    let checked = run(&file)?;
    print!("{}", Verdicts::from(&checked).render(Format::Table, Screen::default()));
    println!("{:?}", checked.conclusion);
    Ok(())
}

/// Checks a scenario file.
pub fn run(file: &str) -> Result<Checked, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    // The scenario may include files beneath its folder.
    let beneath =
        Beneath::new(Path::new(file), &[], |folder| format!("allow {}", folder.display()));
    let further = |path: &str| beneath.read(path).map_err(|why| why.to_string());
    let loaded = scenario::load_from(file, &text, &further, &[], &[]);
    let written = Written::of(&loaded, Vec::new());
    let plant = loaded.into_scenario()?;
    let options = Options { source: Some(written), ..Options::default() };
    Ok(check(&plant, options)?)
}
