//! The record of a run: its whole outcome and its parameters. Texts, figures and the report are
//! made from it, equally from a run that has just ended and from one that was read from its file.

use crate::experiment::Experiment;
use crate::outcome::{self, Compared, Outcome, Role, Series, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run of an experiment, with all its results.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Name of the experiment.
    pub experiment: String,
    /// The figure or section of the original.
    pub figure: String,
    /// A sentence that describes it.
    pub shows: String,
    /// The parameters of the run.
    #[serde(flatten)]
    pub made_of: MadeOf,
    /// The hardware profile.
    pub profile: String,
    /// The parameters of the experiment, by name.
    pub parameters: BTreeMap<String, String>,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the paper.
    pub series: Vec<Series>,
    /// Published numbers beside ours.
    pub compared: Vec<Comparison>,
    /// Results that are not curves.
    pub tables: Vec<Table>,
    /// Remarks that a reader needs, in sentences.
    pub notes: Vec<String>,
}

/// The parameters of a run, beside its experiment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MadeOf {
    /// The commit of the program.
    pub commit: String,
    /// Of all randomness.
    pub seed: u64,
    /// Whether it has fewer points and shorter windows.
    pub is_quick: bool,
    /// Seconds on the host's clock; for a resumed run, since the resumption.
    pub wall_time_s: f64,
}

/// An axis of the figure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Axis {
    /// The measured quantity, with its unit.
    pub title: String,
    /// Whether it is logarithmic.
    pub is_logarithmic: bool,
}

/// A published number compared with ours.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The compared quantity.
    pub what: String,
    pub unit: String,
    /// The number in the paper's text.
    pub published: f64,
    pub ours: f64,
    /// The role of the number for the model.
    pub role: Role,
    /// The reason for an error beyond the bound, if there is one.
    pub why: Option<String>,
}

impl Comparison {
    /// The largest error that needs no explanation, in percent.
    pub const ERROR_PERCENT: f64 = 15.0;

    /// The deviation of ours from the published number, in percent.
    pub fn error_percent(&self) -> f64 {
        100.0 * (self.ours / self.published - 1.0)
    }

    /// Whether ours is within the bound.
    pub fn is_near(&self) -> bool {
        self.error_percent().abs() <= Self::ERROR_PERCENT
    }
}

impl Record {
    /// The record of a run that has ended.
    pub fn new(experiment: &Experiment, made_of: MadeOf, outcome: Outcome) -> Self {
        let Outcome { parameters, x, y, series, compared, tables, notes } = outcome;
        Self {
            experiment: experiment.name.to_owned(),
            figure: experiment.figure.to_owned(),
            shows: experiment.shows.to_owned(),
            made_of,
            profile: experiment.profile.to_owned(),
            parameters: parameters
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            x: x.into(),
            y: y.into(),
            series: series.into_iter().map(rounded).collect(),
            compared: compared.into_iter().map(Comparison::from).collect(),
            tables,
            notes,
        }
    }

    /// Parses the output of [`Self::json`].
    ///
    /// # Errors
    /// If the text is not JSON, or not a record; the message says where.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("names of parameters are strings, and nothing else can fail") + "\n"
    }
}

impl From<outcome::Axis> for Axis {
    fn from(axis: outcome::Axis) -> Self {
        Self { title: axis.title.to_owned(), is_logarithmic: axis.is_logarithmic }
    }
}

impl From<Compared> for Comparison {
    fn from(compared: Compared) -> Self {
        let Compared { what, unit, published, ours, role, why } = compared;
        let (unit, why) = (unit.to_owned(), why.map(str::to_owned));
        Self { what, unit, published, ours: six_digits(ours), role, why }
    }
}

/// Omits points that are not numbers, for example without any counted transaction.
fn rounded(series: Series) -> Series {
    let numbers = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    Series { points: numbers.map(|(x, y)| (six_digits(*x), six_digits(*y))).collect(), ..series }
}

/// Digits beyond the sixth are noise.
fn six_digits(value: f64) -> f64 {
    digits(value).parse().unwrap_or(value)
}

/// Formats a number with at most six digits.
pub(crate) fn digits(value: f64) -> String {
    let whole = libm::log10(value.abs().max(1e-9)).floor() as i32 + 1;
    let decimals = (6 - whole).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A small record for tests.
    pub(crate) fn small() -> Record {
        let axis = |title| outcome::Axis { title, is_logarithmic: false };
        let compared = Compared {
            what: "drop".to_owned(),
            unit: "M/s",
            published: 2.0,
            ours: 2.5,
            role: Role::Prediction,
            why: Some("because"),
        };
        let series = |name: &str, points, is_published| Series {
            name: name.to_owned(),
            points,
            is_published,
        };
        let outcome = Outcome {
            parameters: vec![("machines", "8".to_owned())],
            x: axis("queue pairs"),
            y: axis("reads"),
            series: vec![
                series("8 bytes, one", vec![(140.0, 112.359_550_5), (0.08, 1_234_567.8)], false),
                series("as printed", vec![(140.0, 120.0)], true),
            ],
            compared: vec![compared],
            tables: vec![Table {
                shows: "verbs of each type".to_owned(),
                columns: vec!["type".to_owned(), "verbs".to_owned()],
                rows: vec![vec!["payment".to_owned(), "12.5".to_owned()]],
            }],
            notes: vec!["A note.".to_owned()],
        };
        let commit = "0123abc".to_owned();
        let made_of = MadeOf { commit, seed: 1, is_quick: false, wall_time_s: 0.5 };
        Record::new(crate::find("queue-pairs").expect("it is one of them"), made_of, outcome)
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = small();
        assert_eq!(Record::parse(&record.json()), Ok(record.clone()));
        let broken = Record::parse(&record.json().replace("\"notes\": ", "\"colour\": "));
        assert!(broken.is_err_and(|sentence| sentence.contains("missing field `notes`")));
    }

    #[test]
    fn points_have_six_digits_and_those_without_a_number_are_left_out() {
        let points = vec![(1.0, 112.359_550_5), (2.0, f64::NAN), (3.0, 1_234_567.8)];
        let series = Series { name: String::new(), points, is_published: false };
        assert_eq!(rounded(series).points, [(1.0, 112.36), (3.0, 1_234_568.0)]);
    }

    #[test]
    fn a_number_within_the_bound_needs_no_reason() {
        let mut comparison = small().compared.remove(0);
        assert!(!comparison.is_near());
        comparison.ours = 1.8;
        assert!(comparison.is_near() && (comparison.error_percent() + 10.0).abs() < 1e-9);
    }
}
