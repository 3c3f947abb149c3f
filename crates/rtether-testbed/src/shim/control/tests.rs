use rtether::report::format::Format;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use proptest::prelude::*;

use super::listener::{CLIENTS_MAX, PATIENCE};
use super::*;

/// A listener in its own folder, served by a thread until it is dropped.
struct Served {
    place: RuntimeFiles,
    folder: PathBuf,
    stop: std::sync::Arc<std::sync::atomic::AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

impl Served {
    fn new(test: &str) -> Self {
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = std::env::temp_dir().join(format!("rtether-{test}-{}", std::process::id()));
        let place = RuntimeFiles::of(&folder, "eth0").expect("a name");
        place.make().expect("writable");
        let mut listener = Listener::open(&place).expect("a socket");
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let seen = std::sync::Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut lost = 0;
            while !seen.load(Ordering::Relaxed) {
                lost += listener.serve(|request| match request {
                    Request::Status(form) => Ok(format!("a {}\n", form.name())),
                    Request::Set { name, text } if name == "long" => Ok(text.repeat(1 << 20)),
                    Request::Set { name, text } => Ok(format!("{name} {}", text.len())),
                    Request::Stop => Err(Wrong::machine("not now\nnor ever")),
                });
                std::thread::sleep(Duration::from_millis(1));
            }
            lost
        });
        Self { place, folder, stop, thread: Some(thread) }
    }

    /// Sends octets and returns the answer up to the end of the connection.
    fn send(&self, octets: &[u8]) -> Vec<u8> {
        let mut stream = UnixStream::connect(self.place.socket()).expect("there is one");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        // The other end may have closed already.
        drop(stream.write_all(octets));
        let mut back = Vec::new();
        drop(stream.read_to_end(&mut back));
        back
    }

    fn end(mut self) -> u64 {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let lost = self.thread.take().expect("once").join().expect("no panic");
        fs::remove_dir_all(&self.folder).expect("made above");
        lost
    }
}

#[test]
fn what_is_asked_is_answered() {
    let served = Served::new("control");
    let ask = |request: &Request| ask(&served.place, request);
    assert_eq!(ask(&Request::Status(Form::Result(Format::Json))).expect("ok"), "a json\n");
    let text = "\u{0}\"\u{1F600}".repeat(20_000);
    let set = Request::Set { name: "a\nb".to_owned(), text: text.clone() };
    assert_eq!(ask(&set).expect("ok"), format!("a\nb {}", text.len()));
    let Err(AskError::Wrong(wrong)) = ask(&Request::Stop) else {
        panic!("it says no");
    };
    assert_eq!(wrong, Wrong::machine("not now\nnor ever"));
    let mode = fs::metadata(served.place.socket()).expect("there is one");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    assert_eq!(served.end(), 0);
}

#[test]
fn what_is_too_large_or_too_slow_is_dropped() {
    // Oracle: the limits above. The next client is served all the same.
    let served = Served::new("limits");
    let set = Request::Set { name: String::new(), text: "x".repeat(MAX_CONFIG + 1) };
    let answer = served.send(set.line().as_bytes());
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("the limit is 256 KiB"), "{text}");
    assert!(matches!(ask(&served.place, &set), Err(AskError::Wrong(_))));
    // Endless lines are cut off.
    let answer = served.send(&vec![b'x'; MAX_LINE + 5000]);
    assert!(answer.is_empty() || answer.starts_with(b"{\"error\""));
    let answer = served.send(b"{\"verb\":\"stop\"}\n{\"verb\":\"stop\"}\n");
    assert!(String::from_utf8_lossy(&answer).contains("nothing may follow the line"));
    // So are silence, and a line without an end.
    let begin = Instant::now();
    assert_eq!(served.send(b"{\"verb\":"), b"");
    assert!(begin.elapsed() >= PATIENCE);
    let ok = ask(&served.place, &Request::Status(Form::Result(Format::Table)));
    assert_eq!(ok.expect("ok"), "a table\n");
    assert_eq!(served.end(), 1, "the silent one");
}

/// Oracle: the limit above; a client waits for 5 s, and the silent ones together need longer.
#[test]
fn silent_clients_keep_nobody_waiting() {
    let served = Served::new("silent");
    let connect = || UnixStream::connect(served.place.socket()).expect("there is one");
    let mut silent: Vec<UnixStream> = (0..3 * CLIENTS_MAX).map(|_| connect()).collect();
    // One starts a line and goes no further, and one does not take its answer.
    let begins = silent.last_mut().expect("there are some");
    begins.write_all(b"{\"verb\":").expect("it has not been let go");
    let long = Request::Set { name: "long".to_owned(), text: "x".to_owned() };
    let mut deaf = connect();
    deaf.write_all(long.line().as_bytes()).expect("it is read");
    for _ in 0..3 {
        let ok = ask(&served.place, &Request::Status(Form::Result(Format::Table)));
        assert_eq!(ok.expect("others do not matter"), "a table\n");
    }
    // Each of them is dropped eventually.
    silent.push(deaf);
    for mut stream in silent {
        let limit = Some(Duration::from_secs(20));
        stream.set_read_timeout(limit).expect("a timeout");
        let mut rest = Vec::new();
        let end = stream.read_to_end(&mut rest).map_err(|error| error.kind());
        assert!(matches!(end, Ok(_) | Err(ErrorKind::ConnectionReset)), "{end:?}");
    }
    let lost = served.end();
    let least = 3 * CLIENTS_MAX as u64;
    assert!((least..=least + 1).contains(&lost), "{lost}: the deaf one may have heard at last");
}

#[test]
fn without_a_shim_the_remedy_is_named() {
    let folder = std::env::temp_dir().join("rtether-control-nobody");
    let place = RuntimeFiles::of(&folder, "eth0").expect("a name");
    let error = ask(&place, &Request::Stop).expect_err("nobody is there");
    assert!(error.to_string().contains("rtether shim up eth0"), "{error}");
}

proptest! {
    /// Oracle: no panic, and no request from invalid input.
    #[test]
    fn any_octets_have_an_answer(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(request) = Request::read(&octets) {
            let value: Value = serde_json::from_slice(&octets).expect("it was read");
            prop_assert!(value.get("verb").is_some(), "{request:?}");
        }
    }

    /// Oracle: the request sent.
    #[test]
    fn requests_arrive_as_they_were(name: String, text: String, form in 0..=Format::ALL.len()) {
        for request in [
            Request::Set { name: name.clone(), text },
            Request::Status(Format::ALL.get(form).map_or(Form::Metrics, |known| Form::Result(known.0))),
            Request::Stop,
        ] {
            let line = request.line();
            prop_assert!(line.len() <= MAX_LINE && !line.trim_end_matches('\n').contains('\n'));
            prop_assert_eq!(Request::read(line.trim_end().as_bytes()), Ok(request));
        }
    }

    /// The same for JSON of any shape.
    #[test]
    fn any_json_has_an_answer(verb in "status|set|stop|x", key in "form|name|text|verb", value in "[a-z]{0,8}|json") {
        for text in [
            json!({ "verb": verb, key.clone(): value }).to_string(),
            json!({ "verb": verb, key.clone(): { "a": [value] } }).to_string(),
            json!([verb, key, value]).to_string(),
        ] {
            let _ = Request::read(text.as_bytes());
        }
    }
}
