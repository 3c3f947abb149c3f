//! Names and addresses of others, made safe for a terminal.

use rtether::characters::is_unseen;
use std::fmt::Write;
use std::net::SocketAddr;

use rtether_rtps::locator::Locator;

/// Longest name shown, in characters.
const SHOWN: usize = 80;

/// Returns a name made safe to show: control characters, which could upset a terminal, and other
/// invisible ones are escaped, and long names are cut off.
pub(super) fn clean(text: &str) -> String {
    let mut cleaned = String::new();
    for (index, character) in text.chars().enumerate() {
        if index >= SHOWN {
            cleaned.push('\u{2026}');
            break;
        }
        if is_unseen(character) {
            _ = write!(cleaned, "{}", character.escape_unicode());
        } else {
            cleaned.push(character);
        }
    }
    cleaned
}

/// Returns an address for display.
pub(crate) fn place(locator: &Locator) -> String {
    match locator {
        Locator::Udp(address) => SocketAddr::to_string(address),
        Locator::Ethernet { .. } => locator.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn escapes_do_not_reach_a_terminal() {
        // Oracle: the escape sequence that clears a screen begins with U+001B.
        assert_eq!(clean("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("Gr\u{fc}n"), "Gr\u{fc}n");
        assert_eq!(clean(&"x".repeat(500)).chars().count(), 81);
    }
}
