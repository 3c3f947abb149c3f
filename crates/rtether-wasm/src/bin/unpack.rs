//! Unpacks the program that the page carries: LZMA from standard input to standard output.
//!
//! Browsers unpack gzip themselves, in which the program is half as large again.

use std::io::{self, Read, Write};

use lzma_rust2::LzmaReader;

/// Most memory that a packed program may ask for, in KiB.
const MOST_KIB: u32 = 16 << 10;
/// Octets unpacked at once.
const PIECE: usize = 1 << 18;

fn main() -> io::Result<()> {
    // By pieces of the page's choice it would be asked for each octet.
    let mut packed = Vec::new();
    io::stdin().read_to_end(&mut packed)?;
    let mut reader = LzmaReader::new_mem_limit(&packed[..], MOST_KIB, None)?;
    let mut piece = vec![0; PIECE];
    let mut output = io::stdout();
    loop {
        match reader.read(&mut piece)? {
            0 => return Ok(()),
            size => output.write_all(&piece[..size])?,
        }
    }
}
