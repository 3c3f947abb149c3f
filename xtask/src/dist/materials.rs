//! What the program is made of, as `CycloneDX` 1.5: each crate that is linked into it, with version,
//! license and the sum of its archive.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::PACKAGE;
use super::target::TARGETS;
use crate::repo::Repo;

/// Returns the list for all systems together. It has no time and no serial number, so that the same
/// lock file gives the same list.
pub(super) fn list(repo: &Repo, version: &str) -> Result<String> {
    let mut parts = BTreeMap::new();
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let lock = repo.read("Cargo.lock").context("reading Cargo.lock")?;
    for target in TARGETS {
        let mut command = repo.cargo(&["metadata", "--locked", "--format-version", "1"]);
        command.args(["--filter-platform", target.triple]);
        let output = command.output().context("running `cargo metadata`")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        let metadata = serde_json::from_slice(&output.stdout).context("reading its output")?;
        collect(&metadata, &sums(&lock), &mut parts, &mut edges)?;
    }
    let command = reference(PACKAGE, version);
    let root = parts.remove(&command).context("the command is not in it")?;
    let edges = edges.into_iter();
    let edges = edges.map(|(from, to)| json!({ "ref": from, "dependsOn": to }));
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": root },
        "components": parts.into_values().collect::<Vec<_>>(),
        "dependencies": edges.collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn reference(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

/// Adds the crates that the command is linked from, and which uses which.
fn collect(
    metadata: &Value,
    sums: &BTreeMap<(String, String), String>,
    parts: &mut BTreeMap<String, Value>,
    edges: &mut BTreeMap<String, BTreeSet<String>>,
) -> Result<()> {
    let by_id = |list: &'static str, place: &'static str| -> BTreeMap<String, Value> {
        let all = metadata.pointer(list).and_then(Value::as_array);
        let all = all.into_iter().flatten();
        all.filter_map(|one| Some((one[place].as_str()?.to_owned(), one.clone()))).collect()
    };
    let packages = by_id("/packages", "id");
    let nodes = by_id("/resolve/nodes", "id");
    let first = packages.iter().find(|(_, one)| one["name"] == PACKAGE);
    let mut pending = vec![first.context("the command is not in the metadata")?.0.clone()];
    let mut seen = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let package = &packages[&id];
        let [name, version] =
            ["name", "version"].map(|key| package[key].as_str().unwrap_or_default());
        let own = reference(name, version);
        parts.insert(own.clone(), component(package, sums));
        let used = edges.entry(own).or_default();
        for dependency in nodes[&id]["deps"].as_array().into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            let is_linked =
                kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()));
            let other = dependency["pkg"].as_str().unwrap_or_default();
            let Some(package) = packages.get(other).filter(|_| is_linked) else {
                continue;
            };
            let [name, version] =
                ["name", "version"].map(|key| package[key].as_str().unwrap_or_default());
            used.insert(reference(name, version));
            pending.push(other.to_owned());
        }
    }
    Ok(())
}

fn component(package: &Value, sums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let (name, version) = (text("name"), text("version"));
    let is_program = name == PACKAGE;
    let mut component = json!({
        "type": if is_program { "application" } else { "library" },
        "bom-ref": reference(&name, &version),
        "name": name,
        "version": version,
        "purl": reference(&name, &version),
        // Some crates still write the `/` of old.
        "licenses": [{ "expression": text("license").replace('/', " OR ").replace("  ", " ") }],
    });
    if let Some(sum) = sums.get(&(name, version)) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

/// Returns the sums in a lock file, by name and version.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |entry: &str, key: &str| {
        let mut lines = entry.lines();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        value.map(|value| value.trim_end_matches('"').to_owned())
    };
    let entries = lock.split("[[package]]").filter_map(|entry| {
        let name = (value(entry, "name")?, value(entry, "version")?);
        Some((name, value(entry, "checksum")?))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_and_what_only_tests_use_is_not() {
        let metadata = json!({
            "packages": [
                { "id": "1", "name": PACKAGE, "version": "1.0.0", "license": "MIT" },
                { "id": "2", "name": "a", "version": "2.0.0", "license": "MIT/Apache-2.0" },
                { "id": "3", "name": "b", "version": "3.0.0", "license": "MIT" },
            ],
            "resolve": { "nodes": [
                { "id": "1", "deps": [
                    { "pkg": "2", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "3", "dep_kinds": [{ "kind": "dev" }] },
                ] },
                { "id": "2", "deps": [] },
                { "id": "3", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"a\"\nversion = \"2.0.0\"\nchecksum = \"12ab\"\n";
        let (mut parts, mut edges) = (BTreeMap::new(), BTreeMap::new());
        collect(&metadata, &sums(lock), &mut parts, &mut edges).unwrap();
        let names: Vec<&str> = parts.keys().map(String::as_str).collect();
        assert_eq!(names, ["pkg:cargo/a@2.0.0", &reference(PACKAGE, "1.0.0")]);
        let a = &parts["pkg:cargo/a@2.0.0"];
        assert_eq!(a["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(a["hashes"][0]["content"], "12ab");
        assert!(edges[&reference(PACKAGE, "1.0.0")].contains("pkg:cargo/a@2.0.0"));
    }
}
