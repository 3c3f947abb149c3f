//! Parser of `#[rtps(...)]`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Ident, LitInt, LitStr, Path, parse_quote};

/// How a structure may change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extensibility {
    Final,
    Appendable,
    Mutable,
}

impl Extensibility {
    pub(crate) fn ident(self) -> Ident {
        let name = match self {
            Self::Final => "Final",
            Self::Appendable => "Appendable",
            Self::Mutable => "Mutable",
        };
        Ident::new(name, Span::call_site())
    }
}

/// Attributes of a type.
pub(crate) struct OfType {
    pub(crate) name: String,
    pub(crate) extensibility: Option<Extensibility>,
    /// Path of the `cdr` module.
    pub(crate) path: Path,
}

impl OfType {
    pub(crate) fn read(attributes: &[Attribute], ident: &Ident) -> syn::Result<Self> {
        let mut found = Self {
            name: ident.to_string(),
            extensibility: None,
            path: parse_quote!(::rtether_rtps),
        };
        each(attributes, |meta| {
            if meta.path.is_ident("name") {
                let name: LitStr = meta.value()?.parse()?;
                found.name = name.value();
                if found.name.is_empty() || found.name.contains('\0') {
                    return Err(Error::new(
                        name.span(),
                        "a type name must not be empty or contain NUL",
                    ));
                }
            } else if meta.path.is_ident("crate") {
                found.path = meta.value()?.call(Path::parse_mod_style)?;
            } else {
                let extensibility = if meta.path.is_ident("final") {
                    Extensibility::Final
                } else if meta.path.is_ident("appendable") {
                    Extensibility::Appendable
                } else if meta.path.is_ident("mutable") {
                    Extensibility::Mutable
                } else {
                    return Err(meta.error(
                        "unknown; a type may have `name`, `crate`, `final`, `appendable` or \
                         `mutable`",
                    ));
                };
                if found.extensibility.replace(extensibility).is_some() {
                    return Err(meta.error("the extensibility is given twice"));
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Attributes of a member.
#[derive(Default)]
pub(crate) struct OfMember {
    pub(crate) is_key: bool,
    pub(crate) max: Option<usize>,
    pub(crate) id: Option<u32>,
}

/// Member ids have 28 bits.
const ID_MAX: u32 = 0x0FFF_FFFF;

impl OfMember {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut found = Self::default();
        each(attributes, |meta| {
            if meta.path.is_ident("key") {
                found.is_key = true;
            } else if meta.path.is_ident("max") {
                found.max = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?);
            } else if meta.path.is_ident("id") {
                let id: LitInt = meta.value()?.parse()?;
                let number = id.base10_parse()?;
                if number > ID_MAX {
                    return Err(Error::new(
                        id.span(),
                        format!("numbers of members are at most {ID_MAX:#x}"),
                    ));
                }
                found.id = Some(number);
            } else {
                return Err(meta.error("unknown; a member may have `key`, `max` or `id`"));
            }
            Ok(())
        })?;
        Ok(found)
    }
}

fn each(
    attributes: &[Attribute],
    mut read: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let ours = attributes.iter().filter(|a| a.path().is_ident("rtps"));
    for attribute in ours {
        attribute.parse_nested_meta(&mut read)?;
    }
    Ok(())
}
