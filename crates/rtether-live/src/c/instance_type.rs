//! Registration of types described at run time (R144).

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use rtether_rtps::cdr::{Extensibility, HASH_LEN};

use super::cdr_read::DeserializeFn;
use super::cdr_write::SerializeFn;
use super::handle::DomainHandle;
use super::memory::{Grows, choice, init, read, text};
use super::monitor::{Monitor, on};
use super::status::{Failure, Status, guard};
use super::values::{InstanceType, KeyFns};

/// How a type may change while older programs remain compatible (DDS-XTypes 1.3, 7.2.3).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum TypeExtensibility {
    /// Not at all.
    Final = 0,
    /// Members may be added at the end. In XCDR2 a length precedes the members.
    Appendable = 1,
}

/// A type. A value occupies `value_size` octets and owns nothing else: values are copied and
/// dropped bitwise.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TypeOptions {
    /// `sizeof(rtether_type_options)`.
    pub size: usize,
    /// Type name, as announced to other participants.
    pub name: *const c_char,
    /// Maximum serialized size of a value, in octets.
    pub max_size: usize,
    /// Size of a value in memory, in octets; 0 means `max_size`.
    pub value_size: usize,
    /// Serializes a value; NULL copies `max_size` octets of memory unchanged.
    pub serialize: SerializeFn,
    /// Deserializes a value; NULL copies up to `max_size` octets unchanged.
    pub deserialize: DeserializeFn,
    /// Serializes the key members of a value; NULL for a type without a key. RTPS 1.0 has no keys.
    pub serialize_key: SerializeFn,
    /// Deserializes the key members of a value; required if there is a key.
    pub deserialize_key: DeserializeFn,
    /// Maximum serialized size of the key members, in octets; a string takes 5 more than its
    /// characters.
    pub key_max_size: usize,
    /// An `rtether_extensibility`.
    pub extensibility: i32,
    /// Passed to the functions.
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

/// Maximum number of types of a domain.
const TYPES_MAX: usize = 256;
/// Maximum size of a value, in octets.
const VALUE_MAX: usize = 64 << 20;

/// Fills in the defaults: no functions, no key, final.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_type_options_init(
    options: *mut TypeOptions,
    size: usize,
) -> Status {
    // SAFETY: the caller guarantees `size` octets there.
    guard(|| unsafe { init(options, size, DEFAULTS) })
}

/// Registers a type with a domain. Each name can be registered once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rtether_type_register(
    domain: *mut DomainHandle,
    options: *const TypeOptions,
) -> Status {
    let register = |domain: &Monitor, _: &Monitor| {
        // SAFETY: guaranteed by the caller.
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

impl InstanceType {
    /// # Safety
    /// As for `rtether_type_register`.
    unsafe fn new(options: *const TypeOptions) -> Result<Self, Failure> {
        // SAFETY: guaranteed by the caller.
        let options = unsafe { read(options, DEFAULTS) }?;
        // SAFETY: guaranteed by the caller.
        let name = unsafe { text(options.name, "the name of the type") }?;
        let value_size =
            if options.value_size == 0 { options.max_size } else { options.value_size };
        if options.max_size == 0 || options.max_size.max(value_size) > VALUE_MAX {
            let text = format!("values have 1 to {VALUE_MAX} octets, on the wire and in memory");
            return Err(Failure::argument(text));
        }
        let is_copied = options.serialize.is_none() || options.deserialize.is_none();
        if is_copied && value_size < options.max_size {
            let text = "without functions, `value_size` must be at least `max_size`";
            return Err(Failure::argument(text));
        }
        let key = match (options.serialize_key, options.deserialize_key) {
            (None, None) => None,
            (Some(serialize), Some(deserialize)) if options.key_max_size > 0 => {
                Some(KeyFns { serialize, deserialize, is_short: options.key_max_size <= HASH_LEN })
            }
            _ => {
                let text = "a key needs `serialize_key`, `deserialize_key` and `key_max_size`";
                return Err(Failure::argument(text));
            }
        };
        let all = [
            (TypeExtensibility::Final as i32, Extensibility::Final),
            (TypeExtensibility::Appendable as i32, Extensibility::Appendable),
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
