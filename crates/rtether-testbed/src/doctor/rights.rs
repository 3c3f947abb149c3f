//! Rights, real-time scheduling, locked memory.

use rtether_live::confine::{self, Allowed};
use rtether_live::host::files::Files;
use rtether_live::host::rights::{Rights, capability, lockable, try_fifo};

use super::{Finding, State};

/// Name, number, name for commands, and use.
const CAPABILITIES: [(&str, u32, &str, &str); 6] = [
    ("rights.net-raw", capability::NET_RAW, "cap_net_raw", "raw Ethernet frames and ICMP"),
    (
        "rights.net-admin",
        capability::NET_ADMIN,
        "cap_net_admin",
        "devices, queueing disciplines, XDP",
    ),
    ("rights.sys-admin", capability::SYS_ADMIN, "cap_sys_admin", "network namespaces"),
    ("rights.bpf", capability::BPF, "cap_bpf", "XDP and classifier programs"),
    ("rights.sys-nice", capability::SYS_NICE, "cap_sys_nice", "real-time priorities"),
    ("rights.ipc-lock", capability::IPC_LOCK, "cap_ipc_lock", "memory that is never paged out"),
];

/// Default share of each second that real-time tasks may run, in microseconds.
const RUNTIME_DEFAULT: i64 = 950_000;

pub(super) fn findings(files: &Files) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(rights) = Rights::read(files) {
        findings.extend(of_process(rights));
    }
    let fifo = try_fifo(1).map_err(|error| error.to_string());
    findings.push(real_time(fifo, &cgroup(files)));
    findings.extend(runtime(files));
    findings.extend(lockable().ok().map(memory));
    findings.extend(confine::attempt().iter().flat_map(confinement));
    findings
}

pub(super) fn of_process(rights: Rights) -> Vec<Finding> {
    let user = if rights.is_root {
        Finding::ok("rights.root", "yes", "test beds can be built")
    } else {
        Finding::missing(
            "rights.root",
            State::Note,
            "no",
            "test beds need root; measuring needs only the capabilities below",
            "`sudo rtether ...`",
        )
    };
    let each = CAPABILITIES.into_iter().map(|(id, number, name, what)| {
        if rights.has(number) {
            Finding::ok(id, "granted", what)
        } else {
            let remedy =
                format!("run as root, or `sudo setcap {name}+ep` on the program (`which rtether`)");
            Finding::missing(id, State::Note, "not granted", what, &remedy)
        }
    });
    [user].into_iter().chain(each).collect()
}

/// Returns the control group of this process; `/` for the root.
fn cgroup(files: &Files) -> String {
    let text = files.text("proc/self/cgroup").unwrap_or_default();
    let path = text.lines().next().and_then(|line| line.rsplit(':').next());
    path.unwrap_or("/").to_owned()
}

fn real_time(tried: Result<(), String>, cgroup: &str) -> Finding {
    const MEANING: &str = "a measuring thread is not held up by other tasks; without it p99 \
        reaches milliseconds on a busy host";
    match tried {
        Ok(()) => Finding::ok("realtime.fifo", "SCHED_FIFO is granted", MEANING),
        Err(error) => {
            // A control group without real-time bandwidth refuses even root.
            let remedy = if cgroup == "/" {
                "run as root, or `sudo setcap cap_sys_nice+ep` on the program".to_owned()
            } else {
                format!(
                    "run as root, or `sudo setcap cap_sys_nice+ep` on the program; if root is \
                     refused too: `echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs`, or write \
                     950000 to cpu.rt_runtime_us of the group `{cgroup}`"
                )
            };
            Finding::missing("realtime.fifo", State::Problem, error, MEANING, &remedy)
        }
    }
}

fn runtime(files: &Files) -> Option<Finding> {
    let runtime = files.number("proc/sys/kernel/sched_rt_runtime_us")?;
    let period = files.number("proc/sys/kernel/sched_rt_period_us")?;
    let id = "realtime.runtime";
    Some(if runtime < 0 {
        Finding::note(
            id,
            "no limit",
            "a real-time thread that spins for ever stops its core for good",
            "`sudo sysctl kernel.sched_rt_runtime_us=950000`",
        )
    } else if runtime * 1_000_000 < RUNTIME_DEFAULT * period {
        Finding::note(
            id,
            format!("{runtime} of {period} us"),
            "spinning at a real-time priority is stopped early; rtether rests every 800 ms",
            "`sudo sysctl kernel.sched_rt_runtime_us=950000`",
        )
    } else {
        Finding::ok(
            id,
            format!("{runtime} of {period} us"),
            "rtether's own rests keep a spinning thread within it",
        )
    })
}

fn memory(limit: Option<u64>) -> Finding {
    const ENOUGH: u64 = 256 << 20;
    const MEANING: &str = "page faults in a measurement cost up to milliseconds";
    match limit {
        None => Finding::ok("memory.lock", "no limit", MEANING),
        Some(limit) if limit >= ENOUGH => {
            Finding::ok("memory.lock", format!("{} MiB", limit >> 20), MEANING)
        }
        // The capability lifts the limit.
        Some(limit)
            if Rights::read(&Files::default()).is_some_and(|r| r.has(capability::IPC_LOCK)) =>
        {
            let found = format!("{} KiB, lifted by CAP_IPC_LOCK", limit >> 10);
            Finding::ok("memory.lock", found, MEANING)
        }
        Some(limit) => Finding::missing(
            "memory.lock",
            State::Note,
            format!("{} KiB", limit >> 10),
            MEANING,
            "`ulimit -l unlimited` as root, or `sudo setcap cap_ipc_lock+ep` on the program",
        ),
    }
}

/// Returns what services can give up on this host once they run.
pub(super) fn confinement(allowed: &Allowed) -> Vec<Finding> {
    const SERVICES: &str = "`echo`, `load --sink`, `pub`, `sub` and `spy`";
    let of = |id, can: Result<String, &std::io::Error>, what: &str, remedy: &str| {
        let meaning = format!("{SERVICES} {what} once they are at work");
        match can {
            Ok(found) => Finding::ok(id, found, &meaning),
            Err(error) => Finding::missing(id, State::Note, error.to_string(), &meaning, remedy),
        }
    };
    let user = match &allowed.user {
        None => Ok("not root, so there is nothing to change".to_owned()),
        Some(Ok(())) => Ok("root may become another user".to_owned()),
        Some(Err(error)) => Err(error),
    };
    let files = allowed.files.as_ref().map(|()| "Landlock works".to_owned());
    let calls = allowed.calls.as_ref();
    let calls = calls.map(|calls| format!("seccomp works, {calls} calls are barred"));
    vec![
        of(
            "confine.user",
            user,
            "stop being root",
            "start them as another user; a container needs one besides root, and CAP_SETUID",
        ),
        of(
            "confine.files",
            files,
            "cannot open files any more",
            "Linux 5.13 with CONFIG_SECURITY_LANDLOCK, and `landlock` in the list `lsm=` of its \
             command line",
        ),
        of(
            "confine.calls",
            calls,
            "run no programs and leave the rest of the kernel alone",
            "a kernel with CONFIG_SECCOMP_FILTER on x86-64 or 64-bit ARM",
        ),
    ]
}
