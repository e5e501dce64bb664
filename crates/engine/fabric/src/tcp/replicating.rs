//! Executes the requests of a memory server with replicas: verbs at once, as `carry` does, and
//! calls as tasks, as `desk` does, because handlers wait for the servers of the replicas.

use crate::env::Env;
use crate::identity::{Admission, Refusal};
use crate::tcp::carry::{Carried, Carrier, Carry, Origin};
use crate::tcp::desk::Desk;
use crate::tcp::frame::{Head, REQUEST_HEADER, kind};

/// Executes the requests of a port's connections. Answers to calls come in any order.
pub struct ReplicatingCarrier<E: Env> {
    verbs: Carrier,
    calls: Desk<E>,
}

impl<E: Env> ReplicatingCarrier<E> {
    pub(super) fn new(verbs: Carrier, calls: Desk<E>) -> Self {
        Self { verbs, calls }
    }

    pub(super) fn verbs(&self) -> &Carrier {
        &self.verbs
    }

    pub(super) fn calls(&self) -> &Desk<E> {
        &self.calls
    }
}

impl<E: Env> Carry for ReplicatingCarrier<E> {
    fn admission(&self) -> &Admission {
        self.verbs.admission()
    }

    #[inline]
    fn carry_out(
        &mut self,
        from: Origin,
        frame: &[u64],
        to: &mut Vec<u64>,
    ) -> Result<Carried, Refusal> {
        let head = frame.first().and_then(|&word| Head::parse(word, REQUEST_HEADER));
        match head {
            Some(Head { kind: kind::CALL, .. }) => self.calls.carry_out(from, frame, to),
            _ => self.verbs.carry_out(from, frame, to),
        }
    }

    fn late(&self) -> Option<Origin> {
        self.calls.late()
    }

    fn put_late(&mut self, to: Option<&mut Vec<u64>>) {
        self.calls.put_late(to);
    }
}
