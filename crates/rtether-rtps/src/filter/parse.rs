//! Parser of conditions.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{
    Condition, DEPTH_MAX, FilterError, FilterErrorKind, Literal, Operand, PARAMETERS_MAX, Relation,
    TEXT_MAX, What,
};

/// A token of the condition.
#[derive(Clone, Debug, PartialEq)]
enum Token<'a> {
    /// A keyword or a member name.
    Name(&'a str),
    Literal(Literal),
    Parameter(usize),
    Relation(Relation),
    Open,
    Close,
    End,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Current token and its position.
    token: Token<'a>,
    offset: usize,
    /// Largest parameter number, and its position.
    needs: Option<(usize, usize)>,
}

/// Parses a condition; also returns the largest parameter number and its position.
pub(super) fn condition(text: &str) -> Result<(Condition, Option<(usize, usize)>), FilterError> {
    if text.len() > TEXT_MAX {
        return Err(FilterError { offset: TEXT_MAX, kind: FilterErrorKind::TooLong });
    }
    let mut parser = Parser { text, at: 0, token: Token::End, offset: 0, needs: None };
    parser.advance()?;
    let condition = parser.any(DEPTH_MAX)?;
    if parser.token != Token::End {
        return Err(parser.expected("AND, OR or the end"));
    }
    Ok((condition, parser.needs))
}

/// Parses a parameter; anything but a literal is a text.
pub(super) fn parameter(text: &str) -> Literal {
    let mut parser = Parser { text, at: 0, token: Token::End, offset: 0, needs: None };
    let literal = match parser.next() {
        Ok(Token::Literal(literal)) => Some(literal),
        Ok(Token::Name(name)) => truth(name).map(Literal::Bool),
        _ => None,
    };
    let is_whole = matches!(parser.next(), Ok(Token::End));
    let literal = literal.filter(|_| is_whole);
    literal.unwrap_or_else(|| Literal::Text(text.to_owned()))
}

fn truth(name: &str) -> Option<bool> {
    if name.eq_ignore_ascii_case("true") {
        Some(true)
    } else {
        name.eq_ignore_ascii_case("false").then_some(false)
    }
}

const KEYWORDS: [&str; 5] = ["AND", "OR", "NOT", "BETWEEN", "LIKE"];

impl<'a> Parser<'a> {
    fn error(&self, kind: FilterErrorKind) -> FilterError {
        FilterError { offset: self.offset, kind }
    }

    fn expected(&self, what: &'static str) -> FilterError {
        self.error(FilterErrorKind::Expected(what))
    }

    fn any(&mut self, depth: usize) -> Result<Condition, FilterError> {
        let first = self.all(depth)?;
        if !self.is_keyword("OR") {
            return Ok(first);
        }
        let mut conditions = [first].into_iter().collect::<Vec<_>>();
        while self.take_keyword("OR")? {
            conditions.push(self.all(depth)?);
        }
        Ok(Condition::Any(conditions))
    }

    fn all(&mut self, depth: usize) -> Result<Condition, FilterError> {
        let first = self.one(depth)?;
        if !self.is_keyword("AND") {
            return Ok(first);
        }
        let mut conditions = [first].into_iter().collect::<Vec<_>>();
        while self.take_keyword("AND")? {
            conditions.push(self.one(depth)?);
        }
        Ok(Condition::All(conditions))
    }

    fn one(&mut self, depth: usize) -> Result<Condition, FilterError> {
        let Some(inner) = depth.checked_sub(1) else {
            return Err(self.error(FilterErrorKind::TooDeep));
        };
        if self.take_keyword("NOT")? {
            return Ok(Condition::Not(Box::new(self.one(inner)?)));
        }
        if self.token != Token::Open {
            return self.predicate();
        }
        self.advance()?;
        let condition = self.any(inner)?;
        if self.token != Token::Close {
            return Err(self.expected("AND, OR or )"));
        }
        self.advance()?;
        Ok(condition)
    }

    fn predicate(&mut self) -> Result<Condition, FilterError> {
        let left = self.operand("a member, a value, NOT or (")?;
        let is_negated = self.take_keyword("NOT")?;
        let condition = if self.take_keyword("BETWEEN")? {
            let low = self.operand("a value")?;
            if !self.take_keyword("AND")? {
                return Err(self.expected("AND"));
            }
            Condition::Between(left, low, self.operand("a value")?)
        } else if self.take_keyword("LIKE")? {
            let pattern = self.operand("a pattern")?;
            if matches!(pattern.what, What::Field(_)) {
                return Err(FilterError {
                    offset: pattern.offset,
                    kind: FilterErrorKind::Expected("a text or a parameter"),
                });
            }
            Condition::Like(left, pattern)
        } else if is_negated {
            return Err(self.expected("BETWEEN or LIKE"));
        } else {
            let Token::Relation(relation) = self.token else {
                return Err(self.expected("a comparison, BETWEEN or LIKE"));
            };
            self.advance()?;
            Condition::Compare(left, relation, self.operand("a member or a value")?)
        };
        Ok(if is_negated { Condition::Not(Box::new(condition)) } else { condition })
    }

    fn operand(&mut self, what: &'static str) -> Result<Operand, FilterError> {
        let offset = self.offset;
        let what = match &self.token {
            Token::Name(name) if KEYWORDS.iter().any(|word| word.eq_ignore_ascii_case(name)) => {
                return Err(self.expected(what));
            }
            Token::Name(name) => truth(name).map_or_else(
                || What::Field((*name).to_owned()),
                |value| What::Literal(Literal::Bool(value)),
            ),
            Token::Literal(literal) => What::Literal(literal.clone()),
            Token::Parameter(number) => {
                let number = *number;
                if self.needs.is_none_or(|(most, _)| most < number) {
                    self.needs = Some((number, offset));
                }
                What::Parameter(number)
            }
            Token::Relation(_) | Token::Open | Token::Close | Token::End => {
                return Err(self.expected(what));
            }
        };
        self.advance()?;
        Ok(Operand { offset, what })
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.token, Token::Name(name) if name.eq_ignore_ascii_case(keyword))
    }

    fn take_keyword(&mut self, keyword: &str) -> Result<bool, FilterError> {
        let is_there = self.is_keyword(keyword);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn advance(&mut self) -> Result<(), FilterError> {
        self.token = self.next()?;
        Ok(())
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Takes the leading characters for which `belongs` holds.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or("")
    }

    fn next(&mut self) -> Result<Token<'a>, FilterError> {
        self.take_while(char::is_whitespace);
        self.offset = self.at;
        let rest = self.rest();
        for (word, token) in [
            ("<>", Token::Relation(Relation::NotEqual)),
            ("!=", Token::Relation(Relation::NotEqual)),
            ("<=", Token::Relation(Relation::LessOrEqual)),
            (">=", Token::Relation(Relation::GreaterOrEqual)),
            ("<", Token::Relation(Relation::Less)),
            (">", Token::Relation(Relation::Greater)),
            ("=", Token::Relation(Relation::Equal)),
            ("(", Token::Open),
            (")", Token::Close),
        ] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(token);
            }
        }
        match rest.chars().next() {
            None => Ok(Token::End),
            Some('%') => self.number_of_parameter(),
            Some('\'' | '`') => self.quoted(),
            Some('0'..='9' | '+' | '-' | '.') => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let name =
                    self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']'));
                Ok(Token::Name(name))
            }
            Some(_) => Err(self.expected("a member, a value or a comparison")),
        }
    }

    fn number_of_parameter(&mut self) -> Result<Token<'a>, FilterError> {
        self.at += 1;
        let digits = self.take_while(|c| c.is_ascii_digit());
        let number = digits.parse().ok().filter(|n| *n < PARAMETERS_MAX);
        let number = number.ok_or_else(|| self.expected("a parameter from %0 to %99"))?;
        Ok(Token::Parameter(number))
    }

    /// Text between quotes; a quote within it is doubled.
    fn quoted(&mut self) -> Result<Token<'a>, FilterError> {
        let mut text = String::new();
        self.at += 1;
        loop {
            text.push_str(self.take_while(|c| c != '\''));
            if self.rest().starts_with("''") {
                text.push('\'');
                self.at += 2;
            } else if self.rest().is_empty() {
                return Err(self.error(FilterErrorKind::OpenText));
            } else {
                self.at += 1;
                return Ok(Token::Literal(Literal::Text(text)));
            }
        }
    }

    fn number(&mut self) -> Result<Token<'a>, FilterError> {
        let start = self.at;
        let sign = self.take_while(|c| matches!(c, '+' | '-'));
        let digits = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
        // The sign of an exponent.
        if digits.ends_with(['e', 'E']) && !digits.starts_with("0x") {
            self.take_while(|c| matches!(c, '+' | '-'));
            self.take_while(|c| c.is_ascii_digit());
        }
        let whole = self.text.get(start..self.at).unwrap_or("");
        let hex = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
        let integer = match (hex, sign) {
            (Some(hex), "" | "+") => hexadecimal(hex),
            (Some(hex), "-") => hexadecimal(hex).map(|value| -value),
            (Some(_), _) => None,
            (None, _) => whole.parse::<i128>().ok(),
        };
        if let Some(integer) = integer {
            return Ok(Token::Literal(Literal::Integer(integer)));
        }
        // Rejects names such as `inf`, and numbers that overflow to infinity.
        let float = whole.parse::<f64>().ok();
        let float = float.filter(|float| float.is_finite() && hex.is_none());
        let float = float.ok_or_else(|| self.error(FilterErrorKind::Number))?;
        Ok(Token::Literal(Literal::Float(float)))
    }
}

/// Parses at most 64 bits.
fn hexadecimal(hex: &str) -> Option<i128> {
    let is_hex = hex.bytes().all(|octet| octet.is_ascii_hexdigit());
    let value = u64::from_str_radix(hex, 16).ok().filter(|_| is_hex);
    value.map(i128::from)
}
