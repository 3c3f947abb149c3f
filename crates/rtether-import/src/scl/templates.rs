//! Sizes of data: from the members of a data set through the type templates to basic types.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::basic::Encoding;
use super::xml::{Element, all, attribute, child, children, is, word};
use crate::text::quote;

/// Deepest nesting of types; the standard needs some five levels.
const MAX_DEPTH: usize = 20;
/// Most elements of an array; a larger number does not fit a frame.
const MAX_ELEMENTS: u64 = 1500;

/// The data type templates of a file.
#[derive(Debug, Default)]
pub(super) struct Templates<'a> {
    nodes: BTreeMap<&'a str, Element<'a>>,
    objects: BTreeMap<&'a str, Element<'a>>,
    structures: BTreeMap<&'a str, Element<'a>>,
    enumerations: BTreeMap<&'a str, (i64, i64)>,
    /// Sizes that are known already, so that types used often cost nothing.
    known: RefCell<BTreeMap<Key<'a>, u64>>,
    /// Parts of types by name, for the types that were asked.
    parts: RefCell<BTreeMap<(u32, &'static str), Parts<'a>>>,
}

/// Parts of a type by name.
type Parts<'a> = BTreeMap<&'a str, Element<'a>>;

/// A type, with the functional constraint that chooses among its attributes.
type Key<'a> = (Encoding, &'a str, Option<&'a str>);

/// A member of a data set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    /// Path of the data object, such as `A.phsA`; all objects if missing.
    pub(super) object: Option<&'a str>,
    /// Path of the attribute, such as `instMag.i`; all of the constraint if missing.
    pub(super) attribute: Option<&'a str>,
    /// Functional constraint.
    pub(super) constraint: &'a str,
    /// Whether it is one element of an array.
    pub(super) is_element: bool,
}

/// Returns the elements of a type by their identifiers; the first one counts.
fn by_id<'a>(templates: Element<'a>, name: &'static str) -> BTreeMap<&'a str, Element<'a>> {
    let mut found = BTreeMap::new();
    for element in children(templates, name) {
        found.entry(word(element, "id")).or_insert(element);
    }
    found
}

impl<'a> Templates<'a> {
    /// Reads the templates of a file; none if it has none.
    pub(super) fn read(root: Element<'a>) -> Self {
        let Some(templates) = child(root, "DataTypeTemplates") else {
            return Self::default();
        };
        let enumerations = children(templates, "EnumType").map(|element| {
            let values = all(element, "EnumVal");
            let ordinals = values.filter_map(|value| attribute(value, "ord")?.parse().ok());
            let range = ordinals.fold((0, 0), |(low, high): (i64, i64), value: i64| {
                (low.min(value), high.max(value))
            });
            (word(element, "id"), range)
        });
        Self {
            nodes: by_id(templates, "LNodeType"),
            objects: by_id(templates, "DOType"),
            structures: by_id(templates, "DAType"),
            enumerations: enumerations.collect(),
            known: RefCell::default(),
            parts: RefCell::default(),
        }
    }

    /// Returns the octets of a member of a data set, at most, or what is missing.
    pub(super) fn size(
        &self,
        encoding: Encoding,
        node_type: &str,
        member: &Member<'a>,
    ) -> Result<u64, String> {
        let node = self.nodes.get(node_type);
        let node = *node.ok_or_else(|| missing("logical node type", node_type))?;
        let chosen = Some(member.constraint).filter(|constraint| !constraint.is_empty());
        let Some(path) = member.object else {
            let mut sum = 0_u64;
            for object in children(node, "DO") {
                sum = sum.saturating_add(self.object(encoding, word(object, "type"), chosen, 0)?);
            }
            return Ok(encoding.joined(sum));
        };
        let (object, count) = self.walk(node, path)?;
        let one = match member.attribute {
            None => self.object(encoding, object, chosen, 0)?,
            Some(path) => self.attribute(encoding, object, path, member.is_element)?,
        };
        // An array of objects that is named as a whole.
        let count = count.filter(|_| !member.is_element && member.attribute.is_none());
        Ok(count.map_or(one, |count| encoding.joined(one.saturating_mul(count))))
    }

    /// Returns the part of a type with a name.
    fn part(
        &self,
        parent: Element<'a>,
        kind: &'static str,
        name: &str,
    ) -> Result<Element<'a>, String> {
        // A name may carry the index of an array: `phsHar(3)`.
        let plain = name.split('(').next().unwrap_or_default();
        let mut known = self.parts.borrow_mut();
        let parts = known.entry((parent.id().get(), kind)).or_insert_with(|| {
            let named = children(parent, kind).map(|child| (word(child, "name"), child));
            named.collect()
        });
        parts.get(plain).copied().ok_or_else(|| {
            let id = word(parent, "id");
            format!("type {} has no {kind} {}", quote(id), quote(name))
        })
    }

    /// Follows a path of data objects; returns the type of the last, and its length if that is an
    /// array.
    fn walk(&self, node: Element<'a>, path: &str) -> Result<(&'a str, Option<u64>), String> {
        let mut parts = path.split('.');
        let first = parts.next().unwrap_or_default();
        let mut at = self.part(node, "DO", first)?;
        for part in parts.take(MAX_DEPTH) {
            at = self.part(self.object_type(word(at, "type"))?, "SDO", part)?;
        }
        Ok((word(at, "type"), count_of(at)?))
    }

    fn object_type(&self, id: &str) -> Result<Element<'a>, String> {
        let found = self.objects.get(id).copied();
        found.ok_or_else(|| missing("data object type", id))
    }

    fn structure(&self, id: &str) -> Result<Element<'a>, String> {
        let found = self.structures.get(id).copied();
        found.ok_or_else(|| missing("data attribute type", id))
    }

    /// Returns the octets of one attribute of an object.
    fn attribute(
        &self,
        encoding: Encoding,
        object: &'a str,
        path: &str,
        is_element: bool,
    ) -> Result<u64, String> {
        let mut parts = path.split('.');
        let first = parts.next().unwrap_or_default();
        let mut at = self.part(self.object_type(object)?, "DA", first)?;
        for part in parts.take(MAX_DEPTH) {
            at = self.part(self.structure(word(at, "type"))?, "BDA", part)?;
        }
        if is_element {
            return self.one(encoding, at, 0);
        }
        self.value(encoding, at, 0)
    }

    /// Returns the octets of an object: its attributes of a constraint, those of objects in it
    /// included. In BER it is a structure.
    fn object(
        &self,
        encoding: Encoding,
        id: &'a str,
        constraint: Option<&'a str>,
        depth: usize,
    ) -> Result<u64, String> {
        // Objects and structures have identifiers of their own; `None` is taken by structures.
        let key = (encoding, id, Some(constraint.unwrap_or_default()));
        if let Some(&size) = self.known.borrow().get(&key) {
            return Ok(size);
        }
        check_depth(id, depth)?;
        let mut sum = 0_u64;
        for part in self.object_type(id)?.children() {
            let is_chosen = constraint.is_none_or(|chosen| attribute(part, "fc") == Some(chosen));
            let size = if is(part, "DA") && is_chosen {
                self.value(encoding, part, depth + 1)?
            } else if is(part, "SDO") {
                let one = self.object(encoding, word(part, "type"), constraint, depth + 1)?;
                // An object without attributes of the constraint is not sent.
                let one = if one == encoding.joined(0) { 0 } else { one };
                match count_of(part)? {
                    Some(count) if one > 0 => encoding.joined(one.saturating_mul(count)),
                    Some(_) | None => one,
                }
            } else {
                0
            };
            sum = sum.saturating_add(size);
        }
        let size = encoding.joined(sum);
        self.known.borrow_mut().insert(key, size);
        Ok(size)
    }

    /// Returns the octets of an attribute, all elements if it is an array.
    fn value(&self, encoding: Encoding, at: Element<'a>, depth: usize) -> Result<u64, String> {
        let one = self.one(encoding, at, depth)?;
        let count = count_of(at)?;
        Ok(count.map_or(one, |count| encoding.joined(one.saturating_mul(count))))
    }

    /// Returns the octets of an attribute, one element if it is an array.
    fn one(&self, encoding: Encoding, at: Element<'a>, depth: usize) -> Result<u64, String> {
        let kind = word(at, "bType");
        let id = word(at, "type");
        match kind {
            "Struct" => self.members(encoding, id, depth),
            "Enum" => Ok(encoding.enumerated(self.enumerations.get(id).copied())),
            kind => {
                let size = encoding.basic(kind);
                size.ok_or_else(|| missing("basic type", kind))
            }
        }
    }

    fn members(&self, encoding: Encoding, id: &'a str, depth: usize) -> Result<u64, String> {
        let key = (encoding, id, None);
        if let Some(&size) = self.known.borrow().get(&key) {
            return Ok(size);
        }
        check_depth(id, depth)?;
        let mut sum = 0_u64;
        for part in children(self.structure(id)?, "BDA") {
            sum = sum.saturating_add(self.value(encoding, part, depth + 1)?);
        }
        let size = encoding.joined(sum);
        self.known.borrow_mut().insert(key, size);
        Ok(size)
    }
}

/// Returns the number of elements of an array; `None` for what is no array.
fn count_of(at: Element<'_>) -> Result<Option<u64>, String> {
    match attribute(at, "count").map(|text| (text, text.parse::<u64>())) {
        None | Some((_, Ok(0))) => Ok(None),
        Some((_, Ok(count))) => Ok(Some(count.min(MAX_ELEMENTS))),
        Some((text, Err(_))) => Err(format!("the array length {} is no number", quote(text))),
    }
}

fn check_depth(id: &str, depth: usize) -> Result<(), String> {
    let is_fine = depth <= MAX_DEPTH;
    is_fine.then_some(()).ok_or_else(|| {
        format!("type {} is nested deeper than {MAX_DEPTH} levels, perhaps in itself", quote(id))
    })
}

fn missing(what: &str, id: &str) -> String {
    format!("the {what} {} is not in the templates", quote(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scl::xml;

    const TEMPLATES: &str = "<SCL><DataTypeTemplates>
        <LNodeType id='L'><DO name='Pos' type='DPC'/><DO name='Amp' type='SAV'/><DO name='W' type='WYE'/>
          <DO name='Loop' type='LOOP'/><DO name='Bad' type='BAD'/></LNodeType>
        <DOType id='DPC'><DA name='stVal' bType='Dbpos' fc='ST'/><DA name='q' bType='Quality' fc='ST'/>
          <DA name='t' bType='Timestamp' fc='ST'/><DA name='ctlModel' bType='Enum' type='M' fc='CF'/></DOType>
        <DOType id='SAV'><DA name='instMag' bType='Struct' type='AV' fc='MX'/><DA name='q' bType='Quality' fc='MX'/></DOType>
        <DOType id='WYE'><SDO name='phsA' type='SAV'/><SDO name='phsB' type='SAV'/></DOType>
        <DOType id='LOOP'><SDO name='x' type='LOOP'/></DOType>
        <DOType id='BAD'><DA name='s' bType='Struct' type='SELF' fc='ST'/></DOType>
        <DAType id='AV'><BDA name='i' bType='INT32'/></DAType>
        <DAType id='SELF'><BDA name='a' bType='Struct' type='SELF'/><BDA name='b' bType='Struct' type='SELF'/></DAType>
        <EnumType id='M'><EnumVal ord='0'>a</EnumVal><EnumVal ord='4'>b</EnumVal></EnumType>
        </DataTypeTemplates></SCL>";

    fn size(encoding: Encoding, path: &str, constraint: &str) -> Result<u64, String> {
        let document = xml::parse(TEMPLATES).expect("XML");
        let templates = Templates::read(document.root_element());
        let (object, attribute) = path.split_once('/').unwrap_or((path, ""));
        let member = Member {
            object: Some(object),
            attribute: Some(attribute).filter(|path| !path.is_empty()),
            constraint,
            is_element: false,
        };
        templates.size(encoding, "L", &member)
    }

    /// Oracle: worked out by hand. Position 4, quality 5, time 10, a structure 2 more; a value of 32
    /// bits 6, in a structure 8.
    #[test]
    fn sizes_of_members_in_ber() {
        for (path, constraint, octets) in [
            ("Pos/stVal", "ST", 4),
            ("Pos/q", "ST", 5),
            ("Pos", "ST", 2 + 4 + 5 + 10),
            ("Pos", "CF", 2 + 3),
            ("Amp/instMag.i", "MX", 6),
            ("Amp/instMag", "MX", 8),
            ("Amp", "MX", 2 + 8 + 5),
            ("W.phsA", "MX", 15),
            ("W", "MX", 2 + 15 + 15),
        ] {
            assert_eq!(size(Encoding::Ber, path, constraint), Ok(octets), "{path}");
        }
    }

    /// Oracle: IEC 61850-9-2LE: a value of four octets and a quality of four.
    #[test]
    fn sizes_of_members_in_samples() {
        assert_eq!(size(Encoding::Fixed, "Amp", "MX"), Ok(8));
        assert_eq!(size(Encoding::Fixed, "W", "MX"), Ok(16));
    }

    #[test]
    fn what_is_missing_or_endless_is_named() {
        for (path, words) in [
            ("Pos/x", "has no DA `x`"),
            ("Neg/stVal", "has no DO `Neg`"),
            ("Loop", "nested deeper"),
            ("Bad", "nested deeper"),
        ] {
            let wrong = size(Encoding::Ber, path, "ST").expect_err(path);
            assert!(wrong.contains(words), "{wrong}");
        }
    }

    #[test]
    fn arrays_have_a_length() {
        let text = "<SCL><DataTypeTemplates><LNodeType id='L'><DO name='H' type='H'/></LNodeType>
            <DOType id='H'><DA name='a' bType='INT8' fc='MX' count='3'/><DA name='b' bType='INT8' fc='CF' count='n'/></DOType>
            </DataTypeTemplates></SCL>";
        let document = xml::parse(text).expect("XML");
        let templates = Templates::read(document.root_element());
        let mut member =
            Member { object: Some("H"), attribute: Some("a"), constraint: "MX", is_element: false };
        // Three values of 3 octets in an array.
        assert_eq!(templates.size(Encoding::Ber, "L", &member), Ok(2 + 9));
        member.is_element = true;
        assert_eq!(templates.size(Encoding::Ber, "L", &member), Ok(3));
        member.attribute = Some("b");
        member.is_element = false;
        assert!(templates.size(Encoding::Ber, "L", &member).is_err());
    }
}
