//! Applications of a domain on loopback: the skeletons of the paper unchanged, waits with a limit,
//! and the rests of a spinning thread.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Real, Instant as RealInstant};

use rtether_live::rtps::{DomainApplication, DomainOptions, SendError};
use rtether_live::thread::Placement;
use rtether_live::wait::Waiting;
use rtether_rtps::application::{Notice, PublicationOptions, SubscriptionOptions};
use rtether_rtps::engine::Running;
use rtether_rtps::qos::Reliability;
use rtether_rtps::time::Duration;
use rtether_rtps::typed::PublishError;
use rtether_rtps::types::Ping;
use rtether_rtps::writer::WriteError;

use rtether_testkit::{example, skip};

/// A domain used only by one of these tests.
fn options(domain: u16) -> DomainOptions {
    DomainOptions {
        domain,
        interface: Some(Ipv4Addr::LOCALHOST),
        lease: Duration::from_s(2),
        ..DomainOptions::default()
    }
}

/// A process that is killed at the end of the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(program: &Path, role: &str, seconds: &str) -> Process {
    let mut command = Command::new(program);
    let arguments = [role, seconds, "201", "127.0.0.1"];
    command.args(arguments).stdout(Stdio::piped());
    Process(command.spawn().unwrap())
}

#[test]
fn the_skeletons_of_the_paper_meet_and_part() {
    // Oracle: the output of both.
    let program = example("rtether-live", "skeleton");
    let mut subscriber = start(&program, "subscriber", "6");
    let mut publisher = start(&program, "publisher", "2");
    let output = BufReader::new(subscriber.0.stdout.take().unwrap());
    let lines: Vec<String> = output.lines().map(Result::unwrap).collect();
    assert!(subscriber.0.wait().unwrap().success());
    let mut sent = String::new();
    let mut output = BufReader::new(publisher.0.stdout.take().unwrap());
    output.read_line(&mut sent).unwrap();
    let sent: usize = sent.trim().strip_suffix(" sent").unwrap().parse().unwrap();

    assert_eq!(lines[0], "a publication is there");
    let hellos: Vec<usize> =
        lines.iter().filter_map(|line| line.strip_prefix("Hello ")?.parse().ok()).collect();
    println!("{sent} sent, {} had", hellos.len());
    assert!(!hellos.is_empty());
    assert!(hellos.windows(2).all(|pair| pair[0] < pair[1]), "{lines:?}");
    assert!(*hellos.last().unwrap() <= sent);
    let gone = lines.iter().position(|line| line == "a publication is gone");
    let after = &lines[gone.unwrap() + 1..];
    // Deadlines of 100 ms over the remaining seconds; a host that stalled reports fewer.
    assert!(after.len() > 3 && after.iter().all(|line| line == "deadline"));
}

#[test]
fn a_dead_subscription_holds_up_nobody_for_longer_than_the_limit_or_its_lease() {
    let (options, second) = (options(202), Duration::from_s(1));
    let mut one = DomainApplication::open(&options).unwrap();
    let mut other = DomainApplication::open_suspended(&options).unwrap();
    let strict = SubscriptionOptions {
        reliability: Reliability::Reliable,
        ..SubscriptionOptions::default()
    };
    let subscription = other.context().subscribe::<Ping>("dead", &strict, |_, _| {});
    let properties = PublicationOptions { queue: 4, ..PublicationOptions::default() };
    let publication = one.context().publish::<Ping>("dead", &properties).unwrap();
    one.run_for(Duration::from_ms(200)).unwrap();
    assert_eq!(one.domain().participant().participants().count(), 0);
    other.start(Running::ALL);
    let writer = one.context().writer(&publication).unwrap();
    let patience = RealInstant::now() + Real::from_secs(10);
    while one.domain().participant().readers_of(writer) == 0
        || !one.domain().participant().is_acknowledged(writer)
    {
        assert!(RealInstant::now() < patience);
        one.run_for(Duration::from_ms(5)).unwrap();
        other.run_for(Duration::from_ms(5)).unwrap();
    }

    // From here on it is not stepped any more: to the others it is dead.
    let value = Ping::default();
    for _ in 0..4 {
        one.send(&publication, &value).unwrap();
    }
    let limit = Duration::from_ms(100);
    let begin = one.domain().now();
    let refused = one.send_within(&publication, &value, limit);
    let taken = one.domain().now() - begin;
    let full = PublishError::Write(WriteError::Full);
    assert!(matches!(refused, Err(SendError::Publish(error)) if error == full));
    // Oracle: the limit, and at most one wake-up of a busy host.
    assert!(taken >= limit && taken < second, "{taken:?}");
    let begin = one.domain().now();
    one.send_within(&publication, &value, Duration::from_s(60)).unwrap();
    let taken = one.domain().now() - begin;
    println!("room after {taken:?}");
    assert!(taken <= options.lease + second, "{taken:?}");
    drop(subscription);
}

#[test]
fn a_spinning_thread_of_real_time_priority_is_not_stopped() {
    let throttle = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us");
    if throttle.ok().is_none_or(|share| share.trim() == "-1") {
        return skip("the kernel stops no thread of real-time priority");
    }
    let placement = Placement { priority: Some(10), ..Placement::default() };
    let measured = std::thread::spawn(move || {
        let mut options = options(203);
        options.waiting = Waiting::Spin;
        let mut application = DomainApplication::open(&options).unwrap();
        let had = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let count = std::sync::Arc::clone(&had);
        let mut context = application.context();
        let subscription =
            context.subscribe::<Ping>("spin", &SubscriptionOptions::default(), move |_, notice| {
                if matches!(notice, Notice::Sample(_)) {
                    count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            });
        let publication = context.publish::<Ping>("spin", &PublicationOptions::default()).unwrap();
        let period = Duration::from_ms(1);
        context.send_every(&publication, period, Ping::default(), |_, _| true);
        placement.apply().ok()?;
        let mut last = application.domain().now();
        let end = last + Duration::from_s(3);
        let mut longest = Duration::ZERO;
        while last < end {
            application.step(end).unwrap();
            let now = application.domain().now();
            longest = longest.max(now - last);
            last = now;
        }
        drop(subscription);
        Some((longest, had.load(std::sync::atomic::Ordering::Relaxed)))
    });
    let Some((longest, had)) = measured.join().unwrap() else {
        return skip("no right to a real-time priority");
    };
    // Oracle: the kernel throttles it for the rest of each second, 50 ms; it is called every
    // millisecond.
    println!("longest gap {longest:?}, {had} samples");
    assert!(longest < Duration::from_ms(45), "{longest:?}");
}
