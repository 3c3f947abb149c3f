//! Files of any content: a plan or a reason, in bounded time, and no panic.

use std::fs;
use std::path::Path;
use std::time::Duration;

use check::{check, check_parts};
use proptest::prelude::*;
use rtether_import::{Options, import};
use rtether_testkit::processor_time;

use crate::capture;
use crate::check;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn bay() -> Vec<u8> {
    fs::read(root().join("../../docs/guides/bay.scd")).expect("the bay of the guide")
}

fn substation() -> Vec<u8> {
    let path = root().join("tests/data/autogen-substation-demo.scd");
    fs::read(path).expect("the substation")
}

/// Oracle: `check`. The corpus must not consist of refused files only.
#[test]
fn corpus() {
    let entries = fs::read_dir(root().join("../../fuzz/corpus/import")).expect("a corpus");
    let mut plans = 0;
    for entry in entries {
        let octets = fs::read(entry.expect("an entry").path()).expect("readable");
        plans += usize::from(check(&octets));
    }
    assert!(plans >= 3, "{plans}");
}

/// Oracle: `check`.
#[test]
fn corpus_of_networks() {
    let entries = fs::read_dir(root().join("../../fuzz/corpus/inet")).expect("a corpus");
    let mut plans = 0;
    for entry in entries {
        let octets = fs::read(entry.expect("an entry").path()).expect("readable");
        plans += usize::from(check_parts(&NETWORK, &octets));
    }
    assert!(plans >= 2, "{plans}");
}

/// The files of a network of INET.
const NETWORK: [&str; 2] = ["Plant.ned", "omnetpp.ini"];

/// Oracle: `check`.
#[test]
fn mutations_of_a_network() {
    let cells = fs::read(root().join("../../fuzz/corpus/inet/cells")).expect("a network");
    let mut random = Random(0x5EED_01E7);
    let mut plans = 0;
    for _ in 0..3_000 {
        let mut octets = cells.clone();
        mutate(&mut octets, &mut random);
        plans += usize::from(check_parts(&NETWORK, &octets));
    }
    assert!(plans > 100, "{plans}");
}

/// Oracle: `check`.
#[test]
fn mutations_of_requirements() {
    let mut random = Random(0x5EED_0CC0);
    for (name, least) in [("qcc-json", 100), ("qcc-xml", 20)] {
        let path = root().join("../../fuzz/corpus/import").join(name);
        let whole = fs::read(path).expect("requirements");
        let mut plans = 0;
        for _ in 0..2_000 {
            let mut octets = whole.clone();
            mutate(&mut octets, &mut random);
            plans += usize::from(check(&octets));
        }
        assert!(plans > least, "{name}: {plans}");
    }
}

/// A small generator of random numbers (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let value = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(value).expect("31 bits") % bound.max(1)
    }
}

/// What stands in wrong places.
const PIECES: &[&str] = &[
    "",
    "\"",
    "<",
    ">",
    "/>",
    "&amp;",
    "&x;",
    "]]>",
    "<!--",
    "\0",
    "é",
    "999999999999999999999",
    "-1",
    "0",
    "Struct",
    "iedName=\"Relay1\"",
    "count=\"9999999\"",
    "type=\"DPC\"",
    "FFF",
    "0.001",
    "\n",
    "*",
    ":",
    "# x",
    "<IED name=\"a\"/>",
    "\u{202e}",
];

fn mutate(octets: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(octets.len());
        match random.below(5) {
            0 => octets.truncate(at),
            1 => {
                let end = (at + random.below(200)).min(octets.len());
                let part = octets[at..end].to_vec();
                let to = random.below(octets.len());
                octets.splice(to..to, part);
            }
            2 => {
                let end = (at + random.below(40)).min(octets.len());
                octets.drain(at..end);
            }
            // The value of an attribute, so that the file often stays XML.
            3 => {
                let quotes = octets[at..].iter().enumerate().filter(|(_, c)| **c == b'"');
                let quotes: Vec<usize> = quotes.map(|(n, _)| at + n).take(2).collect();
                if let [begin, end] = quotes[..] {
                    let piece = PIECES[random.below(PIECES.len())];
                    octets.splice(begin + 1..end, piece.bytes());
                }
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                octets.splice(at..at, piece.bytes());
            }
        }
    }
}

/// Oracle: `check`.
#[test]
fn mutations_of_the_bay() {
    let bay = bay();
    let mut random = Random(0x5EED_0022);
    let mut plans = 0;
    for _ in 0..3_000 {
        let mut octets = bay.clone();
        mutate(&mut octets, &mut random);
        plans += usize::from(check(&octets));
    }
    // Mutations that leave no XML would test the parser alone.
    assert!(plans > 100, "{plans}");
}

/// Oracle: `check`, and XML 1.0: a file without its end is none.
#[test]
fn truncations() {
    let bay = bay();
    for end in (0..bay.len() - 8).step_by(61) {
        assert!(!check(&bay[..end]), "{end}");
    }
    let substation = substation();
    assert!(check(&substation));
    for part in 1..24 {
        assert!(!check(&substation[..substation.len() * part / 24]), "{part}");
    }
}

/// Oracle: `check`.
#[test]
fn mutations_of_a_substation() {
    let substation = substation();
    let mut random = Random(0x5EED_0061);
    for _ in 0..20 {
        let mut octets = substation.clone();
        mutate(&mut octets, &mut random);
        check(&octets);
    }
}

/// A capture with a frame of each protocol that is read.
fn line() -> Vec<u8> {
    let octets = fs::read(root().join("../../fuzz/corpus/import/capture"));
    octets.expect("a capture")
}

/// Oracle: `check`. Octets are changed anywhere, and four of them to numbers near limits.
#[test]
fn mutations_of_a_capture() {
    let line = line();
    assert!(check(&line));
    let mut random = Random(0x5EED_CAB1);
    let mut plans = 0;
    for _ in 0..2_000 {
        let mut octets = line.clone();
        for _ in 0..=random.below(6) {
            let at = random.below(octets.len() - 4);
            match random.below(4) {
                0 => octets[at] = u8::try_from(random.below(256)).expect("an octet"),
                1 => octets[at] ^= 1 << random.below(8),
                2 => octets.truncate(at + 4),
                _ => {
                    let numbers =
                        [[0; 4], [0xff; 4], [0, 0, 0, 1], [1, 0, 0, 0], [0x7f, 0xff, 0, 0]];
                    octets[at..at + 4].copy_from_slice(&numbers[random.below(numbers.len())]);
                }
            }
            if octets.len() < 5 {
                break;
            }
        }
        plans += usize::from(check(&octets));
    }
    assert!(plans > 200, "{plans}");
}

/// Oracle: arithmetic. Times anywhere, so that no sum or difference of them overflows.
#[test]
fn times_of_a_capture_may_be_any() {
    let mut random = Random(0x5EED_71AE);
    let frame = capture::ethernet(1, 2, None, 0x88B5, &[0; 46]);
    for exponent in [0, 9, 18, 0xBF] {
        let frames = (0..3000).map(|number| {
            let wide = u64::try_from(random.below(1 << 30)).expect("it fits");
            let stamp = match number / 500 {
                0 => wide << (number % 34),
                1 => u64::MAX - wide,
                2 => number << 50,
                3 => (1 << 63) | ((number % 2) << 62),
                _ => number << 44,
            };
            (0, stamp, frame.clone())
        });
        let frames: Vec<(u32, u64, Vec<u8>)> = frames.collect();
        check(&capture::pcapng(&[("a", exponent)], &frames));
    }
}

/// Runs an import that must not take long.
fn quick(text: &str) {
    quick_all(|| drop(import("x.scd", text.as_bytes(), &Options::new())));
}

fn quick_all(run: impl FnOnce()) {
    let begin = processor_time();
    run();
    // Generous: debug builds. What grows with the square would take hours.
    let taken = processor_time().saturating_sub(begin);
    assert!(taken < Duration::from_mins(1), "{taken:?}");
}

/// Oracle: time. Each of these is made to cost the square of its size, or more.
#[test]
fn large_files_take_no_longer_than_their_size() {
    let deep = "<a>".repeat(200_000);
    quick(&format!("<SCL>{deep}"));
    let attributes: Vec<String> = (0..200_000).map(|n| format!(" a{n}=''")).collect();
    let attributes = attributes.concat();
    quick(&format!("<SCL{attributes}/>"));
    let comments = "<!---->".repeat(200_000);
    quick(&format!("{comments}<SCL><IED name='a'/></SCL>"));
    let devices = "<IED name='a'/>".repeat(100_000);
    quick(&format!("<SCL>{devices}</SCL>"));
    // Types in types: 100^20 members if each were walked.
    let members = |n| format!("<BDA name='a' bType='Struct' type='T{n}'/>").repeat(100);
    let types = (1..20).map(|n| format!("<DAType id='T{n}'>{}</DAType>", members(n + 1)));
    let types: String = types.collect();
    let bay = String::from_utf8(bay()).expect("text");
    let wide = bay.replace("type=\"AnalogueValue\"", "type=\"T1\"").replace(
        "<EnumType",
        &format!("{types}<DAType id='T20'><BDA name='i' bType='INT8'/></DAType><EnumType"),
    );
    assert_ne!(wide, bay);
    quick(&wide);
    assert!(check(wide.as_bytes()));
    // Members of a data set that are searched among many objects.
    let objects = (0..50_000).map(|n| format!("<DO name='o{n}' type='DPC'/>"));
    let objects = objects.collect::<Vec<String>>().concat();
    let many = bay.replace("<DO name=\"Pos\"", &format!("{objects}<DO name=\"Pos\""));
    let member = "<FCDA ldInst=\"LD0\" lnClass=\"XCBR\" lnInst=\"1\" doName=\"Pos\" fc=\"ST\"/>";
    quick(&many.replace(member, &member.repeat(1_400)));
    // References to data that many control blocks have.
    let block =
        "<GSEControl name=\"gcbSpare\" datSet=\"Position\" appID=\"SPARE2\" confRev=\"1\"/>";
    let blocks: String = (0..4_000).map(|n| block.replace("gcbSpare", &format!("g{n}"))).collect();
    let reference =
        "<ExtRef iedName=\"Relay2\" ldInst=\"LD0\" lnClass=\"XCBR\" lnInst=\"1\" doName=\"Pos\"/>";
    let text = bay.replace(block, &blocks);
    quick(&text.replace("<Inputs>", &format!("<Inputs>{}", reference.repeat(20_000))));
}

/// Oracle: time, as above.
#[test]
fn large_networks_take_no_longer_than_their_size() {
    let line = |count: usize| {
        format!(
            "network N {{ submodules: s[{count}]: TsnSwitch; a: TsnDevice; b: TsnDevice;\nconnections: for i=0..{count}-2 {{ s[i].ethg++ <--> Eth1G <--> s[i+1].ethg++; }}\na.ethg++ <--> Eth1G <--> s[0].ethg++; b.ethg++ <--> Eth1G <--> s[{count}-1].ethg++; }}\n%%\n[General]\nnetwork = N\n"
        )
    };
    let app = |number: usize| {
        let app = format!("*.a.app[{number}]");
        format!(
            "{app}.typename = \"UdpSourceApp\"\n{app}.io.destAddress = \"b\"\n{app}.source.packetLength = 64B\n{app}.source.productionInterval = 1s\n"
        )
    };
    let apps: String = (0..2_000).map(app).collect();
    let text = format!("{}*.a.numApps = 2000\n{apps}", line(2_000));
    quick_all(|| assert!(check_parts(&NETWORK, text.as_bytes())));
    let long = "*.a".repeat(30);
    let stars: Vec<String> = (0..20_000).map(|n| format!("**{long}**.x{n}* = 1\n")).collect();
    let stars = stars.concat();
    quick_all(|| _ = check_parts(&NETWORK, format!("{}{stars}", line(5_000)).as_bytes()));
    let open = "{".repeat(200_000);
    let text = format!("network N {{ connections: {open}");
    quick_all(|| _ = check_parts(&NETWORK, text.as_bytes()));
    let nested = "for i=0..99, ".repeat(40);
    let loops = format!(
        "network N {{ submodules: a: TsnDevice; b: TsnDevice; connections: a.ethg++ <--> Eth1G <--> b.ethg++ {nested}; }}\n%%\n[General]\nnetwork = N\n"
    );
    quick_all(|| _ = check_parts(&NETWORK, loops.as_bytes()));
    let doubled = (0..30).map(|n| format!("int p{n} = p{} + p{};\n", n + 1, n + 1));
    let doubled: String = doubled.collect();
    let text = format!(
        "network N {{ parameters: {doubled} submodules: a[p0]: TsnDevice; }}\n%%\n[General]\nnetwork = N\n"
    );
    quick_all(|| _ = check_parts(&NETWORK, text.as_bytes()));
}

/// Oracle: time, as above.
#[test]
fn large_requirements_take_no_longer_than_their_size() {
    let end = |number: usize| {
        format!(
            r#"{{"end-station-interfaces":[{{"mac-address":"00-00-00-00-{:02X}-{:02X}"}}]}}"#,
            number / 256,
            number % 256
        )
    };
    let listeners: Vec<String> = (1..60_000).map(end).collect();
    let traffic = r#""traffic-specification":{"interval":{"numerator":1,"denominator":10},"max-frames-per-interval":1,"max-frame-size":64}"#;
    let talker = format!(
        r#"{{"end-station-interfaces":[{{"mac-address":"00-00-00-00-00-00"}}],{traffic}}}"#
    );
    let wide =
        format!(r#"{{"stream-id":"a","talker":{talker},"listeners":[{}]}}"#, listeners.join(","));
    quick_all(|| _ = check(wide.as_bytes()));
    let one = format!(r#"{{"stream-id":"a","talker":{talker},"listeners":[{}]}}"#, end(1));
    let many = format!("[{}]", vec![one; 19_000].join(",\n"));
    quick_all(|| assert!(check(many.as_bytes())));
    let deep = format!("{}<traffic-specification/>", "<talker>".repeat(90)).repeat(9);
    quick_all(|| _ = check(deep.as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_octets(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
        check(&octets);
    }

    #[test]
    fn any_text_in_elements(text in "<SCL>(<(IED|LN|P)( name='[a-z]{0,3}')?/?>|</(IED|LN|P)>|[ -~]){0,30}</SCL>") {
        check(text.as_bytes());
    }
}
