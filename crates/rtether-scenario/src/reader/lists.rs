//! Getters of lists.

use super::{Data, Fields, Kind, Quantity, Reader, Span};

impl Reader<'_> {
    /// Returns a list of counts within the limits of the table, or of quantities in base units;
    /// `None` if any is wrong.
    pub(crate) fn values(&mut self, fields: &Fields<'_>, key: &str) -> Option<Vec<u64>> {
        let kind = &fields.spec(key).kind;
        if let &Kind::Values(&Kind::Count { min, max }) = kind {
            return self.counts(fields, key, (min, max));
        }
        let &Kind::Values(&Kind::Quantity(
            want @ (Quantity::BitRate | Quantity::Size | Quantity::Time),
        )) = kind
        else {
            unreachable!("`{key}` is not a list of numbers");
        };
        let expected = match want {
            Quantity::Size => "a list of sizes",
            Quantity::Time => "a list of times",
            Quantity::BitRate | Quantity::PacketRate | Quantity::Length | Quantity::Ratio => {
                "a list of bit rates"
            }
        };
        self.numbers(fields, key, expected, |reader, (text, span)| {
            reader.quantity_of(fields, key, text, span, want)
        })
    }

    /// Returns a list of counts within `limits`; `None` if any is wrong.
    pub(crate) fn counts(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        limits: (u64, u64),
    ) -> Option<Vec<u64>> {
        self.numbers(fields, key, "a list of whole numbers", |reader, (text, span)| {
            reader.count_in(key, text, span, limits)
        })
    }

    /// Returns a list of what `read` makes of each scalar; `None` if any is wrong.
    fn numbers(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        expected: &str,
        read: impl Fn(&mut Self, (&str, Span)) -> Option<u64>,
    ) -> Option<Vec<u64>> {
        let mut list = Some(Vec::new());
        for item in self.items(fields, key) {
            let Data::Scalar(text) = &item.data else {
                self.wrong_type(fields, key, item, expected);
                return None;
            };
            match (read(self, (text, item.span)), &mut list) {
                (Some(number), Some(list)) => list.push(number),
                (None, _) | (_, None) => list = None,
            }
        }
        list
    }
}
