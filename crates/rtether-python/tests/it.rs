//! Runs the tests in Python on the module as it was built here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rtether_testkit::{Folder, Run, skip};

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Returns the module that was built with this program.
fn module() -> PathBuf {
    let own = env::current_exe().unwrap();
    let folder = own.parent().unwrap();
    let name = format!("{}_rtether{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    folder.join(name)
}

/// Returns a folder that has the package, with that module.
fn package() -> Folder {
    let folder = Folder::new("python");
    let place = folder.path().join("rtether");
    fs::create_dir(&place).unwrap();
    for entry in fs::read_dir(Path::new(PACKAGE).join("python/rtether")).unwrap() {
        let from = entry.unwrap().path();
        if from.is_file() {
            fs::copy(&from, place.join(from.file_name().unwrap())).unwrap();
        }
    }
    fs::copy(module(), place.join("_rtether.abi3.so")).unwrap();
    folder
}

/// Runs a file of tests.
fn run(name: &str) {
    let Some(python) = env::var_os("RTETHER_PYTHON") else {
        skip("needs Python, whose path is in RTETHER_PYTHON");
        return;
    };
    let folder = package();
    let mut tests = Command::new(python);
    tests.arg(Path::new(PACKAGE).join("tests").join(name));
    tests.env("PYTHONPATH", folder.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("RTETHER_ROOT", Path::new(PACKAGE).join("../.."));
    let ended = tests.run();
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
}

#[test]
fn what_python_sees_is_what_the_command_says() {
    run("test_rtether.py");
}

#[test]
fn questions_have_the_answers_of_the_command() {
    run("test_questions.py");
}

#[test]
fn a_study_makes_the_files_of_the_command() {
    run("test_sweep.py");
}

#[test]
fn samples_arrive_as_they_were_written() {
    run("test_live.py");
}

#[test]
fn pictures_show_what_the_rows_say() {
    run("test_plot.py");
}

#[test]
fn notebooks_run() {
    run("test_notebooks.py");
}

#[test]
fn the_manifest_is_one_of_a_job() {
    run("test_recipes.py");
}
