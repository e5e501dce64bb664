//! What was measured of a cluster: points, each with its parameters and what came out [SPADE 3.2].
//!
//! ```text
//! Measurements
//!   format                     version of this schema
//!   points: Point
//!     parameters: Parameters   world, operation, access path, place, design, machines: what the point is about
//!     version: Version         of the program and of the method
//!     measured: Measured
//!       alone                  latency of one lane while nobody else does anything
//!       loaded                 throughput and latency while all lanes do the same
//!       service                what one operation takes of each party: counts, bytes, times
//! ```
//! A point's identity is its parameters and its version: who finds one need not measure it again. The file that
//! `namdb spade measure` writes is [`Measurements`] as JSON, points in the order of their parameters.
//!
//! Sums of [`Service`] over the operations of a transaction, set against what machines have, forecast its throughput;
//! averages of [`Loaded`] are what the paper forecasts by [SPADE 4.1].

mod measured;
mod parameters;
mod sound;
mod table;

pub use measured::{Alone, Demand, Loaded, Measured, Moved, Service, Spread, rounded};
pub(crate) use parameters::StorageName;
pub use parameters::{AccessPath, Operation, Parameters, Place, Versions, World, storage_name};

use serde::{Deserialize, Serialize};

/// Version of the schema. Raised when a field changes its meaning or goes; files of other versions are refused.
pub const FORMAT: u32 = 1;

/// All that was measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    format: u32,
    points: Vec<Point>,
}

/// One combination of parameters, and what came out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// What was measured.
    pub parameters: Parameters,
    /// By what.
    pub version: Version,
    /// What came out.
    pub measured: Measured,
}

/// What a point was measured by.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// Version of the program.
    pub program: String,
    /// Version of the method: raised when the same parameters mean another measurement.
    pub method: u32,
    /// How long it was measured for: `quick`, or `full`.
    pub effort: Effort,
    /// Seed of all randomness.
    pub seed: u64,
}

/// How long a point is measured for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// To see whether it works: few operations.
    Quick,
    /// To tune by.
    Full,
}

/// Why a text is no measurements.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasurementError {
    /// It is no JSON, or has other fields.
    #[error("these are no measurements: {0}")]
    Malformed(serde_json::Error),
    /// It is of another version of the schema.
    #[error(
        "the measurements have format {found}, this program reads {FORMAT}; measure again, into another file"
    )]
    Format {
        /// The version it has.
        found: u64,
    },
    /// A point has figures that cannot have been measured.
    #[error("the point {point} has {what}; measure it again, or take it out of the file")]
    Damaged {
        /// The point in a few words.
        point: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

// The cause is in the sentence, so that it is no source as well: who tells all sources would tell it twice.
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
    /// Reads a file's text: points line by line, or as a table.
    ///
    /// # Errors
    /// The text is of another format, or no measurements at all.
    pub fn parse(text: &str) -> Result<Self, MeasurementError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        let found = value.get("format").and_then(serde_json::Value::as_u64);
        match found {
            Some(found) if found != u64::from(FORMAT) => Err(MeasurementError::Format { found }),
            _ if value.get("columns").is_some() => table::read(value),
            _ => {
                // Whoever puts files together by hand need not keep the order of points, by which they are found.
                let read: Self = serde_json::from_value(value)?;
                let mut all = Self::default();
                read.points.into_iter().for_each(|point| all.put(point));
                Ok(all)
            }
        }
    }

    /// The text of a file: JSON with a line for each point. Equal measurements give equal bytes.
    pub fn json(&self) -> String {
        let line = |point| serde_json::to_string(point).expect("numbers and names can be written");
        let lines: Vec<String> = self.points.iter().map(line).collect();
        format!("{{\"format\":{},\"points\":[\n{}\n]}}\n", self.format, lines.join(",\n"))
    }

    /// All points, in the order of their parameters.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The point of these parameters, by whatever version.
    pub fn point(&self, parameters: &Parameters) -> Option<&Point> {
        self.position(parameters).ok().map(|place| &self.points[place])
    }

    /// Whether the point of these parameters was measured by this version.
    pub fn has(&self, parameters: &Parameters, version: &Version) -> bool {
        self.point(parameters).is_some_and(|point| point.version == *version)
    }

    /// Adds a point, in place of one of the same parameters.
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
