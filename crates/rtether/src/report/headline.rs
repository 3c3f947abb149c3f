//! The outcome in a few sentences: counts per verdict, their basis, and the worst stream.

use crate::adversary::Varied;
use crate::run::Results;
use crate::verdict::{Assessment, Blame, Column, Standing, Verdict};

use super::checked::{Checked, Stream};
use super::counts::{Basis, Counts};
use super::text;

/// Returns the source of the packets, and what differs from run to run: ` of 8 runs of 10 s, 8 sets of
/// phases`; empty if they were measured.
fn runs(results: &Results, varied: &Varied) -> String {
    let count = results.seeds.len();
    if count == 0 {
        return String::new();
    }
    let length = text::time(results.record.duration);
    let varied = match varied.words(count) {
        words if words.is_empty() => words,
        words => format!(", {words}"),
    };
    format!(" of {} of {length}{varied}", text::plural(count, "run"))
}

impl Checked {
    /// Returns where most of the time is spent: `62 % of it in the driver queue of bay01.ct2`.
    pub fn blame(&self, stream: &Stream<'_>) -> Option<String> {
        let Blame { column, place, delay, of } = stream.assessment.responsible?;
        let share = text::percent(text::share(delay, of));
        let whole = match column {
            Column::Bound => "the bound",
            Column::Simulated | Column::Measured => "it",
        };
        Some(format!("{share} of {whole} in the {}", self.place_name(place)))
    }

    /// Returns where the worst simulated packet spent most of its time, in the same form.
    pub(super) fn worst_place(&self, stream: &Stream<'_>) -> Option<String> {
        let worst = stream.record.worst?;
        let (place, delay) = worst.responsible;
        let share = text::percent(text::share(delay, worst.latency));
        Some(format!("{share} of it in the {}", self.place_name(place)))
    }

    /// Returns the overall verdict in a few sentences: its word, then what it rests on.
    pub fn summary(&self) -> String {
        self.conclusion.sentence(&self.said())
    }

    /// Returns what the words of the verdict rest on.
    fn basis(&self) -> Basis {
        Basis { proved: self.assumed.condition(), held: runs(&self.results, &self.varied) }
    }

    /// Returns what the verdict rests on: counts per standing, and the worst stream.
    pub fn said(&self) -> String {
        let counts = self.counts();
        let partial = if self.results.partial { " The results are partial." } else { "" };
        let rest = [
            self.sums_words(),
            self.measured_words(),
            self.searched(),
            self.conditions(),
            self.ignored_deadlines(),
        ]
        .concat();
        let head = format!(
            "{}: {}.{}",
            text::plural(counts.streams, "stream"),
            counts.words_of(&self.basis()),
            self.assumed.sentences(&self.scenario)
        );
        let first = self.worst_first().first().map(|&index| self.stream(index));
        let Some(tail) = first.and_then(|stream| self.sentence(&stream)) else {
            return format!("{head}{rest}{partial}");
        };
        format!("{head} {tail}.{rest}{partial}")
    }

    /// Returns how many streams held when measured, if a measurement accompanies the simulation.
    fn measured_words(&self) -> String {
        if !self.has_measured() {
            return String::new();
        }
        let mut counts = Counts::default();
        for judged in &self.judged {
            let standing = judged.assessment.measured;
            if !matches!(standing, Standing::Unjudged | Standing::NoDeadline) {
                counts.stand(standing);
            }
        }
        match counts.words() {
            words if words.is_empty() => words,
            words => format!(" Measured: {words}."),
        }
    }

    /// Returns what a search for bad releases has tried and found, as a sentence.
    fn searched(&self) -> String {
        let Some(search) = &self.adversarial else {
            return String::new();
        };
        let is_late = |stream: &Stream<'_>| {
            let both = stream.found.zip(stream.flow.deadline);
            both.is_some_and(|(found, deadline)| found.latency > deadline)
        };
        let late = self.streams().filter(is_late).count();
        format!(" Adversary: {}, {late} beyond their deadline.", search.words())
    }

    /// Returns how many bounds are no proof unless nothing is dropped, and where, as a sentence.
    fn conditions(&self) -> String {
        let standings = [
            (Standing::IfDelivered, "if delivered"),
            (Standing::IfNothingDropped, "if nothing is dropped"),
        ];
        let all = || self.judged.iter().map(|judged| &judged.assessment);
        let counts = standings.map(|(standing, word)| {
            let count = all().filter(|own| own.bound == standing).count();
            (count > 0).then(|| format!("{count} {word}"))
        });
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let is_one = |own: &&Assessment| standings.iter().any(|(one, _)| own.bound == *one);
        let first = all().filter(is_one).find_map(|own| own.only_if.as_ref());
        first.map_or_else(String::new, |words| {
            format!(" Proved only {}: {words}.", counts.join(", "))
        })
    }

    /// Returns the number of streams with a deadline that no requirement judges, as a sentence.
    fn ignored_deadlines(&self) -> String {
        let accept = &self.scenario.accept;
        let is_ignored = |stream: &Stream<'_>| {
            stream.flow.deadline.is_some()
                && !accept.iter().any(|line| line.judges_deadline(stream.flow))
        };
        match self.streams().filter(is_ignored).count() {
            0 => String::new(),
            count => format!(" The deadline of {} is not judged.", text::plural(count, "stream")),
        }
    }

    fn sentence(&self, stream: &Stream<'_>) -> Option<String> {
        let name = self.stream_name(stream);
        let blame = || {
            let blame = self.blame(stream);
            blame.map_or_else(String::new, |text| format!("; {text}"))
        };
        let found = stream.found.map(|found| found.latency);
        let (max, deadline) = (stream.max().max(found), stream.flow.deadline);
        let assessment = stream.assessment;
        let is_elsewhere = matches!(assessment.failed, Some(Column::Bound | Column::Measured));
        let over = deadline.zip(max).filter(|(limit, max)| max > limit);
        if let Some((deadline, max)) = over.filter(|_| !is_elsewhere) {
            let over = text::time(max - deadline);
            let limit = text::time(deadline);
            let blame = blame();
            return Some(format!("Worst: {name} exceeds its deadline {limit} by {over}{blame}"));
        }
        match assessment.verdict {
            Verdict::Lost if is_elsewhere => {
                Some(format!("Worst: {name}: {}", assessment.reasons.first()?))
            }
            Verdict::Lost => {
                let (dropped, released) = (stream.record.dropped, stream.record.released);
                Some(format!("Worst: {name} lost {dropped} of {released} packets"))
            }
            Verdict::Late | Verdict::NotProved => {
                let reason = assessment.reasons.first()?;
                // Packets in flight are worse than the worst delivered one, so its place says
                // nothing.
                let is_known = deadline.is_none() || assessment.margin.is_some();
                let blame = if is_known { blame() } else { String::new() };
                Some(format!("Worst: {name}: {reason}{blame}"))
            }
            Verdict::NoAnswer if stream.record.delivered > 0 => {
                Some(format!("Worst: {name}: {}", assessment.reasons.first()?))
            }
            Verdict::NoAnswer => Some(format!("Worst: {name} delivered nothing")),
            Verdict::Ok | Verdict::Unjudged => {
                let (deadline, max) = deadline.zip(max)?;
                let share = text::percent(text::share(max, deadline));
                let (max, limit) = (text::time(max), text::time(deadline));
                let blame = blame();
                Some(format!("Closest: {name} took up to {max} of {limit} ({share}){blame}"))
            }
        }
    }
}
