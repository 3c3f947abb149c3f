//! Runs the tests in Python on the module as it was built here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rtether_testkit::{Folder, Run, skip};

/// Returns the module that was built with this program.
fn module() -> PathBuf {
    let own = env::current_exe().unwrap();
    let folder = own.parent().unwrap();
    let name = format!(
        "{}_rtether{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    );
    folder.join(name)
}

#[test]
fn what_python_sees_is_what_the_command_says() {
    let Some(python) = env::var_os("RTETHER_PYTHON") else {
        skip("needs Python, whose path is in RTETHER_PYTHON");
        return;
    };
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("python");
    let place = folder.path().join("rtether");
    fs::create_dir(&place).unwrap();
    for entry in fs::read_dir(package.join("python/rtether")).unwrap() {
        let from = entry.unwrap().path();
        if from.is_file() {
            fs::copy(&from, place.join(from.file_name().unwrap())).unwrap();
        }
    }
    fs::copy(module(), place.join("_rtether.abi3.so")).unwrap();
    let mut tests = Command::new(python);
    tests.arg(package.join("tests/test_rtether.py"));
    tests
        .env("PYTHONPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("RTETHER_ROOT", package.join("../.."));
    let ended = tests.run();
    println!("{}{}", ended.out, ended.err);
    assert_eq!(ended.code, Some(0));
}
