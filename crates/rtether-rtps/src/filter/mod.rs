//! Content filters: the conditions of DDS 1.4, annex B, on the members of a sample.
//!
//! Comparisons (`=`, `<>`, `!=`, `<`, `<=`, `>`, `>=`, `LIKE`) of members with each other, with
//! literals and with the parameters `%0` to `%99`; `BETWEEN`; `NOT` before `AND` before `OR`;
//! parentheses. Nested members are named with dots. Keywords are case-insensitive. In a pattern,
//! `%` stands for any text and `_` for one character. Sorting and queries over several topics are
//! not supported.

mod compare;
mod judge;
mod parse;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use thiserror::Error;

pub use judge::{CLASS, Judge};

/// Maximum size of a condition, and of a parameter, in octets.
pub const TEXT_MAX: usize = 4096;
/// Maximum nesting depth of parentheses and negations.
pub const DEPTH_MAX: usize = 32;
/// Maximum number of parameters.
pub const PARAMETERS_MAX: usize = 100;
/// Maximum size of a pattern, in octets: the time of `LIKE` is at most this times the text's
/// length.
pub const PATTERN_MAX: usize = 256;

/// Value of a member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer.
    Integer(i128),
    /// A float.
    Float(f64),
    /// A Boolean.
    Bool(bool),
    /// A string, or the name of an enumerator.
    Text(&'a str),
    /// A character.
    Char(char),
}

/// A sample with named members.
pub trait Fields {
    /// Returns the value of a member; the names of nested members are joined by dots.
    fn field(&self, name: &str) -> Option<Value<'_>>;
}

/// Kind and position of an error in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{kind}, at octet {offset} of the filter")]
pub struct FilterError {
    /// Offset in the condition, in octets.
    pub offset: usize,
    /// Kind of the error.
    pub kind: FilterErrorKind,
}

/// Kind of an error in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// Longer than [`TEXT_MAX`].
    #[error("the filter or a parameter is longer than {TEXT_MAX} octets")]
    TooLong,
    /// Deeper than [`DEPTH_MAX`].
    #[error("parentheses and negations nested deeper than {DEPTH_MAX}")]
    TooDeep,
    /// More than [`PARAMETERS_MAX`].
    #[error("more than {PARAMETERS_MAX} parameters")]
    TooManyParameters,
    /// A pattern longer than [`PATTERN_MAX`].
    #[error("a pattern longer than {PATTERN_MAX} octets")]
    PatternTooLong,
    /// Something else is expected here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A text without its closing quote.
    #[error("a text without its closing '")]
    OpenText,
    /// An invalid number, or one that is too large.
    #[error("not a number")]
    Number,
    /// A parameter without a value.
    #[error("parameter %{0} has no value")]
    Parameter(usize),
    /// A member that the type does not have.
    #[error("the type has no such member")]
    UnknownField,
    /// Values that cannot be compared.
    #[error("values of these kinds cannot be compared")]
    Mismatch,
}

/// A condition on samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    condition: Condition,
    parameters: Vec<Literal>,
    /// Largest parameter number, and its position.
    needs: Option<(usize, usize)>,
}

/// Chains are flat, so that the depth is that of parentheses and negations.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Compare(Operand, Relation, Operand),
    Like(Operand, Operand),
    Between(Operand, Operand, Operand),
}

/// An operand and its position.
#[derive(Clone, Debug, PartialEq)]
struct Operand {
    offset: usize,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Field(String),
    Literal(Literal),
    Parameter(usize),
}

#[derive(Clone, Debug, PartialEq)]
enum Literal {
    Integer(i128),
    Float(f64),
    Bool(bool),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Filter {
    /// Parses a condition. Parameters are numbers, texts in `'`, `TRUE` or `FALSE`; anything else
    /// is taken as a text.
    pub fn parse(text: &str, parameters: &[&str]) -> Result<Self, FilterError> {
        let (condition, needs) = parse::condition(text)?;
        let mut filter = Self { condition, parameters: Vec::new(), needs };
        filter.set_parameters(parameters)?;
        Ok(filter)
    }

    /// Replaces the parameters; on error they are unchanged.
    pub fn set_parameters(&mut self, parameters: &[&str]) -> Result<(), FilterError> {
        let error = |kind| FilterError { offset: 0, kind };
        if parameters.len() > PARAMETERS_MAX {
            return Err(error(FilterErrorKind::TooManyParameters));
        }
        if let Some((number, offset)) = self.needs.filter(|(n, _)| *n >= parameters.len()) {
            let kind = FilterErrorKind::Parameter(number);
            return Err(FilterError { offset, kind });
        }
        if parameters.iter().any(|text| text.len() > TEXT_MAX) {
            return Err(error(FilterErrorKind::TooLong));
        }
        self.parameters = parameters.iter().map(|text| parse::parameter(text)).collect();
        Ok(())
    }

    /// Returns whether evaluation takes time linear in the sizes of filter and sample: patterns
    /// take the product of both.
    pub(crate) fn is_quick(&self) -> bool {
        fn is_quick(condition: &Condition) -> bool {
            match condition {
                Condition::All(all) | Condition::Any(all) => all.iter().all(is_quick),
                Condition::Not(condition) => is_quick(condition),
                Condition::Compare(..) | Condition::Between(..) => true,
                Condition::Like(..) => false,
            }
        }
        is_quick(&self.condition)
    }

    /// Returns whether a sample passes.
    pub fn passes(&self, sample: &dyn Fields) -> Result<bool, FilterError> {
        self.holds(&self.condition, sample, true)
    }

    /// Evaluates all members and comparisons, even where they cannot change the result: an error
    /// means that the filter does not fit the type.
    pub fn check(&self, sample: &dyn Fields) -> Result<(), FilterError> {
        self.holds(&self.condition, sample, false).map(|_| ())
    }

    fn holds(
        &self,
        condition: &Condition,
        sample: &dyn Fields,
        is_lazy: bool,
    ) -> Result<bool, FilterError> {
        match condition {
            Condition::All(conditions) => self.chain(conditions, sample, is_lazy, false),
            Condition::Any(conditions) => self.chain(conditions, sample, is_lazy, true),
            Condition::Not(condition) => Ok(!self.holds(condition, sample, is_lazy)?),
            Condition::Compare(left, relation, right) => {
                let ordering = self.compare(left, right, sample)?;
                Ok(relation.holds(ordering))
            }
            Condition::Like(operand, pattern) => {
                let error = |offset, kind| FilterError { offset, kind };
                let mismatch = error(operand.offset, FilterErrorKind::Mismatch);
                let (value, pattern_value) =
                    (self.value(operand, sample)?, self.value(pattern, sample)?);
                let Value::Text(text) = pattern_value else {
                    return Err(mismatch);
                };
                if text.len() > PATTERN_MAX {
                    return Err(error(pattern.offset, FilterErrorKind::PatternTooLong));
                }
                compare::like(value, text).ok_or(mismatch)
            }
            Condition::Between(operand, low, high) => {
                let above = self.compare(operand, low, sample)?;
                let below = self.compare(operand, high, sample)?;
                Ok(Relation::GreaterOrEqual.holds(above) && Relation::LessOrEqual.holds(below))
            }
        }
    }

    /// Searches for a condition that decides the result.
    fn chain(
        &self,
        conditions: &[Condition],
        sample: &dyn Fields,
        is_lazy: bool,
        decisive: bool,
    ) -> Result<bool, FilterError> {
        let mut result = !decisive;
        for condition in conditions {
            if self.holds(condition, sample, is_lazy)? == decisive {
                result = decisive;
                if is_lazy {
                    break;
                }
            }
        }
        Ok(result)
    }

    fn compare(
        &self,
        left: &Operand,
        right: &Operand,
        sample: &dyn Fields,
    ) -> Result<Option<Ordering>, FilterError> {
        let values = (self.value(left, sample)?, self.value(right, sample)?);
        compare::values(values.0, values.1)
            .map_err(|_| FilterError { offset: left.offset, kind: FilterErrorKind::Mismatch })
    }

    fn value<'a>(
        &'a self,
        operand: &'a Operand,
        sample: &'a dyn Fields,
    ) -> Result<Value<'a>, FilterError> {
        let found = match &operand.what {
            What::Field(name) => sample.field(name).ok_or(FilterErrorKind::UnknownField),
            What::Literal(literal) => Ok(literal.value()),
            What::Parameter(number) => {
                let literal = self.parameters.get(*number).map(Literal::value);
                literal.ok_or(FilterErrorKind::Parameter(*number))
            }
        };
        found.map_err(|kind| FilterError { offset: operand.offset, kind })
    }
}

impl Literal {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Integer(value) => Value::Integer(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Bool(value) => Value::Bool(*value),
            Self::Text(value) => Value::Text(value),
        }
    }
}

impl Relation {
    /// Unordered values, such as NaN, satisfy `NotEqual` only.
    fn holds(self, ordering: Option<Ordering>) -> bool {
        let Some(ordering) = ordering else {
            return self == Self::NotEqual;
        };
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}
