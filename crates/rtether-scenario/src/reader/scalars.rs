//! Getters of single values.

use rtether_model::network::Cost;

use crate::keys::table::UNKNOWN;

use super::{
    At, Bytes, Data, Diagnostic, Duration, Entry, Fields, Help, Kind, Problem, Quantity, Reader,
    Span, UnitError, Value, codes, expectation, found, octets, picoseconds, quote, units,
};

impl Reader<'_> {
    /// Returns the text of a scalar.
    pub(crate) fn scalar<'t>(&mut self, fields: &Fields<'t>, key: &str) -> Option<At<&'t str>> {
        let entry = fields.get(key)?;
        let Data::Scalar(text) = &entry.value.data else {
            let expected = expectation(&fields.spec(key).kind);
            let value = &entry.value;
            if matches!(value.data, Data::Null) {
                self.wrong_type_at(fields, key, expected, entry.key_span, value);
            } else {
                self.wrong_type(fields, key, value, expected);
            }
            return None;
        };
        Some(At { value: text, span: entry.value.span })
    }

    fn wrong_type_at(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        expected: &str,
        at: Span,
        value: &Value,
    ) {
        let pointed = Value { span: at, data: value.data.clone() };
        self.wrong_type(fields, key, &pointed, expected);
    }

    /// Returns a whole number within the limits of the table.
    pub(crate) fn count(&mut self, fields: &Fields<'_>, key: &str) -> Option<At<u64>> {
        let At { value: text, span } = self.scalar(fields, key)?;
        let &Kind::Count { min, max } = &fields.spec(key).kind else {
            unreachable!("`{key}` is not a count");
        };
        let value = self.count_in(key, text, span, (min, max))?;
        Some(At { value, span })
    }

    /// Returns a count that the table limits to below 256.
    pub(crate) fn small(&mut self, fields: &Fields<'_>, key: &str) -> Option<At<u8>> {
        let At { value, span } = self.count(fields, key)?;
        let value = u8::try_from(value).ok()?;
        Some(At { value, span })
    }

    /// Returns a number of frames.
    pub(crate) fn frames(&mut self, fields: &Fields<'_>, key: &str, otherwise: u32) -> u32 {
        let count = self.count(fields, key);
        count.map_or(otherwise, |count| u32::try_from(count.value).unwrap_or(u32::MAX))
    }

    /// Reads a whole number from `min` to `max`.
    pub(crate) fn count_in(
        &mut self,
        key: &str,
        text: &str,
        span: Span,
        (min, max): (u64, u64),
    ) -> Option<u64> {
        let count = match units::read_count(text) {
            Ok(count) if (min..=max).contains(&count) => return Some(count),
            Ok(_) => true,
            Err(error) => error.problem != Problem::NotANumber,
        };
        if count {
            let rule = if max >= u64::MAX >> 1 {
                format!("a whole number from {min}")
            } else {
                format!("{min} to {max}")
            };
            self.out_of_range(key, span, &rule, &found(text), limit_reason(key));
        } else {
            let title = format!("`{key}` is a whole number, found {}", found(text));
            let label = format!("{min} to {max}, without a unit");
            let meant = units::count_to_propose(text).filter(|n| (min..=max).contains(n));
            let help = meant.map(|number| Help::write(format!("{key}: {number}")));
            let label = if max >= u64::MAX >> 1 { "without a unit".to_owned() } else { label };
            self.report(Diagnostic::new(&codes::WRONG_QUANTITY, title, span, label).help_if(help));
        }
        None
    }

    /// Returns a quantity in base units.
    pub(crate) fn quantity(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        want: Quantity,
    ) -> Option<At<u64>> {
        let At { value: text, span } = self.scalar(fields, key)?;
        let value = self.quantity_of(fields, key, text, span, want)?;
        Some(At { value, span })
    }

    /// Reads a quantity in base units.
    pub(crate) fn quantity_of(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        text: &str,
        span: Span,
        want: Quantity,
    ) -> Option<u64> {
        match units::read(text, want) {
            Ok(value) => Some(value),
            Err(error) => {
                self.unit_error(fields, key, text, span, want, error);
                None
            }
        }
    }

    pub(crate) fn time(&mut self, fields: &Fields<'_>, key: &str) -> Option<At<Duration>> {
        let At { value, span } = self.quantity(fields, key, Quantity::Time)?;
        let value = picoseconds(value);
        Some(At { value, span })
    }

    /// Returns a time of at most `most`, so that sums of many stay in range.
    pub(crate) fn time_up_to(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        most: Duration,
        why: &str,
    ) -> Option<Duration> {
        let At { value, span } = self.time(fields, key)?;
        if value > most {
            let rule = format!("at most {most}");
            self.out_of_range(key, span, &rule, &value.to_string(), why);
            return None;
        }
        Some(value)
    }

    /// Returns `time .. time`, or one time twice, of at most `most`.
    pub(crate) fn times_up_to(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        most: Duration,
        why: &str,
    ) -> Option<(Duration, Duration)> {
        let At { value: text, span } = self.scalar(fields, key)?;
        if !text.contains("..") {
            let time = self.time_up_to(fields, key, most, why)?;
            return Some((time, time));
        }
        let (low, high) = self.time_range(fields, key)?;
        if high > most {
            let rule = format!("at most {most}");
            self.out_of_range(key, span, &rule, &high.to_string(), why);
            return None;
        }
        Some((low, high))
    }

    /// Returns the ends of a cost that is not known, at most `limit`; `Ok(None)` if the value is none,
    /// or not there, and an error after a mistake, which has been reported.
    pub(crate) fn unknown(
        &mut self,
        fields: &Fields<'_>,
        key: &'static str,
        limit: Duration,
        why: &str,
    ) -> Result<Option<[Duration; 2]>, ()> {
        let is_map = |entry: &Entry| matches!(entry.value.data, Data::Map(_));
        if !fields.get(key).is_some_and(is_map) {
            return Ok(None);
        }
        let inner = self.one(fields, key, &UNKNOWN).ok_or(())?;
        if !self.require(&inner, "unknown") {
            return Err(());
        }
        let (least, most) = self.time_range(&inner, "unknown").ok_or(())?;
        if most > limit {
            let span = inner.get("unknown").map_or(inner.at, |own| own.value.span);
            let rule = format!("at most {limit}");
            self.out_of_range("unknown", span, &rule, &most.to_string(), why);
            return Err(());
        }
        Ok(Some([least, most]))
    }

    /// Returns a time twice, or the ends of one that is not known.
    pub(crate) fn ends_of_time(
        &mut self,
        fields: &Fields<'_>,
        key: &'static str,
        limit: Duration,
        why: &str,
    ) -> Option<[Duration; 2]> {
        match self.unknown(fields, key, limit, why).ok()? {
            Some(ends) => Some(ends),
            None => Some([self.time_up_to(fields, key, limit, why)?; 2]),
        }
    }

    /// Returns a time of at least one picosecond.
    pub(crate) fn positive_time(&mut self, fields: &Fields<'_>, key: &str) -> Option<At<Duration>> {
        let at = self.time(fields, key)?;
        if at.value == Duration::ZERO {
            self.out_of_range(key, at.span, "more than 0 s", "0 s", "it would never end");
            return None;
        }
        Some(at)
    }

    pub(crate) fn size(&mut self, fields: &Fields<'_>, key: &str) -> Option<At<Bytes>> {
        let At { value, span } = self.quantity(fields, key, Quantity::Size)?;
        let value = octets(value);
        Some(At { value, span })
    }

    /// Returns the interval of a packet rate.
    pub(crate) fn interval(&mut self, fields: &Fields<'_>, key: &str) -> Option<At<Duration>> {
        let At { value: text, span } = self.scalar(fields, key)?;
        match units::read_interval(text) {
            Ok(ps) => {
                let value = picoseconds(ps);
                Some(At { value, span })
            }
            Err(error) => {
                self.unit_error(fields, key, text, span, Quantity::PacketRate, error);
                None
            }
        }
    }

    /// Returns `time` or `time + time/B`.
    pub(crate) fn cost(&mut self, fields: &Fields<'_>, key: &str) -> Option<Cost> {
        let At { value: text, span } = self.scalar(fields, key)?;
        let mut cost = Cost::default();
        let mut offset = 0;
        let mut seen = [false; 2];
        for part in text.split('+') {
            let range = offset..offset + part.len();
            offset = range.end + 1;
            let trimmed = part.trim();
            let lead = range.start + part.len() - part.trim_start().len();
            let place = self.part(span, text, &(lead..lead + trimmed.len()));
            let (amount, per_octet) = match trimmed.strip_suffix("/B") {
                Some(amount) => (amount, true),
                None => (trimmed, false),
            };
            let value = self.quantity_of(fields, key, amount, place, Quantity::Time)?;
            if std::mem::replace(&mut seen[usize::from(per_octet)], true) {
                let title =
                    format!("`{key}` is a time and a time per octet, found {}", quote(text));
                let label = "the second of its kind";
                let help = Help::example(format!("{key}: 8 us + 12 ns/B"));
                self.report(
                    Diagnostic::new(&codes::WRONG_QUANTITY, title, place, label).help(help),
                );
                return None;
            }
            let value = picoseconds(value);
            // One millisecond per octet is 1.5 s per frame.
            let most = if per_octet { Duration::from_ms(1) } else { Duration::from_secs(3600) };
            if value > most {
                let rule = format!("at most {most}");
                self.out_of_range(key, place, &rule, &quote(trimmed), "cost of a single frame");
                return None;
            }
            let slot = if per_octet { &mut cost.per_octet } else { &mut cost.base };
            *slot += value;
        }
        Some(cost)
    }

    /// Returns `time .. time`.
    pub(crate) fn time_range(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
    ) -> Option<(Duration, Duration)> {
        let At { value: text, span } = self.scalar(fields, key)?;
        let Some((low, high)) = text.split_once("..") else {
            let title = format!("`{key}` is a range of times, found {}", quote(text));
            let help = Help::write(format!("{key}: {}", fields.spec(key).example)).certain(false);
            let label = "two times with `..` between them";
            self.report(Diagnostic::new(&codes::WRONG_QUANTITY, title, span, label).help(help));
            return None;
        };
        let place = self.part(span, text, &(0..low.len()));
        let from = self.quantity_of(fields, key, low, place, Quantity::Time);
        let place = self.part(span, text, &(low.len() + 2..text.len()));
        let to = self.quantity_of(fields, key, high, place, Quantity::Time);
        let (from, to) = (picoseconds(from?), picoseconds(to?));
        if from > to {
            let rule = "from the smaller to the larger time";
            self.out_of_range(key, span, rule, &quote(text), "the range is empty");
            return None;
        }
        Some((from, to))
    }

    /// Reports a malformed quantity.
    pub(crate) fn unit_error(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        text: &str,
        span: Span,
        want: Quantity,
        error: UnitError,
    ) {
        let place = self.part(span, text, &error.range);
        let text = text.trim();
        let of = format!("of {}", fields.owner);
        let spec_example = fields.section.find(key).map_or(want.example(), |spec| spec.example);
        let example = spec_example;
        let example = Help::example(format!("{key}: {example}"));
        let name = want.name();
        let diagnostic = match error.problem {
            Problem::MissingUnit => {
                let (_, usual) = want.usual_units();
                let unit = units::unit_to_propose(spec_example, want);
                let title = format!("`{key}` needs a unit, found {}", found(text));
                let whole = format!("{text} {unit}");
                let spec = fields.section.find(key);
                let is_item = spec.is_some_and(|spec| matches!(spec.kind, Kind::Values(_)));
                // In a list, zero means a queue without a share.
                let is_sound = units::read(&whole, want).is_ok_and(|value| value > 0 || is_item);
                // A size counts octets; whether a time counts ms or us is the author's to say.
                let is_certain = want == Quantity::Size;
                let usual = format!(" ({usual})");
                let help = if is_sound && is_item {
                    Help::write(whole).certain(is_certain).noted(&usual)
                } else if is_sound {
                    let entry = format!("{key}: {whole}");
                    Help::write(entry).certain(is_certain).noted(&usual)
                } else {
                    example.noted(&usual)
                };
                Diagnostic::new(&codes::MISSING_UNIT, title, span, of).help(help)
            }
            Problem::NotANumber => {
                let title = format!("`{key}` is {name}, found {}", quote(text));
                Diagnostic::new(&codes::WRONG_QUANTITY, title, span, of).help(example)
            }
            Problem::WrongQuantity { found } => {
                let title = format!("`{key}` is {name}, found {}", quote(text));
                let label = format!("this is {}", found.name());
                Diagnostic::new(&codes::WRONG_QUANTITY, title, span, label).help(example)
            }
            Problem::UnknownUnit { unit, hint } => {
                let title = format!("{} is not a unit of {name}", quote(&unit));
                let (_, usual) = want.usual_units();
                let label = format!("`{key}` takes {usual}");
                Diagnostic::new(&codes::UNKNOWN_UNIT, title, place, label)
                    .help(hint.map_or(example, |hint| *hint))
            }
            Problem::TooFine { smallest } => {
                let title = format!("`{key}` cannot be as fine as {}", quote(text));
                let label = format!("a whole multiple of {smallest} is needed");
                Diagnostic::new(&codes::VALUE_TOO_FINE, title, span, label)
            }
            Problem::TooLarge { largest } => {
                let title = format!("`{key}` must be at most {largest}, found {}", quote(text));
                Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, of)
            }
            Problem::Negative => {
                let title = format!("`{key}` cannot be negative, found {}", quote(text));
                Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, of)
            }
        };
        self.report(diagnostic);
    }
}

/// Returns the reason for a count's limits where the numbers alone do not explain them.
fn limit_reason(key: &str) -> &'static str {
    match key {
        "pcp" | "default_pcp" | "insert" | "mark" | "exceed" => "PCP is a 3-bit field",
        "vlan" | "access" | "trunk" | "native" => "VLAN identifiers 0 and 4095 are reserved",
        "dscp" => "DSCP is a 6-bit field",
        "port" | "source_port" => "ports are 16-bit fields",
        "queues" | "pcp_map" => "a port has at most 8 queues, counted from 0",
        "queue" | "untagged" | "high_from" => "there are at most 8 queues, counted from 0",
        "priority" => "threads of the kernel have to go first",
        "core" => "cores count from 0",
        "weights" => "every queue needs its turn",
        _ => "outside what can be run",
    }
}
