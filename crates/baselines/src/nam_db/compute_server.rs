//! What the threads of a compute server share: the vector as it was fetched last, and their slot if they have one.

use super::index::OrderedIndex;
use super::vector::Vector;
use fabric::{Env, FabricError};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// A compute server.
#[derive(Debug, Default)]
pub struct ComputeServer {
    fetched: Mutex<Option<Arc<[u64]>>>,
    numbers: Mutex<Numbers>,
    /// The ordered indexes of the data server on the same machine, with its place among them.
    pub(super) beside: Option<(usize, Arc<OrderedIndex>)>,
}

/// The numbers of a slot that is shared.
#[derive(Debug, Default)]
struct Numbers {
    drawn: u64,
    /// Drawn, and not committed yet.
    open: BTreeSet<u64>,
    published: u64,
    is_publishing: bool,
}

impl Numbers {
    /// All up to this one have committed.
    fn ended(&self) -> u64 {
        self.open.first().map_or(self.drawn, |first| first - 1)
    }
}

impl ComputeServer {
    /// A compute server whose slot has come to `last`, on a machine of its own.
    pub fn new(last: u64) -> Self {
        let numbers = Numbers { drawn: last, published: last, ..Numbers::default() };
        Self { numbers: Mutex::new(numbers), ..Self::default() }
    }

    /// The same on the machine of data server `server`, whose indexes its threads reach without messages.
    pub fn beside(self, server: usize, index: Arc<OrderedIndex>) -> Self {
        Self { beside: Some((server, index)), ..self }
    }

    /// The vector as the fetch thread has left it.
    pub(super) fn fetched(&self) -> Option<Arc<[u64]>> {
        self.fetched.lock().expect("no holder panics").clone()
    }

    /// The dedicated fetch thread [ZB17 4.2]: fetches for as long as `goes_on` says so.
    ///
    /// # Errors
    /// The fabric's.
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

    /// The next number of the shared slot: in place of the compare-and-swap of the text, a lock in the same memory.
    pub(super) fn draw(&self) -> u64 {
        let mut numbers = self.numbers();
        numbers.drawn += 1;
        let drawn = numbers.drawn;
        numbers.open.insert(drawn);
        drawn
    }

    /// A commit has installed its versions. Returns what is to be written into the slot, if nobody else writes there:
    /// two writes could overtake each other.
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

    /// The slot has this number. Returns what is to be written next, if there is more.
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
        assert_eq!(server.end(13), None, "somebody writes");
        assert_eq!(server.published(12), Some(13));
        assert_eq!(server.published(13), None);
        assert_eq!(server.draw(), 14);
        assert_eq!(server.end(14), Some(14));
    }
}
