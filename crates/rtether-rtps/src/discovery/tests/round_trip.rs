//! Oracle: reading returns what was written.

use std::string::{String, ToString};

use proptest::prelude::*;

use super::*;
use crate::qos::{
    DestinationOrder, Durability, Liveliness, LivelinessKind, Ownership, Presentation,
};
use crate::wire::VENDOR;

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::INFINITE),
        Just(Duration::ZERO),
        (0_i64..1 << 60).prop_map(Duration::from_ns),
    ]
}

fn one<T: Copy + std::fmt::Debug + 'static>(values: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(values)
}

fn text() -> impl Strategy<Value = String> {
    "[a-z*ß/]{0,20}"
}

fn locators() -> impl Strategy<Value = Vec<Locator>> {
    let udp = any::<([u8; 4], u16)>().prop_map(|(ip, port)| Locator::udp(ip.into(), port.max(1)));
    let ethernet = any::<([u8; 6], u16, u16)>();
    let ethernet = ethernet.prop_map(|(address, vid, port)| Locator::Ethernet {
        address,
        vid: vid % 4_095,
        port: port.max(1),
    });
    prop::collection::vec(prop_oneof![udp, ethernet], 0..LOCATORS_MAX)
}

/// Policies that apply to both writers and readers.
fn qos() -> impl Strategy<Value = Qos> {
    let enums = (
        one(&[Reliability::BestEffort, Reliability::Reliable]),
        one(&[Durability::Volatile, Durability::TransientLocal, Durability::Persistent]),
        one(&[LivelinessKind::Automatic, LivelinessKind::ManualByTopic]),
        one(&[Ownership::Shared, Ownership::Exclusive]),
        one(&[DestinationOrder::ByReception, DestinationOrder::BySource]),
        one(&[AccessScope::Instance, AccessScope::Topic, AccessScope::Group]),
        any::<(bool, bool)>(),
    );
    let lists = (
        prop::collection::vec(text(), 0..PARTITIONS_MAX),
        prop::collection::vec(one(&[Representation::Xcdr1, Representation::Xcdr2]), 1..4),
        prop::collection::vec(any::<u8>(), 0..40),
    );
    let durations = [duration(), duration(), duration(), duration()];
    (enums, lists, durations).prop_map(|(enums, lists, durations)| {
        let (reliability, durability, kind, ownership, destination_order, scope, flags) = enums;
        let (partitions, representations, user_data) = lists;
        let [max_blocking, deadline, latency_budget, lease] = durations;
        Qos {
            reliability,
            max_blocking,
            durability,
            deadline,
            latency_budget,
            liveliness: Liveliness { kind, lease },
            ownership,
            destination_order,
            presentation: Presentation { scope, is_coherent: flags.0, is_ordered: flags.1 },
            partitions,
            representations,
            user_data,
            ..Qos::reader()
        }
    })
}

proptest! {
    /// Oracle: reading returns what was written; truncated input is an error.
    #[test]
    fn endpoints_come_back(
        mut qos in qos(),
        (topic, type_name, span) in (text(), text(), duration()),
        (unicast, multicast) in (locators(), locators()),
        (entity, strength, is_writer) in any::<([u8; 4], i32, bool)>(),
        filter in prop::collection::vec(text(), 4..10),
    ) {
        if is_writer {
            (qos.strength, qos.transport_priority, qos.lifespan) = (strength, strength, span);
        } else {
            qos.time_based_filter = span;
        }
        let data = EndpointData {
            type_hash: None,
        type_information: Vec::new(),
            guid: Guid::new(PREFIX, EntityId(entity)),
            topic,
            type_name,
            qos,
            unicast,
            multicast,
            expects_inline_qos: !is_writer,
            group: (strength % 2 == 0).then(|| EntityId::publisher(9)),
            content_filter: (!is_writer).then(|| ContentFilter {
                topic: filter[0].clone(),
                related_topic: filter[1].clone(),
                class: filter[2].clone(),
                expression: filter[3].clone(),
                parameters: filter[4..].to_vec(),
            }),
        };
        let mut out = Vec::new();
        data.encode(&mut out, is_writer);
        prop_assert_eq!(out.len() % 4, 0);
        for len in 0..out.len() {
            prop_assert!(EndpointData::decode(&out[..len], is_writer).is_err());
        }
        prop_assert_eq!(decode_key(&out), Ok(data.guid));
        prop_assert_eq!(EndpointData::decode(&out, is_writer), Ok(data));
    }

    /// Oracle: the same.
    #[test]
    fn participants_come_back(
        (prefix, version, domain, endpoints, expects_inline_qos)
            in any::<([u8; 12], [u8; 2], Option<u32>, u32, bool)>(),
        vendor in prop_oneof![Just(VENDOR), any::<[u8; 2]>()],
        (name, domain_tag, lease) in (text(), text(), duration()),
        (a, b, c, d) in (locators(), locators(), locators(), locators()),
        user_data in prop::collection::vec(any::<u8>(), 0..40),
        topics in prop::option::of(prop::collection::vec((text(), any::<bool>()), 0..20)),
    ) {
        let interests = topics.and_then(|topics| {
            let of = |is_written| {
                let topics = topics.iter().filter(move |(_, is)| *is == is_written);
                topics.map(|(topic, _)| &**topic)
            };
            Interests::of(of(true), of(false))
        });
        let interests = interests.filter(|_| vendor == VENDOR);
        let data = ParticipantData {
            prefix: GuidPrefix(prefix),
            version,
            vendor,
            lease,
            domain,
            domain_tag,
            metatraffic_unicast: a,
            metatraffic_multicast: b,
            default_unicast: c,
            default_multicast: d,
            endpoints,
            expects_inline_qos,
            name,
            user_data,
            interests,
        };
        let mut out = Vec::new();
        data.encode(&mut out);
        for len in 0..out.len() {
            prop_assert!(ParticipantData::decode(&out[..len]).is_err());
        }
        prop_assert_eq!(decode_key(&out), Ok(data.guid()));
        prop_assert_eq!(ParticipantData::decode(&out), Ok(data));
    }

    #[test]
    fn random_octets_never_panic(
        is_little_endian: bool,
        parameters in prop::collection::vec(
            (0_u16..0x76, prop::collection::vec(prop_oneof![0_u8..4, any::<u8>()], 0..40)),
            0..8,
        ),
    ) {
        let mut octets = std::vec![0, if is_little_endian { 3 } else { 2 }, 0, 0];
        for (id, value) in parameters {
            let len = u16::try_from(value.len() / 4 * 4).unwrap();
            for number in [id, len] {
                octets.extend(if is_little_endian { number.to_le_bytes() } else { number.to_be_bytes() });
            }
            octets.extend(&value[..usize::from(len)]);
        }
        octets.extend(if is_little_endian { [1, 0, 0, 0] } else { [0, 1, 0, 0] });
        let _ = ParticipantData::decode(&octets);
        let _ = EndpointData::decode(&octets, true).map_err(|error| error.to_string());
        let _ = EndpointData::decode(&octets, false);
        let _ = decode_key(&octets);
    }
}
