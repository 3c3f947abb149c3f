//! Sixteen octets that stand for the key of an instance (RTPS 2.5, 9.6.4.8).

use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::{ByteOrder, CdrError, Data, Encoder, Encoding, Extent};

/// Octets of a hash.
pub const HASH_LEN: usize = 16;

/// Returns the hash of a value's key.
///
/// It is the key itself, big-endian and followed by zeros, if no key of the type is longer than
/// sixteen octets, otherwise its MD5; the value at hand does not matter. The key is that of XCDR2 with
/// all structures taken for final, whatever the encoding of the sample (DDS-XTypes 1.3, 7.6.8);
/// writers from before XCDR2 hash the one of XCDR1, which differs only where a member of 8 octets
/// follows an odd number of 4. Types without keys have zeros.
pub fn key_hash<T: Data>(value: &T) -> Result<[u8; HASH_LEN], CdrError> {
    key_hash_in(value, &mut Vec::with_capacity(HASH_LEN))
}

/// Returns the same; `room` is cleared and holds the key meanwhile, so that nothing is allocated if
/// its capacity suffices.
pub fn key_hash_in<T: Data>(value: &T, room: &mut Vec<u8>) -> Result<[u8; HASH_LEN], CdrError> {
    let mut hash = [0; HASH_LEN];
    if !T::HAS_KEY {
        return Ok(hash);
    }
    write_key(value, room)?;
    if !is_key_short::<T>() {
        return Ok(Md5::digest(room.as_slice()).into());
    }
    for (octet, key) in hash.iter_mut().zip(room.iter()) {
        *octet = *key;
    }
    Ok(hash)
}

/// Writes the key in the form that is hashed, which is the same for equal keys only; `room` is cleared.
pub fn write_key<T: Data>(value: &T, room: &mut Vec<u8>) -> Result<(), CdrError> {
    room.clear();
    let mut encoder = Encoder::new(room, Encoding::Xcdr2, ByteOrder::Big).plain();
    value.encode_key(&mut encoder)
}

/// Returns whether every key of the type fits into a hash as it is.
pub fn is_key_short<T: Data>() -> bool {
    T::extend(Extent::key()).is_some_and(|extent| extent.len() <= HASH_LEN)
}
