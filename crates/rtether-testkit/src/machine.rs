//! A machine of a kernel's own, emulated instruction by instruction: neither the processor of this
//! host nor its kernel has a say in what it does.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Folder, Run, skip};

/// Fills a folder with programs of this host (by name in `$2`, by path and without symbols in `$3`),
/// the libraries they load, and modules of the kernel `$1` (folders in `$4`), and packs it as the
/// first file system of the kernel.
const PACK: &str = "set -e
cd root
mkdir -p proc sys run dev lib/modules usr/bin
take() {
    for file in \"$@\"; do
        mkdir -p .${file%/*}
        [ -e .$file ] || cp -L $file .$file
    done
}
for name in /bin/sh cat mount modprobe rm $2; do
    program=$(command -v $name)
    take $program $(ldd $program | grep -o '/[^ ]*')
done
for program in $3; do
    strip -o usr/bin/${program##*/} $program
    take $(ldd $program | grep -o '/[^ ]*')
done
version=$(ls $1/lib/modules)
for folder in $4; do
    mkdir -p lib/modules/$version/${folder%/*}
    cp -r $1/lib/modules/$version/kernel/$folder* lib/modules/$version/${folder%/*}
done
cp $1/lib/modules/$version/modules.order $1/lib/modules/$version/modules.builtin lib/modules/$version
depmod -b . $version
find . | cpio --quiet -o -H newc > ../root.cpio";

/// An emulated machine.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// The folder of its kernel with modules, as a package of Debian has them.
    pub kernel: PathBuf,
    /// Modules that are loaded; each takes with it what it depends on.
    pub modules: &'a str,
    /// Folders of modules, or files without their ending, below that of the kernel.
    pub folders: &'a str,
    /// Programs of this host by name, besides a shell.
    pub programs: &'a str,
    /// Programs by path; in the machine they are found by name.
    pub own: &'a str,
    /// Its memory, as qemu reads it.
    pub memory: &'a str,
}

/// Returns the folder of a kernel that a variable names; `None`, and the test is skipped, without it
/// or a program.
pub fn kernel(variable: &str) -> Option<PathBuf> {
    for program in ["qemu-system-x86_64", "cpio", "depmod"] {
        if Command::new(program).arg("--version").output().is_err() {
            skip(&format!("needs {program}"));
            return None;
        }
    }
    let folder = env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        skip(&format!("{variable} names no folder with boot/vmlinuz-VERSION and lib/modules"));
    }
    folder
}

impl Machine<'_> {
    /// Starts the kernel with files in `/tried`, runs a shell script there, and returns what it
    /// printed.
    pub fn run(&self, files: &[(String, String)], script: &str) -> String {
        let folder = Folder::new("machine");
        for (name, text) in files {
            folder.script(&format!("root/tried/{name}"), text);
        }
        // The end of the script closes its line, which waits until all of it has been sent.
        folder.script(
            "root/init",
            &format!(
                "export PATH=/tried/bin:/usr/sbin:/usr/bin:/sbin:/bin\nmount -t proc proc /proc\n\
                 mount -t sysfs sys /sys\nmount -t tmpfs tmp /run\nmount -t devtmpfs dev /dev\n\
                 for module in {}; do modprobe $module; done\nmkdir -p /tried\ncd /tried\n\
                 (\n{script}\necho COMPLETE\n) > /dev/ttyS1 2>&1\n\
                 echo b > /proc/sysrq-trigger\nread wait",
                self.modules
            ),
        );
        let mut pack = Command::new("sh");
        pack.args(["-c", PACK, "sh"]).arg(&self.kernel);
        pack.args([self.programs, self.own, self.folders]);
        pack.current_dir(folder.path()).run().exits(0);
        // One line for the kernel's own messages, one for the script; a reset ends the machine.
        // Programs at the same addresses each time are translated once, which is five times as fast.
        let mut machine = Command::new("timeout");
        machine.args("300 qemu-system-x86_64 -M pc -accel tcg -cpu max".split(' '));
        machine.args(["-m", self.memory]);
        machine.args("-nodefaults -no-user-config -display none -no-reboot".split(' '));
        machine.args("-serial file:console -serial stdio -initrd root.cpio".split(' '));
        machine.args(["-append", "console=ttyS0 panic=-1 mitigations=off norandmaps"]);
        machine.arg("-kernel").arg(image(&self.kernel));
        let ended = machine.current_dir(folder.path()).run();
        let out = ended.out.replace('\r', "");
        let console = folder.path().join("console");
        let console = std::fs::read_to_string(console).unwrap_or_default();
        let out = out.trim_end().strip_suffix("COMPLETE");
        out.unwrap_or_else(|| panic!("{console}{}{}", ended.out, ended.err)).to_owned()
    }
}

fn image(kernel: &Path) -> PathBuf {
    let names = std::fs::read_dir(kernel.join("boot")).expect("a kernel");
    let mut names = names.flatten().map(|entry| entry.path());
    names.find(|path| path.to_string_lossy().contains("/vmlinuz")).expect("a kernel")
}
