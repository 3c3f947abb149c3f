//! Requests that only read; answers whole, cut, changed, and of any octets.

use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::{
    Answer, Channel, Framing, Malformed, Outcome, Splitter, TEXT_MAX, enip, modbus, opcua, snmp,
};

type Parser = fn(&[u8]) -> Result<Answer, Malformed>;
/// Answers with the lower bits of a name.
type Answers = fn(u8) -> Vec<Vec<u8>>;

const PARSERS: [Parser; 4] = [modbus::answer, snmp::answer, enip::answer, opcua::answer];
const STREAMS: [Framing; 3] = [Framing::Modbus, Framing::Enip, Framing::OpcUa];

/// Answers of Modbus with the lower bits of a name: registers, an identity, an exception.
fn modbus_answers(low: u8) -> Vec<Vec<u8>> {
    let mut registers = vec![0, low, 0, 0, 0, 253, 1, 3, 250];
    registers.resize(259, low);
    let mut identity = vec![0, low, 0, 0, 0, 17, 1, 0x2B, 0x0E, 1, 1, 0, 0, 2];
    identity.extend(b"\x00\x03ACM\x01\x02P1");
    vec![registers, identity, vec![0, low, 0, 0, 0, 3, 1, 0x83, 2]]
}

/// Answers of EtherNet/IP: services, a session, a status.
fn enip_answers(low: u8) -> Vec<Vec<u8>> {
    let services = b"\x01\0\0\x01\x14\0\x01\0\x20\x01Communications\0\0";
    let answers = [(4, 0, &services[..]), (0x65, 0, &[1, 0, 0, 0]), (0x63, 1, &[])];
    let answers = answers.map(|(command, status, data)| {
        let [octets, ..] = data.len().to_le_bytes();
        let mut all = vec![command, 0, octets, 0, 5, 0, 0, 0, status, 0, 0, 0];
        all.extend([1, 0, b'r', b't', low, 0, 0, 0, 0, 0, 0, 0]);
        all.extend(data);
        all
    });
    answers.to_vec()
}

/// Answers of SNMP: requests that have become responses.
fn snmp_answers(low: u8) -> Vec<Vec<u8>> {
    let variables = [snmp::Variable::Description, snmp::Variable::UpTime];
    let requests = variables.map(|variable| {
        [1, 5, 20].map(|times| {
            snmp::get(low.into(), snmp::Version::V2c, b"public", variable, times).unwrap()
        })
    });
    let mut requests: Vec<Vec<u8>> = requests.concat();
    for request in &mut requests {
        let at = request.iter().position(|&octet| octet == 0xA0).unwrap();
        request[at] = 0xA2;
    }
    requests
}

/// Answers of OPC UA: a server, none, a fault.
fn opcua_answers(low: u8) -> Vec<Vec<u8>> {
    let server = b"\x01\0\0\0\x03\0\0\0urn\x01\0\0\0p\x02\x04\0\0\0ACME\0\0\0\0";
    let answers = [(0xA9, 0, &server[..]), (0xA9, 0, &[0; 4]), (0x8D, 5, &[])];
    let answers = answers.map(|(of, status, rest)| {
        let head = [6, 0, 0, 0, 13, 0, 0, 0, 2, 0, 0, 0, low, 0, 0, 0, 1, 0, of, 1];
        let response = [&[0; 12][..], &[status, 0, 0, 0], &[0; 8]].concat();
        let body = [&head[..], &response, rest].concat();
        let [octets, ..] = (8 + body.len()).to_le_bytes();
        [&b"MSGF"[..], &[octets, 0, 0, 0], &body].concat()
    });
    answers.to_vec()
}

/// Returns all answers of each parser.
fn all_answers(low: u8) -> [Vec<Vec<u8>>; 4] {
    [modbus_answers(low), snmp_answers(low), enip_answers(low), opcua_answers(low)]
}

/// Oracle: function codes 3 and 43/14, get and getbulk, commands that list and services that get.
#[test]
fn nothing_that_is_built_writes() {
    for quantity in 1..=modbus::QUANTITY_MAX {
        assert_eq!(modbus::registers(7, 1, 0, quantity).unwrap()[7], 3);
    }
    assert_eq!(modbus::identity(7, 1)[7..9], [0x2B, 0x0E]);
    for times in 1..=snmp::TIMES_MAX {
        let request = snmp::get(7, snmp::Version::V1, b"", snmp::Variable::UpTime, times).unwrap();
        // Behind the head of the message, three octets of version and two of community.
        let head = match request[1] {
            0x81 => 3,
            0x82 => 4,
            _ => 2,
        };
        assert_eq!(request[head + 5], 0xA0);
    }
    assert_eq!(snmp::get_bulk(7, b"", 1).unwrap()[7], 0xA5);
    for (message, command) in [
        (enip::list_identity(7), 0x63),
        (enip::list_services(7), 0x04),
        (enip::register_session(7), 0x65),
        (enip::silent(7).unwrap(), 0),
        (enip::attribute(7, 1), 0x6F),
    ] {
        assert_eq!(message[..2], [command, 0]);
    }
    assert_eq!(enip::attribute(7, 1)[40], 0x0E);
    assert!((1..=enip::TIMES_MAX).all(|n| enip::attributes(7, 1, n).unwrap()[40] == 0x03));
    // Types 446 and 422 of OPC UA: a channel, and the question for servers.
    assert_eq!(opcua::open()[79..83], [1, 0, 0xBE, 1]);
    let asked = opcua::find_servers(7, Channel::default(), b"", 0);
    assert_eq!(asked[24..28], [1, 0, 0xA6, 1]);
}

/// Oracle: the name that the request carries.
#[test]
fn answers_carry_the_token() {
    for (parser, answers) in PARSERS.into_iter().zip(all_answers(9)) {
        for octets in answers {
            let answer = parser(&octets).unwrap();
            assert_eq!((answer.token, answer.octets), (9, octets.len()));
        }
    }
}

/// Feeds a stream in pieces of these lengths; returns its messages.
fn split(framing: Framing, stream: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let (mut splitter, mut found, mut rest) = (Splitter::new(framing), vec![], stream);
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let room = splitter.room();
        let octets = room.len().min(rest.len()).min(*cuts.next().unwrap());
        assert!(octets > 0);
        room[..octets].copy_from_slice(&rest[..octets]);
        splitter.advance(octets);
        rest = &rest[octets..];
        while let Some(message) = splitter.poll().unwrap() {
            found.push(message.to_vec());
        }
    }
    found
}

/// Oracle: the messages of which the stream was made.
#[test]
fn a_stream_cut_anywhere_gives_the_same_answers() {
    let [modbus, _, enip, opcua] = all_answers(1);
    for (framing, messages) in STREAMS.into_iter().zip([modbus, enip, opcua]) {
        let stream = messages.concat();
        for cut in 1..=stream.len() {
            assert_eq!(split(framing, &stream, &[cut, stream.len()]), messages, "{cut}");
            assert_eq!(split(framing, &stream, &[cut]), messages, "{cut}");
        }
    }
}

/// Checks what holds for any answer.
fn check(octets: &[u8], parser: Parser) {
    let Ok(answer) = parser(octets) else {
        return;
    };
    assert_eq!(answer.octets, octets.len());
    if let Outcome::Identity(text) = answer.outcome {
        assert!(text.len() <= TEXT_MAX && text.bytes().all(|own| (b' '..=b'~').contains(&own)));
    }
}

proptest! {
    /// No octets make it panic.
    #[test]
    fn any_octets_are_an_answer_or_malformed(octets: Vec<u8>) {
        for parser in PARSERS {
            check(&octets, parser);
        }
        for framing in STREAMS {
            let mut splitter = Splitter::new(framing);
            let room = splitter.room();
            let held = octets.len().min(room.len());
            room[..held].copy_from_slice(&octets[..held]);
            splitter.advance(held);
            while let Ok(Some(message)) = splitter.poll() {
                prop_assert!(!message.is_empty() && message.len() <= framing.most());
            }
        }
    }

    /// Neither do answers of which octets are changed or the end is missing.
    #[test]
    fn changed_answers_are_answers_or_malformed(
        low: u8,
        which: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end: prop::sample::Index,
    ) {
        for (parser, answers) in PARSERS.into_iter().zip(all_answers(low)) {
            let mut octets = which.get(&answers).clone();
            let whole = octets.len();
            prop_assert!(parser(&octets[..end.index(whole)]).is_err());
            for (at, to) in &changes {
                octets[at.index(whole)] = *to;
            }
            check(&octets, parser);
            octets.truncate(end.index(whole));
            check(&octets, parser);
        }
    }

    /// Oracle: the messages of which the stream was made.
    #[test]
    fn any_cuts_give_the_same_answers(
        order in prop::collection::vec((0..3_usize, any::<u8>()), 1..12),
        cuts in prop::collection::vec(1..300_usize, 1..20),
    ) {
        let sources: [Answers; 3] = [modbus_answers, enip_answers, opcua_answers];
        for (framing, source) in STREAMS.into_iter().zip(sources) {
            let messages: Vec<_> =
                order.iter().map(|&(which, low)| source(low)[which].clone()).collect();
            prop_assert_eq!(split(framing, &messages.concat(), &cuts), messages);
        }
    }
}
