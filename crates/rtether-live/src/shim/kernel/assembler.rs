//! BPF assembler with labels, for programs whose length is not known while they are written.

use crate::bpf::{CALL, Instruction, MOVE, MOVE_VALUE, op};

/// Instruction codes (RFC 9669, 4 and 5) that only this back end needs.
pub(super) const LOAD_8: u8 = 0x71;
pub(super) const STORE_32: u8 = 0x63;
pub(super) const ADD: u8 = 0x0F;
pub(super) const AND_VALUE: u8 = 0x57;
pub(super) const OR: u8 = 0x4F;
pub(super) const OR_VALUE: u8 = 0x47;
pub(super) const SHIFT_LEFT_VALUE: u8 = 0x67;
pub(super) const SHIFT_RIGHT_VALUE: u8 = 0x77;
pub(super) const SHIFT_RIGHT: u8 = 0x7F;
pub(super) const MOVE_VALUE_32: u8 = 0xB4;
pub(super) const FROM_BIG_ENDIAN: u8 = 0xDC;
const JUMP: u8 = 0x05;
pub(super) const IF_EQUAL: u8 = 0x15;
pub(super) const IF_OTHER: u8 = 0x55;
pub(super) const IF_ABOVE: u8 = 0x25;
pub(super) const IF_BELOW: u8 = 0xA5;
/// Compares the lower 32 bits.
pub(super) const IF_OTHER_32: u8 = 0x56;
/// Compares two registers.
pub(super) const IF_REGISTER_ABOVE: u8 = 0x2D;

/// Points to the end of the stack.
const FRAME_POINTER: u8 = 10;

/// A jump target, which may be bound after the jumps to it are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// A program under construction.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<Instruction>,
    /// Position of each label.
    labels: Vec<Option<usize>>,
    /// Positions of jumps, and their targets.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// Returns a new, unbound label.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds the label to the next instruction.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Writes an instruction.
    pub(super) fn push(&mut self, instruction: Instruction) {
        self.code.push(instruction);
    }

    /// Writes several instructions.
    pub(super) fn extend(&mut self, instructions: impl IntoIterator<Item = Instruction>) {
        self.code.extend(instructions);
    }

    /// Writes an instruction with a register and an immediate value.
    pub(super) fn value(&mut self, code: u8, to: u8, value: i32) {
        self.push(op(code, to, 0, 0, value));
    }

    /// Writes an instruction with two registers.
    pub(super) fn registers(&mut self, code: u8, to: u8, from: u8) {
        self.push(op(code, to, from, 0, 0));
    }

    /// Sets a register.
    pub(super) fn set(&mut self, to: u8, value: i32) {
        self.value(MOVE_VALUE, to, value);
    }

    /// Sets a register to 32 bits without sign extension.
    pub(super) fn set_bits(&mut self, to: u8, bits: u32) {
        self.value(MOVE_VALUE_32, to, bits.cast_signed());
    }

    /// Loads from the stack.
    pub(super) fn load(&mut self, code: u8, to: u8, slot: i16) {
        self.push(op(code, to, FRAME_POINTER, slot, 0));
    }

    /// Loads a big-endian number of `bits` bits from the stack.
    pub(super) fn load_big(&mut self, code: u8, to: u8, slot: i16, bits: i32) {
        self.load(code, to, slot);
        self.value(FROM_BIG_ENDIAN, to, bits);
    }

    /// Stores to the stack.
    pub(super) fn store(&mut self, code: u8, slot: i16, from: u8) {
        self.push(op(code, FRAME_POINTER, from, slot, 0));
    }

    /// Sets a register to an address on the stack.
    pub(super) fn address(&mut self, to: u8, slot: i16) {
        self.registers(MOVE, to, FRAME_POINTER);
        self.value(crate::bpf::ADD_VALUE, to, slot.into());
    }

    /// Calls a helper function.
    pub(super) fn call(&mut self, function: i32) {
        self.value(CALL, 0, function);
    }

    /// Jumps to a label.
    pub(super) fn jump(&mut self, to: Label) {
        self.jump_if(JUMP, 0, 0, to);
    }

    /// Jumps to a label if the comparison of a register with a value holds.
    pub(super) fn jump_if(&mut self, code: u8, register: u8, value: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.value(code, register, value);
    }

    /// Jumps to a label if the comparison of two registers holds.
    pub(super) fn jump_if_register(&mut self, code: u8, register: u8, other: u8, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.registers(code, register, other);
    }

    /// Returns whether a jump to the label has been written.
    pub(super) fn is_target(&self, label: Label) -> bool {
        self.jumps.iter().any(|&(_, target)| target == label)
    }

    /// Returns the program.
    ///
    /// # Panics
    /// If a label is unbound or out of range of a jump: a bug in the caller.
    pub(super) fn finish(mut self) -> Vec<Instruction> {
        for (position, label) in self.jumps {
            let target = self.labels[label.0].expect("every label is bound");
            let target = i64::try_from(target).unwrap_or(i64::MAX);
            let next = i64::try_from(position + 1).unwrap_or(i64::MAX);
            let offset = i16::try_from(target - next).expect("a program is short");
            self.code[position] = self.code[position].with_offset(offset);
        }
        self.code
    }
}
