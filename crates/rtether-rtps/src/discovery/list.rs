//! Writes parameter lists, little-endian.

use alloc::string::String;
use alloc::vec::Vec;

use super::{ENCAPSULATION_LE, LOCATORS_MAX, USER_DATA_MAX};
use crate::guid::Guid;
use crate::locator::Locator;
use crate::time::Duration;
use crate::wire::{STRING_SIZE_MAX, pid};

/// A parameter list being written.
pub(super) struct List<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> List<'a> {
    /// Starts a list with the header of the payload.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.extend_from_slice(&ENCAPSULATION_LE);
        Self { out }
    }

    /// Writes a parameter without padding, as RTPS 1.0 has the short ones.
    pub(super) fn short(&mut self, id: u16, octets: [u8; 2]) {
        self.out.extend_from_slice(&id.to_le_bytes());
        self.out.extend_from_slice(&[2, 0]);
        self.out.extend_from_slice(&octets);
    }

    /// Writes a parameter whose value `write` appends, and pads it.
    pub(super) fn value(&mut self, id: u16, write: impl FnOnce(&mut Value<'_>)) {
        self.out.extend_from_slice(&id.to_le_bytes());
        let at = self.out.len();
        self.out.extend_from_slice(&[0; 2]);
        let start = self.out.len();
        let mut value = Value { out: self.out, start };
        write(&mut value);
        value.align();
        // The limits of strings and lists keep every value far below this.
        let len = u16::try_from(self.out.len() - start).unwrap_or(u16::MAX);
        if let Some(field) = self.out.get_mut(at..start) {
            field.copy_from_slice(&len.to_le_bytes());
        }
    }

    pub(super) fn octets(&mut self, id: u16, octets: &[u8]) {
        self.value(id, |value| value.octets(octets));
    }

    pub(super) fn u32(&mut self, id: u16, number: u32) {
        self.octets(id, &number.to_le_bytes());
    }

    pub(super) fn i32(&mut self, id: u16, number: i32) {
        self.octets(id, &number.to_le_bytes());
    }

    pub(super) fn guid(&mut self, id: u16, guid: Guid) {
        self.octets(id, &guid.octets());
    }

    pub(super) fn string(&mut self, id: u16, text: &str) {
        self.value(id, |value| value.string(text));
    }

    pub(super) fn duration(&mut self, id: u16, span: Duration) {
        self.value(id, |value| value.duration(span));
    }

    pub(super) fn locators(&mut self, id: u16, locators: &[Locator]) {
        for locator in locators.iter().take(LOCATORS_MAX) {
            let (kind, port, address) = locator.to_wire();
            self.value(id, |value| {
                value.i32(kind);
                value.u32(port);
                value.octets(&address);
            });
        }
    }

    pub(super) fn user_data(&mut self, octets: &[u8]) {
        if octets.is_empty() {
            return;
        }
        let octets = octets.get(..USER_DATA_MAX).unwrap_or(octets);
        self.value(pid::USER_DATA, |value| {
            value.count(octets.len());
            value.octets(octets);
        });
    }

    /// Ends the list.
    pub(super) fn end(self) {
        self.out.extend_from_slice(&pid::SENTINEL.to_le_bytes());
        self.out.extend_from_slice(&[0; 2]);
    }
}

/// A parameter value being written.
pub(super) struct Value<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl Value<'_> {
    pub(super) fn octets(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.octets(&number.to_le_bytes());
    }

    pub(super) fn i32(&mut self, number: i32) {
        self.octets(&number.to_le_bytes());
    }

    pub(super) fn i16(&mut self, number: i16) {
        self.octets(&number.to_le_bytes());
    }

    pub(super) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(super) fn duration(&mut self, span: Duration) {
        let (seconds, fraction) = span.to_wire();
        self.i32(seconds);
        self.u32(fraction);
    }

    /// Writes a string with its NUL and padding, truncated to the largest size that readers accept.
    pub(super) fn string(&mut self, text: &str) {
        let text = text.get(..text.floor_char_boundary(STRING_SIZE_MAX - 1));
        self.text(text.unwrap_or_default());
    }

    /// Writes a string of any length with its NUL and padding.
    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len() + 1);
        self.octets(text.as_bytes());
        self.octets(&[0]);
        self.align();
    }

    pub(super) fn strings(&mut self, texts: &[String], max: usize) {
        self.count(texts.len().min(max));
        for text in texts.iter().take(max) {
            self.string(text);
        }
    }

    fn align(&mut self) {
        let len = self.out.len() - self.start;
        let padding = len.next_multiple_of(4) - len;
        self.out.resize(self.out.len() + padding, 0);
    }
}
