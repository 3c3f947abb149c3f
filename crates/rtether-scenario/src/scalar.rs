//! Texts as values of YAML.

/// Returns a text as a scalar, in quotation marks unless it is plain beyond doubt.
pub fn scalar(text: &str) -> String {
    let ends = [text.chars().next(), text.chars().last()];
    let begins = ends.iter().all(|end| end.is_some_and(|c| c.is_ascii_alphanumeric()));
    let is_word = !["null", "Null", "NULL"].contains(&text);
    if begins && is_word && text.chars().all(|c| c.is_ascii_alphanumeric() || " _./-".contains(c)) {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}
