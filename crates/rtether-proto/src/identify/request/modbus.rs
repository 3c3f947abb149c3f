//! Modbus over TCP, port 502: reads of registers and of the device's identity.
//!
//! Source: MODBUS Application Protocol Specification V1.1b3 (functions and exceptions) and MODBUS
//! Messaging on TCP/IP Implementation Guide V1.0b, 3.1.3 (header). Numbers are big-endian.

use alloc::string::String;

use rtether_model::quantity::Bytes;

use super::answer::{Answer, Malformed, Outcome, append};
use super::carrier::{Carrier, nearest};
use super::cursor::{Cursor, expect};
use crate::identify::sizes::{Exchange, Sizes, Span};

/// The bits of a packet's name in a request: the transaction identifier.
pub const TOKEN: u32 = 0xFFFF;
/// Most registers of one read (6.3).
pub const QUANTITY_MAX: u8 = 125;

const READ_REGISTERS: u8 = 0x03;
/// Read Device Identification: an encapsulated interface and its type (6.21).
const ENCAPSULATED: u8 = 0x2B;
const IDENTIFICATION: u8 = 0x0E;
/// What an exception adds to the function code (7).
const EXCEPTION: u8 = 0x80;

/// Builds a read of holding registers (6.3) from `first`, counted from zero. `None` if the quantity
/// is not 1 to [`QUANTITY_MAX`], or registers above 65535 were among them.
pub fn registers(id: u32, unit: u8, first: u16, quantity: u8) -> Option<[u8; 12]> {
    let is_read = (1..=QUANTITY_MAX).contains(&quantity);
    first.checked_add(u16::from(quantity).checked_sub(1)?)?;
    let [.., high, low] = id.to_be_bytes();
    let [from, start] = first.to_be_bytes();
    is_read.then_some([high, low, 0, 0, 0, 6, unit, READ_REGISTERS, from, start, 0, quantity])
}

/// Builds a request for the basic identity: vendor, product and revision (6.21).
pub fn identity(id: u32, unit: u8) -> [u8; 11] {
    let [.., high, low] = id.to_be_bytes();
    [high, low, 0, 0, 0, 5, unit, ENCAPSULATED, IDENTIFICATION, 1, 0]
}

/// Reads an answer.
pub fn answer(octets: &[u8]) -> Result<Answer, Malformed> {
    let mut cursor = Cursor::new(octets);
    let token = u16::from_be_bytes(cursor.array()?).into();
    expect(cursor.array()? == [0, 0], "protocol identifier")?;
    let length = u16::from_be_bytes(cursor.array()?);
    let mut cursor = cursor.last(length.into())?;
    let [_unit, function] = cursor.array()?;
    let outcome = match function {
        READ_REGISTERS => {
            let [count] = cursor.array()?;
            let is_read = (1..=QUANTITY_MAX).contains(&(count / 2)) && count % 2 == 0;
            expect(is_read, "byte count")?;
            cursor.last(count.into())?;
            Outcome::Done
        }
        ENCAPSULATED => Outcome::Identity(objects(cursor)?),
        _ => {
            let asked = function ^ EXCEPTION;
            expect([READ_REGISTERS, ENCAPSULATED].contains(&asked), "function code")?;
            let [code] = cursor.array()?;
            cursor.end()?;
            Outcome::Refused(code.into())
        }
    };
    Ok(Answer { token, octets: octets.len(), outcome })
}

/// Reads the values of identity objects. An answer that is to be continued is not.
fn objects(mut cursor: Cursor<'_>) -> Result<String, Malformed> {
    expect(cursor.array()? == [IDENTIFICATION], "type of the interface")?;
    let [_code, _conformity, _more, _next, count] = cursor.array()?;
    let mut text = String::new();
    for _ in 0..count {
        let [_id, length] = cursor.array()?;
        append(&mut text, cursor.take(length.into())?);
    }
    cursor.end()?;
    Ok(text)
}

/// Returns the frames of a read of this quantity.
pub fn exchange(quantity: u8, carrier: Carrier) -> Exchange {
    let answer = 9 + 2 * usize::from(quantity);
    Exchange { request: carrier.frame(12), answer: carrier.frame(answer) }
}

/// Returns the quantity whose answer comes nearest to this frame.
pub fn quantity(answer: Bytes, carrier: Carrier) -> u8 {
    let all = (1..=QUANTITY_MAX).map(|quantity| (quantity, exchange(quantity, carrier).answer));
    nearest(all, answer).unwrap_or(1)
}

/// Returns the frames that can be had.
pub fn sizes(carrier: Carrier) -> Sizes {
    let Exchange { request, answer: least } = exchange(1, carrier);
    let most = exchange(QUANTITY_MAX, carrier).answer;
    Sizes::Answer { request, answer: Span { least, most } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: Carrier = Carrier::Tcp { timestamps: false };

    /// Oracle: the example of 6.3, registers 108 to 110, behind a header by hand.
    #[test]
    fn registers_by_hand() {
        let request = registers(0x5_1234, 9, 0x6B, 3).unwrap();
        assert_eq!(request, [0x12, 0x34, 0, 0, 0, 6, 9, 3, 0, 0x6B, 0, 3]);
        let read = [0x12, 0x34, 0, 0, 0, 9, 9, 3, 6, 2, 0x2B, 0, 0, 0, 0x64];
        let expected = Answer { token: 0x1234, octets: 15, outcome: Outcome::Done };
        assert_eq!(answer(&read), Ok(expected));
        assert_eq!(answer(&read[..14]), Err(Malformed::Truncated));
        assert_eq!(answer(&[&read[..], &[0]].concat()), Err(Malformed::Trailing));
        let odd = [0, 1, 0, 0, 0, 6, 9, 3, 3, 7, 7, 7];
        assert_eq!(answer(&odd), Err(Malformed::Unexpected("byte count")));
    }

    /// Oracle: 6.3 and 7: the quantities and addresses that are exceptions 03 and 02.
    #[test]
    fn only_what_can_be_read_is_asked_for() {
        assert_eq!(registers(0, 1, 0, 0), None);
        assert_eq!(registers(0, 1, 0, 126), None);
        assert_eq!(registers(0, 1, 0xFFFF, 2), None);
        assert!(registers(0, 1, 0xFFFF, 1).is_some() && registers(0, 1, 0, 125).is_some());
        let refused = answer(&[0, 7, 0, 0, 0, 3, 1, 0x83, 2]).unwrap();
        assert_eq!((refused.token, refused.outcome), (7, Outcome::Refused(2)));
        let write = [0, 7, 0, 0, 0, 6, 1, 6, 0, 1, 0, 3];
        assert_eq!(answer(&write), Err(Malformed::Unexpected("function code")));
    }

    /// Oracle: the identity that pymodbus 3.16.1 was given; the layout of 6.21.
    #[test]
    fn an_identity() {
        assert_eq!(identity(0xABCD, 1), [0xAB, 0xCD, 0, 0, 0, 5, 1, 0x2B, 0x0E, 1, 0]);
        let octets = b"\0\x07\0\0\0\x17\x01\x2B\x0E\x01\x83\0\0\x03\
            \0\x04ACME\x01\x02P1\x02\x032.3";
        let expected = Outcome::Identity("ACME P1 2.3".into());
        assert_eq!(answer(octets).unwrap().outcome, expected);
        let refused = answer(&[0, 0, 0, 0, 0, 3, 1, 0xAB, 1]).unwrap();
        assert_eq!(refused.outcome, Outcome::Refused(1));
    }

    /// Oracle: 12 octets, answered by 11 to 259, and 58 around them.
    #[test]
    fn frames_of_reads() {
        let answer = Span { least: Bytes::new(69), most: Bytes::new(317) };
        assert_eq!(sizes(TCP), Sizes::Answer { request: Bytes::new(70), answer });
        for size in 0..1_600 {
            let size = Bytes::new(size);
            let found = exchange(quantity(size, TCP), TCP).answer.get();
            assert!(found.abs_diff(size.get().clamp(69, 317)) <= 1, "{size:?}");
        }
    }
}
