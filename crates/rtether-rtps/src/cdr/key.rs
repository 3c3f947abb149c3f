//! Key hashes: sixteen octets that identify an instance (RTPS 2.5, 9.6.4.8).

use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::{ByteOrder, CdrError, Data, Encoder, Encoding, Extent};

/// Size of a hash, in octets.
pub const HASH_LEN: usize = 16;

/// Returns the hash of a value's key in XCDR2.
///
/// If no key of the type exceeds sixteen octets, the hash is the key itself, big-endian and padded
/// with zeros; otherwise it is the MD5 of the key, even if this key is short. All structures are
/// treated as final. The hash of types without a key is zero.
///
/// Writers send the hash in the encoding of their samples (DDS-XTypes 1.3, 7.6.8), which
/// [`key_hash_in`] gives. The hash in XCDR1 differs where a member of 8 octets follows an odd
/// number of members of 4, and where elements are not primitive. So instances are identified by one
/// of the two, computed from the key, and not by the hash received.
pub fn key_hash<T: Data>(value: &T) -> Result<[u8; HASH_LEN], CdrError> {
    let mut room = Vec::with_capacity(HASH_LEN);
    key_hash_in(value, Encoding::Xcdr2, &mut room)
}

/// Returns the hash of a value's key in the given encoding. `room` is cleared and holds the key;
/// nothing is allocated if its capacity suffices.
pub fn key_hash_in<T: Data>(
    value: &T,
    encoding: Encoding,
    room: &mut Vec<u8>,
) -> Result<[u8; HASH_LEN], CdrError> {
    if !T::HAS_KEY {
        return Ok([0; HASH_LEN]);
    }
    write_key(value, encoding, room)?;
    Ok(hash_of_key(room, is_key_short::<T>(encoding)))
}

/// Returns the hash of a big-endian key; `is_short` says whether every key of the type fits into a
/// hash unchanged.
pub fn hash_of_key(key: &[u8], is_short: bool) -> [u8; HASH_LEN] {
    if !is_short {
        return Md5::digest(key).into();
    }
    let mut hash = [0; HASH_LEN];
    for (octet, key) in hash.iter_mut().zip(key) {
        *octet = *key;
    }
    hash
}

/// Writes the key in its hashed form, which is equal only for equal keys; `room` is cleared first.
pub fn write_key<T: Data>(
    value: &T,
    encoding: Encoding,
    room: &mut Vec<u8>,
) -> Result<(), CdrError> {
    room.clear();
    let mut encoder = Encoder::new(room, encoding, ByteOrder::Big).plain();
    value.encode_key(&mut encoder)
}

/// Returns whether every key of the type fits into a hash unchanged.
pub fn is_key_short<T: Data>(encoding: Encoding) -> bool {
    T::extend(Extent::key(encoding)).is_some_and(|extent| extent.len() <= HASH_LEN)
}
