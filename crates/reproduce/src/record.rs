//! What is kept of a run: all of its outcome, and what the run was made of. Texts, pictures and the report are made
//! from it, of a run that has just ended and of one that was read from its file alike.

use crate::experiment::Experiment;
use crate::outcome::{self, Compared, Outcome, Role, Series, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run of an experiment, with all that came out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Name of the experiment.
    pub experiment: String,
    /// Where the original stands.
    pub figure: String,
    /// What it shows, in a sentence.
    pub shows: String,
    /// What the run was made of.
    #[serde(flatten)]
    pub made_of: MadeOf,
    /// The hardware that it ran on.
    pub profile: String,
    /// What was chosen for it, by name.
    pub parameters: BTreeMap<String, String>,
    /// What the points are over.
    pub x: Axis,
    /// What they show.
    pub y: Axis,
    /// The curves, in the order of the paper.
    pub series: Vec<Series>,
    /// Published numbers beside ours.
    pub compared: Vec<Comparison>,
    /// What is no curve.
    pub tables: Vec<Table>,
    /// What a reader has to know about it, in sentences.
    pub notes: Vec<String>,
}

/// What a run was made of, beside its experiment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MadeOf {
    /// Of the program.
    pub commit: String,
    /// Of all randomness.
    pub seed: u64,
    /// Whether it has fewer points and shorter windows.
    pub is_quick: bool,
    /// Seconds on the clock of the host, from beginning to end; of a run that was gone on with, since then.
    pub wall_time_s: f64,
}

/// An axis of the picture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Axis {
    /// What it measures, with its unit.
    pub title: String,
    /// Whether it has powers of ten.
    pub is_logarithmic: bool,
}

/// A published number beside ours.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// What it is.
    pub what: String,
    /// Its unit.
    pub unit: String,
    /// As the paper's text prints it.
    pub published: f64,
    /// As it came out.
    pub ours: f64,
    /// What it is to the model.
    pub role: Role,
    /// Why it misses by more than the bound, if it does.
    pub why: Option<String>,
}

impl Comparison {
    /// Largest error of a point that needs no explanation, in percent.
    pub const ERROR_PERCENT: f64 = 15.0;

    /// By how many percent ours is above the published number.
    pub fn error_percent(&self) -> f64 {
        100.0 * (self.ours / self.published - 1.0)
    }

    /// Whether ours is within the bound.
    pub fn is_near(&self) -> bool {
        self.error_percent().abs() <= Self::ERROR_PERCENT
    }
}

impl Record {
    /// A run that has ended.
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

    /// Reads what [`Self::json`] has written.
    ///
    /// # Errors
    /// The text is no JSON, or not of a record: a sentence says where.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// All of it as JSON.
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

/// A point without a number, as where nothing was counted, is left out: no curve goes there.
fn rounded(series: Series) -> Series {
    let numbers = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    Series { points: numbers.map(|(x, y)| (six_digits(*x), six_digits(*y))).collect(), ..series }
}

/// What is beyond six digits is noise.
fn six_digits(value: f64) -> f64 {
    digits(value).parse().unwrap_or(value)
}

/// Six digits and no more.
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

    /// A small record for whoever shows one.
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
    fn what_is_near_needs_no_reason() {
        let mut comparison = small().compared.remove(0);
        assert!(!comparison.is_near());
        comparison.ours = 1.8;
        assert!(comparison.is_near() && (comparison.error_percent() + 10.0).abs() < 1e-9);
    }
}
