use std::net::Ipv4Addr;

use super::*;

/// A service on loopback with these limits.
fn service(of_peer: usize, idle: Duration) -> (TcpService, SocketAddr) {
    let limits = TcpLimits { of_peer, idle };
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    let service = TcpService::bind(any, UdpOptions::default(), limits).expect("a port is free");
    let at = service.local_address().expect("it is bound");
    (service, at)
}

/// Sends requests and runs the service until each has an answer or an error.
fn ask(service: &mut TcpService, links: &mut [Tcp]) -> Vec<io::Result<usize>> {
    for link in &mut *links {
        link.send(b"request").expect("there is room");
    }
    let mut found: Vec<Option<io::Result<usize>>> = links.iter().map(|_| None).collect();
    let mut buffer = [0; 64];
    let begin = Instant::now();
    while found.iter().any(Option::is_none) {
        assert!(begin.elapsed() < Duration::from_secs(20), "{found:?}");
        if let Some((payload, peer)) = service.receive(&mut buffer).expect("it goes on") {
            let answered = service.answer(&mut buffer, payload, peer);
            answered.expect("there is room");
        }
        for (link, found) in links.iter_mut().zip(&mut found) {
            if found.is_none() {
                *found = link.receive(&mut buffer).map(|got| got.map(|got| got.len())).transpose();
            }
        }
    }
    found.into_iter().flatten().collect()
}

fn connect(at: SocketAddr) -> Tcp {
    Tcp::connect(at, UdpOptions::default()).expect("it listens")
}

#[test]
fn one_peer_has_so_many_connections_and_the_next_is_told() {
    // Oracle: the limit.
    let (mut service, at) = service(2, Duration::from_mins(1));
    let mut links: Vec<Tcp> = (0..3).map(|_| connect(at)).collect();
    let answers = ask(&mut service, &mut links);
    assert!(matches!(answers[..2], [Ok(7), Ok(7)]), "{answers:?}");
    let busy = answers[2].as_ref().expect_err("there is no room");
    assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
    assert!(busy.to_string().contains("--limit-peer"), "{busy}");
    assert_eq!(service.turned().refused, 1);
    // A client that leaves makes room.
    drop(links);
    let mut next = [connect(at)];
    assert!(matches!(ask(&mut service, &mut next)[..], [Ok(7)]));
}

#[test]
fn a_silent_connection_is_closed_and_one_that_asks_is_not() {
    let (mut service, at) = service(4, Duration::from_millis(300));
    let mut links = [connect(at), connect(at)];
    assert!(ask(&mut service, &mut links).iter().all(Result::is_ok));
    let [mut silent, asks] = links;
    let mut asks = [asks];
    let begin = Instant::now();
    while service.turned().idle == 0 {
        assert!(ask(&mut service, &mut asks)[0].is_ok());
        assert!(begin.elapsed() < Duration::from_secs(20), "nothing is closed");
    }
    let end = loop {
        match silent.receive(&mut [0; 64]) {
            Ok(None) => {}
            end => break end,
        }
    };
    assert_eq!(end.expect_err("closed").kind(), io::ErrorKind::UnexpectedEof);
    assert!(ask(&mut service, &mut asks)[0].is_ok());
}
