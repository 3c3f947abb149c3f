//! Reads arbitrary lists of links, as CSV and as neighbors by LLDP: links, or a reason.
//!
//! `cargo +nightly fuzz run cabling -- -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtether_import::{Cabling, File, Options, import};

/// Two flows, whose stations may be in the links.
const FLOWS: &[u8] = b"src,dst,size,period\na,b,100,1000000\nb,c,100,1000000\n";

fuzz_target!(|octets: &[u8]| {
    let name = "links";
    match Cabling::read(&[File { name, octets }]) {
        Ok(cabling) => {
            let options = Options::new().with_cabling(cabling);
            drop(import("flows.csv", FLOWS, &options));
        }
        Err(error) => assert!(!error.remedy.is_empty() && error.to_string().lines().count() == 1),
    }
});
