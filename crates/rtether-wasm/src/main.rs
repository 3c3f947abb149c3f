//! Reads one question from standard input and writes its answer to standard output.

use std::io::{self, Read, Write};

fn main() -> io::Result<()> {
    let mut question = Vec::new();
    io::stdin().read_to_end(&mut question)?;
    io::stdout().write_all(rtether_wasm::answer(&question).as_bytes())
}
