//! Values: numbers with units, also random ones, texts, lists and objects.

use super::token::{Token, Word, unescaped};
use crate::text::quote;

/// Most values inside each other.
const DEEPEST: usize = 50;

/// What a number measures: its base units are picoseconds, bits, bits in a second, and metres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    None,
    Time,
    Data,
    Rate,
    Length,
}

/// A number, or what is known of a random one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) least: f64,
    pub(super) mean: f64,
    /// Infinite if it has no limit.
    pub(super) most: f64,
    pub(super) unit: Unit,
    /// Whether what it has above its least is distributed exponentially, or is none.
    pub(super) is_exponential: bool,
}

impl Number {
    const fn of(value: f64, unit: Unit) -> Self {
        Self { least: value, mean: value, most: value, unit, is_exponential: true }
    }

    /// Returns whether it is not random.
    pub(super) fn is_fixed(&self) -> bool {
        self.least.total_cmp(&self.most).is_eq()
    }

    fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let [one, other] = [of(self.least), of(self.most)];
        Self { least: one.min(other), mean: of(self.mean), most: one.max(other), ..self }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(Number),
    Flag(bool),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
    /// What stands in `expr(...)`.
    Filter(String),
}

impl Value {
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn number(&self) -> Option<Number> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    pub(super) fn list(&self) -> &[Self] {
        if let Self::List(list) = self { list } else { &[] }
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(pairs) = self else {
            return None;
        };
        let found = pairs.iter().find(|(own, _)| own == key);
        found.map(|(_, value)| value)
    }

    /// Returns a whole number from zero to a limit.
    pub(super) fn whole(&self, most: usize) -> Option<usize> {
        let number = self.number().filter(Number::is_fixed)?;
        let value = number.mean;
        #[allow(clippy::cast_precision_loss, reason = "limits are small")]
        let is_inside = value >= 0.0 && value <= most as f64 && value.fract() == 0.0;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and within limits"
        )]
        let whole = value as usize;
        (is_inside && number.unit == Unit::None).then_some(whole)
    }
}

/// What names in a value mean.
pub(super) trait Names {
    /// Returns the value of a name, in a value as deep as that.
    fn value(&self, name: &str, depth: usize) -> Option<Value>;
    /// Returns how many modules have this name, for `sizeof` and `exists`.
    fn count(&self, name: &str) -> Option<usize>;
}

/// Returns a number without a unit.
pub(super) const fn plain(value: f64) -> Value {
    Value::Number(Number::of(value, Unit::None))
}

/// Returns the number of an expression without names that is not random.
pub(super) fn fixed(words: &[Token<'_>], text: &str) -> Option<Number> {
    let number = evaluate(words, text, &Nameless, 0).ok()?.number()?;
    number.is_fixed().then_some(number)
}

/// No names.
struct Nameless;

impl Names for Nameless {
    fn value(&self, _: &str, _: usize) -> Option<Value> {
        None
    }

    fn count(&self, _: &str) -> Option<usize> {
        None
    }
}

/// Returns the value of words of a text, or what of it is not read. `depth` is that of the values it
/// is in: names stand for values that name others.
pub(super) fn evaluate(
    words: &[Token<'_>],
    text: &str,
    names: &dyn Names,
    depth: usize,
) -> Result<Value, String> {
    let mut reader = Reader { words, at: 0, text, names, depth };
    let value = reader.choice()?;
    match reader.peek() {
        None => Ok(value),
        Some(rest) => Err(reader.unread(rest.from)),
    }
}

struct Reader<'w> {
    words: &'w [Token<'w>],
    at: usize,
    text: &'w str,
    names: &'w dyn Names,
    depth: usize,
}

/// Operators of two values by rank, weakest first.
const OPERATORS: [&[&str]; 5] =
    [&["||"], &["&&"], &["==", "!=", "<", ">", "<=", ">="], &["+", "-"], &["*", "/", "%"]];

impl<'w> Reader<'w> {
    fn peek(&self) -> Option<Token<'w>> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, mark: &str) -> bool {
        let is_there = self.peek().is_some_and(|token| token.is(mark));
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, mark: &str) -> Result<(), String> {
        if self.take(mark) { Ok(()) } else { Err(format!("`{mark}` is missing in it")) }
    }

    fn unread(&self, from: usize) -> String {
        let rest = self.text.get(from..).unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let word = rest.get(..length.max(first)).unwrap_or_default();
        format!("{} in it is not read", quote(word))
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it is deeper than {DEEPEST}"));
        }
        Ok(())
    }

    /// Returns what stands behind a sign.
    fn inner(&mut self) -> Result<Value, String> {
        self.deeper()?;
        let value = self.single()?;
        self.depth -= 1;
        Ok(value)
    }

    fn choice(&mut self) -> Result<Value, String> {
        self.deeper()?;
        let condition = self.operation(0)?;
        let value = if self.take("?") {
            let yes = self.choice()?;
            self.expect(":")?;
            let no = self.choice()?;
            let Value::Flag(flag) = condition else {
                return Err("a condition in it is neither true nor false".into());
            };
            if flag { yes } else { no }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    fn operation(&mut self, rank: usize) -> Result<Value, String> {
        let Some(operators) = OPERATORS.get(rank) else {
            return self.single();
        };
        let mut left = self.operation(rank + 1)?;
        loop {
            let found = operators.iter().find(|mark| self.take(mark));
            let Some(mark) = found else {
                return Ok(left);
            };
            let right = self.operation(rank + 1)?;
            left = combine(&left, mark, &right)
                .ok_or_else(|| format!("`{mark}` in it is not read between such values"))?;
        }
    }

    fn single(&mut self) -> Result<Value, String> {
        let token = self.peek().ok_or("something is missing in it")?;
        self.at += 1;
        match token.word {
            Word::Text(text) => Ok(Value::Text(unescaped(text))),
            Word::Number(value, unit) => {
                let (factor, unit) =
                    unit_of(unit).ok_or_else(|| format!("the unit {} is not read", quote(unit)))?;
                Ok(Value::Number(Number::of(value * factor, unit)))
            }
            Word::Mark("-") => {
                let value = self.inner()?;
                let number = value.number().ok_or_else(|| self.unread(token.from))?;
                Ok(Value::Number(number.map(|value| -value)))
            }
            Word::Mark("!") => {
                let Value::Flag(flag) = self.inner()? else {
                    return Err(self.unread(token.from));
                };
                Ok(Value::Flag(!flag))
            }
            Word::Mark("(") => {
                let value = self.choice()?;
                self.expect(")")?;
                Ok(value)
            }
            Word::Mark("[") => self.list("]").map(Value::List),
            Word::Mark("{") => self.map(),
            Word::Name("true") => Ok(Value::Flag(true)),
            Word::Name("false") => Ok(Value::Flag(false)),
            Word::Name(name) if self.take("(") => self.call(name, token.from),
            Word::Name(name) => {
                let value = self.names.value(name, self.depth);
                value.ok_or_else(|| self.unread(token.from))
            }
            Word::Mark(_) => Err(self.unread(token.from)),
        }
    }

    fn list(&mut self, end: &str) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        while !self.take(end) {
            all.push(self.choice()?);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(all)
    }

    fn map(&mut self) -> Result<Value, String> {
        let mut all = Vec::new();
        while !self.take("}") {
            let token = self.peek().ok_or("`}` is missing in it")?;
            self.at += 1;
            let key = match token.word {
                Word::Name(name) => name.to_owned(),
                Word::Text(text) => unescaped(text),
                Word::Number(..) | Word::Mark(_) => return Err(self.unread(token.from)),
            };
            self.expect(":")?;
            all.push((key, self.choice()?));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Value::Map(all))
    }

    fn call(&mut self, name: &str, from: usize) -> Result<Value, String> {
        match name {
            "expr" => {
                let begin = self.peek().map_or(0, |token| token.from);
                let mut open = 1_usize;
                while let Some(token) = self.peek() {
                    self.at += 1;
                    if token.is("(") {
                        open += 1;
                    } else if token.is(")") {
                        open -= 1;
                    }
                    if open == 0 {
                        let inside = self.text.get(begin..token.from).unwrap_or_default();
                        return Ok(Value::Filter(inside.trim().to_owned()));
                    }
                }
                Err("`)` is missing in it".into())
            }
            "sizeof" | "exists" => {
                let Some(Word::Name(own)) = self.peek().map(|token| token.word) else {
                    return Err(self.unread(from));
                };
                self.at += 1;
                self.expect(")")?;
                let count = self.names.count(own);
                #[allow(clippy::cast_precision_loss, reason = "there are few modules")]
                let value = match (name, count) {
                    ("exists", count) => Value::Flag(count.is_some_and(|count| count > 0)),
                    (_, Some(count)) => Value::Number(Number::of(count as f64, Unit::None)),
                    (_, None) => return Err(self.unread(from)),
                };
                Ok(value)
            }
            // What is inside is the value itself, and of types the first is taken.
            "default" | "firstAvailable" | "firstAvailableOrEmpty" => {
                let given = self.list(")")?;
                let first = given.into_iter().next();
                first.ok_or_else(|| self.unread(from))
            }
            _ => {
                let given = self.list(")")?;
                random(name, &given).ok_or_else(|| self.unread(from))
            }
        }
    }
}

/// Returns what is known of a random number.
fn random(name: &str, given: &[Value]) -> Option<Value> {
    let numbers: Option<Vec<Number>> =
        given.iter().map(|value| value.number().filter(Number::is_fixed)).collect();
    let number = match (name, numbers?.as_slice()) {
        ("exponential", [mean] | [mean, _]) if mean.mean >= 0.0 => {
            Number { least: 0.0, most: f64::INFINITY, ..*mean }
        }
        ("uniform" | "intuniform", [least, most] | [least, most, _])
            if least.mean <= most.mean && least.unit == most.unit =>
        {
            Number {
                mean: f64::midpoint(least.mean, most.mean),
                most: most.mean,
                is_exponential: false,
                ..*least
            }
        }
        ("truncnormal", [mean, spread] | [mean, spread, _]) if mean.unit == spread.unit => {
            Number { least: 0.0, most: f64::INFINITY, is_exponential: false, ..*mean }
        }
        _ => return None,
    };
    Some(Value::Number(number))
}

/// Returns what a unit is of its base unit.
fn unit_of(unit: &str) -> Option<(f64, Unit)> {
    Some(match unit {
        "" => (1.0, Unit::None),
        "s" => (1e12, Unit::Time),
        "ms" => (1e9, Unit::Time),
        "us" => (1e6, Unit::Time),
        "ns" => (1e3, Unit::Time),
        "ps" => (1.0, Unit::Time),
        "min" => (60e12, Unit::Time),
        "h" => (3_600e12, Unit::Time),
        "b" => (1.0, Unit::Data),
        "B" => (8.0, Unit::Data),
        "kB" => (8e3, Unit::Data),
        "MB" => (8e6, Unit::Data),
        "KiB" => (8.0 * 1024.0, Unit::Data),
        "MiB" => (8.0 * 1024.0 * 1024.0, Unit::Data),
        "bps" => (1.0, Unit::Rate),
        "kbps" => (1e3, Unit::Rate),
        "Mbps" => (1e6, Unit::Rate),
        "Gbps" => (1e9, Unit::Rate),
        "mm" => (1e-3, Unit::Length),
        "cm" => (1e-2, Unit::Length),
        "m" => (1.0, Unit::Length),
        "km" => (1e3, Unit::Length),
        _ => return None,
    })
}

/// Returns the result of an operator.
fn combine(left: &Value, mark: &str, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::Flag(one), Value::Flag(other)) => Some(Value::Flag(match mark {
            "||" => *one || *other,
            "&&" => *one && *other,
            "==" => one == other,
            "!=" => one != other,
            _ => return None,
        })),
        (Value::Text(one), Value::Text(other)) => Some(match mark {
            "==" => Value::Flag(one == other),
            "!=" => Value::Flag(one != other),
            "+" => Value::Text(format!("{one}{other}")),
            _ => return None,
        }),
        (Value::Number(one), Value::Number(other)) => arithmetic(*one, mark, *other),
        _ => None,
    }
}

/// Returns the result of an operator of numbers; one of them may be random.
fn arithmetic(one: Number, mark: &str, other: Number) -> Option<Value> {
    let is_same = one.unit == other.unit;
    let is_plain = |number: Number| number.unit == Unit::None;
    let number = match mark {
        "+" if is_same && (one.is_fixed() || other.is_fixed()) => Number {
            least: one.least + other.least,
            mean: one.mean + other.mean,
            most: one.most + other.most,
            unit: one.unit,
            is_exponential: one.is_exponential && other.is_exponential,
        },
        "-" if is_same && other.is_fixed() => one.map(|value| value - other.mean),
        "*" if other.is_fixed() && (is_plain(one) || is_plain(other)) => Number {
            unit: if is_plain(one) { other.unit } else { one.unit },
            ..one.map(|value| value * other.mean)
        },
        "*" if one.is_fixed() && is_plain(one) => other.map(|value| value * one.mean),
        "/" if other.is_fixed() && is_plain(other) => one.map(|value| value / other.mean),
        "/" if is_same && one.is_fixed() && other.is_fixed() => {
            Number::of(one.mean / other.mean, Unit::None)
        }
        "%" if is_plain(one) && is_plain(other) && one.is_fixed() && other.is_fixed() => {
            Number::of(one.mean % other.mean, Unit::None)
        }
        _ => {
            let order = one.mean.partial_cmp(&other.mean)?;
            let is_compared = is_same && one.is_fixed() && other.is_fixed();
            let flag = match mark {
                "==" => order.is_eq(),
                "!=" => order.is_ne(),
                "<" => order.is_lt(),
                ">" => order.is_gt(),
                "<=" => order.is_le(),
                ">=" => order.is_ge(),
                _ => return None,
            };
            return is_compared.then_some(Value::Flag(flag));
        }
    };
    // Not a division by zero.
    (number.least.is_finite() && number.mean.is_finite() && !number.most.is_nan())
        .then_some(Value::Number(number))
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn value(text: &str) -> Result<Value, String> {
        let words = tokens(text).map_err(|(_, what)| what)?;
        evaluate(&words, text, &Nameless, 0)
    }

    fn number(text: &str) -> Number {
        let value = value(text).unwrap_or_else(|what| panic!("{text}: {what}"));
        value.number().expect("a number")
    }

    /// Oracle: by hand.
    #[test]
    fn numbers_have_units_and_random_ones_a_least_and_a_mean() {
        for (text, least, mean, most) in [
            ("1500B - 58B", 1_442.0 * 8.0, 1_442.0 * 8.0, 1_442.0 * 8.0),
            ("2 + 3 * (4 - 1)", 11.0, 11.0, 11.0),
            ("-2us", -2e6, -2e6, -2e6),
            ("true && !false ? 1ms : 2ms", 1e9, 1e9, 1e9),
            ("4ms + exponential(6ms)", 4e9, 10e9, f64::INFINITY),
            ("uniform(1us, 3us)", 1e6, 2e6, 3e6),
            ("intuniform(50, 150) * 1B", 400.0, 800.0, 1_200.0),
            ("truncnormal(200us, 50us)", 0.0, 200e6, f64::INFINITY),
        ] {
            let own = number(text);
            let all = [(own.least, least), (own.mean, mean), (own.most, most)];
            let is_same = all.iter().all(|(own, known)| own.total_cmp(known).is_eq());
            assert!(is_same, "{text}: {own:?}");
        }
        assert!(number("4ms + exponential(6ms)").is_exponential);
        assert!(!number("uniform(1us, 3us)").is_exponential);
    }

    #[test]
    fn objects_are_read_and_what_is_none_is_refused() {
        let mapping = value("[{stream: \"a\", packetFilter: expr(udp.destPort == 7)}, {pcp: 4,}]");
        let mapping = mapping.expect("a list");
        let filter = mapping.list()[0].get("packetFilter");
        assert_eq!(filter, Some(&Value::Filter("udp.destPort == 7".into())));
        assert_eq!(mapping.list()[1].get("pcp").and_then(|own| own.whole(7)), Some(4));
        for (text, what) in [
            ("replaceUnit(1 / 2, \"ms\")", "`replaceUnit` in it"),
            ("1ms + 1B", "`+` in it"),
            ("1 / 0", "`/` in it"),
            ("${x = 1, 2}", "`$` in it"),
            ("1 furlong", "`furlong` in it"),
            ("1furlong", "the unit `furlong`"),
            ("[1, 2", "`]` is missing"),
            ("", "something is missing"),
            ("\"a\" ? 1 : 2", "a condition in it"),
        ] {
            let wrong = value(text).expect_err(text);
            assert!(wrong.starts_with(what), "{text}: {wrong}");
        }
        assert!(value(&"(".repeat(10_000)).is_err());
        assert!(value(&"-".repeat(100_000)).is_err());
    }
}
