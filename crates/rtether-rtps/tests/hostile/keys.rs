//! Key payloads for readers that expect different forms.

use rtether_rtps::guid::EntityId;
use rtether_rtps::qos::{Reliability, Representation};
use rtether_rtps::typed::Publication;
use rtether_rtps::types::ShapeType;

use crate::hostile::world::{Forger, MS, ON_LINK, World, endpoint, qos};

/// A key with the length that its header announces, and without; captured from Cyclone DDS 11.0.1
/// and 0.10.2.
const WITH_LENGTH: &[u8] = b"\0\x09\0\x03\x09\0\0\0\x05\0\0\0BLUE\0\0\0\0";
const BARE: &[u8] = b"\0\x09\0\x03\x05\0\0\0BLUE\0\0\0\0";

/// Vendor and version of a matched reader's participant.
type Peer = ([u8; 2], [u8; 2]);

/// Returns whether a writer with these readers disposes of an instance with a bare key.
fn disposes_barely(peers: &[Peer]) -> bool {
    let mut world = World::new();
    let mut qos = qos(Reliability::Reliable);
    qos.representations = vec![Representation::Xcdr2];
    let now = world.clock();
    let name = "Square";
    let publication = Publication::create(&mut world.participant, now, name, qos.clone());
    let mut publication: Publication<ShapeType> = publication.unwrap();
    for (number, (vendor, version)) in (0..).zip(peers) {
        let mut forger = Forger::new(number, ON_LINK);
        (forger.data.vendor, forger.data.version) = (*vendor, *version);
        world.feed(&forger.announcement());
        assert!(world.hear_from(&forger, ON_LINK));
        let mut data = endpoint(forger.guid(EntityId::reader(2, true)), Reliability::Reliable);
        (data.topic, data.type_name) = ("Square".to_owned(), "ShapeType".to_owned());
        data.qos = qos.clone();
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
    }
    let readers = world.participant.known_readers_of(publication.id());
    assert_eq!(readers, peers.len());
    let blue = ShapeType { color: "BLUE".into(), ..ShapeType::default() };
    publication.dispose(&mut world.participant, now, &blue).unwrap();
    world.wait(20 * MS);
    let holds = |octets: &[u8]| {
        let mut sent = world.sent.iter();
        sent.any(|(_, datagram)| datagram.windows(octets.len()).any(|part| part == octets))
    };
    assert_ne!(holds(BARE), holds(WITH_LENGTH));
    holds(BARE)
}

#[test]
fn a_key_has_the_length_that_its_header_announces_unless_no_reader_can_read_that() {
    // Oracle: DDS-XTypes 1.3, 7.4.3.5.3: a delimited value begins with its length; and captures of
    // the one implementation that omits it.
    let (old, new, other) = (([1, 16], [2, 1]), ([1, 16], [2, 5]), ([1, 15], [2, 1]));
    assert!(!disposes_barely(&[new]));
    assert!(!disposes_barely(&[other]));
    assert!(disposes_barely(&[old]));
    assert!(disposes_barely(&[old, old]));
    assert!(!disposes_barely(&[old, new]));
}
