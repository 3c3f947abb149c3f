//! Clock, processors, and time lost to the hypervisor or firmware.

use rtether_live::host::clock::{Discipline, discipline};
use rtether_live::host::files::Files;
use rtether_live::host::stall::Gaps;
use rtether_model::quantity::Duration;

use super::{Finding, State};
use rtether::report::text::time;

pub(super) fn findings(files: &Files) -> Vec<Finding> {
    let mut findings = vec![source(files)];
    findings.extend(discipline().ok().map(synchronized));
    findings.push(hardware_clocks(files));
    findings.push(governor(files));
    findings.push(idle(files));
    findings.push(isolated(files));
    findings.extend(threads(files));
    findings
}

pub(super) fn source(files: &Files) -> Finding {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let found = files.text(path).unwrap_or_else(|| "unknown".into());
    // Clock sources that are read without entering the kernel.
    let is_quick = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"]
        .contains(&found.as_str());
    let what = "reading the clock takes about 25 ns";
    if is_quick {
        return Finding::ok("clock.source", found, what);
    }
    Finding::note(
        "clock.source",
        found,
        "reading the clock enters the kernel and takes up to microseconds",
        "`echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource` if \
         it is listed in available_clocksource",
    )
}

pub(super) fn synchronized(state: Discipline) -> Finding {
    let what = "one-way delays between hosts have at least this uncertainty; within one host and \
        for round trips it does not matter";
    if state.is_synchronized {
        let error = time(state.error_max);
        let found = format!("synchronized, error at most {error}");
        return Finding::ok("clock.synchronized", found, what);
    }
    Finding::missing(
        "clock.synchronized",
        State::Note,
        "no",
        "one-way delays between hosts mean nothing; within one host and for round trips it does \
         not matter",
        "run chrony (some 10 us in a LAN), or ptp4l and phc2sys with hardware stamps (under 1 us)",
    )
}

fn hardware_clocks(files: &Files) -> Finding {
    let names = files.names("sys/class/ptp");
    let described: Vec<String> = names
        .iter()
        .map(|name| {
            let clock = files.text(&format!("sys/class/ptp/{name}/clock_name"));
            format!("{name} ({})", clock.unwrap_or_default())
        })
        .collect();
    if described.is_empty() {
        return Finding::missing(
            "clock.hardware",
            State::Note,
            "no PTP hardware clock",
            "PTP can synchronize with software stamps only",
            "a network card with IEEE 1588 time stamping",
        );
    }
    let what = "PTP can synchronize with it";
    Finding::ok("clock.hardware", described.join(", "), what)
}

pub(super) fn governor(files: &Files) -> Finding {
    let governor = files.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let id = "processor.governor";
    let Some(governor) = governor else {
        let what = "the machine or its hypervisor sets the frequency";
        return Finding::ok(id, "no frequency scaling", what);
    };
    let what = "the frequency follows the load, so that a stack costs more after a pause";
    if governor == "performance" {
        Finding::ok(id, governor, "the frequency does not follow the load")
    } else {
        let remedy = "`sudo cpupower frequency-set -g performance`";
        Finding::note(id, governor, what, remedy)
    }
}

pub(super) fn idle(files: &Files) -> Finding {
    let directory = "sys/devices/system/cpu/cpu0/cpuidle";
    let states = files.names(directory);
    let deepest = states
        .iter()
        .filter(|state| files.number(&format!("{directory}/{state}/disable")) != Some(1))
        .filter_map(|state| {
            let latency = files.number(&format!("{directory}/{state}/latency"))?;
            let name = files.text(&format!("{directory}/{state}/name"))?;
            Some((latency, name))
        })
        .max();
    let id = "processor.idle";
    let Some((latency, name)) = deepest else {
        let what = "waking up costs what the hypervisor takes";
        return Finding::ok(id, "no idle states", what);
    };
    let found = format!("{name}, {latency} us to leave");
    let what = "every wake-up of a sleeping core costs this much more";
    if latency > 10 {
        let remedy = "`sudo cpupower idle-set -D 10`, or keep /dev/cpu_dma_latency open with 0";
        Finding::note(id, found, what, remedy)
    } else {
        Finding::ok(id, found, what)
    }
}

fn isolated(files: &Files) -> Finding {
    let list = |name: &str| {
        let text = files.text(&format!("sys/devices/system/cpu/{name}"));
        text.filter(|text| !text.is_empty() && text != "(null)")
    };
    let (isolated, tickless) = (list("isolated"), list("nohz_full"));
    let what = "only tasks pinned to these cores run there";
    match (isolated, tickless) {
        (None, None) => Finding::missing(
            "processor.isolated",
            State::Note,
            "no cores",
            "the tick and other tasks interrupt a spinning thread: about 25 us each",
            "boot with `isolcpus=1 nohz_full=1 rcu_nocbs=1` and measure with `--core 1`",
        ),
        (Some(isolated), Some(_)) => {
            Finding::ok("processor.isolated", format!("cores {isolated}"), what)
        }
        (isolated, tickless) => Finding::note(
            "processor.isolated",
            format!(
                "isolated {}, without tick {}",
                isolated.as_deref().unwrap_or("none"),
                tickless.as_deref().unwrap_or("none")
            ),
            what,
            "boot with both `isolcpus=` and `nohz_full=` for the same cores",
        ),
    }
}

fn threads(files: &Files) -> Option<Finding> {
    let online = files.text("sys/devices/system/cpu/online")?;
    let is_shared = files.number("sys/devices/system/cpu/smt/active")? == 1;
    let what = "the threads of a core share its units, so that one slows the other";
    Some(if is_shared {
        let remedy = "`echo off | sudo tee /sys/devices/system/cpu/smt/control`";
        Finding::note("processor.smt", format!("on, cores {online}"), what, remedy)
    } else {
        Finding::ok("processor.smt", format!("off, cores {online}"), what)
    })
}

/// Ticks of all processors: total, and stolen by the hypervisor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    pub(super) all: u64,
    pub(super) stolen: u64,
}

pub(super) fn ticks(files: &Files) -> Option<Ticks> {
    let text = files.text("proc/stat")?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; the rest is already included in user and
    // nice.
    let first = numbers.get(..8)?;
    Some(Ticks { all: first.iter().sum(), stolen: first[7] })
}

pub(super) fn steal(before: Option<Ticks>, after: Option<Ticks>) -> Option<Finding> {
    let (before, after) = (before?, after?);
    let stolen = after.stolen.saturating_sub(before.stolen);
    let all = after.all.saturating_sub(before.all).max(1);
    let found = format!("{stolen} of {all} ticks while watching");
    let what = "time that a hypervisor gave to other guests; it shows as stalls";
    Some(if stolen == 0 {
        Finding::ok("processor.steal", found, what)
    } else {
        let remedy = "a dedicated machine, or cores reserved by the hypervisor";
        Finding::note("processor.steal", found, what, remedy).worse()
    })
}

pub(super) fn gaps(gaps: &Gaps) -> Finding {
    let quantile = |part, whole| {
        let found = gaps.largest_per_window.quantile(part, whole);
        found.map_or_else(|| "-".into(), time)
    };
    let found = format!(
        "largest gap of a millisecond p50 {}, p99 {}, p99.9 {}; largest {} in {}; {} over 10 us, \
         {} over 100 us, {} over 1 ms; {} lost",
        quantile(1, 2),
        quantile(99, 100),
        quantile(999, 1_000),
        time(gaps.largest),
        time(gaps.watched),
        gaps.counts[0],
        gaps.counts[1],
        gaps.counts[2],
        time(gaps.lost),
    );
    let what = "times in which a spinning thread does not run; no delay measured here can be \
        better, and rare large ones are the machine's";
    let id = "processor.gaps";
    let remedy = "end other work, isolate cores (processor.isolated); in a virtual machine only \
        the hypervisor can help, so judge by percentiles";
    if gaps.largest >= Duration::from_ms(1) {
        Finding::note(id, found, what, remedy).worse()
    } else if gaps.counts[1] > 0 {
        Finding::note(id, found, what, remedy)
    } else {
        Finding::ok(id, found, what)
    }
}
