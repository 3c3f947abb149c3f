//! Any octets as what a client says to a shim. Oracles: no panic; how the octets are cut into pieces
//! does not matter; what is read is said and read again the same.

use rtether_testbed::shim::control::{Request, request_in};

/// Returns whether it is a request.
pub(crate) fn check(octets: &[u8]) -> bool {
    let whole = request_in(octets.chunks(4096));
    for size in [1, 7] {
        let pieces = request_in(octets.chunks(size));
        // What follows the end of a line is seen only if it comes with it.
        let has_rest =
            octets.iter().position(|octet| *octet == b'\n') != octets.len().checked_sub(1);
        assert!(pieces == whole || has_rest, "{pieces:?} {whole:?}");
    }
    let Some(Ok(request)) = whole else {
        return false;
    };
    let line = request.line();
    let line = line.strip_suffix('\n').expect("the end of a line");
    assert_eq!(Request::read(line.as_bytes()), Ok(request));
    true
}
