//! The Debian packages of the C library: `librtether0` for programs that are linked with it, and
//! `librtether-dev` to build them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::debian::documents;
use super::target::no_paths;
use super::tree::{COMMON, Tree, lack};
use crate::c_library::{self, HEADER, SO_NAME, SYSTEM_LIBRARIES};
use crate::repo::Repo;

/// Name of the library in selections.
pub(super) const NAME: &str = "c-library";
/// How names of its packages begin.
pub(super) const PREFIX: &str = "librtether";

/// The library, as it was built for this machine.
pub(super) struct Library {
    version: String,
    /// Names of the architecture: that of Debian, and of its folders of libraries.
    architecture: [&'static str; 2],
    shared: PathBuf,
    archive: PathBuf,
}

impl Library {
    /// Builds it for this machine; inside, what is missing here.
    pub(super) fn build(repo: &Repo, version: &str) -> Result<Result<Self, String>> {
        let architecture = match (env::consts::OS, env::consts::ARCH) {
            ("linux", "x86_64") => ["amd64", "x86_64-linux-gnu"],
            ("linux", "aarch64") => ["arm64", "aarch64-linux-gnu"],
            (system, processor) => {
                return Ok(Err(format!("there is none for {system} on {processor}")));
            }
        };
        if let Some(lack) = lack() {
            return Ok(Err(lack));
        }
        let files = c_library::build(repo, &no_paths(repo)?)?;
        let find = |ending: &str| {
            let found = files.iter().find(|file| file.extension().is_some_and(|own| own == ending));
            found.cloned().with_context(|| format!("no library .{ending}"))
        };
        Ok(Ok(Self {
            version: version.to_owned(),
            architecture,
            shared: find("so")?,
            archive: find("a")?,
        }))
    }

    /// Makes both packages and returns their names.
    pub(super) fn make(&self, repo: &Repo, folder: &Path, epoch: &str) -> Result<[String; 2]> {
        let read = |file: &Path| {
            let read = fs::read(file);
            read.with_context(|| format!("reading {}", file.display()))
        };
        let [architecture, place] = self.architecture;
        let place = format!("usr/lib/{place}");
        let name = |package: &str| format!("{package}_{}_{architecture}.deb", self.version);
        let shared = read(&self.shared)?;
        let tree = Tree::new(folder);
        tree.write(&format!("{place}/{SO_NAME}"), &shared, "644")?;
        self.finish(repo, &tree, "librtether0", &Self::control(&shared))?;
        let shlibs = format!("librtether 0 librtether0 (>= {})\n", self.version);
        tree.write_text("DEBIAN/shlibs", &shlibs)?;
        tree.write_text("DEBIAN/triggers", "activate-noawait ldconfig\n")?;
        let runs = name("librtether0");
        tree.pack(&folder.join(&runs), epoch)?;
        drop(tree);
        let tree = Tree::new(folder);
        let header = repo.read(HEADER).context("there is no header")?;
        tree.write_text("usr/include/rtether.h", &header)?;
        tree.write(&format!("{place}/librtether.a"), &read(&self.archive)?, "644")?;
        tree.link(&format!("{place}/librtether.so"), SO_NAME)?;
        tree.write_text(&format!("{place}/pkgconfig/rtether.pc"), &self.description())?;
        self.finish(repo, &tree, "librtether-dev", &self.control_dev())?;
        let builds = name("librtether-dev");
        tree.pack(&folder.join(&builds), epoch)?;
        Ok([runs, builds])
    }

    fn finish(&self, repo: &Repo, tree: &Tree, package: &str, control: &str) -> Result<()> {
        for (path, text) in documents(repo, package)? {
            tree.write_text(&path, &text)?;
        }
        let [architecture, _] = self.architecture;
        let head = format!(
            "Package: {package}\nSource: rtether\nVersion: {}\nArchitecture: {architecture}\n\
             Multi-Arch: same\n{COMMON}Installed-Size: {}\n",
            self.version,
            tree.size()?
        );
        tree.write_text("DEBIAN/control", &format!("{head}{control}"))
    }

    fn control(shared: &[u8]) -> String {
        format!(
            "Section: libs\nDepends: libc6 (>= {}), libgcc-s1\n\
             Description: publish-subscribe over RTPS (C library)\n \
             Programs publish and subscribe to topics over RTPS 2.5 or 1.0, also with other\n \
             implementations of DDS. This is the shared library.\n",
            needed(shared).unwrap_or_else(|| "2.17".to_owned())
        )
    }

    fn control_dev(&self) -> String {
        format!(
            "Section: libdevel\nDepends: librtether0 (= {}), libc6-dev | libc-dev\n\
             Suggests: pkgconf\n\
             Description: publish-subscribe over RTPS (development files of the C library)\n \
             Header, static library, and the description for pkg-config.\n",
            self.version
        )
    }

    /// Returns the file for `pkg-config` of the installed library.
    fn description(&self) -> String {
        let [_, place] = self.architecture;
        format!(
            "prefix=/usr\nlibdir=${{prefix}}/lib/{place}\nincludedir=${{prefix}}/include\n\n\
             Name: rtether\nDescription: publish-subscribe over RTPS\nVersion: {}\n\
             Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -lrtether\n\
             Libs.private: {SYSTEM_LIBRARIES}\n",
            self.version
        )
    }
}

/// Returns the version of the system's C library that a shared library needs: the latest that its
/// symbols name.
fn needed(shared: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"GLIBC_";
    let places = shared.windows(MARK.len()).enumerate();
    let named = places.filter(|(_, octets)| *octets == MARK);
    let versions = named.filter_map(|(at, _)| {
        let rest = shared.get(at + MARK.len()..)?;
        let digits = rest.iter().take_while(|octet| octet.is_ascii_digit() || **octet == b'.');
        let text: String = digits.map(|octet| char::from(*octet)).collect();
        let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        parts
    });
    let latest = versions.max()?;
    let parts: Vec<String> = latest.iter().map(u32::to_string).collect();
    Some(parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> Library {
        Library {
            version: "1.2.3".to_owned(),
            architecture: ["amd64", "x86_64-linux-gnu"],
            shared: PathBuf::new(),
            archive: PathBuf::new(),
        }
    }

    #[test]
    fn the_latest_symbol_is_needed() {
        // Oracle: by hand; 2.9 is before 2.34.
        let octets = b"\0GLIBC_2.9\0memcpy\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE\0";
        assert_eq!(needed(octets).as_deref(), Some("2.34"));
        assert_eq!(needed(b"nothing"), None);
    }

    #[test]
    fn the_description_names_installed_folders() {
        let text = library().description();
        for line in [
            "prefix=/usr\n",
            "libdir=${prefix}/lib/x86_64-linux-gnu\n",
            "Libs: -L${libdir} -lrtether\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn both_packages_have_one_version() {
        let own = library();
        assert!(own.control_dev().contains("librtether0 (= 1.2.3)"));
        let depends = "Depends: libc6 (>= 2.34), libgcc-s1\n";
        assert!(Library::control(b"GLIBC_2.34").contains(depends));
    }
}
