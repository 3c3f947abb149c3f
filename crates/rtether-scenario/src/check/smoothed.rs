//! Flows with a deadline that a smoother treats as bulk traffic.

use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::NodeId;
use rtether_model::smoother::{Mode, Rule};
use rtether_proto::smoother::{Class, classify};

use super::{Plant, codes, quote};
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::reader::Reader;

/// Warns if packets with a deadline, or their replies, wait for credits.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, index: usize, flow: &Flow) {
    if flow.deadline.is_none() || matches!(flow.traffic, Traffic::Bulk(_)) {
        return;
    }
    let answering = flow.listeners.iter().filter(|_| flow.reply.is_some());
    let mut senders = core::iter::once(&flow.talker).chain(answering);
    let Some((node, rule)) = senders.find_map(|&node| Some((node, held(plant, node, flow)?)))
    else {
        return;
    };
    let (name, node) = (quote(&flow.name), quote(&plant.network.node(node).name));
    let title =
        format!("flow {name} has a deadline and is bulk traffic for the smoother of {node}");
    let label = "its packets wait for credits there";
    let help = match rule {
        Rule::TypeOfService { values, .. } => {
            // Without the key, DSCP is 0 (best effort).
            let entry = format!("dscp: {}", values[0] >> 2);
            let is_written = flow.dscp != 0;
            let help = if is_written { Help::write(entry) } else { Help::add(entry) };
            help.certain(false)
        }
        Rule::Protocol(_) => {
            "send it over UDP, or write `classify: tos` in the smoother and `dscp: 46` here".into()
        }
    };
    let place = plant.flow_spans[index];
    reader.report(Diagnostic::new(&codes::DEADLINE_SMOOTHED, title, place, label).help(help));
}

/// Returns the rule by which the smoother of a node holds a flow back, if it does.
fn held(plant: &Plant, node: NodeId, flow: &Flow) -> Option<Rule> {
    let layer = plant.network.end_station(node)?.layer.as_ref()?;
    let smoothing = layer.smoother.filter(|it| it.config.mode != Mode::None)?;
    let is_bulk =
        classify(smoothing.rule, flow.dscp << 2, flow.encapsulation.protocol()?) == Class::Bulk;
    is_bulk.then_some(smoothing.rule)
}
