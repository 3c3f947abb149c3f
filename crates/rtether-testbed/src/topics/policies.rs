//! Policies in words, where they differ from the standard's defaults.

use rtether_rtps::discovery::EndpointData;
use rtether_rtps::qos::{
    AccessScope, DestinationOrder, History, LivelinessKind, Ownership, Qos, Representation,
};
use rtether_rtps::time;

use super::relation::names;
use super::shown;
use super::text::clean;
use rtether::report::text::time as in_words;

/// A policy: whether it differs, name, value.
type Policy = (bool, &'static str, String);

/// Returns the policies of an endpoint that differ from the standard's defaults.
pub(super) fn differences(endpoint: &EndpointData, is_writer: bool) -> Vec<(&'static str, String)> {
    let qos = &endpoint.qos;
    if let Some(persistence) = qos.persistence.filter(|_| is_writer) {
        return of_publication(qos, persistence);
    }
    let usual = if is_writer { Qos::writer() } else { Qos::reader() };
    let filter = endpoint.content_filter.as_ref();
    let filter = filter.map(|filter| clean(&filter.expression));
    let all = kept(qos, &usual).into_iter();
    let all = all.chain(timely(qos, &usual)).chain(shared(qos, &usual, is_writer));
    let differing = all.filter(|(differs, ..)| *differs);
    let differing = differing.map(|(_, name, value)| (name, value));
    differing.chain(filter.map(|filter| ("content filter", filter))).collect()
}

/// Returns the properties that every publication of RTPS 1.0 has.
fn of_publication(qos: &Qos, persistence: time::Duration) -> Vec<(&'static str, String)> {
    vec![
        ("strength", qos.strength.to_string()),
        ("persistence", words(persistence)),
        ("reliability", qos.reliability.name().to_owned()),
    ]
}

/// Policies on retention and retransmission.
fn kept(qos: &Qos, usual: &Qos) -> [Policy; 3] {
    [
        (qos.reliability != usual.reliability, "reliability", qos.reliability.name().to_owned()),
        (qos.durability != usual.durability, "durability", qos.durability.name().to_owned()),
        (qos.history != usual.history, "history", history(qos.history)),
    ]
}

/// Policies on time.
fn timely(qos: &Qos, usual: &Qos) -> [Policy; 5] {
    [
        (qos.deadline != usual.deadline, "deadline", words(qos.deadline)),
        (qos.latency_budget != usual.latency_budget, "latency budget", words(qos.latency_budget)),
        (qos.liveliness != usual.liveliness, "liveliness", liveliness(qos)),
        (
            qos.time_based_filter != usual.time_based_filter,
            "time-based filter",
            words(qos.time_based_filter),
        ),
        (qos.lifespan != usual.lifespan, "lifespan", words(qos.lifespan)),
    ]
}

/// Policies that concern other endpoints.
fn shared(qos: &Qos, usual: &Qos, is_writer: bool) -> [Policy; 6] {
    let is_usual = matches!(qos.representations.as_slice(), [] | [Representation::Xcdr1]);
    [
        (qos.ownership != usual.ownership, "ownership", ownership(qos, is_writer)),
        (
            qos.destination_order == DestinationOrder::BySource,
            "destination order",
            "by source".to_owned(),
        ),
        (qos.presentation != usual.presentation, "presentation", presentation(qos)),
        (!qos.partitions.is_empty(), "partition", names(&qos.partitions)),
        (!is_usual, "data representation", representations(qos)),
        (qos.transport_priority != 0, "transport priority", qos.transport_priority.to_string()),
    ]
}

fn words(span: time::Duration) -> String {
    if span.is_infinite() {
        return "infinite".to_owned();
    }
    in_words(shown(span))
}

fn history(history: History) -> String {
    match history {
        History::KeepLast(depth) => format!("keep last {depth}"),
        History::KeepAll => "keep all".to_owned(),
    }
}

fn liveliness(qos: &Qos) -> String {
    let kind = match qos.liveliness.kind {
        LivelinessKind::Automatic => "automatic",
        LivelinessKind::ManualByParticipant => "manual by participant",
        LivelinessKind::ManualByTopic => "manual by topic",
    };
    format!("{kind}, lease {}", words(qos.liveliness.lease))
}

fn ownership(qos: &Qos, is_writer: bool) -> String {
    match qos.ownership {
        Ownership::Shared => "shared".to_owned(),
        Ownership::Exclusive if is_writer => format!("exclusive, strength {}", qos.strength),
        Ownership::Exclusive => "exclusive".to_owned(),
    }
}

fn presentation(qos: &Qos) -> String {
    let presentation = qos.presentation;
    let scope = match presentation.scope {
        AccessScope::Instance => "instance",
        AccessScope::Topic => "topic",
        AccessScope::Group => "group",
    };
    let coherent = if presentation.is_coherent { ", coherent" } else { "" };
    let ordered = if presentation.is_ordered { ", ordered" } else { "" };
    format!("{scope}{coherent}{ordered}")
}

fn representations(qos: &Qos) -> String {
    let names = qos.representations.iter().map(|one| match one {
        Representation::Xcdr1 => "XCDR1",
        Representation::Xml => "XML",
        Representation::Xcdr2 => "XCDR2",
    });
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};

    use super::*;

    #[test]
    fn defaults_are_not_mentioned() {
        // Oracle: the defaults of DDS 1.4, 2.2.3: writers are reliable, readers are not.
        let endpoint = |qos| EndpointData {
            guid: Guid::new(GuidPrefix([7; 12]), EntityId::writer(1, true)),
            topic: "Square".to_owned(),
            type_name: "ShapeType".to_owned(),
            qos,
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
            content_filter: None,
            type_hash: None,
            type_information: Vec::new(),
            group: None,
        };
        assert_eq!(differences(&endpoint(Qos::writer()), true), []);
        assert_eq!(differences(&endpoint(Qos::reader()), false), []);
        let qos = Qos {
            ownership: Ownership::Exclusive,
            strength: 3,
            deadline: time::Duration::from_ms(10),
            history: History::KeepAll,
            ..Qos::reader()
        };
        let expected = [
            ("reliability", "best effort"),
            ("history", "keep all"),
            ("deadline", "10 ms"),
            ("ownership", "exclusive, strength 3"),
        ];
        let expected = expected.map(|(name, value)| (name, value.to_owned()));
        assert_eq!(differences(&endpoint(qos), true), expected);
    }
}
