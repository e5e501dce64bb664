//! The result of an experiment: points, and published numbers compared with ours.

use serde::{Deserialize, Serialize};

/// An axis of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The measured quantity, with its unit.
    pub title: &'static str,
    /// Whether it is logarithmic.
    pub is_logarithmic: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Its name in the figure and in the CSV.
    pub name: String,
    /// Its points, in order.
    pub points: Vec<(f64, f64)>,
    /// Whether the points are derived from a paper's text; they are drawn without a line.
    pub is_published: bool,
}

/// Numbers that a curve does not show well.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Table {
    /// A sentence that describes it.
    pub shows: String,
    /// The headers of its columns, with units.
    pub columns: Vec<String>,
    /// Its cells, row by row; each row has a cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// The role of a published number for the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// No number of the profile was chosen by it.
    Prediction,
    /// A number of the profile, or of the experiment, was chosen so that it results.
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

/// A published number compared with ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The compared quantity.
    pub what: String,
    pub unit: &'static str,
    /// The number in the paper's text.
    pub published: f64,
    pub ours: f64,
    /// The role of the number for the model.
    pub role: Role,
    /// The reason for an error beyond the bound, if there is one.
    pub why: Option<&'static str>,
}

/// The result of an experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The parameters of the experiment, by name.
    pub parameters: Vec<(&'static str, String)>,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the paper.
    pub series: Vec<Series>,
    /// Published numbers beside ours.
    pub compared: Vec<Compared>,
    /// Results that are not curves.
    pub tables: Vec<Table>,
    /// Remarks that a reader needs, in sentences.
    pub notes: Vec<String>,
}
