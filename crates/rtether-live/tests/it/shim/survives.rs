//! A shim that is killed or hangs, and a link that goes down.

use super::*;

/// A process that hosts a shim at the near host.
struct Hosted(Child);

impl Hosted {
    const NAMESPACE: &str = "RTETHER_TEST_SHIM";

    fn start(wire: &Wire) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "shim::survives::hosted", "--nocapture"])
            .env(Self::NAMESPACE, wire.near.name())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let this = Self(child);
        let up = lines.map_while(Result::ok).find(|line| line == "up");
        assert!(up.is_some(), "the shim is not up");
        std::thread::sleep(Sleep::from_millis(20));
        this
    }

    fn signal(&self, name: &str) {
        rtether_live::namespace::run(&format!("kill -{name} {}", self.0.id())).unwrap();
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test, but the process that other tests start.
#[test]
fn hosted() {
    let Ok(namespace) = std::env::var(Hosted::NAMESPACE) else {
        return;
    };
    enter(&namespace).unwrap();
    let mut shim = Shim::up(DEVICE, settings(receiving(ReceiveSelection::HighestFirst), 100));
    println!("\nup");
    shim.as_mut().unwrap().run().unwrap();
}

/// Sends datagrams to the far host and back while `work` runs; returns the longest time without any
/// since its start.
fn longest_silence(wire: &Wire, work: impl FnOnce()) -> Sleep {
    // Address resolution is retried only once a second.
    assert_eq!(echo(wire, 1, 1), 1);
    let far = udp(&wire.far, (FAR, PORT));
    let near = udp(&wire.near, (NEAR, PORT));
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let silence = scope.spawn(|| {
            let (mut last, mut longest) = (Time::now(), Sleep::ZERO);
            let mut buffer = [0; 100];
            while !stop.load(Ordering::Relaxed) {
                // If there is no room for more, these are enough.
                let _ = near.send_to(b"x", (FAR, PORT));
                std::thread::sleep(Sleep::from_millis(1));
                while let Ok((_, peer)) = far.recv_from(&mut buffer) {
                    let _ = far.send_to(b"y", peer);
                }
                while near.recv(&mut buffer).is_ok() {
                    longest = longest.max(last.elapsed());
                    last = Time::now();
                }
            }
            longest.max(last.elapsed())
        });
        work();
        stop.store(true, Ordering::Relaxed);
        silence.join().unwrap()
    })
}

/// Oracle: round trips, which resume within a second regardless of the shim. [`restore`] removes
/// what a killed one leaves behind.
#[test]
fn a_shim_that_is_killed_or_hangs_is_passed_by() {
    let Some(wire) = quiet_wire() else { return };
    let before = state(&wire.near);
    let second = Sleep::from_secs(1);
    let shim = Hosted::start(&wire);
    assert_ne!(state(&wire.near), before);
    let hanging = longest_silence(&wire, || {
        shim.signal("STOP");
        std::thread::sleep(second);
        shim.signal("CONT");
        std::thread::sleep(second / 5);
    });
    assert!(hanging < second, "{hanging:?}");
    let killed = longest_silence(&wire, || {
        drop(shim);
        std::thread::sleep(second);
    });
    assert!(killed < second, "{killed:?}");
    println!("silence: {hanging:?} when it hangs, {killed:?} when it is killed");
    assert_ne!(state(&wire.near), before, "the filters are still there");
    inside(&wire.near, || restore(DEVICE).unwrap());
    assert_eq!(state(&wire.near), before);
    inside(&wire.near, || restore(DEVICE).unwrap());
    // The next one removes what it finds.
    drop(Hosted::start(&wire));
    with_shim_after(&wire, &before);
}

fn with_shim_after(wire: &Wire, before: &str) {
    let (came_back, _) =
        shimmed(&wire.near, DEVICE, settings(layer(), 100), |_| echo(wire, 10, 100));
    assert_eq!(came_back, 10);
    assert_eq!(state(&wire.near), before);
}

/// Oracle: the stacks, on a link that goes down and up and changes its MTU.
#[test]
fn the_link_may_go_down_and_up_and_change_its_mtu() {
    let Some(wire) = quiet_wire() else { return };
    let receiving = receiving(ReceiveSelection::HighestFirst);
    let ((), status) = with_shim(&wire, settings(receiving, 1_000), |_| {
        assert_eq!(echo(&wire, 5, 1_472), 5);
        for host in [&wire.near, &wire.far] {
            host.run(&format!("ip link set {DEVICE} down")).unwrap();
            host.run(&format!("ip link set {DEVICE} up")).unwrap();
            wire.wait_for_carrier().unwrap();
            assert_eq!(echo(&wire, 5, 1_472), 5);
        }
        let set_mtu = |mtu: u32| {
            for host in [&wire.near, &wire.far] {
                host.run(&format!("ip link set {DEVICE} mtu {mtu}")).unwrap();
            }
        };
        set_mtu(9_000);
        let before = received(&wire.far);
        assert_eq!(echo(&wire, 5, 8_972), 5);
        // In one piece, except for address resolution.
        assert!(received(&wire.far) - before <= 7);
        set_mtu(1_500);
        assert_eq!(echo(&wire, 5, 8_972), 5);
    });
    assert_eq!(status.drops.port_refused, 0, "{status:?}");
}
