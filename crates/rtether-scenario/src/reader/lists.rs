//! Getters of lists.

use super::{Data, Fields, Kind, Reader};

impl Reader<'_> {
    /// Returns a list of counts within the limits of the table; `None` if any is wrong.
    pub(crate) fn values(&mut self, fields: &Fields<'_>, key: &str) -> Option<Vec<u64>> {
        let Kind::Values(&Kind::Count { min, max }) = fields.spec(key).kind else {
            unreachable!("`{key}` is not a list of counts");
        };
        self.counts(fields, key, (min, max))
    }

    /// Returns a list of counts within `limits`; `None` if any is wrong.
    pub(crate) fn counts(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        limits: (u64, u64),
    ) -> Option<Vec<u64>> {
        let mut list = Some(Vec::new());
        for item in self.items(fields, key) {
            let Data::Scalar(text) = &item.data else {
                self.wrong_type(fields, key, item, "a list of whole numbers");
                return None;
            };
            match (self.count_in(key, text, item.span, limits), &mut list) {
                (Some(count), Some(list)) => list.push(count),
                (None, _) | (_, None) => list = None,
            }
        }
        list
    }
}
