//! `pub`, `sub` and `spy`: topics over RTPS.

mod types;

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_testbed::topics::{
    self, EthernetOptions, Form, Happening, History, Kind, Lines, Ownership, Place, PublishOptions,
    Qos, Reliability, Representation, Said, SpyOptions, Summary, TopicOptions, Trace, span,
};
use rtether_testbed::{LiveError, Vid};

use crate::args::{DomainArgs, FrameArgs, Global, PubArgs, SpyArgs, SubArgs, TopicArgs};
use crate::drafts;
use crate::exit::{self, Exit};
use crate::ping::{refuse, thread_of};
use crate::stop::{Care, Stop};
use crate::{awake, confine, terminal};

/// Runs `pub`.
pub(crate) fn publish(arguments: &PubArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let topic = &arguments.topic;
    let prepared = types::kind(topic).and_then(|kind| {
        let values = types::values(arguments, &kind)?;
        Ok((kind, values, tracing(&topic.domain)?))
    });
    let (kind, values, trace) = match prepared {
        Ok(prepared) => prepared,
        Err(exit) => return exit,
    };
    let mut qos = qos(
        topic,
        vec![topic.xcdr.map(Representation::from).unwrap_or_default()],
    );
    if let Some(strength) = arguments.strength {
        qos.ownership = Ownership::Exclusive;
        qos.strength = strength;
    }
    if let Some(lifespan) = arguments.lifespan {
        qos.lifespan = span(lifespan);
    }
    qos.transport_priority = arguments.dscp.into();
    let mut topic_options = options(topic, kind, qos, trace);
    topic_options.place.confinement = match confine::wished(&topic.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let options = PublishOptions {
        topic: topic_options,
        period: arguments.period,
        size: arguments.size,
        linger: arguments.linger,
        color: arguments.shape_color.clone(),
    };
    run(topic, &options.topic, |stop, on| {
        topics::publish(&options, values, stop, on)
    })
}

/// Runs `sub`.
pub(crate) fn subscribe(arguments: &SubArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let topic = &arguments.topic;
    let prepared = types::kind(topic).and_then(|kind| Ok((kind, tracing(&topic.domain)?)));
    let (kind, trace) = match prepared {
        Ok(prepared) => prepared,
        Err(exit) => return exit,
    };
    let encodings = match topic.xcdr {
        Some(xcdr) => vec![xcdr.into()],
        None => vec![Representation::Xcdr1, Representation::Xcdr2],
    };
    let mut qos = qos(topic, encodings);
    if arguments.exclusive {
        qos.ownership = Ownership::Exclusive;
    }
    qos.time_based_filter = span(arguments.filter);
    let mut options = options(topic, kind, qos, trace);
    options.place.confinement = match confine::wished(&topic.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    run(topic, &options, |stop, on| {
        topics::subscribe(&options, stop, on)
    })
}

fn qos(topic: &TopicArgs, representations: Vec<Representation>) -> Qos {
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

fn options(topic: &TopicArgs, kind: Kind, qos: Qos, trace: Option<Trace>) -> TopicOptions {
    TopicOptions {
        place: place_of(&topic.domain, &topic.frames, trace),
        thread: thread_of(&topic.thread),
        topic: topic.topic.clone(),
        kind,
        qos,
        count: topic.count,
        duration: topic.duration,
    }
}

fn place_of(domain: &DomainArgs, frames: &FrameArgs, trace: Option<Trace>) -> Place {
    place(domain, frames.device.as_deref(), frames.vlan, trace)
}

/// Creates the file of a trace, if one is requested.
pub(crate) fn tracing(domain: &DomainArgs) -> Result<Option<Trace>, Exit> {
    let made = domain.trace.as_deref().map(|path| {
        let file = drafts::overwrite(path).map_err(|message| exit::fail(&message))?;
        Trace::begin_in(file)
            .map_err(|error| exit::fail(&format!("writing a trace to {}: {error}", path.display())))
    });
    made.transpose()
}

/// Finishes a trace, once its participant is gone, and reports its outcome.
pub(crate) fn end_trace(place: &Place) {
    let Some(trace) = &place.trace else { return };
    let traced = trace.finish();
    let count = traced.datagrams;
    terminal::tell(&match (traced.ended, traced.missing) {
        (None, 0) => format!("{count} datagrams in the trace"),
        (None, missing) => format!("{count} datagrams in the trace, {missing} did not fit a frame"),
        (Some(why), missing) => format!(
            "the trace ended after {count} datagrams, the last {missing} are missing: {why}"
        ),
    });
}

/// Returns the place of the participant.
pub(crate) fn place(
    domain: &DomainArgs,
    device: Option<&str>,
    vlan: Option<Vid>,
    trace: Option<Trace>,
) -> Place {
    let ethernet = device.map(|device| EthernetOptions {
        ethertype: domain.ethertype,
        vlan: vlan.map_or(0, Vid::get),
        ..EthernetOptions::on(device)
    });
    Place {
        ethernet,
        domain: domain.domain,
        interface: domain.interface,
        peers: domain.peer.clone(),
        multicast: !domain.no_multicast,
        any_source: domain.any_source,
        trace,
        confinement: None,
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
        match self.lines.form {
            // CSV rows are all alike, so the summary goes to standard error.
            Form::Csv => terminal::tell(&text),
            Form::Table | Form::Json => self.write(&text),
        }
    }
}

fn run(
    topic: &TopicArgs,
    options: &TopicOptions,
    work: impl FnOnce(&AtomicBool, &mut dyn FnMut(Said<'_>)) -> Result<Summary, LiveError>,
) -> Exit {
    let stop = Stop::new(Care::None);
    awake::keep(topic.thread.awake);
    let form = match (topic.json, topic.csv) {
        (true, _) => Form::Json,
        (_, true) => Form::Csv,
        _ => Form::Table,
    };
    let lines = Lines {
        form,
        kind: options.kind.clone(),
    };
    let mut head = lines.head().filter(|_| !topic.quiet);
    let mut out = Out {
        lines,
        is_quiet: topic.quiet,
        stop: &stop,
        failed: None,
    };
    let summary = work(&stop, &mut |said| {
        // The header waits until the participant is known to exist.
        if let Some(head) = head.take() {
            out.write(&head);
        }
        out.say(said);
    });
    end_trace(&options.place);
    let summary = match summary {
        Ok(summary) => summary,
        Err(error) => return refuse(&error),
    };
    out.sum_up(&summary);
    match out.failed {
        // A reader that stops early is not an error.
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Ok,
        Some(error) => return exit::fail(&format!("writing to standard output: {error}")),
        None => {}
    }
    conclude(topic, &summary, stop.load(Ordering::Relaxed))
}

fn conclude(topic: &TopicArgs, summary: &Summary, is_interrupted: bool) -> Exit {
    if is_interrupted {
        return Exit::Interrupted;
    }
    if let Some(why) = &summary.ended {
        return exit::fail(&format!("it ended early: {why}"));
    }
    let is_short = !summary.is_writer && topic.count.is_some_and(|count| summary.samples < count);
    if summary.samples == 0 || summary.is_writer && summary.matched == 0 {
        Exit::NoAnswer
    } else if summary.deadlines_missed > 0 || summary.unacknowledged > 0 || is_short {
        Exit::Failed
    } else {
        Exit::Ok
    }
}

/// Runs `spy`.
pub(crate) fn spy(arguments: &SpyArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let stop = Stop::new(Care::None);
    let trace = match tracing(&arguments.domain) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let confinement = match confine::wished(&arguments.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    let options = SpyOptions {
        place: Place {
            confinement,
            ..place_of(&arguments.domain, &arguments.frames, trace)
        },
        duration: arguments.duration,
        rates: arguments.rates,
    };
    let census = topics::spy(&options, &stop, tell);
    end_trace(&options.place);
    let census = match census {
        Ok(census) => census,
        Err(error) => return refuse(&error),
    };
    let printed = terminal::print(&if arguments.json {
        topics::census_json(&census)
    } else if arguments.csv {
        topics::census_csv(&census)
    } else {
        topics::census_table(&census)
    });
    if printed != Exit::Ok {
        printed
    } else if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else if let Some(why) = &census.ended {
        exit::fail(&format!("it ended early: {why}"))
    } else if census.participants.is_empty() {
        Exit::NoAnswer
    } else if !census.apart.is_empty() {
        Exit::Failed
    } else {
        Exit::Ok
    }
}

fn tell(happening: &Happening) {
    let head = if happening.is_warning() {
        "warning: "
    } else {
        ""
    };
    terminal::tell(&format!("{head}{happening}"));
}
