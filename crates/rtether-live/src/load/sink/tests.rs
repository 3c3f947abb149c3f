use std::net::Ipv4Addr;

use rtether_proto::load::{Hello, Report, Status, Wish};
use socket2::{Domain, Type};

use super::*;

/// Runs `work` against a sink on loopback; returns its result and the sink's counters.
fn with_sink<T>(limits: Limits, work: impl FnOnce(SocketAddr) -> T) -> (T, Taken) {
    let sink = Sink::bind((Ipv4Addr::LOCALHOST, 0).into(), limits).expect("a port is free");
    let at = sink.local_address().expect("it is bound");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let served = scope.spawn(|| sink.run(&stop));
        let seen = work(at);
        stop.store(true, Ordering::Relaxed);
        let taken = served.join().expect("no panic").expect("sockets stay");
        (seen, taken)
    })
}

fn hello(at: SocketAddr, wish: Wish, dscp: u8) -> (TcpStream, Report) {
    hello_from([127, 0, 0, 1], at, wish, dscp)
}

fn hello_from(from: [u8; 4], at: SocketAddr, wish: Wish, dscp: u8) -> (TcpStream, Report) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a descriptor");
    let from = SocketAddr::from((from, 0));
    socket.bind(&from.into()).expect("an address of loopback");
    socket.connect(&at.into()).expect("it listens");
    let mut stream = TcpStream::from(socket);
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a timeout");
    let hello = Hello {
        wish,
        dscp,
        // Each has its own: the port of the client.
        session: stream.local_addr().expect("it is bound").port().into(),
        size: 1 << 40,
    };
    stream.write_all(&hello.write()).expect("there is room");
    let report = hear(&mut stream);
    (stream, report)
}

fn hear(stream: &mut TcpStream) -> Report {
    let mut octets = [0; Report::SIZE];
    stream.read_exact(&mut octets).expect("a report");
    Report::read(&octets).expect("a report")
}

#[test]
fn a_session_without_datagrams_ends() {
    let limits = Limits { idle: Duration::from_millis(100), ..Limits::default() };
    let (rest, taken) = with_sink(limits, |at| {
        let (mut stream, report) = hello(at, Wish::Datagrams, 0);
        assert_eq!(report.status, Status::Ready);
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("the sink closes its end");
        rest
    });
    assert_eq!((rest.len(), taken.idle), (0, 1), "and says nothing of it");
}

#[test]
fn the_sink_chooses_its_dscp() {
    for (marks, unmarked) in [(false, 1), (true, 0)] {
        let limits = Limits { marks, ..Limits::default() };
        let ((), taken) = with_sink(limits, |at| {
            let (stream, report) = hello(at, Wish::Upload, 46);
            assert_eq!(report.status, Status::Ready);
            stream.shutdown(std::net::Shutdown::Write).expect("open");
            let mut stream = stream;
            hear(&mut stream);
        });
        assert_eq!(taken.unmarked, unmarked);
    }
}

/// Oracle: the limits. One address that says hello and nothing more once held all 64 connections
/// for 30 s each.
#[test]
fn one_address_leaves_room_for_others() {
    for wish in [Wish::Upload, Wish::Download, Wish::Datagrams] {
        let limits = Limits::default();
        let (seen, taken) = with_sink(limits, |at| {
            let held: Vec<_> =
                (0..limits.connections).map(|_| hello_from([127, 0, 0, 2], at, wish, 0)).collect();
            let busy = held.iter().filter(|(_, of)| of.status == Status::Busy);
            let (_stream, other) = hello(at, Wish::Upload, 0);
            (busy.count(), other.status)
        });
        let most = limits.connections - limits.of_peer;
        assert_eq!((seen.0 >= most, seen.1), (true, Status::Ready), "{wish:?}");
        assert!(taken.refused >= most as u64);
    }
}
