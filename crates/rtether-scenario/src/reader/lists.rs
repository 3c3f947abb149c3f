//! Getters of lists.

use super::{Data, Fields, Kind, Reader, Span};

impl Reader<'_> {
    /// Returns a list of counts or quantities as the table states them; `None` if any is wrong.
    pub(crate) fn values(&mut self, fields: &Fields<'_>, key: &str) -> Option<Vec<u64>> {
        let Kind::Values(item) = fields.spec(key).kind else {
            unreachable!("`{key}` is not a list");
        };
        if let &Kind::Count { min, max } = item {
            return self.counts(fields, key, (min, max));
        }
        let &Kind::Quantity(want) = item else {
            unreachable!("`{key}` is not a list of counts or quantities");
        };
        self.list(fields, key, "a list of quantities", |reader, text, span| {
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
        self.list(
            fields,
            key,
            "a list of whole numbers",
            |reader, text, span| reader.count_in(key, text, span, limits),
        )
    }

    fn list(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        expected: &str,
        read: impl Fn(&mut Self, &str, Span) -> Option<u64>,
    ) -> Option<Vec<u64>> {
        let mut list = Some(Vec::new());
        for item in self.items(fields, key) {
            let Data::Scalar(text) = &item.data else {
                self.wrong_type(fields, key, item, expected);
                return None;
            };
            match (read(self, text, item.span), &mut list) {
                (Some(value), Some(list)) => list.push(value),
                (None, _) | (_, None) => list = None,
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sink;
    use crate::keys::{Key, Presence, Section};
    use crate::tree;
    use crate::units::Quantity;

    static QUEUES: Section = Section {
        name: "queues",
        noun: "queues",
        description: "",
        keys: &[Key {
            name: "quanta",
            kind: Kind::Values(&Kind::Quantity(Quantity::Size)),
            presence: Presence::Optional,
            description: "",
            example: "[64 B]",
        }],
    };

    fn quanta(text: &str) -> (Option<Vec<u64>>, usize) {
        let mut sink = Sink::default();
        let root = tree::parse(0, text, &mut sink).expect("YAML");
        let mut reader = Reader::new(sink, &[]);
        let fields = reader.fields(&root, &QUEUES, "queues".into(), root.span);
        let values = reader.values(&fields.expect("a map"), "quanta");
        (values, reader.sink.errors())
    }

    /// 1.5 kB are 1500 octets.
    #[test]
    fn a_list_holds_quantities_in_base_units() {
        let read = quanta("quanta: [64 B, 1.5 kB]");
        assert_eq!(read, (Some(vec![64, 1500]), 0));
        assert_eq!(quanta("quanta: [64, 1 ms, 64 B]"), (None, 2));
    }
}
