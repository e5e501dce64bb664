//! Runs that several processes share.

use serde::{Deserialize, Serialize};

/// A process's part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Number of the part, from 0.
    pub number: u32,
    /// Number of parts.
    pub of: u32,
    /// Number of workers in earlier parts.
    pub workers_before: u32,
    /// Number of workers in later parts.
    pub workers_behind: u32,
}

impl Part {
    /// A run in one process.
    pub const WHOLE: Self = Self { number: 0, of: 1, workers_before: 0, workers_behind: 0 };

    /// Number of workers in the whole run, including this process's `own`.
    pub fn workers(self, own: u32) -> u32 {
        self.workers_before + own + self.workers_behind
    }

    /// The parts of processes with these numbers of workers.
    pub fn shares(workers: &[u32]) -> Vec<Self> {
        let all: u32 = workers.iter().sum();
        let mut before = 0;
        let share = |(number, &own): (usize, &u32)| {
            let workers_before = before;
            before += own;
            let (number, of) = (number as u32, workers.len() as u32);
            Self { number, of, workers_before, workers_behind: all - before }
        };
        workers.iter().enumerate().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_every_worker_once() {
        let shares = Part::shares(&[2, 1, 4]);
        let around: Vec<_> = shares
            .iter()
            .map(|part| (part.number, part.workers_before, part.workers_behind))
            .collect();
        assert_eq!(around, [(0, 0, 5), (1, 2, 4), (2, 3, 0)]);
        assert!(shares.iter().zip([2, 1, 4]).all(|(part, own)| part.workers(own) == 7));
        assert_eq!(Part::shares(&[3]), [Part::WHOLE]);
    }
}
