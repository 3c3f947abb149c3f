//! Arbitrary octets as descriptions of types, as what endpoints announce of them, and as messages
//! of the service. Oracles: no panic; a type that is built is described, and built the same again.

use rtether_rtps::xtypes::lookup::{read_reply, read_request};
use rtether_rtps::xtypes::{Description, Hash, Library, Object, TypeId, TypeInformation};

/// Returns how many of them it is.
pub(crate) fn check(octets: &[u8]) -> usize {
    let mut known = usize::from(TypeInformation::decode(octets).is_ok());
    known += usize::from(read_request(octets).is_ok_and(|request| request.is_some()));
    if let Ok((_, types)) = read_reply(octets) {
        known += usize::from(!types.is_empty());
        for (_, object) in types {
            check_object(&object);
        }
    }
    known + usize::from(check_object(octets))
}

fn check_object(octets: &[u8]) -> bool {
    if Object::decode(octets).is_err() {
        return false;
    }
    let (mut library, hash) = (Library::default(), Hash::of(octets));
    library.insert(hash, octets).expect("it was read");
    let Ok(kind) = library.structure(&TypeId::Hash(hash), "Fuzzed") else {
        return true;
    };
    let mut again = Library::default();
    let description = Description::of(&kind);
    for (hash, object) in description.objects.iter().filter(|(hash, _)| hash.is_complete) {
        again.insert(*hash, object).expect("own descriptions are read");
    }
    let (root, _) = description.objects.last().expect("a description");
    assert_eq!(again.structure(&TypeId::Hash(*root), "Fuzzed"), Ok(kind));
    true
}
