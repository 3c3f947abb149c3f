//! What a page in a browser asks rtether.
//!
//! The page starts the program once for each question, as a shell starts a command: a run that takes
//! too long or panics is ended with all that it holds, and no state is left that could be wrong.
//! The interface is that of WASI, preview 1: standard input, output and error, which the standard
//! library has, so that nothing here is `unsafe`
//! ([decision 29](../../../docs/decisions/0029-the-browser-starts-a-program.md)).
//!
//! A question is one line of JSON, followed by the octets of its files. The answer is one JSON
//! object; a member `json` is the text that the command prints with `--json`, to the byte.

mod question;
mod work;

use serde_json::{Value, json};

use question::Question;

/// Answers a question; what cannot be answered is told in the member `error`.
///
/// ```
/// let question = br#"{"do": "load", "name": "plant.yaml", "text": "flows: []"}"#;
/// assert!(rtether_wasm::answer(question).contains("diagnostics"));
/// ```
pub fn answer(question: &[u8]) -> String {
    let answer = Question::read(question).and_then(|question| work::answer(&question));
    let answer = answer.unwrap_or_else(|message: String| json!({ "error": message }));
    Value::to_string(&answer)
}
