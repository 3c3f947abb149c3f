//! The rights of a shim at work.

use std::time::{Duration, Instant};

use super::bed::{Bed, CONFIG, KERNEL, PATIENCE};

/// `CAP_NET_ADMIN`, `CAP_NET_RAW`, `CAP_BPF` (`linux/capability.h`).
const KEPT: u64 = 1 << 12 | 1 << 13 | 1 << 39;

fn mask(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
}

#[test]
fn all_threads_and_the_watchdog_give_up_their_rights() {
    let Some(bed) = Bed::new() else { return };
    for config in bed.configs() {
        let shim = bed.up(config, &[]);
        // Kernel filters are loaded again when rules change (`CAP_PERFMON`).
        let kept = if config == KERNEL { KEPT | 1 << 38 } else { KEPT };
        let mut seen = 0;
        for pid in bed.processes() {
            for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
                let path = thread.unwrap().path().join("status");
                check(&std::fs::read_to_string(path).unwrap(), kept);
                seen += 1;
            }
        }
        assert_eq!(seen, 3, "two threads of the shim and its watchdog");
        bed.end(shim);
    }
}

/// Checks the kernel's report on a thread.
fn check(status: &str, kept: u64) {
    for name in ["CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(mask(status, name) & !kept, 0, "{name} of {status}");
    }
    assert!(status.contains("NoNewPrivs:\t1"));
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let user = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("Uid:"));
        line.unwrap().to_owned()
    };
    assert_eq!(user(status), user(&own), "the user stays");
}

/// Returns policy and priority of a thread (`proc_pid_stat(5)`, fields 41 and 40).
fn scheduling(pid: &str, name: &str) -> Option<(String, String)> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let stats = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")));
    let stat = stats.flatten().find(|stat| stat.contains(&format!("({name})")))?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    // The third field is the first after the name.
    Some((fields[41 - 3].to_owned(), fields[40 - 3].to_owned()))
}

#[test]
fn a_real_time_thread_stays_one_without_rights() {
    // Oracle: 1 is `SCHED_FIFO`.
    let Some(bed) = Bed::new() else { return };
    let shim = bed.up(&format!("{CONFIG}priority: 10\n"), &[]);
    let pid = shim.id().to_string();
    let real_time = Some(("1".to_owned(), "10".to_owned()));
    // The thread places itself once it runs, which on a busy machine takes a while.
    let end = Instant::now() + PATIENCE;
    while scheduling(&pid, "shim") != real_time && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(scheduling(&pid, "shim"), real_time);
    assert_eq!(bed.ping(50, "2 ms"), 0);
    // Changing the core needs no rights.
    let config = bed.file(&format!("{CONFIG}priority: 10\ncore: 0\n"));
    bed.run(&["shim", "set", "wire", "--config", &config]).exits(0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(scheduling(&pid, "shim"), real_time);
    let missing = bed.file(&format!("{CONFIG}priority: 10\ncore: 1000\n"));
    bed.run(&["shim", "set", "wire", "--config", &missing]).exits(4).says("core 1000");
    assert_eq!(bed.ping(50, "2 ms"), 0, "it goes on");
    bed.end(shim);
}
