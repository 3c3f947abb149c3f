//! Comparison of values, and patterns.

use core::cmp::Ordering;

use super::Value;

/// Values that cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mismatch;

/// Compares two values; `None` if one of them is NaN.
pub(super) fn values(left: Value<'_>, right: Value<'_>) -> Result<Option<Ordering>, Mismatch> {
    use Value::{Bool, Char, Float, Integer, Text};
    Ok(match (left, right) {
        (Integer(left), Integer(right)) => Some(left.cmp(&right)),
        (Float(left), Float(right)) => left.partial_cmp(&right),
        (Integer(left), Float(right)) => mixed(left, right),
        (Float(left), Integer(right)) => mixed(right, left).map(Ordering::reverse),
        (Bool(left), Bool(right)) => Some(left.cmp(&right)),
        // Booleans written as 0 and 1.
        (Bool(left), Integer(right)) => Some(i128::from(left).cmp(&right)),
        (Integer(left), Bool(right)) => Some(left.cmp(&i128::from(right))),
        (Text(left), Text(right)) => Some(left.cmp(right)),
        (Char(left), Char(right)) => Some(left.cmp(&right)),
        (Text(left), Char(right)) => Some(left.chars().cmp([right])),
        (Char(left), Text(right)) => Some([left].into_iter().cmp(right.chars())),
        _ => return Err(Mismatch),
    })
}

/// Number of fraction bits of a double.
const FRACTION_BITS: u32 = 52;
/// Biased exponent of a double whose fraction is an integer.
const EXPONENT_ZERO: i64 = 1023 + 52;

/// Compares an integer with a float exactly; above 2^53 a float cannot hold every integer.
fn mixed(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    let bits = float.to_bits();
    let is_negative = bits >> 63 == 1;
    let exponent = i64::try_from(bits >> FRACTION_BITS & 0x7FF).ok()?;
    let fraction = i128::from(bits & ((1 << FRACTION_BITS) - 1));
    let (fraction, exponent) =
        if exponent == 0 { (fraction, 1) } else { (fraction | 1 << FRACTION_BITS, exponent) };
    let beyond = if is_negative { Ordering::Greater } else { Ordering::Less };
    let shift = exponent - EXPONENT_ZERO;
    let distance = u32::try_from(shift.unsigned_abs()).ok()?;
    if shift >= 0 {
        // 53 bits and 74 make the 127 that an `i128` holds; infinity is also beyond.
        if distance > 74 {
            return Some(beyond);
        }
        let whole = fraction << distance;
        return Some(integer.cmp(&if is_negative { -whole } else { whole }));
    }
    let whole = fraction.checked_shr(distance).unwrap_or(0);
    let is_whole = whole.checked_shl(distance).unwrap_or(0) == fraction;
    let ordering = integer.cmp(&if is_negative { -whole } else { whole });
    // A fractional part lies further from zero.
    Some(if is_whole { ordering } else { ordering.then(beyond) })
}

/// Returns whether a text matches a pattern, in which `%` stands for any text and `_` for one
/// character; `None` if the value is not text.
pub(super) fn like(value: Value<'_>, pattern: &str) -> Option<bool> {
    let mut room = [0; 4];
    let text = match value {
        Value::Text(text) => text,
        Value::Char(char) => char.encode_utf8(&mut room),
        Value::Integer(_) | Value::Float(_) | Value::Bool(_) => return None,
    };
    let mut text = text.chars();
    let mut pattern = pattern.chars();
    // Pattern after the last `%`, and the text position of the next attempt.
    let mut retry = None;
    loop {
        let mut rest = pattern.clone();
        let mut text_rest = text.clone();
        match (rest.next(), text_rest.next()) {
            (Some('%'), _) => {
                retry = Some((rest.clone(), text.clone()));
                pattern = rest;
                continue;
            }
            (Some(wanted), Some(found)) if wanted == '_' || wanted == found => {
                (pattern, text) = (rest, text_rest);
                continue;
            }
            (None, None) => return Some(true),
            _ => {}
        }
        let Some((from, mut at)) = retry.take() else {
            return Some(false);
        };
        if at.next().is_none() {
            return Some(false);
        }
        (pattern, text) = (from.clone(), at.clone());
        retry = Some((from, at));
    }
}
