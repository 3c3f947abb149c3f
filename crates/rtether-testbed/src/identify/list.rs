//! What a device answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rtether::report::document::{self, Document};
use rtether::report::format::{Part, Render};
use rtether::report::table::{Screen, Table};
use rtether::verdict::Conclusion;
use schemars::JsonSchema;
use serde::Serialize;

use super::open::{Door, Opened};
use super::tempo::Tempo;
use super::{IdentifyOptions, Protocol};
use crate::{LiveError, Via, address_v4};

/// Whether a device answers a protocol.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The protocol.
    protocol: &'static str,
    /// Its port; `null` for ICMP and ARP.
    port: Option<u16>,
    /// Whether it answers.
    answers: bool,
    /// What it says of itself; `null` if it says nothing.
    identity: Option<String>,
    /// Why it does not answer.
    reason: Option<String>,
    /// Whole milliseconds until it was known.
    took_ms: u64,
}

/// What a device answers: one request in each protocol.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ListingJson<'a> {
    /// The device as named.
    target: &'a str,
    /// Each protocol.
    protocols: &'a [Answer],
    /// Whether the user ended it early.
    is_partial: bool,
}

impl Document for ListingJson<'_> {
    const SCHEMA: &'static str = "rtether.identify-list/1";
}

/// What a device answers.
#[derive(Clone, Debug)]
pub struct Listing {
    target: String,
    answers: Vec<Answer>,
    /// Whether the user ended it early.
    pub is_partial: bool,
}

impl Listing {
    /// Returns whether it answers anything.
    pub fn conclusion(&self) -> Conclusion {
        match self.answers.iter().any(|own| own.answers) {
            _ if self.is_partial => Conclusion::Interrupted,
            true => Conclusion::Met,
            false => Conclusion::NoAnswer,
        }
    }
}

/// Asks a device once in each protocol; a port is asked in its own only.
///
/// # Errors
/// If this host cannot ask.
pub fn list(options: &IdentifyOptions, stop: &AtomicBool) -> Result<Listing, LiveError> {
    let address = address_v4(&options.target, Via::Icmp)?;
    let path = options.share.path();
    let door = Door { address, options, path, stop };
    let mut tempo = Tempo::default();
    let mut answers = Vec::new();
    for &asked in &options.asked {
        // A port to open is one that the user names.
        if asked.protocol == Protocol::Syn && asked.port.is_none() {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        let opened = door.list(asked, &mut tempo)?;
        let took = begun.elapsed();
        let took_ms = took.as_secs() * 1_000 + u64::from(took.subsec_millis());
        let (answers_it, identity, reason) = match opened {
            Opened::Open(open) => (true, open.identity, None),
            Opened::Silent(why) => (false, None, Some(why)),
        };
        answers.push(Answer {
            protocol: asked.protocol.word(),
            port: asked.port,
            answers: answers_it,
            identity,
            reason,
            took_ms,
        });
    }
    let is_partial = stop.load(Ordering::Relaxed);
    Ok(Listing { target: options.target.clone(), answers, is_partial })
}

impl Render for Listing {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let table = Table::of(&self.answers)
            .shown("protocol", |own| own.protocol)
            .amount("port", |own| own.port.map(u64::from))
            .shown("answers", |own| if own.answers { "yes" } else { "no" })
            .shown("identity", |own| own.identity.clone())
            .shown("reason", |own| own.reason.clone());
        vec![table.done().into()]
    }

    fn rows(&self) -> Table {
        Table::of(&self.answers)
            .file("protocol", |own| own.protocol)
            .file("port", |own| own.port.map(u64::from))
            .file("answers", |own| own.answers)
            .file("identity", |own| own.identity.clone())
            .file("reason", |own| own.reason.clone())
            .file("took_ms", |own| own.took_ms)
            .done()
    }

    fn json(&self) -> String {
        document::text(&ListingJson {
            target: &self.target,
            protocols: &self.answers,
            is_partial: self.is_partial,
        })
    }
}
