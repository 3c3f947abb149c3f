//! Sizes of the packets of GOOSE and sampled values, from EtherType header to the end of the data.

use super::basic::wrapped;

/// Longest integer of 32 bits without a sign, in BER, with tag and length.
const INTEGER: u64 = wrapped(5);
const BOOLEAN: u64 = wrapped(1);
const TIME: u64 = wrapped(8);

/// What a GOOSE packet holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goose {
    /// Octets of the reference of the control block.
    pub(super) block: u64,
    /// Octets of the reference of the data set.
    pub(super) data_set: u64,
    /// Octets of the identifier.
    pub(super) id: u64,
    /// Octets of all data, each with tag and length.
    pub(super) data: u64,
}

impl Goose {
    /// Returns the octets of the packet at most (IEC 61850-8-1, annex A): three texts, five integers
    /// (time allowed to live, state and sequence number, revision, number of entries; the longest
    /// of each), a time, two booleans, and the data.
    pub(super) fn size(self) -> u64 {
        let texts = wrapped(self.block) + wrapped(self.data_set) + wrapped(self.id);
        let fixed = 5 * INTEGER + TIME + 2 * BOOLEAN;
        wrapped(
            texts
                .saturating_add(fixed)
                .saturating_add(wrapped(self.data)),
        )
    }
}

/// What a packet of sampled values holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples {
    /// Samples in a packet (`nofASDU`).
    pub(super) count: u64,
    /// Octets of the identifier.
    pub(super) id: u64,
    /// Octets of the reference of the data set, if it is sent.
    pub(super) data_set: Option<u64>,
    /// Whether the refresh time is sent.
    pub(super) has_refresh_time: bool,
    /// Whether the rate is sent.
    pub(super) has_rate: bool,
    /// Whether the identity of the clock is sent.
    pub(super) has_clock: bool,
    /// Octets of the data of one sample.
    pub(super) data: u64,
}

impl Samples {
    /// Returns the octets of the packet (IEC 61850-9-2, table 13): for each sample the identifier,
    /// counter (2 octets), revision (4), synchronization (1), data, and what is optional.
    pub(super) fn size(self) -> u64 {
        let optional = |is_sent, octets| if is_sent { wrapped(octets) } else { 0 };
        // Texts are no longer than a file, so that these sums do not overflow.
        let sample = wrapped(self.id)
            + self.data_set.map_or(0, wrapped)
            + wrapped(2)
            + wrapped(4)
            + optional(self.has_refresh_time, 8)
            + wrapped(1)
            + optional(self.has_rate, 2)
            + optional(self.has_clock, 8);
        let sample = wrapped(sample.saturating_add(wrapped(self.data)));
        let all = wrapped(sample.saturating_mul(self.count));
        // The number of samples is one octet up to 127.
        let count = if self.count < 128 { 1 } else { 2 };
        wrapped(all.saturating_add(wrapped(count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NINE_TWO_LE: Samples = Samples {
        count: 1,
        id: 4,
        data_set: None,
        has_refresh_time: false,
        has_rate: false,
        has_clock: false,
        data: 64,
    };

    /// Oracle: a capture of svID "4001" with eight values and qualities: packets of 94 octets.
    #[test]
    fn sampled_values_of_a_capture() {
        assert_eq!(NINE_TWO_LE.size(), 94);
    }

    /// Oracle: worked out by hand. Each option adds its tag, length and contents to a sample, and
    /// lengths of 128 octets and more take one octet more.
    #[test]
    fn options_of_sampled_values() {
        let refresh = Samples {
            has_refresh_time: true,
            ..NINE_TWO_LE
        };
        assert_eq!(refresh.size(), 104);
        let rate = Samples {
            has_rate: true,
            data_set: Some(20),
            ..NINE_TWO_LE
        };
        // 94 + 4 + 22 = 120, no length reaches 128.
        assert_eq!(rate.size(), 120);
        let eight = Samples {
            count: 8,
            ..NINE_TWO_LE
        };
        // 8 samples of 87 octets are 696: a length of three octets in both of the outer headers.
        assert_eq!(eight.size(), 4 + (3 + 4 + 696));
    }

    /// Oracle: a capture of a relay (control block `AA1C1Q01A1LD0/LLN0$GO$gcb_A`): packets of 219
    /// octets, of which 102 are data; its five integers take 4, 5, 3, 3 and 3 octets with tag and
    /// length, where the longest take 7 each.
    #[test]
    fn goose_of_a_capture() {
        let goose = Goose {
            block: 27,
            data_set: 32,
            id: 13,
            data: 102,
        };
        assert_eq!(goose.size() - 5 * 7 + (4 + 5 + 3 + 3 + 3), 219);
    }

    /// Oracle: worked out by hand, see the comments.
    #[test]
    fn goose_with_two_entries() {
        let goose = Goose {
            block: 20,
            data_set: 18,
            id: 5,
            data: 3 + 5,
        };
        // Texts 22 + 20 + 7, time allowed to live, stNum, sqNum, confRev, numDatSetEntries 7 each,
        // t 10, simulation and ndsCom 3 each, allData 2 + 8: 49 + 35 + 10 + 6 + 10 = 110.
        assert_eq!(goose.size(), 2 + 110);
    }
}
