//! Standard output and standard error.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::args::{ColorChoice, Global, MessageFormat};
use crate::exit::Exit;

/// Writes data to standard output. A reader that has seen enough is no failure; that nobody ever
/// was there to read is one, as is a disk without room.
pub(crate) fn print(text: &str) -> Exit {
    // Text without escape sequences has no colors to take out, which costs more than to write it.
    let written = if text.contains('\u{1b}') {
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    } else {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    };
    is_written(written)
}

/// Says what kept data from standard output, if anything did.
pub(crate) fn is_written(written: io::Result<()>) -> Exit {
    match written.and_then(|()| is_open()) {
        Ok(()) => Exit::Ok,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Ok,
        Err(error) => crate::exit::fail(&format!("writing to standard output: {error}")),
    }
}

/// Returns an error if standard output was closed when the program began. What is written goes
/// nowhere then, without an error.
pub(crate) fn is_open() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rtether::live::is_output_closed() {
        return Err(io::Error::other("it is closed"));
    }
    Ok(())
}

/// Writes text for the person in front of the terminal; nobody to read it is no failure.
pub(crate) fn tell(text: &str) {
    let mut err = anstream::stderr().lock();
    drop(writeln!(err, "{}", text.trim_end_matches('\n')));
}

/// Whether errors are objects of JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Obeys `--message-format` for all that follows.
pub(crate) fn choose_form(form: MessageFormat) {
    IS_JSON.store(form == MessageFormat::Json, Ordering::Relaxed);
}

/// Writes an error message in the form of diagnostics. It has no place in the scenario.
pub(crate) fn complain(message: &str) {
    if IS_JSON.load(Ordering::Relaxed) {
        let object = json!({
            "severity": "error",
            "code": "environment",
            "title": message,
            "spans": [],
            "help": [],
        });
        tell(&object.to_string());
    } else {
        tell(&format!("error: {message}"));
    }
}

/// Writes a remark for people, which programs do not want.
pub(crate) fn remark(text: &str) {
    if !IS_JSON.load(Ordering::Relaxed) {
        tell(text);
    }
}

/// Obeys `--color` for both streams; `NO_COLOR` and pipes are obeyed by themselves.
pub(crate) fn choose_color(global: &Global) {
    let choice = match global.color {
        ColorChoice::Auto => return,
        ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Returns whether colors reach standard output.
pub(crate) fn has_color() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Returns whether colors reach standard error.
pub(crate) fn errors_have_color() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}
