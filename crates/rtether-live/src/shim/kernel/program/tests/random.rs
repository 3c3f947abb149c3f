//! Random frames and rules.

use super::*;

/// Pseudo-random number generator (xorshift, 64 bits).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn octet(&mut self) -> u8 {
        self.next().to_be_bytes()[3]
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const PROTOCOLS: [u8; 14] = [1, 6, 17, 33, 132, 136, 58, 2, 50, 47, 89, 59, 41, 255];
const EXTENSIONS: [u8; 8] = [0, 43, 44, 51, 60, 135, 139, 140];
const TOS: [u8; 6] = [0, 0xB8, 0xB9, 0x10, 0x28, 0xFF];
const PORTS: [u16; 6] = [0, 80, 7400, 7401, 0xFFFE, 0xFFFF];

fn address_v4(random: &mut Random) -> Ipv4Addr {
    Ipv4Addr::new(
        random.pick(&[10, 10, 192]),
        random.pick(&[0, 128, 168]),
        random.pick(&[0, 7]),
        random.pick(&[1, 2, 129, 255]),
    )
}

/// Few distinct addresses, so that long prefixes match too; they differ in any of the four words.
fn address_v6(random: &mut Random) -> Ipv6Addr {
    let word = random.below(5);
    let bit = random.pick(&[0, 1, 31]);
    let base = 0xFE80_0000_0000_0001_0002_0003_0000_0005_u128;
    let change = 1_u128.checked_shl(u32::try_from(32 * word + bit).unwrap());
    Ipv6Addr::from_bits(base ^ change.unwrap_or(0))
}

fn ports(random: &mut Random, into: &mut Vec<u8>) {
    for _ in 0..2 {
        into.extend(random.pick(&PORTS).to_be_bytes());
    }
    let rest = random.below(30);
    into.extend((0..rest).map(|_| random.octet()));
}

/// Returns a length that is usually correct.
fn length(random: &mut Random, right: usize) -> [u8; 2] {
    let length = match random.below(12) {
        0 => right.saturating_sub(random.below(right + 1)),
        1 => right + random.below(40),
        2 => random.below(1 << 16),
        _ => right,
    };
    u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()
}

fn packet_v4(random: &mut Random) -> Vec<u8> {
    let words = random.pick(&[5, 5, 5, 6, 10, 15, 4, 0]);
    let mut above = Vec::new();
    ports(random, &mut above);
    let total = length(random, usize::from(words) * 4 + above.len());
    let version = if random.one_in(20) { 5 } else { 4 };
    let fragment = if random.one_in(8) { random.next() } else { 0x4000 };
    let [f0, f1, ..] = fragment.to_le_bytes();
    let mut packet = vec![version << 4 | words, random.pick(&TOS), total[0], total[1], 0, 0];
    packet.extend([f1, f0, 64, random.pick(&PROTOCOLS), 0, 0]);
    packet.extend(address_v4(random).octets());
    packet.extend(address_v4(random).octets());
    packet.extend((5..words).flat_map(|_| [1; 4]));
    packet.extend(above);
    packet
}

fn packet_v6(random: &mut Random) -> Vec<u8> {
    let chain = random.pick(&[0, 0, 0, 1, 2, 3, 7, 8, 9, 11]);
    let mut next = Vec::new();
    for _ in 0..chain {
        next.push(random.pick(&EXTENSIONS));
    }
    next.push(random.pick(&PROTOCOLS));
    let mut above = Vec::new();
    for (index, &following) in next.iter().enumerate().skip(1) {
        let words = random.pick(&[0, 0, 0, 1, 2]);
        let octets = match next[index - 1] {
            44 => 8,
            51 => (usize::from(words) + 2) * 4,
            _ => (usize::from(words) + 1) * 8,
        };
        let words = if random.one_in(30) { 200 } else { words };
        let fragment = if random.one_in(8) { random.octet() } else { 0 };
        let start = above.len();
        above.extend([following, words, 0, fragment]);
        above.resize(start + octets, 0);
    }
    ports(random, &mut above);
    let length = if random.one_in(15) { [0, 0] } else { length(random, above.len()) };
    let version = if random.one_in(20) { 4 } else { 6 };
    let tos = random.pick(&TOS);
    let mut packet = vec![version << 4 | tos >> 4, tos << 4, 0, 0, length[0], length[1]];
    packet.extend([next[0], 64]);
    packet.extend(address_v6(random).octets());
    packet.extend(address_v6(random).octets());
    packet.extend(above);
    packet
}

/// Returns a frame, usually well-formed, of at least 14 octets: devices accept no shorter ones.
pub(super) fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..12).map(|_| random.octet()).collect();
    for _ in 0..random.pick(&[0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6]) {
        frame.extend(random.pick(&[[0x81, 0x00], [0x88, 0xA8]]));
        let control = if random.one_in(12) {
            [random.octet() | 0x0F, 0xFF]
        } else {
            [random.octet(), random.octet()]
        };
        frame.extend(control);
    }
    let (kind, payload) = match random.below(10) {
        0 => (random.pick(&[0x0806, 0x88BA, 0x8100, 0x88A8, 1536]), vec![0; 46]),
        1 => (random.pick(&[0, 46, 1500, 1501, 1535]), vec![0; 46]),
        2..6 => (0x0800, packet_v4(random)),
        _ => (0x86DD, packet_v6(random)),
    };
    frame.extend(u16::to_be_bytes(kind));
    frame.extend(payload);
    if random.one_in(5) {
        frame.truncate(14.max(random.below(frame.len() + 1)));
    }
    if random.one_in(5) {
        let at = random.below(frame.len());
        frame[at] = random.octet();
    }
    frame
}

pub(super) fn rule(random: &mut Random, classes: u8) -> Rule {
    let prefix = |random: &mut Random| {
        let is_v4 = random.one_in(2);
        Prefix {
            address: if is_v4 { address_v4(random).into() } else { address_v6(random).into() },
            bits: random.pick(&[0, 1, 8, 24, 31, 32, 33, 48, 64, 65, 127, 128, 255]),
        }
    };
    let range = |random: &mut Random| {
        let [a, b] = [random.pick(&PORTS), random.pick(&PORTS)];
        PortRange { first: a, last: b }
    };
    let types = [0x0800, 0x86DD, 0x0806, 0x88BA, 0, 1500, 1536];
    // A rule with a single condition best shows whether it is compared.
    let wanted = match random.below(30) {
        0 => 0,
        1..10 => random.below(128),
        _ => 1 << random.below(7),
    };
    let wants = |field: u32| wanted >> field & 1 == 1;
    let headers = HeaderMatch {
        ethertype: wants(0).then(|| random.pick(&types)),
        tos: wants(1).then(|| TosMatch {
            value: random.pick(&TOS),
            mask: random.pick(&[0xFC, 0xFF, 0, 0x10]),
        }),
        protocol: wants(2).then(|| random.pick(&PROTOCOLS)),
        source: wants(3).then(|| prefix(random)),
        destination: wants(4).then(|| prefix(random)),
        source_port: wants(5).then(|| range(random)),
        destination_port: wants(6).then(|| range(random)),
    };
    Rule { headers, class: u8::try_from(random.below(usize::from(classes))).unwrap() }
}
