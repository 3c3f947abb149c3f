//! A decimal number as written.

/// `mantissa * 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) negative: bool,
    pub(super) mantissa: u128,
    pub(super) exponent: i32,
}

impl Decimal {
    /// Most significant digits kept; trailing zeros do not count.
    const MAX_DIGITS: usize = 30;

    /// Reads the number at the start of `text` and returns it with the remaining text.
    ///
    /// Accepts `1`, `0.25`, `1.5e3`, `20_000`. Digits beyond the thirtieth are replaced by a single
    /// `1`: such a number is too large or too fine for any quantity either way.
    pub(super) fn scan(text: &str) -> Option<(Self, &str)> {
        let (negative, body) = match text.strip_prefix('-') {
            Some(body) => (true, body),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let mut digits = String::new();
        let mut exponent = 0i32;
        let mut point = false;
        let mut length = 0;
        for (at, c) in body.char_indices() {
            match c {
                '0'..='9' => {
                    digits.push(c);
                    exponent -= i32::from(point);
                }
                '_' if !digits.is_empty() => {}
                // `1..2` is a range, not a number.
                '.' if !point && !body[at + 1..].starts_with('.') => point = true,
                _ => break,
            }
            length = at + 1;
        }
        if digits.is_empty() || digits.len() > 4 * Self::MAX_DIGITS {
            return None;
        }
        let mut rest = &body[length..];
        if let Some((power, after)) = scan_exponent(rest) {
            exponent += power;
            rest = after;
        }
        let significant = digits.trim_end_matches('0');
        exponent += i32::try_from(digits.len() - significant.len()).ok()?;
        let significant = significant.trim_start_matches('0');
        if significant.is_empty() {
            exponent = 0;
        }
        let mantissa = if significant.is_empty() {
            0
        } else if significant.len() > Self::MAX_DIGITS {
            let kept = Self::MAX_DIGITS - 1;
            exponent += i32::try_from(significant.len() - Self::MAX_DIGITS).ok()?;
            significant[..kept].parse::<u128>().ok()? * 10 + 1
        } else {
            significant.parse().ok()?
        };
        let number = Self { negative: negative && mantissa != 0, mantissa, exponent };
        Some((number, rest))
    }

    /// Returns the number times `factor`; `None` unless that is a whole number below 2^128.
    pub(super) fn times(self, factor: u128) -> Option<u128> {
        let product = self.mantissa.checked_mul(factor)?;
        let power = 10u128.checked_pow(self.exponent.unsigned_abs());
        if self.exponent >= 0 {
            return product.checked_mul(power?);
        }
        match power {
            Some(power) => product.is_multiple_of(power).then(|| product / power),
            None => (product == 0).then_some(0),
        }
    }

    /// Returns whether the number times `factor` exceeds `limit`; the product need not be whole.
    pub(super) fn exceeds(self, limit: u128, factor: u128) -> bool {
        let power = 10u128.checked_pow(self.exponent.unsigned_abs());
        let Some(product) = self.mantissa.checked_mul(factor) else {
            // On overflow only the whole part is compared; a fraction with that many digits is too
            // fine anyway.
            let whole = power.map_or(0, |power| self.mantissa / power);
            let least = whole.checked_mul(factor);
            return self.exponent >= 0 || least.is_none_or(|value| value > limit);
        };
        if self.exponent >= 0 {
            return product > 0
                && power.and_then(|p| product.checked_mul(p)).is_none_or(|value| value > limit);
        }
        power.is_some_and(|power| product / power > limit)
    }
}

/// Reads `e3`, `E-9`; `None` if the letter starts a unit.
fn scan_exponent(text: &str) -> Option<(i32, &str)> {
    let body = text.strip_prefix(['e', 'E'])?;
    let (sign, digits) = match body.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, body.strip_prefix('+').unwrap_or(body)),
    };
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 || length > 3 {
        return None;
    }
    let power: i32 = digits[..length].parse().ok()?;
    Some((sign * power, &digits[length..]))
}
