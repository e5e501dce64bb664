//! Round trips that operations of one call share: reads by arguments, reads of referenced rows, and
//! validation.

use super::operation::OperationCost;
use super::vector::Cost;
use crate::tune::workload::profile::Request;

/// Waiting that requests of one call share: rows that are read together cost one wait, the longest.
#[derive(Clone, Copy, Default)]
pub struct Waits {
    /// Longest wait for rows whose keys are arguments.
    ahead: Cost,
    /// Number of these rows.
    named: f64,
    /// Waits for referenced rows (foreign keys) of earlier statements.
    referred: Cost,
    /// The last statement that reads referenced rows, and its longest wait.
    together: (u32, Cost),
    /// Reading again, between locks and writes, what a serializable call has read.
    again: Cost,
    /// Longest wait for these reads.
    validated: Cost,
}

impl Waits {
    /// Adds a request. `is_remote` returns the probability that one of n rows is remote.
    pub fn note(
        &mut self,
        request: &Request,
        parts: &OperationCost,
        is_remote: &dyn Fn(f64) -> f64,
    ) {
        let batch = parts.batch.times(is_remote(request.times));
        if request.is_validated {
            self.again = self.again.plus(&parts.each.times(request.times));
            // A branch may skip it.
            self.validated = self.validated.with(&batch.times(request.times.min(1.0)), f64::max);
        }
        if request.is_referred {
            // A statement in a loop waits each time.
            let waits = match request.is_batch {
                true => batch.times(request.times.min(1.0)),
                false => parts.batch.times(is_remote(1.0) * request.times),
            };
            if self.together.0 != request.statement {
                self.referred = self.referred.plus(&self.together.1);
                self.together = (request.statement, Cost::default());
            }
            self.together.1 = self.together.1.with(&waits, f64::max);
        } else if request.is_ahead {
            self.named += request.times;
            self.ahead = self.ahead.with(&batch, f64::max);
        }
    }

    /// Waiting before the commit.
    pub fn reading(&self) -> Cost {
        let ahead = self.ahead.times(self.named.min(1.0));
        ahead.plus(&self.referred).plus(&self.together.1)
    }

    /// Reads and waits of the validation.
    pub fn validation(&self) -> Cost {
        self.again.plus(&self.validated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::workload::profile::Kind;

    fn reference(statement: u32, times: f64, is_batch: bool) -> Request {
        Request {
            statement,
            table: 0,
            kind: Kind::Lookup,
            times,
            rows: 1.0,
            is_ahead: false,
            is_batch,
            follows: false,
            rises: false,
            is_referred: true,
            is_validated: true,
            touched: Vec::new(),
            operation: 0,
        }
    }

    /// A call waits once for all rows that one insert refers to, again for those of the next
    /// insert, and in a loop each time. The commit validates all of them in one round trip.
    #[test]
    fn references_are_waited_for_once_for_each_insert() {
        let of = |latency_ns: f64| Cost { latency_ns, ..Cost::default() };
        let parts = OperationCost { each: of(1.0), batch: of(100.0), ..OperationCost::default() };
        let waits = |requests: &[Request]| {
            let mut waits = Waits::default();
            requests.iter().for_each(|request| waits.note(request, &parts, &|_| 1.0));
            (waits.reading().latency_ns, waits.validation().latency_ns)
        };
        let once = reference(1, 1.0, false);
        assert_eq!(waits(&[once.clone(), once.clone()]), (100.0, 102.0));
        assert_eq!(waits(&[once.clone(), once, reference(2, 1.0, false)]), (200.0, 103.0));
        assert_eq!(waits(&[reference(1, 8.0, false)]), (800.0, 108.0), "a loop");
        assert_eq!(waits(&[reference(1, 8.0, true)]), (100.0, 108.0), "rows of one statement");
        assert_eq!(waits(&[reference(1, 0.25, false)]), (25.0, 25.25), "a branch");
    }
}
