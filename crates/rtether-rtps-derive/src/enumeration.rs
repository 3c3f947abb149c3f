//! Enumerations without fields.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Error, Expr, ExprLit, ExprUnary, Fields, Lit, UnOp};

use crate::attributes::OfType;

pub(crate) fn expand(input: &DeriveInput, data: &DataEnum) -> syn::Result<TokenStream> {
    let attributes = OfType::read(&input.attrs, &input.ident)?;
    if attributes.extensibility.is_some() {
        return Err(Error::new(
            input.ident.span(),
            "enumerations have 32 bits and no extensibility; remove the attribute",
        ));
    }
    let mut values = Vec::new();
    let mut names = Vec::new();
    let mut next = Some(0);
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(
                &variant.fields,
                "enumerations with fields (unions) are not supported",
            ));
        }
        let explicit = variant.discriminant.as_ref();
        let value = match explicit {
            Some((_, expression)) => integer(expression)?,
            None => next.ok_or_else(|| Error::new_spanned(variant, "more than 32 bits"))?,
        };
        next = value.checked_add(1);
        values.push(value);
        names.push(&variant.ident);
    }
    let Some(first) = names.first() else {
        return Err(Error::new(
            input.ident.span(),
            "an enumeration without values is not supported",
        ));
    };

    let OfType { name, path, .. } = attributes;
    let cdr = quote!(#path::cdr);
    let ident = &input.ident;
    let generics = crate::bounded(&input.generics, &path);
    let (of, arguments, conditions) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #of #cdr::Data for #ident #arguments #conditions {
            const NAME: &'static str = #name;
            const LENGTH_CODE: u32 = 2;

            fn encode(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                encoder.i32(match self {
                    #(Self::#names => #values,)*
                })
            }

            fn decode(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                match decoder.i32()? {
                    #(#values => ::core::result::Result::Ok(Self::#names),)*
                    other => ::core::result::Result::Err(decoder.unknown_enumerator(other)),
                }
            }

            fn missing() -> Self {
                Self::#first
            }

            fn extend(extent: #cdr::Extent) -> ::core::option::Option<#cdr::Extent> {
                <i32 as #cdr::Data>::extend(extent)
            }
        }
    })
}

/// Parses an integer literal, optionally with a minus sign.
fn integer(expression: &Expr) -> syn::Result<i32> {
    let (sign, literal) = if let Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) = expression
    {
        ("-", expr.as_ref())
    } else {
        ("", expression)
    };
    let Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) = literal else {
        return Err(Error::new_spanned(expression, "the discriminant must be a literal"));
    };
    format!("{sign}{}", literal.base10_digits())
        .parse()
        .map_err(|_| Error::new_spanned(expression, "more than 32 bits"))
}
