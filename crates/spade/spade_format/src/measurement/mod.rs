//! Measurements of a cluster: points, each with its parameters and results [SPADE 3.2].
//!
//! ```text
//! Measurements
//!   format                     version of this schema
//!   points: Point
//!     parameters: Parameters   world, operation, access path, place, design: what was measured
//!     version: Version         of the program and of the method
//!     measured: Measured
//!       alone                  latency of one lane while all others are idle
//!       loaded                 throughput and latency while all lanes execute the operation
//!       service                service demands on each party: counts, bytes, times
//! ```
//! Parameters and version identify a point; `namdb spade measure` skips points that the file
//! already has. The file is [`Measurements`] as JSON, with points in the order of their parameters.
//!
//! The tuner forecasts throughput from the sum of [`Service`] over the operations of a transaction
//! and the capacity of the machines; the paper averages [`Loaded`] instead [SPADE 4.1].

mod measured;
mod parameters;
mod sound;
mod table;

pub use measured::{Alone, Demand, Loaded, Measured, Moved, Service, Spread, rounded};
pub(crate) use parameters::StorageName;
pub use parameters::{AccessPath, Operation, Parameters, Place, Versions, World, storage_name};

use serde::{Deserialize, Serialize};

/// Version of the schema. Raise it when a field changes its meaning or is removed; files of other
/// versions are refused.
pub const FORMAT: u32 = 1;

/// All points of one or more clusters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    format: u32,
    points: Vec<Point>,
}

/// One combination of parameters with its results.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    pub parameters: Parameters,
    /// Program and method that measured it.
    pub version: Version,
    pub measured: Measured,
}

/// Program and method by which a point was measured.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    pub program: String,
    /// Version of the method. Raise it when the same parameters mean a different measurement.
    pub method: u32,
    /// Duration of the measurement: `quick` or `full`.
    pub effort: Effort,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Duration of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// Few operations, as a test of the set-up.
    Quick,
    /// Enough for the tuner.
    Full,
}

/// Why a text is not a valid measurement file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasurementError {
    /// It is not JSON, or has other fields.
    #[error("these are not measurements: {0}")]
    Malformed(serde_json::Error),
    #[error(
        "the measurements have format {found}, this program reads {FORMAT}; measure again, into another file"
    )]
    Format { found: u64 },
    /// A point has figures that no measurement can produce.
    #[error("the point {point} has {what}; measure it again, or remove it from the file")]
    Damaged {
        /// Operation and hardware of the point.
        point: String,
        /// The invalid figure.
        what: &'static str,
    },
}

// The message contains the cause, so `source` returns `None`: a printer of all sources would print
// the cause twice.
impl From<serde_json::Error> for MeasurementError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error)
    }
}

impl Default for Measurements {
    fn default() -> Self {
        Self { format: FORMAT, points: Vec::new() }
    }
}

impl Measurements {
    /// Parses a file's text: points line by line, or as a table.
    ///
    /// # Errors
    /// The text has another format, or is not a measurement file.
    pub fn parse(text: &str) -> Result<Self, MeasurementError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        let found = value.get("format").and_then(serde_json::Value::as_u64);
        match found {
            Some(found) if found != u64::from(FORMAT) => Err(MeasurementError::Format { found }),
            _ if value.get("columns").is_some() => table::read(value),
            _ => {
                // A file that was merged by hand may have its points in any order; `point` relies
                // on the order.
                let read: Self = serde_json::from_value(value)?;
                let mut all = Self::default();
                read.points.into_iter().for_each(|point| all.put(point));
                Ok(all)
            }
        }
    }

    /// The text of a file: JSON with one line for each point. Equal measurements give equal bytes.
    pub fn json(&self) -> String {
        let line = |point| serde_json::to_string(point).expect("numbers and names can be written");
        let lines: Vec<String> = self.points.iter().map(line).collect();
        format!("{{\"format\":{},\"points\":[\n{}\n]}}\n", self.format, lines.join(",\n"))
    }

    /// All points in the order of their parameters.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The point with these parameters, of any version.
    pub fn point(&self, parameters: &Parameters) -> Option<&Point> {
        self.position(parameters).ok().map(|place| &self.points[place])
    }

    /// Whether this version has measured the point with these parameters.
    pub fn has(&self, parameters: &Parameters, version: &Version) -> bool {
        self.point(parameters).is_some_and(|point| point.version == *version)
    }

    /// Adds a point; replaces one with the same parameters.
    pub fn put(&mut self, point: Point) {
        match self.position(&point.parameters) {
            Ok(place) => self.points[place] = point,
            Err(place) => self.points.insert(place, point),
        }
    }

    fn position(&self, parameters: &Parameters) -> Result<usize, usize> {
        self.points.binary_search_by(|point| point.parameters.cmp(parameters))
    }
}

#[cfg(test)]
mod tests;
