use super::*;
use crate::tcp::{CongestionControl, Counting, InitialWindow};
use std::vec::Vec;

const MSS: u64 = 1_460;

fn at_ms(ms: i64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

fn ack(ack: u64) -> Segment {
    Segment {
        seq: 1,
        ack,
        window: 65_535,
        flags: Flags { ack: true, ..Flags::default() },
        ..Segment::default()
    }
}

/// Returns the acknowledgement of the first `segments` segments.
fn ack_of(segments: u64) -> Segment {
    ack(1 + segments * MSS)
}

fn drain(sender: &mut Sender, now: Instant) -> Vec<Segment> {
    core::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

/// Returns the indices of the segments sent, counted from 0.
fn sent(sender: &mut Sender, now: Instant) -> Vec<u64> {
    drain(sender, now).iter().map(|s| (s.seq - 1) / MSS).collect()
}

/// A sender established at 10 ms, with a round-trip time of 10 ms and `size` octets to send.
fn established(config: Config, size: u64) -> Sender {
    let mut sender = Sender::new(config);
    sender.open(at_ms(0));
    sender.write(at_ms(0), Bytes::new(size));
    let syn = drain(&mut sender, at_ms(0));
    assert_eq!(syn.len(), 1);
    assert!(syn[0].flags.syn && !syn[0].flags.ack);
    sender.handle_segment(at_ms(10), &syn_ack());
    assert_eq!(sender.state(), State::Established);
    sender
}

fn syn_ack() -> Segment {
    Segment { seq: 0, flags: Flags { syn: true, ack: true, fin: false }, ..ack(1) }
}

fn window_segments(sender: &Sender) -> u64 {
    sender.statistics().congestion_window.get() / MSS
}

#[test]
fn a_short_transfer_from_syn_to_fin() {
    let mut s = established(Config::default(), 2_000);
    s.finish();
    assert_eq!(s.statistics().smoothed_rtt, Some(Duration::from_ms(10)));
    let segments = drain(&mut s, at_ms(10));
    let shape: Vec<_> = segments.iter().map(|s| (s.seq, s.len, s.flags.fin)).collect();
    assert_eq!(shape, [(1, 1_460, false), (1_461, 540, true)]);
    // 1 + 2000 + FIN.
    s.handle_segment(at_ms(20), &ack(2_002));
    assert_eq!((s.state(), s.poll_timeout()), (State::Done, None));
    assert_eq!(s.statistics().bytes_acked, Bytes::new(2_000));
    assert!(s.is_done());
}

#[test]
fn an_empty_connection_sends_the_third_segment_of_the_handshake() {
    let mut s = established(Config::default(), 0);
    let segments = drain(&mut s, at_ms(10));
    assert_eq!(segments.len(), 1);
    assert!(segments[0].is_pure_ack());
    assert_eq!(s.poll_timeout(), None);
    // The SYN-ACK comes again and is acknowledged again.
    s.handle_segment(at_ms(11), &syn_ack());
    assert_eq!(drain(&mut s, at_ms(11)).len(), 1);
}

#[test]
fn a_lost_syn_is_sent_again_and_leaves_its_marks() {
    let mut s = Sender::new(Config::default());
    s.open(at_ms(0));
    s.write(at_ms(0), Bytes::new(100 * MSS));
    assert_eq!(drain(&mut s, at_ms(0)).len(), 1);
    // 1 s, then 2 s.
    for at in [1_000, 3_000] {
        assert_eq!(s.poll_timeout(), Some(at_ms(at)));
        s.handle_timeout(at_ms(at));
        assert!(drain(&mut s, at_ms(at))[0].flags.syn);
    }
    s.handle_segment(at_ms(3_010), &syn_ack());
    // Karn: no measurement. RFC 6298, 5.7: the RTO of 4 s is above 3 s already.
    assert_eq!(s.statistics().smoothed_rtt, None);
    assert_eq!(s.statistics().rto, Duration::from_secs(4));
    // RFC 6928: more than one SYN lost, one segment.
    assert_eq!(sent(&mut s, at_ms(3_010)), [0]);
}

#[test]
fn slow_start_doubles_each_round() {
    let mut s = established(Config::default(), 1_000 * MSS);
    assert_eq!(sent(&mut s, at_ms(10)).len(), 10);
    // The receiver acknowledges every second segment; each releases four.
    for round in 1..=2_u64 {
        let (first, count) = if round == 1 { (0, 10) } else { (10, 20) };
        for pair in (first..first + count).step_by(2) {
            let now = at_ms(10 + 10 * i64::try_from(round).unwrap());
            s.handle_segment(now, &ack_of(pair + 2));
            assert_eq!(sent(&mut s, now).len(), 4);
        }
        assert_eq!(window_segments(&s), 10 << round);
    }
}

#[test]
fn the_receiver_window_limits_and_stops_growth() {
    let mut s = Sender::new(Config::default());
    s.open(at_ms(0));
    s.write(at_ms(0), Bytes::new(1_000 * MSS));
    drain(&mut s, at_ms(0));
    s.handle_segment(at_ms(10), &Segment { window: 7_300, ..syn_ack() });
    // 7300 octets hold five segments.
    assert_eq!(sent(&mut s, at_ms(10)), [0, 1, 2, 3, 4]);
    for n in 1..100 {
        s.handle_segment(at_ms(20), &ack_of(n));
        assert_eq!(sent(&mut s, at_ms(20)), [n + 4]);
    }
    assert_eq!(window_segments(&s), 10);
}

#[test]
fn one_loss_is_repaired_by_fast_retransmit() {
    let mut s = established(Config::default(), 1_000 * MSS);
    assert_eq!(sent(&mut s, at_ms(10)).len(), 10);
    // Segment 0 is lost; 1 and 2 cause duplicates that release two new segments (RFC 3042).
    s.handle_segment(at_ms(20), &ack_of(0));
    assert_eq!(sent(&mut s, at_ms(20)), [10]);
    s.handle_segment(at_ms(20), &ack_of(0));
    assert_eq!(sent(&mut s, at_ms(20)), [11]);
    // The third: threshold 10 / 2 = 5, window 5 + 3 = 8 < 12 in flight.
    s.handle_segment(at_ms(20), &ack_of(0));
    assert_eq!(sent(&mut s, at_ms(20)), [0]);
    assert_eq!((s.statistics().fast_retransmits, window_segments(&s)), (1, 8));
    // Duplicates of 4 to 9, then of 10 and 11: window 14 and 16; 12 are in flight.
    for _ in 4..8 {
        s.handle_segment(at_ms(20), &ack_of(0));
        assert_eq!(sent(&mut s, at_ms(20)), [] as [u64; 0]);
    }
    for new in [12, 13] {
        s.handle_segment(at_ms(20), &ack_of(0));
        assert_eq!(sent(&mut s, at_ms(20)), [new]);
    }
    // Everything up to the twelve sent when the loss was noticed: min(5, 2 + 1) = 3 segments.
    s.handle_segment(at_ms(30), &ack_of(12));
    assert_eq!(window_segments(&s), 3);
    assert_eq!(sent(&mut s, at_ms(30)), [14]);
    let statistics = s.statistics();
    assert_eq!(statistics.slow_start_threshold, Some(Bytes::new(5 * MSS)));
    assert_eq!((statistics.retransmissions, statistics.timeouts), (1, 0));
}

#[test]
fn partial_acknowledgements_repair_one_hole_a_round() {
    let mut s = established(Config::default(), 10 * MSS);
    assert_eq!(sent(&mut s, at_ms(10)).len(), 10);
    // 0, 3 and 6 are lost.
    for _ in 0..3 {
        s.handle_segment(at_ms(20), &ack_of(0));
    }
    assert_eq!(sent(&mut s, at_ms(20)), [0]);
    s.handle_segment(at_ms(30), &ack_of(3));
    assert_eq!(sent(&mut s, at_ms(30)), [3]);
    // The first partial acknowledgement restarts the timer, the second does not (RFC 6582, 4).
    let timer = s.poll_timeout();
    assert_eq!(timer, Some(at_ms(230)));
    s.handle_segment(at_ms(40), &ack_of(6));
    assert_eq!(sent(&mut s, at_ms(40)), [6]);
    assert_eq!(s.poll_timeout(), timer);
    s.handle_segment(at_ms(50), &ack_of(10));
    assert_eq!(s.statistics().fast_retransmits, 1);
    assert_eq!(s.poll_timeout(), None);
}

#[test]
fn timeouts_back_off_and_go_back() {
    let mut s = established(Config::default(), 100 * MSS);
    assert_eq!(sent(&mut s, at_ms(10)).len(), 10);
    // RTT 10 ms: RTO 30 ms, raised to 200; then 400, 800.
    for at in [210, 610, 1_410] {
        assert_eq!(s.poll_timeout(), Some(at_ms(at)));
        s.handle_timeout(at_ms(at));
        assert_eq!(sent(&mut s, at_ms(at)), [0]);
        assert_eq!(window_segments(&s), 1);
        // Halved once for the one loss.
        assert_eq!(s.statistics().slow_start_threshold, Some(Bytes::new(5 * MSS)));
    }
    // 1 to 4 had arrived: go on at 5, with 1 + 1 segments (RFC 3465, 2.3).
    s.handle_segment(at_ms(1_420), &ack_of(5));
    assert_eq!(sent(&mut s, at_ms(1_420)), [5, 6]);
    // Karn: the RTO stays backed off until a segment sent once is measured.
    assert_eq!(s.poll_timeout(), Some(at_ms(1_420 + 1_600)));
    // Duplicates of segments sent before the timeout do not prove a loss.
    for _ in 0..3 {
        s.handle_segment(at_ms(1_421), &ack_of(5));
    }
    assert_eq!(s.statistics().fast_retransmits, 0);
}

#[test]
fn it_gives_up_after_the_last_retry() {
    let mut s = established(Config { max_retries: 2, ..Config::default() }, MSS);
    drain(&mut s, at_ms(10));
    for _ in 0..3 {
        let at = s.poll_timeout().unwrap();
        s.handle_timeout(at);
        drain(&mut s, at);
    }
    assert_eq!((s.state(), s.poll_timeout()), (State::Failed, None));
    assert!(s.is_done());
}

#[test]
fn nagle_holds_small_segments_back() {
    let mut s = established(Config::default(), 100);
    assert_eq!(drain(&mut s, at_ms(10)).len(), 1);
    s.write(at_ms(11), Bytes::new(100));
    assert_eq!(s.poll_transmit(at_ms(11)), None);
    s.handle_segment(at_ms(20), &ack(101));
    assert_eq!(drain(&mut s, at_ms(20))[0].len, 100);
    // Full segments go; a tail goes when nothing follows it.
    s.write(at_ms(21), Bytes::new(MSS + 1));
    let lens: Vec<_> = drain(&mut s, at_ms(21)).iter().map(|s| s.len).collect();
    assert_eq!(lens, [1_460]);
    s.finish();
    let lens: Vec<_> = drain(&mut s, at_ms(21)).iter().map(|s| (s.len, s.flags.fin)).collect();
    assert_eq!(lens, [(1, true)]);

    let mut s = established(Config { nagle: false, ..Config::default() }, 100);
    assert_eq!(drain(&mut s, at_ms(10)).len(), 1);
    s.write(at_ms(11), Bytes::new(100));
    assert_eq!(drain(&mut s, at_ms(11)).len(), 1);
}

#[test]
fn an_idle_connection_restarts_slowly() {
    let config = Config { initial_window: InitialWindow::Rfc3390, ..Config::default() };
    let mut s = established(config, 100 * MSS);
    let mut acked = 0;
    while acked < 100 {
        acked += u64::try_from(sent(&mut s, at_ms(20)).len()).unwrap();
        s.handle_segment(at_ms(20), &ack_of(acked));
    }
    assert!(window_segments(&s) > 3);
    // RTO 200 ms: not yet idle for longer at 220 ms; at 221 ms three segments again.
    let mut prompt = s.clone();
    prompt.write(at_ms(220), Bytes::new(50 * MSS));
    assert!(sent(&mut prompt, at_ms(220)).len() > 3);
    s.write(at_ms(221), Bytes::new(50 * MSS));
    assert_eq!(sent(&mut s, at_ms(221)).len(), 3);
}

#[test]
fn without_congestion_control_losses_are_repaired_at_full_rate() {
    let config = Config {
        congestion_control: CongestionControl::None,
        counting: Counting::Acknowledgements,
        ..Config::default()
    };
    let mut s = established(config, 1_000 * MSS);
    // 65535 / 1460 = 44.9: 44 full segments.
    assert_eq!(sent(&mut s, at_ms(10)).len(), 44);
    for _ in 0..3 {
        s.handle_segment(at_ms(20), &ack_of(0));
    }
    assert_eq!(sent(&mut s, at_ms(20)), [0]);
    s.handle_segment(at_ms(30), &ack_of(44));
    assert_eq!(sent(&mut s, at_ms(30)).len(), 44);
}

#[test]
fn impossible_acknowledgements_are_ignored() {
    let mut s = established(Config::default(), 10 * MSS);
    drain(&mut s, at_ms(10));
    s.handle_segment(at_ms(20), &ack_of(11));
    assert_eq!(s.statistics().bytes_acked, Bytes::ZERO);
    s.handle_segment(at_ms(20), &ack_of(10));
    s.handle_segment(at_ms(20), &ack_of(5));
    assert_eq!(s.statistics().bytes_acked, Bytes::new(10 * MSS));
}
