//! Reads one question from standard input and writes its answer to standard output, and how far it is to
//! standard error.

use std::io::{self, Read, Write};

fn main() -> io::Result<()> {
    let mut question = Vec::new();
    io::stdin().read_to_end(&mut question)?;
    // In one piece: the page takes each write for a line.
    let tell = |far: &str| drop(io::stderr().write_all(format!("progress {far}\n").as_bytes()));
    let answer = rtether_wasm::answer_telling(&question, tell);
    io::stdout().write_all(answer.as_bytes())
}
