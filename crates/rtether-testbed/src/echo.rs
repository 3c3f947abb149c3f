//! The responder.

use std::io;
use std::sync::atomic::AtomicBool;

use rtether::report::document::{self, Document, Members};
use rtether::report::format::{Part, Render};
use rtether::report::table::{Screen, Table};
use rtether_live::clock::{Clock, to_std};
use rtether_live::link::{Raw, Service, TcpLimits, TcpService, Udp, Xdp};
use rtether_live::responder::{Answered, Responder, Role};
use rtether_proto::probe::cndep::Profile;

use schemars::JsonSchema;
use serde::Serialize;

use super::rights::give_up;
use super::{EchoOptions, LiveError, PORT, Via, address, keep_cores_awake, round_trip, topics};

/// What was answered over a way, in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    /// The counters.
    pub answered: Answered,
    /// The way.
    pub via: Via,
}

impl Render for Answers {
    fn parts(&self, _: Screen) -> Vec<Part> {
        vec![line(&self.answered, self.via).into()]
    }

    /// One row.
    fn rows(&self) -> Table {
        Table::of([EchoJson::of(&self.answered)])
            .file("answered", |of| of.answered)
            .file("malformed", |of| of.malformed)
            .file("unsent", |of| of.unsent)
            .file("overrun", |of| of.overrun)
            .file("connections_refused", |of| of.connections_refused)
            .file("connections_idle", |of| of.connections_idle)
            .done()
    }

    fn json(&self) -> String {
        document::text(&EchoJson::of(&self.answered))
    }
}

/// What a responder has answered until its end.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EchoJson {
    /// Requests answered.
    answered: u64,
    /// Payloads that are no requests, dropped without an answer.
    malformed: u64,
    /// Answers that the system did not take.
    unsent: u64,
    /// Requests that found the buffer of the socket full.
    overrun: u64,
    /// Connections turned away.
    connections_refused: u64,
    /// Connections closed because nothing came.
    connections_idle: u64,
    /// Datagrams of versions of RTPS that are not spoken here, by version.
    other_versions: Members<String, u64>,
}

impl Document for EchoJson {
    const SCHEMA: &'static str = "rtether.echo/1";
}

impl EchoJson {
    fn of(answered: &Answered) -> Self {
        let Answered { answered, malformed, unsent, turned, versions } = answered;
        Self {
            answered: *answered,
            malformed: *malformed,
            unsent: *unsent,
            overrun: turned.overrun,
            connections_refused: turned.refused,
            connections_idle: turned.idle,
            other_versions: topics::by_version(versions),
        }
    }
}

/// Returns the counters as one line of text.
fn line(answered: &Answered, via: Via) -> String {
    let Answered { answered, malformed, unsent, turned, versions } = answered;
    let more = match via {
        Via::Udp | Via::Cndep => format!(", {} dropped by the socket's buffer", turned.overrun),
        Via::Tcp => {
            format!(", {} connections turned away, {} closed idle", turned.refused, turned.idle)
        }
        Via::Rtps if !versions.is_empty() => format!(", dropped: {versions}"),
        Via::Raw | Via::Xdp | Via::Icmp | Via::Rtps => String::new(),
    };
    format!("{answered} answered, {malformed} malformed, {unsent} not sent{more}\n")
}

/// Answers until `stop`; once ready, calls `ready` with the address.
///
/// # Errors
/// If the responder cannot start, or fails later.
pub fn echo(
    options: &EchoOptions,
    stop: &AtomicBool,
    ready: impl FnOnce(&str),
) -> Result<Answered, LiveError> {
    let failed = |error| {
        let doing = format!("answering at `{}` via {}", options.listen, options.via.name());
        LiveError::socket(doing, error)
    };
    match options.via {
        Via::Udp | Via::Cndep => {
            let port = if options.via == Via::Udp { PORT } else { Profile::PORT };
            let at = address(&options.listen, port, options.via)?;
            let service = Udp::bind(at, options.marks.udp()).map_err(failed)?;
            let at = service.local_address().map_err(failed)?;
            let at = format!("{at} via {}", options.via.name());
            run(options, service, stop, (&at, ready))?.map_err(failed)
        }
        Via::Raw => {
            let device = device(options)?;
            let service = Raw::bind(device, options.marks.raw())?;
            let at = format!("{} on {device} via raw", service.address());
            run(options, service, stop, (&at, ready))?.map_err(failed)
        }
        Via::Xdp => {
            let device = device(options)?;
            let service = Xdp::bind(device, options.marks.raw())?;
            let at = format!("{} on {device} via xdp", service.address());
            run(options, service, stop, (&at, ready))?.map_err(failed)
        }
        Via::Tcp => {
            let at = address(&options.listen, PORT, options.via)?;
            let limits = TcpLimits { of_peer: options.of_peer, idle: to_std(options.idle) };
            let service = TcpService::bind(at, options.marks.udp(), limits).map_err(failed)?;
            let at = service.local_address().map_err(failed)?;
            let at = format!("{at} via tcp");
            run(options, service, stop, (&at, ready))?.map_err(failed)
        }
        Via::Rtps => round_trip::answer(options, stop, ready),
        Via::Icmp => Err(LiveError::Unsuited {
            option: "echo",
            via: options.via.name(),
            help: "the kernel of every host answers by itself, nothing has to be started",
        }),
    }
}

fn device(options: &EchoOptions) -> Result<&str, LiveError> {
    let via = options.via.name();
    options.device.as_deref().ok_or(LiveError::NoDevice { via })
}

fn run<S: Service>(
    options: &EchoOptions,
    service: S,
    stop: &AtomicBool,
    (at, ready): (&str, impl FnOnce(&str)),
) -> Result<io::Result<Answered>, LiveError> {
    if options.thread.awake {
        // A caller that needs to know the result has called it before.
        let _ = keep_cores_awake();
    }
    options.thread.placement.apply()?;
    let role = match options.via {
        Via::Cndep => Role::Board {
            board: options.board.clone(),
            profile: options.profile,
            delay: options.delay,
        },
        Via::Udp | Via::Raw | Via::Xdp | Via::Icmp | Via::Tcp | Via::Rtps => Role::Echo,
    };
    let mut responder = Responder::new(service, role, Clock::start(), options.thread.waiting);
    if options.stamps {
        let stamped = responder.with_stamps();
        responder = stamped.map_err(|error| super::no_stamps(options.via, &error))?;
    }
    match give_up(options.confinement.as_ref(), options.thread)? {
        Some(confined) => ready(&format!("{at}, {confined}")),
        None => ready(at),
    }
    let ended = responder.run(stop);
    Ok(ended.map(|()| responder.counters()))
}
