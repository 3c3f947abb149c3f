//! Which column of a list of flows means what.

use rtether_model::quantity::Duration;

/// What a column of a list of flows can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// Name of the flow.
    Name,
    /// Station that sends.
    From,
    /// Stations that receive.
    To,
    /// Octets of a message.
    Size,
    /// Time between two messages.
    Period,
    /// Longest permitted time.
    Deadline,
    /// Priority of the tag.
    Pcp,
    /// VLAN of the tag.
    Vlan,
}

impl Column {
    /// Every meaning, with its word.
    pub const ALL: [(Self, &str); 8] = [
        (Self::Name, "name"),
        (Self::From, "from"),
        (Self::To, "to"),
        (Self::Size, "size"),
        (Self::Period, "period"),
        (Self::Deadline, "deadline"),
        (Self::Pcp, "pcp"),
        (Self::Vlan, "vlan"),
    ];

    /// Those without which there is no flow.
    pub(crate) const NEEDED: [Self; 4] = [Self::From, Self::To, Self::Size, Self::Period];

    const fn is_time(self) -> bool {
        matches!(self, Self::Period | Self::Deadline)
    }
}

/// A column of the file: its title, and the unit of a time; each cell has its own if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) column: Column,
    pub(crate) title: String,
    pub(crate) unit: Option<Duration>,
}

/// Which column of a list of flows means what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    sources: Vec<Source>,
    /// Whether they were not stated.
    is_usual: bool,
}

/// Columns of tsnkit, whose times are nanoseconds.
const TSNKIT: &str = "from=src,to=dst,size=size,period=period:ns,deadline=deadline:ns";

impl Columns {
    /// The columns of tsnkit.
    pub(crate) fn tsnkit() -> Self {
        let stated = Self::parse(TSNKIT);
        Self {
            sources: stated.map_or_else(|_| Vec::new(), |columns| columns.sources),
            is_usual: true,
        }
    }

    /// The keys of a scenario as titles, with units in the cells.
    pub(crate) fn of_scenarios() -> Self {
        let sources = Column::ALL.iter().map(|(column, word)| Source {
            column: *column,
            title: (*word).to_owned(),
            unit: None,
        });
        Self { sources: sources.collect(), is_usual: true }
    }

    /// Reads `from=SourceNode,to=DestinationNode,size=Size,period=Period:us`; times have a unit.
    pub fn parse(text: &str) -> Result<Self, String> {
        let sources = text.split(',').map(source);
        let sources = sources.collect::<Result<Vec<Source>, String>>()?;
        for (number, source) in sources.iter().enumerate() {
            if sources[..number].iter().any(|other| other.column == source.column) {
                return Err(format!("`{}` is given twice", word(source.column)));
            }
        }
        for needed in Column::NEEDED {
            let name = word(needed);
            if !sources.iter().any(|source| source.column == needed) {
                return Err(format!("`{name}` is missing; from, to, size and period are needed"));
            }
        }
        Ok(Self { sources, is_usual: false })
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    pub(crate) const fn is_usual(&self) -> bool {
        self.is_usual
    }
}

fn word(column: Column) -> &'static str {
    let mut all = Column::ALL.into_iter();
    all.find(|(known, _)| *known == column).map_or("", |(_, word)| word)
}

fn source(text: &str) -> Result<Source, String> {
    let (name, title) =
        text.split_once('=').ok_or("write NAME=TITLE for each column, for example from=src")?;
    let name = name.trim();
    let mut all = Column::ALL.into_iter();
    let (column, _) = all.find(|(_, word)| *word == name).ok_or_else(|| {
        let words: Vec<&str> = Column::ALL.iter().map(|(_, word)| *word).collect();
        format!("`{name}` is not known; there are {}", words.join(", "))
    })?;
    if !column.is_time() {
        return Ok(Source { column, title: title.trim().to_owned(), unit: None });
    }
    let wrong = || format!("write the unit of `{name}`: {name}={}:us", title.trim());
    let (title, unit) = title.rsplit_once(':').ok_or_else(wrong)?;
    Ok(Source {
        column,
        title: title.trim().to_owned(),
        unit: Some(unit_of_time(unit.trim()).ok_or_else(wrong)?),
    })
}

/// Returns a unit of time.
pub(crate) fn unit_of_time(unit: &str) -> Option<Duration> {
    Some(match unit {
        "ns" => Duration::from_ns(1),
        "us" | "µs" => Duration::from_us(1),
        "ms" => Duration::from_ms(1),
        "s" => Duration::from_secs(1),
        _ => return None,
    })
}

/// Longest time that a list may state, a day.
const LONGEST: i128 = 86_400_000_000_000_000;

/// Reads a number of a unit, such as `1.5` or `2e-3`, cut to whole picoseconds; `None` if it is no
/// number, negative, or above a day.
pub(crate) fn picoseconds(number: &str, unit: Duration) -> Option<Duration> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_decimal = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    if whole.is_empty() || !is_decimal(whole) || !is_decimal(part) {
        return None;
    }
    // The digits as a whole number, and how many of them stand behind the point.
    let behind = i32::try_from(part.len()).ok()?;
    let shift = exponent.parse::<i32>().ok()?.checked_sub(behind)?;
    let digits = format!("{whole}{part}");
    let digits = digits.trim_start_matches('0');
    // Digits below a picosecond of any unit are cut first, so that the rest cannot overflow.
    let kept = digits.len().min(24);
    let dropped = i32::try_from(digits.len() - kept).ok()?;
    let value: i128 = if kept == 0 { 0 } else { digits[..kept].parse().ok()? };
    let shift = shift.checked_add(dropped)?;
    let scaled = value.checked_mul(i128::from(unit.as_ps()))?;
    let power = 10_i128.checked_pow(shift.unsigned_abs());
    let ps = match (value, shift) {
        (0, _) => 0,
        (_, 0..) => scaled.checked_mul(power?)?,
        (_, _) => power.map_or(0, |power| scaled / power),
    };
    let ps = Some(ps).filter(|ps| *ps <= LONGEST)?;
    i64::try_from(ps).ok().map(Duration::from_ps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(text: &str) -> Option<i64> {
        picoseconds(text, Duration::from_us(1)).map(Duration::as_ps)
    }

    /// Oracle: by hand.
    #[test]
    fn numbers_of_a_unit_are_cut_to_picoseconds() {
        let read = ["1", "0.5", "80.0501253132832", "2e-3", "1E2", "00.0", "1e-40", "0e99"];
        let expected = [1_000_000, 500_000, 80_050_125, 2_000, 100_000_000, 0, 0, 0];
        assert_eq!(read.map(us), expected.map(Some));
        let long = format!("0.{}", "9".repeat(60));
        assert_eq!(us(&long), Some(999_999));
        for wrong in ["", "-1", ".5", "1,5", "1e", "nan", "1e12", "1e400", "9".repeat(40).as_str()]
        {
            assert_eq!(us(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn columns_are_read_or_refused_with_a_remedy() {
        let read = Columns::parse("from=a, to=b, size=c,period=d e:us").expect("columns");
        assert_eq!(read.sources()[3].title, "d e");
        assert_eq!(read.sources()[3].unit, Some(Duration::from_us(1)));
        assert_eq!(Columns::tsnkit().sources().len(), 5);
        for (text, part) in [
            ("from=a,to=b,size=c", "`period` is missing"),
            ("from=a,to=b,size=c,period=d", "write the unit of `period`"),
            ("from=a,to=b,size=c,period=d:h", "write the unit of `period`"),
            ("from=a,from=b,to=b,size=c,period=d:us", "`from` is given twice"),
            ("of=a", "`of` is not known"),
            ("", "NAME=TITLE"),
        ] {
            let wrong = Columns::parse(text).expect_err(text);
            assert!(wrong.contains(part), "{wrong}");
        }
    }
}
