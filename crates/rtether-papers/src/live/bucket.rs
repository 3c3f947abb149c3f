//! `kweon-bucket` on this host: the burst that the buckets of both shim back ends let through.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration as Span, Instant};

use rtether_model::endnode::{Detector, Layer, Smoothing};
use rtether_model::network::Stack;
use rtether_model::smoother::{Config, Fixed, Mode, Rule};
use rtether_testbed::shim::{AnyShim, Backend, Settings};
use rtether_testbed::testbed::DEVICE;

use crate::lab;
use crate::plant::Plant;
use crate::prelude::*;

const RATE: BitRate = BitRate::from_mbps(10);
/// The paper's depth; a long period, so that no refresh falls into a burst.
const BUCKET: Fixed = Fixed { depth: Bytes::new(1_500), period: Duration::from_ms(100) };
/// The first datagram leaves one credit, which lets the second go; the third has to wait.
const DATAGRAMS: [usize; 3] = [1_499, 1_500, 1_500];
/// Headers of IP and UDP.
const HEADERS: usize = 28;
const TRIALS: usize = 40;
/// Most trials, including those that do not count.
const ATTEMPTS: usize = 2 * TRIALS;
/// Two full frames at link rate: datagrams closer together than this were sent in one burst.
const TOGETHER: Span = Span::from_micros(2_460);
/// From the third datagram, which leaves at a refresh, to the next trial: by then the bucket is
/// full, and the next refresh is half a period away.
const PAUSE: Span = Span::from_millis(250);
/// A trial that starts later than this may meet a refresh, and does not count.
const LATE: Span = Span::from_millis(20);
const PATIENCE: Span = Span::from_secs(2);
const LOOK: Span = Span::from_millis(20);
const PORT: u16 = 7_257;

/// A received datagram: its size as an IP packet, and the time.
type Arrival = (usize, Instant);

fn settings() -> Settings {
    let smoother = Smoothing {
        config: Config::new(Mode::Fixed(BUCKET)),
        rule: Rule::LINUX,
        ring: 2,
        // A fixed period does not use the detector.
        detector: Detector::Backlog { low: Bytes::new(1), high: Bytes::new(2) },
    };
    let layer = Layer { smoother: Some(smoother), ..Layer::default() };
    Settings { priority: Some(lab::PRIORITY + 2), ..Settings::new(layer, RATE) }
}

/// Returns the octets let through in one burst, for each trial.
fn bursts(backend: Backend, progress: &Progress) -> Result<Vec<usize>, ReproduceError> {
    let mut plant = Plant::default();
    let ends = ["near", "far"].map(|name| plant.station(name, Stack::Zero));
    plant.link((ends[0], 0), (ends[1], 0), RATE);
    let is_over = AtomicBool::new(false);
    let (found, _) = lab::with(plant.network, Vec::new(), progress, |lab| {
        std::thread::scope(|scope| {
            let (arrive, arrived) = mpsc::channel();
            let (address, is_bound) = mpsc::channel();
            let is_over = &is_over;
            let far =
                scope.spawn(move || lab.inside(ends[1], || receive(&address, &arrive, is_over)));
            let sent = lab.inside(ends[0], move || {
                shimmed(backend, || {
                    let to = (lab.address(ends[1]), PORT);
                    is_bound.recv_timeout(PATIENCE).map_err(machine)?;
                    let socket = UdpSocket::bind(("0.0.0.0", 0)).map_err(machine)?;
                    socket.connect(to).map_err(machine)?;
                    trials(&socket, &arrived, progress)
                })
            });
            is_over.store(true, Ordering::Relaxed);
            let received = far.join();
            received.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            sent
        })
    })?;
    Ok(found)
}

fn machine(error: impl std::fmt::Display) -> ReproduceError {
    ReproduceError::Machine(error.to_string())
}

/// Runs `work` behind a shim in the calling thread's namespace.
fn shimmed<T>(
    backend: Backend,
    work: impl FnOnce() -> Result<T, ReproduceError>,
) -> Result<T, ReproduceError> {
    let mut shim = AnyShim::up(DEVICE, backend, settings()).map_err(machine)?;
    let handle = shim.handle();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let ended = shim.run();
            shim.down()?;
            ended
        });
        let done = work();
        handle.stop();
        let ended = thread.join();
        let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended.map_err(machine)?;
        done
    })
}

/// Binds a socket and receives until `is_over`.
fn receive(
    is_bound: &mpsc::Sender<()>,
    arrive: &mpsc::Sender<Arrival>,
    is_over: &AtomicBool,
) -> Result<(), ReproduceError> {
    lab::urgent().placement.apply().map_err(machine)?;
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).map_err(machine)?;
    socket.set_read_timeout(Some(LOOK)).map_err(machine)?;
    let _ = is_bound.send(());
    hear(&socket, arrive, is_over)
}

/// Reports what arrives at a socket that has a timeout.
fn hear(
    socket: &UdpSocket,
    arrive: &mpsc::Sender<Arrival>,
    is_over: &AtomicBool,
) -> Result<(), ReproduceError> {
    let mut buffer = [0; 2_048];
    while !is_over.load(Ordering::Relaxed) {
        match socket.recv(&mut buffer) {
            // The receiver may have given up.
            Ok(size) => drop(arrive.send((size + HEADERS, Instant::now()))),
            // The exit of a child process may interrupt the call.
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(machine(error)),
        }
    }
    Ok(())
}

fn trials(
    socket: &UdpSocket,
    arrived: &mpsc::Receiver<Arrival>,
    progress: &Progress,
) -> Result<Vec<usize>, ReproduceError> {
    let mut bursts = Vec::new();
    // The first trial finds the time of a refresh.
    let mut refreshed_at: Option<Instant> = None;
    for _ in 0..ATTEMPTS {
        if progress.is_cancelled() {
            return Err(ReproduceError::Interrupted);
        }
        for size in DATAGRAMS {
            socket.send(&vec![0; size - HEADERS]).map_err(machine)?;
        }
        let sent_at = Instant::now();
        let mut all = Vec::new();
        for _ in DATAGRAMS {
            all.push(arrived.recv_timeout(PATIENCE).map_err(machine)?);
        }
        if refreshed_at.is_some_and(|at| sent_at - at < PAUSE + LATE) {
            bursts.push(burst(&all));
        }
        if bursts.len() == TRIALS {
            break;
        }
        refreshed_at = all.last().map(|last| last.1);
        std::thread::sleep(PAUSE);
    }
    Ok(bursts)
}

/// Returns the octets that arrived back to back, from the first on.
fn burst(arrivals: &[Arrival]) -> usize {
    let mut octets = arrivals.first().map_or(0, |first| first.0);
    for pair in arrivals.windows(2) {
        if pair[1].1 - pair[0].1 > TOGETHER {
            break;
        }
        octets += pair[1].0;
    }
    octets
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("What a credit bucket lets out, measured");
    let [user, kernel] = [Backend::User, Backend::Kernel].map(|backend| {
        let bursts = bursts(backend, progress)?;
        let most = bursts.iter().copied().max().unwrap_or(0);
        let exact = bursts.iter().filter(|&&octets| octets == 2_999).count();
        let all = bursts.len();
        page.row(
            format!("longest burst, depth 1500 B, back end `{}`", backend.name()),
            "2999 B",
            format!("{most} B; {exact} of {all} bursts had 2999 B"),
            "002 Kweon 2",
        );
        Ok::<_, ReproduceError>(most as u64)
    });
    let (user, kernel) = (user?, kernel?);
    let words = format!("user space {user}, kernel {kernel} octets");
    page.check_or("C045", [user, kernel], words, "a back end lets out another burst");
    page.note(format!(
        "IP packets of 1499, 1500 and 1500 octets at once, {TRIALS} times, through a shim with a \
         full bucket onto an emulated link of 10 Mbit/s; those that arrive within two frame times \
         of each other left together. The bucket is filled each {}.",
        BUCKET.period
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn a_burst_ends_at_the_first_gap() {
        let start = Instant::now();
        let at = |us: u64| start + Span::from_micros(us);
        let arrivals = [(1_499, at(0)), (1_500, at(1_230)), (1_500, at(100_000))];
        assert_eq!(burst(&arrivals), 2_999);
        assert_eq!(burst(&[(1_499, at(0)), (1_500, at(3_000)), (1_500, at(3_100))]), 1_499);
        assert_eq!(burst(&[]), 0);
    }

    #[test]
    fn the_end_of_children_ends_no_receiving() {
        // A child that exits while the thread that started it starts another leaves a signal that
        // the system may deliver to any thread; a call with a timeout is then interrupted.
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(LOOK)).unwrap();
        let (arrive, _arrived) = mpsc::channel();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let hearing = scope.spawn(|| hear(&socket, &arrive, &is_over));
            for _ in 0..200 {
                let start = |_| std::process::Command::new("true").spawn().unwrap();
                for mut child in [0; 4].map(start) {
                    child.wait().unwrap();
                }
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(hearing.join().unwrap().is_ok());
        });
    }
}
