//! What an experiment gives: points, and published numbers beside ours.

use serde::{Deserialize, Serialize};

/// An axis of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// What it measures, with its unit.
    pub title: &'static str,
    /// Whether it has powers of ten.
    pub is_logarithmic: bool,
}

/// A curve.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// What it is called beside the picture and in the CSV.
    pub name: String,
    /// Its points, in order.
    pub points: Vec<(f64, f64)>,
    /// Whether the points are worked out from what a paper's text prints; they are drawn apart from a line.
    pub is_published: bool,
}

/// Numbers that no curve shows well.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Table {
    /// What it shows, in a sentence.
    pub shows: String,
    /// The heads of its columns, with units.
    pub columns: Vec<String>,
    /// Its cells, a row after the other; each row has a cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// What a published number is to the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// No number of the profile was chosen by it.
    Prediction,
    /// A number of the profile, or of the experiment, was chosen such that it comes out.
    Calibration,
    /// It follows from numbers that the profile took from the same source.
    Input,
}

impl Role {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prediction => "prediction",
            Self::Calibration => "calibration",
            Self::Input => "input",
        }
    }
}

/// A published number beside ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// What it is.
    pub what: String,
    /// Its unit.
    pub unit: &'static str,
    /// As the paper's text prints it.
    pub published: f64,
    /// As it came out.
    pub ours: f64,
    /// What it is to the model.
    pub role: Role,
    /// Why it misses by more than the bound, if it does.
    pub why: Option<&'static str>,
}

/// What an experiment gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// What was chosen for it, by name.
    pub parameters: Vec<(&'static str, String)>,
    /// What the points are over.
    pub x: Axis,
    /// What they show.
    pub y: Axis,
    /// The curves, in the order of the paper.
    pub series: Vec<Series>,
    /// Published numbers beside ours.
    pub compared: Vec<Compared>,
    /// What is no curve.
    pub tables: Vec<Table>,
    /// What a reader has to know about it, in sentences.
    pub notes: Vec<String>,
}
