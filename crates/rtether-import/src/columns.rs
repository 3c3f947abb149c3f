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

#[cfg(test)]
mod tests {
    use super::*;

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
