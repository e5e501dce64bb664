//! The input of tuning and forecasting: a workload, measurements, and settings that override
//! theirs.

use crate::commands::parse_units;
use crate::commands::remote_calls::parse_percent;
use anyhow::{Context, Result, bail};
use clap::Args;
use procedure::node::Workload;
use spade::measurement::Measurements;
use spade::tune::{Input, Options, REMOTE_CALLS};
use sql::WorkloadFolder;
use sql::file::read_text;
use std::path::{Path, PathBuf};

/// Maximal size of a measurements file: a thousand times that of a cluster of one size.
const MEASUREMENTS_BYTES_MAX: u64 = 512 << 20;

/// Arguments of commands that forecast.
#[derive(Args)]
pub struct Question {
    /// The workload's folder
    pub folder: PathBuf,
    /// Measurements of the cluster
    #[arg(long, value_name = "FILE", default_value = "measurements.json")]
    measurements: PathBuf,
    /// Memory budget of tables and indexes per machine: bytes, or with KiB, MiB, GiB or TiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory_budget: Option<u64>,
    /// Hardware profile, by its name in the measurements
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Number of machines; the nearest measured cluster size is used
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    machines: Option<u32>,
    /// Units of scale
    #[arg(long, value_name = "N", value_parser = parse_units, allow_negative_numbers = true)]
    units: Option<u64>,
    /// Percentage of calls that come to a machine that does not own their rows
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * REMOTE_CALLS, value_parser = parse_percent, allow_negative_numbers = true)]
    remote_calls: f64,
    /// Copies of each row
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8), allow_negative_numbers = true)]
    replicas: u32,
    /// Threads per machine [default: as measured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), allow_negative_numbers = true)]
    threads: Option<u32>,
    /// Concurrent calls per machine when all lanes are busy [default: as measured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536), allow_negative_numbers = true)]
    lanes: Option<u32>,
}

/// The contents of the files.
pub struct Read {
    folder: WorkloadFolder,
    workload: Workload,
    measurements: Measurements,
}

impl Question {
    /// Reads the folder and the measurements.
    pub fn read(&self) -> Result<Read> {
        let measurements = read_measurements(&self.measurements)?;
        if let Some(name) = &self.profile {
            let mut points = measurements.points().iter();
            let is_measured = points.any(|point| point.parameters.world.hardware == *name);
            // The hardware has no profile and is not this host's, so it cannot be measured.
            if !is_measured {
                hardware::profile(name)?;
            }
        }
        let folder = WorkloadFolder::read(&self.folder)?;
        Ok(Read { folder, workload: Workload::read(&self.folder)?, measurements })
    }

    /// The paths that are read: the folder and the measurements.
    pub fn inputs(&self) -> [&Path; 2] {
        [&self.folder, &self.measurements]
    }

    /// The given options, with defaults for all others.
    pub fn options(&self) -> Options {
        Options {
            memory_budget: self.memory_budget,
            hardware: self.profile.clone(),
            machines: self.machines,
            units: self.units,
            remote_calls: self.remote_calls / 100.0,
            replicas: self.replicas,
            threads: self.threads,
            lanes: self.lanes,
            ..Options::default()
        }
    }
}

impl Read {
    /// The input of the tuner.
    pub fn input(&self) -> Input<'_> {
        Input { folder: &self.folder, workload: &self.workload, measurements: &self.measurements }
    }
}

/// Reads a file of measurements.
fn read_measurements(path: &Path) -> Result<Measurements> {
    let name = path.display();
    let text = match read_text(path, MEASUREMENTS_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "the file {name} does not exist; measure the cluster with `namdb spade measure --file {name}`, or give another file with \
             --measurements"
        ),
        Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
    };
    let measured = Measurements::parse(&text).and_then(Measurements::sound);
    measured.with_context(|| format!("cannot use the measurements {name}"))
}

/// Parses a number of bytes, with or without a unit.
fn parse_size(text: &str) -> Result<u64, String> {
    let units =
        [("TiB", 1_u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)];
    let text = text.trim();
    let found = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let (number, size) = found.unwrap_or((text, 1));
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok((number * size as f64) as u64),
        _ => Err(format!("{text:?} is not a size; examples: 64GiB, 512MiB, 1000000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory_have_units() {
        assert_eq!(parse_size("64GiB"), Ok(64 << 30));
        assert_eq!(parse_size("1.5 KiB"), Ok(1536));
        assert_eq!(parse_size("1000"), Ok(1000));
        for wrong in ["", "GiB", "-1GiB", "8GB", "nan", "inf"] {
            let said = parse_size(wrong).expect_err(wrong);
            assert!(said.contains("is not a size"), "{said}");
        }
    }
}
