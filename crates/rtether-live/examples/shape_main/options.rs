//! The command line.

use std::path::PathBuf;

use rtether_rtps::qos::{Qos, Reliability};
use rtether_rtps::time::Duration;

use super::policies::{self, ms, number, word};

pub(crate) const USAGE: &str = "\
usage: shape_main -P|-S -t TOPIC [options]

  -P, -S                     publish, subscribe
  -t NAME                    topic
  -d N                       domain (0)
  -b, -r                     best effort, reliable (reliable)
  -k N                       history: the last N samples, 0 for all (1)
  -f MS                      deadline (0: none)
  -s N                       strength of exclusive ownership (-1: shared)
  -c COLOR                   color to publish (BLUE), or to filter for
  -p NAME                    partition
  -D v|l|t|p                 durability: volatile, transient local, transient, persistent (v)
  --store FOLDER             where transient and persistent samples outlive their writer
  -x 1|2                     data representation: XCDR1 or XCDR2 (1)
  -w                         show what is published
  -z N                       size of the shape; 0: grows from 1 (20)
  -R                         read instead of take
  -v e|d                     verbosity
  --size-modulo N            with -z 0: size from 1 to N and again from 1
  --write-period MS          between samples (33)
  --read-period MS           between looks for samples (100)
  --time-filter MS           minimum separation (0)
  --lifespan MS              lifespan (0: unlimited)
  --num-iterations N         rounds until the end (0: no end)
  --num-instances N          colors to publish: COLOR, COLOR1, ... (1)
  --num-topics N             topics: NAME, NAME1, ... (1)
  --final-instance-state u|d unregister or dispose at the end
  --access-scope i|t|g       scope of presentation: instance, topic, group (i)
  --ordered, --coherent      ordered access, coherent sets
  --coherent-sample-count N  rounds of a coherent set (0: no sets)
  --additional-payload-size N octets of payload (0)
  --take-read                take all at once, not instance by instance
  --periodic-announcement MS between announcements of the participant
  --datafrag-size N          octets of a fragment
  --cft EXPRESSION           content filter
  -h, --help                 this text";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Publish,
    Subscribe,
}

/// How the instances end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Final {
    Unregister,
    Dispose,
}

pub(crate) enum Command {
    Help,
    Run(Box<Options>),
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) role: Role,
    pub(crate) domain: u16,
    pub(crate) topic: String,
    pub(crate) qos: Qos,
    pub(crate) color: Option<String>,
    pub(crate) filter: Option<String>,
    /// Whether the publisher prints its samples.
    pub(crate) shows: bool,
    pub(crate) size: i32,
    pub(crate) size_modulo: Option<i32>,
    /// Whether samples are read without being taken.
    pub(crate) reads: bool,
    pub(crate) write_period: Duration,
    pub(crate) read_period: Duration,
    pub(crate) rounds: Option<u64>,
    pub(crate) instances: u32,
    pub(crate) topics: u32,
    pub(crate) at_end: Option<Final>,
    /// Rounds of a coherent set; 0 forms none.
    pub(crate) set_rounds: u64,
    pub(crate) payload: usize,
    pub(crate) takes_all: bool,
    pub(crate) announce_period: Option<Duration>,
    pub(crate) fragment: Option<usize>,
    /// Folder of the stores, if not the default.
    pub(crate) store: Option<PathBuf>,
}

impl Options {
    fn new() -> Self {
        Self {
            role: Role::Publish,
            domain: 0,
            topic: String::new(),
            qos: policies::usual(),
            color: None,
            filter: None,
            shows: false,
            size: 20,
            size_modulo: None,
            reads: false,
            write_period: Duration::from_ms(33),
            read_period: Duration::from_ms(100),
            rounds: None,
            instances: 1,
            topics: 1,
            at_end: None,
            set_rounds: 0,
            payload: 0,
            takes_all: false,
            announce_period: None,
            fragment: None,
            store: None,
        }
    }

    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Command, String> {
        let mut this = Self::new();
        let mut roles = Vec::new();
        while let Some(name) = words.next() {
            match name.as_str() {
                "-h" | "--help" => return Ok(Command::Help),
                "-P" => roles.push(Role::Publish),
                "-S" => roles.push(Role::Subscribe),
                "-b" => this.qos.reliability = Reliability::BestEffort,
                "-r" => this.qos.reliability = Reliability::Reliable,
                "-w" => this.shows = true,
                "-R" => this.reads = true,
                "--take-read" => this.takes_all = true,
                "--ordered" => this.qos.presentation.is_ordered = true,
                "--coherent" => this.qos.presentation.is_coherent = true,
                _ => {
                    let text = words.next().ok_or(format!("{name} needs a value"))?;
                    if !policies::set(&mut this.qos, &name, &text)? {
                        this.set(&name, &text)?;
                    }
                }
            }
        }
        let [role] = roles[..] else {
            return Err("give either -P or -S".to_owned());
        };
        this.role = role;
        this.check()?;
        Ok(Command::Run(Box::new(this)))
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        match name {
            "-t" => text.clone_into(&mut self.topic),
            "-d" => self.domain = number(name, text)?,
            "-c" => self.color = Some(text.to_owned()),
            "--store" => self.store = Some(PathBuf::from(text)),
            "--cft" => self.filter = Some(text.to_owned()),
            "-z" => self.size = number(name, text)?,
            "--size-modulo" => {
                self.size_modulo = Some(number(name, text)?).filter(|modulo| *modulo > 0);
            }
            "-v" => drop(word(name, text, &[("e", ()), ("d", ())])?),
            "--write-period" => self.write_period = ms(name, text)?,
            "--read-period" => self.read_period = ms(name, text)?,
            "--num-iterations" => self.rounds = Some(number(name, text)?).filter(|n| *n > 0),
            "--num-instances" => self.instances = number(name, text)?,
            "--num-topics" => self.topics = number(name, text)?,
            "--final-instance-state" => {
                let ends = [("u", Final::Unregister), ("d", Final::Dispose)];
                self.at_end = Some(word(name, text, &ends)?);
            }
            "--coherent-sample-count" => self.set_rounds = number(name, text)?,
            "--additional-payload-size" => self.payload = number(name, text)?,
            "--periodic-announcement" => {
                let period = ms(name, text)?;
                self.announce_period = Some(period).filter(|period| *period > Duration::ZERO);
            }
            "--datafrag-size" => {
                let size = usize::from(number::<u16>(name, text)?);
                self.fragment = Some(size).filter(|size| *size > 0);
            }
            _ => return Err(format!("there is no option {name}")),
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        if self.topic.is_empty() {
            return Err("-t needs the name of a topic".to_owned());
        }
        if self.size < 0 {
            return Err("-z is not below 0".to_owned());
        }
        if self.instances == 0 || self.topics == 0 {
            return Err("there is at least one instance and one topic".to_owned());
        }
        if self.role == Role::Subscribe && self.color.is_some() && self.filter.is_some() {
            return Err("-c of a subscriber is a filter, which excludes --cft".to_owned());
        }
        policies::settle(&mut self.qos.presentation);
        match self.role {
            Role::Publish => self.qos.time_based_filter = Duration::ZERO,
            Role::Subscribe => self.qos.lifespan = Duration::INFINITE,
        }
        Ok(())
    }

    /// Returns a requested feature that is not supported, so that no run pretends to support it.
    pub(crate) fn lacking(&self) -> Option<&'static str> {
        if self.reads {
            return Some("reading without taking");
        }
        None
    }

    /// Returns whether rounds are written as coherent sets.
    pub(crate) fn forms_sets(&self) -> bool {
        self.qos.presentation.is_coherent && self.set_rounds > 0
    }

    /// Returns the names of the topics.
    pub(crate) fn topics(&self) -> impl Iterator<Item = String> {
        numbered(&self.topic, self.topics)
    }

    /// Returns the colors to publish.
    pub(crate) fn colors(&self) -> impl Iterator<Item = String> {
        numbered(self.color.as_deref().unwrap_or("BLUE"), self.instances)
    }
}

fn numbered(name: &str, count: u32) -> impl Iterator<Item = String> {
    (0..count).map(move |number| match number {
        0 => name.to_owned(),
        _ => format!("{name}{number}"),
    })
}
