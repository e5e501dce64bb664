//! Compares the tuner's designs of workloads with all designs of their sweeps, by successive
//! halving: all are measured briefly, candidates for the best at length, and the best of these once
//! more.
//!
//! ```text
//! screened   every design, by one seed and few calls
//! in full    the tuner's and an even selection, which test the forecasts and calibrate screening;
//!            then those that screening has so near the best of these that they may be better
//! at last    the best of them, by further seeds, because one may be on top by chance
//! ```
//! Forecasts select no design.
//!
//! Decision: docs/decisions/0265-regret-is-found-by-successive-halving-on-fresh-tables.md

use super::Counted;
use super::cell::{Cell, StudyError};
use super::jobs::{Bench, Job};
use super::kept::Rate;
use super::swept::Swept;
use std::collections::BTreeMap;

/// The extent of the measurements of each cell.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// The first seed: of data, calls and the simulation. Each round has seeds of its own.
    pub seed: u64,
    /// Calls of each design in screening.
    pub screening: Counted,
    /// Calls of each design that is measured in full.
    pub full: Counted,
    /// Number of seeds of each design that is measured in full.
    pub seeds: u64,
    /// Number of designs, beside the tuner's, that are measured in full independently of screening.
    pub spread: usize,
    /// The largest number of further designs that are measured in full as candidates for the best.
    pub near: usize,
    /// Number of the best designs, which are measured in the last round together with the tuner's.
    pub finalists: usize,
    /// Number of further seeds in the last round.
    pub seeds_last: u64,
}

impl Extent {
    /// Steps of a full measurement, if one of screening is a step: it takes about this many times
    /// as long.
    const FULL_STEPS: u64 = 2;

    /// The largest number of steps of each round of a cell.
    fn steps(&self, cell: &Cell) -> [u64; 4] {
        let full = |designs: usize, seeds: u64| Self::FULL_STEPS * designs as u64 * seeds;
        let spread = full(self.spread + 1, self.seeds);
        let last = full(self.finalists + 1, self.seeds_last);
        [cell.candidates.len() as u64, spread, full(self.near, self.seeds), last]
    }

    /// The largest number of steps of all cells.
    pub fn steps_of(&self, cells: &[Cell]) -> u64 {
        cells.iter().flat_map(|cell| self.steps(cell)).sum()
    }
}

/// Measures all designs of a cell, and the candidates for the best at length.
///
/// # Errors
/// See [`StudyError`].
pub(crate) fn study(
    cell: &Cell,
    extent: &Extent,
    bench: &mut Bench<'_>,
) -> Result<Swept, StudyError> {
    let (steps, before) = (extent.steps(cell), bench.done);
    let until = |round: usize| before + steps[..=round].iter().sum::<u64>();
    let seeds: Vec<u64> = (extent.seed..extent.seed + extent.seeds).collect();
    let apart = extent.seed + extent.seeds;
    let last: Vec<u64> = (apart + 1..=apart + extent.seeds_last).collect();

    let every: Vec<usize> = (0..cell.candidates.len()).collect();
    let screening = Round { seeds: &[apart], counted: extent.screening, steps: 1 };
    let screened = screening.measure(cell, &every, bench)?;
    bench.skip_to(until(0));

    let at_length = Round { seeds: &seeds, counted: extent.full, steps: Extent::FULL_STEPS };
    let spread = cell.spread(extent.spread);
    let full = at_length.measure(cell, &spread, bench)?;
    let mut swept = Swept::new(cell, spread, screened, full);
    bench.skip_to(until(1));

    let near = swept.near(extent.near);
    swept.full.extend(at_length.measure(cell, &near, bench)?);
    bench.skip_to(until(2));

    let further = Round { seeds: &last, ..at_length };
    swept.last = further.measure(cell, &swept.top(extent.finalists), bench)?;
    bench.skip_to(until(3));
    Ok(swept)
}

/// The common data of all measurements of a round.
#[derive(Clone, Copy)]
struct Round<'a> {
    seeds: &'a [u64],
    counted: Counted,
    /// The steps of each measurement.
    steps: u64,
}

impl Round<'_> {
    /// Measures designs of a cell with all seeds.
    fn measure(
        &self,
        cell: &Cell,
        designs: &[usize],
        bench: &mut Bench<'_>,
    ) -> Result<BTreeMap<usize, Vec<Rate>>, StudyError> {
        let counted = self.counted;
        let job = |&design: &usize| {
            self.seeds.iter().map(move |seed| Job { cell, design, seed: *seed, counted })
        };
        let jobs: Vec<Job<'_>> = designs.iter().flat_map(job).collect();
        let rates = bench.measure(&jobs, self.steps)?;
        let each = rates.chunks(self.seeds.len().max(1)).map(<[Rate]>::to_vec);
        Ok(designs.iter().copied().zip(each).collect())
    }
}
