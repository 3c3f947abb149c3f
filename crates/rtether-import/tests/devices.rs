//! Files of single devices (CID), imported as one plant.
//!
//! Oracle: the file of the whole station, which has the same devices; and contradictions that were
//! written into copies.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use roxmltree::{Document, Node};
use rtether_import::{Code, File, Options, Plan, import, import_all};

use crate::check;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(root.join(path)).unwrap()
}

fn substation() -> String {
    read("tests/data/autogen-substation-demo.scd")
}

fn bay() -> String {
    read("../../docs/guides/bay.scd")
}

/// Cuts a station into one file for each device: without the other devices that `keeps` does not
/// want there, and without their access points.
fn cut(scd: &str, keeps: impl Fn(&str, &str) -> bool) -> Vec<(String, String)> {
    let document = Document::parse(scd).unwrap();
    let root = document.root_element();
    let named = |node: &Node<'_, '_>, tag: &str| node.tag_name().name() == tag;
    let devices = root.children().filter(|node| named(node, "IED"));
    let names: Vec<&str> = devices.filter_map(|node| node.attribute("name")).collect();
    let mut files = Vec::new();
    for own in &names {
        let mut text = scd.to_owned();
        let all: Vec<Node<'_, '_>> = root.descendants().collect();
        for node in all.into_iter().rev() {
            let of = match node.tag_name().name() {
                "IED" => node.attribute("name"),
                "ConnectedAP" => node.attribute("iedName"),
                _ => None,
            };
            if let Some(of) = of
                && of != *own
                && !keeps(own, of)
            {
                text.replace_range(node.range(), "");
            }
        }
        files.push((format!("{own}.cid"), text));
    }
    files
}

fn together(files: &[(String, String)]) -> Plan {
    let files = files.iter().map(|(name, text)| File { name, octets: text.as_bytes() });
    let files: Vec<File<'_>> = files.collect();
    import_all(&files, &Options::new()).unwrap()
}

/// Returns the flows by name: lines without comments, and listeners in order.
fn flows(plan: &Plan) -> BTreeMap<String, Vec<String>> {
    let mut flows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let lines = plan.scenario.lines().skip_while(|line| *line != "flows:");
    let mut name = String::new();
    for line in lines.skip(1).take_while(|line| !line.is_empty()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(new) = line.strip_prefix("- name: ") {
            new.clone_into(&mut name);
            continue;
        }
        let words = line.split([' ', ',', '[', ']']);
        let mut words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.sort_unstable();
        flows.entry(name.clone()).or_default().push(words.join(" "));
    }
    flows
}

/// Returns what is found apart from lines and names of files.
fn found(plan: &Plan) -> Vec<(Code, String)> {
    let text = |text: &str| match text.split_once(".cid: ") {
        Some((_, rest)) => rest.to_owned(),
        None => text.to_owned(),
    };
    let findings = plan.findings.iter();
    let mut all: Vec<(Code, String)> = findings.map(|one| (one.code, text(&one.text))).collect();
    all.sort();
    all
}

#[test]
fn files_of_devices_are_the_station() {
    for scd in [substation(), bay()] {
        let whole = import("a.scd", scd.as_bytes(), &Options::new()).unwrap();
        let files = cut(&scd, |_, _| false);
        assert!(files.len() >= 5);
        let parts = together(&files);
        assert_eq!(flows(&parts), flows(&whole));
        assert_eq!(found(&parts), found(&whole));
        let numbers = |plan: &Plan| {
            let counts = plan.counts.iter();
            counts.map(|one| (one.name, one.number)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&parts), numbers(&whole));
        assert_eq!(parts.format, format!("{}, {} files", whole.format, files.len()));
        // One alone has publishers and no listeners, or nothing that is sent.
        let alone = import(&files[0].0, files[0].1.as_bytes(), &Options::new());
        assert!(alone.is_err() || flows(&alone.unwrap()).len() < flows(&whole).len());
    }
}

#[test]
fn copies_of_other_devices_change_nothing() {
    // All devices in each file, and the order reversed.
    for scd in [substation(), bay()] {
        let whole = import("a.scd", scd.as_bytes(), &Options::new()).unwrap();
        let mut files = cut(&scd, |_, _| true);
        assert_eq!(files[0].1, scd);
        files.truncate(5);
        files.reverse();
        let parts = together(&files);
        assert_eq!(flows(&parts), flows(&whole));
        let is_new = |one: &&rtether_import::Finding| one.code == Code::Contradiction;
        assert_eq!(parts.findings.iter().find(is_new), None);
    }
}

#[test]
fn the_own_file_counts_and_others_that_differ_are_named() {
    let scd = bay();
    let mut files = cut(&scd, |own, of| own == "Relay2" && of == "Relay1");
    let place = files.iter().position(|(name, _)| name == "Relay2.cid").unwrap();
    let whole = together(&files);
    let text = &mut files[place].1;
    let before = text.clone();
    // The copy of relay 1: another address and another data set.
    *text = text.replacen("01-0C-CD-01-00-01", "01-0C-CD-01-00-77", 1);
    *text = text.replacen("name=\"gcbTrip\" datSet=\"", "name=\"gcbTrip\" datSet=\"old", 1);
    assert_ne!(*text, before);
    let parts = together(&files);
    let own = |plan: &Plan| flows(plan)["Relay1/LD0/gcbTrip event"].clone();
    assert_eq!(own(&parts), own(&whole));
    let new = parts.findings.iter().filter(|one| one.code == Code::Contradiction);
    let new: Vec<&str> = new.map(|one| one.text.as_str()).collect();
    let start = "Relay2.cid: ";
    let ends = [
        "MAC-Address of `Relay1/LD0/gcbTrip` is `01-0C-CD-01-00-77` here and `01-0C-CD-01-00-01` in `Relay1.cid`, which counts",
        "datSet of `Relay1/LD0/gcbTrip` is `oldTrip` here and `Trip` in `Relay1.cid`, which counts",
    ];
    let mut expected = ends.map(|end| format!("{start}{end}"));
    expected.sort();
    let mut new = new;
    new.sort_unstable();
    assert_eq!(new, expected);
}

/// Returns a device that publishes and one that listens, in pieces that a test puts together.
fn pair(
    listeners: &str,
    reference: &str,
    publisher_address: &str,
    copy: &str,
) -> [(String, String); 2] {
    let address = "<ConnectedAP iedName='P' apName='A'><GSE ldInst='L' cbName='g'><Address>\
        <P type='MAC-Address'>01-0C-CD-01-00-01</P><P type='APPID'>0001</P></Address></GSE></ConnectedAP>";
    let bare = "<ConnectedAP iedName='P' apName='A'/>";
    let device = |listeners: &str| {
        format!(
            "<IED name='P'><AccessPoint name='A'><Server><LDevice inst='L'><LN0 lnClass='LLN0' inst='' lnType='t'>\
             <DataSet name='d'><FCDA ldInst='L' lnClass='LLN0' doName='x' fc='ST'/></DataSet>\
             <GSEControl name='g' datSet='d' confRev='1'>{listeners}</GSEControl></LN0></LDevice></Server></AccessPoint></IED>"
        )
    };
    let one = if publisher_address == "here" { address } else { bare };
    let publisher = format!(
        "<SCL><Communication><SubNetwork name='S'>{one}</SubNetwork></Communication>{}</SCL>",
        device(listeners)
    );
    let two = if copy.is_empty() { "" } else { address };
    let copied = if copy.is_empty() { String::new() } else { device(copy) };
    let listener = format!(
        "<SCL><Communication><SubNetwork name='S'>{two}<ConnectedAP iedName='Q' apName='A'/></SubNetwork></Communication>\
         <IED name='Q'><AccessPoint name='A'><Server><LDevice inst='L'><LN0 lnClass='LLN0' inst=''><Inputs>{reference}\
         </Inputs></LN0></LDevice></Server></AccessPoint></IED>{copied}</SCL>"
    );
    [("P.cid".to_owned(), publisher), ("Q.cid".to_owned(), listener)]
}

#[test]
fn a_copy_adds_what_the_own_file_leaves_out() {
    let named = "<IEDName>Q</IEDName>";
    let bound = "<ExtRef iedName='P' srcLDInst='L' srcCBName='g' serviceType='GOOSE' ldInst='L'/>";
    for files in [
        // The listener in the listener's file, or named by the publisher, in its file or a copy.
        pair("", bound, "here", ""),
        pair(named, "", "here", ""),
        pair("", "", "here", named),
        // The address only in the copy.
        pair("", bound, "gone", " "),
    ] {
        let plan = together(&files);
        let flows = flows(&plan);
        assert_eq!(flows.len(), 2, "{}", plan.scenario);
        let event = &flows["P/L/g event"];
        assert!(event.contains(&"Q to:".to_owned()), "{event:?} {files:?}");
    }
    // In the wrong order: the file of a name counts wherever it stands.
    let [publisher, listener] = pair(named, "", "here", " ");
    let plan = together(&[listener, publisher]);
    assert!(flows(&plan)["P/L/g event"].contains(&"Q to:".to_owned()));
}

#[test]
fn types_of_one_name_in_two_files_are_those_of_each() {
    // Oracle: IEC 61850-8-1: a boolean takes three octets, an integer of 64 bits up to 11.
    let file = |name: &str, kind: &str| {
        let text = format!(
            "<SCL><Communication><SubNetwork name='S'><ConnectedAP iedName='{name}' apName='A'>\
             <GSE ldInst='L' cbName='g'><Address><P type='MAC-Address'>01-0C-CD-01-00-0{}</P></Address></GSE>\
             </ConnectedAP></SubNetwork></Communication>\
             <IED name='{name}'><AccessPoint name='A'><Server><LDevice inst='L'><LN0 lnClass='LLN0' inst='' lnType='t'>\
             <DataSet name='d'><FCDA ldInst='L' lnClass='LLN0' doName='x' daName='v' fc='ST'/></DataSet>\
             <GSEControl name='g' datSet='d'/></LN0></LDevice></Server></AccessPoint></IED>\
             <DataTypeTemplates><LNodeType id='t' lnClass='LLN0'><DO name='x' type='o'/></LNodeType>\
             <DOType id='o' cdc='SPS'><DA name='v' fc='ST' bType='{kind}'/></DOType></DataTypeTemplates></SCL>",
            name.len()
        );
        (format!("{name}.cid"), text)
    };
    let plan = together(&[file("A", "BOOLEAN"), file("BB", "INT64")]);
    let size = |name: &str| {
        let flows = flows(&plan);
        let line = flows[name].iter().find(|line| line.contains("size:")).unwrap();
        let mut words = line.split(' ');
        words.find_map(|word| word.parse::<u64>().ok()).unwrap()
    };
    // The names differ by an octet in two references, and the default identifier repeats one.
    let difference = size("BB/L/g event") - size("A/L/g event");
    assert!((8..=8 + 4).contains(&difference), "{difference}");
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let scd = bay();
    let list = "src,dst,size,period\na,b,1,1\n";
    let files = |other: &'static str| {
        let both = [("bay.scd".to_owned(), scd.clone()), ("other".to_owned(), other.to_owned())];
        let files = both.iter().map(|(name, text)| File { name, octets: text.as_bytes() });
        import_all(&files.collect::<Vec<_>>(), &Options::new()).unwrap_err()
    };
    assert!(files(list).what.contains("XML, and not all files are"));
    let other = files("<html/>");
    assert_eq!(other.file, "other");
    assert!(other.what.contains("`html`"), "{other}");
    assert!(files("<SCL>").what.contains("ends before"));
}

#[test]
fn what_is_cut_off_or_changed_is_refused_or_read() {
    let files = cut(&bay(), |_, of| of == "Relay1");
    let whole = format!("{}\n%%\n{}", files[1].1, files[0].1);
    let names = [files[1].0.as_str(), files[0].0.as_str()];
    assert!(check::check_parts(&names, whole.as_bytes()));
    let mut count = 0;
    for at in (0..whole.len()).step_by(41) {
        let mut octets = whole.clone().into_bytes();
        octets[at] ^= 1 << (at % 8);
        count += usize::from(check::check_parts(&names, &octets));
        octets.truncate(at);
        check::check_parts(&names, &octets);
    }
    assert!(count > 10, "{count}");
}
