//! The packages of the C library on a system of their own: programs in C and C++ are built there as the
//! guide says, shared and static, and run.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::library::PREFIX;
use crate::bare_root::{Root, mirror};
use crate::child::{output_of, succeeds};
use crate::needs::{is_root, provide_one};
use crate::repo::Repo;

/// What a user has who builds programs.
const PACKAGES: &str = "gcc,g++,libc6-dev,pkgconf";
/// Where the examples are in the repository.
const EXAMPLES: &str = "crates/rtether-live/examples/c";
/// A program that has to be C++ of 1998: it publishes in vain, and says which version it is linked with.
const PROGRAM: &str = r#"#include <rtether.h>
#include <cstdio>
#include <string>
int main() {
    rtether_domain_options options;
    rtether_domain *domain = NULL;
    if (rtether_domain_options_init(&options, sizeof options) != RTETHER_STATUS_OK
        || rtether_domain_create(&options, &domain) != RTETHER_STATUS_OK) {
        std::printf("%s\n", rtether_last_error());
        return 1;
    }
    std::string said = rtether_version();
    std::printf("version %s\n", said.c_str());
    return rtether_domain_destroy(domain) == RTETHER_STATUS_OK ? 0 : 1;
}
"#;
/// Builds each program in three ways, and runs it; the shared one must need the package.
const SCRIPT: &str = r#"set -e
cd /opt/try
test "$(pkg-config --modversion rtether)" = "$1"
shared="$(pkg-config --cflags --libs rtether)"
static="$(pkg-config --static --cflags --libs rtether)"
archive="$(pkg-config --cflags rtether) -l:librtether.a -lutil -lrt -lpthread -lm -ldl"
for way in "$shared" "-static $static" "$archive"; do
    case "$way" in -static*) first=-static rest="${way#-static }" ;; *) first= rest="$way" ;; esac
    c++ -std=c++98 -pedantic -Wall -Werror $first own.cpp $rest -o own 2>said || { cat said; exit 1; }
    cc -std=c11 -pedantic -Wall -Werror $first publisher.c shape.c $rest -o publisher 2>said || { cat said; exit 1; }
    cc -std=c11 -pedantic -Wall -Werror $first subscriber.c shape.c $rest -o subscriber 2>said || { cat said; exit 1; }
    ./own
    ./subscriber 77 127.0.0.1 immediate > taken & reader=$!
    ./publisher 77 127.0.0.1 10
    kill -INT $reader; wait $reader || true
    grep -q "lost 0, malformed 0" taken || { cat taken; exit 1; }
done
ldd ./own | grep -q librtether.so.0 && exit 1
c++ -std=c++98 own.cpp $shared -o own
ldd ./own | grep -q "librtether.so.0 => /lib\|librtether.so.0 => /usr/lib"
dpkg --remove librtether-dev librtether0 > /dev/null
! ./own 2>/dev/null
"#;

/// Installs the packages among these files on a bare system, and tries them; inside, what is missing
/// for that.
pub(super) fn try_out(
    repo: &Repo,
    folder: &Path,
    names: &[String],
) -> Result<Result<Result<()>, String>> {
    if !is_root() {
        return Ok(Err("needs root".to_owned()));
    }
    let purpose = "to make a system without anything installed";
    if provide_one(&["debootstrap"], &["debootstrap"], purpose).is_none() {
        return Ok(Err("needs debootstrap".to_owned()));
    }
    let Some((mirror, suite)) = mirror() else {
        let reason = "needs a Debian system whose package lists say where packages are";
        return Ok(Err(reason.to_owned()));
    };
    let packages = names.iter().filter(|name| name.starts_with(PREFIX));
    let packages: Vec<&String> = packages.collect();
    if packages.is_empty() {
        return Ok(Err("there are no packages".to_owned()));
    }
    let root = Root::make(repo, "library-root")?;
    let mut make = Command::new("debootstrap");
    make.args(["--variant=minbase", &format!("--include={PACKAGES}")]);
    make.arg(suite).arg(root.path("/")).arg(mirror);
    if !succeeds(make.stdout(Stdio::null()))? {
        return Ok(Err("debootstrap failed, see above".to_owned()));
    }
    Ok(Ok(build_and_run(repo, &root, folder, &packages)))
}

fn build_and_run(repo: &Repo, root: &Root, folder: &Path, packages: &[&String]) -> Result<()> {
    let place = root.path("/opt/try");
    std::fs::create_dir_all(&place).context("making a folder")?;
    let mut install = Command::new("chroot");
    install.arg(root.path("/")).args(["dpkg", "--log=/dev/null", "--install"]);
    for name in packages {
        std::fs::copy(folder.join(name), place.join(name)).context("copying a package")?;
        install.arg(format!("/opt/try/{name}"));
    }
    if !succeeds(install.stdout(Stdio::null()))? {
        bail!("dpkg refuses them; see above");
    }
    for name in ["publisher.c", "subscriber.c", "shape.c", "shape.h"] {
        let from = repo.root.join(EXAMPLES).join(name);
        std::fs::copy(&from, place.join(name)).with_context(|| format!("copying {name}"))?;
    }
    std::fs::write(place.join("own.cpp"), PROGRAM).context("writing a program")?;
    let version = packages[0].split('_').nth(1).unwrap_or_default();
    let mut run = Command::new("unshare");
    // Only loopback, so that no other participant is met.
    run.args(["--net", "--mount", "sh", "-ec"]);
    run.arg("ip link set lo up && exec chroot \"$0\" sh -c \"$1\" sh \"$2\"");
    run.arg(root.path("/")).args([SCRIPT, version]);
    let (is_good, said) = output_of(&mut run)?;
    if !is_good {
        bail!("{said}");
    }
    Ok(())
}
