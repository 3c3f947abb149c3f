//! Control of a running shim: one line of JSON each way over a Unix socket.
//!
//! Only the shim's user can access the socket (mode 0600). Its input is still not trusted: a
//! request has a size limit and a time limit, no client waits for another one's request
//! ([`Listener`]), and an invalid request is answered with the reason.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rtether::report::format::Format;
use serde_json::{Value, json};

use super::runtime_files::RuntimeFiles;

mod listener;

pub use listener::Listener;

/// Largest configuration accepted, in octets.
pub const MAX_CONFIG: usize = 256 << 10;
/// Longest line: a configuration with every octet escaped, and the rest of the request.
const MAX_LINE: usize = 6 * MAX_CONFIG + 4096;
/// Time limit for a shim's answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// A request to a shim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Asks for the status.
    Status(Form),
    /// Applies another configuration.
    Set {
        /// Name of the file, for messages.
        name: String,
        /// Its text.
        text: String,
    },
    /// Asks for an orderly end.
    Stop,
}

/// Format of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A format of results.
    Result(Format),
    /// The text format of Prometheus.
    Metrics,
}

impl Form {
    fn named(name: &str) -> Option<Self> {
        match name {
            "metrics" => Some(Self::Metrics),
            name => Format::named(name).map(Self::Result),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Result(format) => format.name(),
            Self::Metrics => "metrics",
        }
    }
}

/// A shim's answer: text for standard output, or an error.
pub type Answer = Result<String, Wrong>;

/// Why a shim does not carry out a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Wrong {
    /// Message for the user; may have several lines.
    pub message: String,
    /// Whether the request is at fault, rather than the machine.
    pub is_input: bool,
}

impl Wrong {
    /// Creates an error caused by the request.
    pub fn input(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, is_input: true }
    }

    /// Creates an error caused by the machine.
    pub fn machine(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, is_input: false }
    }
}

impl Request {
    /// Returns the line to send, including its end.
    pub fn line(&self) -> String {
        let object = match self {
            Self::Status(form) => json!({ "verb": "status", "form": form.name() }),
            Self::Set { name, text } => json!({ "verb": "set", "name": name, "text": text }),
            Self::Stop => json!({ "verb": "stop" }),
        };
        format!("{object}\n")
    }

    /// Parses a line with any content.
    ///
    /// # Errors
    /// Why it is not a request.
    pub fn read(line: &[u8]) -> Result<Self, Wrong> {
        let object: Value = serde_json::from_slice(line)
            .map_err(|error| Wrong::input(format!("a request is a line of JSON: {error}")))?;
        let text = |key: &str| {
            let text = object.get(key).and_then(Value::as_str);
            text.ok_or_else(|| Wrong::input(format!("a request needs the string `{key}`")))
        };
        match text("verb")? {
            "status" => {
                let name = text("form")?;
                let wrong = || Wrong::input("`form` is metrics or a format such as table or json");
                Ok(Self::Status(Form::named(name).ok_or_else(wrong)?))
            }
            "set" => {
                let (name, text) = (text("name")?.to_owned(), text("text")?.to_owned());
                if text.len() > MAX_CONFIG {
                    return Err(too_large(text.len()));
                }
                Ok(Self::Set { name, text })
            }
            "stop" => Ok(Self::Stop),
            _ => Err(Wrong::input("`verb` is status, set or stop")),
        }
    }
}

fn too_large(size: usize) -> Wrong {
    let most = MAX_CONFIG >> 10;
    Wrong::input(format!("the configuration has {size} octets; the limit is {most} KiB"))
}

fn line_of(answer: &Answer) -> String {
    let object = match answer {
        Ok(text) => json!({ "ok": text }),
        Err(wrong) => json!({ "error": wrong.message, "is_input": wrong.is_input }),
    };
    format!("{object}\n")
}

fn read_answer(line: &[u8]) -> Option<Answer> {
    let object: Value = serde_json::from_slice(line).ok()?;
    if let Some(text) = object.get("ok") {
        return Some(Ok(text.as_str()?.to_owned()));
    }
    Some(Err(Wrong {
        message: object.get("error")?.as_str()?.to_owned(),
        is_input: object.get("is_input")?.as_bool()?,
    }))
}

/// A line received in pieces.
#[derive(Debug, Default)]
struct Line(Vec<u8>);

impl Line {
    /// Appends received octets; returns whether the line is complete.
    ///
    /// # Errors
    /// If the line is too long, or something follows its end.
    fn take(&mut self, read: &[u8]) -> io::Result<bool> {
        let end = read.iter().position(|octet| *octet == b'\n');
        self.0.extend_from_slice(&read[..end.unwrap_or(read.len())]);
        let invalid = |message: String| Err(io::Error::new(ErrorKind::InvalidData, message));
        if self.0.len() > MAX_LINE {
            return invalid(format!("a line has {MAX_LINE} octets at most"));
        }
        match end {
            Some(end) if end + 1 == read.len() => Ok(true),
            Some(_) => invalid("nothing may follow the line".to_owned()),
            None => Ok(false),
        }
    }
}

/// Parses a request that arrives in pieces, or returns the reason why it is invalid; `None` if the
/// line is incomplete. For tests and fuzz targets only: a shim uses a [`Listener`].
#[doc(hidden)]
pub fn request_in<'p>(pieces: impl Iterator<Item = &'p [u8]>) -> Option<Result<Request, Wrong>> {
    let mut line = Line::default();
    for piece in pieces {
        match line.take(piece) {
            Ok(true) => return Some(Request::read(&line.0)),
            Ok(false) => {}
            Err(error) => return Some(Err(Wrong::input(error.to_string()))),
        }
    }
    None
}

/// Reads one line; nothing may follow it.
fn read_line(mut stream: &UnixStream, patience: Duration) -> io::Result<Vec<u8>> {
    let until = Instant::now() + patience;
    let mut line = Line::default();
    let mut octets = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let size = match stream.read(&mut octets) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(size) => size,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        };
        if line.take(&octets[..size])? {
            return Ok(line.0);
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No shim answers on the socket.
    #[error(
        "no shim answers for `{device}` in this network namespace: {source}; `rtether shim up \
         {device} --config shim.yaml` starts one"
    )]
    NoShim {
        /// The device.
        device: String,
        /// The system's error.
        source: io::Error,
    },
    /// The socket belongs to another user.
    #[error("the shim of `{device}` belongs to another user; run as that user, or as root")]
    NotAllowed {
        /// The device.
        device: String,
    },
    /// There is no answer in time, or an invalid one.
    #[error(
        "the shim of `{device}` does not answer: {source}; `rtether shim down {device}` removes one that hangs"
    )]
    NoAnswer {
        /// The device.
        device: String,
        /// The system's error.
        source: io::Error,
    },
    /// The shim reports an error.
    #[error(transparent)]
    Wrong(#[from] Wrong),
}

/// Sends a request to the shim of a place and returns its answer.
///
/// # Errors
/// See [`AskError`].
pub fn ask(place: &RuntimeFiles, request: &Request) -> Result<String, AskError> {
    if let Request::Set { text, .. } = request
        && text.len() > MAX_CONFIG
    {
        return Err(too_large(text.len()).into());
    }
    let device = || place.device().to_owned();
    let mut stream = UnixStream::connect(place.socket()).map_err(|source| {
        if source.kind() == ErrorKind::PermissionDenied {
            AskError::NotAllowed { device: device() }
        } else {
            AskError::NoShim { device: device(), source }
        }
    })?;
    let no_answer = |source| AskError::NoAnswer { device: device(), source };
    let asked = stream
        .set_write_timeout(Some(ANSWER_PATIENCE))
        .and_then(|()| stream.write_all(request.line().as_bytes()));
    asked.map_err(no_answer)?;
    let line = read_line(&stream, ANSWER_PATIENCE).map_err(no_answer)?;
    let answer = read_answer(&line);
    Ok(answer.ok_or_else(|| no_answer(ErrorKind::InvalidData.into()))??)
}

#[cfg(test)]
mod tests;
