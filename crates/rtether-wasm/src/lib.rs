//! What a page in a browser asks rtether.
//!
//! The page starts the program once for each question, as a shell starts a command: a run that takes
//! too long or panics is ended with all that it holds, and no state is left that could be wrong.
//! The interface is that of WASI, preview 1: standard input, output and error, which the standard
//! library has, so that nothing here is `unsafe`
//! ([decision 29](../../../docs/decisions/0029-the-browser-starts-a-program.md)).
//!
//! A question is one line of JSON, followed by the octets of its files. The answer is one JSON
//! object; a member `json` is the text that the command prints with `--json`, to the byte. Meanwhile
//! lines of standard error that begin with `progress` tell how far it is.
//!
//! # Modules
//!
//! rtether in a browser: `work` answers one question (load, check, bound, design, explain, why,
//! import) by functions of `rtether`, `question` reads it.
//!
//! `page/` is what `cargo xtask playground` puts into one file with the program: `bin/unpack`
//! unpacks it, `wasi.js` starts both, `worker.js` asks, `page.js` shows and edits.
//!
//! **Invariant:** the program is started for each question and keeps nothing (decision 29); the
//! page connects to nothing.

mod question;
mod work;

use std::sync::Arc;

use serde_json::{Value, json};

use question::Question;

/// What hears how far an answer is.
type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Answers a question; what cannot be answered is told in the member `error`.
///
/// ```
/// let question = br#"{"do": "load", "name": "plant.yaml", "text": "flows: []"}"#;
/// assert!(rtether_wasm::answer(question).contains("diagnostics"));
/// ```
pub fn answer(question: &[u8]) -> String {
    answer_telling(question, |_| ())
}

/// Like [`answer`]; `tell` is called with how far it is: the percent that are simulated, a word for
/// what follows, `verdict` with the answer without what would help, and of a search what it has found.
pub fn answer_telling(question: &[u8], tell: impl Fn(&str) + Send + Sync + 'static) -> String {
    let told: Tell = Arc::new(tell);
    let answer = Question::read(question).and_then(|question| work::answer(&question, &told));
    let answer = answer.unwrap_or_else(|message: String| json!({ "error": message }));
    Value::to_string(&answer)
}
