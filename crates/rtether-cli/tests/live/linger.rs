//! What `pub` reports at the end about samples that did not arrive.

use std::io::{BufRead, BufReader};

use crate::topic::{Hosts, code};
use crate::{stderr, stdout};

#[test]
fn what_nobody_acknowledged_is_a_failure() {
    // Oracle: the documented exit code. The reader is killed, so it neither answers nor leaves.
    let Some(hosts) = Hosts::new("what_nobody_acknowledged_is_a_failure") else {
        return;
    };
    let policies = ["Square", "--reliable", "--depth", "0"];
    let mut reading = Hosts::start(&hosts.far, &[&["sub", "--json"][..], &policies].concat());
    let options = ["-n", "200", "--period", "10 ms", "--linger", "300 ms"];
    let writing = Hosts::start(&hosts.near, &[&["pub"][..], &policies, &options].concat());
    let mut first = String::new();
    let mut said = BufReader::new(reading.stdout.take().unwrap());
    said.read_line(&mut first).unwrap();
    assert!(first.contains("sample"), "{first}");
    reading.kill().unwrap();
    reading.wait().unwrap();
    let written = writing.wait_with_output().unwrap();
    assert_eq!(code(&written), Some(1), "{}", stderr(&written));
    let text = stdout(&written);
    assert!(text.contains("not acknowledged"), "{text}");
    assert!(text.contains("200 samples written"), "{text}");
}
