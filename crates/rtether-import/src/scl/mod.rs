//! IEC 61850 SCL: what devices publish, who listens, and how they are connected.
//!
//! `xml` reads the file within limits, `model` takes from it what matters for traffic (`copies`: from
//! several files of one plant), `subscribe` finds the listeners, `templates` the sizes of data
//! (`basic` those of basic types, `frames` those of packets), `flows` makes flows of control blocks
//! (`release`: when they send; `report`: those of reports), `topology` stations and switches,
//! `networks` says what is assumed about subnetworks, and `draft` drafts the plant.

mod basic;
mod copies;
mod draft;
mod flow;
mod flows;
mod frames;
mod model;
mod networks;
mod notes;
mod release;
mod report;
mod subscribe;
mod templates;
mod topology;
pub(crate) mod xml;

use std::collections::BTreeSet;

use roxmltree::Document;

use crate::error::ImportError;
use crate::options::Options;
use crate::plan::{Code, Count, Plan};
use crate::text::{plain, quote};
use copies::Source;
use flows::Published;
use model::{Kind, Model};
use notes::Notes;
use topology::{MAX_PORTS, Topology};
use xml::{Element, word};

/// Most control blocks that are imported.
const MAX_BLOCKS: usize = 5000;

/// Reads a file of SCL, or several of one plant, such as one for each device.
pub(crate) fn import(texts: &[(&str, &str)], options: &Options) -> Result<Plan, ImportError> {
    let mut documents = Vec::new();
    for (name, text) in texts {
        documents.push((*name, read(name, text)?));
    }
    let sources =
        documents.iter().map(|(name, document)| Source { name, root: document.root_element() });
    let sources: Vec<Source<'_>> = sources.collect();
    let files: Vec<(&str, &Document<'_>)> =
        documents.iter().map(|(name, own)| (*name, own)).collect();
    let Some(first) = sources.first() else {
        let what = "there is no file".into();
        return Err(ImportError::new("", None, what, "give one"));
    };
    let (name, root) = (first.name, first.root);
    let mut notes = Notes::new(&files);
    let model = Model::read(&sources, &mut notes);
    let refuse = |what: String, remedy: &str| Err(ImportError::new(name, None, what, remedy));
    if let Some((what, remedy)) = too_much(&model) {
        return refuse(what, remedy);
    }
    copies::compare(&sources, &model.told, &mut notes);
    let listeners = subscribe::listeners(&model, &mut notes);
    let published = flows::flows(&model, &listeners, options, &mut notes);
    if published.flows.is_empty() {
        return refuse(nothing(&model), "export the whole station as SCD, with its communication");
    }
    flows::shared_addresses(&model, &mut notes);
    note_unconnected(&model, &mut notes);
    let topology =
        Topology::build(&model, &listeners, &published.flows, options.cabling(), &mut notes);
    if let Some(what) = too_wide(&topology) {
        let remedy = "export a part of the plant: a switch has at most 1024 ports";
        return refuse(what, remedy);
    }
    let format = match sources.len() {
        1 => format!("IEC 61850 SCL, {}", edition(root)),
        count => format!("IEC 61850 SCL, {}, {count} files", edition(root)),
    };
    let names: Vec<&str> = sources.iter().map(|source| source.name).collect();
    let head = head(&names.join(", "), &format, &model);
    let title = title(&names);
    let plant = (&model, &topology);
    let draft = draft::draft(head, title, plant, &published, options, &mut notes);
    let (scenario, assumptions, identified) = draft.write(options);
    Ok(Plan {
        format,
        scenario,
        assumptions,
        findings: notes.done(),
        counts: counts(&model, &topology, &published),
        identified,
    })
}

/// Reads XML whose root element is that of SCL.
fn read<'t>(name: &str, text: &'t str) -> Result<Document<'t>, ImportError> {
    let document = xml::parse(text)
        .map_err(|refused| ImportError::new(name, refused.line, refused.what, refused.remedy))?;
    let root = document.root_element();
    if root.tag_name().name() != "SCL" {
        let what = format!("it is XML with the root element {}", quote(root.tag_name().name()));
        let remedy = "give a file of IEC 61850 SCL, whose root element is `SCL`";
        return Err(ImportError::new(name, None, what, remedy));
    }
    Ok(document)
}

/// Returns why a file is too large for a scenario.
fn too_much(model: &Model<'_>) -> Option<(String, &'static str)> {
    let remedy = "export the part of the plant you need";
    let blocks = model.blocks.len();
    let addresses: usize = model.addresses.values().map(Vec::len).sum();
    if blocks.max(addresses) > MAX_BLOCKS {
        let what = format!("it has {} control blocks", blocks.max(addresses));
        return Some((what, remedy));
    }
    let reports = model.reports.len();
    if reports > MAX_BLOCKS {
        let what = format!("it has {reports} report control blocks with clients");
        return Some((what, remedy));
    }
    let interfaces = model.interfaces.len();
    let what = format!("it has {interfaces} connected access points");
    (interfaces > MAX_BLOCKS).then_some((what, remedy))
}

/// Returns which switch has too many ports.
fn too_wide(topology: &Topology) -> Option<String> {
    let mut switches = topology.switches.iter();
    let switch = switches.find(|switch| switch.ports > MAX_PORTS)?;
    let name = quote(&switch.name);
    Some(format!("the subnetwork {name} has {} stations", switch.ports))
}

/// Returns the name of the plant.
fn title(files: &[&str]) -> String {
    let first = files.first().copied().unwrap_or_default();
    let title = first.rsplit_once('.').map_or(first, |(title, _)| title);
    match files.len() {
        0 | 1 => plain(title, 80),
        count => format!("{} and {} more", plain(title, 80), count - 1),
    }
}

/// Says why there is nothing to import.
fn nothing(model: &Model<'_>) -> String {
    if model.devices.is_empty() {
        return "it has no devices (IED), so nothing sends".into();
    }
    match model.blocks.len() {
        0 => "none of its devices has a control block of GOOSE or sampled values, or reports to a client".into(),
        1 => "its control block has no address or no data set, so nothing is sent".into(),
        count => format!("none of its {count} control blocks has an address and a data set"),
    }
}

fn note_unconnected(model: &Model<'_>, notes: &mut Notes) {
    let connected = model.interfaces.iter().map(|interface| interface.device);
    let connected: BTreeSet<usize> = connected.collect();
    for (number, device) in model.devices.iter().enumerate() {
        if !connected.contains(&number) {
            let text = format!("the device {} is in no subnetwork", quote(device.name));
            notes.add(device.element, Code::NotConnected, text);
        }
    }
    for (key, addresses) in &model.addresses {
        if !model.has(key) {
            let (_, device, logical, block) = *key;
            let path = format!("{}/{logical}/{block}", model.devices[device].name);
            let text = format!("an address is for {}, which is not in the file", quote(&path));
            notes.add(addresses[0].element, Code::UnknownBlock, text);
        }
    }
}

/// Names the edition of a file.
fn edition(root: Element<'_>) -> String {
    match (word(root, "version"), word(root, "revision")) {
        ("", _) => "edition 1".into(),
        ("2007", "B") => "edition 2.1".into(),
        ("2007", "" | "A") => "edition 2".into(),
        (version, revision) => format!("version {}", plain(&format!("{version}{revision}"), 20)),
    }
}

fn head(name: &str, format: &str, model: &Model<'_>) -> Vec<String> {
    let from = format!("{} ({format})", plain(name, 80));
    let mut head = crate::draft::head(&from, "the file does not say");
    head.push("Sizes are octets of the packet after the header of eight octets.".into());
    let missing = "Not in the file, and not here: time synchronization, redundancy, what clients ask of servers";
    head.push(match model.report_blocks - model.reports.len() {
        0 => format!("{missing}."),
        count => {
            format!("{missing}, reports to clients that are not named ({count} control blocks).")
        }
    });
    head.iter().map(|line| plain(line, 200)).collect()
}

fn counts(model: &Model<'_>, topology: &Topology, published: &Published) -> Vec<Count> {
    let of = |kind| model.blocks.iter().filter(|block| block.kind == kind).count();
    let streams = published.flows.iter().map(|flow| flow.listeners.len().max(1));
    let count = |name, title, number| Count { name, title, number };
    vec![
        count("devices", "devices", model.devices.len()),
        count("access_points", "connected access points", model.interfaces.len()),
        count("subnetworks", "subnetworks", model.subnetworks.len()),
        count("goose_blocks", "GOOSE control blocks", of(Kind::Goose)),
        count("sampled_value_blocks", "sampled value control blocks", of(Kind::Samples)),
        count("published", "published", published.blocks),
        count("unsubscribed", "of these without subscriber", published.unheard),
        count("report_blocks", "report control blocks", model.report_blocks),
        count("reported", "of these with clients", published.reported),
        count("idle_access_points", "access points without flows", topology.idle.len()),
        count("stations", "stations", topology.stations.len()),
        count("switches", "switches", topology.switches.len()),
        count("flows", "flows", published.flows.len()),
        count("streams", "streams", streams.sum()),
    ]
}
