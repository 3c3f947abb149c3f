//! Readers with malformed or extreme filters.
//!
//! Oracle: a filter that the writer cannot use withholds nothing from its reader.

use rtether_rtps::discovery::ContentFilter;
use rtether_rtps::engine::{NewWriter, Participant, TopicName};
use rtether_rtps::filter::Judge;
use rtether_rtps::guid::EntityId;
use rtether_rtps::qos::{Qos, Reliability};
use rtether_rtps::typed::{Publication, PublicationOptions, Subscription, SubscriptionOptions};
use rtether_rtps::types::ShapeType;

use crate::hostile::world::{Forger, ON_LINK, World, endpoint};

const NAME: TopicName<'_> = TopicName { topic: "filtered", type_name: "ShapeType" };

fn qos() -> Qos {
    Qos { reliability: Reliability::BestEffort, ..Qos::writer() }
}

fn publication(world: &mut World) -> Publication<ShapeType> {
    let now = world.clock();
    let options = PublicationOptions {
        judge: Some(Judge::of::<ShapeType>()),
        publisher: None,
        separates: false,
    };
    Publication::open(&mut world.participant, now, NAME.topic, qos(), options).unwrap()
}

/// Announces a reader of the publication.
fn reader(forger: &mut Forger, number: u32, expression: &str, parameters: &[&str]) -> Vec<u8> {
    let entity = EntityId::reader(number, true);
    let mut data = endpoint(forger.guid(entity), Reliability::BestEffort);
    NAME.topic.clone_into(&mut data.topic);
    NAME.type_name.clone_into(&mut data.type_name);
    data.content_filter = Some(ContentFilter {
        topic: "mine".to_owned(),
        related_topic: NAME.topic.to_owned(),
        class: "DDSSQL".to_owned(),
        expression: expression.to_owned(),
        parameters: parameters.iter().map(|text| (*text).to_owned()).collect(),
    });
    forger.endpoint(&data)
}

fn publish(world: &mut World, publication: &mut Publication<ShapeType>, shape: &ShapeType) {
    let now = world.clock();
    let participant: &mut Participant = &mut world.participant;
    publication.publish(participant, now, shape).unwrap();
    world.wait(1);
    world.feed(&[]);
}

#[test]
fn filters_that_make_no_sense() {
    let deep = format!("{}x = 1{}", "(".repeat(2_000), ")".repeat(2_000));
    let negated = format!("{} x = 1", "NOT ".repeat(1_000));
    let open = "(".repeat(4_096);
    let quoted = "'".repeat(4_095);
    let wild = format!("color LIKE '{}'", "%a".repeat(120));
    let number = format!("x = {}", "9".repeat(4_000));
    for expression in [
        "",
        "x",
        "x = ",
        "= 1",
        "width = 1",
        "color = 1",
        "x = %0",
        "x = %99",
        "x = %100",
        "%",
        "x BETWEEN 1",
        "x = 1 AND",
        "x = 1 ORDER BY x",
        "x = 0x",
        "x = 1e999",
        "\u{1F980} = 1",
        "x = 1; DROP",
        &deep,
        &negated,
        &open,
        &quoted,
        &wild,
        &number,
    ] {
        let mut world = World::new();
        let mut publication = publication(&mut world);
        let mut forger = Forger::new(0, ON_LINK);
        world.feed(&forger.announcement());
        let datagram = reader(&mut forger, 1, expression, &[]);
        world.feed(&datagram);
        assert_eq!(world.participant.known_readers_of(publication.id()), 1);
        world.sent.clear();
        publish(&mut world, &mut publication, &ShapeType::default());
        let (sent, _) = world.sent_to(|to| *to == ON_LINK);
        assert!(sent > 0, "{expression:.40}");
    }
}

#[test]
fn no_more_than_32_filters() {
    // Oracle: samples that none of 32 readers wants are not sent; with one more reader everything
    // is sent.
    let mut world = World::new();
    let mut publication = publication(&mut world);
    // Maximum work: all comparisons hold except the last.
    let expression = vec!["color <> %0"; 240].join(" AND ") + " AND x = 1";
    let parameter = "a".repeat(255);
    let mut forger = Forger::new(0, ON_LINK);
    world.feed(&forger.announcement());
    let shape = ShapeType {
        color: "a".repeat(128),
        additional_payload_size: vec![0; 60_000],
        ..ShapeType::default()
    };
    for number in 1..=33 {
        let datagram = reader(&mut forger, number, &expression, &[&parameter]);
        world.feed(&datagram);
        world.sent.clear();
        publish(&mut world, &mut publication, &shape);
        let (_, octets) = world.sent_to(|to| *to == ON_LINK);
        assert_eq!(octets > 60_000, number > 32, "{number} readers");
    }
    assert_eq!(world.participant.known_readers_of(publication.id()), 33);
}

#[test]
fn samples_that_no_filter_can_look_at() {
    // Oracle: payloads that are not values of the type are counted, and the others arrive.
    let mut world = World::new();
    let filter = rtether_rtps::engine::NewFilter {
        topic: "mine",
        expression: "x >= 0",
        parameters: &[],
        judge: Judge::of::<ShapeType>(),
    };
    let (now, topic) = (world.clock(), NAME.topic);
    let participant = &mut world.participant;
    let options = SubscriptionOptions { filter: Some(filter), subscriber: None };
    let subscription = Subscription::<ShapeType>::open(participant, now, topic, qos(), options);
    let mut subscription = subscription.unwrap();
    let mut forger = Forger::new(0, ON_LINK);
    world.feed(&forger.announcement());
    let entity = EntityId::writer(1, true);
    let mut data = endpoint(forger.guid(entity), Reliability::BestEffort);
    topic.clone_into(&mut data.topic);
    NAME.type_name.clone_into(&mut data.type_name);
    let datagram = forger.endpoint(&data);
    world.feed(&datagram);
    for payload in [&[0, 1, 0, 0, 9][..], &[0, 1, 0, 0, 255, 255, 255, 255], &[9, 9, 9, 9, 9]] {
        let datagram = forger.next(entity, payload);
        world.feed(&datagram);
    }
    let (id, now) = (subscription.id(), world.clock());
    assert!(subscription.take(&mut world.participant, now).is_none());
    assert_eq!(world.participant.reader_counters(id).malformed, 3);
    let new = NewWriter {
        name: NAME,
        has_key: true,
        qos: qos(),
        judge: None,
        publisher: None,
        separates: false,
    };
    assert!(world.participant.add_writer(now, new).is_ok());
}
