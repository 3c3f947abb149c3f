//! Structures.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Fields, Ident, Path, Type};

use crate::attributes::{Extensibility, OfMember, OfType};

/// A member, and the names used for it in generated code.
struct Member<'a> {
    /// Field name or index.
    name: syn::Member,
    /// Variable that it is read into.
    variable: Ident,
    ty: &'a Type,
    is_key: bool,
    max: Option<usize>,
    id: u32,
}

/// A structure, with all that code generation needs.
struct Structure<'a> {
    extensibility: Extensibility,
    cdr: TokenStream,
    members: Vec<Member<'a>>,
}

pub(crate) fn expand(input: &DeriveInput, fields: &Fields) -> syn::Result<TokenStream> {
    let OfType { name, extensibility, path } = OfType::read(&input.attrs, &input.ident)?;
    let Some(extensibility) = extensibility else {
        return Err(Error::new(
            input.ident.span(),
            "say how the type may change: `#[rtps(final)]`, `#[rtps(appendable)]` or \
             `#[rtps(mutable)]`; without a word, implementations differ in what they assume",
        ));
    };
    let structure = Structure { extensibility, cdr: cdr(&path), members: members(fields)? };
    let cdr = &structure.cdr;
    let has_key = structure.members.iter().any(|member| member.is_key);
    let ident = &input.ident;
    let kind = extensibility.ident();
    let generics = crate::bounded(&input.generics, &path);
    let (of, arguments, conditions) = generics.split_for_impl();
    let encode = structure.encode();
    let encode_key = structure.encode_key();
    let decode = structure.decode();
    let decode_key = structure.decode_key();
    let missing = structure.missing();
    let extend = structure.extend();
    Ok(quote! {
        #[automatically_derived]
        impl #of #cdr::Data for #ident #arguments #conditions {
            const NAME: &'static str = #name;
            const HAS_KEY: bool = #has_key;
            const EXTENSIBILITY: #cdr::Extensibility = #cdr::Extensibility::#kind;

            fn encode(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                encoder.structure(Self::EXTENSIBILITY, |encoder| { #encode })
            }

            fn encode_key(
                &self,
                encoder: &mut #cdr::Encoder<'_>,
            ) -> ::core::result::Result<(), #cdr::CdrError> {
                encoder.structure(Self::EXTENSIBILITY, |encoder| { #encode_key })
            }

            fn decode(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                decoder.structure(Self::EXTENSIBILITY, |decoder| { #decode })
            }

            fn decode_key(
                decoder: &mut #cdr::Decoder<'_>,
            ) -> ::core::result::Result<Self, #cdr::CdrError> {
                decoder.structure(Self::EXTENSIBILITY, |decoder| { #decode_key })
            }

            fn missing() -> Self {
                #missing
            }

            fn extend(extent: #cdr::Extent) -> ::core::option::Option<#cdr::Extent> {
                extent.structure(Self::EXTENSIBILITY, |extent| { #extend })
            }
        }
    })
}

fn cdr(path: &Path) -> TokenStream {
    quote!(#path::cdr)
}

fn members(fields: &Fields) -> syn::Result<Vec<Member<'_>>> {
    let mut members: Vec<Member<'_>> = Vec::new();
    let mut next = 0_u32;
    for (index, field) in fields.members().zip(fields).enumerate() {
        let (name, field) = field;
        let attributes = OfMember::read(&field.attrs)?;
        if attributes.is_key && is_option(&field.ty) {
            return Err(Error::new_spanned(&field.ty, "a key cannot be absent"));
        }
        let id = attributes.id.unwrap_or(next);
        if members.iter().any(|member| member.id == id) {
            return Err(Error::new_spanned(field, format!("another member has the number {id}")));
        }
        next = id.saturating_add(1);
        members.push(Member {
            name,
            variable: Ident::new(&format!("member_{index}"), Span::mixed_site()),
            ty: &field.ty,
            is_key: attributes.is_key,
            max: attributes.max,
            id,
        });
    }
    Ok(members)
}

fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|segment| segment.ident == "Option")
}

impl Structure<'_> {
    /// Key members, or all members if none is marked; in lists ordered by id.
    fn key(&self) -> Vec<&Member<'_>> {
        let has_key = self.members.iter().any(|member| member.is_key);
        let mut key: Vec<_> =
            self.members.iter().filter(|member| member.is_key || !has_key).collect();
        if self.is_list() {
            key.sort_by_key(|member| member.id);
        }
        key
    }

    fn is_list(&self) -> bool {
        self.extensibility == Extensibility::Mutable
    }

    fn encode(&self) -> TokenStream {
        let cdr = &self.cdr;
        let how = if self.is_list() {
            format_ident!("encode_parameter")
        } else {
            format_ident!("encode_member")
        };
        let members = self.members.iter().map(|member| {
            let Member { name, id, .. } = member;
            let check = self.check_written(member);
            quote! {
                #check
                #cdr::Data::#how(&self.#name, #id, encoder)?;
            }
        });
        self.or_nothing("encoder", quote! { #(#members)* ::core::result::Result::Ok(()) })
    }

    fn encode_key(&self) -> TokenStream {
        let cdr = &self.cdr;
        let key = self.key();
        let members = key.iter().map(|member| {
            let Member { name, id, ty, .. } = member;
            let check = self.check_written(member);
            let write = if self.is_list() {
                quote! {
                    encoder.parameter(#id, <#ty as #cdr::Data>::LENGTH_CODE, |encoder| {
                        #cdr::Data::encode_key(&self.#name, encoder)
                    })?;
                }
            } else {
                quote!(#cdr::Data::encode_key(&self.#name, encoder)?;)
            };
            quote!(#check #write)
        });
        self.or_nothing("encoder", quote! { #(#members)* ::core::result::Result::Ok(()) })
    }

    fn check_written(&self, member: &Member<'_>) -> Option<TokenStream> {
        let cdr = &self.cdr;
        let Member { name, max, .. } = member;
        let max = (*max)?;
        Some(quote!(encoder.bound(#cdr::Bounded::bounded_len(&self.#name), #max)?;))
    }

    fn check_read(&self, member: &Member<'_>) -> Option<TokenStream> {
        let cdr = &self.cdr;
        let Member { variable, max, .. } = member;
        let max = (*max)?;
        Some(quote!(decoder.bound(#cdr::Bounded::bounded_len(&#variable), #max)?;))
    }

    fn decode(&self) -> TokenStream {
        let cdr = &self.cdr;
        let all: Vec<_> = self.members.iter().collect();
        if self.is_list() {
            return self.decode_list(&all, |_| quote!(#cdr::Data::decode_parameter));
        }
        let how = if self.extensibility == Extensibility::Final {
            format_ident!("member")
        } else {
            format_ident!("member_or_missing")
        };
        let reads = all.iter().map(|member| {
            let Member { variable, ty, id, .. } = member;
            let check = self.check_read(member);
            quote! {
                let #variable: #ty = decoder.#how(#id)?;
                #check
            }
        });
        let value = self.value(&all);
        self.or_nothing("decoder", quote! { #(#reads)* #value })
    }

    fn decode_key(&self) -> TokenStream {
        let cdr = &self.cdr;
        let key = self.key();
        if self.is_list() {
            return self.decode_list(&key, |ty| {
                quote!(|parameter, decoder: &mut #cdr::Decoder<'_>| {
                    decoder.in_parameter(parameter, <#ty as #cdr::Data>::decode_key)
                })
            });
        }
        let reads = key.iter().map(|member| {
            let Member { variable, ty, .. } = member;
            let check = self.check_read(member);
            quote! {
                let #variable = <#ty as #cdr::Data>::decode_key(decoder)?;
                #check
            }
        });
        let value = self.value(&key);
        self.or_nothing("decoder", quote! { #(#reads)* #value })
    }

    /// Reads members to the end of the list; of duplicates, the last one counts.
    fn decode_list(
        &self,
        members: &[&Member<'_>],
        how: impl Fn(&Type) -> TokenStream,
    ) -> TokenStream {
        let cdr = &self.cdr;
        let declarations = members.iter().map(|member| {
            let Member { variable, ty, .. } = member;
            quote!(let mut #variable: ::core::option::Option<#ty> = ::core::option::Option::None;)
        });
        let arms = members.iter().map(|member| {
            let Member { variable, ty, id, .. } = member;
            let how = how(ty);
            quote!(#id => #variable = ::core::option::Option::Some((#how)(parameter, decoder)?),)
        });
        let results = members.iter().map(|member| {
            let Member { variable, ty, id, is_key, .. } = member;
            let check = self.check_read(member);
            let unpack = if *is_key {
                quote!(decoder.required(#id, #variable)?)
            } else {
                quote!(#variable.unwrap_or_else(<#ty as #cdr::Data>::missing))
            };
            quote! { let #variable = #unpack; #check }
        });
        let value = self.value(members);
        quote! {
            #(#declarations)*
            while let ::core::option::Option::Some(parameter) = decoder.next_parameter()? {
                match parameter.id {
                    #(#arms)*
                    _ => decoder.skip(parameter)?,
                }
            }
            #(#results)*
            #value
        }
    }

    /// Builds the value from the variables read; other members are defaults.
    fn value(&self, read: &[&Member<'_>]) -> TokenStream {
        let cdr = &self.cdr;
        let members = self.members.iter().map(|member| {
            let Member { name, variable, ty, .. } = member;
            if read.iter().any(|read| read.id == member.id) {
                quote!(#name: #variable)
            } else {
                quote!(#name: <#ty as #cdr::Data>::missing())
            }
        });
        quote!(::core::result::Result::Ok(Self { #(#members),* }))
    }

    fn missing(&self) -> TokenStream {
        let cdr = &self.cdr;
        let members = self
            .members
            .iter()
            .map(|Member { name, ty, .. }| quote!(#name: <#ty as #cdr::Data>::missing()));
        quote!(Self { #(#members),* })
    }

    fn extend(&self) -> TokenStream {
        let all: Vec<_> = self.members.iter().collect();
        let all = self.extend_by(&all);
        let key = self.extend_by(&self.key());
        quote! {
            if extent.is_key() { #key } else { #all }
        }
    }

    fn extend_by(&self, members: &[&Member<'_>]) -> TokenStream {
        let cdr = &self.cdr;
        let steps = members.iter().map(|member| {
            let Member { ty, max, .. } = member;
            let header = self.is_list().then(|| quote!(let extent = extent.parameter()?;));
            let step = if let Some(max) = max {
                quote!(<#ty as #cdr::Bounded>::extend_bounded(extent, #max)?)
            } else {
                quote!(<#ty as #cdr::Data>::extend(extent)?)
            };
            quote!(#header let extent = #step;)
        });
        quote! { #(#steps)* ::core::option::Option::Some(extent) }
    }

    /// Generates a use of the variable if there are no members, to avoid a warning.
    fn or_nothing(&self, variable: &str, code: TokenStream) -> TokenStream {
        if !self.members.is_empty() {
            return code;
        }
        let variable = Ident::new(variable, Span::call_site());
        quote! { let _ = #variable; #code }
    }
}
