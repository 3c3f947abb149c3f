//! Skeletons of a publisher and a subscriber, after figures 5 and 6 of Dolejs et al. (R147).
//!
//! ```sh
//! cargo run -p rtether-live --example skeleton -- subscriber
//! cargo run -p rtether-live --example skeleton -- publisher
//! ```
//! Further arguments: number of seconds, domain, address.
#![allow(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;

use rtether_live::rtps::{DomainApplication, DomainOptions};
use rtether_rtps::application::{Notice, PublicationOptions, SubscriptionOptions};
use rtether_rtps::cdr::Data;
use rtether_rtps::time::Duration;

/// The type that the figures register by hand: name, encoding and maximum size follow from this
/// definition.
#[derive(Clone, Debug, Default, Data)]
#[rtps(final)]
struct HelloMsg {
    #[rtps(max = 64)]
    text: String,
}

/// Figure 5: a publication that asks for its instance every 10 ms.
fn publisher(options: &DomainOptions, time: Duration) -> Result<(), Box<dyn Error>> {
    let mut application = DomainApplication::open(options)?;
    let mut context = application.context();
    let properties = PublicationOptions {
        strength: Some(1),
        persistence: Duration::from_ms(30),
        ..PublicationOptions::default()
    };
    let publication = context.publish::<HelloMsg>("Example HelloMsg", &properties)?;
    let mut count = 0;
    context.send_every(
        &publication,
        Duration::from_ms(10),
        HelloMsg::default(),
        move |_, instance| {
            count += 1;
            instance.text = format!("Hello {count}");
            true
        },
    );
    application.run_for(time)?;
    let counters = application.context().publication_counters(&publication);
    println!("{} sent", counters.sent);
    Ok(())
}

/// Figure 6: a subscription with a callback for each issue, and for missed deadlines.
fn subscriber(options: &DomainOptions, time: Duration) -> Result<(), Box<dyn Error>> {
    let mut application = DomainApplication::open(options)?;
    let mut context = application.context();
    let properties = SubscriptionOptions {
        strongest_only: true,
        deadline: Duration::from_ms(100),
        minimum_separation: Duration::ZERO,
        ..SubscriptionOptions::default()
    };
    let subscription = context.subscribe::<HelloMsg>(
        "Example HelloMsg",
        &properties,
        |_, notice| match notice {
            Notice::Sample(received) => {
                if let Some(instance) = received.value {
                    println!("{}", instance.text);
                }
            }
            Notice::DeadlineMissed { .. } => println!("deadline"),
            Notice::Matched { .. } => println!("a publication is there"),
            Notice::Unmatched { .. } => println!("a publication is gone"),
            Notice::Incompatible { policies, .. } => {
                for policy in policies {
                    println!("no match: {policy}");
                }
            }
            Notice::Silent { .. } => println!("a publication is silent"),
            Notice::Lost { samples } => println!("{samples} lost"),
        },
    )?;
    application.run_for(time)?;
    drop(subscription);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let role = arguments.next().unwrap_or_default();
    let seconds = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let domain = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let address = arguments.next().map(|text| text.parse()).transpose()?;
    let options = DomainOptions { domain, interface: address, ..DomainOptions::default() };
    let time = Duration::from_s(seconds);
    match role.as_str() {
        "publisher" => publisher(&options, time),
        "subscriber" => subscriber(&options, time),
        _ => Err("which one: publisher or subscriber?".into()),
    }
}
