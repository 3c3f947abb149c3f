//! Types that are described at run time (R144).

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use rtether_rtps::cdr::{Extensibility, HASH_LEN};

use super::cdr_read::CdrReader;
use super::cdr_write::CdrWriter;
use super::handle::{DomainHandle, on};
use super::memory::{Grows, User, choice, init, read, text};
use super::status::{Failure, Status, guard};

/// Writes the members of a value; returns 0, or something else if the value is not to be sent.
pub type SerializeFn = Option<
    unsafe extern "C" fn(value: *const c_void, writer: *mut CdrWriter, user: *mut c_void) -> i32,
>;

/// Reads the members of a value into zeroed memory; returns 0, or something else if it makes no sense,
/// whereupon it is dropped and counted.
pub type DeserializeFn = Option<
    unsafe extern "C" fn(reader: *mut CdrReader, value: *mut c_void, user: *mut c_void) -> i32,
>;

/// The first of them, where it is there.
pub(super) type SerializeCall =
    unsafe extern "C" fn(*const c_void, *mut CdrWriter, *mut c_void) -> i32;
/// The second.
pub(super) type DeserializeCall =
    unsafe extern "C" fn(*mut CdrReader, *mut c_void, *mut c_void) -> i32;

/// How a type may change while old programs go on reading it (DDS-XTypes 1.3, 7.2.3).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum TypeExtensibility {
    /// Not at all.
    Final = 0,
    /// Members may be added at the end. In XCDR2 a length comes before the members.
    Appendable = 1,
}

/// What a type is. A value lies in `value_size` octets and owns nothing besides: values are copied and
/// dropped as they are.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TypeOptions {
    /// `sizeof(rtether_type_options)`.
    pub size: usize,
    /// Its name, as other participants know it.
    pub name: *const c_char,
    /// Octets of a value on the wire, at most.
    pub max_size: usize,
    /// Octets of a value in memory; 0 means `max_size`.
    pub value_size: usize,
    /// Writes the members of a value; NULL copies `max_size` octets of memory as they are.
    pub serialize: SerializeFn,
    /// Reads the members of a value; NULL copies up to `max_size` octets as they are.
    pub deserialize: DeserializeFn,
    /// Writes the key members of a value; NULL for a type without a key.
    pub serialize_key: SerializeFn,
    /// Reads the key members of a value; needed if there is a key.
    pub deserialize_key: DeserializeFn,
    /// Octets of the key members on the wire, at most; a string has 5 more than its characters.
    pub key_max_size: usize,
    /// An `rtether_extensibility`.
    pub extensibility: i32,
    /// Is handed to the functions.
    pub user: *mut c_void,
}

// SAFETY: `repr(C)`, the size first, and all members are numbers or pointers that may be NULL.
unsafe impl Grows for TypeOptions {
    const FIRST: usize = size_of::<Self>();
}

const DEFAULTS: TypeOptions = TypeOptions {
    size: size_of::<TypeOptions>(),
    name: std::ptr::null(),
    max_size: 0,
    value_size: 0,
    serialize: None,
    deserialize: None,
    serialize_key: None,
    deserialize_key: None,
    key_max_size: 0,
    extensibility: TypeExtensibility::Final as i32,
    user: std::ptr::null_mut(),
};

/// Types of a domain, at most.
const TYPES_MAX: usize = 256;
/// Octets of a value, at most.
const VALUE_MAX: usize = 64 << 20;

/// Fills in the defaults: no functions, no key, final.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_type_options_init(
    options: *mut TypeOptions,
    size: usize,
) -> Status {
    // SAFETY: the caller has `size` octets there.
    guard(|| unsafe { init(options, size, DEFAULTS) })
}

/// Registers a type with a domain. A name is registered once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_type_register(
    domain: *mut DomainHandle,
    options: *const TypeOptions,
) -> Status {
    let register = |domain: &DomainHandle, _: &DomainHandle| {
        // SAFETY: the caller's.
        let kind = unsafe { InstanceType::new(options) }?;
        let mut core = domain.core()?;
        core.live()?;
        if core.types.len() >= TYPES_MAX {
            let text = format!("the domain has {TYPES_MAX} types already");
            return Err(Failure::new(Status::Limit, text));
        }
        if core.types.iter().any(|one| one.name == kind.name) {
            let text = format!("a type `{}` is registered already", kind.name);
            return Err(Failure::argument(text));
        }
        core.types.push(Arc::new(kind));
        Ok(())
    };
    on(domain, register)
}

/// A type.
pub(super) struct InstanceType {
    pub(super) name: String,
    pub(super) max_size: usize,
    pub(super) value_size: usize,
    pub(super) serialize: SerializeFn,
    pub(super) deserialize: DeserializeFn,
    pub(super) key: Option<KeyFns>,
    pub(super) extensibility: Extensibility,
    pub(super) user: User,
}

/// How keys are written and read.
#[derive(Clone, Copy)]
pub(super) struct KeyFns {
    pub(super) serialize: SerializeCall,
    pub(super) deserialize: DeserializeCall,
    /// Whether every key fits into a hash as it is.
    pub(super) is_short: bool,
}

// SAFETY: the functions are called, with the pointer of the application, only by the thread that is in
// the domain; the header says that this may be another one than that which registered them.
unsafe impl Send for InstanceType {}
// SAFETY: as above.
unsafe impl Sync for InstanceType {}

impl InstanceType {
    /// # Safety
    /// As for `rtether_type_register`.
    unsafe fn new(options: *const TypeOptions) -> Result<Self, Failure> {
        // SAFETY: the caller's.
        let options = unsafe { read(options, DEFAULTS) }?;
        // SAFETY: the caller's.
        let name = unsafe { text(options.name, "the name of the type") }?;
        let value_size = if options.value_size == 0 {
            options.max_size
        } else {
            options.value_size
        };
        if options.max_size == 0 || options.max_size.max(value_size) > VALUE_MAX {
            let text = format!("values have 1 to {VALUE_MAX} octets, on the wire and in memory");
            return Err(Failure::argument(text));
        }
        let is_copied = options.serialize.is_none() || options.deserialize.is_none();
        if is_copied && value_size < options.max_size {
            let text = "values that are copied have as many octets in memory as on the wire";
            return Err(Failure::argument(text));
        }
        let key = match (options.serialize_key, options.deserialize_key) {
            (None, None) => None,
            (Some(serialize), Some(deserialize)) if options.key_max_size > 0 => Some(KeyFns {
                serialize,
                deserialize,
                is_short: options.key_max_size <= HASH_LEN,
            }),
            _ => {
                let text = "a key needs `serialize_key`, `deserialize_key` and `key_max_size`";
                return Err(Failure::argument(text));
            }
        };
        let all = [
            (TypeExtensibility::Final as i32, Extensibility::Final),
            (
                TypeExtensibility::Appendable as i32,
                Extensibility::Appendable,
            ),
        ];
        Ok(Self {
            name: name.to_owned(),
            max_size: options.max_size,
            value_size,
            serialize: options.serialize,
            deserialize: options.deserialize,
            key,
            extensibility: choice(options.extensibility, "extensibility", &all)?,
            user: options.user,
        })
    }
}
