//! Networks of the INET framework for `OMNeT++`: NED with modules and connections, and
//! `omnetpp.ini` with what applications send.
//!
//! `token` parts both into words, `ned` reads definitions, `ini` sections, `settings` finds the
//! value that counts for a parameter, `value` is what an expression comes to, `plant` builds nodes
//! and links, `queues` those of switches, `flows` what stations send, `draft` the plant.
//!
//! No INET runs here: what its modules would do is known by the names of their types. A setting that
//! is none of those read is passed over, unless it is one of traffic, which is a finding.

mod draft;
mod flows;
mod ini;
mod ned;
mod plant;
mod queues;
mod settings;
mod token;
mod value;

use std::collections::BTreeSet;

use rtether_model::quantity::Duration;

use crate::File;
use crate::error::ImportError;
use crate::options::Options;
use crate::plan::{Code, Count, Finding, Plan};
use crate::text::{plain, quote};
use ini::Ini;
use plant::{Plant, Types};
use settings::{Entry, Settings};

/// Most findings that are kept.
const MAX_FINDINGS: usize = 2_000;
/// How a finding on an application ends.
const LEFT_OUT: &str = "; it is left out";
/// Longest time, a day in picoseconds.
const LONGEST: f64 = 86_400e12;

/// Returns a time above zero, of whole picoseconds.
#[allow(clippy::cast_possible_truncation, reason = "it is within limits, and whole")]
fn duration(ps: f64) -> Option<Duration> {
    let ps = ps.round();
    (1.0..=LONGEST).contains(&ps).then(|| Duration::from_ps(ps as i64))
}

/// Returns a rate of whole bits in a second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within limits")]
fn rate(value: f64) -> Option<u64> {
    let value = value.round();
    (0.0..=1e15).contains(&value).then_some(value as u64)
}

/// Returns whether a text is a part of such a network, as far as one sees at once.
pub(crate) fn is_inet(text: &str) -> bool {
    ned::is_ned(text) || ini::is_ini(text)
}

/// What is found in files.
struct Notes<'n> {
    files: Vec<&'n str>,
    all: BTreeSet<Finding>,
}

impl Notes<'_> {
    /// Notes what is found in a line; `omnetpp.ini` is the last file, and others are named.
    fn find(&mut self, (file, line): (usize, usize), code: Code, text: String) {
        let text = match self.files.get(file) {
            Some(name) if file + 1 < self.files.len() => format!("{}: {text}", plain(name, 80)),
            _ => text,
        };
        if self.all.len() < MAX_FINDINGS {
            self.all.insert(Finding { line, code, text });
        }
    }

    fn wrong(&self, place: (usize, usize), what: String, remedy: &str) -> ImportError {
        let file = self.files.get(place.0).copied().unwrap_or_default();
        ImportError::new(file, Some(place.1), what, remedy)
    }
}

/// Reads NED files and `omnetpp.ini`.
pub(crate) fn import(files: &[(File<'_>, &str)], options: &Options) -> Result<Plan, ImportError> {
    let name = files.first().map_or("", |(file, _)| file.name);
    let refuse =
        |what: &str, remedy: &str| Err(ImportError::new(name, None, what.to_owned(), remedy));
    if options.cabling().is_some() {
        let what = "it says itself who is cabled to whom";
        return refuse(what, "import it without `--switches`");
    }
    let (neds, inis): (Vec<_>, Vec<_>) = files.iter().partition(|(_, text)| ned::is_ned(text));
    let [(ini, text)] = inis.as_slice() else {
        let what = "flows of INET are in `omnetpp.ini`, and networks in NED";
        return refuse(what, "give one `omnetpp.ini`, and the NED files of its network");
    };
    if neds.is_empty() {
        let what = "it has no network, which is in NED";
        return refuse(what, "give the NED files of its network, too: Plant.ned omnetpp.ini");
    }
    let sources = neds.iter().map(|(file, text)| ned::Source::read(file.name, text));
    let sources = sources.collect::<Result<Vec<_>, ImportError>>()?;
    let parsed = sources.iter().map(ned::Source::types);
    let parsed = parsed.collect::<Result<Vec<_>, ImportError>>()?;
    let types = Types::of(&parsed, &sources);
    let ini = Ini::read(ini.name, text)?;
    let mut names: Vec<&str> = sources.iter().map(|own| own.name).collect();
    names.push(ini.name);
    let mut notes = Notes { files: names, all: BTreeSet::new() };
    build(&types, &ini, options, &mut notes)
}

/// Makes a plan of types and settings.
fn build(
    types: &Types<'_>,
    ini: &Ini<'_>,
    options: &Options,
    notes: &mut Notes<'_>,
) -> Result<Plan, ImportError> {
    let section = section(ini, options)?;
    let chain = ini.chain(section)?;
    let network = network(types, ini, &chain)?;
    let mut settings = Settings::default();
    for own in chain.iter().filter(|own| own.key.contains('.')) {
        settings.add(Entry {
            pattern: own.key.to_owned(),
            value: own.value.clone(),
            place: (notes.files.len() - 1, own.line),
        });
    }
    let plant = Plant::build(network, types, settings, notes)?;
    let flows = flows::flows(&plant, notes)?;
    unread(&plant, notes);
    if flows.is_empty() {
        let what = format!("no application of {} sends what is read", quote(network));
        let is_left_out = |found: &&Finding| found.text.ends_with(LEFT_OUT);
        let found = notes.all.iter().find(is_left_out);
        let what = found.map_or(what.clone(), |found| format!("{what}: {}", found.text));
        let line = found.map(|found| found.line);
        let remedy = "import a plant with UdpSourceApp, UdpBasicApp or EthernetSourceApp";
        return Err(ImportError::new(ini.name, line, what, remedy));
    }
    let limit = chain.iter().find(|own| own.key == "sim-time-limit");
    let limit = limit.map(|own| own.value.as_str());
    let draft = draft::draft(&plant, &flows, limit, options, notes)?;
    let count = |name, title, number| Count { name, title, number };
    if plant.settings.is_exhausted() {
        let what = "comparing its patterns with all modules takes too long".to_owned();
        let remedy = "write names in place of `**`, or import a part of it";
        return Err(ImportError::new(ini.name, None, what, remedy));
    }
    let counts = vec![
        count("flows", "flows", flows.len()),
        count("stations", "stations", draft.stations.len()),
        count("switches", "switches", draft.switches.len()),
        count("links", "links", draft.links.len()),
    ];
    let (scenario, assumptions, identified) = draft.write(options);
    Ok(Plan {
        format: "network of INET (NED, omnetpp.ini)".into(),
        scenario,
        assumptions,
        findings: std::mem::take(&mut notes.all).into_iter().collect(),
        counts,
        identified,
    })
}

/// Returns the section that is imported: the one that is named, or the only one there is.
fn section<'i>(ini: &'i Ini<'_>, options: &'i Options) -> Result<&'i str, ImportError> {
    if let Some(name) = options.config() {
        return Ok(name);
    }
    let is_abstract = ini.option("General", "abstract");
    let is_abstract = is_abstract.is_some_and(|own| own.value == "true");
    match ini.configs().as_slice() {
        [] => Ok("General"),
        _ if !is_abstract && ini.option("General", "network").is_some() => Ok("General"),
        [one] => Ok(one),
        several => {
            let what = format!("it has {} sections", several.len());
            let names: Vec<String> = several.iter().take(20).map(|name| quote(name)).collect();
            let remedy = format!("say which: --config NAME, of {}", names.join(", "));
            Err(ImportError::new(ini.name, None, what, &remedy))
        }
    }
}

/// Returns the name of the network that is run.
fn network<'t>(
    types: &Types<'t>,
    ini: &Ini<'_>,
    chain: &[&ini::Setting<'_>],
) -> Result<&'t str, ImportError> {
    let known = types.networks();
    let stated = chain.iter().find(|own| own.key == "network");
    let Some(stated) = stated else {
        return match known.as_slice() {
            [one] => Ok(one),
            several => {
                let what = format!("it names none of {} networks", several.len());
                let remedy = "write `network = NAME` into its section";
                Err(ImportError::new(ini.name, None, what, remedy))
            }
        };
    };
    let name = stated.value.trim_matches('"');
    let own = name.rsplit('.').next().unwrap_or(name);
    let found = known.into_iter().find(|known| *known == own);
    found.ok_or_else(|| {
        let what = format!("the network {} is in no file", quote(name));
        let remedy = "give the NED file of this network, too";
        ImportError::new(ini.name, Some(stated.line), what, remedy)
    })
}

/// Settings of traffic that are not read, by a part of their pattern.
const UNREAD: [(&str, &str); 8] = [
    ("transmissionGate[", "gates of queues"),
    (".gateScheduleConfigurator.typename", "gates of queues"),
    ("hasFramePreemption", "preemption of frames"),
    ("hasStreamRedundancy", "copies of frames on several ways"),
    ("hasIngressTrafficFiltering", "filters of streams"),
    ("hasEgressTrafficFiltering", "filters of streams"),
    (".queue.packetCapacity", "lengths of queues"),
    (".duplexMode", "links at half duplex"),
];

/// Finds settings that would change traffic, and are not read.
fn unread(plant: &Plant<'_>, notes: &mut Notes<'_>) {
    for entry in plant.settings.all() {
        let value = entry.value.as_str();
        let is_usual = if entry.pattern.ends_with("duplexMode") {
            value != "false"
        } else {
            value.starts_with("default(") || matches!(value, "false" | "\"\"" | "-1")
        };
        let found = UNREAD.iter().find(|(part, _)| entry.pattern.contains(part));
        if let Some((_, what)) = found.filter(|_| !is_usual) {
            let pattern = quote(&entry.pattern);
            let what = format!("{what} are not imported: {pattern}");
            notes.find(entry.place, Code::NotRead, what);
        }
    }
}
