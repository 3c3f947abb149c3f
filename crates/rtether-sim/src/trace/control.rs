//! Bytes of the control frames of access schemes whose formats are known: the Sync frame of RTnet's
//! TDMA (discipline 2.1a), and SoC, PReq, PRes and SoA of ETHERNET Powerlink (version 2).
//!
//! The header of RTnet has the number of the discipline, its version and flags; the Sync frame the
//! version and kind of the message, the number of the cycle, and two stamps in nanoseconds. A frame
//! of Powerlink has kind, destination and source node, and fields of each kind, in little endian;
//! the managing node is 240, the others are counted from 1. PReq and PRes carry no data here.

use alloc::vec::Vec;

use rtether_model::access::{Access, Scheme};
use rtether_model::network::NodeId;
use rtether_model::quantity::Instant;
use rtether_proto::access::{Control, Message};

use super::frame::mac;

const RTMAC: [u8; 2] = 0x9021_u16.to_be_bytes();
const POWERLINK: [u8; 2] = 0x88AB_u16.to_be_bytes();
const BROADCAST: [u8; 6] = [0xff; 6];
/// Managing node, and all nodes.
const MANAGER: u8 = 240;
const ALL_NODES: u8 = 255;
/// Most controlled nodes.
const NODES_MAX: usize = 239;
/// States of a managing and of a controlled node that are operational.
const MANAGER_OPERATES: u8 = 0xfd;
const NODE_OPERATES: u8 = 0xfd;
/// Requested service of an SoA frame: none, and a frame of any protocol.
const NO_SERVICE: u8 = 0;
const UNSPECIFIED: u8 = 0xff;
const VERSION_2: u8 = 0x20;

/// Appends a control frame that a station has finished sending at `now`, without FCS. Returns
/// whether its scheme has a format.
pub fn append_control(
    access: &Access,
    from: NodeId,
    (now, control): (Instant, &Control),
    out: &mut Vec<u8>,
) -> bool {
    let begin = out.len();
    match &access.scheme {
        Scheme::Tdma(_) => {
            let Message::Sync { cycle, scheduled } = control.message else {
                return false;
            };
            head(out, BROADCAST, from, RTMAC);
            // RTmac: discipline 1, version 2, no flags; TDMA 2.1, Sync.
            out.extend([0, 1, 2, 0, 2, 1, 0, 0]);
            let low = u32::try_from(cycle & u64::from(u32::MAX)).unwrap_or(0);
            out.extend(low.to_be_bytes());
            out.extend(nanoseconds(now).to_be_bytes());
            out.extend(nanoseconds(scheduled).to_be_bytes());
        }
        Scheme::Powerlink(own) => {
            let number = Numbers { access, manager: own.master };
            if !powerlink(&number, (from, &control.message), now, out) {
                return false;
            }
        }
        Scheme::Polling(_)
        | Scheme::Ftt(_)
        | Scheme::TimedToken(_)
        | Scheme::VirtualToken(_)
        | Scheme::DemandPriority(_)
        | Scheme::Summation(_) => return false,
    }
    // Captures have no FCS.
    let size = usize::try_from(control.size.get()).unwrap_or(0);
    out.resize(begin + size.saturating_sub(4), 0);
    true
}

/// Numbers of Powerlink nodes.
struct Numbers<'a> {
    access: &'a Access,
    manager: u32,
}

impl Numbers<'_> {
    fn of(&self, member: u32) -> u8 {
        if member == self.manager {
            return MANAGER;
        }
        let position = member as usize;
        let before = usize::from(member > self.manager);
        u8::try_from((position - before) % NODES_MAX + 1).unwrap_or(1)
    }

    fn of_node(&self, node: NodeId) -> u8 {
        let mut members = (0u32..).zip(&self.access.members);
        let own = members.find(|(_, own)| own.node == node);
        own.map_or(ALL_NODES, |(member, _)| self.of(member))
    }
}

fn powerlink(
    number: &Numbers<'_>,
    (from, message): (NodeId, &Message),
    now: Instant,
    out: &mut Vec<u8>,
) -> bool {
    let group = |last| [0x01, 0x11, 0x1e, 0, 0, last];
    let source = number.of_node(from);
    match *message {
        Message::CycleStart => {
            head(out, group(1), from, POWERLINK);
            out.extend([1, ALL_NODES, source, 0, 0, 0]);
            // Network time in seconds and nanoseconds, and microseconds since the start.
            let time = nanoseconds(now);
            let second = 1_000_000_000;
            for part in [time / second, time % second] {
                out.extend(u32::try_from(part).unwrap_or(u32::MAX).to_le_bytes());
            }
            out.extend((time / 1_000).to_le_bytes());
        }
        Message::Request { to } => {
            let node = number.access.members.get(to as usize);
            let node = node.map_or(NodeId(0), |own| own.node);
            head(out, mac(0x02, node.0), from, POWERLINK);
            // Ready; no data.
            out.extend([3, number.of(to), source, 0, 1, 0, 0, 0, 0, 0]);
        }
        Message::Answer { wants } => {
            head(out, group(2), from, POWERLINK);
            out.extend([4, ALL_NODES, source, NODE_OPERATES, 1]);
            // Generic priority 3, and whether a frame waits.
            out.extend([0x18 | u8::from(wants), 0, 0, 0, 0]);
        }
        Message::Grant { to } => {
            head(out, group(3), from, POWERLINK);
            let (service, target) = to.map_or((NO_SERVICE, 0), |to| (UNSPECIFIED, number.of(to)));
            out.extend([5, ALL_NODES, source, MANAGER_OPERATES, 0, 0]);
            out.extend([service, target, VERSION_2]);
        }
        Message::Sync { .. }
        | Message::Trigger
        | Message::Token(_)
        | Message::Process { .. }
        | Message::Mailbox { .. } => return false,
    }
    true
}

fn head(out: &mut Vec<u8>, to: [u8; 6], from: NodeId, kind: [u8; 2]) {
    out.extend(to);
    out.extend(mac(0x02, from.0));
    out.extend(kind);
}

fn nanoseconds(time: Instant) -> u64 {
    let time = (time - Instant::ZERO).as_ps() / 1_000;
    u64::try_from(time).unwrap_or(0)
}
