//! Compares the laws of the traffic smoother, as in `docs/models/smoother-laws.md`.
//!
//! ```sh
//! cargo run --release -p rtether-papers --example laws              # 3 seeds of 200 s for each of 140 points
//! cargo run --release -p rtether-papers --example laws -- 5 2000   # an hour
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example for the terminal")]

use std::process::ExitCode;

use rtether::run::Progress;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let mut number = |otherwise| match arguments.next() {
        None => Some(otherwise),
        Some(Ok(number)) if number > 0 => Some(number),
        Some(_) => None,
    };
    let (Some(seeds), Some(seconds)) = (number(3), number(200)) else {
        eprintln!("usage: laws [SEEDS [SECONDS]]");
        return ExitCode::from(2);
    };
    match rtether_papers::laws(seeds.into(), seconds.into(), &Progress::default()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
