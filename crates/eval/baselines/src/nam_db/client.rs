//! A transaction execution thread of a compute server [ZB17 6.1].

use super::compute_server::ComputeServer;
use super::design::Design;
use super::index::{INDEX, IndexRequest, decode_found, encode};
use super::transaction::{Stop, Transaction};
use super::vector::{Fetch, Slots};
use crate::Work;
use fabric::{Env, FabricError};
use std::sync::Arc;

/// The state of a thread.
pub struct Client<E> {
    pub(super) env: E,
    pub(super) design: Arc<Design>,
    pub(super) home: Arc<ComputeServer>,
    pub(super) work: Work<E>,
    fetch: Fetch,
    slots: Slots,
    /// The slot of the vector, and the last number in it, if the slot is not shared.
    slot: u32,
    last: u64,
}

/// The timestamp optimizations of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    pub fetch: Fetch,
    /// The owners of its slots.
    pub slots: Slots,
}

impl Timestamps {
    /// The vector without optimizations [ZB17 4.1].
    pub const BASIC: Self = Self { fetch: Fetch::EachTransaction, slots: Slots::Threads };
    /// With both optimizations [ZB17 4.2].
    pub const OPTIMIZED: Self = Self { fetch: Fetch::Background, slots: Slots::ServersInOrder };
}

impl<E: Env> Client<E> {
    /// A thread of `home` whose commits have numbers of `slot`, starting after `last`. `work` is
    /// called with the number of records that are read and written.
    pub fn new(
        env: E,
        (design, home): (Arc<Design>, Arc<ComputeServer>),
        timestamps: Timestamps,
        (slot, last): (u32, u64),
        work: Work<E>,
    ) -> Self {
        let Timestamps { fetch, slots } = timestamps;
        Self { env, design, home, work, fetch, slots, slot, last }
    }

    /// The thread's world.
    pub fn env(&self) -> &E {
        &self.env
    }

    /// Begins a transaction: gets the read timestamp [ZB17 4.1, 4.2].
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn begin(&mut self) -> Result<Transaction<'_, E>, FabricError> {
        let begun_ns = self.env.now_ns();
        let fetched = match self.fetch {
            Fetch::Background => self.home.fetched(),
            Fetch::EachTransaction => None,
        };
        let vector = match fetched {
            Some(vector) => vector,
            None => self.design.vector.read(&self.env).await?,
        };
        Ok(Transaction::new(self, vector, begun_ns))
    }

    /// A timestamp transaction: reads the current timestamp, draws a commit timestamp, and
    /// publishes it [ZB17 7.2]. Returns the vector that it has read, and the slot and number that
    /// it has published.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn timestamp_transaction(&mut self) -> Result<(Arc<[u64]>, u32, u64), FabricError> {
        let vector = self.begin().await?.vector.clone();
        let (slot, timestamp) = self.draw();
        self.publish(timestamp).await?;
        Ok((vector, slot, timestamp))
    }

    /// Draws the next commit timestamp, without communication [ZB17 4.1]. It is drawn while the
    /// locks are held, so aborted transactions use up none.
    pub(super) fn draw(&self) -> (u32, u64) {
        let timestamp = match self.slots {
            Slots::Threads => self.last + 1,
            Slots::ServersAsDrawn | Slots::ServersInOrder => self.home.draw(),
        };
        (self.slot, timestamp)
    }

    pub(super) async fn publish(&mut self, timestamp: u64) -> Result<(), FabricError> {
        let vector = &self.design.vector;
        match self.slots {
            Slots::Threads => {
                self.last = timestamp;
                vector.publish(&self.env, self.slot, timestamp).await
            }
            Slots::ServersAsDrawn => vector.publish(&self.env, self.slot, timestamp).await,
            Slots::ServersInOrder => {
                let mut next = self.home.end(timestamp);
                while let Some(timestamp) = next {
                    vector.publish(&self.env, self.slot, timestamp).await?;
                    next = self.home.published(timestamp);
                }
                Ok(())
            }
        }
    }

    /// Sends requests to the indexes of a data server.
    pub(super) async fn ask_index(
        &self,
        server: usize,
        requests: &[IndexRequest],
    ) -> Result<Vec<Vec<u64>>, Stop> {
        if let Some((beside, index)) = &self.home.beside
            && *beside == server
        {
            let (found, touched) = index.carry_out(requests);
            (self.work)(&self.env, touched);
            return Ok(found);
        }
        let node = self.env.node_of(self.design.data[server]);
        let answer =
            self.env.call(node, INDEX, encode(requests)).await.map_err(Stop::Unanswered)?;
        decode_found(&answer, requests.len())
            .map_err(|malformed| Stop::Unanswered(malformed.into()))
    }
}
