//! Links to the playground, the page with rtether in it.

use std::fmt::Write as _;

/// Returns a link that opens a scenario in a playground: a page, or its address.
///
/// The scenario is behind the `#`, which browsers do not send, as a form would write it: `name` and
/// `text`.
///
/// ```
/// use rtether::report::playground::link;
///
/// let link = link("playground.html", "plant.yaml", "name: a & b\n");
/// assert_eq!(link, "playground.html#name=plant.yaml&text=name%3A+a+%26+b%0A");
/// ```
pub fn link(page: &str, name: &str, text: &str) -> String {
    let page = page.split('#').next().unwrap_or_default();
    let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{page}#name={}&text={}", encoded(file), encoded(text))
}

/// Encodes a value of a form (`application/x-www-form-urlencoded` of the URL standard).
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for octet in text.bytes() {
        match octet {
            b' ' => encoded.push('+'),
            b'*' | b'-' | b'.' | b'_' => encoded.push(char::from(octet)),
            octet if octet.is_ascii_alphanumeric() => encoded.push(char::from(octet)),
            // Writing to a text cannot fail.
            octet => drop(write!(encoded, "%{octet:02X}")),
        }
    }
    encoded
}
