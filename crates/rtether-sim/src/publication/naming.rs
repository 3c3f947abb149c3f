//! What a flow over RTPS is called and asks for: version, reliability, and the name of its topic.

use rtether_model::flow::Flow;
use rtether_model::wire::{Encapsulation, RtpsVersion};
use rtether_rtps::engine::TopicName;

/// Type name of all samples.
const TYPE: &str = "rtether::Octets";

/// Returns the version of RTPS that a flow uses, and whether lost samples are sent again; `None` if
/// it is not published.
pub(super) const fn kind(flow: &Flow) -> Option<(RtpsVersion, bool)> {
    if let Encapsulation::Rtps { version, is_reliable } = flow.encapsulation {
        Some((version, is_reliable))
    } else {
        None
    }
}

/// Returns the name of a topic, with its type.
pub(super) const fn named(topic: &str) -> TopicName<'_> {
    TopicName { topic, type_name: TYPE }
}
