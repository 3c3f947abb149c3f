//! `ping` and `echo`: round trips on this host.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration as WallDuration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rtether::meter::{self, Measurement};
use rtether_testbed::topics::{Place, Trace};
use rtether_testbed::{
    self, BitRate, Board, Command, Config, Duration, EchoOptions, Event, Interval, LiveError,
    Marks, PingOptions, Placement, Profile, Thread, Waiting,
};

use crate::args::{DomainArgs, EchoArgs, Global, PingArgs, SocketArgs, ThreadArgs, Way};
use crate::exit::{self, Exit};
use crate::stop::{Care, Stop};
use crate::topic::{end_trace, place, tracing};
use crate::{awake, confine, files, terminal};

/// Interval of progress updates.
const REFRESH: WallDuration = WallDuration::from_millis(100);

/// Runs `ping`.
pub(crate) fn ping(arguments: &PingArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let mut options = match options(arguments) {
        Ok(options) => options,
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    options.place.trace = match trace(&arguments.domain, arguments.via) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let stop = Stop::new(Care::None);
    awake::keep(arguments.socket.thread.awake);
    let measurement = measure(&options, arguments.valentim, &stop, global);
    end_trace(&options.place);
    let measurement = match measurement {
        Ok(measurement) => measurement,
        Err(error) => return refuse(&error),
    };
    if let Err(message) = write_files(arguments, &measurement) {
        return exit::fail(&message);
    }
    let text = if arguments.json {
        meter::json(&measurement)
    } else if arguments.csv {
        meter::csv(&measurement)
    } else {
        meter::table(&measurement)
    };
    let printed = terminal::print(&text);
    if printed != Exit::Ok {
        return printed;
    }
    conclude(&measurement, stop.load(Ordering::Relaxed))
}

fn conclude(measurement: &Measurement, is_interrupted: bool) -> Exit {
    if is_interrupted {
        return Exit::Interrupted;
    }
    if let Some(why) = &measurement.ended {
        return exit::fail(&format!("the measurement ended early: {why}"));
    }
    let misses = measurement.misses().map_or(0, |(misses, ..)| misses);
    if measurement.counters.answered == 0 {
        Exit::NoAnswer
    } else if misses + measurement.counters.lost > 0 {
        Exit::Failed
    } else {
        Exit::Ok
    }
}

fn options(arguments: &PingArgs) -> Result<PingOptions, String> {
    let interval = if arguments.interval == Duration::ZERO {
        Interval::Adaptive
    } else {
        Interval::Fixed(arguments.interval)
    };
    Ok(PingOptions {
        target: target(arguments)?,
        via: arguments.via.into(),
        device: arguments.socket.device.clone(),
        config: Config {
            series: arguments.series,
            samples: arguments.count,
            interval,
            pause: arguments.pause,
            timeout: arguments.timeout,
        },
        payload: arguments.size,
        place: place_of(&arguments.domain, &arguments.socket),
        marks: marks(&arguments.socket),
        thread: thread_of(&arguments.socket.thread),
        deadline: arguments.deadline,
        command: command(&arguments.command)?,
        profile: profile(arguments.numbered),
        stamps: arguments.stamps,
        one_way: arguments.one_way,
        is_same_host: arguments.same_host,
    })
}

/// Returns the target, which every way except topics needs.
fn target(arguments: &PingArgs) -> Result<String, String> {
    match (&arguments.target, arguments.via) {
        (Some(target), Way::Rtps) => Err(format!(
            "`{target}` is not a target for `--via rtps`: every `rtether echo --via rtps` in the \
             domain answers; `--peer {target}` names a host that multicast does not reach"
        )),
        (None, Way::Rtps) => Ok(String::new()),
        (Some(target), _) => Ok(target.clone()),
        (None, _) => Err("a target is missing: name the host that runs `rtether echo`".to_owned()),
    }
}

fn place_of(domain: &DomainArgs, socket: &SocketArgs) -> Place {
    // The trace is started once everything else has been checked.
    place(domain, socket.device.as_deref(), socket.vlan, None)
}

/// Starts a trace, which only topics have.
fn trace(domain: &DomainArgs, via: Way) -> Result<Option<Trace>, Exit> {
    if domain.trace.is_some() && via != Way::Rtps {
        let message = "`--trace` is of `--via rtps`; for other ways use `tcpdump` or Wireshark";
        terminal::complain(message);
        return Err(Exit::WrongInput);
    }
    tracing(domain)
}

fn marks(socket: &SocketArgs) -> Marks {
    Marks {
        dscp: socket.dscp,
        pcp: socket.pcp,
        vid: socket.vlan,
    }
}

/// Returns the placement and waiting of the thread.
pub(crate) fn thread_of(wishes: &ThreadArgs) -> Thread {
    Thread {
        placement: Placement {
            core: wishes.core,
            priority: wishes.priority,
            lock_memory: wishes.priority.is_some(),
        },
        waiting: if wishes.spin {
            Waiting::Spin
        } else {
            Waiting::Block
        },
        awake: wishes.awake,
    }
}

fn profile(has_sequence: bool) -> Profile {
    Profile {
        has_sequence,
        ..Profile::DEFAULT
    }
}

/// Parses `test`, `get:ID` or `set:ID:HEX`.
fn command(text: &str) -> Result<Command, String> {
    let wrong = || format!("`{text}` is no CNDEP command; write test, get:ID or set:ID:HEX");
    let mut parts = text.split(':');
    let (name, id, value) = (parts.next(), parts.next(), parts.next());
    let id = id.map(|id| id.parse::<u8>().map_err(|_| wrong()));
    match (name, id.transpose()?, value, parts.next()) {
        (Some("test"), None, None, None) => Ok(Command::Test),
        (Some("get"), Some(id), None, None) => Ok(Command::Get(id)),
        (Some("set"), Some(id), Some(value), None) => {
            Ok(Command::Set(id, hex(value).ok_or_else(wrong)?))
        }
        _ => Err(wrong()),
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect()
}

/// Measures in a separate thread, to which a real-time priority is confined, and shows progress.
fn measure(
    options: &PingOptions,
    valentim: Option<BitRate>,
    stop: &AtomicBool,
    global: &Global,
) -> Result<Measurement, LiveError> {
    let total = u64::from(options.config.series) * u64::from(options.config.samples);
    let bar = bar(global, total);
    let (done, worst) = (AtomicU64::new(0), AtomicU64::new(0));
    let outcome = thread::scope(|scope| {
        let meter = scope.spawn(|| {
            let watch = |event: &Event| match event {
                Event::Sample(sample) => {
                    done.fetch_add(1, Ordering::Relaxed);
                    let ns = u64::try_from(sample.round_trip.as_ns_floor()).unwrap_or(0);
                    worst.fetch_max(ns, Ordering::Relaxed);
                }
                Event::Lost(_) => {
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Event::Late { .. } | Event::Duplicate(_) => {}
            };
            match valentim {
                Some(rate) => rtether_testbed::valentim(options, rate, stop, watch),
                None => rtether_testbed::ping(options, stop, watch),
            }
        });
        while !meter.is_finished() {
            bar.set_position(done.load(Ordering::Relaxed));
            let us = worst.load(Ordering::Relaxed) / 1_000;
            bar.set_message(format!("worst {us} us"));
            thread::sleep(REFRESH);
        }
        meter.join()
    });
    bar.finish_and_clear();
    match outcome {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn bar(global: &Global, total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    bar.set_draw_target(if global.no_progress {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    });
    let template = "measuring {wide_bar} {pos} of {len}  {msg}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Reports why a measurement is not possible.
pub(crate) fn refuse(error: &LiveError) -> Exit {
    terminal::complain(&error.to_string());
    if error.is_wrong_input() {
        Exit::WrongInput
    } else {
        Exit::Unfit
    }
}

fn write_files(arguments: &PingArgs, measurement: &Measurement) -> Result<(), String> {
    if let Some(path) = &arguments.samples {
        files::write(path, &meter::samples_csv(measurement))?;
    }
    if let Some(path) = &arguments.parts {
        files::write(path, &meter::parts_csv(measurement))?;
    }
    if let Some(path) = &arguments.hdr {
        files::write(path, &meter::hdr_log(measurement)?)?;
    }
    if let Some(path) = &arguments.metrics {
        files::write(path, &meter::prometheus(measurement))?;
    }
    Ok(())
}

/// Runs `echo` until Ctrl-C, its normal end.
pub(crate) fn echo(arguments: &EchoArgs, global: &Global) -> Exit {
    terminal::choose_color(global);
    let board = match board(&arguments.parameter) {
        Ok(board) => board,
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    let trace = match trace(&arguments.domain, arguments.via) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let mut options = EchoOptions {
        listen: arguments.listen.clone(),
        via: arguments.via.into(),
        device: arguments.socket.device.clone(),
        place: place_of(&arguments.domain, &arguments.socket),
        marks: marks(&arguments.socket),
        thread: thread_of(&arguments.socket.thread),
        delay: arguments.delay,
        profile: profile(arguments.numbered),
        board,
        stamps: arguments.stamps,
        confinement: None,
        of_peer: usize::try_from(arguments.limit_peer).unwrap_or(1),
        idle: arguments.limit_idle,
    };
    options.place.trace = trace;
    options.confinement = match confine::wished(&arguments.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    options.place.confinement.clone_from(&options.confinement);
    let stop = Stop::new(Care::None);
    awake::keep(arguments.socket.thread.awake);
    let answered = rtether_testbed::echo(&options, &stop, |at| {
        terminal::tell(&format!("answering at {at}; Ctrl-C ends it"));
    });
    end_trace(&options.place);
    match answered {
        Ok(answered) if arguments.json => terminal::print(&rtether_testbed::echo_json(&answered)),
        Ok(answered) => terminal::print(&rtether_testbed::echo_line(&answered, options.via)),
        Err(error) => refuse(&error),
    }
}

/// Parses parameters of a board: `ID=HEX`, or `ID:=HEX` if they can be set.
fn board(parameters: &[String]) -> Result<Board, String> {
    let mut board = Board::default();
    for text in parameters {
        let wrong =
            || format!("`{text}` is no parameter; write 7=0a1b, or 7:=0a1b to let it be set");
        let (id, value) = text.split_once('=').ok_or_else(wrong)?;
        let (id, is_writable) = id.strip_suffix(':').map_or((id, false), |id| (id, true));
        let id = id.parse().map_err(|_| wrong())?;
        board.define(id, &hex(value).ok_or_else(wrong)?, is_writable);
    }
    Ok(board)
}
