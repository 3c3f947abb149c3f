//! Round trips on a real-time kernel, in an emulated machine: what they take there is the emulator's,
//! so that only what happens is judged. Oracle: the kernel, which calls itself one, and the counts.

use std::fmt::Write;

use rtether_testkit::{Machine, kernel};
use serde_json::Value;

/// Requests of each way.
const REQUESTS: u64 = 20;
/// The ways of the papers' round trips, and what each needs on both ends.
const WAYS: [(&str, &str); 4] =
    [("icmp", ""), ("udp", ""), ("cndep", ""), ("raw", "--device wire")];

/// Two hosts of one cable in a machine, and a series of round trips by each way.
fn script() -> String {
    let mut script = String::from(
        "ip netns add a\nip netns add b\n\
         ip link add wire netns a type veth peer name wire netns b\n\
         for host in a b; do ip -n $host link set lo up; ip -n $host link set wire up; done\n\
         ip -n a address add 10.0.0.1/24 dev wire\nip -n b address add 10.0.0.2/24 dev wire\n\
         ether=$(ip netns exec b cat /sys/class/net/wire/address)\n\
         # Both lines of the machine are terminals, on which it would show how far it is.\n\
         echo BEGIN doctor\nrtether doctor --watch 0s --json 2> /run/errors || cat /run/errors\n\
         echo END\n",
    );
    for (way, options) in WAYS {
        let target = if way == "raw" { "$ether" } else { "10.0.0.2" };
        if way != "icmp" {
            // It says when it answers.
            _ = write!(
                script,
                "ip netns exec b rtether echo --via {way} {options} > /dev/null 2> /run/{way} &\n\
                 until [ -s /run/{way} ]; do sleep 0.2; done\n"
            );
        }
        _ = write!(
            script,
            "echo BEGIN {way}\nip netns exec a rtether ping {target} --via {way} {options} \
             -n {REQUESTS} -i 50ms --timeout 20s --priority 50 --json \
             2> /run/errors || cat /run/errors\necho END\n"
        );
    }
    script
}

/// Returns the document of a part of what was printed.
fn said(out: &str, name: &str) -> Value {
    let part = out.split(&format!("BEGIN {name}\n")).nth(1);
    let text = part.and_then(|own| own.split("\nEND").next());
    let text = text.unwrap_or_else(|| panic!("{name}: {out}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
}

#[test]
#[ignore = "long"]
fn every_request_is_answered_on_a_real_time_kernel() {
    let Some(kernel) = kernel("RTETHER_LINUX_RT") else { return };
    let machine = Machine {
        kernel,
        modules: "veth",
        folders: "drivers/net/veth.ko",
        programs: "ip sleep",
        own: env!("CARGO_BIN_EXE_rtether"),
        memory: "1G",
    };
    let out = machine.run(&[], &script());
    let doctor = said(&out, "doctor");
    let findings = doctor["findings"].as_array().expect("findings");
    let version = findings.iter().find(|own| own["id"] == "kernel.version").expect("a version");
    assert_eq!(version["state"], "ok", "{version}");
    assert!(version["found"].as_str().is_some_and(|own| own.contains("PREEMPT_RT")), "{version}");
    for (way, _) in WAYS {
        let found = said(&out, way);
        for counter in ["sent", "answered"] {
            assert_eq!(found["counters"][counter], REQUESTS, "{way}: {found}");
        }
    }
}
