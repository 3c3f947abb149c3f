//! Files in and out.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

/// Largest scenario file that is read; the loader has its own, smaller limits.
const LARGEST_INPUT: u64 = 64 << 20;

/// Reads a text file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let text = if path == Path::new("-") {
        read_limited(io::stdin().lock())
    } else {
        fs::File::open(path).and_then(read_limited)
    };
    text.map_err(|error| format!("reading `{}`: {error}", path.display()))
}

fn read_limited(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    let size = source.take(LARGEST_INPUT + 1).read_to_string(&mut text)?;
    if size as u64 > LARGEST_INPUT {
        let limit = format!("larger than {} MiB", LARGEST_INPUT >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, limit));
    }
    Ok(text)
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    write_with(path, |file| file.write_all(text.as_bytes()))
}

/// Lets `fill` write a file that appears whole or not at all: it has another name until it is
/// complete.
pub(crate) fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
) -> Result<(), String> {
    let mut draft = OsString::from(path);
    draft.push(".part");
    let written = fs::File::create(&draft)
        .map(BufWriter::new)
        .and_then(|mut file| {
            fill(&mut file)?;
            file.flush()?;
            fs::rename(&draft, path)
        });
    written.map_err(|error| {
        drop(fs::remove_file(&draft));
        format!("writing `{}`: {error}", path.display())
    })
}

/// Makes a directory with those above it.
pub(crate) fn make_directory(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| format!("making `{}`: {error}", path.display()))
}
