//! Timestamp transactions: they take a snapshot and publish a commit timestamp, without any rows.
//! The paper measures its oracle with them [ZB17 §7.2].

use crate::abort::Abort;
use crate::detach::run_lane_detached;
use crate::lane::LaneInner;
use crate::transaction::Transaction;
use fabric::Env;
use layout::VersionWord;

impl<E: Env> Transaction<'_, E> {
    /// Draws the next commit timestamp and publishes it, as a commit does after it has installed
    /// its rows. Returns the timestamp, which every later snapshot covers. Like a commit, it runs
    /// to its end even if the caller drops the future.
    ///
    /// # Errors
    ///
    /// [`Abort::Unreachable`] if it is unknown whether the timestamp is visible; the lane then runs
    /// no further transaction until a task has published it.
    ///
    /// # Panics
    ///
    /// If the transaction has written rows.
    pub async fn publish_timestamp(self) -> Result<VersionWord, Abort> {
        let publish = async |inner: &mut LaneInner<E>| inner.publish_timestamp().await;
        run_lane_detached(self.owned, publish).await.unwrap_or(Err(Abort::Unreachable))
    }
}

impl<E: Env> LaneInner<E> {
    async fn publish_timestamp(&mut self) -> Result<VersionWord, Abort> {
        assert!(self.writes.rows.is_empty(), "a transaction with rows must commit them");
        let timestamp = self.identity.next_timestamp(self.writes.rows.len());
        if self.publish(timestamp).await.is_err() {
            self.publish_later_on(timestamp);
            return Err(Abort::Unreachable);
        }
        self.identity.is_unfinished = false;
        self.statistics.commits += 1;
        self.split_and_collect().await;
        Ok(timestamp)
    }
}
