//! What `pub` reports at the end about samples that did not arrive.

use std::io::{BufRead, BufReader};

use rtether_testkit::Finish;

use crate::hosts::Hosts;

#[test]
fn what_nobody_acknowledged_is_a_failure() {
    // Oracle: the documented exit code. The reader is killed, so it neither answers nor leaves.
    let Some(hosts) = Hosts::new() else { return };
    let read = "sub Square --reliable --depth 0 --json";
    let mut reading = Hosts::start(&hosts.far, read);
    let write = "pub Square --reliable --depth 0 -n 200 --period 10ms --linger 300ms";
    let writing = Hosts::start(&hosts.near, write);
    let mut first = String::new();
    let mut said = BufReader::new(reading.stdout.take().unwrap());
    said.read_line(&mut first).unwrap();
    assert!(first.contains("sample"), "{first}");
    reading.kill().unwrap();
    reading.wait().unwrap();
    writing.finish().exits(1).shows("not acknowledged").shows("200 samples written");
}
