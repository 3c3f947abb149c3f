//! CSV rows that are safe to open in a spreadsheet.
//!
//! Spreadsheets take a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return for a
//! formula, and names may come from untrusted sources. Such a cell is prefixed with an apostrophe,
//! which spreadsheets read as "this is text". Numbers, including negative ones, stay numbers.

use std::io;

/// A CSV writer.
pub struct Sheet<W: io::Write>(csv::Writer<W>);

impl<W: io::Write> Sheet<W> {
    /// Creates a sheet that writes there.
    pub fn from_writer(writer: W) -> Self {
        Self(csv::Writer::from_writer(writer))
    }

    /// Writes one row.
    pub fn write_record<I>(&mut self, cells: I) -> csv::Result<()>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        for cell in cells {
            let cell = cell.as_ref();
            if is_formula(cell) {
                self.0.write_field(format!("'{cell}"))?;
            } else {
                self.0.write_field(cell)?;
            }
        }
        self.0.write_record(None::<&[u8]>)
    }

    /// Flushes what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Sheet<Vec<u8>> {
    /// Returns all rows.
    pub fn into_text(self) -> String {
        // Writing to memory cannot fail.
        let octets = self.0.into_inner().unwrap_or_default();
        String::from_utf8_lossy(&octets).into_owned()
    }
}

fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number(cell)
}

fn is_number(cell: &str) -> bool {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    cell.chars().all(digits) && cell.parse::<f64>().is_ok()
}

/// Returns a sheet: names of the columns, and rows as wide as these.
///
/// # Panics
/// If a row is not as wide as the header.
pub fn write<N: AsRef<str>>(names: &[N], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = Sheet::from_writer(Vec::new());
    let put = || -> csv::Result<()> {
        writer.write_record(names)?;
        for row in rows {
            writer.write_record(&row)?;
        }
        Ok(())
    };
    put().expect("rows are as wide as their header");
    writer.into_text()
}

#[cfg(test)]
mod tests {
    use super::Sheet;

    #[test]
    fn a_name_is_no_formula_and_a_number_stays_one() {
        // Oracle: the characters with which spreadsheets begin a formula, by hand.
        let cells = [
            "=1+1", "+1-1", "-x", "@sum", "\tx", "\rx", "-12.5", "-1e-9", "+3", "a=b", "", "-",
            "'=x",
        ];
        let mut sheet = Sheet::from_writer(Vec::new());
        sheet.write_record(cells).unwrap_or_default();
        let expected = "'=1+1,'+1-1,'-x,'@sum,'\tx,\"'\rx\",-12.5,-1e-9,+3,a=b,,'-,'=x\n";
        assert_eq!(sheet.into_text(), expected);
    }
}
