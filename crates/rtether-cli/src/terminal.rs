//! Standard output and standard error.

use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::ValueEnum;
use serde_json::json;

use crate::exit::Exit;

/// When to use colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Format of diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Text with source line and caret.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Writes data to standard output. A reader that stops early is not an error; an output closed from
/// the start is one, as is a full disk.
pub(crate) fn print(text: &str) -> Exit {
    // Text without escape sequences needs no color filter, which costs more than the writing.
    let written = if text.contains('\u{1b}') {
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    } else {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    };
    is_written(written)
}

/// Reports what kept data from standard output, if anything did.
pub(crate) fn is_written(written: io::Result<()>) -> Exit {
    match written.and_then(|()| is_open()) {
        Ok(()) => Exit::Ok,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Ok,
        Err(error) => fail(&format!("writing to standard output: {error}")),
    }
}

/// Whether standard output was closed when the program began.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Notes whether standard output was closed when the program began.
pub(crate) fn note_closed(is_closed: bool) {
    IS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// Returns an error if standard output was closed when the program began, since writing to it then
/// loses data without an error.
pub(crate) fn is_open() -> io::Result<()> {
    if IS_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    Ok(())
}

/// Writes a message to standard error; a closed standard error is not an error.
pub(crate) fn tell(text: &str) {
    let mut err = anstream::stderr().lock();
    drop(writeln!(err, "{}", text.trim_end_matches('\n')));
}

/// Whether errors are written as JSON objects.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Applies `--message-format` from now on.
pub(crate) fn choose_form(form: MessageFormat) {
    IS_JSON.store(form == MessageFormat::Json, Ordering::Relaxed);
}

/// Writes an error message in the format of diagnostics, without a place in the scenario.
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

/// Reports what the machine cannot do.
pub(crate) fn fail(message: &str) -> Exit {
    complain(message);
    Exit::Unfit
}

/// Writes a remark for people; left out if messages are JSON.
pub(crate) fn remark(text: &str) {
    if !IS_JSON.load(Ordering::Relaxed) {
        tell(text);
    }
}

/// When the command began, if it tells what it does.
static BEGIN: OnceLock<Instant> = OnceLock::new();

/// Applies `--verbose` from now on.
pub(crate) fn choose_verbose() {
    BEGIN.get_or_init(Instant::now);
}

/// Tells with `--verbose` what is done, and when.
pub(crate) fn detail(text: impl FnOnce() -> String) {
    if let Some(begin) = BEGIN.get() {
        remark(&format!("[{:8.3} s] {}", begin.elapsed().as_secs_f64(), text()));
    }
}

/// Applies `--color` to both streams; `auto` respects `NO_COLOR` and pipes.
pub(crate) fn choose_color(choice: ColorChoice) {
    let choice = match choice {
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
