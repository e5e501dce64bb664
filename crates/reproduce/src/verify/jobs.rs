//! Measurements that are made by several threads at once, and told of one after the other.

use super::cell::{Cell, StudyError};
use super::kept::{Kept, Rate};
use super::{Counted, measure_counted, small};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// A design that is to be measured.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    /// Its workload and hardware.
    pub cell: &'a Cell,
    /// Its position among the designs of these.
    pub design: usize,
    /// Of data, calls and the simulation.
    pub seed: u64,
    /// Calls that are counted, about.
    pub counted: Counted,
}

/// Where measurements are made.
pub(crate) struct Bench<'a> {
    /// Threads that measure at once. What comes out does not depend on it: each simulated world is of one thread.
    pub threads: usize,
    /// What was measured before.
    pub kept: Kept,
    /// Told how many of how many steps are done, and which one was the last.
    pub progress: &'a mut dyn FnMut(u64, u64, &str),
    /// Steps that are done, and how many there are at most.
    pub done: u64,
    pub total: u64,
}

impl Job<'_> {
    /// What is measured, in a line.
    fn name(&self) -> String {
        let Self { cell, design, seed, counted } = self;
        let Counted { calls, alone } = counted;
        let design = cell.candidates[*design].design.checksum();
        format!("{}, design {design}, seed {seed}, {alone} and {calls} calls", cell.name())
    }

    /// Measures it on tables of its own: what is left in accounts, and of orders, is another thing when others have run before.
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
    /// Makes measurements that are not kept yet; answers all, in the order of the jobs. Each is so many steps.
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
                        // Nobody listens any more if another measurement has failed.
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
                self.tell(&jobs[at].cell.name());
            }
            Ok::<(), StudyError>(())
        })?;
        let found = names.iter().map(|name| self.kept.get(name).expect("all are measured").clone());
        Ok(found.collect())
    }

    /// So many steps are done, of which some may have been left out.
    pub fn skip_to(&mut self, done: u64) {
        self.done = done.max(self.done);
    }

    fn tell(&mut self, what: &str) {
        (self.progress)(self.done, self.total, what);
    }
}
