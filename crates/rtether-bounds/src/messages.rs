//! Messages about channels: what stations and the manager send each other before flows begin.
//!
//! A flow that asks is analyzed as if it had its channel from the beginning; one that waits for it,
//! is refused, or has given it back sends less, which every curve covers.
//!
//! **Messages.** About one channel a talker sends at most as many requests as there are attempts,
//! and as many releases; the manager answers each frame of the talker at most once. It offers a
//! channel anew only for a request that found it forgotten, so once for each request at most; each
//! time a listener is sent at most as many offers as there are attempts, and as many releases, and
//! answers each of them once. So each pair of stations is a flow with one burst of this many frames,
//! each as large as the largest of its messages.
//!
//! **Order.** If parts of deadlines follow the channels that there are (any but equal ones), ports
//! that select by deadline may change the order of their frames at any time; they never rest while
//! one waits ([`crate::discipline::deadline`], any order).
//!
//! Methods that look at whole paths are not applied.

use alloc::vec;
use alloc::vec::Vec;

use rtether_model::admission::Admission;
use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{Network, NodeId};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;

/// No second burst comes within any busy period that has a bound.
const NEVER: Duration = Duration::from_secs(86_400);

/// Returns the flows with those of messages behind them; `None` if no flow asks.
pub(crate) fn with_messages(network: &Network, flows: &[Flow]) -> Option<Vec<Flow>> {
    let admission = network.admission?;
    let mut with = flows.to_vec();
    for flow in flows.iter().filter(|flow| flow.asks(network)) {
        let request = Admission::request(flow.listeners.len());
        let mut add = |from: NodeId, to: NodeId, size: Bytes, burst: u32| {
            let once = Traffic::Sporadic { min_gap: NEVER, mean_gap: NEVER, burst };
            with.push(Flow {
                encapsulation: Encapsulation::Raw,
                ..Flow::new("admission".into(), from, vec![to], size, once)
            });
        };
        let manager = admission.manager;
        add(flow.talker, manager, request, admission.asked());
        add(manager, flow.talker, Admission::ANSWER, admission.asked());
        for &listener in &flow.listeners {
            add(manager, listener, request, admission.offered());
            add(listener, manager, Admission::ANSWER, admission.offered());
        }
    }
    Some(with)
}
