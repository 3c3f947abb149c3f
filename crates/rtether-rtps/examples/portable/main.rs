//! Publishes or subscribes with nothing but this crate and the sockets of the standard library, so
//! on any system that has them (R152).
//!
//! ```sh
//! cargo run -p rtether-rtps --example portable -- sub
//! cargo run -p rtether-rtps --example portable -- pub
//! ```
//! A further argument names the address and the network, `192.0.2.7/24`; without one, 127.0.0.1/8.
#![allow(clippy::print_stdout, reason = "an example for the terminal")]

mod host;

use std::error::Error;
use std::net::Ipv4Addr;

use host::Host;
use rtether_rtps::cdr::Data;
use rtether_rtps::qos::{Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::typed::{Publication, Subscription};

/// What is published.
#[derive(Clone, Debug, Default, PartialEq, Data)]
#[rtps(final)]
struct Count {
    number: u32,
}

const TOPIC: &str = "portable";
/// Time between samples.
const PERIOD: Duration = Duration::from_ms(100);
const SAMPLES: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let at = arguments.get(1).map_or("127.0.0.1/8", String::as_str);
    let (address, bits) = at.split_once('/').ok_or("an address is 192.0.2.7/24")?;
    let address: Ipv4Addr = address.parse()?;
    let bits: u8 = bits.parse()?;
    let name = arguments.first().map_or("", String::as_str);
    let host = Host::open(0, address, bits, name)?;
    match name {
        "pub" => publish(host),
        "sub" => subscribe(host),
        _ => Err("`pub` or `sub`, and an address".into()),
    }
}

fn publish(mut host: Host) -> Result<(), Box<dyn Error>> {
    let now = host.now();
    let publication =
        Publication::<Count>::create(host.participant_mut(), now, TOPIC, Qos::writer());
    let mut publication = publication.ok_or("no room for a publication")?;
    for number in 1..=SAMPLES {
        let next = host.now() + PERIOD;
        while host.now() < next {
            host.step(next);
        }
        let now = host.now();
        publication.publish(host.participant_mut(), now, &Count { number })?;
        println!("{number} to {}", host.participant_mut().readers_of(publication.id()));
    }
    Ok(())
}

fn subscribe(mut host: Host) -> Result<(), Box<dyn Error>> {
    let now = host.now();
    let reliable = Qos { reliability: Reliability::Reliable, ..Qos::reader() };
    let subscription = Subscription::<Count>::create(host.participant_mut(), now, TOPIC, reliable);
    let mut subscription = subscription.ok_or("no room for a subscription")?;
    loop {
        let until = host.now() + PERIOD;
        host.step(until);
        let now = host.now();
        while let Some(received) = subscription.take(host.participant_mut(), now) {
            let Some(value) = received.value else {
                continue;
            };
            println!("{} ({} dropped)", value.number, host.dropped());
            if value.number == SAMPLES {
                return Ok(());
            }
        }
    }
}
