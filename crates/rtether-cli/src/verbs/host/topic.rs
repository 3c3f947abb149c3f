//! What `pub` and `sub` share: a topic, its policies and its output.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use rtether::report::format::Format;
use rtether_testbed::topics::{
    Durability, History, Lines, Qos, Reliability, Representation, Said, Summary, TopicOptions,
    TopicType, Trace, span,
};
use rtether_testbed::{Duration, LiveError};

use super::awake;
use super::confine::ConfineArgs;
use super::domain::{DomainArgs, FrameArgs, end_trace, participant_of, tell};
use super::quantity::positive;
use super::socket::{ThreadArgs, refuse, thread_of};
use super::stop::Stop;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::number;
use crate::stop::Care;
use crate::terminal;

/// A topic, its policies, and how many of its samples.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct TopicArgs {
    /// Name of the topic
    pub(crate) topic: String,
    /// Type of its samples: shape, octets or ping; with --idl a structure of the file; of `sub` also
    /// `announced`, the one that its endpoints describe [default: shape, or the last structure of
    /// the file; of `sub /TOPIC` announced]
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "msg")]
    pub(crate) kind: Option<String>,
    /// File of OMG IDL with the type
    #[arg(long, value_name = "FILE", group = "described")]
    pub(crate) idl: Option<PathBuf>,
    /// Message of ROS 2: a file, or a name such as `std_msgs/msg/String`; a topic `/name` is then
    /// that of ROS, `rt/name`
    #[arg(long, value_name = "MESSAGE", group = "described")]
    pub(crate) msg: Option<String>,
    /// Folder with packages of messages, beside that of the file and those of `AMENT_PREFIX_PATH`;
    /// repeatable
    #[arg(long, value_name = "FOLDER", requires = "msg")]
    pub(crate) msg_path: Vec<PathBuf>,
    /// Retransmit lost samples
    #[arg(long)]
    pub(crate) reliable: bool,
    /// Samples that late readers receive
    #[arg(long, value_name = "KIND", default_value = "volatile")]
    pub(crate) durability: DurabilityName,
    /// Samples kept per instance; 0 for all
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::within(0..=u32::MAX))]
    pub(crate) depth: u32,
    /// Longest time between samples of an instance, offered or requested [default: none]
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub(crate) deadline: Option<Duration>,
    /// Name or pattern of a partition; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) partition: Vec<String>,
    /// Encoding of samples [default: 1 for writers; readers accept both]
    #[arg(long, value_name = "VERSION")]
    pub(crate) xcdr: Option<Xcdr>,
    /// Number of samples before it ends [default: no limit]
    #[arg(short = 'n', long, value_name = "N", value_parser = number::within(1_u64..=u64::MAX))]
    pub(crate) count: Option<u64>,
    /// Duration [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = positive)]
    pub(crate) duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    #[command(flatten)]
    pub(crate) thread: ThreadArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Print the summary only
    #[arg(short, long, conflicts_with = "csv")]
    pub(crate) quiet: bool,
}

/// Samples that late readers receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityName {
    /// None.
    Volatile,
    /// Those that the writer still keeps.
    TransientLocal,
}

impl From<DurabilityName> for Durability {
    fn from(name: DurabilityName) -> Self {
        match name {
            DurabilityName::Volatile => Self::Volatile,
            DurabilityName::TransientLocal => Self::TransientLocal,
        }
    }
}

/// Encoding of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Xcdr {
    /// XCDR1, which all implementations know.
    #[value(name = "1")]
    One,
    /// XCDR2.
    #[value(name = "2")]
    Two,
}

impl From<Xcdr> for Representation {
    fn from(xcdr: Xcdr) -> Self {
        match xcdr {
            Xcdr::One => Self::Xcdr1,
            Xcdr::Two => Self::Xcdr2,
        }
    }
}

pub(super) fn qos(topic: &TopicArgs, representations: Vec<Representation>) -> Qos {
    let mut qos = Qos::reader();
    if topic.reliable {
        qos.reliability = Reliability::Reliable;
    }
    qos.durability = topic.durability.into();
    qos.history = match topic.depth {
        0 => History::KeepAll,
        depth => History::KeepLast(depth),
    };
    if let Some(deadline) = topic.deadline {
        qos.deadline = span(deadline);
    }
    qos.partitions.clone_from(&topic.partition);
    qos.representations = representations;
    qos
}

/// Returns the name of the topic in discovery: of ROS topics with its prefix.
pub(super) fn on_the_wire(topic: &TopicArgs) -> String {
    if (topic.msg.is_some() || is_announced(topic)) && topic.topic.starts_with('/') {
        return format!("rt{}", topic.topic);
    }
    topic.topic.clone()
}

/// Word for the type that endpoints of the topic describe.
const ANNOUNCED: &str = "announced";

/// Returns whether the type of a topic is to be found out: no other is named, and topics of ROS have
/// no usual one.
pub(super) fn is_announced(topic: &TopicArgs) -> bool {
    let is_open = topic.kind.is_none() && topic.idl.is_none() && topic.msg.is_none();
    topic.kind.as_deref() == Some(ANNOUNCED) || is_open && topic.topic.starts_with('/')
}

pub(super) fn options(
    topic: &TopicArgs,
    kind: TopicType,
    qos: Qos,
    trace: Option<Trace>,
) -> TopicOptions {
    TopicOptions {
        participant: participant_of(&topic.domain, &topic.frames, trace),
        thread: thread_of(&topic.thread),
        topic: on_the_wire(topic),
        kind,
        qos,
        count: topic.count,
        duration: topic.duration,
    }
}

/// Standard output as lines written at once.
struct Out<'a> {
    lines: Lines,
    is_quiet: bool,
    /// Set once the reader is gone.
    stop: &'a AtomicBool,
    failed: Option<io::Error>,
}

impl Out<'_> {
    fn write(&mut self, text: &str) {
        if self.failed.is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        let written = written.and_then(|()| terminal::is_open());
        if let Err(error) = written {
            self.failed = Some(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn say(&mut self, said: Said<'_>) {
        match said {
            Said::Sample(sample) if !self.is_quiet => self.write(&self.lines.sample(sample)),
            Said::Sample(_) => {}
            Said::Happening(happening) => tell(happening),
        }
    }

    fn sum_up(&mut self, summary: &Summary) {
        let text = self.lines.summary(summary);
        // CSV rows are all alike, so the summary goes to standard error.
        if self.lines.format == Format::Csv {
            terminal::tell(&text);
        } else {
            self.write(&text);
        }
    }
}

/// Runs `pub` or `sub`, printing samples and a summary.
pub(super) fn run_topic(
    topic: &TopicArgs,
    options: &TopicOptions,
    work: impl FnOnce(&AtomicBool, &mut dyn FnMut(Said<'_>)) -> Result<Summary, LiveError>,
) -> Exit {
    let stop = Stop::new(Care::None);
    awake::keep(topic.thread.awake);
    let lines = Lines { format: topic.format.format(), kind: options.kind.clone() };
    let mut head = lines.head().filter(|_| !topic.quiet);
    let mut out = Out { lines, is_quiet: topic.quiet, stop: &stop, failed: None };
    let summary = work(&stop, &mut |said| {
        // The header waits until the participant is known to exist.
        if let Some(head) = head.take() {
            out.write(&head);
        }
        out.say(said);
    });
    end_trace(&options.participant);
    let summary = match summary {
        Ok(summary) => summary,
        Err(error) => return refuse(&error),
    };
    out.sum_up(&summary);
    match out.failed {
        // A reader that stops early is not an error.
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Ok,
        Some(error) => return terminal::fail(&format!("writing to standard output: {error}")),
        None => {}
    }
    conclude(&summary, stop.load(Ordering::Relaxed))
}

fn conclude(summary: &Summary, is_interrupted: bool) -> Exit {
    if is_interrupted {
        return Exit::Interrupted;
    }
    if let Some(why) = &summary.ended {
        return terminal::fail(&format!("it ended early: {why}"));
    }
    summary.conclusion().into()
}
