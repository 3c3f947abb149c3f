//! Sizes of the packets of GOOSE and sampled values, from EtherType header to the end of the data,
//! and of reports over TCP.

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
        wrapped(texts.saturating_add(fixed).saturating_add(wrapped(self.data)))
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

/// What a report holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// Octets of the identifier.
    pub(super) id: u64,
    /// Octets of the reference of the data set, if it is sent.
    pub(super) data_set: Option<u64>,
    /// Octets of the references of all members, if they are sent.
    pub(super) references: Option<Vec<u64>>,
    /// Members of the data set, all of which are sent.
    pub(super) members: u64,
    /// Octets of all data, each with tag and length.
    pub(super) data: u64,
    /// Octets of what options add: [`Self::NUMBER`] and the others.
    pub(super) optional: u64,
    /// Whether a reason is sent for each member.
    pub(super) has_reasons: bool,
}

impl Report {
    /// Octets before MMS: TPKT (RFC 1006), data of ISO 8073, and of the session.
    const BEFORE: u64 = 4 + 3 + 4;
    /// Its number, of 16 bits without a sign.
    pub(super) const NUMBER: u64 = wrapped(3);
    /// The time of entry.
    pub(super) const TIME: u64 = wrapped(6);
    /// The revision of the configuration.
    pub(super) const REVISION: u64 = INTEGER;
    /// The identifier of its entry in the buffer.
    pub(super) const ENTRY: u64 = wrapped(8);
    /// Whether entries were lost.
    pub(super) const OVERFLOW: u64 = BOOLEAN;

    /// Returns the octets of the message over TCP at most (IEC 61850-8-1, 17.2): an information
    /// report of MMS, whose list of results has what the options want, a bit for each member, and
    /// the data; around it the presentation of ISO 8823.
    pub(super) fn size(&self) -> u64 {
        let reasons = if self.has_reasons { wrapped(2) } else { 0 };
        let references = self.references.iter().flatten();
        let items = wrapped(self.id)
            + wrapped(3)
            + self.optional
            + self.data_set.map_or(0, wrapped)
            + wrapped(1 + self.members.div_ceil(8))
            + references.map(|&octets| wrapped(octets)).sum::<u64>()
            + self.members.saturating_mul(reasons);
        let results = wrapped(items.saturating_add(self.data));
        // The name of the variable list, `RPT`, within two tags.
        let message = wrapped(wrapped(wrapped(wrapped(3)).saturating_add(results)));
        let presentation = wrapped(wrapped(wrapped(1).saturating_add(wrapped(message))));
        Self::BEFORE.saturating_add(presentation)
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
        let refresh = Samples { has_refresh_time: true, ..NINE_TWO_LE };
        assert_eq!(refresh.size(), 104);
        let rate = Samples { has_rate: true, data_set: Some(20), ..NINE_TWO_LE };
        // 94 + 4 + 22 = 120, no length reaches 128.
        assert_eq!(rate.size(), 120);
        let eight = Samples { count: 8, ..NINE_TWO_LE };
        // 8 samples of 87 octets are 696: a length of three octets in both of the outer headers.
        assert_eq!(eight.size(), 4 + (3 + 4 + 696));
    }

    /// Oracle: a capture of a relay (control block `AA1C1Q01A1LD0/LLN0$GO$gcb_A`): packets of 219
    /// octets, of which 102 are data; its five integers take 4, 5, 3, 3 and 3 octets with tag and
    /// length, where the longest take 7 each.
    #[test]
    fn goose_of_a_capture() {
        let goose = Goose { block: 27, data_set: 32, id: 13, data: 102 };
        assert_eq!(goose.size() - 5 * 7 + (4 + 5 + 3 + 3 + 3), 219);
    }

    /// Oracle: worked out by hand, see the comments.
    #[test]
    fn goose_with_two_entries() {
        let goose = Goose { block: 20, data_set: 18, id: 5, data: 3 + 5 };
        // Texts 22 + 20 + 7, time allowed to live, stNum, sqNum, confRev, numDatSetEntries 7 each,
        // t 10, simulation and ndsCom 3 each, allData 2 + 8: 49 + 35 + 10 + 6 + 10 = 110.
        assert_eq!(goose.size(), 2 + 110);
    }

    /// Oracle: worked out by hand. Identifier 2 + 5, options 2 + 3, number 2 + 3, time 2 + 6,
    /// inclusion 2 + 2, data 8 and reasons 2 x 4: 45 octets of results, 47 with tag and length; the
    /// name 7 more, 54; two tags of 2 make 58; its tag, and the context of 3, make 63; two more tags
    /// 67, and 11 octets before.
    #[test]
    fn a_report_with_two_members() {
        let report = Report {
            id: 5,
            data_set: None,
            references: None,
            members: 2,
            data: 8,
            optional: Report::NUMBER + Report::TIME,
            has_reasons: true,
        };
        assert_eq!(report.size(), 78);
        let buffered = Report {
            data_set: Some(20),
            references: Some(vec![10, 12]),
            optional: report.optional + Report::REVISION + Report::ENTRY + Report::OVERFLOW,
            ..report
        };
        // 22 + 12 + 14 + 7 + 10 + 3 more: results of 113, which no length makes longer than 127,
        // and 115 + 7 = 122; two tags 126, whose tag has 128 octets, with the context 131: its tag
        // and the next have a length of two octets.
        assert_eq!(buffered.size(), 11 + 131 + 3 + 3);
    }
}
