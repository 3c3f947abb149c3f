//! The ingress program that removes tags where received frames need not pass the shim.

use rtether_model::network::Vid;

use crate::bpf::{
    AND_VALUE_32, CALL, EXIT, Instruction, JUMP_IF_EQUAL, JUMP_IF_OTHER, LOAD_32, MOVE, MOVE_VALUE,
    op,
};

/// Offsets in `struct __sk_buff`.
const VLAN_PRESENT: i16 = 20;
const VLAN_CONTROL: i16 = 24;
/// Number of a helper function (`enum bpf_func_id`).
pub(super) const VLAN_POP: i32 = 19;
/// Return value that leaves the decision to the next filter (`TC_ACT_UNSPEC`).
pub(super) const GO_ON: i32 = -1;

/// Returns the program that removes tags of this VLAN and priority tags.
pub(super) fn program(vid: Vid) -> [Instruction; 11] {
    [
        op(MOVE, 6, 1, 0, 0),                             // r6 = packet
        op(LOAD_32, 2, 6, VLAN_PRESENT, 0),               // r2 = whether there is a tag
        op(JUMP_IF_EQUAL, 2, 0, 6, 0),                    // none: go on
        op(LOAD_32, 2, 6, VLAN_CONTROL, 0),               // r2 = its VLAN
        op(AND_VALUE_32, 2, 0, 0, 0x0FFF),                //
        op(JUMP_IF_EQUAL, 2, 0, 1, 0),                    // none: take it off
        op(JUMP_IF_OTHER, 2, 0, 2, i32::from(vid.get())), // another: go on
        op(MOVE, 1, 6, 0, 0),                             // take it off
        op(CALL, 0, 0, 0, VLAN_POP),                      //
        op(MOVE_VALUE, 0, 0, 0, GO_ON),                   // go on
        op(EXIT, 0, 0, 0, 0),                             //
    ]
}
