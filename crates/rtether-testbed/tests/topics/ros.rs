//! A domain in the words of ROS.

use std::sync::atomic::AtomicBool;

use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether_live::rtps::Domain;
use rtether_model::quantity::Duration;
use rtether_rtps::engine::{NewReader, NewSample, NewWriter, TopicName, WriterId};
use rtether_rtps::guid::Guid;
use rtether_rtps::qos::{Durability, Qos, Reliability};
use rtether_testbed::topics::ros::Kind;
use rtether_testbed::topics::{Census, FailOn, SpyOptions, spy};
use rtether_testkit::read_document;

use crate::topics::{Other, domain, participant};

const TEXT: &str = "std_msgs::msg::dds_::String_";

fn qos(reliability: Reliability, hash: &str) -> Qos {
    Qos { reliability, user_data: format!("typehash={hash};").into(), ..Qos::writer() }
}

fn name<'a>(topic: &'a str, type_name: &'a str) -> TopicName<'a> {
    TopicName { topic, type_name }
}

fn write(domain: &mut Domain, name: TopicName<'_>, qos: Qos) -> WriterId {
    let now = domain.now();
    let new =
        NewWriter { name, has_key: false, qos, judge: None, publisher: None, separates: false };
    let writer = domain.participant_mut().add_writer(now, new);
    writer.expect("room")
}

fn read(domain: &mut Domain, name: TopicName<'_>, qos: Qos) {
    let now = domain.now();
    let new = NewReader { name, key_of: None, qos, filter: None, subscriber: None };
    let reader = domain.participant_mut().add_reader(now, new);
    reader.expect("room");
}

/// Returns what a participant tells of a node `/talker` with one endpoint, after the definition of
/// `rmw_dds_common/msg/ParticipantEntitiesInfo`.
fn told(endpoint: Guid) -> Vec<u8> {
    let mut octets = vec![0, 1, 0, 0];
    octets.extend([0; 16]);
    octets.extend(1_u32.to_le_bytes());
    octets.extend(2_u32.to_le_bytes());
    octets.extend(b"/\0\0\0");
    octets.extend(7_u32.to_le_bytes());
    octets.extend(b"talker\0\0");
    octets.extend(0_u32.to_le_bytes());
    octets.extend(1_u32.to_le_bytes());
    octets.extend(endpoint.octets());
    octets
}

/// A node with a writer of `/chatter`, a best-effort writer of `/level`, and an unnamed participant
/// that reads both, reliably and with another hash.
fn pair(number: u16) -> [Other; 2] {
    let talk = move |domain: &mut Domain| {
        let chatter = name("rt/chatter", TEXT);
        let chatter = write(domain, chatter, qos(Reliability::Reliable, "RIHS01_aa"));
        let level = name("rt/level", TEXT);
        write(domain, level, qos(Reliability::BestEffort, "RIHS01_aa"));
        let nodes =
            name("ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_");
        let kept = Qos { durability: Durability::TransientLocal, ..Qos::writer() };
        let nodes = write(domain, nodes, kept);
        let guid = domain.participant().writer_guid(chatter).expect("a writer");
        let (now, payload) = (domain.now(), told(guid));
        let sample = NewSample::value(&payload);
        let written = domain.participant_mut().write(now, nodes, &sample);
        written.expect("room");
    };
    let listen = |domain: &mut Domain| {
        for topic in ["rt/chatter", "rt/level"] {
            let qos = qos(Reliability::Reliable, "RIHS01_bb");
            read(domain, name(topic, TEXT), qos);
        }
    };
    [Other::start(number, "one", talk, |_| ()), Other::start(number, "two", listen, |_| ())]
}

fn look(number: u16) -> Census {
    let options = SpyOptions {
        participant: participant(number),
        duration: Some(Duration::from_secs(3)),
        rates: false,
        ros: true,
        fail_on: Some(vec![FailOn::Mismatch, FailOn::Hash]),
    };
    spy(&options, &AtomicBool::new(false), |_| ()).expect("a census")
}

#[test]
fn nodes_hashes_and_mismatches_are_shown() {
    // Oracle: what both participants were given.
    let number = domain(0);
    let others = pair(number);
    let census = look(number);
    drop(others);
    let graph = census.ros.as_ref().expect("a graph");
    let names: Vec<&str> = graph.nodes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["/talker"]);
    let chatter = &graph.interfaces[&(Kind::Topic, "/chatter".to_owned())];
    assert_eq!(chatter.from.iter().collect::<Vec<_>>(), ["/talker"]);
    assert!(chatter.to.iter().all(|who| who.starts_with("`two` at 127.0.0.1")));
    assert_eq!((chatter.to.len(), chatter.hashes.len()), (1, 2));
    // Both topics have two hashes, and `/level` a reader that requests more than is offered.
    let clashes: Vec<&str> = graph.clashes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(clashes, ["/chatter", "/level"]);
    let [apart] = &census.apart[..] else {
        panic!("{:?}", census.apart);
    };
    assert_eq!(apart.topic, "rt/level");
    let text = census.render(Format::Table, Screen::default());
    for words in [
        "2 participants, 1 node, 2 topics",
        "`/chatter` (std_msgs/msg/String): RIHS01_aa of /talker, RIHS01_bb of `two`",
        "`/level`: `one` at",
        "reliability: best effort is offered, reliable is requested",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let json = read_document(&census.json());
    assert_eq!(json["ros"]["nodes"][0]["name"], "/talker");
    assert_eq!(json["ros"]["hash_clashes"][0]["type"], "std_msgs/msg/String");
}
