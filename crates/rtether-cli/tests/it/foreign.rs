//! Files of other tools where a scenario is asked for, and the reverse. Oracle: the formats, and that
//! the command of the message is the one that takes the file.

use rtether_testkit::{Folder, Run};

use super::rtether;

/// Name, content, and what it is.
const FILES: &[(&str, &[u8], &str)] = &[
    (
        "plant.scd",
        b"<?xml version=\"1.0\"?>\n<SCL xmlns=\"http://www.iec.ch/61850/2003/SCL\"></SCL>\n",
        "a file of IEC 61850 SCL",
    ),
    (
        "old plant.pcap",
        b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00",
        "a capture",
    ),
    ("zipped.pcapng.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "a capture"),
    ("list.csv", b"stream,src,dst,size,period,deadline,jitter\n0,a,b,64,1,1,0\n", "a list"),
    ("own.csv", b"name;from;to;size\nf;a;b;64 B\n", "a list of flows or links"),
    ("Net.ned", b"package x;\nnetwork Net\n{\n}\n", "a network of INET"),
    ("omnetpp.ini", b"[General]\nnetwork = Net\n", "a network of INET"),
    ("net.json", b"{ \"network\": {}, \"servers\": [], \"flows\": [] }\n", "a network of Saihu"),
];

#[test]
fn a_file_of_another_tool_is_named_with_the_command_that_takes_it() {
    let folder = Folder::new("foreign");
    for (name, octets, what) in FILES {
        folder.write(name, octets);
        for verb in ["check", "sim", "bound"] {
            let mut command = rtether();
            let ended = command.current_dir(folder.path()).args([verb, name]).run();
            let stem = name.split_once('.').expect("an ending").0;
            let quoted = |name: &str| {
                if name.contains(' ') { format!("'{name}'") } else { name.to_owned() }
            };
            let (from, to) = (quoted(name), quoted(&format!("{stem}.yaml")));
            ended
                .exits(2)
                .says(&format!("`{name}` is {what}"))
                .says(&format!("`rtether import {from} -o {to}`"));
            assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
        }
    }
}

#[test]
fn a_scenario_with_commas_in_its_first_line_is_one() {
    let text = "# a, b, and c; links, too\nrtether: 1\nnodes: 3\n";
    let folder = Folder::new("foreign-not");
    folder.write("plant.yaml", text);
    let mut command = rtether();
    let ended = command.current_dir(folder.path()).args(["check", "plant.yaml"]).run();
    ended.exits(2).says("error[");
    // Without the key that all have, a list is only what has columns in its first line.
    folder.write("plant.yaml", text.replace("rtether: 1\n", ""));
    let mut command = rtether();
    let ended = command.current_dir(folder.path()).args(["check", "plant.yaml"]).run();
    ended.exits(2).says("error[");
}

/// Oracle: the plant and the flow. Flows to be added are no scenario, and have commas in their first line.
#[test]
fn flows_to_be_added_are_no_list() {
    let folder = Folder::new("foreign-flow");
    let mut command = rtether();
    command.current_dir(folder.path()).args(["new", "plant", "--template", "ring"]);
    command.run().exits(0);
    let flow = "{ name: x, from: plc1, to: drive1, period: 8 ms, size: 64 B, deadline: 5 ms }\n";
    for text in [flow.to_owned(), format!("- {flow}")] {
        folder.write("flow.yaml", text);
        let mut command = rtether();
        command.current_dir(folder.path()).args(["admit", "plant.yaml", "flow.yaml"]);
        command.run().exits(0);
    }
    let mut command = rtether();
    command.current_dir(folder.path()).args(["admit", "plant.yaml", "none.yaml"]);
    command.run().exits(2).says("or give one as `--flow`");
}

#[test]
fn a_scenario_is_not_imported() {
    let folder = Folder::new("foreign-reverse");
    folder.write("plant.yaml", "# a, b\nrtether: 1\nname: x\n");
    let mut command = rtether();
    let ended = command.current_dir(folder.path()).args(["import", "plant.yaml"]).run();
    ended.exits(2).says("it is a scenario already").says("`rtether check`");
}
