//! What a foreign file says: octets in, a [`Plan`] out.
//!
//! A plan is the text of a scenario, together with what was assumed to write it and what was found
//! in the file. Each assumption is a comment on its line of the scenario, so that a reader sees at
//! the value itself that the file does not state it.
//!
//! | file | read by |
//! |---|---|
//! | IEC 61850 SCL (SCD, CID, ICD, SSD), editions 1, 2 and 2.1 | `scl` |
//! | captures: pcap and pcapng, also in gzip | `capture` |
//! | lists of flows and links as CSV, those of tsnkit among them | `list` |
//! | Saihu's networks of output ports, in JSON | `saihu` |
//! | networks of INET: NED and `omnetpp.ini` | `inet` |
//! | TSN requirements of users, IEEE 802.1Qcc, in XML and JSON | `qcc` |
//! | who is cabled to whom, as CSV or as neighbors by LLDP, beside one of these | `cabling` |
//!
//! The format follows from the content. The crate opens no files, and its input is not trusted:
//! size, depth and number of elements are limited, and every octet sequence ends with a plan or an
//! [`ImportError`].
//!
//! # Modules
//!
//! Plans from files of other tools; `rtether` re-exports it as `rtether::import`, with its results
//! in every format.
//!
//! `draft` is what an importer fills, a `PlantDraft`, and the one place that writes a scenario, with
//! the names and lines of `sheet`; `stacks` says what a device is assumed to take, `ways` finds ways
//! where links close rings, and `again` says what a second import keeps.
//!
//! `scl` reads IEC 61850 SCL: `xml` refuses what no parser should see, `model` takes what matters
//! for traffic, `subscribe` finds listeners, `templates`, `basic` and `frames` give sizes,
//! `release` times and tags, `flows` makes flows of control blocks, `topology` stations and
//! switches, `networks` what is assumed about subnetworks; `list` reads lists of flows and links as
//! CSV, by the columns of `columns`, and drafts what `qcc` reads: TSN requirements (`tree` has XML
//! and JSON without prefixes); `saihu` networks of output ports; `inet` networks of INET (`token`
//! and `value` are words and expressions, `ned` and `ini` the two files, `settings` finds what a
//! parameter is by patterns, `plant` nodes and links, `queues` those of switches, `flows` what
//! applications send); `claims` what others say of delays; `capture` reads traffic: `packets` are those of pcap and pcapng, `frame` is
//! what one says, `streams` collects what belongs together with its `times`, whose period is a line
//! through a `grid`, `ways` finds frames that were seen at several points, `profinet` and `enip` read
//! what connections state, `flows` makes the plan, `network` and `stations` where it runs, and `look`
//! does the same for frames one by one.
//!
//! **Invariant:** input is bytes or a reader, output is text: no clock, no sockets, no files, and no
//! packet of a capture is kept; any octets end with a plan or a reason, in a time that limits on
//! depth, attributes and namespaces keep from growing with their square.
//!
//! **Invariant:** what the file does not state is a comment on its line, an `Assumption`, and an
//! entry of `assumed` in the scenario.

use std::borrow::Cow;

mod again;
mod basis;
mod cabling;
mod capture;
mod claims;
mod columns;
mod draft;
mod error;
mod inet;
mod list;
mod options;
mod plan;
mod qcc;
mod saihu;
mod scl;
mod sheet;
mod stacks;
mod table;
mod text;
mod ways;

pub use again::{Before, stamp};
pub use cabling::Cabling;
pub use capture::{IpPacket, Learner, Lesson, Sight, Source, StreamKey, ip_packets};
pub use claims::{Claim, Claimed, claims};
pub use columns::{Column, Columns};
pub use error::ImportError;
pub use options::{Class, Frequency, Options, Profile};
pub use plan::{Assumption, Code, Count, Finding, Identified, Plan};

/// Largest file of text that is read, in octets; a capture may be larger.
pub const MAX_FILE_SIZE: usize = 64 << 20;

/// A file of another tool.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Its name, for messages and for the title.
    pub name: &'a str,
    /// Its content.
    pub octets: &'a [u8],
}

/// Reads a file of another tool. `name` is the file's, for messages and for the title.
pub fn import(name: &str, octets: &[u8], options: &Options) -> Result<Plan, ImportError> {
    import_all(&[File { name, octets }], options)
}

/// Returns whether a file that begins with these octets is a capture, in gzip or not.
pub fn is_capture(octets: &[u8]) -> bool {
    capture::is_capture(octets)
}

/// Returns what a file is that an import reads, in words; `None` if it is none of these, such as a
/// scenario.
pub fn recognize(octets: &[u8]) -> Option<&'static str> {
    if is_capture(octets) {
        return Some("a capture");
    }
    let text = text::decode(octets).ok()?;
    let first = text.trim_start().lines().next()?;
    // Comments and maps of YAML have commas, too.
    let has_columns = first.matches([',', ';', '\t']).count() >= 2;
    let has_columns = has_columns && !first.starts_with('#') && !first.contains(": ");
    if is_scenario(&text) {
        None
    } else if inet::is_inet(&text) {
        Some("a network of INET")
    } else if qcc::is_qcc(&text) {
        Some("a file of TSN requirements (IEEE 802.1Qcc)")
    } else if first.starts_with('<') && text.contains("<SCL") {
        Some("a file of IEC 61850 SCL")
    } else if saihu::is_saihu(&text) {
        Some("a network of Saihu")
    } else if has_columns && !first.starts_with(['{', '[']) && list::is_list(&text) {
        Some("a list of flows or links")
    } else {
        None
    }
}

/// Returns whether a text has the key that every scenario has.
fn is_scenario(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("rtether:"))
}

/// Reads captures that belong together, packet by packet, however large they are.
///
/// # Errors
///
/// If one is none, or if all of them together show no flow.
pub fn import_captures(sources: Vec<Source<'_>>, options: &Options) -> Result<Plan, ImportError> {
    let name = sources.first().map_or("", |source| source.name.as_str());
    refuse_cabling(name, options)?;
    capture::import(sources, options)
}

/// Reads files of another tool that belong together, such as a list of flows and one of links, one
/// file of SCL for each device, or several captures.
pub fn import_all(files: &[File<'_>], options: &Options) -> Result<Plan, ImportError> {
    if files.first().is_some_and(|file| is_capture(file.octets)) {
        let sources = files
            .iter()
            .map(|file| Source { name: file.name.to_owned(), reader: Box::new(file.octets) });
        return import_captures(sources.collect(), options);
    }
    let mut texts = Vec::new();
    check_total(files)?;
    for file in files {
        texts.push((*file, read(file)?));
    }
    let is_xml = |text: &str| text.trim_start().starts_with('<');
    if texts.iter().any(|(_, text)| inet::is_inet(text)) {
        let texts = texts.iter().map(|(file, text)| (*file, text.as_ref()));
        return inet::import(&texts.collect::<Vec<_>>(), options);
    }
    match texts.as_slice() {
        [(file, text)] if qcc::is_qcc(text) => qcc::import(file.name, text, options),
        texts if !texts.is_empty() && texts.iter().all(|(_, text)| is_xml(text)) => {
            let texts = texts.iter().map(|(file, text)| (file.name, text.as_ref()));
            scl::import(&texts.collect::<Vec<_>>(), options)
        }
        [(file, text)] if saihu::is_saihu(text) => match options.cabling() {
            None => saihu::import(file.name, text, options),
            Some(_) => Err(ImportError::new(
                file.name,
                None,
                "it says itself who is cabled to whom".into(),
                "import it without `--switches`",
            )),
        },
        [] => Err(ImportError::new("", None, "there is no file".into(), "give one")),
        texts => {
            let lists = texts.iter().map(|(file, text)| (*file, text.as_ref()));
            let lists: Vec<(File<'_>, &str)> = lists.collect();
            for (file, text) in &lists {
                check_list(file.name, text, is_xml(text))?;
            }
            list::import(&lists, options)
        }
    }
}

/// Refuses links beside a capture.
fn refuse_cabling(name: &str, options: &Options) -> Result<(), ImportError> {
    match options.cabling() {
        None => Ok(()),
        Some(_) => Err(ImportError::new(
            name,
            None,
            "a capture knows addresses, which a list of links does not".into(),
            "import it without `--switches`, and cable its scenario by hand",
        )),
    }
}

/// Returns the text of a file.
fn read<'a>(file: &File<'a>) -> Result<Cow<'a, str>, ImportError> {
    check_size(file)?;
    text::decode(file.octets)
        .map_err(|wrong| ImportError::new(file.name, wrong.line, wrong.what, "save it as UTF-8"))
}

/// Refuses files that are too large together.
fn check_total(files: &[File<'_>]) -> Result<(), ImportError> {
    let total = files.iter().map(|file| file.octets.len());
    let total = total.fold(0_usize, usize::saturating_add);
    if files.len() > 1 && total > MAX_FILE_SIZE {
        let what = format!(
            "this file and the others are larger than {} MiB together",
            MAX_FILE_SIZE >> 20
        );
        let remedy = "import a part of the plant";
        return Err(ImportError::new(files[0].name, None, what, remedy));
    }
    Ok(())
}

/// Refuses a file that is too large.
fn check_size(file: &File<'_>) -> Result<(), ImportError> {
    if file.octets.len() > MAX_FILE_SIZE {
        let what = format!("the file is larger than {} MiB", MAX_FILE_SIZE >> 20);
        let remedy = "export the part of the plant you need";
        return Err(ImportError::new(file.name, None, what, remedy));
    }
    Ok(())
}

/// Refuses what cannot be a list.
fn check_list(name: &str, text: &str, is_xml: bool) -> Result<(), ImportError> {
    let (what, remedy) = if is_scenario(text) {
        (
            "it is a scenario already",
            "check it with `rtether check`; `--against` compares a file with it",
        )
    } else if is_xml {
        ("it is XML, and not all files are", "import files of SCL without others")
    } else if cabling::is_lldp(text) {
        (
            "it is JSON, as of neighbors by LLDP, and no flows are in it",
            "give it as `--switches`, beside a file with flows",
        )
    } else if list::is_list(text) {
        return Ok(());
    } else {
        (
            "its format is not known",
            "give a file of IEC 61850 SCL (XML with the root element `SCL`), lists of flows and links (CSV), a network of Saihu (JSON), one of INET (NED and omnetpp.ini), TSN requirements (IEEE 802.1Qcc), or a capture (pcap, pcapng)",
        )
    };
    Err(ImportError::new(name, None, what.into(), remedy))
}
