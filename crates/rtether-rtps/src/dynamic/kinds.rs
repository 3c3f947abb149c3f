//! Type descriptions.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use thiserror::Error;

use super::value::Value;
use crate::cdr::Extensibility;

/// Maximum nesting depth of types.
pub const DEPTH_MAX: u8 = 16;
/// Maximum number of members of a structure, and of names of an enumeration.
pub const MEMBERS_MAX: usize = 1_024;
/// Maximum number of values within a value; octets of sequences and arrays do not count, but have
/// limits of their own.
pub const VALUES_MAX: usize = 1 << 20;
/// Maximum octets of arrays within a value.
pub(super) const OCTETS_MAX: usize = 64 << 20;
/// Largest member id: 28 bits.
const ID_MAX: u32 = 0x0FFF_FFFF;

/// A number, a Boolean or a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// `boolean`.
    Boolean,
    /// `octet`, `uint8`.
    Octet,
    /// `char`, one octet.
    Character,
    /// `int8`.
    Int8,
    /// `int16`, `short`.
    Int16,
    /// `uint16`.
    Uint16,
    /// `int32`, `long`.
    Int32,
    /// `uint32`.
    Uint32,
    /// `int64`, `long long`.
    Int64,
    /// `uint64`.
    Uint64,
    /// `float`.
    Float32,
    /// `double`.
    Float64,
}

impl Primitive {
    /// Returns its size in octets.
    pub const fn size(self) -> usize {
        match self {
            Self::Boolean | Self::Octet | Self::Character | Self::Int8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }
}

/// Type of a member or element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number, a Boolean or a character.
    Primitive(Primitive),
    /// An enumeration, 32 bits.
    Enumeration(Arc<Enumeration>),
    /// A string, with its maximum size in octets.
    Text(Option<usize>),
    /// A sequence, with its maximum number of elements.
    Sequence(Arc<Self>, Option<usize>),
    /// An array; the product of the dimensions is the number of elements, and the last dimension
    /// varies fastest.
    Array(Arc<Self>, Vec<usize>),
    /// A structure.
    Structure(Arc<Structure>),
}

impl Type {
    /// Returns whether it is a number, a Boolean or a character.
    pub(super) const fn is_primitive(&self) -> bool {
        matches!(self, Self::Primitive(_))
    }

    /// Returns whether it is an octet; collections of octets are stored together.
    pub(super) const fn is_octet(&self) -> bool {
        matches!(self, Self::Primitive(Primitive::Octet))
    }

    fn depth(&self) -> u8 {
        match self {
            Self::Primitive(_) | Self::Enumeration(_) | Self::Text(_) => 0,
            Self::Sequence(element, _) | Self::Array(element, _) => {
                element.depth().saturating_add(1)
            }
            Self::Structure(structure) => structure.depth,
        }
    }

    /// Returns the cost of the value that is not given.
    pub(super) fn weight(&self) -> Weight {
        let one = Weight { values: 1, octets: 0 };
        match self {
            Self::Primitive(_) | Self::Enumeration(_) | Self::Text(_) | Self::Sequence(..) => one,
            Self::Array(element, dimensions) if element.is_octet() => {
                Weight { octets: count(dimensions), ..one }
            }
            Self::Array(element, dimensions) => one.plus(element.weight().times(count(dimensions))),
            Self::Structure(structure) => structure.weight,
        }
    }

    /// Returns whether the type contains an array without elements.
    fn is_void(&self) -> bool {
        match self {
            Self::Primitive(_) | Self::Enumeration(_) | Self::Text(_) | Self::Structure(_) => false,
            Self::Sequence(element, _) => element.is_void(),
            Self::Array(element, dimensions) => count(dimensions) == 0 || element.is_void(),
        }
    }
}

/// Cost of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    /// Count of values, itself included.
    pub(super) values: usize,
    /// Octets of arrays, and of texts and sequences that are defaults.
    pub(super) octets: usize,
}

impl Weight {
    /// Returns the cost of a default.
    fn of(value: &Value) -> Self {
        let one = Self { values: 1, octets: 0 };
        match value {
            Value::Boolean(_)
            | Value::Signed(_)
            | Value::Unsigned(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Character(_)
            | Value::Enumerator(_) => one,
            Value::Text(text) => Self { octets: text.len(), ..one },
            Value::Octets(octets) => Self { octets: octets.len(), ..one },
            Value::List(all) | Value::Structure(all) => {
                all.iter().map(Self::of).fold(one, Self::plus)
            }
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            values: self.values.saturating_add(other.values),
            octets: self.octets.saturating_add(other.octets),
        }
    }

    const fn times(self, count: usize) -> Self {
        Self {
            values: self.values.saturating_mul(count),
            octets: self.octets.saturating_mul(count),
        }
    }
}

/// Returns the number of elements of an array.
pub(super) fn count(dimensions: &[usize]) -> usize {
    let product = dimensions.iter().copied();
    product.fold(1, usize::saturating_mul)
}

/// A name of an enumeration and its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// The name.
    pub name: String,
    /// Its number.
    pub value: i32,
}

/// An enumeration: a value is one of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumeration {
    name: String,
    names: Vec<Enumerator>,
    /// Index of the name that stands for a missing value.
    default: usize,
    /// Numbers with the indices of their names, sorted: a payload may contain many.
    by_value: Vec<(i32, usize)>,
}

impl Enumeration {
    /// Describes an enumeration; the first name is the default of missing values, unless
    /// [`Self::with_default`] names another one.
    ///
    /// # Errors
    /// There are no names or too many, or two names or numbers are equal.
    pub fn new(name: String, names: Vec<Enumerator>) -> Result<Self, TypeError> {
        if names.is_empty() {
            return Err(TypeError::Empty);
        }
        if names.len() > MEMBERS_MAX {
            return Err(TypeError::Members);
        }
        let (mut words, mut numbers) = (BTreeSet::new(), BTreeSet::new());
        for one in &names {
            if !words.insert(one.name.as_str()) || !numbers.insert(one.value) {
                return Err(TypeError::Twice(one.name.clone()));
            }
        }
        let places = names.iter().enumerate();
        let mut by_value: Vec<(i32, usize)> = places.map(|(at, one)| (one.value, at)).collect();
        by_value.sort_unstable();
        Ok(Self { name, names, default: 0, by_value })
    }

    /// Makes the name at this place of the description the default; without effect if there is none.
    #[must_use]
    pub fn with_default(mut self, place: usize) -> Self {
        if place < self.names.len() {
            self.default = place;
        }
        self
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its names in the order of the description.
    pub fn names(&self) -> &[Enumerator] {
        &self.names
    }

    /// Returns the name of a number.
    pub fn name_of(&self, value: i32) -> Option<&str> {
        let found = self.by_value.binary_search_by_key(&value, |(value, _)| *value);
        let (_, at) = self.by_value.get(found.ok()?)?;
        self.names.get(*at).map(|one| one.name.as_str())
    }

    /// Returns the number of a name.
    pub fn value_of(&self, name: &str) -> Option<i32> {
        let found = self.names.iter().find(|one| one.name == name);
        found.map(|one| one.value)
    }

    pub(super) fn missing(&self) -> i32 {
        self.names.get(self.default).map_or(0, |one| one.value)
    }
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its id, used in mutable structures.
    pub id: u32,
    /// Whether it is part of the key.
    pub is_key: bool,
    /// Its type.
    pub kind: Type,
    /// Its value where none is given, or where the writer's type lacks it (DDS-XTypes 1.3, 7.3.1.2.1.11);
    /// `None` for zero or empty. It must be of the type, and no structure and no NaN.
    pub default: Option<Value>,
}

impl Member {
    /// Returns the cost of its value where none is given.
    pub(super) fn weight(&self) -> Weight {
        self.default.as_ref().map_or_else(|| self.kind.weight(), Weight::of)
    }
}

// No default is NaN.
impl Eq for Member {}

/// A structure: the type of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    name: String,
    extensibility: Extensibility,
    members: Vec<Member>,
    /// Indices of the key members, or of all members if none is marked; in lists ordered by id.
    key: Vec<usize>,
    /// Sorted member ids with their indices.
    by_id: Vec<(u32, usize)>,
    has_key: bool,
    depth: u8,
    weight: Weight,
}

impl Structure {
    /// Describes a structure.
    ///
    /// # Errors
    /// It exceeds a limit, or members contradict each other.
    pub fn new(
        name: String,
        extensibility: Extensibility,
        members: Vec<Member>,
    ) -> Result<Self, TypeError> {
        if members.is_empty() {
            return Err(TypeError::Empty);
        }
        if members.len() > MEMBERS_MAX {
            return Err(TypeError::Members);
        }
        let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
        let mut depth = 0;
        let mut weight = Weight { values: 1, octets: 0 };
        for member in &members {
            if !names.insert(member.name.as_str()) {
                return Err(TypeError::Twice(member.name.clone()));
            }
            if member.id > ID_MAX {
                return Err(TypeError::Number(member.id));
            }
            if !ids.insert(member.id) {
                return Err(TypeError::NumberTwice(member.id));
            }
            // Check the depth first: the checks below recurse.
            depth = member.kind.depth().max(depth);
            if depth >= DEPTH_MAX {
                return Err(TypeError::Depth);
            }
            if member.kind.is_void() {
                return Err(TypeError::NoElements);
            }
            weight = weight.plus(member.weight());
        }
        if weight.values > VALUES_MAX {
            return Err(TypeError::Values);
        }
        if weight.octets > OCTETS_MAX {
            return Err(TypeError::Octets);
        }
        let has_key = members.iter().any(|member| member.is_key);
        let places = members.iter().enumerate();
        let places = places.filter(|(_, member)| member.is_key || !has_key);
        let mut key: Vec<(u32, usize)> = places.map(|(at, member)| (member.id, at)).collect();
        if extensibility == Extensibility::Mutable {
            key.sort_unstable();
        }
        let places = members.iter().enumerate();
        let mut by_id: Vec<(u32, usize)> = places.map(|(at, member)| (member.id, at)).collect();
        by_id.sort_unstable();
        Ok(Self {
            name,
            extensibility,
            by_id,
            key: key.into_iter().map(|(_, at)| at).collect(),
            has_key,
            depth: depth.saturating_add(1),
            weight,
            members,
        })
    }

    /// Returns its name, as announced to other participants.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its extensibility.
    pub const fn extensibility(&self) -> Extensibility {
        self.extensibility
    }

    /// Returns its members in the order of the description.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns whether it has a key, so that values belong to instances.
    pub const fn has_key(&self) -> bool {
        self.has_key
    }

    pub(super) fn is_list(&self) -> bool {
        self.extensibility == Extensibility::Mutable
    }

    /// Returns the index of the member with an id.
    pub(super) fn place_of(&self, id: u32) -> Option<usize> {
        let found = self.by_id.binary_search_by_key(&id, |(id, _)| *id);
        self.by_id.get(found.ok()?).map(|(_, at)| *at)
    }

    /// Returns the key members with their indices.
    pub(super) fn key(&self) -> impl Iterator<Item = (usize, &Member)> {
        let places = self.key.iter();
        places.filter_map(|at| self.members.get(*at).map(|member| (*at, member)))
    }
}

/// Why a type is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypeError {
    /// It has no members or names.
    #[error("it has no members")]
    Empty,
    /// It has more members or names than allowed.
    #[error("it has more than {MEMBERS_MAX} members")]
    Members,
    /// It is nested deeper than allowed.
    #[error("types are nested deeper than {DEPTH_MAX}")]
    Depth,
    /// Two members or names are equal.
    #[error("`{0}` is duplicated, by name or by number")]
    Twice(String),
    /// Two members have the same id.
    #[error("two members have the id {0}")]
    NumberTwice(u32),
    /// An id does not fit 28 bits.
    #[error("{0} is not a member id; the maximum is {ID_MAX}")]
    Number(u32),
    /// An array without elements.
    #[error("an array has no elements")]
    NoElements,
    /// Arrays with too many octets.
    #[error("its arrays have more than {OCTETS_MAX} octets")]
    Octets,
    /// A value would consist of too many other values.
    #[error("its values contain more than {VALUES_MAX} nested values")]
    Values,
}
