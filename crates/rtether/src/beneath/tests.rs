use std::os::unix::fs::symlink;

use rtether_testkit::Folder;

use super::*;

fn add(folder: &Path) -> String {
    format!("add {}", folder.display())
}

/// A plant in `plants`, a file of the same people in `plants/cells`, and others beside.
fn folder() -> Folder {
    let folder = Folder::new("beneath");
    for (name, text) in [
        ("plants/line.yaml", "line"),
        ("plants/cells/two.yaml", "two"),
        ("shared/stacks.yaml", "stacks"),
        ("plants-old/line.yaml", "old"),
    ] {
        folder.write(name, text);
    }
    folder
}

fn read(folder: &Folder, further: &[&str], name: &str) -> Result<String, String> {
    let further = further.iter().map(|own| folder.path().join(own));
    let further: Vec<PathBuf> = further.collect();
    let plant = folder.path().join("plants/line.yaml");
    let beneath = Beneath::new(&plant, &further, add);
    let read = beneath.read(&folder.file(name));
    read.map_err(|why| why.to_string())
}

/// Oracle: which of the files above lie beneath which folder, by their paths.
#[test]
fn files_beneath_the_folders_are_read() {
    let folder = folder();
    assert_eq!(read(&folder, &[], "plants/cells/two.yaml").unwrap(), "two");
    assert_eq!(read(&folder, &[], "plants/cells/../line.yaml").unwrap(), "line");
    for outside in [
        "shared/stacks.yaml",
        // A folder whose name goes on is another one.
        "plants-old/line.yaml",
        "plants/../shared/stacks.yaml",
        "plants/../../../../../../../../etc/passwd",
    ] {
        let why = read(&folder, &[], outside).unwrap_err();
        assert!(why.starts_with("it is outside the folder"), "{why}");
    }
    let why = read(&folder, &[], "shared/stacks.yaml").unwrap_err();
    assert!(why.ends_with(&add(&folder.path().join("shared"))), "{why}");
    let stacks = read(&folder, &["none", "shared"], "shared/stacks.yaml");
    assert_eq!(stacks.unwrap(), "stacks");
}

/// Whether there is such a file is not told of places outside.
#[test]
fn what_is_outside_is_not_looked_for() {
    let folder = folder();
    let there = read(&folder, &[], "shared/stacks.yaml").unwrap_err();
    let none = read(&folder, &[], "shared/stack.yaml").unwrap_err();
    assert_eq!(there, none);
    symlink(folder.path().join("shared"), folder.path().join("plants/out")).unwrap();
    let none = read(&folder, &[], "plants/out/stack.yaml").unwrap_err();
    assert!(!none.contains("stacks"), "{none}");
    let near = read(&folder, &[], "plants/cells/tow.yaml").unwrap_err();
    assert!(near.contains("cells/two.yaml`?"), "{near}");
}

#[test]
fn links_may_not_lead_out() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    symlink("cells/two.yaml", at("plants/in.yaml")).unwrap();
    symlink("../shared/stacks.yaml", at("plants/out.yaml")).unwrap();
    symlink("../shared", at("plants/out")).unwrap();
    symlink("out", at("plants/further")).unwrap();
    symlink("plants", at("linked")).unwrap();
    symlink("loop.yaml", at("plants/loop.yaml")).unwrap();
    assert_eq!(read(&folder, &[], "plants/in.yaml").unwrap(), "two");
    for out in ["plants/out.yaml", "plants/out/stacks.yaml", "plants/further/stacks.yaml"] {
        let why = read(&folder, &[], out).unwrap_err();
        assert!(why.starts_with("a link leads to"), "{why}");
        assert_eq!(read(&folder, &["shared"], out).unwrap(), "stacks");
    }
    assert!(read(&folder, &[], "plants/loop.yaml").is_err());
    // The folder of the plant itself may be a link.
    let beneath = Beneath::new(&at("linked/line.yaml"), &[], add);
    let two = beneath.read(&folder.file("linked/cells/two.yaml"));
    assert_eq!(two.unwrap(), "two");
}

/// A pipe has no reader here: opening it would wait for ever.
#[test]
fn only_regular_files_are_opened() {
    let folder = folder();
    let pipe = folder.file("plants/pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    folder.write("plants/empty.yaml", "");
    folder.write("plants/octets.yaml", [0xff, 0x00]);
    for (name, why) in [
        ("plants/pipe.yaml", "it is no regular file"),
        ("plants/cells", "it is a directory"),
        ("plants/octets.yaml", "it is not UTF-8; save it as UTF-8"),
    ] {
        assert_eq!(read(&folder, &[], name).unwrap_err(), why);
    }
    assert_eq!(read(&folder, &[], "plants/empty.yaml").unwrap(), "");
    // Even for a plant at the root of all files.
    let whole = Beneath::new(Path::new("/plant.yaml"), &[], add);
    for made in ["/proc/self/environ", "/sys/kernel/uevent_seqnum"] {
        let why = whole.read(made).unwrap_err().to_string();
        assert!(why.contains("kernel") || !Path::new(made).exists(), "{why}");
    }
    assert_eq!(whole.read("/dev/null").unwrap_err(), refused("it is no regular file"));
}
