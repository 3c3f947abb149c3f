use rtether_model::network::Selection;

use super::*;

const RATE: BitRate = BitRate::from_mbps(100);
const US: i64 = 1_000_000;

/// Oldest frame of each queue, octets; zero without a frame. All are here from the start.
struct Heads([u32; 2]);

impl Waiting for Heads {
    fn has_frame(&self, queue: u8) -> bool {
        self.head_size(queue) > 0
    }

    fn head_size(&self, queue: u8) -> u32 {
        self.0[usize::from(queue)]
    }

    fn head_since(&self, _: u8) -> Instant {
        Instant::ZERO
    }
}

/// Ends of the windows, picoseconds.
struct Ends([Option<i64>; 2]);

impl Windows for Ends {
    fn end(&self, queue: u8) -> Option<Instant> {
        self.0[usize::from(queue)].map(Instant::from_ps)
    }
}

/// Returns the first decision of a port with two queues, at `now` picoseconds.
fn first(
    selection: Selection,
    rate: Option<BitRate>,
    now: i64,
    heads: [u32; 2],
    ends: [Option<i64>; 2],
) -> Decision {
    let mut port = Selector::new(&PortPlan::new(selection, 2), rate);
    port.poll(Instant::from_ps(now), &Ends(ends), &Heads(heads))
}

/// Every selection that uses queues, where both may send.
fn selections() -> [Selection; 6] {
    let weights = [1; 8];
    let mut above = [RATE; 8];
    above[0] = BitRate::default();
    [
        Selection::StrictPriority,
        Selection::Wrr { weights },
        Selection::StrictWrr { weights },
        Selection::Drr { quanta: [1_522; 8] },
        Selection::Cbs { idle_slopes: [RATE; 8] },
        Selection::CbsDrr { idle_slopes: above, quanta: [1_522; 8] },
    ]
}

/// Oracle: by hand. 1518 octets and the preamble take 122.08 us at 100 Mbit/s; the gap may follow
/// the window. A lower queue may use what is left, and a closed one may not.
#[test]
fn a_frame_begins_if_its_window_lasts() {
    const LAST: i64 = 377_920_000;
    const END: i64 = 500 * US;
    let (only, both) = ([0, 1_518], [64, 1_518]);
    for (now, heads, ends, expected) in [
        (LAST, only, [None, Some(END)], Decision::Send(1)),
        (LAST + 1, only, [None, Some(END)], Decision::Empty),
        (LAST + 1, only, [None; 2], Decision::Send(1)),
        (LAST, both, [Some(END); 2], Decision::Send(1)),
        (LAST + 1, both, [Some(END); 2], Decision::Send(0)),
        (LAST, both, [None, Some(LAST)], Decision::Send(0)),
        (END, both, [Some(END); 2], Decision::Empty),
    ] {
        for selection in selections() {
            let decision = first(selection, Some(RATE), now, heads, ends);
            assert_eq!(decision, expected, "{selection:?} at {now} ps, {heads:?}, {ends:?}");
        }
    }
}

/// Oracle: by hand. Above a ring only the time counts, since others are on the line first.
#[test]
fn above_a_ring_a_window_is_open_or_closed() {
    for (now, expected) in [(5 * US, Decision::Send(1)), (5 * US + 1, Decision::Empty)] {
        let ends = [Some(5 * US); 2];
        assert_eq!(first(Selection::StrictPriority, None, now, [64, 1_518], ends), expected);
    }
}
