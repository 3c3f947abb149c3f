//! Formats of results on the command line.

use std::io::Write;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;

use crate::exit::Exit;
use crate::terminal;

/// Format of the result.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormatArgs {
    /// Format of the result
    #[arg(long, value_name = "FORM", default_value = "table", value_parser = names())]
    format: Format,
    /// Print one JSON document and nothing else; short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Print rows; short for --format csv
    #[arg(long, conflicts_with_all = ["format", "json"])]
    csv: bool,
    /// Print all columns of tables, however narrow the terminal is
    #[arg(long)]
    wide: bool,
}

/// Returns the parser of names of formats.
fn names() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(|(_, name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(names).map(|name| Format::named(&name).unwrap_or_default())
}

impl FormatArgs {
    /// Returns the format.
    pub(crate) const fn format(self) -> Format {
        match (self.json, self.csv) {
            (true, _) => Format::Json,
            (_, true) => Format::Csv,
            (false, false) => self.format,
        }
    }

    /// Prints a result.
    pub(crate) fn print(self, result: &(impl Render + ?Sized)) -> Exit {
        if self.format() == Format::Json {
            let mut out = std::io::stdout().lock();
            let written = result.write_json(&mut out).and_then(|()| out.flush());
            return terminal::is_written(written);
        }
        terminal::print(&result.render(self.format(), self.screen()))
    }

    /// Returns where tables are drawn.
    fn screen(self) -> Screen {
        Screen { width: width().filter(|_| !self.wide), color: terminal::has_color(), ascii: false }
    }
}

/// Returns the width of tables: the variable `COLUMNS`, else that of the terminal, else no limit,
/// since a pipe or a file has none.
fn width() -> Option<u16> {
    let wished = std::env::var("COLUMNS").ok();
    let wished = wished.and_then(|columns| columns.parse().ok());
    let wished = wished.filter(|&columns| columns > 0);
    wished.or_else(|| {
        let size = console::Term::stdout().size_checked();
        size.map(|(_, columns)| columns)
    })
}
