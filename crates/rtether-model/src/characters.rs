//! Characters that are invisible but change what is displayed.

/// Returns whether a character is invisible: control characters, those that change text direction,
/// line separators, and others that make two names look alike (the general categories Cc, Cf, Zl
/// and Zp of Unicode 16).
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0001}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::is_unseen;

    #[test]
    fn letters_are_seen_and_overrides_are_not() {
        // Oracle: Unicode names; U+202E is RIGHT-TO-LEFT OVERRIDE, U+200B ZERO WIDTH SPACE.
        for unseen in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{1b}', '\u{9b}'] {
            assert!(is_unseen(unseen), "U+{:04X}", u32::from(unseen));
        }
        for seen in ['a', 'ö', '漢', 'ש', ' ', '\u{301}', '€', '😀'] {
            assert!(!is_unseen(seen), "{seen}");
        }
    }
}
