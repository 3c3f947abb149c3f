//! Certificates: claims about every packet's way that a checker which knows nothing of ours can test.
//!
//! The format and the proof that such claims may hold each other up are in
//! `docs/reference/certificate.md`; `verify/` has a checker in Python. Claims are those of total flow
//! analysis (`rtether_bounds::claims`), so that a stream whose least bound is another method's is certified
//! with a larger number than it is proved with.

mod plant;
mod write;

use rtether_bounds::{Analysis, claims};
use rtether_model::flow::Flow;
use rtether_model::network::Network;
use rtether_model::quantity::Duration;
use rtether_report::document;
use rtether_report::text::plural;

use crate::scenario::Scenario;
pub(crate) use write::CertificateJson;

pub use plant::Beyond;

/// A certificate of all bounds of a scenario.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The document, schema `rtether.certificate/1`.
    pub text: String,
    /// What it claims of each stream, in the order of records.
    pub bounds: Vec<Option<Duration>>,
    /// Streams with a bound.
    pub bounded: usize,
    /// Those of them for which it claims a bound.
    pub covered: usize,
    /// Those of these for which it claims a larger one than the least.
    pub larger: usize,
}

impl Certificate {
    /// Returns what the certificate covers, and the command that checks it.
    pub fn said(&self, file: &str) -> String {
        let Self { bounded, covered, larger, .. } = *self;
        let larger = match larger {
            0 => String::new(),
            number => format!(", {number} of them with a larger bound than shown"),
        };
        format!(
            "{file} has claims for {covered} of {} with a bound{larger}; to check them: python3 verify {file}",
            plural(bounded, "stream")
        )
    }
}

/// Writes the claims of a scenario whose analysis is given.
///
/// # Errors
/// If the plant has something that the format cannot express.
pub fn certificate(scenario: &Scenario, analysis: &Analysis) -> Result<Certificate, Beyond> {
    let Scenario { name, network, flows, .. } = scenario;
    of_plant(name, (network, flows), analysis)
}

/// The same of a network with its flows.
///
/// # Errors
/// As [`certificate`].
pub fn of_plant(
    name: &str,
    (network, flows): (&Network, &[Flow]),
    analysis: &Analysis,
) -> Result<Certificate, Beyond> {
    let plant = plant::of(name, (network, flows), analysis)?;
    let document = write::document((network, flows), analysis, &claims(network, flows), plant);
    Ok(Certificate {
        bounded: document.count(|own| own.proved.is_some()),
        covered: document.count(|own| own.bound.is_some()),
        larger: document.count(|own| own.bound.is_some() && own.bound != own.proved),
        bounds: document.bounds().collect(),
        text: document::line(&document),
    })
}
