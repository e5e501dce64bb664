//! Timestamp transactions: a snapshot, and a commit timestamp that becomes visible, with no rows
//! between them. The paper measures its oracle by them [ZB17 §7.2].

use crate::abort::Abort;
use crate::detach::away_from_home;
use crate::lane::LaneInner;
use crate::transaction::Transaction;
use fabric::Env;
use layout::VersionWord;

impl<E: Env> Transaction<'_, E> {
    /// Draws the next commit timestamp and makes it visible, as a commit does whose rows are
    /// installed. Answers the timestamp, which every snapshot taken from now on covers. Like a
    /// commit it goes on to its end.
    ///
    /// # Errors
    /// [`Abort::Unreachable`] when nobody knows whether it is visible; the lane takes no
    /// transaction any more.
    ///
    /// # Panics
    /// When the transaction has written rows.
    pub async fn publish_timestamp(self) -> Result<VersionWord, Abort> {
        let publish = async |inner: &mut LaneInner<E>| inner.publish_timestamp().await;
        away_from_home(self.home, publish).await.unwrap_or(Err(Abort::Unreachable))
    }
}

impl<E: Env> LaneInner<E> {
    async fn publish_timestamp(&mut self) -> Result<VersionWord, Abort> {
        assert!(self.writes.rows.is_empty(), "rows have to be installed before: commit them");
        let timestamp = self.identity.next_timestamp(self.writes.rows.len());
        if self.publish(timestamp).await.is_err() {
            self.identity.poison();
            return Err(Abort::Unreachable);
        }
        self.identity.is_unfinished = false;
        self.statistics.commits += 1;
        self.split_and_collect().await;
        Ok(timestamp)
    }
}
