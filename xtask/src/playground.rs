//! The playground: rtether in one page that needs no network, no server and no folder beside it.
//!
//! The page has everything in it: the program (WebAssembly, in LZMA and Base64) with a small one that
//! unpacks it, the script, the style of reports, and the scenarios as examples. So its policy can
//! forbid every connection, and it opens from a stick as well as from a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::child::{heed_signals, succeeds};
use crate::needs::provide_one;
use crate::repo::Repo;
use crate::upkeep::provide_target;

/// The system that the program is built for: WASI, which the standard library knows.
pub(crate) const TARGET: &str = "wasm32-wasip1";
/// The crate.
pub(crate) const PACKAGE: &str = "rtether-wasm";
/// The program that unpacks the other one.
const UNPACKER: &str = "unpack";
const PROFILE: &str = "browser";
const FOLDER: &str = "target/playground";
/// The scenario that is opened first: small, and one flow of it is late.
const FIRST: &str = "goose-multicast.yaml";
/// Scripts with this nonce run and no other. It is no secret: what a scenario says is escaped
/// before it is shown, and this stops what was not.
const NONCE: &str = "rtether";

/// Builds the page into the folder, or `target/playground`.
pub(crate) fn run(repo: &Repo, folder: Option<&str>) -> Result<bool> {
    heed_signals()?;
    let page = build(repo, &repo.root.join(folder.unwrap_or(FOLDER)))?;
    println!("{}", page.display());
    Ok(true)
}

/// Builds the page where builds go.
pub(crate) fn build_usual(repo: &Repo) -> Result<PathBuf> {
    build(repo, &repo.root.join(FOLDER))
}

/// The programs of the page.
struct Programs {
    /// Unpacks the other one.
    unpacker: Vec<u8>,
    packed: Vec<u8>,
}

/// Builds the page into a folder; returns its path.
fn build(repo: &Repo, folder: &Path) -> Result<PathBuf> {
    let built = programs(repo)?;
    let read = |name: &str| {
        let path = built.join(name).with_extension("wasm");
        fs::read(&path).with_context(|| format!("reading {}", path.display()))
    };
    let programs = Programs {
        unpacker: read(UNPACKER)?,
        packed: pack(&built.join(PACKAGE).with_extension("wasm"))?,
    };
    let page = assemble(repo, &programs)?;
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let place = folder.join("index.html");
    fs::write(&place, &page).with_context(|| format!("writing {}", place.display()))?;
    println!(
        "program {} octets, packed {}; unpacker {}; page {}, in gzip {}",
        read(PACKAGE)?.len(),
        programs.packed.len(),
        programs.unpacker.len(),
        page.len(),
        gzip(&place)?
    );
    Ok(place)
}

/// Builds the programs; returns their folder.
fn programs(repo: &Repo) -> Result<PathBuf> {
    if !provide_target(repo, TARGET) {
        bail!("needs the standard library for it: run `rustup target add {TARGET}`");
    }
    let fixed = ["build", "--locked", "--package", PACKAGE];
    let mut build = repo.cargo(&fixed);
    if !succeeds(build.args(["--profile", PROFILE, "--target", TARGET]))? {
        bail!("the program cannot be built; see above");
    }
    let metadata = repo.metadata()?;
    let target = metadata["target_directory"].as_str();
    let folder = Path::new(target.context("no target directory")?);
    Ok(folder.join(TARGET).join(PROFILE))
}

/// Packs a program. Gzip, which browsers unpack themselves, would make it half as large again.
fn pack(file: &Path) -> Result<Vec<u8>> {
    let xz = provide_one(&["xz"], &["xz-utils"], "to pack the program of the page");
    let mut xz = Command::new(xz.context("needs xz")?);
    // A dictionary that holds the whole program, and code in octets without alignment.
    xz.args(["--format=lzma", "--stdout"]);
    xz.arg("--lzma1=preset=9e,dict=8MiB,lc=4,lp=0,pb=0");
    let output = xz.arg(file).output();
    let output = output.context("running xz")?;
    if !output.status.success() {
        bail!("xz: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

/// Returns how many octets a server that compresses sends for a file.
fn gzip(file: &Path) -> Result<usize> {
    let output = Command::new("gzip").arg("--stdout").arg(file).output();
    Ok(output.context("running gzip")?.stdout.len())
}

/// Puts all into one file.
fn assemble(repo: &Repo, programs: &Programs) -> Result<String> {
    let own = |name: &str| text(repo, &format!("crates/rtether-wasm/page/{name}"));
    let report = |name: &str| text(repo, &format!("crates/rtether-report/src/page/{name}.css"));
    let metadata = repo.metadata()?;
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let package = packages.iter().find(|own| own["name"] == PACKAGE);
    let version = package.and_then(|own| own["version"].as_str());
    let (light, dark) = (report("light")?, report("dark")?);
    let style = format!(
        ":root,.page{{{light}}}\n@media (prefers-color-scheme:dark){{:root,.page{{{dark}}}}}\n{}{}",
        report("style")?,
        own("page.css")?
    );
    let parts = [
        ("nonce", NONCE.to_owned()),
        ("style", style),
        ("version", version.unwrap_or_default().to_owned()),
        ("worker", own("wasi.js")? + &own("worker.js")?),
        ("unpacker", base64(&programs.unpacker)),
        ("program", base64(&programs.packed)),
        ("examples", examples(repo)?),
        ("script", own("page.js")?),
    ];
    fill(&own("index.html")?, &parts)
}

fn text(repo: &Repo, path: &str) -> Result<String> {
    repo.read(path).with_context(|| format!("there is no {path}"))
}

/// Replaces each `{{name}}` of the template.
pub(crate) fn fill(template: &str, parts: &[(&str, String)]) -> Result<String> {
    let mut pieces = template.split("{{");
    let mut page = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").context("a `{{` without `}}`")?;
        let part = parts.iter().find(|(own, _)| *own == name);
        let (_, part) = part.with_context(|| format!("nothing is named `{name}`"))?;
        // A script ends at this word, wherever it stands.
        if part.contains("</script") {
            bail!("`{name}` has the end of a script in it");
        }
        page += part;
        page += rest;
    }
    Ok(page)
}

/// Returns the scenarios as JSON that a script can hold.
fn examples(repo: &Repo) -> Result<String> {
    let mut all = Vec::new();
    for path in repo.scenarios()? {
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        all.push(json!({
            "name": name,
            "title": title(&text).unwrap_or(&name),
            "text": text,
            "is_first": name == FIRST,
        }));
    }
    Ok(Value::from(all).to_string().replace("</", "<\\/"))
}

/// Returns the name that a scenario gives itself.
fn title(text: &str) -> Option<&str> {
    let mut names = text.lines().filter_map(|line| line.strip_prefix("name:"));
    let name = names.next()?;
    let name = name.split(" #").next().unwrap_or_default().trim();
    Some(name.trim_matches(['"', '\'']))
}

/// Encodes octets (RFC 4648, section 4).
fn base64(octets: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(octets.len().div_ceil(3) * 4);
    for group in octets.chunks(3) {
        let bits = (0..3)
            .fold(0, |bits, place| bits << 8 | usize::from(group.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            text.push(if place <= group.len() {
                char::from(DIGITS[bits >> (18 - 6 * place) & 63])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_the_standard() {
        for (octets, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(octets.as_bytes()), text);
        }
    }

    #[test]
    fn a_page_is_whole() {
        let repo = Repo::find().unwrap();
        let programs = Programs { unpacker: b"unpacker".to_vec(), packed: b"program".to_vec() };
        let page = assemble(&repo, &programs).unwrap();
        for part in [&programs.unpacker, &programs.packed] {
            assert!(page.contains(&base64(part)));
        }
        // Oracle: nothing is left to be filled in, and the example that is opened first is there.
        assert!(!page.contains("{{"), "{page}");
        assert!(page.contains("\"is_first\":true"));
        // What a page could fetch would be in one of these.
        for word in ["src=", "@import", "fetch(", "XMLHttpRequest", "WebSocket"] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn what_ends_a_script_is_refused() {
        let parts = [("a", "x</script>".to_owned())];
        assert!(fill("{{a}}", &parts).is_err());
        assert!(fill("{{b}}", &parts).is_err());
    }

    #[test]
    fn names_are_read_without_quotes_and_comments() {
        assert_eq!(title("rtether: 1\nname: A hub # so"), Some("A hub"));
        assert_eq!(title("name: \"A: hub\""), Some("A: hub"));
        assert_eq!(title("rtether: 1"), None);
    }
}
