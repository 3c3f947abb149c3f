//! Samples per second from one end to the other: reliable, history keep all.

use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::typed::{Publication, PublishError, Subscription};
use rtether_rtps::writer::WriteError;

use crate::options::Options;
use crate::{Failure, LOOK, Octets, end, no_room, open, report};

const TOPIC: &str = "RateTopic";
/// Number of samples after which acknowledgments are received, even if there is room.
const LISTEN_EVERY: u64 = 64;

fn qos() -> Qos {
    let mut qos = Qos::writer();
    qos.reliability = Reliability::Reliable;
    qos.history = History::KeepAll;
    qos
}

pub(crate) fn pump(options: &Options) -> Result<(), Failure> {
    let mut domain = open(options)?;
    let now = domain.now();
    let publication = Publication::<Octets>::create(domain.participant_mut(), now, TOPIC, qos());
    let mut publication = publication.ok_or_else(no_room)?;
    let end = end(&domain, options);
    let mut matched = 0;
    while matched == 0 && domain.now() < end {
        domain.step(domain.now() + LOOK)?;
        report(&mut domain, &mut matched);
    }
    let value = Octets { payload: vec![0; options.size] };
    let (start, mut sent) = (domain.now(), 0_u64);
    while domain.now() < end {
        for _ in 0..options.batch {
            let now = domain.now();
            match publication.publish(domain.participant_mut(), now, &value) {
                Ok(_) => sent += 1,
                Err(PublishError::Write(WriteError::Full)) => {
                    domain.step(now + Duration::from_ms(10))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        domain.flush()?;
        if sent % LISTEN_EVERY < u64::from(options.batch) {
            domain.step(domain.now())?;
            domain.participant_mut().discard_events(|_| false);
        }
    }
    rate("sent", sent, domain.now() - start);
    Ok(())
}

pub(crate) fn drain(options: &Options) -> Result<(), Failure> {
    let mut domain = open(options)?;
    let now = domain.now();
    let subscription = Subscription::<Octets>::create(domain.participant_mut(), now, TOPIC, qos());
    let subscription = subscription.ok_or_else(no_room)?;
    let end = end(&domain, options);
    let (mut first, mut last, mut received) = (None, domain.now(), 0_u64);
    while domain.now() < end {
        domain.step(end.min(domain.now() + LOOK))?;
        let now = domain.now();
        let participant = domain.participant_mut();
        while participant.take(now, subscription.id(), |_, _, _| ()).is_some() {
            received += 1;
            first.get_or_insert(now);
            last = now;
        }
        participant.discard_events(|_| false);
    }
    rate("received", received, last - first.unwrap_or(last));
    Ok(())
}

fn rate(what: &str, samples: u64, span: Duration) {
    let ms = u64::try_from(span.as_ns() / 1_000_000).unwrap_or(0);
    println!("{what} {samples}, {} per second", samples * 1_000 / ms.max(1));
}
