//! `sweep`: runs a study, each point into a file of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use rayon::prelude::*;
use rtether::beneath::Beneath;
use rtether::report::text::plain_line;
use rtether::run::Progress;
use rtether::scenario::{Written, render::Style};
use rtether::sweep::{Answer, Point, Study};

use crate::drafts::Draft;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::progress::{Pace, new_bar, threads, watched};
use crate::scenario::{IncludeFrom, further};
use crate::stop::{Care, Work};
use crate::{files, terminal};

/// Arguments of `sweep`.
#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(crate) struct SweepArgs {
    /// File of the study
    study: PathBuf,
    /// Directory of the results; points that are there are not run again
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Run every N-th point only, from the I-th: 2/8. Who completes the points writes what they tell
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<Shard>,
    /// Folders of files that are named
    #[command(flatten)]
    include_from: IncludeFrom,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pace: Pace,
}

const NOTES: &str = "Example: rtether sweep study.yaml --out results --shard 1/4\n\nIt may be ended \
at any time, and goes on where it was: a point is there completely or not at all. Exit codes: 0 all \
points of the shard are there, 2 the study is wrong.";

/// A part of the points: every `of`-th, from `first`, which counts from 0.
#[derive(Clone, Copy, Debug)]
struct Shard {
    first: usize,
    of: usize,
}

fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(first, of)| {
        let (first, of): (usize, usize) = (first.parse().ok()?, of.parse().ok()?);
        Some((first, of))
    });
    match parts {
        // The last one may be called 0, by those that count from there.
        Some((first, of)) if of > 0 && first <= of => {
            Ok(Shard { first: (first + of - 1) % of, of })
        }
        _ => Err("write a number and how many there are, for example 2/8".into()),
    }
}

/// A study that can be run.
struct Job {
    study: Study,
    scenario: Written,
    /// Directory of the points.
    folder: PathBuf,
    points: Vec<Point>,
}

/// Runs `sweep`.
pub(crate) fn run(arguments: &SweepArgs) -> Exit {
    let job = match Job::read(arguments) {
        Ok(job) => job,
        Err(message) => {
            terminal::complain(message.trim_end());
            return Exit::WrongInput;
        }
    };
    match files::make_directory(&job.folder) {
        Ok(made) => made.keep(),
        Err(message) => return terminal::fail(&message),
    }
    match job.run(arguments) {
        Ok(true) => {}
        Ok(false) => return Exit::Interrupted,
        Err(message) => return terminal::fail(&message),
    }
    let missing = job.points.iter().filter(|point| !job.file(point).exists());
    match missing.count() {
        0 => job.conclude(arguments),
        some => {
            terminal::remark(&format!(
                "{} of {} points are there; the rest are those of other shards",
                job.points.len() - some,
                job.points.len()
            ));
            Exit::Ok
        }
    }
}

/// Reads a scenario with all that it includes; the error says all that is wrong with it.
fn scenario_of(path: &Path, beneath: &Beneath) -> Result<Written, String> {
    let name = path.display().to_string();
    let read = |path: &str| further(beneath, path);
    let text = read(&name).map_err(|why| format!("reading `{}`: {why}", plain_line(&name)))?;
    let loaded = rtether::scenario::load_from(&name, &text, &read, &[], &[]);
    if loaded.scenario.is_none() {
        return Err(loaded.text(Style::Plain));
    }
    Ok(Written::of(&loaded, Vec::new()))
}

impl Job {
    fn read(arguments: &SweepArgs) -> Result<Self, String> {
        let path = &arguments.study;
        let text = files::read(path, "docs/guides/sweep.md has one to start from")?;
        let study = Study::read(&path.display().to_string(), &text);
        let study = study.map_err(|mistake| mistake.to_string())?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let scenario = beside.join(&study.scenario);
        let beneath = arguments.include_from.beneath(path);
        let job = Self {
            scenario: scenario_of(&scenario, &beneath)?,
            folder: arguments.out.join("points"),
            points: study.points(),
            study,
        };
        job.check()?;
        Ok(job)
    }

    fn check(&self) -> Result<(), String> {
        let loaded = self.study.first(&self.scenario);
        match loaded.scenario {
            Some(_) => Ok(()),
            None => Err(loaded.text(Style::Plain)),
        }
    }

    fn file(&self, point: &Point) -> PathBuf {
        let name = point.name(&self.study, &self.scenario);
        self.folder.join(format!("{name}.json"))
    }

    /// Runs the points of the shard that are not there; returns whether it was not interrupted.
    fn run(&self, arguments: &SweepArgs) -> Result<bool, String> {
        let Shard { first, of } = arguments.shard.unwrap_or(Shard { first: 0, of: 1 });
        let own = self.points.iter().skip(first).step_by(of);
        let left: Vec<(&Point, PathBuf)> =
            own.map(|point| (point, self.file(point))).filter(|(_, file)| !file.exists()).collect();
        let progress = Arc::new(Progress::default());
        let asked = Arc::clone(&progress);
        let _work = Work::new(Care::None, move || asked.cancel());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(arguments.pace));
        let pool = pool.build().map_err(|error| format!("starting threads: {error}"))?;
        let template = "{wide_bar} {pos} of {len} points  {eta} left";
        let bar = new_bar(arguments.pace, left.len() as u64, template);
        let done = AtomicU64::new(0);
        let one = |(point, file): &(&Point, PathBuf)| {
            if progress.is_cancelled() {
                return Ok(());
            }
            if let Some(result) = self.study.run(&self.scenario, point, &progress) {
                let written = Draft::open(file).and_then(|draft| draft.write(&result));
                if !is_there(file, &result) {
                    written?;
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let show = || bar.set_position(done.load(Ordering::Relaxed));
        let ran = watched(show, || pool.install(|| left.par_iter().try_for_each(one)));
        bar.finish_and_clear();
        ran.map(|()| !progress.is_cancelled())
    }

    /// Writes what all points tell, and prints it.
    fn conclude(&self, arguments: &SweepArgs) -> Exit {
        let answer = match self.answer() {
            Ok(answer) => answer,
            Err(message) => return terminal::fail(&message),
        };
        for (name, text) in answer.files() {
            let file = arguments.out.join(name);
            if let Err(message) = files::write(&file, &text)
                && !is_there(&file, &text)
            {
                return terminal::fail(&message);
            }
        }
        tidy(&self.folder, ".json.");
        tidy(&arguments.out, ".csv.");
        tidy(&arguments.out, "sweep.json.");
        arguments.format.print(&answer)
    }

    fn answer(&self) -> Result<Answer, String> {
        let read = |point: &Point| {
            let file = self.file(point);
            let text = fs::read_to_string(&file);
            let text = text.map_err(|error| format!("reading `{}`: {error}", file.display()))?;
            Ok((point.clone(), text))
        };
        let results = self.points.iter().map(read).collect::<Result<Vec<_>, String>>();
        Answer::new(&self.study, results?)
    }
}

/// Returns whether another process has written this: shards that end together write the same, and the
/// first removes the drafts of the others.
fn is_there(file: &Path, text: &str) -> bool {
    fs::read(file).is_ok_and(|octets| octets == text.as_bytes())
}

/// Removes drafts of processes that were killed, of files with this in their names: all points are
/// there, so that nobody needs them.
fn tidy(folder: &Path, name: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_draft = path.extension().is_some_and(|ending| ending == "part");
        if is_draft && entry.file_name().to_string_lossy().contains(name) {
            drop(fs::remove_file(path));
        }
    }
}
