//! Measures what the shim in user space costs: round trips and bulk transfers, with it and without.
//!
//! `cargo run --release -p rtether-live --example shim -- [ROUNDS [VARIANT]]`, as root, on a machine
//! that does nothing else. Builds two namespaces with a wire between them and removes them. With a
//! part of the name of a variant only those are measured that have it.
//!
//! Each round measures every variant once, so that what changes on the machine changes all of them.
//! Round trips are of 64 octets over UDP, one after the other, by threads that sleep until something
//! comes: the near host's is on the first core, the far one's on the second. The shim is at the near
//! host, on the core of its application or on the other one. A shim that spins has the second core
//! for itself, so that both hosts share the first. Threads of transfers go where they like. On a
//! machine that does something else, put `chrt -r 5` in front.

#![allow(clippy::print_stdout, reason = "it prints what it measures")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration as Sleep, Instant as Time};

use rtether_live::clock::Clock;
use rtether_live::link::{Udp, UdpOptions};
use rtether_live::meter::Meter;
use rtether_live::namespace::{Namespace, run};
use rtether_live::responder::{Responder, Role};
use rtether_live::shim::{Handle, Settings, Shim};
use rtether_live::thread::Placement;
use rtether_live::wait::Waiting;
use rtether_model::endnode::{
    Detector, Layer, PortRange, Receive, ReceiveConfig, ReceiveSelection, Rule, Smoothing,
    TransmitConfig, TransmitStrategy,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::{self, Mode};
use rtether_proto::probe::{Codec, Config, Event, Interval, Prober};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const DEVICE: &str = "wire";
const PORT: u16 = 7_254;
const SAMPLES: u32 = 10_000;
const TRANSFER: Sleep = Sleep::from_secs(2);
/// Faster than any transfer here, so that the line is not what is measured.
const RATE: BitRate = BitRate::from_mbps(100_000);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// One way to run the shim; `None` is to run none.
struct Variant {
    name: &'static str,
    settings: Option<Settings>,
    /// Where the far host answers.
    far_core: usize,
    round_trips: Vec<Duration>,
    /// Mbit/s of payload from the near to the far host, and back.
    rates: [Vec<f64>; 2],
}

fn main() -> Outcome<()> {
    let rounds = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 5,
    };
    let near = Namespace::create("shim-a")?;
    let far = Namespace::create("shim-b")?;
    run(&format!(
        "ip link add {DEVICE} netns {} type veth peer name {DEVICE} netns {}",
        near.name(),
        far.name()
    ))?;
    for (host, address) in [(&near, NEAR), (&far, FAR)] {
        host.run(&format!("ip address add {address}/24 dev {DEVICE}"))?;
        host.run(&format!("ip link set {DEVICE} up"))?;
    }
    std::thread::sleep(Sleep::from_millis(500));
    let mut variants = variants();
    if let Some(part) = std::env::args().nth(2) {
        variants.retain(|variant| variant.name.contains(&part));
    }
    for _ in 0..rounds {
        for variant in &mut variants {
            measure(&near, &far, variant)?;
        }
    }
    println!("variant                        round trip us: p50   p90   p99     Mbit/s out   in");
    for variant in &mut variants {
        variant.round_trips.sort_unstable();
        let count = variant.round_trips.len();
        let quantile = |part: usize| variant.round_trips[(count - 1) * part / 100].as_us_f64();
        let rates = variant.rates.each_mut().map(|rates| median(rates));
        println!(
            "{:<42} {:>6.1} {:>5.1} {:>5.1} {:>14.0} {:>5.0}",
            variant.name,
            quantile(50),
            quantile(90),
            quantile(99),
            rates[0],
            rates[1]
        );
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Two classes with queues, and a smoother that holds nothing back.
fn queued() -> Layer {
    let urgent = Rule {
        destination_port: Some(PortRange::one(PORT)),
        class: 1,
        ..Rule::default()
    };
    Layer {
        rules: vec![urgent],
        transmit: Some(TransmitConfig {
            ring_limit: 16,
            queue_limits: vec![2_000, 2_000],
            high_from: None,
            strategy: TransmitStrategy::Rings { count: 2 },
        }),
        smoother: Some(Smoothing {
            config: smoother::Config::new(Mode::None),
            rule: smoother::Rule::LINUX,
            ring: 64,
            detector: Detector::Backlog {
                low: Bytes::new(1_500),
                high: Bytes::new(6_000),
            },
        }),
        ..Layer::default()
    }
}

fn receiving() -> Layer {
    Layer {
        receive: Some(Receive::Queues(ReceiveConfig {
            input_limit: 2_000,
            queue_limits: vec![2_000, 2_000],
            selection: ReceiveSelection::HighestFirst,
        })),
        ..queued()
    }
}

fn variants() -> Vec<Variant> {
    let with = |layer, waiting, core| {
        Some(Settings {
            waiting,
            core: Some(core),
            ..Settings::new(layer, RATE)
        })
    };
    let (block, spin) = (Waiting::Block, Waiting::Spin);
    let plain = Layer::default;
    let all = [
        ("no shim", None, 1),
        ("sent, plain, same core", with(plain(), block, 0), 1),
        ("sent, plain, other core", with(plain(), block, 1), 1),
        ("sent, queues, same core", with(queued(), block, 0), 1),
        ("sent, queues, other core", with(queued(), block, 1), 1),
        ("both, queues, same core", with(receiving(), block, 0), 1),
        ("both, queues, other core", with(receiving(), block, 1), 1),
        ("no shim, one core", None, 0),
        ("sent, queues, spinning", with(queued(), spin, 1), 0),
        ("both, queues, spinning", with(receiving(), spin, 1), 0),
    ];
    let variant = |(name, settings, far_core)| Variant {
        name,
        settings,
        far_core,
        round_trips: Vec::new(),
        rates: [Vec::new(), Vec::new()],
    };
    all.map(variant).into()
}

fn measure(near: &Namespace, far: &Namespace, variant: &mut Variant) -> Outcome<()> {
    let Some(settings) = variant.settings.clone() else {
        return measure_all(near, far, variant);
    };
    let (send, handle) = mpsc::channel::<Handle>();
    std::thread::scope(|scope| {
        let shim = scope.spawn(move || -> Outcome<()> {
            near.enter()?;
            let mut shim = Shim::up(DEVICE, settings)?;
            send.send(shim.handle())?;
            shim.run()?;
            let status = shim.down()?;
            if status.bypassed.transmit > 0 {
                println!("{status:?}");
            }
            Ok(())
        });
        if let Ok(handle) = handle.recv() {
            std::thread::sleep(Sleep::from_millis(100));
            let measured = measure_all(near, far, variant);
            handle.stop();
            measured?;
        }
        shim.join().map_err(|_| "the shim has failed")?
    })
}

fn measure_all(near: &Namespace, far: &Namespace, variant: &mut Variant) -> Outcome<()> {
    let round_trips = round_trips(near, far, variant.far_core)?;
    variant.round_trips.extend(round_trips);
    let ways = [(near, far, FAR), (far, near, NEAR)];
    for (rates, (from, to, address)) in variant.rates.iter_mut().zip(ways) {
        rates.push(transfer(from, to, address)?);
    }
    Ok(())
}

fn pin(core: usize) -> Outcome<()> {
    let placement = Placement {
        core: Some(core),
        ..Placement::default()
    };
    Ok(placement.apply()?)
}

fn round_trips(near: &Namespace, far: &Namespace, far_core: usize) -> Outcome<Vec<Duration>> {
    let stop = AtomicBool::new(false);
    let (send, is_ready) = mpsc::channel();
    std::thread::scope(|scope| {
        let service = scope.spawn(|| -> Outcome<()> {
            far.enter()?;
            pin(far_core)?;
            let socket = Udp::bind((FAR, PORT).into(), UdpOptions::default())?;
            send.send(())?;
            Responder::new(socket, Role::Echo, Clock::start(), Waiting::Block).run(&stop)?;
            Ok(())
        });
        let meter = move || -> Outcome<Vec<Duration>> {
            near.enter()?;
            pin(0)?;
            is_ready.recv()?;
            let link = Udp::connect((FAR, PORT).into(), UdpOptions::default())?;
            let config = Config {
                series: 1,
                samples: SAMPLES,
                interval: Interval::Adaptive,
                pause: Duration::ZERO,
                timeout: Duration::from_secs(1),
            };
            let prober = Prober::new(config, Instant::ZERO).map_err(|error| error.to_string())?;
            let codec = Codec::Message { session: 1 };
            let clock = Clock::start();
            let mut meter = Meter::new(link, codec, prober, clock, Waiting::Block, 64);
            let mut all = Vec::new();
            meter.run(&AtomicBool::new(false), |event| {
                if let Event::Sample(sample) = event {
                    all.push(sample.round_trip);
                }
            })?;
            Ok(all)
        };
        let measured = scope.spawn(meter).join();
        stop.store(true, Ordering::Relaxed);
        service.join().map_err(|_| "the responder has failed")??;
        measured.map_err(|_| "the meter has failed")?
    })
}

/// Sends over TCP for some time; returns Mbit/s of payload.
fn transfer(from: &Namespace, to: &Namespace, address: Ipv4Addr) -> Outcome<f64> {
    std::thread::scope(|scope| {
        let listener = scope.spawn(|| -> Outcome<TcpListener> {
            to.enter()?;
            Ok(TcpListener::bind((address, PORT))?)
        });
        let listener = listener.join().map_err(|_| "no listener")??;
        let sink = scope.spawn(move || -> Outcome<f64> {
            let (mut stream, _) = listener.accept()?;
            let mut buffer = vec![0; 1 << 18];
            let (start, mut octets) = (Time::now(), 0_u32);
            let mut megabytes = 0.0;
            loop {
                let read = u32::try_from(stream.read(&mut buffer)?)?;
                if read == 0 {
                    let all = megabytes + f64::from(octets) / 1e6;
                    return Ok(all * 8.0 / start.elapsed().as_secs_f64());
                }
                octets += read;
                if octets >= 1_000_000_000 {
                    megabytes += f64::from(octets) / 1e6;
                    octets = 0;
                }
            }
        });
        let source = scope.spawn(move || -> Outcome<()> {
            from.enter()?;
            let mut stream = TcpStream::connect((address, PORT))?;
            let (start, block) = (Time::now(), vec![0; 1 << 17]);
            while start.elapsed() < TRANSFER {
                stream.write_all(&block)?;
            }
            Ok(())
        });
        source.join().map_err(|_| "the sender has failed")??;
        sink.join().map_err(|_| "the receiver has failed")?
    })
}
