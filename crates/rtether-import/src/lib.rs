//! What a foreign file says: octets in, a [`Plan`] out.
//!
//! A plan is the text of a scenario, together with what was assumed to write it and what was found
//! in the file. Each assumption is a comment on its line of the scenario, so that a reader sees at
//! the value itself that the file does not state it.
//!
//! | file | read by |
//! |---|---|
//! | IEC 61850 SCL (SCD, CID, ICD, SSD), editions 1, 2 and 2.1 | `scl` |
//!
//! The format follows from the content. The crate opens no files, and its input is not trusted:
//! size, depth and number of elements are limited, and every octet sequence ends with a plan or an
//! [`ImportError`].

mod error;
mod options;
mod plan;
mod scl;
mod sheet;
mod text;

pub use error::ImportError;
pub use options::{Class, Frequency, Options};
pub use plan::{Assumption, Code, Count, Finding, Plan};

/// Largest file that is read, in octets.
pub const MAX_FILE_SIZE: usize = 64 << 20;

/// Reads a file of another tool. `name` is the file's, for messages and for the title.
pub fn import(name: &str, octets: &[u8], options: &Options) -> Result<Plan, ImportError> {
    let fail = |line, what: String, remedy: &str| ImportError::new(name, line, what, remedy);
    if octets.len() > MAX_FILE_SIZE {
        let what = format!("the file is larger than {} MiB", MAX_FILE_SIZE >> 20);
        return Err(fail(None, what, "export the part of the plant you need"));
    }
    let content =
        text::decode(octets).map_err(|wrong| fail(wrong.line, wrong.what, "save it as UTF-8"))?;
    if !content.trim_start().starts_with('<') {
        return Err(fail(
            None,
            "its format is not known".into(),
            "give a file of IEC 61850 SCL: XML with the root element `SCL`",
        ));
    }
    scl::import(name, &content, options)
}
