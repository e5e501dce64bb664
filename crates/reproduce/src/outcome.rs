//! What an experiment gives: points, and published numbers beside ours.

use serde::Serialize;

/// An axis of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// What it measures, with its unit.
    pub title: &'static str,
    /// Whether it has powers of ten.
    pub is_logarithmic: bool,
}

/// Where a picture has room for the names of its series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Corner {
    /// At the top, on the left.
    UpperLeft,
    /// At the top, on the right.
    UpperRight,
    /// At the bottom, on the right.
    LowerRight,
}

/// A curve.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// What it is called beside the picture and in the CSV.
    pub name: String,
    /// Its points, in order.
    pub points: Vec<(f64, f64)>,
    /// Whether the points are worked out from what a paper's text prints; they are drawn apart from a line.
    pub is_published: bool,
}

/// What a published number is to the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
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
#[derive(Clone, PartialEq, Debug, Serialize)]
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

impl Compared {
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

/// What an experiment gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// What was chosen for it, by name.
    pub parameters: Vec<(&'static str, String)>,
    /// What the points are over.
    pub x: Axis,
    /// What they show.
    pub y: Axis,
    /// Where their names stand.
    pub legend: Corner,
    /// The curves, in the order of the paper.
    pub series: Vec<Series>,
    /// Published numbers beside ours.
    pub compared: Vec<Compared>,
    /// What a reader has to know about it, in sentences.
    pub notes: Vec<String>,
}
