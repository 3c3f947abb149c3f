//! What is known of a device, in all formats: one row for each figure.

use std::net::Ipv4Addr;

use rtether::report::document::{self, Document};
use rtether::report::format::{Part, Render};
use rtether::report::number::Ns;
use rtether::report::table::{Cell, Screen, Table};
use rtether::report::text::{plural, time};
use rtether::verdict::Conclusion;
use rtether_model::network::Servers;
use rtether_model::quantity::Duration;
use rtether_proto::identify::{Compared, Figure, Misfit, Order, Quantile, Unidentified};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Asked, Identified, Method, Series};

/// What a device costs, asked from outside.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IdentifyJson<'a> {
    /// The device as named.
    target: &'a str,
    /// Its address; `null` if a capture names none.
    address: Option<String>,
    /// What it says of itself; `null` if it says nothing.
    device: Option<&'a str>,
    /// First word of the verdict.
    conclusion: Conclusion,
    /// What the network takes of the smallest round trip, which is taken out of all figures.
    network_ns: Ns,
    /// From where that is known.
    network: &'a str,
    /// What this host takes of the smallest round trip; `null` if it was not measured and is a part of
    /// the figures.
    host_ns: Option<Ns>,
    /// Each series of requests.
    series: Vec<SeriesJson>,
    /// Protocols without an answer.
    silent: Vec<SilentJson<'a>>,
}

impl Document for IdentifyJson<'_> {
    const SCHEMA: &'static str = "rtether.identify/1";
}

#[derive(Serialize, JsonSchema)]
struct SilentJson<'a> {
    /// The protocol.
    protocol: &'static str,
    /// Why there is no answer.
    reason: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct SeriesJson {
    /// The protocol: `echo`, `closed`, `syn`, `unreachable`, `snmp`, `modbus`, `enip`, `arp`, `cndep`,
    /// `opcua` or `echo-rtether`.
    protocol: &'static str,
    /// Its port; `null` for ICMP and ARP.
    port: Option<u16>,
    /// How it was measured: `quiet`, `load` or `capture`.
    method: &'static str,
    /// Packets sent.
    sent: u64,
    /// Requests answered in time.
    answered: u64,
    /// Requests without an answer within 2 s.
    lost: u64,
    /// Time from the first request to the end.
    took_ns: Ns,
    /// What was estimated.
    figures: Vec<FigureJson>,
    /// Round trips without the shares of host and network, in order of sending.
    round_trips_ns: Vec<Ns>,
    /// Whether the prediction of a series that no estimate has used held, and nothing is there that
    /// the model does not have; `null` if none was to be made.
    confirmed: Option<bool>,
    /// What the device does that the model does not have.
    misfits: Vec<MisfitJson>,
    /// That series; empty if it was not measured.
    predicted: Vec<PredictedJson>,
    /// What makes the figures doubtful.
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct FigureJson {
    /// Its name: `fixed` (both directions together), `request octet`, `answer octet`, `both octets`,
    /// `jitter` (mean), quantiles of the fixed cost with its jitter, `cycle`, `receive`, `servers`,
    /// `order`, `queue`.
    name: String,
    /// The estimate of a time; `null` if it is none or not known.
    value_ns: Option<Ns>,
    /// Lower end of its 95 % interval; `null` if there is none.
    low_ns: Option<Ns>,
    /// Upper end.
    high_ns: Option<Ns>,
    /// What is no time: servers, order, queue.
    word: Option<String>,
    /// Why it is not known; `null` if it is.
    unknown: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct MisfitJson {
    /// `steps` (answers delayed by multiples of some time), `pauses` or `threads` (requests worked at
    /// side by side).
    kind: &'static str,
    /// What was seen.
    why: String,
}

#[derive(Serialize, JsonSchema)]
struct PredictedJson {
    /// Round trips per million that are at most this long.
    per_million: u32,
    /// What was predicted, host and network included.
    predicted_ns: Ns,
    /// What was measured.
    measured_ns: Ns,
    /// Whether both agree: the median within 10 %, the 99 % quantile within 25 %, or further apart
    /// by chance.
    agrees: bool,
}

impl FigureJson {
    fn time(name: &str, figure: Result<Figure, Unidentified>) -> Self {
        let known = figure.ok();
        Self {
            name: name.to_owned(),
            value_ns: known.map(|own| Ns(own.value)),
            low_ns: known.map(|own| Ns(own.low)),
            high_ns: known.map(|own| Ns(own.high)),
            word: None,
            unknown: figure.err().map(|why| why.to_string()),
        }
    }

    fn word(name: &str, word: Result<String, Unidentified>) -> Self {
        let unknown = word.as_ref().err().map(ToString::to_string);
        let name = name.to_owned();
        Self { name, value_ns: None, low_ns: None, high_ns: None, word: word.ok(), unknown }
    }

    fn quantile(own: &Quantile) -> Self {
        Self {
            name: format!("{} %", f64::from(own.per_million) / 1e4),
            value_ns: Some(Ns(own.value)),
            low_ns: own.low.map(Ns),
            high_ns: own.high.map(Ns),
            word: None,
            unknown: None,
        }
    }
}

impl SeriesJson {
    fn of(series: &Series) -> Self {
        let Series { asked: Asked { protocol, port }, method, counters, .. } = series;
        let compared = series.confirmation.as_ref().and_then(|own| own.as_ref().ok());
        let compared = compared.into_iter().flat_map(|own| own.quantiles);
        Self {
            protocol: protocol.word(),
            port: *port,
            method: method.word(),
            sent: counters.sent,
            answered: counters.answered,
            lost: counters.lost,
            took_ns: Ns(series.took),
            figures: figures(series),
            round_trips_ns: series.trips.iter().map(|(_, trip)| Ns(*trip)).collect(),
            confirmed: series.is_confirmed(),
            misfits: series.misfits.iter().map(MisfitJson::of).collect(),
            predicted: compared.map(PredictedJson::of).collect(),
            warnings: series.warnings(),
        }
    }
}

impl MisfitJson {
    fn of(own: &Misfit) -> Self {
        Self { kind: own.kind().word(), why: own.to_string() }
    }
}

impl PredictedJson {
    fn of(own: Compared) -> Self {
        Self {
            per_million: own.predicted.per_million,
            predicted_ns: Ns(own.predicted.value),
            measured_ns: Ns(own.measured.value),
            agrees: own.agrees,
        }
    }
}

/// Returns all figures of a series; those of a load are others than those without.
fn figures(series: &Series) -> Vec<FigureJson> {
    if let Some(load) = &series.load {
        let servers = load.servers.map(|own| match own {
            Servers::Shared => "1".to_owned(),
            Servers::PerDirection => "2".to_owned(),
        });
        let order = load.order.map(|own| match own {
            Order::Arrival => "arrival".to_owned(),
            Order::Priority => "priority".to_owned(),
        });
        return vec![
            FigureJson::time("receive", load.receive),
            FigureJson::word("servers", servers),
            FigureJson::word("order", order),
            FigureJson::word("queue", load.queue.map(|own| own.to_string())),
        ];
    }
    let costs = &series.costs;
    let mut all = vec![
        FigureJson::time("fixed", costs.fixed),
        FigureJson::time("request octet", costs.request_octet),
        FigureJson::time("answer octet", costs.answer_octet),
    ];
    // Either both directions have slopes of their own or one together.
    all.extend(
        costs.both_octets.is_ok().then(|| FigureJson::time("both octets", costs.both_octets)),
    );
    all.push(FigureJson::time("jitter", costs.jitter));
    all.extend(costs.quantiles.iter().map(FigureJson::quantile));
    all.push(FigureJson::time("cycle", series.cycle.map(|own| own.period)));
    all
}

impl Identified {
    /// Returns what follows from it.
    pub fn conclusion(&self) -> Conclusion {
        let answered = self.series.iter().any(|own| own.counters.answered > 0);
        if self.is_interrupted {
            return Conclusion::Interrupted;
        }
        let holds = self.series.iter().all(|own| own.is_confirmed() != Some(false));
        Conclusion::meets(answered.then_some(holds))
    }

    fn document(&self) -> IdentifyJson<'_> {
        let smallest = rtether_proto::identify::Exchange {
            request: rtether_model::quantity::Bytes::new(64),
            answer: rtether_model::quantity::Bytes::new(64),
        };
        IdentifyJson {
            target: &self.target,
            address: self.address.map(|address: Ipv4Addr| address.to_string()),
            device: self.identity.as_deref(),
            conclusion: self.conclusion(),
            network_ns: Ns(self.share.network.path.of(smallest)),
            network: &self.share.network.source,
            host_ns: self.share.host.map(|host| Ns(host.of(smallest))),
            series: self.series.iter().map(SeriesJson::of).collect(),
            silent: self
                .silent
                .iter()
                .map(|(asked, why)| SilentJson { protocol: asked.protocol.word(), reason: why })
                .collect(),
        }
    }

    /// Returns what was asked, what is taken out and what did not answer, as lines.
    fn head(&self) -> String {
        let sent: u64 = self.series.iter().map(|own| own.counters.sent).sum();
        let identity = self.identity.as_deref().unwrap_or("says nothing of itself");
        let measured = plural(self.series.len(), "measurement");
        let first = format!("{}: {identity}; {measured} in {sent} packets\n", self.target);
        let silent =
            self.silent.iter().map(|(own, why)| format!("{}: {why}\n", own.protocol.word()));
        [first, self.share.lines()].into_iter().chain(silent).collect()
    }

    /// Returns predictions, warnings and the verdict, as lines.
    fn tail(&self) -> String {
        let each = self.series.iter().flat_map(|own| {
            let name = format!("{} ({})", own.asked.protocol.word(), own.method.word());
            let misfits = own.misfits.iter().map(|own| format!("not as the model has it: {own}"));
            let mut lines: Vec<String> =
                misfits.chain(prediction(own)).map(|line| format!("{name}: {line}\n")).collect();
            let warnings = own.warnings().into_iter();
            lines.extend(warnings.map(|warning| format!("warning: {name}: {warning}\n")));
            lines
        });
        each.chain([self.conclusion().sentence(self.basis()), "\n".into()]).collect()
    }

    /// Returns what the verdict rests on.
    fn basis(&self) -> &'static str {
        match self.conclusion() {
            Conclusion::Met if self.series.iter().all(|own| own.is_confirmed().is_none()) => {
                "Nothing was predicted: a capture has no requests of its own."
            }
            Conclusion::Met => {
                "What was predicted of requests that no estimate has used came true."
            }
            Conclusion::Failed if self.series.iter().any(|own| !own.misfits.is_empty()) => {
                "Not confirmed: the device does what the model does not have."
            }
            Conclusion::Failed => "Not confirmed: the figures do not predict other requests.",
            Conclusion::Interrupted => "What is known until then is shown.",
            Conclusion::NoAnswer | Conclusion::Unmeasured | Conclusion::Contradiction => {
                "The device answered nothing."
            }
        }
    }
}

/// Returns how the prediction of a series went.
fn prediction(series: &Series) -> Option<String> {
    let confirmation = match (&series.confirmation, series.method) {
        (Some(Ok(confirmation)), _) => confirmation,
        (Some(Err(why)), _) => return Some(format!("not confirmed: no prediction, {why}")),
        (None, Method::Quiet) => return Some("not confirmed: it ended before".into()),
        (None, Method::Load | Method::Capture) => return None,
    };
    let word = match (confirmation.is_confirmed(), series.misfits.is_empty()) {
        (true, true) => "confirmed",
        (true, false) => "predicted all the same",
        (false, _) => "not confirmed",
    };
    let [median, high] = confirmation.quantiles.map(|own| {
        format!("{} predicted, {} measured", time(own.predicted.value), time(own.measured.value))
    });
    let (request, answer) = (confirmation.sizes.request, confirmation.sizes.answer);
    Some(format!(
        "{word} with frames of {} and {} octets: median {median}; 99 % {high}",
        request.get(),
        answer.get()
    ))
}

fn span(own: Option<Ns>) -> Option<Duration> {
    own.map(|Ns(span)| span)
}

impl Render for Identified {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let document = self.document();
        let rows = document
            .series
            .iter()
            .flat_map(|series| series.figures.iter().map(move |figure| (series, figure)));
        let table = Table::of(rows)
            .shown("protocol", |(series, _)| series.protocol)
            .shown("method", |(series, _)| series.method)
            .shown("figure", |(_, own)| &own.name)
            .amount("value", |(_, own)| match (&own.word, own.value_ns) {
                (Some(word), _) => Cell::from(word),
                (None, value) => Cell::from(span(value)),
            })
            .amount("from", |(_, own)| span(own.low_ns))
            .amount("to", |(_, own)| span(own.high_ns))
            .shown("not known since", |(_, own)| own.unknown.clone())
            .optional();
        vec![self.head().into(), table.done().into(), self.tail().into()]
    }

    fn rows(&self) -> Table {
        let document = self.document();
        let rows = document
            .series
            .iter()
            .flat_map(|series| series.figures.iter().map(move |figure| (series, figure)));
        Table::of(rows)
            .file("protocol", |(series, _)| series.protocol)
            .file("method", |(series, _)| series.method)
            .file("sent", |(series, _)| series.sent)
            .file("answered", |(series, _)| series.answered)
            .file("lost", |(series, _)| series.lost)
            .file("figure", |(_, own)| &own.name)
            .file("value_ns", |(_, own)| span(own.value_ns))
            .file("low_ns", |(_, own)| span(own.low_ns))
            .file("high_ns", |(_, own)| span(own.high_ns))
            .file("word", |(_, own)| own.word.clone())
            .file("unknown", |(_, own)| own.unknown.clone())
            .file("confirmed", |(series, _)| series.confirmed)
            .file("misfits", |(series, _)| {
                series.misfits.iter().map(|own| own.kind).collect::<Vec<&str>>().join(" ")
            })
            .done()
    }

    fn json(&self) -> String {
        document::text(&self.document())
    }
}
