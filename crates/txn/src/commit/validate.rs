//! Serializable: everything read is still as it was, looked at with all locks held.

use crate::abort::Abort;
use crate::lane::LaneInner;
use fabric::Env;
use layout::VersionWord;

impl<E: Env> LaneInner<E> {
    /// [design §5.3] Reads every witness word again: headers of rows reached (visible or not), insert
    /// words of buckets and leaves. Each must hold what it held when it was read, or our own lock, whose
    /// swap has proved the same.
    pub(super) async fn validate_reads(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        if self.witnesses.is_empty() {
            return Ok(());
        }
        let mut batch = self.batch.take().unwrap_or_default();
        batch.clear_verbs();
        let first = batch.arena_words() as u32;
        for &(word, _) in &self.witnesses {
            batch.read(word, 1);
        }
        self.batch = Some(batch);
        self.execute().await.map_err(|_| Abort::Unreachable)?;
        let batch = self.batch.as_ref().expect("the batch came back");
        let own = timestamp.locked().word();
        let holds = |(index, &(_, expected)): (usize, &(layout::GlobalPtr, u64))| {
            let found = batch.word(first + index as u32);
            let is_unlocked = !VersionWord::from_word(expected).is_locked();
            (found == expected && is_unlocked) || (found == own && !timestamp.is_none())
        };
        match self.witnesses.iter().enumerate().all(holds) {
            true => Ok(()),
            false => Err(Abort::ReadValidation),
        }
    }
}
