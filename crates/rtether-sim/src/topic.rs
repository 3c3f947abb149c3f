//! How a flow over RTPS uses topics, in simulated stations and in those of a test bed.

use alloc::format;
use alloc::string::String;

use rtether_rtps::qos::{History, Qos, Reliability};

/// Returns the policies of a writer or reader.
pub fn policies(is_reliable: bool, dscp: u8, is_writer: bool) -> Qos {
    let mut qos = if is_writer { Qos::writer() } else { Qos::reader() };
    (qos.reliability, qos.history) = if is_reliable {
        (Reliability::Reliable, History::KeepAll)
    } else {
        (Reliability::BestEffort, History::KeepLast(1))
    };
    if !is_writer {
        // Readers take samples at once.
        qos.history = History::KeepAll;
    }
    qos.transport_priority = i32::from(dscp);
    qos
}

/// Returns the topic of the answers of a flow's listener at this place of the list.
pub fn answers(flow: &str, place: u32) -> String {
    format!("{flow}/answer/{place}")
}
