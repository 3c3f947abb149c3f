//! One soak: rounds of load with steps and a mishap, each followed by an account.

mod mishap;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rtether_testkit::Dice;

use crate::account::{Dropped, WAIT_MAX, Window, judge, ledger};
use crate::bed::{Bed, PATIENCE, Side};
use crate::config::{self, Kept};
use crate::flow::{Clock, Control, Flow, SPECS};
use crate::report::{self, Tally};
use crate::schedule::{Round, Step, dice};
use crate::shim::{Shim, Told, command};
use crate::tcp::Transfer;

/// Frames are under way as long as one arrives within this time.
const QUIET: Duration = Duration::from_millis(300);
/// Parameters of a soak.
#[derive(Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) backend: &'static str,
    pub(crate) seed: u64,
    pub(crate) length: Duration,
}

/// A soak under way.
pub(crate) struct Soak {
    wish: Wish,
    bed: Arc<Bed>,
    clock: Clock,
    control: Arc<Control>,
    flows: Vec<Arc<Flow>>,
    /// Numbers of the first unsettled datagrams.
    first: Vec<u64>,
    transfer: Arc<Transfer>,
    shim: Option<Shim>,
    kept: Kept,
    /// Configurations accepted and refused by the shim.
    reloads: [u64; 2],
    /// Last status of the current shim.
    told: Told,
    /// Drops in this round, by shims that have ended.
    dropped: Dropped,
    windows: Vec<Window>,
    pub(crate) tally: Tally,
    is_stopped: &'static AtomicBool,
}

impl Soak {
    /// Creates a bed, starts the load and a shim.
    pub(crate) fn start(
        wish: Wish,
        bed: Bed,
        is_stopped: &'static AtomicBool,
    ) -> Result<Self, String> {
        let (bed, clock) = (Arc::new(bed), Clock::start());
        let flows: Vec<_> = SPECS.iter().map(|spec| Arc::new(Flow::new(spec))).collect();
        let mut soak = Self {
            wish,
            clock,
            control: Arc::default(),
            first: vec![0; flows.len()],
            flows,
            transfer: Arc::default(),
            shim: None,
            kept: Kept::all(wish.backend),
            reloads: [0; 2],
            told: Told::default(),
            dropped: Dropped::default(),
            windows: Vec::new(),
            tally: Tally::default(),
            is_stopped,
            bed,
        };
        soak.shim =
            Some(Shim::start(&soak.bed, &config::draw(&mut dice(wish.seed, 0), soak.kept))?);
        for flow in &soak.flows {
            flow.start(&soak.bed, &soak.control, clock);
        }
        soak.transfer.start(&soak.bed, &soak.control);
        Ok(soak)
    }

    /// Runs rounds until the time is over: in the first part shims come and go, in the second one
    /// shim stays, whose memory is watched.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        let (length, keeps_from) = (self.wish.length, self.wish.length * 2 / 5);
        let round = if length < Duration::from_mins(2) { 3 } else { 6 };
        let mut number = 0;
        let mut keeps = false;
        while begin.elapsed() < length {
            number += 1;
            let dice = &mut dice(self.wish.seed, number);
            if !keeps && begin.elapsed() >= keeps_from {
                keeps = true;
                self.kept = Kept::all(self.wish.backend);
                self.restart(dice)?;
                self.tally.memory.begin();
            }
            let plan = Round::draw(dice, Duration::from_secs(round), keeps);
            let done = self.round(&plan, dice);
            done.map_err(|error| format!("round {number}, {plan:?}: {error}"))?;
        }
        self.finish()
    }

    fn round(&mut self, plan: &Round, dice: &mut Dice) -> Result<(), String> {
        for (position, (pause, step)) in plan.steps.iter().enumerate() {
            if let Some((at, mishap)) = plan.mishap
                && at == position
            {
                self.suffer(mishap, dice)?;
            }
            std::thread::sleep(*pause);
            self.look()?;
            self.step(*step, dice)?;
        }
        self.settle()
    }

    /// Checks the process of the shim, and for Ctrl-C.
    fn look(&mut self) -> Result<(), String> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err("interrupted".into());
        }
        let shim = self.shim.as_mut().ok_or("there is no shim")?;
        if shim.has_ended() {
            return Err(format!("the shim has ended: {:?}", shim.said()));
        }
        self.tally.memory.note(self.clock.now(), shim.memory()?);
        Ok(())
    }

    fn step(&mut self, step: Step, dice: &mut Dice) -> Result<(), String> {
        match step {
            Step::Set => {
                let path = self.bed.file("set.yaml", &config::draw(dice, self.kept));
                command(&self.bed, &["shim", "set", "wire", "--config", &path], 0)?;
                self.reloads[0] += 1;
                self.tally.sets += 1;
            }
            Step::HangUp => {
                self.bed.file("shim.yaml", &config::draw(dice, self.kept));
                self.shim.as_ref().ok_or("no shim")?.signal("-HUP")?;
                self.reloads[0] += 1;
                self.tally.hang_ups += 1;
                self.await_reload()?;
            }
            Step::Wrong => {
                let path = self.bed.file("set.yaml", &config::wrong(self.kept));
                command(&self.bed, &["shim", "set", "wire", "--config", &path], 2)?;
                self.reloads[1] += 1;
                self.tally.refused += 1;
            }
            Step::Ask(form) => {
                let all = ["shim", "status", "wire", form];
                let arguments = all.map(str::to_owned);
                let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
                command(&self.bed, &words[..3 + usize::from(!form.is_empty())], 0)?;
                self.tally.asked += 1;
            }
            Step::Mtu(mtu) => {
                self.bed.set_mtu(mtu)?;
                self.tally.mtus += 1;
            }
        }
        Ok(())
    }

    fn await_reload(&self) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let told = Shim::ask(&self.bed)?;
            if told.reloads == self.reloads {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                let said = self.shim.as_ref().map(Shim::said);
                return Err(format!(
                    "reloads are {:?}, and {:?} were asked for: {said:?}",
                    told.reloads, self.reloads
                ));
            }
        }
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) -> Result<(), String> {
        let begin = Instant::now();
        while !is_so(self) {
            if begin.elapsed() > PATIENCE {
                return Err(format!("waited in vain: {what}"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Records the drops of the shim since the last call.
    fn book(&mut self, told: Told) -> Result<(), String> {
        let since = told.dropped.since(&self.told.dropped)?;
        self.dropped.add(&since);
        self.tally.note_drops(&self.told, &told);
        self.told = told;
        Ok(())
    }

    /// Waits until nothing is under way, and accounts for all datagrams.
    fn settle(&mut self) -> Result<(), String> {
        self.control.pause(self.flows.len() + 1)?;
        let told = self.await_quiet()?;
        if told.reloads != self.reloads {
            return Err(format!("reloads {:?}, not {:?}", told.reloads, self.reloads));
        }
        self.book(told)?;
        let lost_behind = [Side::Near, Side::Far].map(|side| self.bed.lost_behind(side));
        let end = self.clock.now();
        let mut outside = [0; 5];
        let mut stories = Vec::new();
        for (flow, first) in self.flows.iter().zip(&mut self.first) {
            let kind = flow.spec.kind;
            let (sent, arrived) = flow.take();
            let ledger = ledger(kind, *first, &sent, &arrived, end);
            *first += ledger.sent;
            outside[kind as usize] += self.tally.note(kind, &ledger, &self.windows);
            stories.push(report::story(flow.spec.name, &ledger, &self.windows));
            if ledger.twice + ledger.late + flow.strange() > 0 || ledger.longest > WAIT_MAX {
                return Err(format!("{}: {ledger:?}, {} strange", flow.spec.name, flow.strange()));
            }
        }
        let is_calm = self.windows.is_empty();
        let judged = judge(outside, &self.dropped, is_calm);
        judged.map_err(|error| {
            let (dropped, windows) = (&self.dropped, &self.windows);
            format!(
                "{error}\nlost by the bed: {lost_behind:?}\ndropped: {dropped:?}\nwindows: \
                 {windows:?}\n{}",
                stories.concat()
            )
        })?;
        self.tally.policy += outside.iter().sum::<u64>();
        self.tally.calm += u64::from(is_calm);
        self.tally.rounds += 1;
        self.windows.clear();
        self.dropped = Dropped::default();
        self.control.resume();
        Ok(())
    }

    /// Waits until no frame is queued and none arrives.
    fn await_quiet(&self) -> Result<Told, String> {
        let begin = Instant::now();
        let look = || -> Result<_, String> {
            let told = Shim::ask(&self.bed)?;
            let arrivals: usize = self.flows.iter().map(|flow| flow.arrivals()).sum();
            Ok((told, arrivals, self.transfer.received()))
        };
        let mut last = look()?;
        loop {
            std::thread::sleep(QUIET);
            let next = look()?;
            if next == last && next.0.waiting == 0 {
                return Ok(next.0);
            }
            if begin.elapsed() > PATIENCE {
                return Err(format!("frames wait although nobody sends any: {next:?}"));
            }
            last = next;
        }
    }

    /// Ends load and shim, and checks what is left.
    fn finish(&mut self) -> Result<(), String> {
        let shim = self.shim.as_ref().ok_or("no shim")?;
        self.tally.memory.note(self.clock.now(), shim.memory()?);
        self.control.end();
        self.transfer.finish()?;
        self.tally.transferred = self.transfer.received();
        self.tally.not_taken = self.flows.iter().map(|flow| flow.refused()).sum();
        let last = self.shim.take().ok_or("no shim")?.end()?;
        self.book(last)?;
        self.bed.set_mtu(1_500)?;
        if self.bed.files() > 0 || !self.bed.processes(Side::Near).is_empty() {
            return Err("the shim has left files or processes".into());
        }
        self.tally.memory.judge(self.wish.length)
    }

    pub(crate) fn look_at_device(&self) -> String {
        self.bed.look()
    }
}

impl Drop for Soak {
    fn drop(&mut self) {
        self.control.end();
        self.control.all_is_quiet();
        // Threads hold the bed only until they have entered their host.
    }
}
