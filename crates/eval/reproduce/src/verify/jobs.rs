//! Measurements that several threads make concurrently and report one after the other.

use super::cell::{Cell, StudyError};
use super::kept::{MeasurementCache, Rate};
use super::{Counted, measure_counted, small};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// A measurement of a design.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub cell: &'a Cell,
    /// The position of the design in its cell.
    pub design: usize,
    /// The seed of data, calls and the simulation.
    pub seed: u64,
    /// The approximate number of counted calls.
    pub counted: Counted,
}

/// Runs measurements.
pub(crate) struct Bench<'a> {
    /// Number of threads. The results do not depend on it: each simulated world has one thread.
    pub threads: usize,
    /// Earlier measurements.
    pub kept: MeasurementCache,
    /// Called with the number of steps that are done, of how many, and the last one.
    pub progress: &'a mut dyn FnMut(u64, u64, &str),
    /// The number of steps that are done, and the largest number of all.
    pub done: u64,
    pub total: u64,
}

impl Job<'_> {
    /// The description of the measurement, in a line.
    fn name(&self) -> String {
        let Self { cell, design, seed, counted } = self;
        let Counted { calls, alone } = counted;
        let design = cell.candidates[*design].design.checksum();
        format!("{}, design {design}, seed {seed}, {alone} and {calls} calls", cell.name())
    }

    /// Measures on tables of its own, because earlier runs change account balances and the number
    /// of orders.
    fn measure(&self) -> Result<Rate, StudyError> {
        let Self { cell, design, seed, counted } = *self;
        let (_, stored) = small::read(cell.workload, cell.setting.machines, seed)?;
        let stored = stored.with_design(cell.candidates[design].design.clone())?;
        let measured = measure_counted(&stored, &cell.cluster(seed), counted, &|_| ())?;
        Ok(Rate {
            per_s: measured.calls_per_s,
            retries_percent: measured.retries_percent,
            busiest: measured.busiest.map_or_else(String::new, |(stage, _)| stage),
        })
    }
}

impl Bench<'_> {
    /// Makes the measurements that are not stored yet; returns all of them, in the order of the
    /// jobs. Each counts as `steps` steps.
    pub fn measure(&mut self, jobs: &[Job<'_>], steps: u64) -> Result<Vec<Rate>, StudyError> {
        let names: Vec<String> = jobs.iter().map(Job::name).collect();
        let missing: Vec<usize> =
            (0..jobs.len()).filter(|at| self.kept.get(&names[*at]).is_none()).collect();
        self.done += steps * (jobs.len() - missing.len()) as u64;
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..self.threads.clamp(1, missing.len().max(1)) {
                let (sender, missing, next) = (sender.clone(), &missing, &next);
                scope.spawn(move || {
                    while let Some(&at) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // The receiver is gone if another measurement has failed.
                        if sender.send((at, jobs[at].measure())).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (at, measured) in receiver {
                self.kept.put(&names[at], measured?).map_err(StudyError::Kept)?;
                self.done += steps;
                self.report_progress(&jobs[at].cell.name());
            }
            Ok::<(), StudyError>(())
        })?;
        let found = names.iter().map(|name| self.kept.get(name).expect("all are measured").clone());
        Ok(found.collect())
    }

    /// Sets the number of finished steps, including skipped ones.
    pub fn skip_to(&mut self, done: u64) {
        self.done = done.max(self.done);
    }

    fn report_progress(&mut self, what: &str) {
        (self.progress)(self.done, self.total, what);
    }
}
