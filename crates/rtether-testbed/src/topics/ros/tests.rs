//! Names, hashes and nodes, by hand.

use rtether_rtps::discovery::EndpointData;
use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
use rtether_rtps::qos::Qos;

use super::nodes::decode;
use super::{Graph, Kind, Node, Nodes, Part, Seen};

const HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

fn endpoint(topic: &str, type_name: &str, user_data: &str) -> EndpointData {
    EndpointData {
        guid: Guid::new(GuidPrefix([7; 12]), EntityId::writer(1, false)),
        topic: topic.to_owned(),
        type_name: type_name.to_owned(),
        qos: Qos { user_data: user_data.into(), ..Qos::writer() },
        unicast: Vec::new(),
        multicast: Vec::new(),
        expects_inline_qos: false,
        content_filter: None,
        type_hash: None,
        type_information: Vec::new(),
        group: None,
    }
}

fn seen(topic: &str, type_name: &str, user_data: &str, is_writer: bool, who: &str) -> Seen {
    let endpoint = endpoint(topic, type_name, user_data);
    Seen::of(&endpoint, is_writer, who.to_owned())
}

const TEXT: &str = "std_msgs::msg::dds_::String_";

#[test]
fn names_are_those_of_ros() {
    // Oracle: the design document of the mapping, and what a node of ROS 2 Kilted announces.
    let words = |topic, type_name| {
        let seen = seen(topic, type_name, "", true, "");
        (seen.kind, seen.name, seen.type_name, seen.part)
    };
    let of = |kind, name: &str, type_name: &str, part| {
        (kind, name.to_owned(), type_name.to_owned(), part)
    };
    assert_eq!(
        words("rt/plant/chatter", TEXT),
        of(Kind::Topic, "/plant/chatter", "std_msgs/msg/String", Part::Samples)
    );
    assert_eq!(
        words("rq/stopRequest", "std_srvs::srv::dds_::SetBool_Request_"),
        of(Kind::Service, "/stop", "std_srvs/srv/SetBool", Part::Request)
    );
    assert_eq!(
        words("rr/stopReply", "std_srvs::srv::dds_::SetBool_Response_"),
        of(Kind::Service, "/stop", "std_srvs/srv/SetBool", Part::Reply)
    );
    let goal = "turtle::action::dds_::Turn_SendGoal_Request_";
    assert_eq!(
        words("rq/turn/_action/send_goalRequest", goal),
        of(Kind::Action, "/turn", "turtle/action/Turn", Part::Request)
    );
    // Not of ROS: without prefix, or without what must follow.
    for topic in ["Square", "rt", "rt/", "rq/stop", "rr/stopRequest", "rqx/yRequest"] {
        let (kind, name, type_name, _) = words(topic, TEXT);
        assert_eq!((kind, name.as_str()), (Kind::Dds, topic));
        assert_eq!(type_name, TEXT);
    }
}

#[test]
fn hashes_are_found_among_other_values() {
    // Oracle: REP 2016: `typehash=` and the hash, ended by a semicolon.
    let hash = |data: &str| seen("rt/x", TEXT, data, true, "").hash;
    assert_eq!(hash(&format!("typehash={HASH};")).as_deref(), Some(HASH));
    let among = format!("enclave=/;typehash={HASH};more=1;");
    assert_eq!(hash(&among).as_deref(), Some(HASH));
    for none in ["", "typehash=", "typehash=;", "xtypehash=a;", "typehash=\u{1b}[2J;"] {
        assert_eq!(hash(none), None, "{none}");
    }
    assert_eq!(hash(&format!("typehash={};", "a".repeat(129))), None);
}

/// Writes what a participant tells of one node.
fn told(guid_len: usize, space: &str, name: &str, endpoints: &[[u8; 16]]) -> Vec<u8> {
    let mut octets = vec![0, 1, 0, 0];
    let at = |octets: &Vec<u8>| octets.len() - 4;
    let align = |octets: &mut Vec<u8>| {
        while !at(octets).is_multiple_of(4) {
            octets.push(0);
        }
    };
    let number = |octets: &mut Vec<u8>, number: usize| {
        align(octets);
        octets.extend(u32::try_from(number).unwrap().to_le_bytes());
    };
    octets.extend(vec![9; guid_len]);
    number(&mut octets, 1);
    for text in [space, name] {
        number(&mut octets, text.len() + 1);
        octets.extend(text.bytes().chain([0]));
    }
    number(&mut octets, 0);
    number(&mut octets, endpoints.len());
    for guid in endpoints {
        octets.extend(guid);
        octets.extend(vec![0; guid_len - 16]);
    }
    octets
}

#[test]
fn nodes_are_read_with_guids_of_either_size() {
    // Oracle: the definition of the message, written by hand; a GUID had 24 octets before Iron.
    let guid = [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 1, 3];
    for len in [16, 24] {
        let payload = told(len, "/plant", "talker", &[guid]);
        let expected = Node {
            name: "/plant/talker".to_owned(),
            endpoints: vec![Guid::new(GuidPrefix([7; 12]), EntityId([0, 0, 1, 3]))],
        };
        assert_eq!(decode(&payload), Ok(vec![expected]));
        // Oracle: whatever is cut off is missing.
        for cut in 0..payload.len() {
            assert!(decode(&payload[..cut]).is_err(), "{len} {cut}");
        }
    }
    let root = decode(&told(16, "/", "talker", &[]));
    assert_eq!(root.map(|nodes| nodes[0].name.clone()), Ok("/talker".to_owned()));
    // Numbers beyond the octets that are there.
    let mut huge = told(16, "/", "talker", &[]);
    huge[20..24].fill(0xFF);
    assert!(decode(&huge).is_err());
}

#[test]
fn nobody_names_endpoints_of_others() {
    let mut nodes = Nodes::default();
    let own = Guid::new(GuidPrefix([7; 12]), EntityId([0, 0, 1, 3]));
    let other = Guid::new(GuidPrefix([8; 12]), EntityId([0, 0, 1, 3]));
    let node = Node { name: "/talker".to_owned(), endpoints: vec![own, other] };
    nodes.tell(own.prefix, vec![node]);
    let by_endpoint = nodes.by_endpoint();
    assert_eq!(by_endpoint.get(&own), Some(&"/talker"));
    assert_eq!(by_endpoint.get(&other), None);
}

#[test]
fn differing_hashes_and_single_sides_are_found() {
    // Oracle: by hand: two hashes on `/chatter`, one on `/level`; `/stop` is called, not served.
    let with = |hash: &str| format!("typehash={hash};");
    let all = [
        seen("rt/chatter", TEXT, &with(HASH), true, "/a"),
        seen("rt/chatter", TEXT, &with("RIHS01_00"), false, "/b"),
        seen("rt/chatter", TEXT, "", false, "/c"),
        seen("rt/level", TEXT, &with(HASH), true, "/a"),
        seen("rt/level", TEXT, &with(HASH), false, "/b"),
        seen("rt/rosout", TEXT, &with(HASH), true, "/a"),
        seen("rq/stopRequest", "s::srv::dds_::S_Request_", &with("R1"), true, "/a"),
        seen("rr/stopReply", "s::srv::dds_::S_Response_", &with("R2"), false, "/a"),
    ];
    let graph = Graph::of(&all, &Nodes::default(), |_| None);
    let [clash] = &graph.clashes[..] else {
        panic!("{:?}", graph.clashes);
    };
    assert_eq!((clash.kind, clash.name.as_str()), (Kind::Topic, "/chatter"));
    assert_eq!(clash.hashes.len(), 2);
    let chatter = &graph.interfaces[&(Kind::Topic, "/chatter".to_owned())];
    assert_eq!(chatter.without_hash, 1);
    let single: Vec<(Kind, &str)> = graph.one_sided().map(|(kind, name, _)| (kind, name)).collect();
    assert_eq!(single, [(Kind::Service, "/stop")]);
}

/// What a node `talker` of namespace `/plant` told: Fast DDS of ROS 2 Kilted, one publisher and one
/// service of its own.
const KILTED: &str = "00010000010f7f64013a368e00000000000001c101000000070000002f706c616e740000\
    0700000074616c6b6572000008000000\
    010f7f64013a368e0000000000000504010f7f64013a368e0000000000000704\
    010f7f64013a368e0000000000000904010f7f64013a368e0000000000000b04\
    010f7f64013a368e0000000000000d04010f7f64013a368e0000000000000f04\
    010f7f64013a368e0000000000001104010f7f64013a368e0000000000001404\
    0b000000\
    010f7f64013a368e0000000000000303010f7f64013a368e0000000000000403\
    010f7f64013a368e0000000000000603010f7f64013a368e0000000000000803\
    010f7f64013a368e0000000000000a03010f7f64013a368e0000000000000c03\
    010f7f64013a368e0000000000000e03010f7f64013a368e0000000000001003\
    010f7f64013a368e0000000000001203010f7f64013a368e0000000000001303\
    010f7f64013a368e0000000000001503";

#[test]
fn a_node_of_ros_2_kilted_is_read() {
    // Oracle: the program: its name, and with parameters, log and types 8 readers and 11 writers.
    let pairs = KILTED.as_bytes().chunks(2);
    let octet = |pair: &[u8]| {
        let text = str::from_utf8(pair).expect("digits");
        u8::from_str_radix(text, 16).expect("digits")
    };
    let payload: Vec<u8> = pairs.map(octet).collect();
    let nodes = decode(&payload).expect("nodes");
    let [node] = &nodes[..] else {
        panic!("{nodes:?}");
    };
    assert_eq!(node.name, "/plant/talker");
    let writers = node.endpoints.iter().filter(|guid| guid.entity.0[3] == 3);
    assert_eq!((node.endpoints.len(), writers.count()), (19, 11));
}
