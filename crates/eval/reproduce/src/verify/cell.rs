//! A workload on a cluster, with all compared designs: the tuner's, and those of
//! [`spade::tune::sweep`].

use super::names::name_of;
use super::{Cluster, VerifyError, small};
use folder_benchmark::{FolderError, Stored};
use procedure::node::Workload;
use spade::design::Design;
use spade::measurement::Measurements;
use spade::tune::{Forecaster, Input, Options, REMOTE_CALLS, TuneError, sweep, tune};
use std::path::PathBuf;

/// A cluster with its measurements.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The profile of its hardware.
    pub profile: &'static str,
    pub machines: u16,
    /// The file of its measurements, among those in the repository.
    pub measurements: &'static str,
}

/// A workload on a cluster.
pub(crate) struct Cell {
    pub workload: &'static str,
    pub setting: &'static Setting,
    /// Concurrent calls on each machine.
    lanes: u32,
    /// The tuner's design, followed by those of the sweep in their order, without repetitions.
    pub candidates: Vec<Candidate>,
}

/// A design with its forecast.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Its differences from the tuner's, and its position.
    pub name: String,
    pub design: Design,
    /// The forecast number of calls per second.
    pub forecast_per_s: f64,
    /// The busiest stage by the forecast.
    pub bottleneck: &'static str,
}

/// The reason why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StudyError {
    #[error("{0} cannot be read: {1}")]
    File(PathBuf, std::io::Error),
    #[error("what was measured cannot be kept: {0}")]
    Kept(std::io::Error),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Plans(#[from] procedure::ReadError),
    #[error(transparent)]
    Measurements(#[from] spade::measurement::MeasurementError),
    #[error(transparent)]
    Tune(#[from] TuneError),
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

impl Cell {
    /// Tunes a workload, and forecasts the designs of its sweep; if there are more than `most`, an
    /// even selection of them.
    ///
    /// # Errors
    /// If files are missing or invalid, or if the workload cannot be tuned with these measurements.
    pub fn new(
        workload: &'static str,
        setting: &'static Setting,
        seed: u64,
        most: usize,
    ) -> Result<Self, StudyError> {
        let (folder, stored) = small::read(workload, setting.machines, seed)?;
        let plans = Workload::read(&small::folder(workload))?;
        let path = small::measurements(setting.measurements);
        let text = std::fs::read_to_string(&path).map_err(|error| StudyError::File(path, error))?;
        let measurements = Measurements::parse(&text)?;
        let input = Input { folder: &folder, workload: &plans, measurements: &measurements };
        let options = Options {
            hardware: Some(setting.profile.to_owned()),
            machines: Some(setting.machines.into()),
            units: Some(folder.load.units),
            ..Options::default()
        };
        let tuned = tune(input, &options)?.design;
        let swept = sweep(input, &options)?.collect();
        let designs = different(tuned, swept, &stored, most);
        let forecaster = Forecaster::new(input, &options)?;
        let candidate = |(number, design): (usize, &Design)| {
            let (forecast_per_s, bottleneck) = forecaster.throughput(design)?;
            let name = name_of(design, &designs[0]);
            Ok(Candidate {
                name: if number == 0 { name } else { format!("{number}: {name}") },
                design: design.clone(),
                forecast_per_s,
                bottleneck,
            })
        };
        let candidates = designs.iter().enumerate().map(candidate);
        Ok(Self {
            workload,
            setting,
            lanes: measurements.points().first().map_or(1, |point| point.parameters.world.lanes),
            candidates: candidates.collect::<Result<_, StudyError>>()?,
        })
    }

    /// Workload and hardware.
    pub fn name(&self) -> String {
        format!("{} on {}", self.workload, self.setting.profile)
    }

    /// The cluster with this seed.
    pub fn cluster(&self, seed: u64) -> Cluster {
        Cluster {
            profile: self.setting.profile.to_owned(),
            machines: self.setting.machines,
            lanes: self.lanes,
            replicas: 1,
            remote_calls: REMOTE_CALLS,
            seed,
        }
    }

    /// The tuner's design, and an even selection of `most` others.
    pub fn spread(&self, most: usize) -> Vec<usize> {
        let others = self.candidates.len() - 1;
        std::iter::once(0).chain(evenly(others, most).map(|at| at + 1)).collect()
    }
}

/// An even selection of `most` positions.
fn evenly(all: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = all.min(most);
    (0..count).map(move |at| at * all / count)
}

/// The tuner's design, and an even selection of the others that can be built.
fn different(tuned: Design, all: Vec<Design>, stored: &Stored, most: usize) -> Vec<Design> {
    let mut fitting: Vec<Design> = Vec::new();
    for design in all {
        let is_new = design != tuned && !fitting.contains(&design);
        if is_new && stored.with_design(design.clone()).is_ok() {
            fitting.push(design);
        }
    }
    let others = evenly(fitting.len(), most).map(|at| fitting[at].clone());
    std::iter::once(tuned).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::Storage;

    #[test]
    fn designs_differ_and_are_picked_evenly() {
        let (_, stored) = small::read("tatp", 4, 1).expect("it is in order");
        let tuned = stored.default_design();
        let mut outside = tuned.clone();
        outside.tables[1].storage = Storage::HashOutside;
        let all = vec![outside.clone(), tuned.clone(), outside.clone()];
        assert_eq!(different(tuned.clone(), all, &stored, 9), [tuned, outside]);
        assert_eq!(evenly(10, 4).collect::<Vec<_>>(), [0, 2, 5, 7]);
        assert_eq!(evenly(3, 4).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(evenly(0, 4).count(), 0);
    }
}
