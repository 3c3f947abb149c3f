//! Devices with hidden parameters, found by a prober that sees only times.
//!
//! The simulated station is the device. Its stack answers with sizes as asked, and its application at
//! its scan; the prober asks both, as a host asks by echo and by the protocol of a controller.
//! `RTETHER_DEVICE=NUMBER` repeats one device and prints what was found.

use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_proto::identify::{
    Costs, Cycle, End, Exchange, Figure, Load, Order, Pace, Prober, Sizes, Span, Unknown,
};
use rtether_testkit::Dice;

use device::{Answers, Bench, Device, path};

mod device;

const SPAN: Span = Span { least: Bytes::new(64), most: Bytes::new(1_518) };
const FREE: Sizes = Sizes::Free { request: SPAN, answer: SPAN };
const SMALLEST: Exchange = Exchange { request: SPAN.least, answer: SPAN.least };

/// What was found of a device.
struct Found {
    costs: Costs,
    cycle: Result<Cycle, Unknown>,
    load: Load,
}

fn find(device: &Device, seed: u64) -> Found {
    let start = Instant::ZERO;
    let mut prober = Prober::quiet(FREE, Pace::default(), seed, start);
    let end = Bench::new(device, Answers::AtOnce, seed).run(&mut prober);
    assert_eq!(end, End::Complete, "{seed} {device:?}");
    let costs = Costs::estimate(prober.observations(), &path());
    let mut prober = Prober::quiet(Sizes::Fixed(SMALLEST), Pace::default(), seed, start);
    let end = Bench::new(device, Answers::AtScan, seed).run(&mut prober);
    assert_eq!(end, End::Complete, "{seed} {device:?}");
    let cycle = Cycle::estimate(prober.observations());
    let mut prober = Prober::load(FREE, Pace::default(), seed, start);
    let end = Bench::new(device, Answers::AtOnce, seed).run(&mut prober);
    let load = Load::estimate(prober.observations(), &path());
    if end != End::Complete { println!("{seed}: {end:?} {load:?}"); }
    Found { costs, cycle, load }
}

/// Counts of one property over all devices.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    devices: u32,
    right: u32,
    held: u32,
    unknown: u32,
}

impl Tally {
    fn note(&mut self, found: Result<Figure, Unknown>, hidden: Duration, tolerance: Duration) {
        self.devices += 1;
        let Ok(figure) = found else {
            self.unknown += 1;
            return;
        };
        let off = (figure.value - hidden).as_ps().abs();
        self.right += u32::from(off <= tolerance.as_ps());
        self.held += u32::from(figure.holds(hidden));
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Tallies {
    fixed: Tally,
    request: Tally,
    answer: Tally,
    octets_strictly: Tally,
    cycle: Tally,
    receive: Tally,
    queue: u32,
    order: u32,
    servers: u32,
    no_cycle: u32,
    false_cycles: u32,
}

fn judge(devices: std::ops::Range<u64>) -> Tallies {
    let mut all = Tallies::default();
    for number in devices {
        let device = Device::draw(&mut Dice::new(number));
        let Found { costs, cycle, load } = find(&device, number);
        let [send, receive] = [device.stack.send, device.stack.receive];
        let fixed = send.base + receive.base;
        all.fixed.note(costs.fixed, fixed, fixed / 20);
        let largest = send.of(SPAN.most) + receive.of(SPAN.most);
        let share = largest / 20 / 1_518;
        all.request.note(costs.request_octet, receive.per_octet, share);
        all.answer.note(costs.answer_octet, send.per_octet, share);
        all.octets_strictly.note(costs.request_octet, receive.per_octet, receive.per_octet / 20);
        all.octets_strictly.note(costs.answer_octet, send.per_octet, send.per_octet / 20);
        let order = if device.has_priority { Order::Priority } else { Order::Arrival };
        let mean = receive.of(SPAN.least) + device.jitter();
        if load.receive.is_ok_and(|own| !own.holds(mean)) {
            println!("RECV {number} {:?} {} {:?}", load.receive, mean.as_us_f64(), device.stack.jitter);
        }
        if load.queue != Ok(device.queue) || load.order != Ok(order) || load.servers != Ok(device.stack.servers) {
            println!("LOAD {number}: {load:?} {:?} {} {} {}", device.stack.servers, device.queue, device.has_priority, mean.as_us_f64());
        }
        all.queue += u32::from(load.queue == Ok(device.queue));
        all.order += u32::from(load.order == Ok(order));
        all.servers += u32::from(load.servers == Ok(device.stack.servers));
        all.receive.note(load.receive, mean, mean / 20);
        if device.cycle > Duration::ZERO {
            let period = cycle.map(|own| own.period);
            all.cycle.note(period, device.cycle, device.cycle / 20);
            if !period.is_ok_and(|p| p.holds(device.cycle)) {
                println!("{number}: {cycle:?} {device:?}");
            }
        } else {
            all.no_cycle += 1;
            all.false_cycles += u32::from(cycle.is_ok());
        }
        if std::env::var_os("RTETHER_DEVICE").is_some() {
            println!("{number}: {device:?}\n  {costs:?}\n  {cycle:?}");
        }
    }
    all
}

/// Oracle: what the device hides.
#[test]
fn a_few_devices_are_found() {
    let all = judge(0..4);
    println!("{all:?}");
}

/// Oracle: what the device hides.
#[test]
#[ignore = "long"]
fn two_hundred_devices_are_found() {
    let all = judge(0..200);
    println!("{all:#?}");
}
