//! A machine of a kernel's own, emulated instruction by instruction: neither the processor of this
//! host nor its kernel has a say in what it does.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use rtether_testkit::{Folder, Run, skip};

/// Of the kernel's modules, those that scripts need; each takes with it what it depends on.
const MODULES: &str = "8021q bridge dummy sch_prio sch_cbs sch_etf sch_ets sch_ingress cls_flower \
                       cls_matchall act_skbedit act_vlan";

/// Fills a folder with programs of this host, the libraries they load, and modules of the kernel
/// `$1`, and packs it as the first file system of the kernel.
const PACK: &str = "set -e
cd root
mkdir -p proc sys run dev lib/modules
for name in /bin/sh cat mount ip tc bridge modprobe rm; do
    program=$(command -v $name)
    for file in $program $(ldd $program | grep -o '/[^ ]*'); do
        mkdir -p .${file%/*}
        [ -e .$file ] || cp -L $file .$file
    done
done
version=$(ls $1/lib/modules)
for folder in net/sched net/8021q net/802 net/bridge net/llc drivers/net/dummy.ko; do
    mkdir -p lib/modules/$version/${folder%/*}
    cp -r $1/lib/modules/$version/kernel/$folder* lib/modules/$version/${folder%/*}
done
cp $1/lib/modules/$version/modules.order $1/lib/modules/$version/modules.builtin lib/modules/$version
depmod -b . $version
find . | cpio --quiet -o -H newc > ../root.cpio";

/// The folder of a kernel with its modules, as a package of Debian has them; `None`, and the test is
/// skipped, without it or a program.
pub(crate) fn kernel() -> Option<PathBuf> {
    for program in ["qemu-system-x86_64", "cpio", "depmod"] {
        if Command::new(program).arg("--version").output().is_err() {
            skip(&format!("needs {program}"));
            return None;
        }
    }
    let folder = env::var_os("RTETHER_LINUX").map(PathBuf::from);
    if folder.is_none() {
        skip("RTETHER_LINUX names no folder with boot/vmlinuz-VERSION and lib/modules");
    }
    folder
}

/// Starts the kernel with files in `/tried`, runs a shell script there, and returns what it printed.
pub(crate) fn run(kernel: &Path, files: &[(String, String)], script: &str) -> String {
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
             for module in {MODULES}; do modprobe $module; done\ncd /tried\n\
             (\n{script}\necho COMPLETE\n) > /dev/ttyS1 2>&1\necho b > /proc/sysrq-trigger\nread wait"
        ),
    );
    let mut pack = Command::new("sh");
    pack.args(["-c", PACK, "sh"]).arg(kernel);
    pack.current_dir(folder.path()).run().exits(0);
    let names = std::fs::read_dir(kernel.join("boot")).expect("a kernel");
    let mut names = names.flatten().map(|entry| entry.path());
    let image = names.find(|path| path.to_string_lossy().contains("/vmlinuz"));
    // One line for the kernel's own messages, one for the script; a reset ends the machine. Programs
    // at the same addresses each time are translated once, which is five times as fast.
    let mut machine = Command::new("timeout");
    machine.args("300 qemu-system-x86_64 -M pc -accel tcg -cpu max -m 256M".split(' '));
    machine.args("-nodefaults -no-user-config -display none -no-reboot".split(' '));
    machine.args("-serial file:console -serial stdio -initrd root.cpio".split(' '));
    machine.args(["-append", "console=ttyS0 panic=-1 mitigations=off norandmaps"]);
    machine.arg("-kernel").arg(image.expect("a kernel"));
    let ended = machine.current_dir(folder.path()).run();
    let out = ended.out.replace('\r', "");
    let console = folder.path().join("console");
    let console = std::fs::read_to_string(console).unwrap_or_default();
    let out = out.trim_end().strip_suffix("COMPLETE");
    out.unwrap_or_else(|| panic!("{console}{}{}", ended.out, ended.err)).to_owned()
}
