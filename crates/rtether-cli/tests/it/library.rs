//! The library does what the command does. Oracle: what the command prints, and its exit code.

use std::process::Command;

use rtether::report::json;
use rtether::verdict::Conclusion;
use rtether_testkit::Run;

#[path = "../../../rtether/examples/check.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own, whose `main` prints")]
mod example;

#[test]
fn the_example_of_the_library_finds_what_check_prints() {
    for name in ["hub", "vlans-1p3q1t", "skeie-flat"] {
        let file = format!("{}/../../scenarios/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let checked = example::run(&file).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
        let output = command.args(["check", &file, "--json"]).run();
        let printed = json::text(&checked, json::Options::default());
        assert_eq!(printed, output.out);
        let code = match checked.conclusion {
            Conclusion::Met => 0,
            Conclusion::Failed => 1,
            Conclusion::NoAnswer => 3,
            Conclusion::Unmeasured | Conclusion::Interrupted | Conclusion::Contradiction => {
                panic!("{name}: {:?}", checked.conclusion)
            }
        };
        output.exits(code);
    }
}
