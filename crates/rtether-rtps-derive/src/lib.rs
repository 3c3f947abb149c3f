//! Derive macro of `rtether-rtps`, where the serialization is documented.

mod attributes;
mod enumeration;
mod structure;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, Generics, parse_macro_input, parse_quote};

/// Implements serialization for a structure, or for an enumeration without fields.
///
/// ```ignore
/// #[derive(Data)]
/// #[rtps(name = "ShapeType", appendable)]
/// struct ShapeType {
///     #[rtps(key, max = 128)]
///     color: String,
///     x: i32,
/// }
/// ```
///
/// Structure attributes: `final`, `appendable` or `mutable`, one of which is required; `name`, by
/// default that of the structure; `crate`, the path of `rtether-rtps` if it is renamed. Member
/// attributes: `key`; `max`, the maximum number of elements of a sequence or octets of a string;
/// `id`, by default one more than that of the previous member, from 0. Enumerations take 32 bits.
#[proc_macro_derive(Data, attributes(rtps))]
pub fn derive_data(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    match &input.data {
        syn::Data::Struct(data) => structure::expand(input, &data.fields),
        syn::Data::Enum(data) => enumeration::expand(input, data),
        syn::Data::Union(data) => Err(Error::new(
            data.union_token.span,
            "unions are not supported, since the active member is unknown; use a structure",
        )),
    }
}

/// Requires `Data` of every type parameter.
fn bounded(generics: &Generics, path: &syn::Path) -> Generics {
    let mut generics = generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#path::cdr::Data));
    }
    generics
}
