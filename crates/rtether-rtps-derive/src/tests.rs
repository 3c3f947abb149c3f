//! Oracle: each mistake gives a message with the remedy; generated code is tested where it is used.

use syn::parse_str;

/// Checks the message about each of these.
fn check(mistakes: &[(&str, &str)]) {
    for (input, message) in mistakes {
        let input = parse_str(input).expect("a type");
        let error = crate::expand(&input).map(|code| code.to_string());
        let error = error.expect_err("a mistake").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn types_that_cannot_travel_are_refused() {
    check(&[
        ("union U { a: u8 }", "use a structure"),
        ("enum E {}", "without values"),
        ("enum E { A(u8) }", "with fields"),
        ("enum E { A = X }", "must be a literal"),
        ("enum E { A = 2147483648 }", "more than 32 bits"),
        ("enum E { A = 2147483647, B }", "more than 32 bits"),
        ("#[rtps(final)] enum E { A }", "have 32 bits"),
        ("struct S { a: u8 }", "#[rtps(final)]"),
    ]);
}

#[test]
fn attributes_that_are_unknown_or_contradict_are_refused() {
    check(&[
        ("#[rtps(final, mutable)] struct S { a: u8 }", "given twice"),
        ("#[rtps(packed)] struct S { a: u8 }", "unknown; a type may have"),
        ("#[rtps(final)] struct S { #[rtps(maximum = 3)] a: String }", "`key`, `max` or `id`"),
        ("#[rtps(name = \"\", final)] struct S { a: u8 }", "must not be empty"),
        (
            "#[rtps(mutable)] struct S { #[rtps(id = 1)] a: u8, #[rtps(id = 1)] b: u8 }",
            "has the number 1",
        ),
        ("#[rtps(mutable)] struct S { #[rtps(id = 0x1000_0000)] a: u8 }", "at most 0xfffffff"),
        ("#[rtps(final)] struct S { #[rtps(key)] a: Option<u8> }", "cannot be absent"),
    ]);
}
