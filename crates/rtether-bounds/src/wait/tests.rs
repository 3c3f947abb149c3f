use super::*;
use crate::index::NONE;
use alloc::vec;

fn load(cost: i64, period: i64) -> Load {
    Load::periodic(cost, period)
}

fn wait_of(base: i64, own: &[Load], higher: &[Load], cost: i64) -> i64 {
    let (mut own, mut higher) = (own.to_vec(), higher.to_vec());
    let mut class =
        Class { base, own: &mut own, higher: &mut higher, costs: &[cost], is_whole: false };
    waits(&mut class).unwrap()[0]
}

#[test]
fn the_example_of_davis_2007() {
    // Oracle: Davis, Burns, Bril and Lukkien, "Controller Area Network (CAN) schedulability
    // analysis: refuted, revisited and revised", Real-Time Systems 35 (2007), 3: three messages of
    // 1 ms with periods 2.5, 3.5 and 3.5 ms have response times 2, 3 and 3.5 ms; the third is worst
    // in its second instance.
    let ms = 1_000_000_000;
    let [a, b, c] = [5, 7, 7].map(|half| load(ms, half * ms / 2));
    let response = |base, own, higher: &[Load]| wait_of(base, &[own], higher, ms) + ms;
    assert_eq!(response(ms, a, &[]), 2 * ms);
    assert_eq!(response(ms, b, &[a]), 3 * ms);
    assert_eq!(response(0, c, &[a, b]), 7 * ms / 2);
}

#[test]
fn fifo_by_hand() {
    // Packets of 3 and 5 ps at once: the small one waits 5, the large one 3.
    let mut loads = vec![load(3, 100), load(5, 100)];
    assert_eq!(backlog(&mut loads), Ok(8));
    // Two packets of 6 every 10 ps exceed the capacity.
    let mut loads = vec![load(6, 10), load(6, 10)];
    assert_eq!(backlog(&mut loads), Err(Unbounded::Overload(1_200_001)));
}

#[test]
fn the_wait_behind_one_link_is_one_packet() {
    // Four flows of 10 ps from one link of the same rate: a packet follows its predecessor.
    let one = Load { group: 1, ratio: ONE, ..load(10, 1_000) };
    assert_eq!(backlog(&mut [one; 4]), Ok(10));
    // From two links: one more packet for the time of each other packet.
    let mut loads = [one; 4];
    loads[2].group = 2;
    loads[3].group = 2;
    assert_eq!(backlog(&mut loads), Ok(30));
}

#[test]
fn a_packet_may_arrive_after_a_higher_one_from_the_same_link() {
    // By hand: the link before is ten times as fast. The higher packet (90 ps) arrives, and 10 ps
    // later the own one (100 ps), which waits for the remaining 80 ps. The line alone would allow a
    // wait of all 90. The curves know only that it comes a picosecond later.
    let one = |cost| Load { group: 1, ratio: 10 * ONE, ..load(cost, 10_000) };
    let wait = wait_of(0, &[one(100)], &[one(90)], 100);
    assert_eq!(wait, 89);
}

#[test]
fn a_class_without_limit_says_who_it_is() {
    let endless = Load { jitter: crate::source::INFINITE, visit: 7, ..load(10, 1_000) };
    assert_eq!(backlog(&mut [load(5, 100), endless]), Err(Unbounded::Visit(7)));
    // Behind a slow link it does little harm.
    let behind = Load { group: 3, ratio: ONE / 10, ..endless };
    assert_eq!(backlog(&mut [load(5, 100), behind]), Ok(15));
}

/// Returns the longest wait by trying every arrival and every beginning of service.
fn wait_of_any(base: i64, own: &[Load], higher: &[Load], cost: i64) -> i64 {
    let (mut own, mut higher) = (own.to_vec(), higher.to_vec());
    let mut class =
        Class { base, own: &mut own, higher: &mut higher, costs: &[cost], is_whole: false };
    let pairs = pair_up(&mut class);
    let horizon = 20_000;
    let levels: Vec<Level> = pairs.iter().map(|p| p.level(&class, horizon)).collect();
    let work = |t: i64, s: i64, cost: i64| {
        let each = levels.iter().map(|level| level.at(t, s));
        round_up(each.sum::<i128>() + i128::from(base - cost) * ONE)
    };
    let (mut longest, mut end, mut t) = (0, 0, 0);
    while t <= end {
        let begin = (t..horizon).find(|&s| work(t, s, cost) <= s).unwrap();
        longest = longest.max(begin - t);
        // The busy period ends within the horizon.
        end = (end.max(t)..horizon).find(|&s| work(t, s, 0) <= s).unwrap();
        t += 1;
    }
    longest
}

#[test]
fn lines_and_priorities_are_exact() {
    // Oracle: all arrivals and all beginnings of service, one after the other.
    let mut state = 1u64;
    let mut draw = |from: i64, to: i64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        from + i64::try_from(state % u64::try_from(to - from + 1).unwrap()).unwrap()
    };
    let mut with_lines = 0;
    for number in 0..400 {
        let mut some = |most: i64| -> Vec<Load> {
            let count = draw(1, most);
            let one = (0..count).map(|_| {
                let cost = draw(1, 40);
                let group = if draw(0, 3) == 0 { NONE } else { u32::try_from(draw(1, 3)).unwrap() };
                let ratio = [ONE / 3, ONE, ONE, ONE * 5 / 2, ONE * 10];
                Load {
                    burst: draw(1, 3),
                    packets: 3,
                    jitter: draw(0, 1) * draw(0, 900),
                    group,
                    ratio: ratio[usize::try_from(draw(0, 4)).unwrap()],
                    slack: draw(0, 1) * draw(0, 30),
                    ..load(cost, draw(40, 60) * cost)
                }
            });
            one.collect()
        };
        let (own, higher) = (some(5), some(4));
        let base = draw(0, 50);
        let cost = own.iter().map(|load| load.cost).min().unwrap();
        let grouped = |loads: &[Load]| loads.iter().any(|load| load.group != NONE);
        with_lines += usize::from(grouped(&own));
        let found = wait_of(base, &own, &higher, cost);
        assert_eq!(found, wait_of_any(base, &own, &higher, cost), "{number}");
    }
    assert!(with_lines > 250, "{with_lines}");
}
