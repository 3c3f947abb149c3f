//! Messages over TCP between stations.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration as Sleep;

use rtether_live::clock::Clock;
use rtether_live::station::tcp::{
    PORT, Server, TcpIncoming, TcpOutgoing, TcpTraffic, send_messages,
};
use rtether_live::station::{Log, Tagging};
use rtether_model::flow::{Phase, Traffic};
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::thinking::Thinking;

use crate::bed::inside;
use crate::station::{PEER, releases};
use crate::wire::{FAR, Wire, patient};

const STREAM: u16 = 3;
/// Size of a message and of an answer, in octets.
const SIZE: usize = 60_000;
const PERIOD: Duration = Duration::from_us(100);
/// Number of messages of a run: 600 MB a second.
const MESSAGES: u64 = 10_000;
/// No message is released after this time.
const UNTIL: Duration = Duration::from_secs(1);
/// End of a run.
const END: Duration = Duration::from_ms(1_500);
/// A thread that has not ended by then counts as blocked.
const EVER: Duration = Duration::from_secs(10);

fn messages(answer: Option<usize>) -> TcpOutgoing {
    let releases = releases(Traffic::periodic(PERIOD, Phase::Fixed(Duration::ZERO)));
    TcpOutgoing {
        stream: STREAM,
        peer: PEER,
        tagging: Tagging::default(),
        traffic: TcpTraffic::Messages { releases, payload: SIZE, answer },
    }
}

/// Two hosts whose kernels buffer at most two messages of a connection, on either side.
fn small_wire() -> Option<Wire> {
    let wire = Wire::new()?;
    for host in [&wire.near, &wire.far] {
        for buffer in ["tcp_rmem", "tcp_wmem"] {
            let path = format!("/proc/sys/net/ipv4/{buffer}");
            inside(host, || std::fs::write(path, "4096 65536 120000").unwrap());
        }
    }
    Some(wire)
}

/// Talks from the near host to the far one; returns the log, and when it ended.
fn talk(wire: &Wire, answer: Option<usize>, stop: &AtomicBool) -> (Log, Duration) {
    inside(&wire.near, || {
        let clock = Clock::start();
        let times = [UNTIL, END].map(|at| Instant::ZERO + at);
        let (log, ended) = send_messages(messages(answer), clock, times, stop);
        assert!(ended.is_none(), "{ended:?}");
        (log, clock.now().since_start())
    })
}

/// Listens at the far host, for messages that are answered.
fn server(wire: &Wire) -> Server {
    let incoming = TcpIncoming {
        stream: STREAM,
        message: Some(SIZE),
        answer: Some((SIZE, Thinking::default())),
        tagging: Tagging::default(),
        window: None,
    };
    inside(&wire.far, || patient(|| Server::open(FAR, vec![incoming])))
}

/// Serves until `end`; returns the log, and when it ended.
fn serve(server: Server, end: Duration, stop: &AtomicBool) -> (Log, Duration) {
    let clock = Clock::start();
    let (log, _) = server.run(clock, Instant::ZERO + end, stop);
    (log, clock.now().since_start())
}

/// Runs `work` every millisecond until a thread ends; stops the thread if it does not.
fn wait<T>(thread: &ScopedJoinHandle<'_, T>, stop: &AtomicBool, mut work: impl FnMut()) {
    let clock = Clock::start();
    while !thread.is_finished() && clock.now().since_start() < EVER {
        work();
        std::thread::sleep(Sleep::from_millis(1));
    }
    stop.store(true, Ordering::Relaxed);
}

/// Oracles: the clock; conservation.
#[test]
fn a_talker_ends_in_time_though_nobody_reads() {
    let Some(wire) = small_wire() else { return };
    let listener = inside(&wire.far, || patient(|| TcpListener::bind((FAR, PORT))));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let talker = scope.spawn(|| talk(&wire, None, &stop));
        let connection = listener.accept().unwrap();
        wait(&talker, &stop, || {});
        drop(connection);
        let (log, ended_at) = talker.join().unwrap();
        assert!((END..EVER).contains(&ended_at), "{ended_at:?}");
        let (sent, unsent) = (log.sent.len() as u64, log.oddities.unsent);
        assert!(sent > 0 && unsent > 0, "{sent} {unsent}");
        assert_eq!(sent + unsent, MESSAGES);
    });
}

/// Oracle: the clock.
#[test]
fn a_server_ends_in_time_though_nobody_reads_its_answers() {
    let Some(wire) = small_wire() else { return };
    let (server, stop) = (server(&wire), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(server, END, &stop));
        let mut stream = inside(&wire.near, || TcpStream::connect((FAR, PORT)).unwrap());
        stream.set_nonblocking(true).unwrap();
        // Stream number and kind, then messages with that number: more than all buffers hold.
        let stream_number = STREAM.to_be_bytes();
        let mut octets = vec![0; 16];
        octets[..2].copy_from_slice(&stream_number);
        octets[3] = 1;
        for _ in 0..1_000 {
            let start = octets.len();
            octets.resize(start + SIZE, 0);
            octets[start..start + 2].copy_from_slice(&stream_number);
        }
        let mut left = &octets[..];
        wait(&server, &stop, || {
            if let Ok(count) = stream.write(left) {
                left = &left[count..];
            }
        });
        drop(stream);
        let (log, ended_at) = server.join().unwrap();
        assert!((END..EVER).contains(&ended_at), "{ended_at:?}");
        assert_eq!(log.oddities.unsent, 1, "{:?}", log.oddities);
    });
}

/// Oracles: conservation. If both sides waited for each other, no more would arrive than the eight
/// messages that the kernels buffer in both directions.
#[test]
fn an_overloaded_talker_takes_answers() {
    let Some(wire) = small_wire() else { return };
    let (server, stop) = (server(&wire), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(server, END * 2, &stop));
        let talker = scope.spawn(|| talk(&wire, Some(SIZE), &stop));
        wait(&talker, &stop, || {});
        let (log, ended_at) = talker.join().unwrap();
        assert!((END..EVER).contains(&ended_at), "{ended_at:?}");
        server.join().unwrap();
        let (sent, unsent) = (log.sent.len() as u64, log.oddities.unsent);
        assert!(unsent > 0);
        assert_eq!(sent + unsent, MESSAGES);
        let answers: Vec<u32> = log.arrived.iter().map(|answer| answer.number).collect();
        let expected: Vec<u32> = (0u32..).take(answers.len()).collect();
        assert_eq!(answers, expected);
        assert!(answers.len() > 20, "{}", answers.len());
    });
}
