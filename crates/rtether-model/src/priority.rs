//! Priorities and VLANs of frames (IEEE 802.1Q), and the queues that priorities select.

/// Priority code point, 0 to 7 (IEEE 802.1Q-2022, 9.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pcp(u8);

impl Pcp {
    /// Returns the code point, or `None` above 7.
    pub const fn new(value: u8) -> Option<Self> {
        if value <= 7 { Some(Self(value)) } else { None }
    }

    /// Returns the value, 0 to 7.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// VLAN identifier, 0 (priority tag only) to 4094 (IEEE 802.1Q-2022, 9.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vid(u16);

impl Vid {
    /// VLAN of untagged frames unless configured otherwise (IEEE 802.1Q-2022, table 9-2).
    pub const DEFAULT: Self = Self(1);
    /// A tag that carries a priority and no VLAN.
    pub const PRIORITY_ONLY: Self = Self(0);

    /// Returns the identifier, or `None` above 4094.
    pub const fn new(value: u16) -> Option<Self> {
        if value <= 4094 { Some(Self(value)) } else { None }
    }

    /// Returns the value, 0 to 4094.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Up to eight egress queues; a higher number is more urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueMap {
    count: u8,
    queue_of_pcp: [u8; 8],
}

impl QueueMap {
    /// Largest number of queues of a port.
    pub const MAX_QUEUES: u8 = 8;
    /// One queue for all priorities.
    pub const ONE: Self = Self { count: 1, queue_of_pcp: [0; 8] };

    /// Queues of priorities 0 to 7, by the number of queues less one, as IEEE 802.1Q-2018 recommends
    /// them (table 8-5). Unlike in [`Self::standard`], priority 0 ranks below 2.
    pub const RECOMMENDED: [[u8; 8]; 8] = [
        [0; 8],
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, 1, 1, 2, 2],
        [0, 0, 1, 1, 2, 2, 3, 3],
        [0, 0, 1, 1, 2, 2, 3, 4],
        [1, 0, 2, 2, 3, 3, 4, 5],
        [1, 0, 2, 3, 4, 4, 5, 6],
        [1, 0, 2, 3, 4, 5, 6, 7],
    ];

    /// Returns the default map for `count` queues, 1 to 8 (IEEE 802.1D-2004, table 7-2).
    ///
    /// Priority 0 (best effort) ranks above 1 (background) and 2 (spare).
    pub const fn standard(count: u8) -> Option<Self> {
        let queue_of_pcp = match count {
            1 => [0; 8],
            2 => [0, 0, 0, 0, 1, 1, 1, 1],
            3 => [0, 0, 0, 0, 1, 1, 2, 2],
            4 => [1, 0, 0, 1, 2, 2, 3, 3],
            5 => [1, 0, 0, 1, 2, 3, 4, 4],
            6 => [1, 0, 0, 2, 3, 4, 5, 5],
            7 => [1, 0, 0, 2, 3, 4, 5, 6],
            8 => [2, 0, 1, 3, 4, 5, 6, 7],
            _ => return None,
        };
        Some(Self { count, queue_of_pcp })
    }

    /// Returns a custom map, or `None` if an entry names a queue that does not exist.
    pub fn new(count: u8, queue_of_pcp: [u8; 8]) -> Option<Self> {
        let valid = (1..=Self::MAX_QUEUES).contains(&count)
            && queue_of_pcp.iter().all(|&queue| queue < count);
        valid.then_some(Self { count, queue_of_pcp })
    }

    /// Returns the number of queues.
    pub const fn count(self) -> u8 {
        self.count
    }

    /// Returns the queue of a priority.
    pub const fn queue_of(self, pcp: Pcp) -> u8 {
        self.queue_of_pcp[pcp.0 as usize]
    }

    /// Returns the queue of the priority in the three lower bits of `value`.
    pub const fn queue_of_value(self, value: u8) -> u8 {
        self.queue_of_pcp[(value & 7) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_maps_name_existing_queues_and_use_each() {
        // Oracle: IEEE 802.1D-2004 table 7-2 assigns a priority to every queue.
        for count in 1..=8 {
            let map = QueueMap::standard(count).unwrap();
            for queue in 0..count {
                assert!(
                    (0..8).any(|p| map.queue_of(Pcp::new(p).unwrap()) == queue),
                    "{count} {queue}"
                );
            }
            assert!(QueueMap::new(count, map.queue_of_pcp).is_some());
        }
        assert!(QueueMap::standard(0).is_none());
        assert!(QueueMap::standard(9).is_none());
    }

    #[test]
    fn standard_maps_are_those_of_the_catalogue() {
        // Oracle: catalogue section 6, "802.1D queue maps".
        let queues = |count| {
            let map = QueueMap::standard(count).unwrap();
            [0, 1, 2, 3, 4, 5, 6, 7].map(|p| map.queue_of(Pcp::new(p).unwrap()))
        };
        assert_eq!(queues(8), [2, 0, 1, 3, 4, 5, 6, 7]);
        assert_eq!(queues(4), [1, 0, 0, 1, 2, 2, 3, 3]);
        assert_eq!(queues(2), [0, 0, 0, 0, 1, 1, 1, 1]);
    }
}
