//! What an experiment reports: the paper's values next to ours, verdicts, figures and notes.

use std::fmt::Display;

use rtether::report::chart::{Axis, Column, ColumnChart, LineChart, Series, Style};
use rtether::report::markup::Markup;
use rtether_model::quantity::{Bytes, Duration};

use super::basis::Basis;
use super::judge::{Judgement, Status};
use super::observe::count_f64;
use super::reference::{self, Claim, Value};
use super::{Comparison, Figure, Mode, ReproduceError, Reproduction, fitted};

/// How an experiment ends.
pub(crate) type Outcome = Result<(), ReproduceError>;

/// Results of an experiment while it runs.
pub(crate) struct Page {
    found: Reproduction,
    mode: Mode,
    /// Claims about the experiment without a verdict so far.
    open: Vec<Claim>,
}

impl Page {
    pub(crate) fn new(id: &'static str, mode: Mode) -> Self {
        let mut open = reference::claims();
        open.retain(|claim| claim.concerns(id));
        let found = Reproduction {
            id,
            title: String::new(),
            mode: match mode {
                Mode::Sim => "sim",
                Mode::Live => "live",
            },
            comparisons: Vec::new(),
            claims: Vec::new(),
            figures: Vec::new(),
            notes: Vec::new(),
        };
        Self { found, mode, open }
    }

    pub(crate) const fn id(&self) -> &'static str {
        self.found.id
    }

    pub(crate) fn title(&mut self, title: impl Into<String>) {
        self.found.title = title.into();
    }

    /// Sets the title of an experiment that computes and does not simulate.
    pub(crate) fn analysis(&mut self, title: &str) {
        self.found.mode = "analysis";
        self.title(title);
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.found.notes.push(note.into());
    }

    /// Adds a value of the paper, or words in its place, next to ours.
    pub(crate) fn row(
        &mut self,
        quantity: impl Display,
        paper: impl Display,
        ours: impl Display,
        source: impl Into<String>,
    ) {
        self.found.comparisons.push(Comparison {
            quantity: quantity.to_string(),
            paper: paper.to_string(),
            ours: ours.to_string(),
            source: source.into(),
        });
    }

    /// Adds a row for each of the paper's values for which `ours` has a name and our value.
    pub(crate) fn compare<Q: Display, O: Display>(
        &mut self,
        values: Vec<Value>,
        ours: impl Fn(&Value) -> Option<(Q, O)>,
    ) {
        for value in values {
            if let Some((quantity, ours)) = ours(&value) {
                self.row(quantity, value.words(), ours, value.source);
            }
        }
    }

    /// Returns whether a claim of the experiment is still to be judged.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.open.iter().any(|claim| claim.id == id)
    }

    /// Returns the open claims that can be judged in this mode.
    pub(crate) fn claims(&self) -> Vec<String> {
        let other = match self.mode {
            Mode::Sim => "live",
            Mode::Live => "sim",
        };
        let own = self.open.iter().filter(|claim| claim.modes != other);
        own.map(|claim| claim.id.clone()).collect()
    }

    /// Judges a claim; `None` leaves it undecided. `reason` is shown unless it passes.
    pub(crate) fn judge(
        &mut self,
        id: &str,
        holds: impl Into<Option<bool>>,
        observed: impl Display,
        reason: &str,
    ) {
        let claim = self.take(id);
        let status = match holds.into() {
            Some(true) => Status::Pass,
            Some(false) => Status::Fail,
            None => Status::Undecided,
        };
        let reason = if status == Status::Pass { "" } else { reason };
        let basis = match self.mode {
            Mode::Sim => fitted::basis(id),
            Mode::Live => Basis::Measured,
        };
        let judged = Judgement::new(claim, status, Some(basis), observed.to_string(), reason);
        self.found.claims.push(judged);
    }

    /// Judges a claim by its row in `claims.csv`: all values must be in the range given there.
    pub(crate) fn check<N: Number>(
        &mut self,
        id: &str,
        values: impl IntoIterator<Item = N>,
        observed: impl Display,
    ) {
        self.check_or(id, values, observed, "outside the range, or too few packets");
    }

    /// Judges as [`Self::check`] does; `reason` is shown unless the claim passes.
    pub(crate) fn check_or<N: Number>(
        &mut self,
        id: &str,
        values: impl IntoIterator<Item = N>,
        observed: impl Display,
        reason: &str,
    ) {
        let holds = self.accepts(id, values);
        self.judge(id, holds, observed, reason);
    }

    /// Returns whether all values are in the range of an open claim; `None` if one is unknown, or if
    /// there are none.
    pub(crate) fn accepts<N: Number>(
        &self,
        id: &str,
        values: impl IntoIterator<Item = N>,
    ) -> Option<bool> {
        let claim = self.open.iter().find(|claim| claim.id == id);
        let claim = claim.expect("a claim of this experiment, judged once");
        let values: Option<Vec<f64>> = values.into_iter().map(Number::number).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(values.into_iter().all(|value| claim.accepts(value)))
    }

    fn take(&mut self, id: &str) -> Claim {
        let position = self.open.iter().position(|claim| claim.id == id);
        self.open.remove(position.expect("a claim of this experiment, judged once"))
    }

    /// Judges all seeds together, and adds in how many single seeds each claim holds.
    pub(crate) fn judge_seeds<T>(
        &mut self,
        pooled: &[T],
        seeds: &[Vec<T>],
        judge: impl Fn(&mut Self, &[T]),
    ) {
        let alone = seeds.iter().map(|seed| {
            let mut page = Self::new(self.id(), self.mode);
            judge(&mut page, seed);
            page.found.claims
        });
        let alone: Vec<Judgement> = alone.flatten().collect();
        judge(self, pooled);
        for claim in &mut self.found.claims {
            let own = alone.iter().filter(|other| other.id == claim.id);
            let holds = own.filter(|other| other.status == Status::Pass).count();
            let words = format!("; holds in {holds} of {} seeds alone", seeds.len());
            claim.observed.push_str(&words);
        }
    }

    /// Adds a figure.
    pub(crate) fn draw(&mut self, caption: impl Into<String>, drawing: Markup) {
        self.found.figures.push(Figure { caption: caption.into(), drawing });
    }

    /// Adds a figure of curves.
    pub(crate) fn lines(
        &mut self,
        caption: impl Into<String>,
        [title, note]: [&str; 2],
        [x, y]: [Axis; 2],
        series: Vec<Series>,
    ) {
        let chart = LineChart {
            title: title.into(),
            note: note.into(),
            x,
            y,
            series,
            ..LineChart::default()
        };
        self.draw(caption, chart.render());
    }

    /// Adds a figure of columns: their names, and a named group of them for each subject.
    pub(crate) fn columns<S: Into<String>>(
        &mut self,
        caption: impl Into<String>,
        [title, note]: [&str; 2],
        y: Axis,
        series: impl IntoIterator<Item = S>,
        groups: Vec<(String, Vec<Option<Column>>)>,
    ) {
        let chart = ColumnChart {
            title: title.into(),
            note: note.into(),
            y,
            series: series.into_iter().map(Into::into).collect(),
            groups,
            reference_name: "paper".into(),
        };
        self.draw(caption, chart.render());
    }

    /// Returns the results with verdicts in the order of claims; claims without one are skipped.
    pub(crate) fn finish(mut self) -> Reproduction {
        for claim in std::mem::take(&mut self.open) {
            let reason = "not judged in this way";
            let skipped = Judgement::new(claim, Status::Skipped, None, String::new(), reason);
            self.found.claims.push(skipped);
        }
        self.found.claims.sort_by(|a, b| a.id.cmp(&b.id));
        if self.mode == Mode::Sim {
            self.found.notes.extend(fitted::notes(self.found.id));
        }
        self.found
    }
}

/// What can be judged and drawn: a plain number or a time in seconds, if known.
pub(crate) trait Number {
    fn number(self) -> Option<f64>;
}

impl Number for f64 {
    fn number(self) -> Option<f64> {
        self.is_finite().then_some(self)
    }
}

impl Number for u64 {
    fn number(self) -> Option<f64> {
        Some(count_f64(self))
    }
}

impl Number for Bytes {
    fn number(self) -> Option<f64> {
        Some(count_f64(self.get()))
    }
}

impl Number for Duration {
    fn number(self) -> Option<f64> {
        Some(self.as_secs_f64())
    }
}

impl<T: Number> Number for Option<T> {
    fn number(self) -> Option<f64> {
        self.and_then(T::number)
    }
}

/// Returns a curve through the known points.
pub(crate) fn curve<X: Number, Y: Number>(
    name: impl Into<String>,
    style: Style,
    points: impl IntoIterator<Item = (X, Y)>,
) -> Series {
    let points = points.into_iter();
    Series {
        name: name.into(),
        points: points.filter_map(|(x, y)| Some((x.number()?, y.number()?))).collect(),
        style,
    }
}

/// Returns a column with the paper's value, if there is one.
pub(crate) fn column(value: impl Number, paper: Option<Duration>) -> Option<Column> {
    Some(Column {
        value: value.number()?,
        reference: paper.map(Duration::as_secs_f64),
        accepted: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_can_come_out() {
        // Oracle: the calls below. C012 belongs to `skeie-flat`, as do nine more.
        let mut page = Page::new("skeie-flat", Mode::Sim);
        page.judge("C006", false, "b", "because");
        page.judge("C007", None, "c", "too few");
        // From 0.24 to 0.36 ms.
        let us = Duration::from_us;
        page.check("C005", [us(240), us(360)], "a");
        page.check("C010", [Some(us(20)), None], "one is unknown");
        page.check("C013", [us(900), us(1_000)], "not below 1 ms");
        let found = page.finish().claims;
        let get = |id: &str| found.iter().find(|claim| claim.id == id).expect("is there");
        let short = |id| (get(id).status, get(id).basis, get(id).reason.as_str());
        assert_eq!(short("C005"), (Status::Pass, Some(Basis::Predicted), ""));
        assert_eq!(short("C006").0, Status::Fail);
        assert_eq!(short("C006").2, "because");
        assert_eq!(short("C007").0, Status::Undecided);
        assert_eq!((short("C008").0, short("C008").1), (Status::Skipped, None));
        assert_eq!(short("C010").0, Status::Undecided);
        assert_eq!(short("C013").0, Status::Fail);
        assert_eq!(short("C012").0, Status::Skipped);
        assert_eq!(get("C012").basis, None);
    }
}
