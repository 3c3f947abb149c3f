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

fn selector(selection: Selection, rate: Option<BitRate>) -> Selector {
    Selector::new(&PortPlan::new(selection, 2), rate)
}

/// Every selection that uses queues, where both may send.
fn selections() -> [Selection; 5] {
    let weights = [1; 8];
    [
        Selection::StrictPriority,
        Selection::Wrr { weights },
        Selection::StrictWrr { weights },
        Selection::Drr { quanta: [1_522; 8] },
        Selection::Cbs { idle_slopes: [RATE; 8] },
    ]
}

/// Oracle: by hand. 1518 octets and the preamble take 122.08 us at 100 Mbit/s; the gap may follow
/// the window.
#[test]
fn a_frame_begins_if_its_window_lasts() {
    let (start, end) = (377_920_000, 500 * US);
    for selection in selections() {
        let at = |now: i64, heads: [u32; 2], ends: [Option<i64>; 2]| {
            // Fresh, since each decision is about the first frame.
            let mut port = selector(selection, Some(RATE));
            port.poll(Instant::from_ps(now), &Ends(ends), &Heads(heads))
        };
        let only = [0, 1_518];
        assert_eq!(at(start, only, [None, Some(end)]), Decision::Send(1), "{selection:?}");
        assert_eq!(at(start + 1, only, [None, Some(end)]), Decision::Empty, "{selection:?}");
        assert_eq!(at(start + 1, only, [None; 2]), Decision::Send(1), "{selection:?}");
        // A lower queue may use what is left, and a closed one may not.
        let both = [64, 1_518];
        assert_eq!(at(start + 1, both, [Some(end); 2]), Decision::Send(0), "{selection:?}");
        assert_eq!(at(start, both, [Some(end); 2]), Decision::Send(1), "{selection:?}");
        assert_eq!(at(start, both, [None, Some(start)]), Decision::Send(0), "{selection:?}");
        assert_eq!(at(end, both, [Some(end); 2]), Decision::Empty, "{selection:?}");
    }
}

/// Oracle: by hand. Above a ring only the time counts, since others are on the line first.
#[test]
fn above_a_ring_a_window_is_open_or_closed() {
    let mut port = selector(Selection::StrictPriority, None);
    let mut at =
        |now| port.poll(Instant::from_ps(now), &Ends([Some(5 * US); 2]), &Heads([64, 1_518]));
    assert_eq!(at(5 * US), Decision::Send(1));
    assert_eq!(at(5 * US + 1), Decision::Empty);
}
