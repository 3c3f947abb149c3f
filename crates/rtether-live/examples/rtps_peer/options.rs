//! The command line, the same as that of the peers in `interop/`.

use std::net::Ipv4Addr;
use std::str::FromStr;

use rtether_rtps::qos::{Durability, History, Ownership, Qos, Reliability, Representation};
use rtether_rtps::time::Duration;

/// Mode of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Publish,
    Subscribe,
    Echo,
    Ping,
    /// Sends samples as fast as possible, `--batch` of them at a time.
    Pump,
    /// Receives and counts them.
    Drain,
}

/// How the instance ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Final {
    Nothing,
    Dispose,
    Unregister,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) verb: Verb,
    pub(crate) domain: u16,
    pub(crate) topic: String,
    pub(crate) color: String,
    pub(crate) qos: Qos,
    /// Content filter of a subscriber.
    pub(crate) content: Option<String>,
    pub(crate) period_ms: i64,
    pub(crate) count: u64,
    pub(crate) size: usize,
    pub(crate) at_end: Final,
    pub(crate) for_s: Option<i64>,
    pub(crate) multicast: bool,
    pub(crate) peers: Vec<Ipv4Addr>,
    pub(crate) interface: Option<Ipv4Addr>,
    /// Ethernet frames on a device instead of UDP.
    pub(crate) device: Option<String>,
    pub(crate) vlan: u16,
    pub(crate) waits: bool,
    pub(crate) spins: bool,
    pub(crate) loss: u16,
    pub(crate) batch: u32,
}

fn number<T: FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name} does not take `{text}`"))
}

fn ms(name: &str, text: &str) -> Result<Duration, String> {
    let ms: i64 = number(name, text)?;
    Ok(if ms == 0 { Duration::INFINITE } else { Duration::from_ms(ms) })
}

fn word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, meaning)| *meaning).ok_or(format!("{name} does not take `{text}`"))
}

impl Options {
    fn new(verb: Verb) -> Self {
        let mut qos = Qos::reader();
        qos.representations = vec![Representation::Xcdr1];
        Self {
            verb,
            domain: 0,
            topic: "Square".to_owned(),
            color: "BLUE".to_owned(),
            qos,
            content: None,
            period_ms: if verb == Verb::Publish { 100 } else { 0 },
            count: match verb {
                Verb::Publish => 10,
                Verb::Ping => 10_000,
                Verb::Subscribe | Verb::Echo | Verb::Pump | Verb::Drain => 0,
            },
            size: 0,
            at_end: Final::Nothing,
            for_s: (verb == Verb::Subscribe).then_some(10),
            multicast: true,
            peers: Vec::new(),
            interface: None,
            device: None,
            vlan: 0,
            waits: false,
            spins: false,
            loss: 0,
            batch: 1,
        }
    }

    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let verb = words.next().unwrap_or_default();
        let verbs = [
            ("pub", Verb::Publish),
            ("sub", Verb::Subscribe),
            ("echo", Verb::Echo),
            ("ping", Verb::Ping),
            ("pump", Verb::Pump),
            ("drain", Verb::Drain),
        ];
        let mut this = Self::new(word("the verb", &verb, &verbs)?);
        while let Some(name) = words.next() {
            match name.as_str() {
                "--reliable" => this.qos.reliability = Reliability::Reliable,
                "--wait-match" => this.waits = true,
                "--spin" => this.spins = true,
                _ => {
                    let value = words.next().ok_or(format!("{name} needs a value"))?;
                    this.set(&name, &value)?;
                }
            }
        }
        Ok(this)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "--domain" => self.domain = number(name, value)?,
            "--topic" => value.clone_into(&mut self.topic),
            "--color" => value.clone_into(&mut self.color),
            "--content" => self.content = Some(value.to_owned()),
            "--period" => self.period_ms = number(name, value)?,
            "--count" => self.count = number(name, value)?,
            "--size" => self.size = number(name, value)?,
            "--batch" => self.batch = number(name, value)?,
            "--loss" => self.loss = number(name, value)?,
            "--for" => self.for_s = Some(number(name, value)?),
            "--peer" => self.peers.push(number(name, value)?),
            "--device" => self.device = Some(value.to_owned()),
            "--vlan" => self.vlan = number(name, value)?,
            "--interface" => self.interface = Some(number(name, value)?),
            "--multicast" => {
                self.multicast = word(name, value, &[("yes", true), ("no", false)])?;
            }
            "--final" => {
                let ends = [
                    ("none", Final::Nothing),
                    ("dispose", Final::Dispose),
                    ("unregister", Final::Unregister),
                ];
                self.at_end = word(name, value, &ends)?;
            }
            // Samples have their own size.
            "--datagram" => {}
            _ => self.set_policy(name, value)?,
        }
        Ok(())
    }

    fn set_policy(&mut self, name: &str, value: &str) -> Result<(), String> {
        let qos = &mut self.qos;
        match name {
            "--durability" => {
                let kinds = [
                    ("volatile", Durability::Volatile),
                    ("transient-local", Durability::TransientLocal),
                ];
                qos.durability = word(name, value, &kinds)?;
            }
            "--depth" => {
                qos.history = match number(name, value)? {
                    0 => History::KeepAll,
                    depth => History::KeepLast(depth),
                }
            }
            "--deadline" => qos.deadline = ms(name, value)?,
            "--strength" => {
                qos.strength = number(name, value)?;
                qos.ownership = Ownership::Exclusive;
            }
            "--partition" => qos.partitions.push(value.to_owned()),
            "--filter" => qos.time_based_filter = Duration::from_ms(number(name, value)?),
            "--dscp" => qos.transport_priority = number(name, value)?,
            "--lifespan" => qos.lifespan = ms(name, value)?,
            "--xcdr" => {
                let kinds = [("1", Representation::Xcdr1), ("2", Representation::Xcdr2)];
                qos.representations = vec![word(name, value, &kinds)?];
            }
            _ => return Err(format!("there is no option {name}")),
        }
        Ok(())
    }
}
