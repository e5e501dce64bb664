//! The shared state of a compute server's threads: the vector as fetched last, and their slot if
//! they share one.

use super::index::OrderedIndex;
use super::vector::Vector;
use fabric::{Env, FabricError};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Debug, Default)]
pub struct ComputeServer {
    fetched: Mutex<Option<Arc<[u64]>>>,
    numbers: Mutex<Numbers>,
    /// The ordered indexes of the data server on the same machine, with the server's index.
    pub(super) beside: Option<(usize, Arc<OrderedIndex>)>,
}

/// The numbers of a shared slot.
#[derive(Debug, Default)]
struct Numbers {
    drawn: u64,
    /// Numbers that are drawn and not committed yet.
    open: BTreeSet<u64>,
    published: u64,
    is_publishing: bool,
}

impl Numbers {
    /// The largest number up to which all have committed.
    fn ended(&self) -> u64 {
        self.open.first().map_or(self.drawn, |first| first - 1)
    }
}

impl ComputeServer {
    /// A compute server on a machine of its own, whose slot starts after `last`.
    pub fn new(last: u64) -> Self {
        let numbers = Numbers { drawn: last, published: last, ..Numbers::default() };
        Self { numbers: Mutex::new(numbers), ..Self::default() }
    }

    /// The same on the machine of data server `server`, whose indexes its threads access without
    /// messages.
    pub fn beside(self, server: usize, index: Arc<OrderedIndex>) -> Self {
        Self { beside: Some((server, index)), ..self }
    }

    /// The vector as the fetch thread has fetched it last.
    pub(super) fn fetched(&self) -> Option<Arc<[u64]>> {
        self.fetched.lock().expect("no holder panics").clone()
    }

    /// The dedicated fetch thread [ZB17 4.2]: fetches while `goes_on` returns true.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn fetch<E: Env>(
        &self,
        env: E,
        vector: &Vector,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), FabricError> {
        while goes_on() {
            let fetched = vector.read(&env).await?;
            *self.fetched.lock().expect("no holder panics") = Some(fetched);
        }
        Ok(())
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().expect("no holder panics")
    }

    /// Draws the next number of the shared slot, under a lock in local memory instead of the
    /// paper's compare-and-swap.
    pub(super) fn draw(&self) -> u64 {
        let mut numbers = self.numbers();
        numbers.drawn += 1;
        let drawn = numbers.drawn;
        numbers.open.insert(drawn);
        drawn
    }

    /// Records that a commit has installed its versions. Returns the number to write into the slot,
    /// unless another thread is writing there: two writes could overtake each other.
    pub(super) fn end(&self, timestamp: u64) -> Option<u64> {
        let mut numbers = self.numbers();
        numbers.open.remove(&timestamp);
        let ended = numbers.ended();
        if numbers.is_publishing || ended == numbers.published {
            return None;
        }
        numbers.is_publishing = true;
        Some(ended)
    }

    /// Records that the slot has this number. Returns the number to write next, if there is one.
    pub(super) fn published(&self, timestamp: u64) -> Option<u64> {
        let mut numbers = self.numbers();
        numbers.published = timestamp;
        let ended = numbers.ended();
        numbers.is_publishing = ended > timestamp;
        numbers.is_publishing.then_some(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_slot_waits_for_the_first_and_one_writes_for_all() {
        let server = ComputeServer::new(10);
        assert_eq!([server.draw(), server.draw(), server.draw()], [11, 12, 13]);
        assert_eq!(server.end(12), None, "11 is open");
        assert_eq!(server.end(11), Some(12));
        assert_eq!(server.end(13), None, "another thread writes");
        assert_eq!(server.published(12), Some(13));
        assert_eq!(server.published(13), None);
        assert_eq!(server.draw(), 14);
        assert_eq!(server.end(14), Some(14));
    }
}
