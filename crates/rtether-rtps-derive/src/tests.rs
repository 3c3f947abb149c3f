//! Oracle: each mistake gives a message with the remedy; generated code is tested where it is used.

use syn::{DeriveInput, parse_quote};

fn message(input: &DeriveInput) -> String {
    crate::expand(input)
        .map(|code| code.to_string())
        .expect_err("a mistake")
        .to_string()
}

#[test]
fn types_that_cannot_travel_are_refused() {
    assert!(message(&parse_quote!(union U { a: u8 })).contains("use a structure"));
    assert!(
        message(&parse_quote!(
            enum E {}
        ))
        .contains("without values")
    );
    assert!(
        message(&parse_quote!(
            enum E {
                A(u8),
            }
        ))
        .contains("with fields")
    );
    assert!(
        message(&parse_quote!(
            enum E {
                A = X,
            }
        ))
        .contains("must be a literal")
    );
    assert!(
        message(&parse_quote!(
            enum E {
                A = 2147483648,
            }
        ))
        .contains("more than 32 bits")
    );
    assert!(
        message(&parse_quote!(
            enum E {
                A = 2147483647,
                B,
            }
        ))
        .contains("more than 32 bits")
    );
    assert!(
        message(&parse_quote!(
            #[rtps(final)]
            enum E {
                A,
            }
        ))
        .contains("have 32 bits")
    );
    assert!(
        message(&parse_quote!(
            struct S {
                a: u8,
            }
        ))
        .contains("#[rtps(final)]")
    );
}

#[test]
fn attributes_that_are_unknown_or_contradict_are_refused() {
    let twice = parse_quote!(
        #[rtps(final, mutable)]
        struct S {
            a: u8,
        }
    );
    assert!(message(&twice).contains("given twice"));
    assert!(
        message(&parse_quote!(
            #[rtps(packed)]
            struct S {
                a: u8,
            }
        ))
        .contains("unknown; a type may have")
    );
    let member = parse_quote!(
        #[rtps(final)]
        struct S {
            #[rtps(maximum = 3)]
            a: String,
        }
    );
    assert!(message(&member).contains("`key`, `max` or `id`"));
    let name = parse_quote!(
        #[rtps(name = "", final)]
        struct S {
            a: u8,
        }
    );
    assert!(message(&name).contains("must not be empty"));
    let ids = parse_quote!(
        #[rtps(mutable)]
        struct S {
            #[rtps(id = 1)]
            a: u8,
            #[rtps(id = 1)]
            b: u8,
        }
    );
    assert!(message(&ids).contains("has the number 1"));
    let id = parse_quote!(
        #[rtps(mutable)]
        struct S {
            #[rtps(id = 0x1000_0000)]
            a: u8,
        }
    );
    assert!(message(&id).contains("at most 0xfffffff"));
    let key = parse_quote!(
        #[rtps(final)]
        struct S {
            #[rtps(key)]
            a: Option<u8>,
        }
    );
    assert!(message(&key).contains("cannot be absent"));
}
