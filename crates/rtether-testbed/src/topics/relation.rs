//! Why a writer and a reader of one topic do not match.
//!
//! The engine reports only policies that differ. By the standard, differing types and partitions
//! are not a mismatch, but in practice they are the more frequent puzzle.

use std::fmt::{self, Display};

use rtether_rtps::discovery::EndpointData;
use rtether_rtps::matching::{Mismatch, mismatches_between, partitions_match};

use super::text::clean;

/// Why a writer and a reader of one topic do not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Their types have different names.
    Type {
        /// Type of the writer.
        offered: String,
        /// Type of the reader.
        requested: String,
    },
    /// The topic has a key on one side only.
    Key {
        /// Whether that side is the writer.
        is_writer: bool,
    },
    /// They have no partition in common.
    Partition {
        /// Partitions of the writer.
        offered: String,
        /// Partitions of the reader.
        requested: String,
    },
    /// The reader requests more than the writer offers.
    Policies(Vec<Mismatch>),
}

/// Returns why a writer and a reader of one topic do not match; `None` if they do.
pub fn reason(writer: &EndpointData, reader: &EndpointData) -> Option<Reason> {
    if writer.type_name != reader.type_name {
        return Some(Reason::Type {
            offered: clean(&writer.type_name),
            requested: clean(&reader.type_name),
        });
    }
    let (offered, requested) = (&writer.qos.partitions, &reader.qos.partitions);
    if !partitions_match(offered, requested) {
        return Some(Reason::Partition { offered: names(offered), requested: names(requested) });
    }
    if writer.guid.entity.has_key() != reader.guid.entity.has_key() {
        let is_writer = writer.guid.entity.has_key();
        return Some(Reason::Key { is_writer });
    }
    let policies = mismatches_between(writer, reader);
    (!policies.is_empty()).then_some(Reason::Policies(policies))
}

/// Returns partition names for display.
pub(super) fn names(partitions: &[String]) -> String {
    if partitions.is_empty() {
        return "the unnamed one".to_owned();
    }
    let names = partitions.iter().map(|name| format!("`{}`", clean(name)));
    names.collect::<Vec<_>>().join(", ")
}

impl Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { offered, requested } => {
                write!(f, "type: {offered} is written, {requested} is read")
            }
            Self::Key { is_writer } => {
                let who = if *is_writer { "writer" } else { "reader" };
                write!(f, "type: only the {who} declares a key")
            }
            Self::Partition { offered, requested } => {
                write!(f, "partition: written in {offered}, read in {requested}")
            }
            Self::Policies(policies) => {
                for (index, mismatch) in policies.iter().enumerate() {
                    if index > 0 {
                        f.write_str("; ")?;
                    }
                    write!(f, "{mismatch}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
    use rtether_rtps::qos::{Durability, Qos};

    use super::*;

    fn endpoint(entity: EntityId, type_name: &str, qos: Qos) -> EndpointData {
        EndpointData {
            guid: Guid::new(GuidPrefix([7; 12]), entity),
            topic: "Square".to_owned(),
            type_name: type_name.to_owned(),
            qos,
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
            content_filter: None,
            type_hash: None,
            type_information: Vec::new(),
            group: None,
        }
    }

    #[test]
    fn each_reason_has_its_words() {
        // Oracle: the pairs by hand, after DDS 1.4, 2.2.3: durability is offered or not, partitions
        // are common or not, and names of types are equal or not.
        let write = EntityId::writer(1, true);
        let read = EntityId::reader(2, true);
        let writer = endpoint(write, "ShapeType", Qos::writer());
        let said = |reader: EndpointData| reason(&writer, &reader).map(|why| why.to_string());
        assert_eq!(said(endpoint(read, "ShapeType", Qos::reader())), None);
        assert_eq!(
            said(endpoint(read, "Shape\u{7}", Qos::reader())).as_deref(),
            Some("type: ShapeType is written, Shape\\u{7} is read")
        );
        let keyless = EntityId::reader(2, false);
        assert_eq!(
            said(endpoint(keyless, "ShapeType", Qos::reader())).as_deref(),
            Some("type: only the writer declares a key")
        );
        let qos = Qos { partitions: vec!["hall".to_owned()], ..Qos::reader() };
        assert_eq!(
            said(endpoint(read, "ShapeType", qos)).as_deref(),
            Some("partition: written in the unnamed one, read in `hall`")
        );
        let qos = Qos { durability: Durability::TransientLocal, ..Qos::reader() };
        assert_eq!(
            said(endpoint(read, "ShapeType", qos)).as_deref(),
            Some("durability: volatile is offered, transient local is requested")
        );
    }
}
