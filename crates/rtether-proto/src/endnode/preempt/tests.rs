use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

const MICROSECOND: Duration = Duration::from_us(1);

fn at(us: i64) -> Instant {
    Instant::ZERO + MICROSECOND * us
}

/// Instances whose events are drained and whose invariants are checked after each call.
struct Host<F> {
    engine: StackInstances<F>,
    events: Vec<Event<F>>,
    done: Vec<(i64, F)>,
}

impl<F> Host<F> {
    fn new(limits: &[u32]) -> Self {
        Self { engine: StackInstances::new(limits).unwrap(), events: Vec::new(), done: Vec::new() }
    }

    /// A frame arrives, after completions that are due before it.
    fn arrive(&mut self, us: i64, frame: F, class: u8, cost_us: i64) {
        self.run_until(us);
        let cost = MICROSECOND * cost_us;
        self.engine.handle_frame(at(us), frame, class, cost);
        self.settle(at(us));
    }

    /// Handles completions up to a time.
    fn run_until(&mut self, us: i64) {
        while let Some((due, _)) = self.engine.poll_timeout().filter(|(due, _)| *due <= at(us)) {
            let frame = self.engine.handle_timeout(due).unwrap();
            self.done.push((due.as_ps() / 1_000_000, frame));
            self.settle(due);
        }
    }

    fn settle(&mut self, now: Instant) {
        self.events.extend(core::iter::from_fn(|| self.engine.poll_event()));
        self.engine.invariants(now);
    }
}

#[test]
fn the_higher_class_interrupts() {
    // Oracle: catalogue S7, by hand; times in us. l runs 0..40 and 90..150, m 40..50 and 80..90,
    // h 50..80.
    let mut host = Host::new(&[4, 4, 4]);
    host.arrive(0, "l", 0, 100);
    host.arrive(40, "m", 1, 20);
    host.arrive(50, "h", 2, 30);
    host.run_until(1000);
    assert_eq!(host.done, [(80, "h"), (90, "m"), (150, "l")]);
    let preempted = |class, by| Event::Preempted { class, by };
    assert_eq!(host.events, [preempted(0, 1), preempted(1, 2)]);
    assert_eq!(host.engine.preemptions(), 2);
    assert_eq!(host.engine.busy(), MICROSECOND * 150);
    assert_eq!(host.engine.running(), None);
    // Waiting time excluding service: l 50, m 30, h 0.
    let waited = [0, 1, 2].map(|class| host.engine.stats(class).waited_ps / 1_000_000);
    assert_eq!(waited, [50, 30, 0]);
}

#[test]
fn equals_and_lower_classes_wait() {
    // Oracle: catalogue S7, by hand.
    let mut host = Host::new(&[4, 4]);
    host.arrive(0, "h1", 1, 10);
    host.arrive(1, "l", 0, 10);
    host.arrive(2, "h2", 1, 10);
    host.run_until(1000);
    assert_eq!(host.done, [(10, "h1"), (20, "h2"), (30, "l")]);
    assert_eq!(host.events, []);
}

#[test]
fn an_interrupted_frame_goes_before_its_equals() {
    // Oracle: catalogue S7, by hand: l1 has 6 us left when h ends.
    let mut host = Host::new(&[4, 4]);
    host.arrive(0, "l1", 0, 10);
    host.arrive(3, "l2", 0, 10);
    host.arrive(4, "h", 1, 5);
    host.run_until(1000);
    assert_eq!(host.done, [(9, "h"), (15, "l1"), (25, "l2")]);
}

#[test]
fn a_frame_that_is_done_is_not_interrupted() {
    // Oracle: decision on equal times: the completion comes first, even if the host is late.
    let mut host = Host::new(&[4, 4]);
    host.engine.handle_frame(at(0), "l", 0, MICROSECOND * 10);
    host.engine.handle_frame(at(10), "h", 1, MICROSECOND * 5);
    host.engine.invariants(at(10));
    assert_eq!(host.engine.poll_timeout(), Some((at(10), Timeout::Completion)));
    host.run_until(1000);
    assert_eq!(host.done, [(10, "l"), (15, "h")]);
    assert_eq!(host.engine.preemptions(), 0);
}

#[test]
fn early_calls_and_frames_without_cost() {
    // Oracle: by hand.
    let mut host = Host::new(&[4, 4]);
    assert_eq!(host.engine.handle_timeout(at(0)), None);
    host.arrive(0, "l", 0, 10);
    assert_eq!(host.engine.handle_timeout(at(9)), None);
    host.engine.handle_frame(at(9), "h", 1, MICROSECOND * -1);
    assert_eq!(host.engine.poll_timeout(), Some((at(9), Timeout::Completion)));
    host.events.extend(host.engine.poll_event());
    host.run_until(1000);
    assert_eq!(host.done, [(9, "h"), (10, "l")]);
}

#[test]
fn full_instances_drop_the_tail_and_give_it_back() {
    // Oracle: by hand: one frame in service and one waiting.
    let mut host = Host::new(&[2, 2]);
    for frame in ["a", "b", "c"] {
        host.arrive(0, frame, 0, 10);
    }
    let dropped = Event::Dropped { frame: "c", class: 0, place: QueueKind::Queue };
    assert_eq!(host.events, [dropped]);
    assert_eq!(host.engine.stats(0).dropped, 1);
    assert_eq!(host.engine.waiting(), 2);
}

proptest! {
    #[test]
    fn agrees_with_a_schedule_made_slot_by_slot(
        arrivals in proptest::collection::vec((0_i64..12, 0_u8..4, 1_i64..15), 1..60),
    ) {
        // Oracle: each microsecond of processor time goes to the first frame of the highest class,
        // found by searching one list.
        let mut host = Host::new(&[100; 4]);
        let mut list: Vec<(i64, u8, usize, i64)> = Vec::new();
        let mut now = 0;
        for (number, &(pause, class, cost)) in arrivals.iter().enumerate() {
            now += pause;
            host.arrive(now, number, class, cost);
            list.push((now, class, number, cost));
        }
        let end = now + arrivals.iter().map(|arrival| arrival.2).sum::<i64>();
        host.run_until(end);
        let mut expected = Vec::new();
        for slot in 0..end {
            let ready = list.iter_mut().filter(|job| job.0 <= slot && job.3 > 0);
            if let Some(job) = ready.max_by_key(|job| (job.1, usize::MAX - job.2)) {
                job.3 -= 1;
                if job.3 == 0 {
                    expected.push((slot + 1, job.2));
                }
            }
        }
        prop_assert_eq!(&host.done, &expected);
        prop_assert_eq!(host.engine.waiting(), 0);
        let total = arrivals.iter().map(|arrival| MICROSECOND * arrival.2).sum();
        prop_assert_eq!(host.engine.busy(), total);
    }
}
