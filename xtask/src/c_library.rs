//! The C library: its header, generated from `crates/rtether-live/src/c`, and the files to link.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::repo::Repo;

/// Path of the header.
pub(crate) const HEADER: &str = "crates/rtether-live/include/rtether.h";
const SOURCES: &str = "crates/rtether-live/src/c";
const CONFIG: &str = "crates/rtether-live/cbindgen.toml";
/// Order of the sources in the header: the most important first.
const ORDER: &[&str] = &[
    "status.rs",
    "domain.rs",
    "event.rs",
    "instance_type.rs",
    "cdr_write.rs",
    "cdr_read.rs",
    "policy.rs",
    "publication.rs",
    "info.rs",
    "subscription.rs",
    "place.rs",
];
/// Tests, and the file that names the others, which would appear twice.
const LEFT_OUT: &[&str] = &["mod.rs", "tests.rs"];
/// Default folder of the library.
const FOLDER: &str = "target/c";

/// Its number changes when programs must be rebuilt.
pub(crate) const SO_NAME: &str = "librtether.so.0";
/// System libraries that the static library needs. Those of the compiler itself are left to it: with
/// `-static` they are others.
pub(crate) const SYSTEM_LIBRARIES: &str = "-lutil -lrt -lpthread -lm -ldl";

/// Returns the header generated from the sources.
pub(crate) fn header(repo: &Repo) -> Result<String> {
    let config = cbindgen::Config::from_file(repo.root.join(CONFIG));
    let config = config.map_err(|error| anyhow::anyhow!("reading {CONFIG}: {error}"))?;
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources(&repo.root.join(SOURCES))? {
        builder = builder.with_src(source);
    }
    let bindings = builder.generate().context("making the C header")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).context("reading the C header")?;
    // C++98 has no comma after the last constant of an enumeration.
    Ok(text.replace(",\n}", "\n}"))
}

/// Lists the sources in the order of the header: those named above first, then the rest by name.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in listing {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default().to_owned();
        if !LEFT_OUT.contains(&name.as_str()) {
            let place = ORDER.iter().position(|one| *one == name);
            found.push((place.unwrap_or(ORDER.len()), path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Builds the release library into a folder: shared, static, header and description.
pub(crate) fn run(repo: &Repo, folder: Option<&str>) -> Result<bool> {
    let built = build(repo, "")?;
    let folder = repo.root.join(folder.unwrap_or(FOLDER));
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let copy = |from: &Path, name: &str| {
        let to = folder.join(name);
        let copied = fs::copy(from, &to);
        copied.with_context(|| format!("copying {} to {}", from.display(), to.display()))
    };
    for file in &built {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("so") => {
                copy(file, SO_NAME)?;
                link(&folder.join("librtether.so"))?;
            }
            Some("a") => {
                copy(file, "librtether.a")?;
            }
            _ => {}
        }
    }
    copy(&repo.root.join(HEADER), "rtether.h")?;
    let metadata = repo.metadata()?;
    let version = version(&metadata).context("rtether-live has no version")?;
    let text = description(&version);
    fs::write(folder.join("rtether.pc"), text).context("writing rtether.pc")?;
    println!("in {}: librtether.so, librtether.a, rtether.h, rtether.pc", folder.display());
    Ok(true)
}

/// Creates the name that the linker looks for.
fn link(name: &Path) -> Result<()> {
    let _ = fs::remove_file(name);
    let linked = std::os::unix::fs::symlink(SO_NAME, name);
    linked.with_context(|| format!("linking {}", name.display()))
}

/// Builds the release library with these arguments of the compiler for all crates; returns its files.
pub(crate) fn build(repo: &Repo, flags: &str) -> Result<Vec<PathBuf>> {
    let so_name = format!("link-arg=-Wl,-soname,{SO_NAME}");
    let mut command =
        repo.cargo(&["rustc", "--profile", "dist", "--package", "rtether-live", "--lib"]);
    command
        .args(["--features", "c", "--crate-type", "cdylib,staticlib"])
        .args(["--message-format", "json-render-diagnostics"])
        .args(["--", "-C", &so_name])
        .stderr(std::process::Stdio::inherit());
    if !flags.is_empty() {
        command.env("RUSTFLAGS", flags);
    }
    let output = command.output().context("running `cargo rustc`")?;
    if !output.status.success() {
        bail!("the C library does not build; see above");
    }
    let files = libraries(&String::from_utf8_lossy(&output.stdout));
    if files.len() < 2 {
        bail!("`cargo rustc` does not say where the C library is");
    }
    Ok(files)
}

/// Returns the libraries written by a build of rtether-live.
fn libraries(messages: &str) -> Vec<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ours = messages.filter(|message| {
        let kinds = message["target"]["crate_types"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "cdylib"))
    });
    let names: Vec<Value> = ours.map(|message| message["filenames"].clone()).collect();
    let names = names.iter().filter_map(Value::as_array).flatten();
    names.filter_map(Value::as_str).map(PathBuf::from).collect()
}

fn version(metadata: &Value) -> Option<String> {
    let packages = metadata["packages"].as_array()?;
    let live = packages.iter().find(|one| one["name"] == "rtether-live")?;
    live["version"].as_str().map(str::to_owned)
}

/// Returns the file for `pkg-config`; the folder may be moved.
fn description(version: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}\n\nName: rtether\n\
         Description: publish-subscribe over RTPS\nVersion: {version}\n\
         Cflags: -I${{prefix}}\nLibs: -L${{prefix}} -lrtether\n\
         Libs.private: {SYSTEM_LIBRARIES}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_are_those_of_the_message_with_their_kind() {
        let messages = "{\"target\":{\"crate_types\":[\"lib\"]},\"filenames\":[\"a.rlib\"]}\nnoise\n\
                        {\"target\":{\"crate_types\":[\"cdylib\",\"staticlib\"]},\
                        \"filenames\":[\"l.so\",\"l.a\"]}\n";
        assert_eq!(libraries(messages), [PathBuf::from("l.so"), PathBuf::from("l.a")]);
        assert!(libraries("").is_empty());
    }

    #[test]
    fn the_header_is_that_of_the_sources() {
        let repo = Repo::find().unwrap();
        let committed = repo.read(HEADER).unwrap_or_default();
        let is_current = committed == header(&repo).unwrap();
        assert!(is_current, "{HEADER} is out of date; run `cargo xtask generate`");
    }

    #[test]
    fn the_description_names_its_own_folder() {
        let text = description("1.2.3");
        assert!(text.contains("Version: 1.2.3\n"));
        assert!(text.contains("Libs: -L${prefix} -lrtether\n"));
    }
}
